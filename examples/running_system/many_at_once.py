"""
Twelve parallel suggestions: incubators
=======================================

Twelve incubators are set in the morning, and their growth is known in the evening, so twelve
suggestions are pending at once. Pending suggestions are fantasised at their posterior mean, so that
the suggestions of a day differ. The best setting drifts with the culture. The three readings of
each incubator are reported as their mean, with its standard deviation as ``noise``.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure, tidy

DAYS, INCUBATORS, READINGS, SCATTER = 14, 12, 3, 0.3
generator = np.random.default_rng(0)
lab = dp.Optimizer(dp.Box(heat=dp.Float(20, 45), feed=dp.Float(0, 10)), maximize=True)


def best_at(day):
    """Return the best temperature in degrees and feed in grams an hour; both increase."""
    return np.array([28 + 0.6 * day, 3 + 0.25 * day])


def growth(setting, day):
    """Return the growth in grams."""
    heat, feed = best_at(day)
    away = ((setting["heat"] - heat) / 8) ** 2 + ((setting["feed"] - feed) / 4) ** 2
    return 10 * np.exp(-away)


# %%
# Run the days.

tried, grown = [], []
for day in range(DAYS):
    batch = lab.ask(day, count=INCUBATORS)
    assert len(lab.pending()) == INCUBATORS
    for setting in reversed(batch):  # rewards may be reported in any order
        readings = growth(setting, day) + SCATTER * generator.normal(size=READINGS)
        lab.tell(setting, readings.mean(), noise=SCATTER / READINGS**0.5)
    tried.append([list(setting.values()) for setting in batch])
    grown.append([growth(setting, day) for setting in batch])

tried, grown = np.array(tried), np.array(grown)
gaps = [
    min(np.abs((row - other) / [25, 10]).max() for i, row in enumerate(day) for other in day[:i])
    for day in tried
]
print(f"smallest distance of two suggestions of a day: {min(gaps):.1%} of a range")
print(
    f"growth on the first day: {grown[0].mean():.1f} g, in the last week: {grown[-7:].mean():.1f} g"
)
best = lab.best()
print("current best:", {name: round(float(value), 1) for name, value in best.items()})
assert min(gaps) > 0.001
assert grown[-7:].mean() > 1.5 * grown[0].mean()

# %%
# Draw the figure: each dot is an incubator.

figure = new_figure(6.0, 4.0)
panels = figure.subplots(2, 1, sharex=True)
days = np.arange(DAYS)
ideal = np.array([best_at(day) for day in days])
for column, (axes, name) in enumerate(zip(panels, ("degrees", "feed (g/h)"), strict=True)):
    axes.plot(days, ideal[:, column], "--", color="black", label="true best setting")
    axes.plot(days, tried[:, :, column], ".", color=COLOURS[0])
    axes.set_ylabel(name)
    tidy(axes)
panels[0].plot([], [], ".", color=COLOURS[0], label="incubators")
panels[0].legend(loc="lower right", ncols=2, frameon=False)
panels[1].set_xlabel("day")
figure.suptitle("Twelve settings a day, with rewards in the evening")
