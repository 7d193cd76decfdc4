"""A controller on a machine that ages: keep its two knobs at their moving best.

    python examples/drifting_controller.py [--episodes 160] [--seeds 8] [--picture FILE.png]

A heater with dead time is brought to its setpoint again and again by a PI controller, whose gain
and integral time can be changed before every episode. What an episode brings is minus the logarithm
of its cost: squared control error plus squared control moves, as measured, with noise. The heater's
strength wanders (load, fouling, repairs), so the best gain does too. Three ways to live with that:

- *tuned once*: the best knobs of the machine as it was on the first day, never touched again;
- *static*: the same optimiser as below, but for the drift: it is told that everything happened at
  the same time, so that every observation counts for ever;
- *driftpeak*: an optimiser with the times as they were.

Judged is what the machine would do with the knobs of every episode, without noise, against the best
knobs for it as it is then: the ratio of the costs, averaged over episodes in the logarithm, as the
optimisers see them. Nobody sees these numbers but the judge.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

import driftpeak as dp

SPACE = dp.Box(gain=dp.Float(0.2, 20, log=True), integral_time=dp.Float(0.5, 20, log=True))
STEP, STEPS, DELAY = 0.1, 150, 6  # s; control steps in an episode; dead time in steps
TIME_CONSTANT, MOVES, NOISE = 2.0, 0.05, 0.05  # s; weight of control moves; of a measurement
LIMITS = (-10.0, 10.0)  # of the actuator


def strength(episode: np.ndarray | int, phase: float) -> np.ndarray:
    """How strongly the heater heats: between 0.4 and 2.5, up and down within 100 episodes."""
    return np.exp(0.9 * np.sin(2 * np.pi * (np.asarray(episode) / 100 + phase)))


def cost(gain, integral_time, strength, noise=None) -> np.ndarray:
    """The cost of an episode, for any number of settings at once.

    Arguments:
        gain, integral_time, strength: arrays of one shape.
        noise: measurement errors, shape `(STEPS,)`; none for the judge.
    """
    shape = np.broadcast_shapes(np.shape(gain), np.shape(integral_time), np.shape(strength))
    level, integral, moved, total = np.zeros((4, *shape))
    waiting = np.zeros((DELAY, *shape))  # what the actuator does takes a while to arrive
    for step in range(STEPS):
        error = 1.0 - level - (0.0 if noise is None else noise[step])
        wanted = gain * (error + integral)
        action = np.clip(wanted, *LIMITS)
        integral = integral + np.where(action == wanted, error * STEP / integral_time, 0.0)
        total = total + STEP * ((1.0 - level) ** 2 + MOVES * (action - moved) ** 2)
        moved = action
        arriving, waiting[step % DELAY] = waiting[step % DELAY].copy(), action
        level = level + STEP / TIME_CONSTANT * (strength * arriving - level)
    return total


def best_cost(strengths: np.ndarray) -> np.ndarray:
    """The lowest cost of each machine, over 60 x 60 settings."""
    gains, times = np.geomspace(0.2, 20, 60), np.geomspace(0.5, 20, 60)
    every = [cost(gains[:, None], times[None], one) for one in strengths]
    return np.array([one.min() for one in every])


def best_settings(strength: float) -> dict[str, float]:
    """The knobs that are best for one machine."""
    gains, times = np.geomspace(0.2, 20, 60), np.geomspace(0.5, 20, 60)
    found = cost(gains[:, None], times[None], strength)
    row, column = np.unravel_index(found.argmin(), found.shape)
    return {"gain": float(gains[row]), "integral_time": float(times[column])}


def run(episodes: int, seed: int, *, timed: bool) -> np.ndarray:
    """The knobs of every episode, shape `(episodes, 2)`."""
    generator = np.random.default_rng(seed)
    phase = generator.uniform()
    optimizer = dp.Optimizer(SPACE, maximize=True, seed=seed)
    chosen = []
    for episode in range(episodes):
        setting = optimizer.ask(time=episode if timed else 0)
        noise = NOISE * generator.normal(size=STEPS)
        brought = cost(*setting.values(), strength(episode, phase), noise)
        optimizer.tell(setting, -float(np.log(brought)))
        chosen.append(list(setting.values()))
    return np.array(chosen)


def excess(several: list[np.ndarray], seed: int) -> np.ndarray:
    """The logarithm of an episode's cost over the least possible, `(len(several), episodes)`."""
    strengths = strength(np.arange(len(several[0])), np.random.default_rng(seed).uniform())
    least = best_cost(strengths)
    return np.array([np.log(cost(*chosen.T, strengths) / least) for chosen in several])


