"""Figures in the layouts of the papers, with the colours of `driftpeak.plots`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from driftpeak.experiments.experiment import Results
from driftpeak.plots import BAND, COLOURS, STYLES, new_figure, tidy, with_unit

_BANDS = "bands: one standard error"
_MEASURES = {  # by name, and whether the measure is averaged over steps
    ("regret", False): "cumulative regret, $R_t$",
    ("regret", True): "average regret, $R_t/t$",
    ("side_queries", False): "cumulative side queries, $N_t$",
    ("squared_error", True): "mean squared error up to step t",
}


def regret_panels(
    results: Results,
    title: str,
    *,
    cases: Sequence[str] = (),
    average: bool = False,
    further: Sequence[str] = (),
    unit: str = "",
) -> Figure:
    """Draw cumulative regret R_t, or R_t / t, with standard errors over trials, by case.

    Each case has one panel. Each of `further` adds a row of panels: cumulative "side_queries", or
    the mean "squared_error" up to each step. The unit is the unit of the rewards.
    """
    cases = list(cases or results)
    rows = {"regret": average} | {measure: measure == "squared_error" for measure in further}
    figure = new_figure(max(6.4, 0.6 + 4.4 * len(cases)), 3.8 * len(rows) + 0.8)
    panels = figure.subplots(len(rows), len(cases), squeeze=False)
    names = list(dict.fromkeys(str(n) for case in cases for n in results[case]["policy"].values))
    for column, case in enumerate(cases):
        runs = results[case]
        for name in map(str, runs["policy"].values):
            look = _look(names.index(name))
            for axes, (measure, averaged) in zip(panels[:, column], rows.items(), strict=True):
                totals = runs[measure].sel(policy=name).values.cumsum(axis=1)
                curve(axes, runs, totals, look, average=averaged)
        panels[0, column].set_title(case)
        for axes, (measure, averaged) in zip(panels[:, column], rows.items(), strict=True):
            axes.set(xlabel="step t", ylim=(0, _top(runs, averaged, measure)))
    for axes, row in zip(panels[:, 0], rows.items(), strict=True):
        units = {"regret": unit, "squared_error": f"{unit} squared" if unit else ""}
        axes.set_ylabel(with_unit(_MEASURES[row], units.get(row[0], "")))
    banded = any(results[case].attrs["independent_trials"] for case in cases)
    _finish(figure, panels, title, names, _BANDS if banded else "")
    return figure


def regret_overlay(
    results: Results, title: str, *, cases: Sequence[str], kinds: Sequence[str]
) -> Figure:
    """Draw B16's figures 2a and 2b: all cases in one panel, one colour each.

    Each policy has one line style. `kinds` are the names of the policies in the legend, in their
    order within each case.
    """
    figure = new_figure(7.2, 5.0)
    axes = figure.add_subplot()
    top = 0.0
    for number, case in enumerate(cases):
        runs = results[case]
        for place, name in enumerate(map(str, runs["policy"].values)):
            regret = runs["regret"].sel(policy=name).values.cumsum(axis=1)
            look = {"color": COLOURS[number], "linestyle": STYLES[place]}
            curve(axes, runs, regret, {**look, "label": f"{kinds[place]}, {case}"}, average=True)
        top = max(top, _top(runs, True))
    axes.set(xlabel="step t", ylabel="average regret, $R_t/t$", ylim=(0, top))
    figure.suptitle(title, fontsize=11)
    figure.legend(
        loc="outside lower center", ncols=len(cases), frameon=False, title=_BANDS, fontsize=9
    )
    tidy(axes)
    return figure


def mismatch(
    results: Results, title: str, *, case: str, values: Sequence[float], xlabel: str, true: float
) -> Figure:
    """Draw B16's figures 2c and 2d: R_T/T over a parameter, mean and one standard deviation.

    The policies of `case` have the parameters `values`, in this order. `true` is marked.
    """
    runs = results[case]
    regret = runs["regret"].mean("step").values
    mean = regret.mean(axis=1)
    deviation = regret.std(axis=1, ddof=1) if regret.shape[1] > 1 else 0 * mean
    figure = new_figure(6.4, 4.4)
    axes = figure.add_subplot()
    axes.fill_between(
        values, mean - deviation, mean + deviation, color=COLOURS[0], alpha=BAND, lw=0
    )
    axes.plot(
        values, mean, "o-", color=COLOURS[0], ms=4, label="mean; band: one standard deviation"
    )
    axes.axvline(true, color=COLOURS[1], linestyle="--", label=f"true value: {true:g}")
    axes.set(xlabel=xlabel, ylabel="average regret, $R_T/T$", ylim=(0, None))
    figure.suptitle(title, fontsize=11)
    axes.legend(frameon=False)
    tidy(axes)
    return figure


def regret_and_order(
    results: Results, title: str, *, order: Callable[[Any], Any], label: str
) -> Figure:
    """Draw cumulative regret on logarithmic axes with the order of a bound, one panel per case.

    `order` maps steps to regrets. A dotted line shows regret that grows as T.
    """
    figure = new_figure(0.6 + 4.4 * len(results), 5.2)
    panels = figure.subplots(1, len(results), squeeze=False, sharey=True)
    names = list(dict.fromkeys(str(n) for runs in results.values() for n in runs["policy"].values))
    for axes, (case, runs) in zip(panels[0], results.items(), strict=True):
        steps = runs["step"].values
        for name in map(str, runs["policy"].values):
            totals = runs["regret"].sel(policy=name).values.cumsum(axis=1)
            curve(axes, runs, totals, _look(names.index(name)))
        lowest = float(runs["regret"].mean("trial").min())
        bound = axes.plot(steps[1:], order(steps[1:]), color="black", linewidth=1.6, label=label)
        line = axes.plot(steps, steps, color="black", linestyle=":", linewidth=1.2, label="t")
        axes.set(xscale="log", yscale="log", xlabel="step t", title=case)
        axes.set_ylim(bottom=max(lowest, 0.1))
    panels[0, 0].set_ylabel("cumulative regret, $R_t$")
    panels[0, 0].legend(handles=[*bound, *line], frameon=False, fontsize=9, loc="upper left")
    _finish(figure, panels, title, names, _BANDS)
    return figure


def curve(
    axes: Axes, runs: Any, totals: Any, look: dict[str, Any], *, average: bool = False
) -> None:
    """Draw the mean and standard error over trials of `totals`, shape `(trial, step)`."""
    steps = runs["step"].values
    values = totals / steps if average else totals
    mean = values.mean(axis=0)
    error = values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0 * mean
    if not runs.attrs["independent_trials"]:
        error = 0 * mean
    axes.fill_between(
        steps, mean - error, mean + error, color=look["color"], alpha=BAND, linewidth=0
    )
    axes.plot(steps, mean, linewidth=1.6, **look)


def _top(runs: Any, average: bool, measure: str = "regret") -> float:
    """Return the upper limit of the axis, without the first exploring steps of an average."""
    totals = runs[measure].values.cumsum(axis=2).mean(axis=1)
    if average:
        totals = totals / runs["step"].values
        totals = totals[:, min(5, totals.shape[1] - 1) :]
    # squared errors are NaN without predictions, and most policies have no side queries
    return 1.1 * float(np.nanmax(totals)) or 1.0


def _look(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": STYLES[number // len(COLOURS) % len(STYLES)],
    }


def _finish(figure: Figure, panels: Any, title: str, names: list[str], note: str) -> None:
    for axes in panels.flat:
        tidy(axes)
    lines = [panels[0, 0].plot([], [], label=n, **_look(i))[0] for i, n in enumerate(names)]
    columns = min(4, len(names), 2 + panels.shape[1])
    figure.legend(
        handles=lines, loc="outside lower center", ncols=columns, frameon=False, title=note or None
    )
    figure.suptitle(title, fontsize=11)
