"""Constraints: known sums and functions of the parameters, and limits of measured quantities.

The JSON form is written as by hand::

    {"budget": {"sum": {"pump": 1, "fan": 2}, "at_most": 3},
     "temperature": {"at_most": 75, "probability": 0.9}}
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    UnsupportedError,
    finite,
    nearest,
    rejected,
    shown,
    unit_interval,
)
from driftpeak._core.types import Vector
from driftpeak.gp.domains import Grid
from driftpeak.live._space.encoding import BoxCoding, Coding, FiniteCoding, is_nothing
from driftpeak.live._space.parameters import (
    ROUNDING,
    Numeric,
    ParameterValues,
    check_keys,
    check_text,
)
from driftpeak.live._space.records import Reach, setting_of

PROBABILITY = 0.95


@attrs.frozen(init=False)
class Limit:
    """A constraint on a measured quantity. A model of the quantity is learned online.

    Arguments:
        at_most, at_least: one or both bounds, in the unit of the quantity.
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

    at_most: float | None
    at_least: float | None
    probability: float

    @checked
    def __init__(
        self,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        probability: float = PROBABILITY,
    ) -> None:
        ends = _ends(at_most, at_least)
        number = unit_interval("probability", probability, high_open=True)
        if number <= 0.5:
            raise rejected("probability", probability, "lie above 0.5 and below 1")
        self.__attrs_init__(*ends, number)

    @property
    def span(self) -> tuple[float, float]:
        """Lower and upper bound; infinite where there is none."""
        return _span(self)

    def believes(self, chance: float | None) -> bool:
        """Return whether a posterior probability of meeting the limit is high enough."""
        return chance is not None and chance >= self.probability - ROUNDING

    def keeps(self, value: float) -> bool:
        """Return whether a measured value meets the limit."""
        low, high = self.span
        return low <= value <= high


