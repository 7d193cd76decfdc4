"""
Learn rhythm, law of motion and noise from a history
====================================================

The history has fourteen days of five sensors with a daily rhythm, slow drift and noise.
``dp.fit_history`` estimates them from the rows, and its policy starts with the estimates.
"""

import numpy as np

import driftpeak as dp

generator = np.random.default_rng(1)
hours = np.arange(14 * 24)[:, None]
wander = np.cumsum(generator.normal(0, 0.15, (len(hours), 5)), axis=0)
noise = generator.normal(0, 0.3, (len(hours), 5))
rows = 20 + 2 * np.cos(2 * np.pi * (hours / 24 - np.arange(5) / 5)) + wander + noise

learned = dp.fit_history(rows, ["north", "east", "south", "west", "roof"])
print(learned.report())
assert abs(learned.rhythms[0].period - 24) <= 1

# %%
# The left panel shows the autocorrelation of the residuals of the rhythm with the fitted law, and
# the right panel shows the daily profiles.

figure = learned.figure()
figure.set_size_inches(7, 3.6)

# %%
# ``learned.policy()`` continues after the last row. ``learned.timetable()`` is a baseline: the
# sensor that was best at this time of the day.

print(type(learned.policy()).__name__, "and", type(learned.timetable()).__name__)
