"""What a setting must keep: sums of parameters that are known, and quantities that are measured.

As data, as a user would write them by hand::

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
    shown,
    unit_interval,
)
from driftpeak._core.types import Vector
from driftpeak.gp.domains import Grid
from driftpeak.live.space.encoding import BoxCoding, Coding, FiniteCoding, is_nothing
from driftpeak.live.space.parameters import ROUNDING, Numeric, ParameterValues, check_text
from driftpeak.live.space.records import Reach, setting_of

PROBABILITY = 0.95


@attrs.frozen(init=False)
class Limit:
    """Where a measured quantity must stay: a constraint that is learned.

    Arguments:
        at_most, at_least: one end or both, in the quantity's unit.
        probability: with which a suggestion keeps it, as far as is believed when it is asked for.

    Raises:
        DriftpeakError: no end, ends that are not finite or the wrong way round, a probability
            outside 0.5 to 1, both excluded.

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
            raise DriftpeakError(
                f"probability must lie above 0.5 and below 1; got {shown(probability)}"
            )
        self.__attrs_init__(*ends, number)

    @property
    def span(self) -> tuple[float, float]:
        """Both ends; infinite where there is none."""
        low = -math.inf if self.at_least is None else self.at_least
        return low, math.inf if self.at_most is None else self.at_most

    def believes(self, chance: float | None) -> bool:
        """Whether a suggestion that keeps it with some chance was believed to."""
        return chance is not None and chance >= self.probability - ROUNDING

    def keeps(self, value: float) -> bool:
        """Whether a measured value is within."""
        low, high = self.span
        return low <= value <= high


