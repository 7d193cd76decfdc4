"""
A log of prices, and what it says
=================================

A shop drew its price at random every day for six months and wrote down the revenue. The log has the
revenue of one price per day, not of all prices. :func:`driftpeak.offline.logs.learn_from_log`
recommends a price for the next day, and estimates what other pricing policies would have earned.

The shop is simulated, so that the estimates can be compared with the truth.
"""

import csv
import os
from pathlib import Path

import numpy as np

from driftpeak.offline.logs import ChoiceLog, learn_from_log, log_figure

DAYS = 180
LOWEST, HIGHEST = 8.0, 16.0  # euros

# %%
# The log
# -------
#
# The price with the highest revenue rises from 10 to 14 euros within the six months.


def expected_revenue(price, day):
    """Return the mean revenue of a price, in euros per day."""
    best = 10 + 4 * day / DAYS
    return 500 - 12 * (price - best) ** 2


random = np.random.default_rng(1)
days = np.arange(DAYS)
prices = random.uniform(LOWEST, HIGHEST, DAYS).round(2)
revenues = (expected_revenue(prices, days) + 25 * random.normal(size=DAYS)).round(1)
dates = np.datetime64("2026-01-01") + days * np.timedelta64(1, "D")

if "LOG" in os.environ:  # a file to try `driftpeak follow` with
    with Path(os.environ["LOG"]).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["date", "price", "revenue"])
        writer.writerows(zip(dates, prices, revenues, strict=True))

# %%
# The report
# ----------
#
# The choices are tested for uniform randomisation. They pass, so alternatives are evaluated by
# replay: the mean revenue of the days on which the logged price is the one of the policy.

log = ChoiceLog(
    prices, revenues, times=dates, choice_name="price", reward_name="revenue", time_name="date"
)
report = learn_from_log(log, unit="EUR")
print(report)

# %%
# The truth
# ---------
#
# The true best price of the next day is 14 euros, with a mean revenue of 500 euros. Each interval
# contains its true value with a probability of 95 %.

print(f"\ntrue revenue of the recommended price: {expected_revenue(report.next.choice, DAYS):.1f}")
for alternative in report.alternatives:
    if alternative.name.startswith("always "):
        low, high = map(float, alternative.name.removeprefix("always ").split(" to "))
        inside = np.linspace(low, high, 101)
        truth = expected_revenue(inside[:, None], days).mean()
        inside_interval = "inside" if alternative.low <= truth <= alternative.high else "outside"
        print(f"{alternative.name}: true revenue {truth:.1f}, {inside_interval} the interval")

figure = log_figure(log, report, title="Six months of random prices")
