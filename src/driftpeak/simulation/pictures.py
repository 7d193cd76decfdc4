"""Regret in a picture: through time with bands, or, of many policies, ranked with intervals."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from driftpeak.plots import BAND, looks, new_figure, tidy, time_axis, with_unit, write_dates
from driftpeak.simulation.samples import half_interval, standard_error
from driftpeak.simulation.verdict import LEVEL, verdict

MOST_CURVES = 8
"""Policies whose curves can be told apart in one picture."""
BAND_POINTS = 150
"""Where the width of a band is computed; straight between."""
FIRST_BAND = 4
"""Steps before which there is no error to speak of."""


def regret_figure(runs: xr.Dataset, *, title: str = "", independent_trials: bool) -> Figure:
    """Regret per step so far, R_t / t, of every policy (B16's figures); lowest ends lowest.

    Bands are one standard error: over trials or, with one recorded history, from the means of
    blocks of the steps so far; at the end the error that `summarise` gives. Beside it, if an expert
    was asked, the side queries per step so far, N_t / t. More than `MOST_CURVES` policies are
    ranked instead, as by `ranking_figure`.

    Arguments:
        runs: with `regret`, policy x trial x step, in the unit that its attribute `units` says.
        title: above the picture.
        independent_trials: whether trials are samples; False for one recorded history.
    """
    if runs.sizes["policy"] > MOST_CURVES:
        return ranking_figure(runs, title=title, independent_trials=independent_trials)
    totals = runs["side_queries"].sum("step").mean("trial")
    asking = bool(totals.any())
    figure = new_figure(11.5 if asking else 8.0, 5.2)
    axes, *beside = figure.subplots(1, 1 + asking, squeeze=False)[0]
    average = runs["regret"].cumsum("step") / runs["step"]
    ends = average.mean("trial").isel(step=-1)
    order = [str(name) for name in runs["policy"].values[np.argsort(ends.values)[::-1]]]
    look, unit = looks(map(str, runs["policy"].values)), _unit(runs)
    x, xlabel = time_axis(runs)
    # the first few steps are all exploration and would flatten everything after them
    settled, top, banded = min(10, runs.sizes["step"] // 4), 0.0, False
    shade = min(BAND, 0.6 / len(order))  # many bands lie upon one another
    for name in order:
        mean, (colour, style) = average.sel(policy=name).values.mean(axis=0), look[name]
        at, error = band(runs["regret"].sel(policy=name).values, independent_trials)
        reach = mean[settled:]
        if len(at):
            banded, low, high = True, mean[at] - error, mean[at] + error
            axes.fill_between(x[at], low, high, color=colour, alpha=shade, linewidth=0)
            reach = np.append(reach, high[at >= settled])
        label = f"{name}: {mean[-1]:.3g}"
        if len(at):
            label += f" $\\pm$ {error[-1]:.2g}"
        if asked := float(totals.sel(policy=name)):
            label += f", {asked:.4g} side queries"
            queries = runs["side_queries"].sel(policy=name).mean("trial").cumsum("step")
            share = queries / runs["step"]
            beside[0].plot(x, share, color=colour, linestyle=style, linewidth=1.8)
        # a broken line on top of a full one leaves both to be seen
        look_of = {"color": colour, "linestyle": style, "zorder": 2.0 if style == "-" else 2.5}
        axes.plot(x, mean, linewidth=1.8, label=label, **look_of)
        top = max(top, reach.max())
    axes.set(xlabel=xlabel, ylabel=with_unit("average regret so far, $R_t / t$", unit))
    axes.set_ylim(0, 1.05 * top or 1.0)
    for panel in beside:
        panel.set(xlabel=xlabel, ylabel="side queries per step so far, $N_t / t$")
        panel.set_ylim(0)
    for panel in (axes, *beside):
        if x[-1] > x[0]:
            panel.set_xlim(x[0], x[-1])
        write_dates(panel, x)
        tidy(panel)
    figure.suptitle(title)
    legend = with_unit("policy: regret per step at the end", unit)
    if banded:
        legend += "; bands: one standard error"
        legend += "" if independent_trials else ", from blocks of steps"
    figure.legend(loc="outside lower center", ncols=2, frameon=False, title=legend)
    return figure


def band(regret: Any, independent_trials: bool) -> tuple[Any, Any]:
    """Where, as step numbers from 0, and how large the standard error of the mean so far is.

    Arguments:
        regret: of one policy, shape `(trial, step)`.
        independent_trials: whether trials are samples.

    Returns:
        Two arrays of one length, which is 0 where there is but one sample.
    """
    trials, steps = regret.shape
    if steps < FIRST_BAND or (independent_trials and trials < 2):
        return np.empty(0, int), np.empty(0)
    at = np.unique(np.linspace(FIRST_BAND - 1, steps - 1, BAND_POINTS).round().astype(int))
    errors = [
        standard_error(regret[:, : last + 1], independent_trials=independent_trials) for last in at
    ]
    return at, np.array(errors)


def ranking_figure(runs: xr.Dataset, *, title: str = "", independent_trials: bool) -> Figure:
    """Mean regret of every policy, least on top, with 95 % intervals.

    Filled marks cannot be told apart from the best, hollow ones are worse by more than chance
    (`driftpeak.simulation.verdict`); squares are yardsticks that are shown the true function.

    Arguments:
        runs, title, independent_trials: as for `regret_figure`.
    """
    names = [str(name) for name in runs["policy"].values]
    mean = {name: float(runs["regret"].sel(policy=name).mean()) for name in names}
    order = sorted(names, key=lambda name: mean[name])[::-1]
    judged = verdict(runs, independent_trials=independent_trials) if _real(runs) else None
    look, unit, barred = looks(names), _unit(runs), False
    figure = new_figure(8.6, 1.4 + 0.3 * len(order))
    axes = figure.subplots()
    asked = runs["side_queries"].sum("step").mean("trial")
    labels = []
    for height, name in enumerate(order):
        regret = runs["regret"].sel(policy=name).values
        colour = look[name].colour
        error = half_interval(regret, independent_trials=independent_trials, level=LEVEL)
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
        queries = float(asked.sel(policy=name))
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
    words = ["cannot be told apart from the best", "worse, by more than chance"]
    if judged is None or len(judged.others) + 1 < len(order):
        handles.append(
            axes.plot([], [], "s", markerfacecolor="white", markeredgewidth=1.8, **dark)[0]
        )
        words.append("is shown the true function")
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


def _unit(runs: xr.Dataset) -> str:
    return str(runs["regret"].attrs.get("units", ""))
