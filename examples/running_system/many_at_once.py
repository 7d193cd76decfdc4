"""
Twelve incubators at once
=========================

Twelve incubators are set in the morning, and what each grew is known in the evening: twelve
suggestions are out together. Each of them counts as if it had brought what is expected of it, so
that the next one goes elsewhere, and fewer are spent on one place. What grows best drifts with the
culture. Three readings of each incubator are told as their mean, with the ``noise`` it has.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure, tidy

DAYS, INCUBATORS, READINGS, SCATTER = 14, 12, 3, 0.3
generator = np.random.default_rng(0)
lab = dp.Optimizer(dp.Box(heat=dp.Float(20, 45), feed=dp.Float(0, 10)), maximize=True)


def best_at(day):
    """Degrees, and grams an hour: the culture gets used to warmth, and hungrier."""
    return np.array([28 + 0.6 * day, 3 + 0.25 * day])


def growth(setting, day):
    """In grams."""
    heat, feed = best_at(day)
    away = ((setting["heat"] - heat) / 8) ** 2 + ((setting["feed"] - feed) / 4) ** 2
    return 10 * np.exp(-away)


# %%
# The days

tried, grown = [], []
for day in range(DAYS):
    batch = lab.ask(day, count=INCUBATORS)
    assert len(lab.pending()) == INCUBATORS
    for one in reversed(batch):  # in whatever order
        readings = growth(one, day) + SCATTER * generator.normal(size=READINGS)
        lab.tell(one, readings.mean(), noise=SCATTER / READINGS**0.5)
    tried.append([list(one.values()) for one in batch])
    grown.append([growth(one, day) for one in batch])

tried, grown = np.array(tried), np.array(grown)
gaps = [
    min(np.abs((one - other) / [25, 10]).max() for i, one in enumerate(day) for other in day[:i])
    for day in tried
]
print(f"nearest two of a day: {min(gaps):.1%} of a range apart")
print(
    f"grown on the first day: {grown[0].mean():.1f} g, in the last week: {grown[-7:].mean():.1f} g"
)
best = lab.best()
print("best now:", {name: round(float(value), 1) for name, value in best.items()})
assert min(gaps) > 0.001
assert grown[-7:].mean() > 1.5 * grown[0].mean()

# %%
# The picture: each dot is an incubator

figure = new_figure(6.0, 4.0)
panels = figure.subplots(2, 1, sharex=True)
days = np.arange(DAYS)
ideal = np.array([best_at(day) for day in days])
for column, (axes, name) in enumerate(zip(panels, ("degrees", "feed (g/h)"), strict=True)):
    axes.plot(days, ideal[:, column], "--", color="black", label="true best")
    axes.plot(days, tried[:, :, column], ".", color=COLOURS[0])
    axes.set_ylabel(name)
    tidy(axes)
panels[0].plot([], [], ".", color=COLOURS[0], label="an incubator")
panels[0].legend(loc="lower right", ncols=2, frameon=False)
panels[1].set_xlabel("day")
figure.suptitle("Twelve settings a day, told in the evening")
