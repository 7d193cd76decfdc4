"""
Yes or no: the hour at which a letter is opened
===============================================

A newsletter is sent at some hour of the day, and is opened or not: rewards of 1 and 0. The share
that opens it depends on the hour, and that moves with the season. `likelihood="bernoulli"` says
what the rewards are; what is estimated are probabilities, with intervals inside 0 and 1.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import BAND, COLOURS, new_figure

generator = np.random.default_rng(0)
HOURS = np.linspace(6, 22, 33)


def share_that_opens(hour, day):
    """The best hour wanders from morning to evening within four months."""
    best = 9 + 9 * day / 120
    return 0.08 + 0.5 * np.exp(-0.5 * ((hour - best) / 3) ** 2)


# %%
# Fifty letters a day go out at the hour suggested, and each is opened or not: zeros and ones
# at one place and time, told as their mean with `trials=50`. They cost no more than a single one.

letter = dp.Optimizer(
    dp.Box(hour=dp.Float(6, 22, step=0.5)),
    maximize=True,
    policy=dp.DriftingGP(likelihood="bernoulli"),
)
found = []
for day in range(120):
    sent = letter.ask(day)
    opened = generator.random(50) < share_that_opens(sent["hour"], day)
    letter.tell(sent, opened.mean(), trials=50)
    found.append(share_that_opens(sent["hour"], day))

best = letter.best()
low, high = letter.interval([best], level=0.9)
print(
    f"best now: {best['hour']:.1f} h, {best.mean:.0%} open it (90 %: {low[0]:.0%} to {high[0]:.0%})"
)
stayed = share_that_opens(9, np.arange(120)).mean()
print(f"opened: {np.mean(found):.0%}; at the hour that was best on the first day: {stayed:.0%}")
assert np.mean(found) > 1.5 * stayed
assert abs(best["hour"] - 18) < 2

# %%
# What is believed, and what was foretold. A single 0 or 1 lies in no interval of half the
# probability, so `calibration` spreads each reward over the probability that it had.

coverage = letter.calibration().coverage
print({f"{level:.0%}": f"{share:.0%}" for level, share in coverage.items()})
assert 0.85 < coverage[0.95] <= 1

figure = new_figure(6.0, 4.0)
panels = figure.subplots(1, 2, sharey=True)
for axes, day in zip(panels, (59, 119), strict=True):
    settings = [{"hour": float(hour)} for hour in HOURS]
    mean, _ = letter.belief(settings, day)
    for level in (0.5, 0.95):
        ends = letter.interval(settings, day, level=level)
        axes.fill_between(HOURS, *ends, color=COLOURS[0], alpha=BAND, linewidth=0)
    axes.plot(HOURS, mean, color=COLOURS[0], label="believed, with 50 and 95 % intervals")
    truth = share_that_opens(HOURS, day)
    axes.plot(HOURS, truth, color="black", linestyle="--", label="true share")
    near = [one for one in letter.history() if abs(one.number - day) <= 15]
    axes.plot(
        [one.parameters["hour"] for one in near],
        [one.reward for one in near],
        ".",
        color=COLOURS[1],
        label="of fifty letters, within 15 days",
        clip_on=False,
    )
    axes.set(title=f"day {day + 1}", xlabel="hour of the day", ylim=(0, 1))
    axes.set_xticks(range(6, 23, 4))
panels[0].set_ylabel("share that opens the letter")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
