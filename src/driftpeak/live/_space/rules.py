"""All constraints of a study, and the ones that apply in a context."""

from collections.abc import Mapping
from copy import copy
from typing import Any

import attrs
import numpy as np

from driftpeak._core.errors import (
    DriftpeakError,
    UnsupportedError,
    finite,
    nearest,
    rejected,
    shown,
)
from driftpeak._core.types import Vector
from driftpeak.gp.domains import Grid
from driftpeak.live._space.constraint_data import constraints_to_data, context_key
from driftpeak.live._space.constraints import (
    ByContext,
    Constraints,
    Limit,
    WeightedSum,
    check_order,
    span_of,
    varies,
)
from driftpeak.live._space.encoding import BoxCoding, Coding, FiniteCoding, is_nothing
from driftpeak.live._space.parameters import Numeric, ParameterValues, check_keys, check_text
from driftpeak.live._space.records import NO_CONTEXT, Reach, setting_of

MOST_VALUES = 1_000  # of a context that bounds depend on


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
            if isinstance(constraint, Limit | WeightedSum) and varies(constraint):
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
        self._context: ParameterValues = NO_CONTEXT

    def _depends(self, name: str) -> bool:
        """Return whether a known constraint may depend on the context."""
        constraint = self.known[name]
        if isinstance(constraint, WeightedSum):
            return varies(constraint)
        return self.coding.context is not None

    def in_context(self, context: ParameterValues) -> "Rules":
        """Return the rules that apply in a context; these rules if the context has no influence."""
        if not self.varies:
            return self
        rules = copy(self)
        rules.applied, rules._context = self.known, context
        return rules

    def sums(self) -> list[tuple[dict[str, float], float, float]]:
        """Return weights, lower and upper bound of each applied sum; infinite without a bound."""
        return [
            (each.weights, *span_of(each, self._context))
            for each in self.applied.values()
            if isinstance(each, WeightedSum)
        ]

    @property
    def matter(self) -> bool:
        """Whether there is at least one constraint."""
        return bool(self.known or self.limits)

    @property
    def functions(self) -> bool:
        """Whether an applied constraint is a function."""
        return any(not isinstance(each, WeightedSum) for each in self.applied.values())

    def broken(self, setting: ParameterValues) -> str | None:
        """Return the name of the first known constraint that a setting violates, or None."""
        for name, constraint in self.applied.items():
            satisfied = (
                constraint.holds(setting, self._context)
                if isinstance(constraint, WeightedSum)
                else constraint(setting | self._context)
            )
            if not isinstance(satisfied, bool | np.bool_):
                raise rejected(f"constraint {shown(name)}", satisfied, "return True or False")
            if not satisfied:
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
        satisfied = np.ones(len(rows), bool)
        for name, weights in self._weights.items():
            if name not in self.applied:
                continue
            values = np.stack([_values(self.coding, j, rows) for j in range(rows.shape[1])], 1)
            satisfied &= ~self.applied[name]._leaves(values @ weights, self._context)
        return satisfied

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
        """Return JSON-compatible data, or None without constraints."""
        return constraints_to_data(self.known | self.limits) or None


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
            check_order(*own)
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
    places = {context_key(value): value for value in map(parameter.decode, map(float, steps))}
    values = {context_key(key): value for key, value in bound.values.items()}
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
    return parameter.at(place) if isinstance(parameter, Numeric) else np.zeros(len(rows))
