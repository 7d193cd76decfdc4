"""Fitted exponents of regret compared with exponents of theory: series of cases, figure, table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from driftpeak.experiments.bootstrap import Array, Combine, in_words, interval
from driftpeak.experiments.claims import Column
from driftpeak.experiments.experiment import Results, ResultTable
from driftpeak.plots import COLOURS, STYLES, tidy

SYMBOLS = {"epsilon": r"\epsilon"}
PLAIN = {r"\sqrt{T}": "sqrt(T)", r"\epsilon": "epsilon", r"\alpha": "alpha", "$": ""}
MARKERS = "osD^vP*X"
SHOWN = 1.25
"""Largest exponent of theory that the figure shows; above 1 a bound says nothing."""
BOUNDS = {
    False: ("D", COLOURS[1], "theory: upper bound on the regret"),
    True: ("s", COLOURS[2], "theory: lower bound on the regret"),
}
"""Marker, colour and label of an exponent, by whether it belongs to a lower bound."""


@dataclass(frozen=True)
class Theory:
    """An exponent of a paper's bound on the regret.

    Attributes:
        exponent: exponent of the quantity of a `Series`. source: paper and theorem.
        lower: whether the bound is a lower bound on the regret of every policy.
    """

    exponent: float
    source: str
    lower: bool = False

    def __str__(self) -> str:
        return f"{self.exponent:.3g}{' (lower bound)' if self.lower else ''}"


@dataclass(frozen=True)
class Series:
    """Cases along which one quantity grows, and the exponents of theory for this quantity.

    Attributes:
        title: title of the panel. quantity: symbol of the quantity. xlabel: label of its axis.
        cases: value of the quantity by case.
        horizons: T by case.
        policies: theory's exponent by policy, None without one.
    """

    title: str
    quantity: str
    xlabel: str
    cases: Mapping[str, float]
    horizons: Mapping[str, int]
    policies: Mapping[str, Theory | None]

    def fitted(self) -> Combine:
        """Return the slope of log R_T for columns of regret per step, one per case."""
        steps = np.array([self.horizons[case] for case in self.cases], dtype=float)
        fit = slope(np.log(list(self.cases.values())))
        return lambda samples: fit(samples * steps)

    def samples(self, results: Results, policy: str) -> Array:
        """Return the regret per step of every trial and case, shape `(trial, case)`."""
        return np.stack([column.samples(results) for column in self.columns(policy)], axis=-1)

    def columns(self, policy: str) -> tuple[Column, ...]:
        """Return the columns of a policy, one per case."""
        return tuple(Column(case, policy) for case in self.cases)


def slope(logarithms: Any) -> Combine:
    """Return the fitted slope of log(mean of the column) over `logarithms`, one per column."""
    x = np.asarray(logarithms) - np.mean(logarithms)

    def fit(samples: Any) -> Any:
        return (np.log(samples.mean(axis=-2)) * x).sum(axis=-1) / (x**2).sum()

    return fit


Measured = tuple[float, float, float]


def measured(series: Series, results: Results, policy: str) -> Measured:
    """Return the slope of a policy and its interval."""
    samples, fit = series.samples(results, policy), series.fitted()
    return float(fit(samples)), *interval(samples, fit)


def reading(measured: Measured, theory: Theory) -> str:
    """Return how a measured slope compares with a bound's exponent at the horizons of the run.

    The reading is no verdict on the bound, which holds up to constants and logarithms, and for the
    worst case.
    """
    _, low, high = measured
    if not np.isfinite([low, high]).all():
        return "too few trials"
    if high < theory.exponent:
        return "below the bound's exponent"
    if low > theory.exponent:
        return "above the bound's exponent"
    return "bound's exponent within the interval"


def exponents(results: Results, title: str, *, series: Sequence[Series]) -> Figure:
    """Draw slopes with 95 % intervals and theory's exponents, one panel per series."""
    columns = min(len(series), 2)
    rows = (len(series) + 1) // 2
    most = max(len(each.policies) for each in series)
    figure = Figure(figsize=(12.0, rows * (0.9 + 0.32 * most) + 0.9), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    drawn: set[bool] = set()
    for axes in panels.flat[len(series) :]:
        axes.set_axis_off()
    for axes, each in zip(panels.flat, series, strict=False):
        for place, (policy, theory) in enumerate(each.policies.items()):
            estimate, low, high = measured(each, results, policy)
            if np.isfinite([low, high]).all():
                axes.plot([low, high], [place, place], color=COLOURS[0], linewidth=2)
            axes.plot(estimate, place, "o", color=COLOURS[0], markersize=6)
            if theory is not None and theory.exponent <= SHOWN:
                mark, colour = BOUNDS[theory.lower][:2]
                axes.plot(theory.exponent, place, mark, color=colour, markersize=7)
                drawn.add(theory.lower)
        axes.set(
            yticks=range(len(each.policies)), yticklabels=list(each.policies), title=each.title
        )
        symbol = SYMBOLS.get(each.quantity, each.quantity)
        axes.set_xlabel(f"exponent of ${symbol}$ in $R_T$")
        axes.invert_yaxis()
        tidy(axes)
    looks = [
        ("o-", COLOURS[0], "measured slope, 95 % interval"),
        *(BOUNDS[lower] for lower in sorted(drawn)),
    ]
    handles = [
        panels.flat[0].plot([], [], mark, color=colour, label=label)[0]
        for mark, colour, label in looks
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure


def curves(results: Results, title: str, *, series: Sequence[Series]) -> Figure:
    """Draw mean R_T with standard errors on logarithmic axes, one panel per series."""
    rows = (len(series) + 1) // 2
    figure = Figure(figsize=(12.0, 5.6 * rows), layout="constrained")
    panels = figure.subplots(rows, 2, squeeze=False)
    for axes in panels.flat[len(series) :]:
        axes.set_axis_off()
    for axes, each in zip(panels.flat, series, strict=False):
        values = list(each.cases.values())
        steps = np.array([each.horizons[case] for case in each.cases])
        for number, (policy, theory) in enumerate(each.policies.items()):
            samples = each.samples(results, policy) * steps
            exponent = "" if theory is None else f"; theory {theory}"
            shown = in_words(*measured(each, results, policy), ".2f")
            mean = samples.mean(axis=0)
            error = samples.std(axis=0, ddof=min(1, len(samples) - 1)) / len(samples) ** 0.5
            axes.errorbar(
                values, mean, error, marker=MARKERS[number], ms=5, color=COLOURS[number],
                linestyle=STYLES[number % len(STYLES)], label=f"{policy}: {shown}{exponent}",
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel=each.xlabel, title=each.title)
        axes.set_xticks(values, [f"{value:,g}" for value in values])
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axes.set_ylabel("regret $R_T$, mean and standard error")
        tidy(axes)
        axes.legend(
            frameon=False, fontsize=8, title="slope [95 % interval]; theory's exponent",
            loc="upper center", bbox_to_anchor=(0.5, -0.14),
        )  # fmt: skip
    figure.suptitle(title, fontsize=11)
    return figure


def _plain(title: str) -> str:
    """Return a title without the marks of formulas."""
    for marked, plain in PLAIN.items():
        title = title.replace(marked, plain)
    return title


def table(series: Sequence[Series]) -> Callable[[Results], tuple[ResultTable, ...]]:
    """Return a function that computes the table of slopes, bounds' exponents and their order."""

    def row(each: Series, results: Results, policy: str, theory: Theory | None) -> tuple[str, ...]:
        estimate = measured(each, results, policy)
        bound = ("none", "", "")
        if theory is not None:
            bound = (str(theory), reading(estimate, theory), theory.source)
        return (_plain(each.title), each.quantity, policy, in_words(*estimate, ".3f"), *bound)

    def compute(results: Results) -> tuple[ResultTable, ...]:
        rows = tuple(
            row(each, results, policy, theory)
            for each in series
            for policy, theory in each.policies.items()
        )
        columns = (
            "cases", "quantity", "policy", "measured exponent", "bound's exponent",
            "at these horizons", "source of the bound",
        )  # fmt: skip
        return (ResultTable("Measured exponents and exponents of bounds", columns, rows, True),)

    return compute