@attrs.frozen(init=False)
class WeightedSum:
    """A sum of parameters, each times its weight, that must not leave a range: known beforehand.

    Arguments:
        weights: by parameter, `Float` or `Integer` without a condition, or a grid's coordinate.
        at_most, at_least: one end or both.

    Raises:
        DriftpeakError: no weights, or not finite; no end, or the wrong way round.

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
            raise DriftpeakError(
                f'weights map parameters to numbers, as in {{"x": 1, "y": 2}}; got {shown(weights)}'
            )
        each = {name: finite(f"weight of {name!r}", one) for name, one in weights.items()}
        self.__attrs_init__(each, *_ends(at_most, at_least))

    def holds(self, setting: Mapping[str, Any]) -> bool:
        """Whether a setting keeps it."""
        total = sum(weight * setting[name] for name, weight in self.weights.items())
        return not self._leaves(total)

    def _leaves(self, total: Any) -> Any:
        low = -math.inf if self.at_least is None else self.at_least
        return (total < low) | (total > (math.inf if self.at_most is None else self.at_most))


Constraint = Limit | WeightedSum | Callable[[ParameterValues], bool]
"""A function is given a setting, and says whether it may be suggested."""
Constraints = Mapping[str, Constraint]


def _ends(at_most: object, at_least: object) -> tuple[float | None, float | None]:
    if at_most is None and at_least is None:
        raise DriftpeakError("a constraint needs an end: give at_most, at_least or both")
    most = None if at_most is None else finite("at_most", at_most)
    least = None if at_least is None else finite("at_least", at_least)
    if most is not None and least is not None and least >= most:
        raise DriftpeakError(f"at_least must be below at_most; got {least:g} and {most:g}")
    return most, least


class Rules:
    """The constraints of a study, of a space.

    Arguments:
        coding: of the space.
        given: constraints by name.

    Raises:
        DriftpeakError: names that are no text, something that is no constraint, a sum over what is
            no number of the space.

    Attributes:
        known: sums and functions.
        limits: of measured quantities.
    """

    def __init__(self, coding: Coding, given: Constraints | None) -> None:
        self.coding = coding
        self.known: dict[str, Any] = {}
        self.limits: dict[str, Limit] = {}
        for name, one in (given or {}).items():
            if not name:
                raise DriftpeakError(f"a constraint's name must be a text; got {shown(name)}")
            check_text("a constraint's name", name)
            if isinstance(one, Limit):
                self.limits[name] = one
            elif isinstance(one, WeightedSum) or callable(one):
                self.known[name] = one
            else:
                raise DriftpeakError(
                    f"constraint {shown(name)} must be a Limit of what is measured, a WeightedSum "
                    f"of parameters, or a function of a setting; got {shown(one)}"
                )
        self._sums = [
            (one, _weights(coding, name, one))
            for name, one in self.known.items()
            if isinstance(one, WeightedSum)
        ]

    @property
    def matter(self) -> bool:
        """Whether there are any."""
        return bool(self.known or self.limits)

    @property
    def functions(self) -> list[str]:
        """Names of the constraints that cannot be stored."""
        return [name for name, one in self.known.items() if not isinstance(one, WeightedSum)]

    def broken(self, setting: ParameterValues) -> str | None:
        """The name of a known constraint that a setting breaks; None if it keeps all."""
        for name, one in self.known.items():
            kept = one.holds(setting) if isinstance(one, WeightedSum) else one(dict(setting))
            if not isinstance(kept, bool | np.bool_):
                raise DriftpeakError(
                    f"constraint {shown(name)} must return True or False; got {shown(kept)}"
                )
            if not kept:
                return name
        return None

    def check(self, what: str, setting: ParameterValues) -> None:
        """Refuse a setting to begin with that breaks a known constraint.

        Raises:
            DriftpeakError: naming both.
        """
        name = self.broken(setting)
        if name is not None:
            raise DriftpeakError(f"{what} breaks constraint {shown(name)}: got {shown(setting)}")

    def sums_hold(self, rows: Vector) -> Any:
        """Which rows keep the sums, up to rounding, shape `(m,)`."""
        kept = np.ones(len(rows), bool)
        for one, weights in self._sums:
            values = np.stack([_values(self.coding, j, rows) for j in range(rows.shape[1])], 1)
            kept &= ~one._leaves(values @ weights)
        return kept

    def hold(self, rows: Vector, reach: Reach | None) -> Any:
        """Which rows stand for settings that keep all known constraints, shape `(m,)`."""
        if not self.known:
            return np.ones(len(rows), bool)
        settings = [setting_of(self.coding, row, reach) for row in rows]
        return np.array([self.broken(one) is None for one in settings], bool)

    def measured(self, given: object) -> dict[str, float]:
        """What was measured, by name; without what was said to be missing.

        Raises:
            DriftpeakError: a quantity that is missing or unknown, or not a finite number.
        """
        names = tuple(self.limits)
        if not names:
            if is_nothing(given):
                return {}
            raise UnsupportedError(
                "this study measures no constraints; a new one does, with "
                f'Optimizer(constraints={{"temperature": Limit(at_most=75)}}); got {shown(given)}'
            )
        if not isinstance(given, Mapping):
            example = ", ".join(f"{name!r}: ..." for name in names)
            raise DriftpeakError(
                f"tell what was measured too: constraints={{{example}}}, None where nothing was; "
                f"got {shown(given)}"
            )
        for name in given:
            if name not in names:
                raise DriftpeakError(
                    f"there is no measured constraint {shown(name)}; there is {', '.join(names)}."
                    + nearest(shown(name), names)
                )
        for name in names:
            if name not in given:
                raise DriftpeakError(
                    f"constraint {name!r} is missing: give what was measured, or None"
                )
        return {
            name: finite(f"constraint {name!r}", one)
            for name, one in given.items()
            if one is not None
        }

    def known_limits(self, found: Mapping[str, float]) -> None:
        """Refuse what is said of limits that this study has not.

        Raises:
            DriftpeakError: naming the limit.
        """
        for name in found:
            if name not in self.limits:
                raise DriftpeakError(f"there is no measured constraint {shown(name)} in this study")

    def to_data(self) -> dict[str, Any] | None:
        """As data that JSON can hold; None without constraints. Of a function, its name only."""
        found: dict[str, Any] = {}
        for name, one in (self.known | self.limits).items():
            if isinstance(one, WeightedSum):
                found[name] = {"sum": dict(one.weights)} | _ends_to_data(one)
            elif isinstance(one, Limit):
                found[name] = _ends_to_data(one) | {"probability": one.probability}
            else:
                found[name] = {"function": name}
        return found or None


def constraints_from_data(data: object) -> dict[str, Constraint]:
    """The constraints that a dictionary describes.

    Raises:
        DriftpeakError: naming what is missing, misspelt or impossible.
    """
    if not isinstance(data, Mapping):
        raise DriftpeakError(
            'constraints are written as {"temperature": {"at_most": 75}} or {"budget": {"sum": '
            f'{{"x": 1}}, "at_most": 3}}}}; got {shown(data)}'
        )
    found: dict[str, Constraint] = {}
    for name, one in data.items():
        whose = f"constraint {shown(name)}"
        if not isinstance(one, Mapping):
            raise DriftpeakError(f'{whose} is written as {{"at_most": 75}}; got {shown(one)}')
        known = ("sum", "at_most", "at_least") if "sum" in one else _LIMIT
        for key in one:
            if key not in known:
                raise DriftpeakError(
                    f"{whose} has no {shown(key)}; it has {', '.join(known)}."
                    + nearest(shown(key), known)
                )
        options = {key: value for key, value in one.items() if key != "sum"}
        try:
            found[name] = WeightedSum(one["sum"], **options) if "sum" in one else Limit(**options)
        except DriftpeakError as error:
            raise DriftpeakError(f"{whose}: {error}") from None
    return found


_LIMIT = ("at_most", "at_least", "probability")


def _ends_to_data(one: Limit | WeightedSum) -> dict[str, float]:
    ends = {"at_most": one.at_most, "at_least": one.at_least}
    return {name: end for name, end in ends.items() if end is not None}


def _weights(coding: Coding, name: str, one: WeightedSum) -> Vector:
    """One for each column."""
    fit: tuple[str, ...] = ()
    if isinstance(coding, BoxCoding):
        each = coding.box.parameters.items()
        fit = tuple(k for k, one in each if isinstance(one, Numeric) and not one.when)
    elif isinstance(coding, FiniteCoding) and isinstance(coding.domain, Grid):
        fit = coding.names
    for parameter in one.weights:
        if parameter not in fit:
            words = ", ".join(fit) or "none: give a function instead"
            raise DriftpeakError(
                f"constraint {shown(name)} sums parameters that are numbers and always count, "
                f"here {words}; got {shown(parameter)}." + nearest(parameter, fit)
            )
    return np.array([one.weights.get(parameter, 0.0) for parameter in coding.names])


def _values(coding: Coding, column: int, rows: Vector) -> Vector:
    """The numbers of a column; of one that is none, 0."""
    place = rows[:, column]
    if isinstance(coding, FiniteCoding):
        points = coding.domain.points[:, column]
        return points.min() + place * (points.max() - points.min())
    assert isinstance(coding, BoxCoding)
    one = coding.box.parameters[coding.names[column]]
    if not isinstance(one, Numeric):
        return np.zeros(len(rows))
    if one.log:
        return one.low * (one.high / one.low) ** place
    return one.low + place * (one.high - one.low)
