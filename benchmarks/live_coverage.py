"""Coverage of the live optimiser's intervals of the function's value.

Functions are drawn from the model class of `dp.DriftingGP()`, the default policy, which chooses all
observations. Lengthscales and levels are drawn from its prior, and rewards have the scale 3. There
are four settings, whose draws have the seeds (setting, draw):

- quiet, d = 1: standard deviation of the function 3, of the noise 0.3; the timescale is drawn;
- quiet, d = 2: as above;
- prior, d = 1 and 2: everything is drawn;
- static, d = 2: everything is drawn except the timescale, which is 100,000 steps.

After 30, 60 and 100 observations, intervals are computed at 16 random points now, at the estimated
peak now, at the next suggestion one step later, and at the 16 points 20 steps later. The coverage
of an interval is the probability that it contains the value, given the observations and the true
hyperparameters. It is computed from the exact posterior. Its expectation equals that of the share
of values within the interval, and its variance is smaller. Figures are means over the draws with
95 % intervals (twice the standard error, by draw), and the probabilities that the value lies below
and above. "Mean and deviation" is the interval of the same level from `belief`, conditional on the
most probable hyperparameters. "All true except the variance" is the interval conditional on the
true hyperparameters, with one of them replaced by its most probable value. The static functions,
whose timescale lies 4.6 standard deviations from the median of its prior, are only in the figures
by setting. `LIVE_DRAWS` sets the number of draws in each setting, 25 by default, and `LIVE_FIRST`
the number of the first draw, 0 by default.
"""

import time
from collections import defaultdict
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import ndtr

import driftpeak as dp
from benchmarks._drawn import Drawn, Hyperparameters, hyperparameters, posterior
from benchmarks._settings import whole_number

STATIC = "static, d = 2"
SETTINGS: dict[str, tuple[int, dict[str, float]]] = {  # number of parameters; 0 alternates 1 and 2
    "quiet, d = 1": (1, {"deviation": 3.0, "noise": 0.3}),
    "quiet, d = 2": (2, {"deviation": 3.0, "noise": 0.3}),
    "prior, d = 1 and 2": (0, {}),
    STATIC: (2, {"timescale": 1e5}),
}
DRAWS = whole_number("LIVE_DRAWS", 25)
FIRST = whole_number("LIVE_FIRST", 0, least=0)
CHECKED, POINTS, LATER = (30, 60, 100), 16, 20
LEVELS = (0.9, 0.5, 0.99)
WHERE = ("points", "peak", "suggestion", "points 20 steps later")
TARGETS = {f"{w}, after {n}: distance from 0.9": "<= 0.03" for w in WHERE[:3] for n in CHECKED}
REPLACED = ("level", "lengthscales", "variance", "noise", "timescale")
Found = dict[tuple[Any, ...], list[float]]


def run() -> dict[str, Any]:
    """Return coverage by place and number of observations, then by setting and by level."""
    found: dict[str, list[Found]] = {name: [] for name in SETTINGS}
    milliseconds: dict[int, list[float]] = defaultdict(list)
    for number in range(FIRST, FIRST + DRAWS):
        for name in SETTINGS:
            found[name].append(study(name, number, milliseconds))
    everything = [one for name, each in found.items() if name != STATIC for one in each]
    figures: dict[str, Any] = {}
    for where in WHERE:
        for count in CHECKED:
            key = ("interval", where, count, 0.9)
            figures |= told(everything, key, f"{where}, after {count}")
            distance = abs(summary(everything, key)[0] - 0.9)
            figures[f"{where}, after {count}: distance from 0.9"] = distance
    for where in WHERE:
        for count in CHECKED:
            key = ("mean and deviation", where, count, 0.9)
            figures |= told(everything, key, f"mean and deviation, {where}, after {count}")
    for what in REPLACED:
        for count in CHECKED:
            name = f"all true except the {what}, {WHERE[0]}, after {count}"
            figures |= told(everything, (what, WHERE[0], count, 0.9), name)
    for name, each in found.items():
        for where in WHERE[:3]:
            for count in CHECKED:
                key = ("interval", where, count, 0.9)
                figures |= told(each, key, f"{name}, {where}, after {count}")
    for level in LEVELS[1:]:
        for where in WHERE[:3]:
            for count in CHECKED:
                key = ("interval", where, count, level)
                figures |= told(everything, key, f"level {level}, {where}, after {count}")
    for count, each in milliseconds.items():
        figures[f"one call after {count}, median (ms)"] = float(np.median(each))
    return figures


