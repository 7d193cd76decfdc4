"""Figures of recorded data: errors on a map, peak and choices over time, and regret by case."""

from collections.abc import Sequence
from math import ceil, cos, radians
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from driftpeak.experiments.experiment import Results
from driftpeak.plots import COLOURS, new_figure, tidy, track_figure

COLUMNS = 4
MARKS = "osD^v<>P"
SPREAD = 0.12  # distance of the marks of neighbouring policies, relative to that of cases


def tracks(
    results: Results, title: str, *, case: str, ylabel: str, policies: Sequence[str] = ()
) -> Figure:
    """Draw the value of the peak and of each policy's choices over time."""
    runs = results[case]
    return track_figure(
        runs.sel(policy=list(policies)) if policies else runs,
        title=f"{title}\n{case}, first trial",
        ylabel=ylabel,
    )


def error_map(results: Results, title: str, *, case: str, unit: str) -> Figure:
    """Draw each policy's squared prediction error by position, mean over steps and trials.

    Each policy has one panel. All panels share one colour scale.
    """
    runs = results[case]
    errors = runs["point_error"].mean("trial", skipna=False)
    errors = errors.dropna("policy")  # policies without predictions
    names = [str(name) for name in errors["policy"].values]
    east, north = runs["longitude"].values, runs["latitude"].values
    columns = min(COLUMNS, len(names))
    rows = ceil(len(names) / columns)
    figure = new_figure(0.8 + 3.1 * columns, 1.1 + 3.0 * rows)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    scale = LogNorm(float(errors.min()), float(errors.max()))  # errors differ by a factor of 10
    for axes, name in zip(panels, names, strict=False):
        values = errors.sel(policy=name).values
        _coloured(axes, east, north, values, scale)
        axes.set_title(f"{name}: {values.mean():.3g}", fontsize=10)
        axes.set_aspect(1 / cos(radians(float(north.mean()))))
    for axes in panels[len(names) :]:
        axes.remove()
    figure.supxlabel("longitude, degrees east")
    figure.supylabel("latitude, degrees north")
    bar = ScalarMappable(scale, "cividis")
    colours = figure.colorbar(
        bar, ax=list(panels[: len(names)]), label=f"mean squared error, {unit}"
    )
    colours.ax.yaxis.set_major_formatter("{x:g}")
    colours.ax.yaxis.set_minor_formatter("{x:g}")
    figure.suptitle(f"{title}\n{case}; panel titles: mean over the map", fontsize=11)
    return figure


def _coloured(axes: Axes, east: Any, north: Any, values: Any, scale: LogNorm) -> None:
    """Draw the cells of a lattice as squares, or scattered positions as discs."""
    columns, rows = np.unique(east), np.unique(north)
    look: dict[str, Any] = {"cmap": "cividis", "norm": scale}
    if len(columns) * len(rows) > 2 * len(values):
        axes.scatter(east, north, c=values, s=110, edgecolors="black", linewidths=0.5, **look)
        axes.margins(0.12)
        return
    wide, high = np.diff(columns).min() / 2, np.diff(rows).min() / 2
    corners = np.array([[-wide, -high], [wide, -high], [wide, high], [-wide, high]])
    squares = np.stack([east, north], axis=1)[:, None, :] + corners
    cells = PolyCollection(squares, array=values, edgecolors="face", linewidths=0.2, **look)
    axes.add_collection(cells)
    axes.autoscale_view()


def every_point(results: Results, title: str, *, case: str, ylabel: str) -> Figure:
    """Draw the recorded values of every point over time, and their maximum."""
    runs = results[case]
    values = runs["rewards"].values
    steps = np.arange(1, len(values) + 1)
    figure = new_figure(9.0, 4.4)
    axes = figure.add_subplot()
    axes.plot(steps, values, color=COLOURS[-1], alpha=0.35, linewidth=0.6)
    axes.plot([], [], color=COLOURS[-1], linewidth=0.6, label=f"each of {values.shape[1]} points")
    axes.plot(steps, values.max(axis=1), color=COLOURS[1], linewidth=1.4, label="maximum")
    axes.set(xlabel="step t", ylabel=ylabel)
    tidy(axes)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure


def by_case(
    results: Results, title: str, *, cases: Sequence[str], ylabel: str, policies: Sequence[str] = ()
) -> Figure:
    """Draw the regret per step, R_T/T, of every policy, or of `policies`, in every case.

    Bars span the lower to the upper quartile of the trials.
    """
    figure = new_figure(max(6.4, 1.6 + 0.9 * len(cases)), 4.4)
    axes = figure.add_subplot()
    names = list(policies) or [str(name) for name in results[cases[0]]["policy"].values]
    places = np.arange(len(cases))
    for number, name in enumerate(names):
        regret = [results[case]["regret"].sel(policy=name).mean("step").values for case in cases]
        low, mean, high = (
            np.array([measure(trials) for trials in regret])
            for measure in (lambda x: np.quantile(x, 0.25), np.mean, lambda x: np.quantile(x, 0.75))
        )
        x = places + SPREAD * (number - (len(names) - 1) / 2)
        axes.vlines(x, low, high, color=COLOURS[number], linewidth=1.4)
        axes.plot(x, mean, MARKS[number], color=COLOURS[number], markersize=7, label=name)
    axes.set_xticks(places, list(cases))
    axes.set(ylabel=ylabel, ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    figure.suptitle(title, fontsize=11)
    figure.legend(loc="outside lower center", ncols=len(names), frameon=False,
                  title="mean over trials; bars: lower to upper quartile")  # fmt: skip
    return figure
