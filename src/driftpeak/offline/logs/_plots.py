"""A figure of what a log says."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from driftpeak._core.argument_types import checked
from driftpeak.offline.logs._evaluation import Alternative
from driftpeak.offline.logs._log import ChoiceLog
from driftpeak.offline.logs._report import LogReport
from driftpeak.plots import BAND, COLOURS, new_figure, tidy, with_unit

MOST = 14
"""Largest number of alternatives in the figure."""
LATELY = 0.25
"""Share of the newest steps, which are drawn darker."""


@checked
def log_figure(log: ChoiceLog, report: LogReport, *, title: str = "") -> Figure:
    """Draw the estimate over the choices, and the values of alternatives with 95 % intervals.

    Points are rewards of the log; those of the last quarter are darker. The right panel is omitted
    if no alternative can be estimated.

    Arguments:
        log: the log.
        report: its report.
        title: of the figure.
    """
    shown = [alternative for alternative in report.alternatives if alternative.estimated][:MOST]
    figure = new_figure(9.5 if shown else 5.5, max(4.2, 1.6 + 0.28 * len(shown)))
    panels = figure.subplots(1, 2 if shown else 1, squeeze=False)[0]
    _estimate(panels[0], log, report)
    if shown:
        _alternatives(panels[1], report, shown)
    for axes in panels:
        tidy(axes)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title)
    return figure


def _estimate(axes: Axes, log: ChoiceLog, report: LogReport) -> None:
    curve, numeric = report.curve, log.numeric
    places = np.array(curve.choices, float) if numeric else np.arange(len(curve.choices))
    at = dict(zip(curve.choices, places.tolist(), strict=True))
    chosen = (
        np.array(log.choices, float)
        if numeric
        else np.array([at[choice] for choice in log.choices])
    )
    newest = np.arange(len(log)) >= (1 - LATELY) * len(log)
    for some, colour, label in (
        (~newest, "#bbbbbb", "earlier rewards"),
        (newest, COLOURS[7], "rewards of the last quarter"),
    ):
        axes.plot(chosen[some], log.rewards[some], ".", color=colour, markersize=4, label=label)
    interval = "estimate and 95 % interval at the last step"
    if numeric and len(places) > 1:
        axes.plot(places, curve.mean, color=COLOURS[0], linewidth=1.8, label=interval)
        axes.fill_between(places, curve.low, curve.high, color=COLOURS[0], alpha=BAND, linewidth=0)
    else:
        reach = np.maximum([curve.mean - curve.low, curve.high - curve.mean], 0.0)
        axes.errorbar(
            places, curve.mean, reach, fmt="o", color=COLOURS[0], capsize=3, label=interval
        )
        axes.set_xticks(places, list(map(str, curve.choices)))
    where = at[report.now.choice]
    axes.axvline(where, color=COLOURS[1], linestyle="--", linewidth=1.5, label="recommended now")
    axes.set_xlabel(report.choice_name)
    axes.set_ylabel(with_unit(report.reward_name, report.unit))


def _alternatives(axes: Axes, report: LogReport, shown: list[Alternative]) -> None:
    for place, alternative in enumerate(reversed(shown)):
        axes.plot(
            [alternative.low, alternative.high], [place, place], color=COLOURS[0], linewidth=2
        )
        axes.plot(alternative.value, place, "o", color=COLOURS[0], markersize=5)
    axes.axvline(report.logged, color=COLOURS[7], linewidth=1.5)
    axes.annotate(
        "as logged", (report.logged, 1.0), xycoords=("data", "axes fraction"), ha="center",
        va="bottom", fontsize=8, color=COLOURS[7],
    )  # fmt: skip
    axes.set_yticks(
        range(len(shown)), [alternative.name for alternative in reversed(shown)], fontsize=8
    )
    axes.set_xlabel(with_unit(f"mean {report.reward_name} per step", report.unit))
