"""A figure of the estimates from recorded rows."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from driftpeak.gp.transforms import Transformation, transformed
from driftpeak.plots import COLOURS, STYLES, tidy

if TYPE_CHECKING:
    from driftpeak.offline.history._learned import Learned

SHOWN = 4  # arms
LABELS: dict[Transformation, str] = {
    "none": "reward",
    "root": "root of the reward",
    "log": "logarithm of the reward",
}


def learned_figure(learned: "Learned") -> Figure:
    """Draw the autocorrelation with the fitted model, and the periodic profiles of some arms."""
    rhythms = learned.rhythms[:1]
    figure = Figure(figsize=(11.0 if rhythms else 6.5, 4.2), layout="constrained")
    axes, *beside = figure.subplots(1, 1 + len(rhythms), squeeze=False)[0]
    lags = np.arange(len(learned.correlations))
    axes.plot(lags, learned.correlations, color=COLOURS[0], linewidth=1.8, label="rows")
    axes.plot(lags, learned.law.correlation(lags), "--", color=COLOURS[1], linewidth=1.8,
              label="fitted model")  # fmt: skip
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="lag in steps", ylabel="autocorrelation without the periodic part",
             xlim=(0, max(lags[-1], 1)))  # fmt: skip
    axes.legend(frameon=False)
    tidy(axes)
    for panel, rhythm in zip(beside, rhythms, strict=True):
        _profiles(panel, learned, rhythm)
    return figure


def _profiles(axes, learned, rhythm) -> None:  # type: ignore[no-untyped-def]
    """Draw the profiles with the largest variance, and bands of one standard deviation."""
    period = round(rhythm.period)
    times = np.arange(1 - learned.rows, 1)
    profile = learned.prior.mean + rhythm.profile.at(np.arange(period))
    rows = transformed(learned.history, learned.transformation)
    if learned.contexts is not None:
        rows = learned.contexts.rest
    chosen = np.argsort(profile.var(axis=0))[::-1][:SHOWN]
    for place, arm in enumerate(chosen):
        apart = rows[:, arm] - learned.prior.mean[arm] - rhythm.profile.at(times)[:, arm]
        spread = np.array([apart[times % period == phase].std() for phase in range(period)])
        colour, values = COLOURS[place], profile[:, arm]
        axes.plot(values, STYLES[place], color=colour, linewidth=1.8,
                  label=learned.prior.domain.names[arm])  # fmt: skip
        axes.fill_between(np.arange(period), values - spread, values + spread, color=colour,
                          alpha=0.12, linewidth=0)  # fmt: skip
    axes.set(xlabel=f"step of the period of {rhythm.period:g}",
             ylabel=LABELS[learned.transformation], xlim=(0, max(period - 1, 1)))  # fmt: skip
    axes.legend(frameon=False, title="arm; band: one standard deviation")
    tidy(axes)
