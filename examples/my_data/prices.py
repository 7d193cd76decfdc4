"""
Five prices, a demand that depends on the weekday, rewards that come late
=========================================================================

A pricing analyst has five prices and customers who buy or do not: rewards of 0 and 1, that come
a day late. What a price is worth, price times the share that buys, depends on the weekday, which
nobody chooses, and wanders with the season. The weekday is a *context*: one study learns all
seven days together, what they share and where they differ.

The income of a *group* of customers is told, whose mean is nearly normal.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure

PRICES = {"9.90": 9.9, "11.90": 11.9, "13.90": 13.9, "15.90": 15.9, "17.90": 17.9}
DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
GROUP, DAYS_PLAYED = 300, 126  # customers a day; eighteen weeks

generator = np.random.default_rng(0)


def share_that_buys(price, day):
    """Falls with the price; what people are ready to pay wanders, and is more at weekends."""
    ready = 15.0 + 1.5 * np.sin(day / 30) + 5.0 * (day % 7 >= 5)
    return 1 / (1 + np.exp(0.35 * (price - ready)))


def income(price, day):
    """Of a customer, on average, in euros."""
    return price * share_that_buys(price, day)


# %%
# Neighbouring prices are alike, so their place on the line of prices is told: they are the
# coordinates of the arms. The weekday is what the world says.


def play(shop, said):
    """Offer a price every day; the till of the day before has been counted by then."""
    waiting, chosen = [], []
    for day in range(DAYS_PLAYED):
        offer = shop.ask(time=day, context=said(day))
        price = PRICES[offer["arm"]]
        bought = generator.random(GROUP) < share_that_buys(price, day)  # 0 and 1
        waiting.append((offer, price * bought.mean()))
        chosen.append(offer.index)
        if len(waiting) > 1:
            shop.tell(*waiting.pop(0))  # the weekday was kept with the offer
    return np.array(chosen)


prices = dp.Arms([[price] for price in PRICES.values()], list(PRICES))
wide = dp.DriftingGP(width=dp.widths.ScaledLog(1.5, 2.0))  # days differ: explore widely
shop = dp.Optimizer(prices.context(weekday=dp.Categorical(*DAYS)), maximize=True, policy=wide)
chosen = play(shop, lambda day: {"weekday": DAYS[day % 7]})
blind = play(dp.Optimizer(prices, maximize=True, policy=wide), lambda day: None)

for day in ("Mo", "Sa"):
    best = shop.best(context={"weekday": day})
    print(f"{day}: {best['arm']} euros, {best.mean:.2f} +- {best.deviation:.2f} a customer")

# %%
# What was lost, against the best price of each day.

days = np.arange(DAYS_PLAYED)
worth = np.array([[income(price, day) for price in PRICES.values()] for day in days])
best_price = worth.argmax(axis=1)
lost = {
    "with the weekday": worth.max(axis=1) - worth[days, chosen],
    "without it": worth.max(axis=1) - worth[days, blind],
}
for name, values in lost.items():
    print(f"lost a customer, {name}: {values[28:].mean():.2f} euros")
assert lost["with the weekday"][28:].mean() < 0.8 * lost["without it"][28:].mean()

# %%
# The intervals: of the foretold incomes of groups, a share close to what is promised fell into
# them.

foretold = shop.calibration()
print({f"{level:.0%}": f"{share:.0%}" for level, share in foretold.coverage.items()})
assert 0.85 < foretold.coverage[0.95] <= 1

# %%
# The prices of the last six weeks, weekdays and weekends.

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
        label="price offered",
    )
    axes.set_yticks(range(5), list(PRICES))
    axes.set(ylabel="price (euros)", title=f"{name}: {values[28:].mean():.2f} euros lost")
panels[-1].set_xlabel("day")
figure.colorbar(image, ax=list(panels), label="income per customer (euros)")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
