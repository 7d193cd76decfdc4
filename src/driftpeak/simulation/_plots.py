"""Figures of regret: over time with bands, or for many policies, ranked with intervals."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from driftpeak._core.aligned import decimals_of, number_text
from driftpeak._core.argument_types import checked
from driftpeak.plots import (
    BAND,
    looks,
    new_figure,
    tidy,
    time_axis,
    with_unit,
    write_dates,
)
from driftpeak.simulation._aggregation import kept_of
from driftpeak.simulation._comparison import LEVEL, verdict
from driftpeak.simulation._regrets import (
    regret_so_far,
    regret_unit,
    regrets_of,
    side_queries_by_step,
    totals_of,
)
from driftpeak.simulation._samples import half_interval, standard_error

MOST_CURVES = 8
"""Largest number of policies drawn as curves."""
BAND_POINTS = 150
"""Steps at which the width of a band is computed; it is interpolated between them."""
FIRST_BAND = 4
"""First step at which a standard error is estimated."""


@checked
def regret_figure(runs: xr.Dataset, *, title: str = "", independent_trials: bool) -> Figure:
    """Draw the average regret R_t / t of every policy over time, as the figures of B16.

    Bands are one standard error: over trials or, for one recorded history, from the means of blocks
    of the steps so far. The last error is the one that `summarise` returns. If any policy used side
    queries, a second panel shows their number per step, N_t / t. For more than `MOST_CURVES`
    policies the result is `ranking_figure`.

    Arguments:
        runs: result of `simulate`, with everything or summaries kept; the unit is the attribute
            `units` of the regret.
        title: title of the figure.
        independent_trials: whether trials are samples; False for one recorded history.
    """
    if runs.sizes["policy"] > MOST_CURVES:
        return ranking_figure(runs, title=title, independent_trials=independent_trials)
    names = [str(name) for name in runs["policy"].values]
    totals = {name: float(totals_of(runs, "side_queries", name).mean()) for name in names}
    asking = any(totals.values())
    figure = new_figure(11.5 if asking else 8.0, 5.2)
    axes, *beside = figure.subplots(1, 1 + asking, squeeze=False)[0]
    average = {name: regret_so_far(runs, name) for name in names}
    order = [names[index] for index in np.argsort([average[name][-1] for name in names])[::-1]]
    look, unit = looks(names), regret_unit(runs)
    x, xlabel = time_axis(runs)
    # the high regret of the first exploring steps would compress the rest of the axis
    settled, top, banded = min(10, runs.sizes["step"] // 4), 0.0, False
    shade = min(BAND, 0.6 / len(order))  # many bands overlap
    bands = {name: _band(runs, name, independent_trials) for name in order}
    decimals = decimals_of(error[-1] for _, error in bands.values() if len(error))
    for name in order:
        mean, (colour, style) = average[name], look[name]
        at, error = bands[name]
        reach = mean[settled:]
        if len(at):
            banded, low, high = True, mean[at] - error, mean[at] + error
            axes.fill_between(x[at], low, high, color=colour, alpha=shade, linewidth=0)
            reach = np.append(reach, high[at >= settled])
        label = f"{name}: {number_text(mean[-1], decimals)}"
        if len(at):
            label += f" $\\pm$ {number_text(error[-1], decimals)}"
        if asked := totals[name]:
            label += f", {asked:.4g} side queries"
            share = side_queries_by_step(runs, name).cumsum() / runs["step"].values
            beside[0].plot(x, share, color=colour, linestyle=style, linewidth=1.8)
        # dashed lines are drawn above solid lines, so that both are visible
        look_of = {"color": colour, "linestyle": style, "zorder": 2.0 if style == "-" else 2.5}
        axes.plot(x, mean, linewidth=1.8, label=label, **look_of)
        top = max(top, reach.max())
    axes.set(xlabel=xlabel, ylabel=with_unit("average regret, $R_t / t$", unit))
    axes.set_ylim(0, 1.05 * top or 1.0)
    for panel in beside:
        panel.set(xlabel=xlabel, ylabel="side queries per step, $N_t / t$")
        panel.set_ylim(0)
    for panel in (axes, *beside):
        if x[-1] > x[0]:
            panel.set_xlim(x[0], x[-1])
        write_dates(panel, x)
        tidy(panel)
    figure.suptitle(title)
    legend = with_unit("policy: average regret after the last step", unit)
    if banded:
        legend += "; bands: one standard error"
        legend += "" if independent_trials else ", from blocks of steps"
    figure.legend(loc="outside lower center", ncols=2, frameon=False, title=legend)
    return figure


def _band(runs: xr.Dataset, name: str, independent_trials: bool) -> tuple[Any, Any]:
    """Return `band` of a policy; for independent trials, summaries already hold the errors."""
    if kept_of(runs) == "everything" or not independent_trials:
        return band(
            regrets_of(runs, name, independent_trials=independent_trials), independent_trials
        )
    steps = runs.sizes["step"]
    if steps < FIRST_BAND or runs.sizes["trial"] < 2:
        return np.empty(0, int), np.empty(0)
    at = _places(steps)
    return at, runs["mean_regret_so_far_stderr"].sel(policy=name).values[at]


def _places(steps: int) -> Any:
    return np.unique(np.linspace(FIRST_BAND - 1, steps - 1, BAND_POINTS).round().astype(int))


def band(regret: Any, independent_trials: bool) -> tuple[Any, Any]:
    """Return step numbers from 0 and the standard errors of the mean regret up to these steps.

    Arguments:
        regret: regret of one policy, shape `(trial, step)`.
        independent_trials: whether trials are samples.

    Returns:
        Two arrays of equal length; the length is 0 if there is only one sample.
    """
    trials, steps = regret.shape
    if steps < FIRST_BAND or (independent_trials and trials < 2):
        return np.empty(0, int), np.empty(0)
    at = _places(steps)
    errors = [
        standard_error(regret[:, : last + 1], independent_trials=independent_trials) for last in at
    ]
    return at, np.array(errors)


@checked
def ranking_figure(runs: xr.Dataset, *, title: str = "", independent_trials: bool) -> Figure:
    """Draw the mean regret of every policy with 95 % intervals, lowest on top.

    Filled marks are not significantly worse than the best policy, hollow marks are significantly
    worse (`driftpeak.simulation.verdict`). Squares are yardsticks that observe the true
    function.

    Arguments:
        runs, title, independent_trials: as for `regret_figure`.
    """
    names = [str(name) for name in runs["policy"].values]
    regrets = {
        name: regrets_of(runs, name, independent_trials=independent_trials) for name in names
    }
    mean = {name: float(regret.mean()) for name, regret in regrets.items()}
    order = sorted(names, key=lambda name: mean[name])[::-1]
    judged = verdict(runs, independent_trials=independent_trials) if _real(runs) else None
    look, unit, barred = looks(names), regret_unit(runs), False
    figure = new_figure(8.6, 1.4 + 0.3 * len(order))
    axes = figure.subplots()
    labels = []
    for height, name in enumerate(order):
        colour = look[name].colour
        error = half_interval(regrets[name], independent_trials=independent_trials, level=LEVEL)
        barred = barred or error == error
        error = np.nan_to_num(error)
        low, high = max(0.0, mean[name] - error), mean[name] + error
        axes.plot([low, high], [height, height], color=colour, linewidth=2.0, alpha=0.7)
        real = judged is not None and (name == judged.best or name in judged.others)
        worse = judged is not None and name in judged.worse
        axes.plot(
            mean[name],
            height,
            "o" if real else "s",
            color=colour,
            markersize=8,
            markerfacecolor="white" if worse or not real else colour,
            markeredgewidth=1.8,
            zorder=3,
        )
        queries = float(totals_of(runs, "side_queries", name).mean())
        labels.append(f"{name} ({queries:.3g} side queries)" if queries else name)
    axes.set_yticks(range(len(order)), labels)
    if judged is not None:
        axes.axvline(mean[judged.best], color="black", linewidth=0.8, zorder=0)
        axes.get_yticklabels()[order.index(judged.best)].set_fontweight("bold")
    axes.set_xlim(0)
    axes.set_ylim(-0.7, len(order) - 0.3)
    axes.set_xlabel(with_unit("mean regret per step", unit))
    tidy(axes)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    dark: dict[str, Any] = {"color": "#444444", "linestyle": "", "markersize": 8}
    handles = [
        axes.plot([], [], "o", **dark)[0],
        axes.plot([], [], "o", markerfacecolor="white", markeredgewidth=1.8, **dark)[0],
    ]
    words = ["not significantly worse than the best", "significantly worse"]
    if judged is None or len(judged.others) + 1 < len(order):
        handles.append(
            axes.plot([], [], "s", markerfacecolor="white", markeredgewidth=1.8, **dark)[0]
        )
        words.append("yardstick (observes the true function)")
    bars = "bars: 95 % intervals" + ("" if independent_trials else ", from blocks of steps")
    figure.legend(
        handles,
        words,
        loc="outside lower center",
        ncols=3,
        frameon=False,
        title=bars if barred else None,
    )
    figure.suptitle(title, fontsize=11)
    return figure


def _real(runs: xr.Dataset) -> bool:
    return bool((runs["foresight"] == "none").any())
