"""Bandits of river, MABWiser and Vowpal Wabbit on the stream of a fleet, each with some settings.

    python -m benchmarks.rivals.bandits LIBRARY FILE

FILE holds `functions`, shape `(steps, members, arms)`, and `noise`, shape `(steps, members)`. The
answer is JSON: regret, seconds and processor time of the calls by setting; or the missing package.
It imports nothing else from this repository.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Calls = tuple[Callable[[int], int], Callable[[int, int, float], None]]
"""The choice of a member, and the report of a member's reward."""


def river(members: int, arms: int) -> Iterator[tuple[str, Callable[[], Calls]]]:
    """Yield river's bandits, one object for each member."""
    from river import bandit

    def calls(make: Callable[[int], Any]) -> Calls:
        each, choices = [make(seed) for seed in range(members)], list(range(arms))
        return (
            lambda member: each[member].pull(choices),
            lambda member, arm, reward: each[member].update(arm, reward),
        )

    for delta in (0.3, 1.0, 3.0):
        yield f"UCB {delta}", lambda d=delta: calls(lambda seed: bandit.UCB(delta=d, seed=seed))
    for epsilon in (0.1, 0.3):
        yield (
            f"epsilon-greedy {epsilon}",
            lambda e=epsilon: calls(lambda seed: bandit.EpsilonGreedy(epsilon=e, seed=seed)),
        )


def mabwiser(members: int, arms: int) -> Iterator[tuple[str, Callable[[], Calls]]]:
    """Yield MABWiser's bandits, one object for each member; the first arm is random."""
    from mabwiser.mab import MAB, LearningPolicy

    def calls(learning: Any) -> Calls:
        each = [MAB(list(range(arms)), learning, seed=seed) for seed in range(members)]
        begun, generator = [False] * members, np.random.default_rng(0)

        def choose(member: int) -> int:
            return each[member].predict() if begun[member] else int(generator.integers(arms))

        def report(member: int, arm: int, reward: float) -> None:
            (each[member].partial_fit if begun[member] else each[member].fit)([arm], [reward])
            begun[member] = True

        return choose, report

    for alpha in (0.3, 1.0, 3.0):
        yield f"UCB1 {alpha}", lambda a=alpha: calls(LearningPolicy.UCB1(a))
    for epsilon in (0.1, 0.3):
        yield f"epsilon-greedy {epsilon}", lambda e=epsilon: calls(LearningPolicy.EpsilonGreedy(e))


def vowpalwabbit(members: int, arms: int) -> Iterator[tuple[str, Callable[[], Calls]]]:
    """Yield contextual bandits with features of member, arm and both, in one shared model."""
    from vowpalwabbit import Workspace

    def calls(options: str) -> Calls:
        model = Workspace(f"--cb_explore_adf --quiet -q ma {options}")
        generator, chances = np.random.default_rng(0), {}

        def lines(member: int, label: tuple[int, float, float] | None = None) -> str:
            rows = [f"shared |m m{member}"]
            for arm in range(arms):
                chosen = label is not None and label[0] == arm
                head = f"0:{label[1]:.6f}:{label[2]:.6f} " if label and chosen else ""
                rows.append(f"{head}|a a{arm}")
            return "\n".join(rows)

        def choose(member: int) -> int:
            probabilities = np.asarray(model.predict(lines(member)), float)
            arm = int(generator.choice(arms, p=probabilities / probabilities.sum()))
            chances[member] = float(probabilities[arm])
            return arm

        def report(member: int, arm: int, reward: float) -> None:
            model.learn(lines(member, (arm, -reward, chances[member])))

        return choose, report

    for options in ("--epsilon 0.1", "--squarecb", "--epsilon 0.1 -l 2", "--squarecb -l 2"):
        yield options, lambda o=options: calls(o)


LIBRARIES = {"river": river, "mabwiser": mabwiser, "vowpalwabbit": vowpalwabbit}


def main(library: str, file: str) -> dict[str, Any]:
    """Return the results of a library's bandits."""
    stream = np.load(file)
    steps, members, arms = stream["functions"].shape
    # lists: their entries are read faster one by one
    functions, noise = stream["functions"].tolist(), stream["noise"].tolist()
    best = stream["functions"].max(axis=2).tolist()
    found: dict[str, Any] = {}
    try:
        for name, make in LIBRARIES[library](members, arms):
            choose, report = make()
            regret, started = 0.0, (time.perf_counter(), time.process_time())
            for step in range(steps):
                for member in range(members):
                    arm = int(choose(member))
                    value = functions[step][member][arm]
                    regret += best[step][member] - value
                    report(member, arm, value + noise[step][member])
            wall, spent = time.perf_counter() - started[0], time.process_time() - started[1]
            found[name] = {"regret": regret / members, "wall": wall, "processor": spent}
    except ModuleNotFoundError as missing:
        return {"missing": missing.name}
    return found


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
