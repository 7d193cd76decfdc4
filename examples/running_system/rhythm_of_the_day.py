"""
Following a rhythm
==================

A price that sells best is higher at noon than at night, every day. Told the time of every sale, the
optimiser finds out that the day matters: nobody says so, dates are enough. From then on it knows in
the morning where the peak will be in the evening.
"""

from datetime import datetime, timedelta

import matplotlib.pyplot as plt
import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, tidy

MONDAY = datetime(2026, 3, 2)


def peak(hour):
    """The best price, in euro: 6 at night, 10 in the day, and a bit higher every day."""
    return 8 - 2 * np.cos(2 * np.pi * hour / 24) + 0.1 * hour / 24


def sales(price, hour, generator):
    """Euros an hour."""
    return 100 - 5 * (price - peak(hour)) ** 2 + generator.normal(0, 2)


# %%
# Six days, every two hours a price is asked for and what it brought is told.

optimizer = dp.Optimizer(dp.Box(price=dp.Float(2, 14)), maximize=True)
generator = np.random.default_rng(0)
hours, prices = np.arange(0, 6 * 24, 2), []
for hour in hours:
    suggestion = optimizer.ask(MONDAY + timedelta(hours=int(hour)))
    prices.append(suggestion["price"])
    optimizer.tell(suggestion, sales(suggestion["price"], hour, generator))

thought = optimizer.diagnostics()
print(f"It moves by {thought.motion}, with probability {thought.motion_probability:.2f}.")

# %%
# The seventh day is foretold, without a single sale.

ahead = np.arange(6 * 24, 7 * 24 + 1)
foretold = [optimizer.best(MONDAY + timedelta(hours=int(hour)))["price"] for hour in ahead]

figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
every = np.arange(0, 7 * 24 + 1)
axes.plot(every / 24, peak(every), color="black", linewidth=1.2, label="the best price")
axes.plot(hours / 24, prices, ".", color=COLOURS[0], label="asked for")
axes.plot(ahead / 24, foretold, "--", color=COLOURS[1], linewidth=2.2, label="foretold")
axes.axvspan(6, 7, color="0.94", zorder=0)
axes.set(xlabel="days since Monday, 00:00", ylabel="price in euro", xlim=(0, 7), ylim=(2, 14))
axes.legend(frameon=False, ncols=3)
tidy(axes)
plt.show()
