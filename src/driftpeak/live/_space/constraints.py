"""Constraints: known sums and functions of the parameters, and limits of measured quantities.

The JSON form is written as by hand::

    {"budget": {"sum": {"pump": 1, "fan": 2}, "at_most": 3},
     "temperature": {"at_most": 75, "probability": 0.9},
     "noise": {"at_most": {"context": "period", "values": {"day": 60, "night": 45}}},
     "pairs": {"function": "allowed_pairs"}}
"""

import json
import math
from collections.abc import Callable, Mapping
from copy import copy
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
from driftpeak.live._space.constraint_functions import function_named, name_of
from driftpeak.live._space.encoding import BoxCoding, Coding, FiniteCoding, is_nothing
from driftpeak.live._space.parameters import (
    ROUNDING,
    Numeric,
    ParameterValues,
    check_keys,
    check_text,
)
from driftpeak.live._space.records import NOTHING_SAID, Reach, setting_of

PROBABILITY = 0.95
MOST_VALUES = 1_000  # of a context that bounds depend on


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

    def span(self, context: Mapping[str, Any] = NOTHING_SAID) -> tuple[float, float]:
        """Return lower and upper bound in a context; infinite where there is none."""
        return _span(self, context)

    @property
    def widest(self) -> tuple[float, float]:
        """Lowest lower and highest upper bound in any context; infinite where there is none."""
        low = min(_numbers(self.at_least), default=-math.inf)
        return low, max(_numbers(self.at_most), default=math.inf)

    @property
    def varies(self) -> bool:
        """Whether a bound depends on the context."""
        return _varies(self)

    def believes(self, chance: float | None) -> bool:
        """Return whether a posterior probability of meeting the limit is high enough."""
        return chance is not None and chance >= self.probability - ROUNDING

    def keeps(self, value: float, context: Mapping[str, Any] = NOTHING_SAID) -> bool:
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

    def holds(self, setting: Mapping[str, Any], context: Mapping[str, Any] = NOTHING_SAID) -> bool:
        """Return whether a setting meets the constraint in a context."""
        total = sum(weight * setting[name] for name, weight in self.weights.items())
        return not self._leaves(total, context)

    def _leaves(self, total: Any, context: Mapping[str, Any] = NOTHING_SAID) -> Any:
        low, high = _span(self, context)
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
    _check_order(*ends)
    return most, least


def _check_order(most: Any, least: Any) -> None:
    if isinstance(most, float) and isinstance(least, float) and least >= most:
        raise DriftpeakError(f"at_least must be below at_most; got {least:g} and {most:g}")


def _numbers(bound: Bound | None) -> list[float]:
    """Return all values of a bound."""
    values = bound.values.values() if isinstance(bound, ByContext) else (bound,)
    return [value for value in values if value is not None]


