"""Figures of the tournament: a heat map of all results, and an overview by family."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, NullLocator

from driftpeak.experiments.experiment import Results
from driftpeak.experiments.tournament.players import AUTO, PUBLISHED, RANDOM, Rivals
from driftpeak.experiments.tournament.scores import CONTENDERS, HINDSIGHT, Standings
from driftpeak.plots import COLOURS

RELATIVE = "regret relative to the best {} of the case in hindsight"
LIMIT = 10.0  # upper limit of the colour scale
TICKS = (0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)


def heat_map(results: Results, title: str) -> Figure:
    """Draw the relative regret of every contender in every case, best mean rank on top."""
    standings = Standings(results)
    names = [list(CONTENDERS)[number] for number in standings.order]
    values = standings.ratio[standings.order]
    ranks = standings.ranks.mean(axis=1)[standings.order]
    rows, columns = values.shape
    figure = Figure(figsize=(3.6 + 0.5 * columns, 2.6 + 0.3 * rows), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="cividis_r", norm=LogNorm(1.0, LIMIT), aspect="auto")
    for row in range(rows):
        for column in range(columns):
            value = values[row, column]
            text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
            axes.text(column, row, text, ha="center", va="center", fontsize=7,
                      color="white" if value > 3 else "black")  # fmt: skip
    labels = [f"{name}  ({rank:.1f})" for name, rank in zip(names, ranks, strict=True)]
    axes.set_yticks(range(rows), labels)
    axes.set_xticks(range(columns), list(results), rotation=40, ha="left", rotation_mode="anchor")
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    own = names.index(AUTO)
    axes.get_yticklabels()[own].set(fontweight="bold", color=COLOURS[1])
    frame: dict[str, Any] = {"fill": False, "edgecolor": COLOURS[1], "linewidth": 2.5}
    axes.add_patch(Rectangle((-0.5, own - 0.5), columns, 1, clip_on=False, **frame))
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, location="bottom", aspect=60, extend="both", pad=0.02)
    _label(bar.ax.xaxis, (1, 1.5, 2, 3, 5, 10))
    bar.set_label(f"{RELATIVE.format(PUBLISHED.what)}; in brackets: mean rank")
    figure.suptitle(title, fontsize=11)
    return figure


def overview(results: Results, title: str, rivals: Rivals = PUBLISHED) -> Figure:
    """Draw one line per family with a dot for every case, and the geometric means."""
    standings = Standings(results, rivals)
    names, overall = list(standings.contenders), standings.overall()
    lines: list[tuple[str, int, int | None]] = [(AUTO, names.index(AUTO), None)]
    for family in rivals.families:
        theory = names.index(family.at_theory)
        tuned = names.index(f"{family.name}, {HINDSIGHT}") if family.values else theory
        lines.append((family.name, tuned, theory if family.values else None))
    lines.append((RANDOM, names.index(RANDOM), None))
    lines.sort(key=lambda line: overall[line[1]], reverse=True)
    figure = Figure(figsize=(8.6, 0.8 + 0.36 * len(lines)), layout="constrained")
    axes = figure.add_subplot()
    for height, (name, main, untuned) in enumerate(lines):
        colour = COLOURS[1] if name == AUTO else COLOURS[0]
        axes.plot(standings.ratio[main], np.full(standings.ratio.shape[1], height), "o",
                  color=colour, alpha=0.3, markersize=5, markeredgewidth=0)  # fmt: skip
        axes.plot(overall[main], height, "D", color=colour, markersize=8, zorder=3)
        if untuned is not None:
            axes.plot(overall[untuned], height, "D", markerfacecolor="white",
                      markeredgecolor=colour, markersize=7, zorder=3)  # fmt: skip
    axes.set_yticks(range(len(lines)), [line[0] for line in lines])
    own = [line[0] for line in lines].index(AUTO)
    axes.get_yticklabels()[own].set(fontweight="bold", color=COLOURS[1])
    axes.axvline(1, color="black", linewidth=0.8, zorder=0)
    axes.set_xscale("log")
    _label(axes.xaxis, TICKS)
    axes.set_xlabel(RELATIVE.format(rivals.what))
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    dot: dict[str, Any] = {"color": COLOURS[0], "linestyle": ""}
    handles = [
        axes.plot([], [], marker="o", alpha=0.3, markersize=5, **dot)[0],
        axes.plot([], [], marker="D", markersize=8, **dot)[0],
        axes.plot([], [], marker="D", markersize=7, markerfacecolor="white", **dot)[0],
    ]
    words = [
        "case, best parameter in hindsight",
        "geometric mean",
        "geometric mean, theory's parameter",
    ]
    figure.legend(handles, words, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(title, fontsize=11)
    return figure


def _label(axis: Any, ticks: Sequence[float]) -> None:
    """Label these values of a logarithmic axis, and no others."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")
