"""
Five prices, buyers who say yes or no, late
===========================================

A pricing analyst has five prices and customers who buy or do not: rewards of 0 and 1, that come
an hour late. What the price is worth, price times the share that buys, wanders with the season.

What there is not, today: a model of yes-or-no rewards (a 0 and a 1 are taken for numbers with
noise), and contexts (a customer's segment, the weather). What works well with that: tell the
income of a *group* of customers, whose mean is nearly normal, and run one study per segment.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure

PRICES = {"9.90": 9.9, "11.90": 11.9, "13.90": 13.9, "15.90": 15.9, "17.90": 17.9}
GROUP = 200  # customers an hour

generator = np.random.default_rng(0)


def share_that_buys(price, hour):
    """Falls with the price; what people are ready to pay wanders."""
    ready = 13.5 + 2.5 * np.sin(hour / 25)
    return 1 / (1 + np.exp(0.9 * (price - ready)))


def income(price, hour):
    """Of a customer, on average, in euros."""
    return price * share_that_buys(price, hour)


# %%
# Neighbouring prices are alike, so their place on the line of prices is told: they are the
# coordinates of the arms.

space = dp.Arms([[price] for price in PRICES.values()], list(PRICES))
shop = dp.Optimizer(space, maximize=True)
waiting = []
for hour in range(150):
    offer = shop.ask(time=hour)
    price = PRICES[offer["arm"]]
    bought = generator.random(GROUP) < share_that_buys(price, hour)  # 0 and 1
    waiting.append((offer, price * bought.mean()))
    if len(waiting) > 1:  # the till of the hour before has been counted
        shop.tell(*waiting.pop(0))

best = shop.best()
print(f"now: {best['arm']} euros, {best.mean:.2f} +- {best.deviation:.2f} euros per customer")

# %%
# How good are the intervals? Of the foretold incomes of groups, a share close to what is promised
# fell into them.

foretold = shop.calibration()
print({f"{level:.0%}": f"{share:.0%}" for level, share in foretold.coverage.items()})
assert 0.85 < foretold.coverage[0.95] <= 1

# %%
# The arms through time, over what each would have brought.

hours = np.arange(149)
worth = np.array([[income(price, hour) for price in PRICES.values()] for hour in hours])
chosen = np.array([list(PRICES).index(one.parameters["arm"]) for one in shop.history()])
lost = worth.max(axis=1) - worth[hours, chosen]
held = worth.max(axis=1)[:, None] - worth
print(f"lost per customer: {lost[30:].mean():.2f} euros")
print(f"lost with the best of the fixed prices: {held[30:].mean(axis=0).min():.2f} euros")

figure = new_figure(6.0, 3.8)
axes = figure.subplots()
image = axes.pcolormesh(hours, np.arange(5), worth.T, cmap="cividis", shading="nearest")
axes.plot(hours, worth.argmax(axis=1), color="white", linewidth=2.5)
axes.plot(hours, worth.argmax(axis=1), color="black", linewidth=1.2, label="best price")
axes.plot(hours, chosen, ".", color=COLOURS[1], label="price offered", clip_on=False)
axes.set_yticks(range(5), list(PRICES))
axes.set(xlabel="hour", ylabel="price (euros)", title="Price offered and price that is best")
figure.colorbar(image, ax=axes, label="income per customer (euros)")
figure.legend(loc="outside lower center", ncols=2, frameon=False)