def compare(episodes: int, seeds: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The `excess` of all three, `(seeds, episodes)`, and the knobs `(seeds, episodes, 2)`."""
    knobs = {"tuned once": [], "static": [], "driftpeak": []}
    for seed in range(seeds):
        first = strength(0, np.random.default_rng(seed).uniform())
        knobs["tuned once"].append([list(best_settings(float(first)).values())] * episodes)
        knobs["static"].append(run(episodes, seed, timed=False))
        knobs["driftpeak"].append(run(episodes, seed, timed=True))
        print(f"{seed + 1} of {seeds} worlds played", flush=True)
    found = {name: np.array(each) for name, each in knobs.items()}
    judged = [excess([found[name][seed] for name in found], seed) for seed in range(seeds)]
    costs = dict(zip(found, np.stack(judged, axis=1), strict=True))
    return costs, found


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean over the worlds, and the half-width of its 95 % interval (Student's t)."""
    width = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return float(values.mean()), float(width)


def shown(logarithms: np.ndarray) -> str:
    """Ratios, as a factor with its interval."""
    mean, width = interval(logarithms)
    low, middle, high = np.exp([mean - width, mean, mean + width])
    return f"x {middle:.2f} ({low:.2f} to {high:.2f})"


def picture(costs: dict[str, np.ndarray], knobs: dict[str, np.ndarray], file: Path) -> None:
    """One world's gain over time, and the excess costs of all worlds, in per cent."""
    from matplotlib.figure import Figure

    from driftpeak.plots import COLOURS

    colours = {"tuned once": COLOURS[7], "static": COLOURS[1], "driftpeak": COLOURS[0]}
    names = {
        "tuned once": "tuned once, on day one",
        "static": "static optimiser",
        "driftpeak": "driftpeak",
    }
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    episodes = np.arange(costs["static"].shape[1])
    phase = np.random.default_rng(0).uniform()
    gains, times = np.geomspace(0.2, 20, 300), np.geomspace(0.5, 20, 40)
    ideal = [
        gains[cost(gains[:, None], times, one).min(axis=1).argmin()]
        for one in strength(episodes, phase)
    ]
    left.plot(episodes, ideal, color="black", linewidth=1.5, label="best gain, unknown to all")
    for name in ("static", "driftpeak"):
        left.plot(
            episodes,
            knobs[name][0, :, 0],
            ".",
            color=colours[name],
            markersize=4,
            label=names[name],
        )
    left.set(yscale="log", xlabel="episode", ylabel="gain", title="The first machine")
    left.set_yticks([0.2, 0.5, 1, 2, 5, 10, 20], ["0.2", "0.5", "1", "2", "5", "10", "20"])
    left.minorticks_off()
    left.legend(fontsize=8, loc="lower right")
    window = 15
    for name, found in costs.items():
        # the median is not pulled by single explorations; the band holds the middle half
        smooth = np.lib.stride_tricks.sliding_window_view(found, window, axis=1).mean(axis=2)
        low, middle, high = np.percentile(100 * np.expm1(smooth), [25, 50, 75], axis=0)
        right.plot(episodes[window - 1 :], middle, color=colours[name], label=names[name])
        right.fill_between(episodes[window - 1 :], low, high, color=colours[name], alpha=0.2)
    right.set(
        yscale="log",
        xlabel="episode",
        ylabel=f"cost above the least possible, %\n(mean of {window} episodes)",
        title=f"{len(costs['static'])} machines: median and middle half",
    )
    right.set_yticks([1, 10, 100, 1000, 10_000], ["1", "10", "100", "1,000", "10,000"])
    right.legend(fontsize=8)
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=160)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--picture", type=Path)
    chosen = parser.parse_args()
    costs, knobs = compare(chosen.episodes, chosen.seeds)
    later = {name: found[:, chosen.episodes // 3 :].mean(axis=1) for name, found in costs.items()}
    print("cost over the least possible, last two thirds; mean over worlds and 95 % interval:")
    for name, found in later.items():
        print(f"  {name:12s} {shown(found)}")
    for name in ("tuned once", "static"):
        print(f"  {name} over driftpeak, paired: {shown(later[name] - later['driftpeak'])}")
    if chosen.picture is not None:
        picture(costs, knobs, chosen.picture)


if __name__ == "__main__":
    main()
