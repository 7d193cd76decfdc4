"""Constraints: known weighted sums of the parameters, and limits of measured quantities."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite, rejected, shown, unit_interval
from driftpeak.live._space.parameters import ROUNDING, ParameterValues
from driftpeak.live._space.records import NO_CONTEXT

PROBABILITY = 0.95


@attrs.frozen(init=False)
class ByContext:
    """A bound of a constraint that depends on the value of a context variable.

    Arguments:
        name: name of a context variable that is a `Categorical`, `Boolean` or `Integer`.
        values: the bound for each of its values; None where there is no bound.

    Raises:
        DriftpeakError: there is no bound, or a bound is not a finite number.

    Example:
        >>> import driftpeak as dp
        >>> bound = dp.ByContext("period", {"day": 60, "night": 45})
        >>> dp.Limit(at_most=bound).keeps(50, {"period": "night"})
        False
    """

    name: str
    values: dict[Any, float | None] = attrs.field(hash=False)

    @checked
    def __init__(self, name: str, values: Mapping[Any, float | None]) -> None:
        if all(value is None for value in values.values()):
            raise rejected("values", values, 'map values to bounds, as in {"day": 60, "night": 45}')
        each = {
            key: None if bound is None else finite(f"the bound of {shown(key)}", bound)
            for key, bound in values.items()
        }
        self.__attrs_init__(name, each)

    def at(self, context: Mapping[str, Any]) -> float | None:
        """Return the bound in a context."""
        if self.name not in context:
            raise DriftpeakError(
                f"context must have {self.name!r}, which a constraint depends on; got "
                f"{shown(dict(context))}"
            )
        return self.values[context[self.name]]


Bound = float | ByContext


@attrs.frozen(init=False)
class Limit:
    """A constraint on a measured quantity. A model of the quantity is learned online.

    Arguments:
        at_most, at_least: one or both bounds, in the unit of the quantity; numbers or `ByContext`.
        probability: posterior probability of meeting the limit that a suggestion needs when it
            is made.

    Raises:
        DriftpeakError: there is no bound, a bound is not finite, `at_least` is not below
            `at_most`, or the probability is outside (0.5, 1).

    Example:
        >>> import driftpeak as dp
        >>> dp.Limit(at_most=75, probability=0.9).keeps(71.2)
        True
    """

    at_most: Bound | None
    at_least: Bound | None
    probability: float

    @checked
    def __init__(
        self,
        *,
        at_most: Bound | None = None,
        at_least: Bound | None = None,
        probability: float = PROBABILITY,
    ) -> None:
        ends = _ends(at_most, at_least)
        number = unit_interval("probability", probability, high_open=True)
        if number <= 0.5:
            raise rejected("probability", probability, "lie above 0.5 and below 1")
        self.__attrs_init__(*ends, number)

    def span(self, context: Mapping[str, Any] = NO_CONTEXT) -> tuple[float, float]:
        """Return lower and upper bound in a context; infinite where there is none."""
        return span_of(self, context)

    @property
    def widest(self) -> tuple[float, float]:
        """Lowest lower and highest upper bound in any context; infinite where there is none."""
        low = min(_numbers(self.at_least), default=-math.inf)
        return low, max(_numbers(self.at_most), default=math.inf)

    @property
    def varies(self) -> bool:
        """Whether a bound depends on the context."""
        return varies(self)

    def believes(self, chance: float | None) -> bool:
        """Return whether a posterior probability of meeting the limit is high enough."""
        return chance is not None and chance >= self.probability - ROUNDING

    def keeps(self, value: float, context: Mapping[str, Any] = NO_CONTEXT) -> bool:
        """Return whether a measured value meets the limit in a context."""
        low, high = self.span(context)
        return low <= value <= high


@attrs.frozen(init=False)
class WeightedSum:
    """A known linear constraint: a weighted sum of parameters must stay in a range.

    Arguments:
        weights: weight by name of a `Float` or `Integer` without a condition, or of a grid's
            coordinate.
        at_most, at_least: one or both bounds of the sum; numbers or `ByContext`.

    Raises:
        DriftpeakError: there are no weights or no bounds, a number is not finite, or `at_least`
            is not below `at_most`.

    Example:
        >>> import driftpeak as dp
        >>> dp.WeightedSum({"pump": 1, "fan": 2}, at_most=3)
        WeightedSum(weights={'pump': 1.0, 'fan': 2.0}, at_most=3.0, at_least=None)
    """

    weights: dict[str, float] = attrs.field(hash=False)
    at_most: Bound | None
    at_least: Bound | None

    @checked
    def __init__(
        self,
        weights: Mapping[str, float],
        *,
        at_most: Bound | None = None,
        at_least: Bound | None = None,
    ) -> None:
        if not weights:
            raise rejected("weights", weights, 'map parameters to numbers, as in {"x": 1, "y": 2}')
        each = {name: finite(f"weight of {name!r}", number) for name, number in weights.items()}
        self.__attrs_init__(each, *_ends(at_most, at_least))

    def holds(self, setting: Mapping[str, Any], context: Mapping[str, Any] = NO_CONTEXT) -> bool:
        """Return whether a setting meets the constraint in a context."""
        total = sum(weight * setting[name] for name, weight in self.weights.items())
        return not self._leaves(total, context)

    def _leaves(self, total: Any, context: Mapping[str, Any] = NO_CONTEXT) -> Any:
        low, high = span_of(self, context)
        return (total < low) | (total > high)


Constraint = Limit | WeightedSum | Callable[[ParameterValues], bool]
"""A constraint. A function gets a setting with its context, and returns whether it is allowed."""
Constraints = Mapping[str, Constraint]


def _ends(at_most: object, at_least: object) -> tuple[Bound | None, Bound | None]:
    if at_most is None and at_least is None:
        raise DriftpeakError(
            "a constraint must have at_most, at_least or both; got neither. Give at least one"
        )
    ends: list[Any] = [
        end if end is None or isinstance(end, ByContext) else finite(name, end)
        for name, end in (("at_most", at_most), ("at_least", at_least))
    ]
    most, least = ends
    check_order(*ends)
    return most, least


def check_order(most: Any, least: Any) -> None:
    """Check that a lower bound is below the upper bound, if both are numbers.

    Raises:
        DriftpeakError: it is not.
    """
    if isinstance(most, float) and isinstance(least, float) and least >= most:
        raise DriftpeakError(f"at_least must be below at_most; got {least:g} and {most:g}")


def _numbers(bound: Bound | None) -> list[float]:
    """Return all values of a bound."""
    values = bound.values.values() if isinstance(bound, ByContext) else (bound,)
    return [value for value in values if value is not None]


def varies(constraint: Limit | WeightedSum) -> bool:
    """Return whether a bound depends on the context."""
    return isinstance(constraint.at_most, ByContext) or isinstance(constraint.at_least, ByContext)


def span_of(constraint: Limit | WeightedSum, context: Mapping[str, Any]) -> tuple[float, float]:
    """Return lower and upper bound in a context; infinite where there is none."""
    least, most = (
        end.at(context) if isinstance(end, ByContext) else end
        for end in (constraint.at_least, constraint.at_most)
    )
    return -math.inf if least is None else least, math.inf if most is None else most