def summary(found: list[Found], key: tuple[Any, ...]) -> tuple[float, float]:
    """Return the mean over the draws and its standard error."""
    values = np.array([one[key][1] for one in found])
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)


def told(found: list[Found], key: tuple[Any, ...], name: str) -> dict[str, str]:
    """Return one figure as text."""
    mean, error = summary(found, key)
    below, _, above = np.mean([one[key] for one in found], axis=0)
    ends = f"{mean - 2 * error:.3f} to {mean + 2 * error:.3f}"
    return {name: f"{mean:.3f} ({ends}); below {below:.3f}, above {above:.3f}"}


def study(name: str, number: int, milliseconds: dict[int, list[float]] | None = None) -> Found:
    """Return the probabilities below, within and above every interval of one study.

    Arguments:
        milliseconds: lists, by number of observations, to which the time of the first call is
            added.
    """
    index, (dimension, fixed) = list(SETTINGS).index(name), SETTINGS[name]
    dimension = dimension or 1 + number % 2
    generator = np.random.default_rng([index, number])
    function = Drawn(hyperparameters(dimension, generator, **fixed), generator)
    noise = function.numbers.noise
    box = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(dimension)})
    optimizer, found = dp.Optimizer(box, maximize=True, seed=number), Found()
    rows, rewards = np.zeros((0, dimension)), np.zeros(0)
    for count in range(max(CHECKED) + 1):
        suggestion = optimizer.ask()
        row = np.array([list(suggestion.values())])
        if count in CHECKED:
            points = generator.uniform(size=(POINTS, dimension))
            peak = np.array([list(optimizer.best().values())])
            looks = (points, count), (peak, count), (row, count + 1), (points, count + LATER)
            for where, (at, when) in zip(WHERE, looks, strict=True):
                function.values(at, when)
                began = time.perf_counter()
                settings = [dict(zip(box.parameters, one.tolist(), strict=True)) for one in at]
                optimizer.interval(settings, when, level=LEVELS[0])
                if where == WHERE[0] and milliseconds is not None:
                    milliseconds[count].append(1e3 * (time.perf_counter() - began))
                seen = rows, np.arange(1, count + 1), rewards, at, when
                mean, deviation = posterior(function.numbers, *seen)
                ends = {
                    (what, where, count, level): both
                    for level in LEVELS
                    for what, both in ends_of(optimizer, settings, when, level).items()
                }
                if where == WHERE[0]:
                    wide = NormalDist().inv_cdf((1 + LEVELS[0]) / 2)
                    for what, numbers in replaced(function.numbers, optimizer).items():
                        middle, narrow = posterior(numbers, *seen)
                        both = middle - wide * narrow, middle + wide * narrow
                        ends[what, where, count, LEVELS[0]] = both
                for key, both in ends.items():
                    low, high = ((end - mean) / deviation for end in both)
                    inside = ndtr(low), ndtr(high) - ndtr(low), ndtr(-high)
                    found[key] = [float(one.mean()) for one in inside]
        value = function.values(row, float(count + 1))[0]
        rewards = np.append(rewards, value + noise * float(generator.normal()))
        rows = np.append(rows, row, axis=0)
        optimizer.tell(suggestion, float(rewards[-1]))
    return found


def ends_of(optimizer: dp.Optimizer, settings: Any, when: float, level: float) -> dict[str, Any]:
    """Return intervals, and the intervals from mean and standard deviation."""
    mean, deviation = optimizer.belief(settings, when)
    wide = NormalDist().inv_cdf((1 + level) / 2) * deviation
    return {
        "interval": optimizer.interval(settings, when, level=level),
        "mean and deviation": (mean - wide, mean + wide),
    }


def replaced(true: Hyperparameters, optimizer: dp.Optimizer) -> dict[str, Hyperparameters]:
    """Return the true hyperparameters, with one replaced by its most probable value."""
    engine: Any = optimizer._engine
    model, standard = engine.model, engine.standard
    return {
        "level": true._replace(level=standard.centre + standard.scale * model.level),
        "lengthscales": true._replace(lengthscale=model.lengthscale),
        "variance": true._replace(deviation=standard.scale * model.variance**0.5),
        "noise": true._replace(noise=standard.scale * model.noise_variance**0.5),
        "timescale": true._replace(timescale=model.timescale),
    }
