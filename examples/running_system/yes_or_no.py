"""
Yes-or-no rewards: the hour at which a newsletter is opened
===========================================================

A newsletter is sent at some hour of the day and is opened or not, which gives rewards of 1 and 0.
The share of readers who open it depends on the hour, and the best hour drifts with the season. With
`likelihood="bernoulli"` the optimiser estimates probabilities, with intervals between 0 and 1.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import BAND, COLOURS, new_figure

generator = np.random.default_rng(0)
HOURS = np.linspace(6, 22, 33)


def share_that_opens(hour, day):
    """Return the share of openings; the best hour drifts from morning to evening in four months."""
    best = 9 + 9 * day / 120
    return 0.08 + 0.5 * np.exp(-0.5 * ((hour - best) / 3) ** 2)


# %%
# Fifty letters a day are sent at the suggested hour, and each is opened or not. The zeros and ones
# of one setting and time are reported as their mean with `trials=50`, at the cost of one reward.

letter = dp.Optimizer(
    dp.Box(hour=dp.Float(6, 22, step=0.5)),
    maximize=True,
    policy=dp.DriftingGP(likelihood="bernoulli"),
)
shares = []
for day in range(120):
    sent = letter.ask(day)
    opened = generator.random(50) < share_that_opens(sent["hour"], day)
    letter.tell(sent, opened.mean(), trials=50)
    shares.append(share_that_opens(sent["hour"], day))

best = letter.best()
low, high = letter.interval([best], level=0.9)
print(
    f"best hour: {best['hour']:.1f}, opened by {best.mean:.0%} "
    f"(90 % interval: {low[0]:.0%} to {high[0]:.0%})"
)
stayed = share_that_opens(9, np.arange(120)).mean()
print(f"opened: {np.mean(shares):.0%}; at the best hour of the first day: {stayed:.0%}")
assert np.mean(shares) > 1.5 * stayed
assert abs(best["hour"] - 18) < 2

# %%
# Check the posterior and the forecasts. A single 0 or 1 cannot lie in an interval with half of the
# probability, so `calibration` spreads each reward over its forecast probability.

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
    axes.plot(HOURS, mean, color=COLOURS[0], label="estimate with 50 % and 95 % intervals")
    truth = share_that_opens(HOURS, day)
    axes.plot(HOURS, truth, color="black", linestyle="--", label="true share")
    near = [row for row in letter.history() if abs(row.number - day) <= 15]
    axes.plot(
        [row.parameters["hour"] for row in near],
        [row.reward for row in near],
        ".",
        color=COLOURS[1],
        label="observed share of fifty letters, within 15 days",
        clip_on=False,
    )
    axes.set(title=f"day {day + 1}", xlabel="hour of the day", ylim=(0, 1))
    axes.set_xticks(range(6, 23, 4))
panels[0].set_ylabel("share of opened letters")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
