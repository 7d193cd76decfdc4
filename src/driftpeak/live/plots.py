"""Figures of a live optimiser, in the style of `driftpeak.plots`."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from driftpeak._core.errors import DriftpeakError, NoObservationsError
from driftpeak.live._space.encoding import FiniteCoding
from driftpeak.live._space.parameters import Categorical, Integer, Numeric
from driftpeak.live._study.clock import read_time
from driftpeak.live._study.suggestion import EstimatedPeak
from driftpeak.live._views.bands import Context
from driftpeak.live._views.diagnostics import forecasts
from driftpeak.live._views.inspection import Inspectable
from driftpeak.live._views.track import peaks_over_time
from driftpeak.live._views.values import parameter_of, values_of
from driftpeak.plots import BAND, COLOURS, new_figure, tidy

MOMENTS = 60  # number of times at which the peak is estimated
RESOLUTION = 101
BEYOND = "may violate a limit"
MOST = 6  # maximum of parameters that are drawn


def track_figure(optimizer: Inspectable, *, context: Context = None, title: str = "") -> Figure:
    """Draw the sampled settings and the estimated peak over time.

    The figure has one panel for each parameter (the first six). A `DriftingGP` estimates the peak
    from all observations, another policy from the observations up to each time. The band has the
    values of an ordered parameter whose posterior mean is within one standard deviation of the
    peak's; only a `DriftingGP` has bands. Dashed lines are detected sudden changes. In a space with
    a context, the estimate is for the given context or the context of the newest reward.

    Raises:
        NoObservationsError: there are no observations.
    """
    history = _history(optimizer)
    times = np.array([observation.number for observation in history])
    kind = history[-1].kind
    known, peaks, each = peaks_over_time(optimizer, MOMENTS, context)
    names = list(optimizer.coding.names)[:MOST]
    figure = new_figure(9.0, 1.1 + 1.6 * len(names))
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for name, axes in zip(names, panels, strict=True):
        place = _place(optimizer, name, axes)
        sampled = [_drawn(place, observation.parameters, name) for observation in history]
        axes.plot(_dates(times, kind), sampled, ".", color=COLOURS[5], markersize=4.5, zorder=2)
        ends = np.array([band.get(name) or (np.nan, np.nan) for band in each]).reshape(-1, 2)
        axes.fill_between(
            _dates(known, kind), *ends.T, color=COLOURS[1], alpha=BAND, linewidth=0, zorder=1
        )
        estimated = [_drawn(place, peak, name) for peak in peaks]
        axes.plot(_dates(known, kind), estimated, color=COLOURS[1], linewidth=1.8, zorder=3)
        _mark_changes(optimizer, axes, kind, labelled=axes is panels[0])
        tidy(axes)
    panels[0].plot([], [], ".", color=COLOURS[5], markersize=8, label="sampled")
    panels[0].plot([], [], color=COLOURS[1], linewidth=1.8, label="estimated peak")
    if any(band for every in each for band in every.values()):
        panels[0].fill_between(
            [], [], color=COLOURS[1], alpha=BAND, linewidth=0, label="about as good"
        )
    figure.legend(loc="outside upper right", ncols=4, frameon=False)
    _time_axis(panels[-1], kind)
    figure.suptitle(title, x=0.02, ha="left")
    return figure


def belief_figure(
    optimizer: Inspectable, *, time: Any = None, context: Context = None, title: str = ""
) -> Figure:
    """Draw slices of the posterior through the estimated peak at `time`: mean and 95 % intervals.

    The figure has one panel for each parameter (the first six), with the other parameters at the
    peak; for `Arms` it has one panel with all arms. Settings that are not predicted to meet all
    limits are shaded or crossed. Intervals are of the noiseless function. In a
    space with a context, they are for the given context or the context of the newest reward.

    Raises:
        NoObservationsError: there are no observations.
    """
    its_context = _context(optimizer, context)
    best = optimizer.best(time, context=its_context)
    if isinstance(optimizer.coding, FiniteCoding) and optimizer.coding.named:
        figure = new_figure(8.0, 4.2)
        axes = figure.subplots()
        mean, _ = optimizer.belief(time=time, context=its_context)
        band = optimizer.interval(time=time, context=its_context)
        names = list(optimizer.coding.domain.names)
        allowed = _allowed(optimizer, [{"arm": name} for name in names], time, its_context)
        _bars(axes, names, mean, band, str(best["arm"]), allowed)
        axes.set_xlabel("arm")
        panels = [axes]
    else:
        names = list(best)[:MOST]  # parameters that are inactive at the peak have no slice
        columns = 2 if len(names) == 4 else min(len(names), 3)
        rows = -(-len(names) // columns)
        figure = new_figure(max(5.0, 3.6 * columns), 0.8 + 2.9 * rows)
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        panels = list(grid.ravel()[: len(names)])
        for name, axes in zip(names, panels, strict=True):
            _slice(optimizer, name, best, time, axes)
        for axes in grid.ravel()[len(names) :]:
            axes.set_visible(False)
        _limit_rewards(optimizer, panels)
    for axes in panels:
        tidy(axes)
    figure.supylabel("expected reward")
    figure.suptitle(title)
    handles, labels = panels[0].get_legend_handles_labels()
    for axes in panels[1:]:
        shaded = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True)).get(BEYOND)
        if shaded is not None and BEYOND not in labels:
            handles, labels = [*handles, shaded], [*labels, BEYOND]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def reward_figure(optimizer: Inspectable, *, title: str = "") -> Figure:
    """Draw rewards over time, with 95 % intervals of their one-step forecasts.

    The legend has the number of rewards inside their intervals. Dashed lines are detected sudden
    changes. For binary rewards and counts, the forecast rate is also drawn, because the interval of
    a binary reward often contains 0 and 1.

    Raises:
        NoObservationsError: there are no observations.
    """
    history = sorted(_history(optimizer), key=lambda observation: observation.number)
    kind = history[-1].kind
    times = _dates(np.array([observation.number for observation in history]), kind)
    rewards = np.array([observation.reward for observation in history])
    figure = new_figure(9.0, 4.2)
    axes = figure.subplots()
    mean, _, low, high = forecasts(history, optimizer._engine.kind)
    inside = (rewards >= low) & (rewards <= high)
    predicted = np.isfinite(mean)
    axes.vlines(
        times[predicted],
        low[predicted],
        high[predicted],
        color=COLOURS[0],
        alpha=BAND + 0.1,
        linewidth=2.0,
        label="forecast (95 % interval)",
    )
    if optimizer._engine.kind is not None:
        axes.plot(times, mean, color=COLOURS[1], linewidth=1.5, label="forecast rate")
    count = int(predicted.sum())
    share = f"reward inside: {int(inside.sum())} of {count}"
    axes.plot(times[inside], rewards[inside], ".", color="black", markersize=5, label=share)
    missed = predicted & ~inside
    axes.plot(
        times[missed], rewards[missed], "x", color=COLOURS[1], markersize=5, label="reward outside"
    )
    if not predicted.all():
        rest = ~predicted
        axes.plot(
            times[rest], rewards[rest], ".", color=COLOURS[7], markersize=5, label="no forecast"
        )
    # the axis ignores the first tenth of the intervals, which are wide without observations
    shown = np.concatenate([rewards, low[predicted][count // 10 :], high[predicted][count // 10 :]])
    margin = 0.05 * (np.ptp(shown) or 1.0)
    axes.set_ylim(shown.min() - margin, shown.max() + margin)
    _mark_changes(optimizer, axes, kind)
    axes.set_ylabel("reward")
    tidy(axes)
    _time_axis(axes, kind)
    figure.suptitle(title)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


def _mark_changes(optimizer: Inspectable, axes: Axes, kind: Any, *, labelled: bool = True) -> None:
    """Draw a vertical line at each sudden change; the first has an entry in the legend."""
    label = "sudden change" if labelled else None
    for time in optimizer.diagnostics().change_points or ():
        place = _dates(read_time(time, kind, counted=True)[0], kind)
        axes.axvline(place, linestyle="--", color="black", linewidth=1.2, zorder=1, label=label)
        label = None


def limit_figure(optimizer: Inspectable, *, title: str = "") -> Figure:
    """Draw each quantity with a `Limit` over time: measurements, limits and violations.

    The figure has one panel for each quantity. Its title has the share of violations. A bound that
    depends on the context is drawn for the context of each measurement.

    Raises:
        NoObservationsError: there are no observations.
        DriftpeakError: the study has no `Limit`.
    """
    limits, history = optimizer.rules.limits, _history(optimizer)
    if not limits:
        raise DriftpeakError(
            "the study must have a measured limit to draw. Create it with "
            'Optimizer(constraints={"temperature": Limit(at_most=75)})'
        )
    history = sorted(history, key=lambda observation: observation.number)
    kind = history[-1].kind
    figure = new_figure(9.0, 1.4 + 2.2 * len(limits))
    panels = figure.subplots(len(limits), 1, sharex=True, squeeze=False)[:, 0]
    for (name, limit), axes in zip(limits.items(), panels, strict=True):
        measured = [observation for observation in history if name in observation.constraints]
        times = _dates(np.array([observation.number for observation in measured]), kind)
        values = np.array([observation.constraints[name] for observation in measured])
        spans = [limit.span(one.parameters | one.context) for one in measured]
        low, high = np.array(spans, float).reshape(-1, 2).T
        satisfied = (values >= low) & (values <= high)
        axes.plot(times[satisfied], values[satisfied], ".", color=COLOURS[0], label="measurement")
        axes.plot(times[~satisfied], values[~satisfied], "x", color=COLOURS[1], label="violation")
        for end in (low, high):
            bound = np.where(np.isfinite(end), end, np.nan)
            axes.step(times, bound, "--", where="mid", color="black", linewidth=1.2)
        violated = int(np.count_nonzero(~satisfied))
        share = f"{100 * violated / len(values):.1f} %" if measured else "none measured"
        axes.set_title(
            f"violated: {violated} of {len(values)} ({share}), "
            f"allowed {100 * (1 - limit.probability):.1f} %",
            fontsize="medium",
            loc="left",
        )
        axes.set_ylabel(name)
        tidy(axes)
    panels[0].plot([], [], "--", color="black", linewidth=1.2, label="limit")
    _time_axis(panels[-1], kind)
    figure.suptitle(title)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    return figure


def _history(optimizer: Inspectable) -> list[Any]:
    history = optimizer.history()
    if not history:
        raise NoObservationsError("no observations to draw yet; call tell() first")
    return history


def _context(optimizer: Inspectable, given: Context) -> Context:
    """Return the given context or the context of the newest reward; None without a context."""
    newest = _history(optimizer)[-1].context
    return (newest or None) if given is None else given


def _slice(optimizer: Inspectable, name: str, best: EstimatedPeak, time: Any, axes: Axes) -> None:
    values, here = values_of(optimizer.coding, name, RESOLUTION), dict[str, Any](best)
    settings = [optimizer.coding.moved(here, name, value) for value in values]
    its_context = best.context or None
    mean, _ = optimizer.belief(settings, time, context=its_context)
    band = optimizer.interval(settings, time, context=its_context)
    allowed = _allowed(optimizer, settings, time, its_context)
    parameter = parameter_of(optimizer.coding, name)
    if isinstance(parameter, Categorical):
        _bars(axes, [str(value) for value in values], mean, band, str(here[name]), allowed)
    else:
        style = "o" if isinstance(parameter, Integer) and parameter.levels <= 20 else "-"
        axes.plot(values, mean, style, color=COLOURS[0], linewidth=1.8, markersize=4, label="mean")
        axes.fill_between(
            values, *band, color=COLOURS[0], alpha=BAND, linewidth=0, label="95 % interval"
        )
        if not allowed.all():
            axes.fill_between(
                values,
                0,
                1,
                where=~allowed,
                transform=axes.get_xaxis_transform(),
                step="mid",
                color="black",
                alpha=0.12,
                linewidth=0,
                label=BEYOND,
            )
        axes.axvline(
            here[name], color=COLOURS[1], linestyle="--", linewidth=1.5, label="estimated peak"
        )
        if isinstance(parameter, Numeric) and parameter.log:
            axes.set_xscale("log")
    axes.set_xlabel(name)


def _limit_rewards(optimizer: Inspectable, panels: list[Axes]) -> None:
    """Limit the shared reward axis: far from observations, intervals may be wide beyond measure."""
    shown = [observation.reward for observation in optimizer.history()]
    for axes in panels:
        for line in axes.get_lines():
            if line.get_label() == "mean":
                shown.extend(np.asarray(line.get_ydata(), float))
    low, high = min(shown), max(shown)
    lowest, highest = panels[0].get_ylim()
    if low < high:
        panels[0].set_ylim(max(lowest, 2 * low - high), min(highest, 2 * high - low))


def _allowed(optimizer: Inspectable, settings: list[Any], time: Any, context: Context) -> Any:
    """Return whether each setting is predicted to meet all limits."""
    chances = optimizer.chances(settings, time, context=context)
    limits, allowed = optimizer.rules.limits, np.ones(len(settings), bool)
    for name, each in chances.items():
        allowed &= np.array([limits[name].believes(float(chance)) for chance in each])
    return allowed


def _bars(axes: Axes, names: list[str], mean: Any, band: Any, best: str, allowed: Any) -> None:
    place = np.arange(len(names))
    if not allowed.all():
        axes.plot(place[~allowed], mean[~allowed], "x", color="black", zorder=3, label=BEYOND)
    axes.errorbar(
        place,
        mean,
        np.nan_to_num(np.maximum([mean - band[0], band[1] - mean], 0.0)),
        fmt="o",
        color=COLOURS[0],
        capsize=3,
        label="mean and 95 % interval",
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


def _place(optimizer: Inspectable, name: str, axes: Axes) -> Any:
    """Prepare the vertical axis for a parameter, and return a map from values to positions."""
    parameter = parameter_of(optimizer.coding, name)
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
    """Return the position of a value; NaN if the parameter is inactive."""
    return place(setting[name]) if name in setting else np.nan


def _dates(numbers: Any, kind: Any) -> Any:
    """Return times for an axis: dates as NumPy's, numbers unchanged."""
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
