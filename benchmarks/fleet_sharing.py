"""Regret of fleets whose members share a prior, in three populations, against unshared `auto`.

Each member has 20 arms, Markov drift of 0.02 and noise of variance 0.1, and is asked 20 times. The
variance of a function is 1. In the related population, four fifths of it are a mean that all
members share; with two groups, each has its own mean; unrelated members have none. The figures are
sums over 20 steps, means over members and seeds, and their ratios. Intervals are 95 % t-intervals
of the mean ratio over seeds.

    MEMBERS=200 SEEDS=4 python -m benchmarks fleet_sharing
"""

import time
from typing import Any

import numpy as np
from scipy import stats

import driftpeak as dp
from benchmarks._settings import whole_number

MEMBERS = whole_number("MEMBERS", 200)
SEEDS = whole_number("SEEDS", 4)
ARMS, STEPS, DRIFT, NOISE = 20, 20, 0.02, 0.1
PRIOR = dp.Prior(dp.Arms(np.linspace(0, 1, ARMS)), dp.SE(lengthscale=0.2), noise_variance=NOISE)
COMMON = {"related": 0.8, "two groups": 0.8, "unrelated": 0.0}
"""Share of the common mean in the variance."""
RUNS = (
    ("related", "all"),
    ("two groups", "group"),
    ("two groups", "all"),
    ("unrelated", "all"),
)
TARGETS = {
    "related, share='all': ratio": "<= 0.7",
    "two groups, share='group': ratio": "<= 0.7",
    "two groups, share='all': ratio": "<= 0.7",
    "unrelated, share='all': ratio": "<= 1.03",
}


def run() -> dict[str, Any]:
    """Return regrets, ratios, and the processor time of both."""
    figures: dict[str, Any] = {}
    alone = {kind: regrets(kind, "none") for kind in COMMON}
    for kind, (values, _) in alone.items():
        figures[f"{kind}, share='none': regret"] = float(values.mean())
    for kind, share in RUNS:
        values, spent = regrets(kind, share)
        name = f"{kind}, share={share!r}"
        figures[f"{name}: ratio"] = float(values.mean() / alone[kind][0].mean())
        figures[f"{name}: interval"] = "{:.2f} to {:.2f}".format(*interval(values / alone[kind][0]))
        figures[f"{name}: processor time, ratio"] = spent / alone[kind][1]
    return figures


def interval(ratios: Any) -> tuple[float, float]:
    """Return the 95 % t-interval of the mean, infinite for a single seed."""
    if len(ratios) == 1:
        return -np.inf, np.inf
    low, high = stats.t.interval(0.95, len(ratios) - 1, ratios.mean(), stats.sem(ratios))
    return float(low), float(high)


def regrets(kind: str, share: str) -> tuple[Any, float]:
    """Return the mean regret of a member by seed, and seconds of processor time after the first."""
    found, spent = [], []
    for seed in range(SEEDS):
        started = time.process_time()
        found.append(played(kind, share, seed))
        spent.append(time.process_time() - started)
    return np.array(found), float(np.mean(spent[1:] or spent))


def played(kind: str, share: str, seed: int) -> float:
    """Return the mean regret of a member with one seed."""
    generator, group = np.random.default_rng(seed), np.arange(MEMBERS) % 2
    functions = drawn(kind, group, generator)
    table = {"member": np.arange(MEMBERS), "group": group}
    fleet = dp.Fleet(PRIOR.domain, table, share=share, seed=seed)
    total = 0.0
    for step, values in enumerate(functions, 1):
        asked = fleet.ask(time=float(step))
        rewards = values[np.arange(MEMBERS), asked.choices]
        total += float((values.max(axis=1) - rewards).mean())
        fleet.tell(asked.ids, rewards + np.sqrt(NOISE) * generator.normal(size=MEMBERS))
    return total


def drawn(kind: str, group: Any, generator: np.random.Generator) -> Any:
    """Return the functions of all members, shape `(steps, members, arms)`."""
    root = np.linalg.cholesky(PRIOR.gram + 1e-9 * np.eye(ARMS))
    common = COMMON[kind]
    means = np.sqrt(common) * generator.normal(size=(2, ARMS)) @ root.T
    mean = means[group] if kind == "two groups" else means[0]
    own = [generator.normal(size=(MEMBERS, ARMS)) @ root.T]
    for _ in range(STEPS - 1):
        moved = generator.normal(size=(MEMBERS, ARMS)) @ root.T
        own.append(np.sqrt(1 - DRIFT) * own[-1] + np.sqrt(DRIFT) * moved)
    return mean + np.sqrt(1 - common) * np.stack(own)
