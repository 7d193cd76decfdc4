"""
Many articles that share a prior
================================

A fleet holds 200 articles with seven prices. Their best prices are similar, and drift. With
``share="all"``, the articles share a prior that is estimated from all of them, so that each of them
needs fewer observations.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure, tidy

ARTICLES, DAYS = 200, 15
prices = np.linspace(8.0, 14.0, 7)


def play(share):
    """Return the mean loss of an article on each day."""
    generator = np.random.default_rng(0)
    best = 11 + 0.7 * generator.normal(size=ARTICLES)
    shop = dp.Fleet(dp.Arms(prices), members=ARTICLES, share=share)
    lost = []
    for day in range(DAYS):
        best = best + 0.05 * generator.normal(size=ARTICLES)
        profit = 20 - np.abs(prices - best[:, None])
        offers = shop.ask(time=float(day))
        earned = profit[offers.members, offers.choices]
        shop.tell(offers.ids, earned + 0.5 * generator.normal(size=ARTICLES))
        lost.append(np.mean(profit.max(axis=1) - earned))
    return np.array(lost), shop


# %%
# Each article alone, and all together.

alone, _ = play("none")
shared, shop = play("all")
assert shared.sum() < alone.sum()

# %%
# The prior of a new article, with its standard deviation.

common = shop.population()
deviation = np.sqrt(np.diag(common.covariance))

figure = new_figure(7.0, 3.2)
left, right = figure.subplots(1, 2)
left.plot(alone, color="black", linestyle="--", label='share="none"')
left.plot(shared, color=COLOURS[0], label='share="all"')
left.set(xlabel="day", ylabel="loss per article")
left.legend(frameon=False)
right.errorbar(prices, common.mean, deviation, color=COLOURS[0], capsize=3)
right.set(xlabel="price", ylabel="profit of a new article")
for axes in (left, right):
    tidy(axes)