@attrs.frozen(init=False)
class WeightedSum:
    """A known linear constraint: a weighted sum of parameters must stay in a range.

    Arguments:
        weights: weight by name of a `Float` or `Integer` without a condition, or of a grid's
            coordinate.
        at_most, at_least: one or both bounds of the sum.

    Raises:
        DriftpeakError: there are no weights or no bounds, a number is not finite, or `at_least`
            is not below `at_most`.

    Example:
        >>> import driftpeak as dp
        >>> dp.WeightedSum({"pump": 1, "fan": 2}, at_most=3)
        WeightedSum(weights={'pump': 1.0, 'fan': 2.0}, at_most=3.0, at_least=None)
    """

    weights: dict[str, float] = attrs.field(hash=False)
    at_most: float | None
    at_least: float | None

    @checked
    def __init__(
        self,
        weights: Mapping[str, float],
        *,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        if not weights:
            raise rejected("weights", weights, 'map parameters to numbers, as in {"x": 1, "y": 2}')
        each = {name: finite(f"weight of {name!r}", number) for name, number in weights.items()}
        self.__attrs_init__(each, *_ends(at_most, at_least))

    def holds(self, setting: Mapping[str, Any]) -> bool:
        """Return whether a setting meets the constraint."""
        total = sum(weight * setting[name] for name, weight in self.weights.items())
        return not self._leaves(total)

    def _leaves(self, total: Any) -> Any:
        low, high = _span(self)
        return (total < low) | (total > high)


Constraint = Limit | WeightedSum | Callable[[ParameterValues], bool]
"""A constraint. A function gets a setting and returns whether the setting is allowed."""
Constraints = Mapping[str, Constraint]


def _ends(at_most: object, at_least: object) -> tuple[float | None, float | None]:
    if at_most is None and at_least is None:
        raise DriftpeakError(
            "a constraint must have at_most, at_least or both; got neither. Give at least one"
        )
    most = None if at_most is None else finite("at_most", at_most)
    least = None if at_least is None else finite("at_least", at_least)
    if most is not None and least is not None and least >= most:
        raise DriftpeakError(f"at_least must be below at_most; got {least:g} and {most:g}")
    return most, least


class Rules:
    """All constraints of a study.

    Arguments:
        coding: coding of the study's space.
        given: constraints by name.

    Raises:
        DriftpeakError: a name is empty or not valid Unicode, or a sum contains a parameter that is
            not numeric.

    Attributes:
        known: weighted sums and functions by name.
        limits: limits of measured quantities by name.
    """

    def __init__(self, coding: Coding, given: Constraints | None) -> None:
        self.coding = coding
        self.known: dict[str, Any] = {}
        self.limits: dict[str, Limit] = {}
        for name, constraint in (given or {}).items():
            if not name:
                raise rejected("a constraint's name", name, "be non-empty text")
            check_text("a constraint's name", name)
            if isinstance(constraint, Limit):
                self.limits[name] = constraint
            else:
                self.known[name] = constraint
        self._sums = [
            (constraint, _weights(coding, name, constraint))
            for name, constraint in self.known.items()
            if isinstance(constraint, WeightedSum)
        ]

    @property
    def matter(self) -> bool:
        """Whether there is at least one constraint."""
        return bool(self.known or self.limits)

    @property
    def functions(self) -> list[str]:
        """Names of the constraints that are functions and cannot be stored."""
        return [
            name
            for name, constraint in self.known.items()
            if not isinstance(constraint, WeightedSum)
        ]

    def broken(self, setting: ParameterValues) -> str | None:
        """Return the name of the first known constraint that a setting violates, or None."""
        for name, constraint in self.known.items():
            kept = (
                constraint.holds(setting)
                if isinstance(constraint, WeightedSum)
                else constraint(dict(setting))
            )
            if not isinstance(kept, bool | np.bool_):
                raise rejected(f"constraint {shown(name)}", kept, "return True or False")
            if not kept:
                return name
        return None

    def check(self, what: str, setting: ParameterValues) -> None:
        """Check that a setting meets the known constraints.

        Arguments:
            what: the setting's name in the message.

        Raises:
            DriftpeakError: the setting violates a known constraint.
        """
        name = self.broken(setting)
        if name is not None:
            raise DriftpeakError(f"{what} must meet constraint {shown(name)}; got {shown(setting)}")

    def sums_hold(self, rows: Vector) -> Any:
        """Return whether each row meets the sums, up to rounding, shape `(m,)`."""
        kept = np.ones(len(rows), bool)
        for constraint, weights in self._sums:
            values = np.stack([_values(self.coding, j, rows) for j in range(rows.shape[1])], 1)
            kept &= ~constraint._leaves(values @ weights)
        return kept

    def hold(self, rows: Vector, reach: Reach | None) -> Any:
        """Return whether the setting of each row meets all known constraints, shape `(m,)`."""
        if not self.known:
            return np.ones(len(rows), bool)
        settings = [setting_of(self.coding, row, reach) for row in rows]
        return np.array([self.broken(setting) is None for setting in settings], bool)

    def measured(self, given: object) -> dict[str, float]:
        """Return the measured quantities by name, without those given as None.

        Raises:
            DriftpeakError: a quantity is missing, unknown or not a finite number.
            UnsupportedError: the study measures no constraints.
        """
        names = tuple(self.limits)
        if not names:
            if is_nothing(given):
                return {}
            raise UnsupportedError(
                "constraints must be left out, as this study measures none; got "
                f"{shown(given)}. Create a study with "
                'Optimizer(constraints={"temperature": Limit(at_most=75)})'
            )
        if not isinstance(given, Mapping):
            example = ", ".join(f"{name!r}: ..." for name in names)
            raise DriftpeakError(
                f"constraints must map the measured quantities to values or None; got "
                f"{shown(given)}. Write constraints={{{example}}}"
            )
        check_keys("measured constraints must be", given, names)
        for name in names:
            if name not in given:
                raise DriftpeakError(
                    f"constraint {name!r} is missing. Give its measured value, or None"
                )
        return {
            name: finite(f"constraint {name!r}", value)
            for name, value in given.items()
            if value is not None
        }

    def known_limits(self, names: Mapping[str, float]) -> None:
        """Check that all names are limits of this study.

        Raises:
            DriftpeakError: a name is not a limit of this study.
        """
        for name in names:
            if name not in self.limits:
                limits = ", ".join(self.limits) or "there are none"
                raise rejected("limits", name, f"be measured constraints of this study ({limits})")

    def to_data(self) -> dict[str, Any] | None:
        """Return JSON-compatible data, or None without constraints. Functions keep only a name."""
        data: dict[str, Any] = {}
        for name, constraint in (self.known | self.limits).items():
            if isinstance(constraint, WeightedSum):
                data[name] = {"sum": dict(constraint.weights)} | _ends_to_data(constraint)
            elif isinstance(constraint, Limit):
                data[name] = _ends_to_data(constraint) | {"probability": constraint.probability}
            else:
                data[name] = {"function": name}
        return data or None


def constraints_from_data(data: object) -> dict[str, Constraint]:
    """Return the constraints that a dictionary describes.

    Raises:
        DriftpeakError: an entry is missing, misspelt or invalid.
    """
    if not isinstance(data, Mapping):
        raise DriftpeakError(
            'constraints must be written as {"temperature": {"at_most": 75}} or {"budget": '
            f'{{"sum": {{"x": 1}}, "at_most": 3}}}}; got {shown(data)}'
        )
    constraints: dict[str, Constraint] = {}
    for name, entry in data.items():
        whose = f"constraint {shown(name)}"
        if not isinstance(entry, Mapping):
            raise rejected(whose, entry, 'be written as {"at_most": 75}')
        known = ("sum", "at_most", "at_least") if "sum" in entry else _LIMIT
        check_keys(f"{whose} must have keys", entry, known)
        options = {key: value for key, value in entry.items() if key != "sum"}
        try:
            constraints[name] = (
                WeightedSum(entry["sum"], **options) if "sum" in entry else Limit(**options)
            )
        except DriftpeakError as error:
            raise DriftpeakError(f"{whose}: {error}") from None
    return constraints


_LIMIT = ("at_most", "at_least", "probability")


def _span(constraint: Limit | WeightedSum) -> tuple[float, float]:
    low = -math.inf if constraint.at_least is None else constraint.at_least
    return low, math.inf if constraint.at_most is None else constraint.at_most


def _ends_to_data(constraint: Limit | WeightedSum) -> dict[str, float]:
    ends = {"at_most": constraint.at_most, "at_least": constraint.at_least}
    return {name: end for name, end in ends.items() if end is not None}


def _weights(coding: Coding, name: str, constraint: WeightedSum) -> Vector:
    """Return a weight for each column."""
    fit: tuple[str, ...] = ()
    if isinstance(coding, BoxCoding):
        each = coding.box.parameters.items()
        fit = tuple(k for k, kind in each if isinstance(kind, Numeric) and not kind.when)
    elif isinstance(coding, FiniteCoding) and isinstance(coding.domain, Grid):
        fit = coding.names
    for parameter in constraint.weights:
        if parameter not in fit:
            words = ", ".join(fit) or "none: give a function instead"
            raise DriftpeakError(
                f"constraint {shown(name)} must sum numeric parameters that are always active "
                f"({words}); got {shown(parameter)}." + nearest(parameter, fit)
            )
    return np.array([constraint.weights.get(parameter, 0.0) for parameter in coding.names])


def _values(coding: Coding, column: int, rows: Vector) -> Vector:
    """Return the parameter values of a column, or zeros if it is not numeric."""
    place = rows[:, column]
    if isinstance(coding, FiniteCoding):
        points = coding.domain.points[:, column]
        return points.min() + place * (points.max() - points.min())
    assert isinstance(coding, BoxCoding)
    parameter = coding.box.parameters[coding.names[column]]
    if not isinstance(parameter, Numeric):
        return np.zeros(len(rows))
    if parameter.log:
        return parameter.low * (parameter.high / parameter.low) ** place
    return parameter.low + place * (parameter.high - parameter.low)
