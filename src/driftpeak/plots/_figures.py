"""Figures of runs: peak and choices over time, estimates of `Auto`, and functions as maps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite_array, increasing, shown
from driftpeak.plots._policy_styles import looks
from driftpeak.plots._style import BAND, COLOURS, new_figure, tidy, with_unit
from driftpeak.plots._time_axis import time_axis, write_dates

MOST_TRACKS = 8
"""Largest number of policies with a panel each."""


@checked
def track_figure(runs: xr.Dataset, *, title: str = "", ylabel: str = "") -> Figure:
    """Draw the value of the peak and of every policy's choices over time, one panel per policy.

    The figure shows the first trial. If there are more than `MOST_TRACKS` policies, it shows those
    of lowest regret. The area between the two lines is the regret. With costs (the attribute
    `minimize`) the peak is the lowest cost.

    Arguments:
        runs: result of `driftpeak.offline.replay.replay`; the unit is the unit of `rewards`.
        title: title of the figure.
        ylabel: label of the vertical axis; by default reward or cost with its unit.

    Raises:
        DriftpeakError: a record without rewards, or with only summaries.
    """
    _need(runs, "rewards", "action", "regret")
    names = [str(name) for name in runs["policy"].values]
    ranked = sorted(names, key=lambda name: float(runs["regret"].sel(policy=name).mean()))
    order, look = ranked[:MOST_TRACKS], looks(names)
    figure = new_figure(9.0, 1.2 + 1.25 * len(order))
    panels = figure.subplots(len(order), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    x, xlabel = time_axis(runs)
    rewards, minimize = runs["rewards"].values, bool(runs.attrs.get("minimize", 0))
    unit = str(runs["rewards"].attrs.get("units", ""))
    peak = rewards.min(axis=1) if minimize else rewards.max(axis=1)
    for axes, name in zip(panels, order, strict=True):
        colour = look[name].colour
        run = runs.sel(policy=name).isel(trial=0)
        chosen = rewards[np.arange(len(rewards)), run["action"].values]
        axes.fill_between(x, chosen, peak, color=colour, alpha=BAND, linewidth=0)
        axes.plot(x, peak, color="black", linewidth=1.0)
        axes.plot(x, chosen, color=colour, linewidth=1.2)
        regret = float(runs["regret"].sel(policy=name).mean())
        heading = f"{name}: mean regret {regret:.3g} {unit}".rstrip()
        if queries := int(run["side_queries"].sum()):
            heading += f", {queries} side queries"
        axes.set_title(heading, loc="left", fontsize=9, color=colour)
        tidy(axes)
    peak_is = "lowest cost" if minimize else "peak"
    panels[0].text(
        1.0, 1.05, f"black: {peak_is}", transform=panels[0].transAxes, ha="right", fontsize=9
    )
    panels[-1].set_xlabel(xlabel)
    write_dates(panels[-1], x)
    figure.supylabel(ylabel or with_unit("cost" if minimize else "reward", unit))
    if len(order) < len(ranked):
        title = (
            f"{title}\nthe {len(order)} of {len(ranked)} policies with the lowest regret".lstrip()
        )
    figure.suptitle(title)
    return figure


@checked
def belief_figure(runs: xr.Dataset, *, title: str = "") -> Figure:
    """Draw the estimates of `Auto` over time: drift rate, memory, change probability and noise.

    The figure shows the first policy with such readings: medians over trials, and bands from the
    10 % to the 90 % quantile.

    Arguments:
        runs: result of a simulation with `readings=True`.
        title: title of the figure.

    Raises:
        DriftpeakError: a record without readings.
    """
    _need(runs, "believed_drift", "reward")
    policy = runs["policy"].values[runs["believed_drift"].notnull().all(["trial", "step"])][0]
    mine, (when, label) = runs.sel(policy=policy), time_axis(runs)
    unit = runs["reward"].attrs.get("units") or "reward's unit"
    figure = new_figure(8.0, 7.2)
    panels = figure.subplots(4, 1, sharex=True)
    shown = {
        "believed_drift": "estimated drift\nper step",
        "memory": "memory\n(steps)",
        "change_probability": "probability of a\nrecent change",
        "believed_noise": f"estimated noise\n({unit})",
    }
    for axes, (name, ylabel), colour in zip(panels, shown.items(), COLOURS, strict=False):
        low, middle, high = mine[name].quantile([0.1, 0.5, 0.9], "trial").values
        axes.fill_between(when, low, high, color=colour, alpha=BAND, linewidth=0)
        axes.plot(when, middle, color=colour, linewidth=1.6)
        axes.set_ylabel(ylabel)
        axes.set_yscale("linear" if name == "change_probability" else "log")
        tidy(axes)
    panels[2].set_ylim(-0.03, 1.03)  # so that a line at 0 is visible
    panels[-1].set_xlabel(label)
    write_dates(panels[-1], when)
    band = "; bands: 10 % to 90 % of the trials" if runs.sizes["trial"] > 1 else ""
    figure.suptitle(f"Estimates of {policy}{band}\n{title}", fontsize=11)
    return figure


def _need(runs: xr.Dataset, *names: str) -> None:
    """Raise DriftpeakError if a record lacks variables of a figure."""
    missing = [name for name in names if name not in runs.variables]
    if missing:
        only = runs.attrs.get("keep") == "summaries"
        got = "only summaries" if only else ", ".join(map(str, runs.data_vars))
        remedy = ". Use keep='everything'" if only else ""
        raise DriftpeakError(
            f"runs must have {', '.join(missing)} for this figure; got {got}{remedy}"
        )


def _points(chosen: Any, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return a policy's choices, one point number per step, after a check."""
    points = finite_array("tracks", chosen, 1)
    steps, count = shape
    if len(points) != steps or not ((points >= 0) & (points < count)).all():
        raise DriftpeakError(
            f"each of tracks must be {steps} point numbers in 0..{count - 1}; got {shown(chosen)}"
        )
    return points.astype(np.int64)


@checked
def map_figure(
    values: Any,
    positions: Any,
    tracks: Mapping[str, Sequence[int] | np.ndarray[Any, np.dtype[np.integer[Any]]]],
    *,
    title: str = "",
) -> Figure:
    """Draw a function on a line as a map over time, with its peak and each policy's choices.

    Arguments:
        values: values of the function, shape `(steps, n)`.
        positions: positions of the n points, increasing.
        tracks: point numbers of each policy's choices, by name; each policy has one panel.
        title: title of the figure.

    Raises:
        DriftpeakError: values, positions and tracks of different lengths, or without elements.
    """
    values, positions = finite_array("values", values, 2), increasing("positions", positions)
    if len(positions) != values.shape[1] or not tracks or not len(values):
        raise DriftpeakError(
            "values must have a column per position and at least one row, and tracks at least one "
            f"policy; got shape {values.shape}, {len(positions)} positions, {len(tracks)} tracks"
        )
    tracks = {name: _points(chosen, values.shape) for name, chosen in tracks.items()}
    figure = new_figure(4.6 * len(tracks), 4.2)
    panels = figure.subplots(1, len(tracks), sharey=True, squeeze=False)[0]
    steps = np.arange(1, len(values) + 1)
    peak = positions[values.argmax(axis=1)]
    for axes, (name, chosen) in zip(panels, tracks.items(), strict=True):
        image = axes.pcolormesh(steps, positions, values.T, cmap="cividis", rasterized=True)
        # white with a dark edge: visible on the map and in the legend
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
