"""
Prices with the weekday as context, and late rewards
====================================================

A pricing analyst has five prices and customers who buy or not. The sales are known a day later.
The income of a price, price times the share of buyers, depends on the weekday, which cannot be
chosen, and drifts with the season. The weekday is a *context*: one study learns all seven days
together, including their common variation and their differences.

The reward is the mean income of a *group* of customers, which is nearly normal.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure

PRICES = {"9.90": 9.9, "11.90": 11.9, "13.90": 13.9, "15.90": 15.9, "17.90": 17.9}
DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
GROUP, DAYS_PLAYED = 300, 126  # customers a day; eighteen weeks

generator = np.random.default_rng(0)


def share_that_buys(price, day):
    """Return the share of buyers; the price that they accept drifts and is higher at weekends."""
    ready = 15.0 + 1.5 * np.sin(day / 30) + 5.0 * (day % 7 >= 5)
    return 1 / (1 + np.exp(0.35 * (price - ready)))


def income(price, day):
    """Return the mean income of a customer in euros."""
    return price * share_that_buys(price, day)


# %%
# Neighbouring prices have similar incomes, so the prices are the coordinates of the arms. The
# weekday is the context.


def play(shop, context):
    """Offer a price every day, and report the income of the day before."""
    waiting, chosen = [], []
    for day in range(DAYS_PLAYED):
        offer = shop.ask(time=day, context=context(day))
        price = PRICES[offer["arm"]]
        bought = generator.random(GROUP) < share_that_buys(price, day)  # 0 and 1
        waiting.append((offer, price * bought.mean()))
        chosen.append(offer.index)
        if len(waiting) > 1:
            shop.tell(*waiting.pop(0))  # the weekday is stored with the offer
    return np.array(chosen)


prices = dp.Arms([[price] for price in PRICES.values()], list(PRICES))
wide = dp.DriftingGP(width=dp.widths.ScaledLog(1.5, 2.0))  # days differ: explore more
shop = dp.Optimizer(prices.context(weekday=dp.Categorical(*DAYS)), maximize=True, policy=wide)
chosen = play(shop, lambda day: {"weekday": DAYS[day % 7]})
blind = play(dp.Optimizer(prices, maximize=True, policy=wide), lambda day: None)

for day in ("Mo", "Sa"):
    best = shop.best(context={"weekday": day})
    print(f"{day}: {best['arm']} euros, {best.mean:.2f} +- {best.deviation:.2f} per customer")

# %%
# Compute the lost income relative to the best price of each day.

days = np.arange(DAYS_PLAYED)
worth = np.array([[income(price, day) for price in PRICES.values()] for day in days])
best_price = worth.argmax(axis=1)
lost = {
    "with the weekday": worth.max(axis=1) - worth[days, chosen],
    "without the weekday": worth.max(axis=1) - worth[days, blind],
}
for name, values in lost.items():
    print(f"lost per customer, {name}: {values[28:].mean():.2f} euros")
assert lost["with the weekday"][28:].mean() < 0.8 * lost["without the weekday"][28:].mean()

# %%
# Check the one-step predictive intervals: their coverage is close to their level.

calibration = shop.calibration()
print({f"{level:.0%}": f"{share:.0%}" for level, share in calibration.coverage.items()})
assert 0.85 < calibration.coverage[0.95] <= 1

# %%
# Draw the prices of the last six weeks.

figure = new_figure(6.4, 4.8)
panels = figure.subplots(2, 1, sharex=True, sharey=True)
last = days >= DAYS_PLAYED - 42
for axes, track, (name, values) in zip(panels, (chosen, blind), lost.items(), strict=True):
    image = axes.pcolormesh(
        days[last], np.arange(5), worth[last].T, cmap="cividis", shading="nearest"
    )
    axes.step(days[last], best_price[last], where="mid", color="white", linewidth=3)
    axes.step(
        days[last], best_price[last], where="mid", color="black", linewidth=1.3, label="best price"
    )
    axes.plot(
        days[last],
        track[last],
        "o",
        color=COLOURS[1],
        markersize=4,
        clip_on=False,
        label="offered price",
    )
    axes.set_yticks(range(5), list(PRICES))
    axes.set(ylabel="price (euros)", title=f"{name}: loss {values[28:].mean():.2f} euros")
panels[-1].set_xlabel("day")
figure.colorbar(image, ax=list(panels), label="income per customer (euros)")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
