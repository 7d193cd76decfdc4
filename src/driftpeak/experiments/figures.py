"""Pictures in the papers' layouts. Colours are those of `driftpeak.plots`."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from driftpeak.experiments.experiment import Results
from driftpeak.plots import BAND, COLOURS, STYLES

_BANDS = "bands: one standard error"


def regret_panels(
    results: Results,
    title: str,
    *,
    cases: Sequence[str] = (),
    average: bool = False,
    side_queries: bool = False,
) -> Figure:
    """One panel per case: cumulative regret R_t, or R_t / t, with standard errors over trials.

    With `side_queries`, a second row counts them.
    """
    cases = list(cases or results)
    rows = 2 if side_queries else 1
    figure = Figure(
        figsize=(max(6.4, 0.6 + 4.4 * len(cases)), 3.8 * rows + 0.8), layout="constrained"
    )
    panels = figure.subplots(rows, len(cases), squeeze=False)
    names = list(dict.fromkeys(str(n) for case in cases for n in results[case]["policy"].values))
    for column, case in enumerate(cases):
        runs = results[case]
        for name in map(str, runs["policy"].values):
            look = _look(names.index(name))
            regret = runs["regret"].sel(policy=name).values.cumsum(axis=1)
            curve(panels[0, column], runs, regret, look, average=average)
            if side_queries:
                queries = runs["side_queries"].sel(policy=name).values.cumsum(axis=1)
                curve(panels[1, column], runs, queries, look)
        panels[0, column].set(title=case, xlabel="step t")
        panels[0, column].set_ylim(0, _top(runs, average))
        if side_queries:
            panels[1, column].set(xlabel="step t", ylim=(0, None))
    panels[0, 0].set_ylabel("average regret, $R_t/t$" if average else "cumulative regret, $R_t$")
    if side_queries:
        panels[1, 0].set_ylabel("side queries so far, $N_t$")
    banded = any(results[case].attrs["independent_trials"] for case in cases)
    _finish(figure, panels, title, names, _BANDS if banded else "")
    return figure


def regret_overlay(results: Results, title: str, *, kinds: Sequence[str]) -> Figure:
    """B16's figures 2a and 2b: all cases in one panel, one colour each, a line style per policy.

    `kinds` are how the policies are called in the legend, in their order within each case.
    """
    figure = Figure(figsize=(7.2, 5.0), layout="constrained")
    axes = figure.add_subplot()
    top = 0.0
    for number, (case, runs) in enumerate(results.items()):
        for place, name in enumerate(map(str, runs["policy"].values)):
            regret = runs["regret"].sel(policy=name).values.cumsum(axis=1)
            look = {"color": COLOURS[number], "linestyle": STYLES[place]}
            curve(axes, runs, regret, {**look, "label": f"{kinds[place]}, {case}"}, average=True)
        top = max(top, _top(runs, True))
    axes.set(xlabel="step t", ylabel="average regret, $R_t/t$", ylim=(0, top))
    figure.suptitle(title, fontsize=11)
    figure.legend(
        loc="outside lower center", ncols=len(results), frameon=False, title=_BANDS, fontsize=9
    )
    _tidy(axes)
    return figure


def mismatch(
    results: Results, title: str, *, case: str, values: Sequence[float], xlabel: str, true: float
) -> Figure:
    """B16's figures 2c and 2d: R_T/T against a parameter, mean and one standard deviation.

    The policies of `case` stand for `values`, in this order; `true` is marked.
    """
    runs = results[case]
    regret = runs["regret"].mean("step").values
    mean = regret.mean(axis=1)
    deviation = regret.std(axis=1, ddof=1) if regret.shape[1] > 1 else 0 * mean
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.fill_between(
        values, mean - deviation, mean + deviation, color=COLOURS[0], alpha=BAND, lw=0
    )
    axes.plot(values, mean, "o-", color=COLOURS[0], ms=4, label="mean; band: standard deviation")
    axes.axvline(true, color=COLOURS[1], linestyle="--", label=f"matched: {true:g}")
    axes.set(xlabel=xlabel, ylabel="average regret, $R_T/T$", ylim=(0, None))
    figure.suptitle(title, fontsize=11)
    axes.legend(frameon=False)
    _tidy(axes)
    return figure


def curve(
    axes: Axes, runs: Any, totals: Any, look: dict[str, Any], *, average: bool = False
) -> None:
    """Mean and standard error over trials of `totals`, shape `(trial, step)`."""
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


def _top(runs: Any, average: bool) -> float:
    """Upper end of the axis; the first steps of an average are all exploration: left out."""
    totals = runs["regret"].values.cumsum(axis=2).mean(axis=1)
    if average:
        totals = totals / runs["step"].values
        return 1.1 * float(totals[:, min(5, totals.shape[1] - 1) :].max())
    return 1.1 * float(totals.max())


def _look(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": STYLES[number // len(COLOURS) % len(STYLES)],
    }


def _finish(figure: Figure, panels: Any, title: str, names: list[str], note: str) -> None:
    for axes in panels.flat:
        _tidy(axes)
    lines = [panels[0, 0].plot([], [], label=n, **_look(i))[0] for i, n in enumerate(names)]
    columns = min(4, len(names), 2 + panels.shape[1])
    figure.legend(
        handles=lines, loc="outside lower center", ncols=columns, frameon=False, title=note or None
    )
    figure.suptitle(title, fontsize=11)


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
