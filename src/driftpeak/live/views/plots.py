"""Pictures of a live optimiser, in the colours and the style of `driftpeak.plots`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from driftpeak._core.errors import (
    NoObservationsError,
)
from driftpeak.live.model.likelihoods import KINDS
from driftpeak.live.space.encoding import BoxCoding, FiniteCoding
from driftpeak.live.space.parameters import Categorical, Integer, Numeric
from driftpeak.live.study.clock import show_time
from driftpeak.live.study.suggestion import EstimatedPeak
from driftpeak.live.views.inspection import Inspectable
from driftpeak.plots import BAND, COLOURS, new_figure, tidy

NORMAL = 1.96
Context = Mapping[str, object] | None
MOMENTS = 60  # at which the peak is estimated
RESOLUTION = 101
MOST = 6  # parameters drawn


def track_figure(optimizer: Inspectable, *, context: Context = None, title: str = "") -> Figure:
    """Where was sampled, and where the peak is estimated to have been, through time.

    One panel for each parameter (the first six), over the history. The peak is estimated in
    hindsight by a `DriftingGP`, with what was known then by another policy; for a space with a
    context, in the one given, or that of the newest reward.

    Raises:
        NoObservationsError: no observations yet.
    """
    history = _history(optimizer)
    times = np.array([one.number for one in history])
    moments = np.unique(np.linspace(times.min(), times.max(), MOMENTS))
    kind = history[-1].kind
    said = _context(optimizer, context)
    asked = [show_time(float(moment), kind) for moment in moments]
    peaks = optimizer.peaks(asked, context=said)
    known = moments[len(moments) - len(peaks) :]
    names = list(optimizer.coding.names)[:MOST]
    figure = new_figure(9.0, 1.1 + 1.6 * len(names))
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for name, axes in zip(names, panels, strict=True):
        place = _place(optimizer, name, axes)
        sampled = [_drawn(place, one.parameters, name) for one in history]
        axes.plot(_dates(times, kind), sampled, ".", color=COLOURS[5], markersize=4.5, zorder=2)
        estimated = [_drawn(place, peak, name) for peak in peaks]
        axes.plot(_dates(known, kind), estimated, color=COLOURS[1], linewidth=1.8, zorder=3)
        tidy(axes)
    panels[0].plot([], [], ".", color=COLOURS[5], markersize=8, label="sampled")
    panels[0].plot([], [], color=COLOURS[1], linewidth=1.8, label="estimated peak")
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    _time_axis(panels[-1], kind)
    figure.suptitle(title, x=0.02, ha="left")
    return figure


def belief_figure(
    optimizer: Inspectable, *, time: Any = None, context: Context = None, title: str = ""
) -> Figure:
    """Slices of the belief through the estimated peak at `time`: mean and 95 % band.

    One panel for each parameter (the first six), the others held at the peak; for `Arms` one panel
    with all arms. Bands are of the noiseless function. For a space with a context, in
    the one given, or that of the newest reward.

    Raises:
        NoObservationsError: no observations yet.
    """
    said = _context(optimizer, context)
    best = optimizer.best(time, context=said)
    if isinstance(optimizer.coding, FiniteCoding) and optimizer.coding.named:
        figure = new_figure(8.0, 4.2)
        axes = figure.subplots()
        mean, _ = optimizer.belief(time=time, context=said)
        band = optimizer.interval(time=time, context=said)
        _bars(axes, list(optimizer.coding.domain.names), mean, band, str(best["arm"]))
        axes.set_xlabel("arm")
        panels = [axes]
    else:
        names = list(best)[:MOST]  # what does not count at the peak has no slice through it
        columns = 2 if len(names) == 4 else min(len(names), 3)
        rows = -(-len(names) // columns)
        figure = new_figure(max(5.0, 3.6 * columns), 0.8 + 2.9 * rows)
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        panels = list(grid.ravel()[: len(names)])
        for name, axes in zip(names, panels, strict=True):
            _slice(optimizer, name, best, time, axes)
        for axes in grid.ravel()[len(names) :]:
            axes.set_visible(False)
    for axes in panels:
        tidy(axes)
    figure.supylabel("believed reward")
    figure.suptitle(title)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def reward_figure(optimizer: Inspectable, *, title: str = "") -> Figure:
    """Rewards through time, with what was foretold of each just before (95 % bands).

    The legend says how many fell inside. Of rewards that are 0 and 1, and counts, the foretold rate
    is drawn, too: the band of a 0 or 1 mostly holds both.

    Raises:
        NoObservationsError: no observations yet.
    """
    history = sorted(_history(optimizer), key=lambda one: one.number)
    kind = history[-1].kind
    times = _dates(np.array([one.number for one in history]), kind)
    rewards = np.array([one.reward for one in history])
    nothing = (np.nan, np.nan)
    mean, deviation = np.array([one.expected or nothing for one in history]).T
    figure = new_figure(9.0, 4.2)
    axes = figure.subplots()
    low, high = _foretold(optimizer, history, mean, deviation)
    inside = (rewards >= low) & (rewards <= high)
    foretold = np.isfinite(mean)
    axes.vlines(
        times[foretold],
        low[foretold],
        high[foretold],
        color=COLOURS[0],
        alpha=BAND + 0.1,
        linewidth=2.0,
        label="foretold (95 % band)",
    )
    if _law(optimizer) is not None:
        axes.plot(times, mean, color=COLOURS[1], linewidth=1.5, label="foretold rate")
    count = int(foretold.sum())
    share = f"reward, inside: {int(inside.sum())} of {count}"
    axes.plot(times[inside], rewards[inside], ".", color="black", markersize=5, label=share)
    missed = foretold & ~inside
    axes.plot(
        times[missed], rewards[missed], "x", color=COLOURS[1], markersize=5, label="reward, outside"
    )
    if not foretold.all():
        rest = ~foretold
        axes.plot(
            times[rest], rewards[rest], ".", color=COLOURS[7], markersize=5, label="not foretold"
        )
    # a few early bands, from next to nothing known, would flatten all others
    shown = np.concatenate([rewards, low[foretold][count // 10 :], high[foretold][count // 10 :]])
    margin = 0.05 * (np.ptp(shown) or 1.0)
    axes.set_ylim(shown.min() - margin, shown.max() + margin)
    axes.set_ylabel("reward")
    tidy(axes)
    _time_axis(axes, kind)
    figure.suptitle(title)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


def _law(optimizer: Inspectable) -> Any:
    """Of rewards that are 0 and 1, or counts; None for others."""
    kind = KINDS.get(getattr(optimizer.policy, "likelihood", "gaussian"))
    return None if kind is None else kind.law


def _foretold(optimizer: Inspectable, history: Any, mean: Any, deviation: Any) -> tuple[Any, Any]:
    """The ends of 95 % bands of rewards."""
    if (law := _law(optimizer)) is None:
        return mean - NORMAL * deviation, mean + NORMAL * deviation
    trials = np.array([one.trials or 1 for one in history])
    low, high = law(mean, deviation, trials).interval(0.95)
    return low / trials, high / trials


def _history(optimizer: Inspectable) -> list[Any]:
    history = optimizer.history()
    if not history:
        raise NoObservationsError("no observations to draw yet; call tell() first")
    return history


def _context(optimizer: Inspectable, given: Context) -> Context:
    """The context given, or that of the newest reward; None where there is none."""
    newest = _history(optimizer)[-1].context
    return (newest or None) if given is None else given


def _slice(optimizer: Inspectable, name: str, best: EstimatedPeak, time: Any, axes: Axes) -> None:
    values, here = _values(optimizer, name), dict[str, Any](best)
    coding = optimizer.coding
    box = coding.box if isinstance(coding, BoxCoding) else None
    settings = [
        {**here, name: value} if box is None else box.moved(here, name, value) for value in values
    ]
    said = best.context or None
    mean, _ = optimizer.belief(settings, time, context=said)
    band = optimizer.interval(settings, time, context=said)
    parameter = _parameter(optimizer, name)
    if isinstance(parameter, Categorical):
        _bars(axes, [str(value) for value in values], mean, band, str(here[name]))
    else:
        style = "o" if isinstance(parameter, Integer) and parameter.levels <= 20 else "-"
        axes.plot(values, mean, style, color=COLOURS[0], linewidth=1.8, markersize=4, label="mean")
        axes.fill_between(
            values, *band, color=COLOURS[0], alpha=BAND, linewidth=0, label="95 % band"
        )
        axes.axvline(
            here[name], color=COLOURS[1], linestyle="--", linewidth=1.5, label="estimated peak"
        )
        if isinstance(parameter, Numeric) and parameter.log:
            axes.set_xscale("log")
    axes.set_xlabel(name)


def _bars(axes: Axes, names: list[str], mean: Any, band: Any, best: str) -> None:
    place = np.arange(len(names))
    axes.errorbar(
        place,
        mean,
        np.nan_to_num(np.maximum([mean - band[0], band[1] - mean], 0.0)),
        fmt="o",
        color=COLOURS[0],
        capsize=3,
        label="mean and 95 % band",
    )
    axes.plot(
        names.index(best),
        mean[names.index(best)],
        "o",
        color=COLOURS[1],
        markersize=9,
        fillstyle="none",
        markeredgewidth=2,
        label="estimated peak",
    )
    step = max(1, len(names) // 20)
    axes.set_xticks(place[::step], names[::step])


def _parameter(optimizer: Inspectable, name: str) -> Any:
    coding = optimizer.coding
    return coding.box.parameters[name] if isinstance(coding, BoxCoding) else None


def _values(optimizer: Inspectable, name: str) -> list[Any]:
    """The values of one parameter to draw at."""
    coding, parameter = optimizer.coding, _parameter(optimizer, name)
    if parameter is None:
        assert isinstance(coding, FiniteCoding)
        column = coding.names.index(name)
        return [float(value) for value in np.unique(coding.domain.points[:, column])]
    number = min(parameter.levels or RESOLUTION, RESOLUTION)
    number = parameter.levels if isinstance(parameter, Categorical) else number
    return list(dict.fromkeys(parameter.decode(float(u)) for u in np.linspace(0, 1, number)))


def _place(optimizer: Inspectable, name: str, axes: Axes) -> Any:
    """How to draw the values of a parameter on the vertical axis."""
    parameter = _parameter(optimizer, name)
    axes.set_ylabel(name)
    names: list[str] | None = None
    if isinstance(parameter, Categorical):
        names = [str(choice) for choice in parameter.choices]
    elif parameter is None and isinstance(optimizer.coding, FiniteCoding):
        names = list(optimizer.coding.domain.names) if optimizer.coding.named else None
    elif isinstance(parameter, Numeric) and parameter.log:
        axes.set_yscale("log")
    if names is None:
        return float
    step = max(1, len(names) // 8)
    axes.set_yticks(range(0, len(names), step), names[::step])
    axes.set_ylim(-0.5, len(names) - 0.5)
    return lambda value: names.index(str(value))


def _drawn(place: Any, setting: Any, name: str) -> Any:
    """Where to draw a value; nowhere where the parameter does not count."""
    return place(setting[name]) if name in setting else np.nan


def _dates(numbers: Any, kind: Any) -> Any:
    """Times as they are drawn: dates as NumPy's, numbers as they are."""
    if kind in ("dates", "zoned dates"):
        return (np.asarray(numbers) * 1e6).round().astype("datetime64[us]")
    return np.asarray(numbers)


def _time_axis(axes: Axes, kind: Any) -> None:
    words = {"steps": "step", "numbers": "time", "dates": "time", "zoned dates": "time (UTC)"}
    axes.set_xlabel(words[kind])
    if kind in ("dates", "zoned dates"):
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(
            ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        )
