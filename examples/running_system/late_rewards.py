"""
Dates, irregular times and late rewards
=======================================

A greenhouse is set at irregular times, and the reward of a setting is known hours later. Times are
dates. A reward belongs to the time of its suggestion, whenever it is reported.
"""

from datetime import datetime, timedelta

import numpy as np

import driftpeak as dp
from driftpeak.live.plots import track_figure

generator = np.random.default_rng(0)
house = dp.Optimizer(dp.Box(vent=dp.Float(0, 100), shade=dp.Float(0, 100)), maximize=True)


def growth(setting, when):
    """Return the growth per day in per cent; the best opening drifts with the season."""
    days = (when - datetime(2026, 3, 1)).total_seconds() / 86_400
    best_vent, best_shade = 20 + 1.2 * days, 10 + 0.8 * days
    away = ((setting["vent"] - best_vent) / 40) ** 2 + ((setting["shade"] - best_shade) / 60) ** 2
    return 5 - 2 * away + 0.1 * generator.normal()


when, out = datetime(2026, 3, 1, 8), []
for _ in range(90):
    when += timedelta(hours=float(generator.exponential(12)))
    out.append((house.ask(when), when))
    if len(out) > 3 or generator.random() < 0.3:  # rewards are known after different times
        setting, asked = out.pop(int(generator.integers(len(out))))
        house.tell(setting, growth(setting, asked))

print(f"{len(house.history())} rewards, {len(house.pending())} pending suggestions")

# %%
# Forecasts for the future are less certain.

now, later = house.best(), house.best(when + timedelta(days=7))
for peak in (now, later):
    growth_there = f"{peak.mean:.2f} +- {peak.deviation:.2f} % a day"
    print(f"{peak.time:%d %B}: vent {peak['vent']:.0f} %, expected growth {growth_there}")
assert later.deviation > now.deviation

figure = track_figure(house, title="Openings of a greenhouse, with the estimated best")
for axes, name in zip(figure.axes, ("vent (%)", "shade (%)"), strict=True):
    axes.set_ylabel(name)
figure.set_size_inches(6, 4)
