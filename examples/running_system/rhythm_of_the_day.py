"""
Track a daily rhythm
====================

The best price is higher at noon than at night, every day. The optimiser detects the daily rhythm
from the times of the sales, without further information. It then forecasts the peak of the evening
in the morning.
"""

from datetime import datetime, timedelta

import matplotlib.pyplot as plt
import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, tidy

MONDAY = datetime(2026, 3, 2)


def peak(hour):
    """Return the best price in euros: 6 at night, 10 at noon, and slightly higher every day."""
    return 8 - 2 * np.cos(2 * np.pi * hour / 24) + 0.1 * hour / 24


def sales(price, hour, generator):
    """Return the sales in euros per hour."""
    return 100 - 5 * (price - peak(hour)) ** 2 + generator.normal(0, 2)


# %%
# For six days, ask for a price every two hours and report its sales.

optimizer = dp.Optimizer(dp.Box(price=dp.Float(2, 14)), maximize=True)
generator = np.random.default_rng(0)
hours, prices = np.arange(0, 6 * 24, 2), []
for hour in hours:
    suggestion = optimizer.ask(MONDAY + timedelta(hours=int(hour)))
    prices.append(suggestion["price"])
    optimizer.tell(suggestion, sales(suggestion["price"], hour, generator))

estimates = optimizer.diagnostics()
print(f"motion: {estimates.motion}, with probability {estimates.motion_probability:.2f}")

# %%
# Forecast the best price of the seventh day without sales.

ahead = np.arange(6 * 24, 7 * 24 + 1)
forecast = [optimizer.best(MONDAY + timedelta(hours=int(hour)))["price"] for hour in ahead]

figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
every = np.arange(0, 7 * 24 + 1)
axes.plot(every / 24, peak(every), color="black", linewidth=1.2, label="best price")
axes.plot(hours / 24, prices, ".", color=COLOURS[0], label="suggested price")
axes.plot(ahead / 24, forecast, "--", color=COLOURS[1], linewidth=2.2, label="forecast")
axes.axvspan(6, 7, color="0.94", zorder=0)
axes.set(xlabel="days since Monday, 00:00", ylabel="price (euros)", xlim=(0, 7), ylim=(2, 14))
axes.legend(frameon=False, ncols=3)
tidy(axes)
plt.show()