def _varies(constraint: Limit | WeightedSum) -> bool:
    return isinstance(constraint.at_most, ByContext) or isinstance(constraint.at_least, ByContext)


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
        applied: the known constraints that do not depend on the context. The rules of
            `in_context` have all known constraints.
        varies: whether a known constraint may depend on the context.
    """

    def __init__(self, coding: Coding, given: Constraints | None) -> None:
        self.coding = coding
        self.known: dict[str, Any] = {}
        self.limits: dict[str, Limit] = {}
        for name, constraint in (given or {}).items():
            if not name:
                raise rejected("a constraint's name", name, "be non-empty text")
            check_text("a constraint's name", name)
            if isinstance(constraint, Limit | WeightedSum) and _varies(constraint):
                constraint = _for_contexts(coding, name, constraint)
            if isinstance(constraint, Limit):
                self.limits[name] = constraint
            else:
                self.known[name] = constraint
        self._weights = {
            name: _weights(coding, name, constraint)
            for name, constraint in self.known.items()
            if isinstance(constraint, WeightedSum)
        }
        varying = {name for name in self.known if self._depends(name)}
        self.varies = bool(varying)
        self.applied = {name: each for name, each in self.known.items() if name not in varying}
        self._said: ParameterValues = NOTHING_SAID

    def _depends(self, name: str) -> bool:
        """Return whether a known constraint may depend on the context."""
        constraint = self.known[name]
        if isinstance(constraint, WeightedSum):
            return _varies(constraint)
        return self.coding.context is not None

    def in_context(self, context: ParameterValues) -> "Rules":
        """Return the rules that apply in a context; these rules if the context has no influence."""
        if not self.varies:
            return self
        rules = copy(self)
        rules.applied, rules._said = self.known, context
        return rules

    def sums(self) -> list[tuple[dict[str, float], float, float]]:
        """Return weights, lower and upper bound of each applied sum; infinite without a bound."""
        return [
            (each.weights, *_span(each, self._said))
            for each in self.applied.values()
            if isinstance(each, WeightedSum)
        ]

    @property
    def matter(self) -> bool:
        """Whether there is at least one constraint."""
        return bool(self.known or self.limits)

    @property
    def functions(self) -> list[str]:
        """Names of the applied constraints that are functions."""
        return [
            name
            for name, constraint in self.applied.items()
            if not isinstance(constraint, WeightedSum)
        ]

    def broken(self, setting: ParameterValues) -> str | None:
        """Return the name of the first known constraint that a setting violates, or None."""
        for name, constraint in self.applied.items():
            kept = (
                constraint.holds(setting, self._said)
                if isinstance(constraint, WeightedSum)
                else constraint(setting | self._said)
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
        for name, weights in self._weights.items():
            if name not in self.applied:
                continue
            values = np.stack([_values(self.coding, j, rows) for j in range(rows.shape[1])], 1)
            kept &= ~self.applied[name]._leaves(values @ weights, self._said)
        return kept

    def hold(self, rows: Vector, reach: Reach | None) -> Any:
        """Return whether the setting of each row meets all known constraints, shape `(m,)`."""
        if not self.applied:
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
        """Return JSON-compatible data, or None without constraints.

        A function is written by the name under which it is registered, or else its constraint's.
        """
        data: dict[str, Any] = {}
        for name, constraint in (self.known | self.limits).items():
            if isinstance(constraint, WeightedSum):
                data[name] = {"sum": dict(constraint.weights)} | _ends_to_data(constraint)
            elif isinstance(constraint, Limit):
                data[name] = _ends_to_data(constraint) | {"probability": constraint.probability}
            else:
                data[name] = {"function": name_of(constraint) or name}
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
        if "function" in entry:
            check_keys(f"{whose} must have keys", entry, ("function",))
            constraints[name] = function_named(whose, entry["function"])
            continue
        known = ("sum", "at_most", "at_least") if "sum" in entry else _LIMIT
        check_keys(f"{whose} must have keys", entry, known)
        options = {key: value for key, value in entry.items() if key != "sum"}
        try:
            options = {key: _bound_from_data(value) for key, value in options.items()}
            constraints[name] = (
                WeightedSum(entry["sum"], **options) if "sum" in entry else Limit(**options)
            )
        except DriftpeakError as error:
            raise DriftpeakError(f"{whose}: {error}") from None
    return constraints


_LIMIT = ("at_most", "at_least", "probability")


def _bound_from_data(data: Any) -> Any:
    if not isinstance(data, Mapping):
        return data
    check_keys("a bound that depends on the context must have keys", data, ("context", "values"))
    if len(data) < 2 or not isinstance(data["values"], Mapping):
        raise rejected(
            "a bound", data, 'be a number or {"context": "period", "values": {"night": 45, ...}}'
        )
    return ByContext(data["context"], data["values"])


def _span(constraint: Limit | WeightedSum, context: Mapping[str, Any]) -> tuple[float, float]:
    least, most = (
        end.at(context) if isinstance(end, ByContext) else end
        for end in (constraint.at_least, constraint.at_most)
    )
    return -math.inf if least is None else least, math.inf if most is None else most


def _ends_to_data(constraint: Limit | WeightedSum) -> dict[str, Any]:
    ends = {"at_most": constraint.at_most, "at_least": constraint.at_least}
    return {
        name: {"context": end.name, "values": {_key(k): value for k, value in end.values.items()}}
        if isinstance(end, ByContext)
        else end
        for name, end in ends.items()
        if end is not None
    }


def _key(value: Any) -> str:
    """Return the key that stands for a value of a context in JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _for_contexts(coding: Coding, name: str, constraint: Any) -> Any:
    """Return a constraint whose bounds are given for exactly the values of the context.

    Raises:
        DriftpeakError: the context variable does not exist or has no list of values; a value is
            missing or unknown; a lower bound is not below the upper bound.
    """
    ends = {"at_most": constraint.at_most, "at_least": constraint.at_least}
    ends = {
        which: _bound_for_contexts(coding, f"{which} of constraint {shown(name)}", end)
        if isinstance(end, ByContext)
        else end
        for which, end in ends.items()
    }
    for end in ends.values():
        for key in end.values if isinstance(end, ByContext) else ():
            own = [
                e.values[key] if isinstance(e, ByContext) and e.name == end.name else e
                for e in ends.values()
            ]
            _check_order(*own)
    return attrs.evolve(constraint, **ends)


def _bound_for_contexts(coding: Coding, what: str, bound: ByContext) -> ByContext:
    given = {} if coding.context is None else coding.context.box.parameters
    each = {k: p for k, p in given.items() if 0 < p.levels <= MOST_VALUES}
    if bound.name not in each:
        words = ", ".join(each) or "none; create the study with space.context(...)"
        raise DriftpeakError(
            f"{what} must depend on a context variable with a list of values ({words}); got "
            f"{shown(bound.name)}." + nearest(bound.name, each)
        )
    parameter = each[bound.name]
    steps = np.linspace(0, 1, parameter.levels)
    places = {_key(value): value for value in map(parameter.decode, map(float, steps))}
    values = {_key(key): value for key, value in bound.values.items()}
    check_keys(f"{what} must be given for", values, tuple(places))
    if missing := [key for key in places if key not in values]:
        raise DriftpeakError(
            f"{what} must be given for all values of {bound.name!r}; got none for "
            f"{', '.join(missing)}. Give None where there is no bound"
        )
    return ByContext(bound.name, {value: values[key] for key, value in places.items()})


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
