"""
Rank ten policies on a table of costs
=====================================

The table has the waiting times at eight counters, minute by minute, which are minimised. For more
than eight policies, the figure is a ranking with 95 % intervals from blocks of minutes.
"""

import numpy as np

from driftpeak.offline.data import RewardTable
from driftpeak.offline.replay import replay
from driftpeak.simulation import regret_figure, verdict

generator = np.random.default_rng(2)
minutes, counters = 500, 8
waiting = np.empty((minutes, counters))
level = generator.normal(0, 1, counters)
for minute in range(minutes):
    level = 0.98 * level + np.sqrt(1 - 0.98**2) * generator.normal(0, 1, counters)
    waiting[minute] = 4 + 1.5 * level + generator.normal(0, 0.2, counters)

names = tuple(f"counter {number}" for number in range(1, counters + 1))
table = RewardTable(waiting, names, None, None, unit="minutes")

# %%
# ``tv-gp-ucb`` has the true drift rate of this artificial table, which is unknown in practice.
# ``auto`` estimates it online.

policies = [
    "auto",
    "random",
    "gp-ucb",
    "r-gp-ucb:period=25",
    "sw-gp-ucb:window=25",
    "tv-gp-ucb:drift=0.04",
    "w-gp-ucb:discount=0.97",
    "ui-gp-ucb",
    "et-gp-ucb",
    "best-of-history",
]
runs = replay(table, policies, trials=5, minimize=True, progress=False)
judged = verdict(runs, independent_trials=False)
print(judged.in_words(unit="minutes", peak="minimum"))
assert "auto" in (judged.best, *judged.alike)

figure = regret_figure(runs, independent_trials=False, title="Waiting time at the chosen counter")
figure.set_size_inches(6.5, 4.4)
