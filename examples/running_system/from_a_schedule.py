"""
Start from the operators' schedule
==================================

A dryer has four settings. Its best setting changes with the time of day and drifts slowly. The
operators follow a schedule with one setting for each hour of the day, which they tuned by hand some
time ago. The temperature of the exhaust air must not exceed 75 degrees. driftpeak runs six
simulated dryers for four days, with the schedule and without it. Set `PLANTS=20` for 20 dryers.
"""

import os
from datetime import datetime, timedelta

import numpy as np
from scipy import stats

import driftpeak as dp
from driftpeak.plots import BAND, COLOURS, new_figure, tidy

PLANTS, DAYS = int(os.environ.get("PLANTS", "6")), int(os.environ.get("DAYS", "4"))
HOURS, FIRST = 24 * DAYS, 48  # the first two days
MIDNIGHT, LIMIT = datetime(2026, 3, 2), 75.0
ENDS = {"heat": (60, 120), "feed": (2, 8), "air": (10, 50), "fans": (1, 6)}
LOSSES = np.array([160, 160, 120, 120])  # euros per hour, at a distance of the whole range
SLOPES = np.array([35, 12, -15, -8])  # degrees, across the whole range

space = dp.Box(
    heat=dp.Float(60, 120),  # degrees
    feed=dp.Float(2, 8),  # tonnes per hour
    air=dp.Float(10, 50),  # thousand cubic metres per hour
    fans=dp.Integer(1, 6),
)
limits = {"exhaust": dp.Limit(at_most=LIMIT, probability=0.95)}

# %%
# The plant
# ---------
#
# The best setting follows a daily cycle plus a random walk. The schedule has the right cycle, but
# constant errors of a few per cent of each range.


def shares(setting):
    """Return a setting as shares of the ranges."""
    return np.array([(setting[name] - low) / (high - low) for name, (low, high) in ENDS.items()])


def at(shares):
    """Return the setting at shares of the ranges."""
    each = zip(ENDS.items(), np.clip(shares, 0, 1), strict=True)
    setting = {name: low + share * (high - low) for (name, (low, high)), share in each}
    return setting | {"fans": round(setting["fans"])}


class Plant:
    """A dryer with its schedule, and the measurement errors of each hour."""

    def __init__(self, seed):
        generator = np.random.default_rng([seed, 7])
        self.middle, self.swing = generator.uniform(0.4, 0.6, 4), generator.uniform(0.05, 0.25, 4)
        self.warmest = generator.uniform(0, 24, 4)
        self.walk = np.cumsum(0.01 * generator.normal(size=(HOURS, 4)), axis=0)
        self.errors = generator.normal(size=(HOURS, 2)) * (2.0, 0.5)  # euros per hour, degrees
        wrong = 0.08 * generator.normal(size=4)
        self.schedule = [at(self.cycle(hour) + wrong) for hour in range(24)]
        each = zip(self.schedule, range(24), strict=True)
        self.excess = 0.0
        self.excess = max(self.exhaust(setting, hour) for setting, hour in each) - 73

    def cycle(self, hour):
        return self.middle + self.swing * np.cos(2 * np.pi * (hour - self.warmest) / 24)

    def result(self, setting, hour):
        """Return the result of an hour in euros, without measurement error."""
        best = self.cycle(hour) + self.walk[hour]
        return 100 + 3 * np.cos(np.pi * hour / 12) - LOSSES @ (shares(setting) - best) ** 2

    def exhaust(self, setting, hour):
        """Return the temperature of the exhaust air in degrees, without measurement error."""
        return 60 - self.excess + SLOPES @ shares(setting) + 4 * np.cos(np.pi * (hour - 15) / 12)


# %%
# Three ways to run it
# --------------------
#
# `Schedule` takes one setting for each hour of the day. The first suggestions are these settings
# and settings near them. Later suggestions depart from the schedule where another setting is
# estimated to be at least as good. The schedule also counts as known to keep the limit.


def scheduled(plant, seed):
    """Return the settings and exhaust temperatures of the schedule."""
    return [plant.schedule[hour % 24] for hour in range(HOURS)]


def optimised(plant, seed, **options):
    """Return the settings that driftpeak suggests."""
    optimizer = dp.Optimizer(space, maximize=True, constraints=limits, seed=seed, **options)
    track = []
    for hour in range(HOURS):
        setting = optimizer.ask(MIDNIGHT + timedelta(hours=hour))
        reward, heat = plant.result(setting, hour), plant.exhaust(setting, hour)
        error, wrong = plant.errors[hour]
        optimizer.tell(setting, reward + error, constraints={"exhaust": heat + wrong})
        track.append(dict(setting))
    return track


def from_the_schedule(plant, seed):
    return optimised(plant, seed, schedule=dp.Schedule(plant.schedule))


ways = {
    "schedule": scheduled,
    "driftpeak": optimised,
    "driftpeak from the schedule": from_the_schedule,
}
plants = [Plant(seed) for seed in range(PLANTS)]
results, violated = {}, {}
for name, run in ways.items():
    tracks = [run(plant, seed) for seed, plant in enumerate(plants)]
    pairs = list(zip(plants, tracks, strict=True))
    results[name] = np.array([[p.result(s, h) for h, s in enumerate(t)] for p, t in pairs])
    heats = np.array([[p.exhaust(s, h) for h, s in enumerate(t)] for p, t in pairs])
    violated[name] = heats + np.array([plant.errors[:, 1] for plant in plants]) > LIMIT

# %%
# Results
# -------
#
# The table has means over the plants with 95 % intervals (Student's t), as a share of the
# schedule's result on the same plant, and the share of hours above the limit.


def interval(values):
    """Return the mean and the half-width of its interval."""
    return values.mean(), stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)


print(f"{'':28s}{'days 1 and 2':>18s}{'later days':>18s}{'above the limit':>18s}")
for name, each in results.items():
    parts = []
    for hours in (slice(None, FIRST), slice(FIRST, None)):
        share = each[:, hours].mean(axis=1) / results["schedule"][:, hours].mean(axis=1)
        parts.append("{:.1%} +- {:.1%}".format(*interval(share)))
    print(f"{name:28s}{parts[0]:>18s}{parts[1]:>18s}{violated[name].mean():>18.1%}")

# %%
# Learning curves
# ---------------

figure = new_figure(7.4, 4.4)
axes = figure.subplots()
LOOKS = (("black", "--"), (COLOURS[1], ":"), (COLOURS[0], "-"))
middles = np.arange(6, HOURS, 12) / 24
for name, (colour, line) in zip(ways, LOOKS, strict=True):
    half_days = results[name].reshape(PLANTS, -1, 12).mean(axis=2)
    mean, width = np.array([interval(values) for values in half_days.T]).T
    axes.plot(middles, mean, line, color=colour, linewidth=2.2, label=name)
    axes.fill_between(middles, mean - width, mean + width, color=colour, alpha=BAND, linewidth=0)
axes.set(
    xlabel="day (means of 12 hours)",
    ylabel="result (euros per hour)",
    xlim=(0, DAYS),
    title=f"{PLANTS} plants: mean with 95 % interval",
)
tidy(axes)
axes.legend(loc="lower right", frameon=False)
