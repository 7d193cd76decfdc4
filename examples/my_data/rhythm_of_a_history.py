"""
What a history says: rhythm, law of motion, noise
=================================================

Fourteen days of five sensors: a day's rhythm, a slow wander, noise. ``dp.learn`` finds them in
the rows, and its policy begins with them.
"""

import numpy as np

import driftpeak as dp

generator = np.random.default_rng(1)
hours = np.arange(14 * 24)[:, None]
wander = np.cumsum(generator.normal(0, 0.15, (len(hours), 5)), axis=0)
noise = generator.normal(0, 0.3, (len(hours), 5))
rows = 20 + 2 * np.cos(2 * np.pi * (hours / 24 - np.arange(5) / 5)) + wander + noise

learned = dp.learn(rows, ["north", "east", "south", "west", "roof"])
print(learned.report())
assert abs(learned.rhythms[0].period - 24) <= 1

# %%
# Left the autocorrelation of what remains beside the rhythm, with the law fitted to it; right the
# day's profiles.

figure = learned.figure()
figure.set_size_inches(7, 3.6)

# %%
# ``learned.policy()`` plays on from the row after the last, and ``learned.timetable()`` is the
# yardstick that it has to beat: the sensor that was best at this time of the day.

print(type(learned.policy()).__name__, "and", type(learned.timetable()).__name__)
