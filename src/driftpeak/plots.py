"""Pictures of runs. Colours are Okabe and Ito's, which the colour-blind can tell apart."""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#666666")
STYLES = ("-", "--", "-.", ":")
BAND = 0.2


def regret_figure(runs: xr.Dataset, *, title: str = "", independent_trials: bool) -> Figure:
    """Regret per step so far, R_t / t, of every policy (B16's figures); lowest ends lowest.

    With independent trials, bands of one standard error over them. Beside it, if an expert was
    asked, the side queries per step so far, N_t / t.
    """
    totals = runs["side_queries"].sum("step").mean("trial")
    asking = bool(totals.any())
    figure = new_figure(11.5 if asking else 8.0, 5.2)
    axes, *beside = figure.subplots(1, 1 + asking, squeeze=False)[0]
    average = runs["regret"].cumsum("step") / runs["step"]
    ends = average.mean("trial").isel(step=-1)
    order = [str(name) for name in runs["policy"].values[np.argsort(ends.values)[::-1]]]
    looks = dict(zip(map(str, runs["policy"].values), _looks(), strict=False))
    banded = independent_trials and runs.sizes["trial"] > 1
    # the first few steps are all exploration and would flatten everything after them
    settled, top = min(10, runs.sizes["step"] // 4), 0.0
    for name in order:
        curves = average.sel(policy=name).values
        mean, (colour, style) = curves.mean(axis=0), looks[name]
        error = curves.std(axis=0, ddof=1) / np.sqrt(len(curves)) if banded else 0 * mean
        axes.fill_between(
            runs["step"], mean - error, mean + error, color=colour, alpha=BAND, linewidth=0
        )
        label = f"{name}: {mean[-1]:.3g}"
        if asked := float(totals.sel(policy=name)):
            label += f", {asked:.4g} side queries"
            queries = runs["side_queries"].sel(policy=name).mean("trial").cumsum("step")
            share = queries / runs["step"]
            beside[0].plot(runs["step"], share, color=colour, linestyle=style, linewidth=1.8)
        axes.plot(runs["step"], mean, color=colour, linestyle=style, linewidth=1.8, label=label)
        top = max(top, (mean + error)[settled:].max())
    axes.set(xlabel="step t", ylabel="average regret so far, $R_t / t$")
    axes.set_ylim(0, 1.05 * top or 1.0)
    for panel in beside:
        panel.set(xlabel="step t", ylabel="side queries per step so far, $N_t / t$")
        panel.set_ylim(0)
    for panel in (axes, *beside):
        panel.set_xlim(1, max(2, runs.sizes["step"]))
        tidy(panel)
    figure.suptitle(title)
    legend = "policy: value at the end" + ("; bands: one standard error" if banded else "")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, title=legend)
    return figure


def track_figure(runs: xr.Dataset, *, title: str = "", ylabel: str = "reward") -> Figure:
    """The peak's value through time and, one panel each, the value at every policy's choice.

    Shows the first trial. What lies between the two lines is the regret.
    """
    names = [str(name) for name in runs["policy"].values]
    order = sorted(names, key=lambda name: float(runs["regret"].sel(policy=name).mean()))
    looks = dict(zip(names, _looks(), strict=False))
    figure = new_figure(9.0, 1.2 + 1.25 * len(order))
    panels = figure.subplots(len(order), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    x, xlabel = time_axis(runs)
    rewards = runs["rewards"].values
    peak = rewards.max(axis=1)
    for axes, name in zip(panels, order, strict=True):
        colour = looks[name][0]
        run = runs.sel(policy=name).isel(trial=0)
        chosen = rewards[np.arange(len(rewards)), run["action"].values]
        axes.fill_between(x, chosen, peak, color=colour, alpha=BAND, linewidth=0)
        axes.plot(x, peak, color="black", linewidth=1.0)
        axes.plot(x, chosen, color=colour, linewidth=1.2)
        regret = float(runs["regret"].sel(policy=name).mean())
        heading = f"{name}: mean regret {regret:.3g}"
        if queries := int(run["side_queries"].sum()):
            heading += f", {queries} side queries"
        axes.set_title(heading, loc="left", fontsize=9, color=colour)
        tidy(axes)
    panels[0].text(
        1.0, 1.05, "black: the peak", transform=panels[0].transAxes, ha="right", fontsize=9
    )
    panels[-1].set_xlabel(xlabel)
    figure.supylabel(ylabel)
    figure.suptitle(title)
    if np.issubdtype(np.asarray(x).dtype, np.datetime64):
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        panels[-1].xaxis.set_major_locator(locator)
        panels[-1].xaxis.set_major_formatter(
            ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        )
    return figure


def belief_figure(runs: xr.Dataset, *, title: str = "") -> Figure:
    """What `Auto` thinks through time: the drift, how long data are of use, whether it changed.

    Of the first policy that has such readings: medians over trials, and bands from the 10 % to the
    90 % quantile.
    """
    policy = runs["policy"].values[runs["believed_drift"].notnull().all(["trial", "step"])][0]
    mine, (when, label) = runs.sel(policy=policy), time_axis(runs)
    figure = new_figure(8.0, 7.2)
    panels = figure.subplots(4, 1, sharex=True)
    shown = {
        "believed_drift": "believed drift\nper step",
        "memory": "data are of use\nfor (steps)",
        "change_probability": "probability of a\nrecent change",
        "believed_noise": "believed noise\n(reward's unit)",
    }
    for axes, (name, ylabel), colour in zip(panels, shown.items(), COLOURS, strict=False):
        low, middle, high = mine[name].quantile([0.1, 0.5, 0.9], "trial").values
        axes.fill_between(when, low, high, color=colour, alpha=BAND, linewidth=0)
        axes.plot(when, middle, color=colour, linewidth=1.6)
        axes.set_ylabel(ylabel)
        axes.set_yscale("linear" if name == "change_probability" else "log")
        tidy(axes)
    panels[2].set_ylim(0, 1)
    panels[-1].set_xlabel(label)
    band = "; bands: 10 % to 90 % of the trials" if runs.sizes["trial"] > 1 else ""
    figure.suptitle(f"What {policy} thinks{band}\n{title}", fontsize=11)
    return figure


def map_figure(
    values: Any, positions: Any, tracks: dict[str, Sequence[int]], *, title: str = ""
) -> Figure:
    """A function on a line as a map, time to the right, with its peak and each policy's choices.

    Arguments:
        values: shape `(steps, n)`.
        positions: of the n points, increasing.
        tracks: each policy's choices, point numbers, by name; one panel each.
    """
    values, positions = np.asarray(values), np.asarray(positions)
    figure = new_figure(4.6 * len(tracks), 4.2)
    panels = figure.subplots(1, len(tracks), sharey=True, squeeze=False)[0]
    steps = np.arange(1, len(values) + 1)
    peak = positions[values.argmax(axis=1)]
    for axes, (name, chosen) in zip(panels, tracks.items(), strict=True):
        image = axes.pcolormesh(steps, positions, values.T, cmap="cividis", rasterized=True)
        # white with a dark rim: visible on the map and in the legend
        rim = {"markerfacecolor": "white", "markeredgecolor": "black", "markeredgewidth": 0.5}
        axes.plot(steps, peak, "o", markersize=3.2, label="peak", clip_on=False, **rim)
        sampled = positions[np.asarray(chosen)]
        axes.plot(
            steps, sampled, ".", color=COLOURS[1], markersize=4.5, label="sampled", clip_on=False
        )
        axes.set(xlabel="step t", title=name)
    panels[0].set_ylabel("x")
    figure.colorbar(image, ax=list(panels), label="$f_t(x)$", pad=0.02)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2, frameon=False, markerscale=2
    )
    figure.suptitle(title)
    return figure


def time_axis(runs: xr.Dataset) -> tuple[Any, str]:
    """Where to draw the steps: at their labels if all are dates or numbers, else at 1, 2, ..."""
    if "label" in runs.coords:
        labels = [str(label) for label in runs["label"].values]
        try:
            return np.array(labels, dtype="datetime64[s]"), "time"
        except ValueError:
            pass
        try:
            return np.array(labels, dtype=float), "time"
        except ValueError:
            pass
    return runs["step"].values, "step t"


def _looks() -> list[tuple[str, str]]:
    """Colour and line style of the first, second, ... policy; no two alike among 32."""
    colours = cycle(COLOURS)
    return [(colour, style) for style in STYLES for colour in islice(colours, len(COLOURS))]


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def tidy(axes: Axes) -> None:
    """No frame above and at the right, a faint grid behind."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
