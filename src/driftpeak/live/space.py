"""What can be set on a real system: named parameters in a box.

dp.Box(rate=dp.Float(1e-4, 1, log=True), layers=dp.Integer(1, 9), kind=dp.Categorical("a", "b"))
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from driftpeak.errors import DriftpeakError, finite, nearest

ROUNDING = 1e-9  # of a range: a value this far outside is taken for its end


@dataclass(frozen=True)
class Float:
    """A real parameter from `low` to `high`, both included.

    Arguments:
        low, high: the range.
        log: whether ratios matter rather than differences, as for rates and penalties.

    Raises:
        DriftpeakError: low >= high, numbers that are not finite, or log with low <= 0.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        low, high = finite("low", self.low), finite("high", self.high)
        if low >= high:
            raise DriftpeakError(f"low must be below high; got {low:g} and {high:g}")
        if self.log and low <= 0:
            raise DriftpeakError(f"with log=True low must be above 0; got {low:g}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    levels = 0  # how many values there are; 0 for a continuum
    categorical = False

    def clean(self, name: str, value: Any) -> float:
        """`value` as a float within the range.

        Raises:
            DriftpeakError: naming the parameter and its range.
        """
        number = finite(f"parameter {name!r}", value)
        margin = ROUNDING * (self.high - self.low)
        if not self.low - margin <= number <= self.high + margin:
            raise DriftpeakError(
                f"parameter {name!r} must lie in [{self.low:g}, {self.high:g}]; got {number:g}"
            )
        return min(max(number, self.low), self.high)

    def encode(self, name: str, value: Any) -> float:
        """Where `value` lies between low (0) and high (1)."""
        number = self.clean(name, value)
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def decode(self, place: float) -> float:
        """The value at `place` in [0, 1]."""
        if self.log:
            value = self.low * (self.high / self.low) ** place
        else:
            value = self.low + place * (self.high - self.low)
        return float(min(max(value, self.low), self.high))


@dataclass(frozen=True)
class Integer:
    """A whole parameter from `low` to `high`, both included; neighbours are alike.

    Raises:
        DriftpeakError: low >= high, or ends that are not integers.
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise DriftpeakError(f"{name} must be an integer; got {value!r}")
            object.__setattr__(self, name, int(value))
        if self.low >= self.high:
            raise DriftpeakError(f"low must be below high; got {self.low} and {self.high}")

    categorical = False

    @property
    def levels(self) -> int:
        """How many values there are."""
        return self.high - self.low + 1

    def clean(self, name: str, value: Any) -> int:
        """`value` as an int within the range.

        Raises:
            DriftpeakError: naming the parameter and its range.
        """
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not self.low <= value <= self.high:
            raise DriftpeakError(
                f"parameter {name!r} must be an integer from {self.low} to {self.high}; "
                f"got {value!r}"
            )
        return int(value)

    def encode(self, name: str, value: Any) -> float:
        """Where `value` lies between low (0) and high (1)."""
        return (self.clean(name, value) - self.low) / (self.high - self.low)

    def decode(self, place: float) -> int:
        """The value nearest to `place` in [0, 1]."""
        return self.low + round(place * (self.high - self.low))


@dataclass(frozen=True, init=False)
class Categorical:
    """One of several values without an order: strings, numbers or booleans.

    Raises:
        DriftpeakError: fewer than two choices, choices of another type, or the same one twice.
    """

    choices: tuple[Any, ...]

    def __init__(self, *choices: str | int | float | bool) -> None:
        if len(choices) < 2:
            raise DriftpeakError(
                f"a categorical parameter needs at least 2 choices; got {len(choices)}"
            )
        for choice in choices:
            if not isinstance(choice, str | int | float | bool):
                raise DriftpeakError(
                    f"choices must be strings, numbers or booleans; got {choice!r}"
                )
        if len({_key(choice) for choice in choices}) < len(choices):
            raise DriftpeakError(f"choices must be distinct; got {choices}")
        object.__setattr__(self, "choices", choices)

    categorical = True

    @property
    def levels(self) -> int:
        """How many choices there are."""
        return len(self.choices)

    def clean(self, name: str, value: Any) -> Any:
        """The choice that equals `value`.

        Raises:
            DriftpeakError: naming the parameter and its choices.
        """
        return self.choices[self._number(name, value)]

    def encode(self, name: str, value: Any) -> float:
        """The number of the choice, divided by that of the last."""
        return self._number(name, value) / (len(self.choices) - 1)

    def _number(self, name: str, value: Any) -> int:
        keys = [_key(choice) for choice in self.choices]
        if not isinstance(value, str | int | float | bool) or _key(value) not in keys:
            shown = ", ".join(map(repr, self.choices))
            hint = nearest(value, filter(_is_text, self.choices)) if _is_text(value) else ""
            raise DriftpeakError(f"parameter {name!r} must be one of {shown}; got {value!r}.{hint}")
        return keys.index(_key(value))

    def decode(self, place: float) -> Any:
        """The choice at `place` in [0, 1]."""
        return self.choices[round(place * (len(self.choices) - 1))]


Parameter = Float | Integer | Categorical


@dataclass(frozen=True, init=False)
class Box:
    """Named parameters: `Float`, `Integer` or `Categorical`, at most 10 in practice.

    Arguments:
        parameters: a mapping, for names that are no Python identifiers; and
        **named: parameters by name.

    Raises:
        DriftpeakError: no parameter, a name given twice, or something that is no parameter.
    """

    parameters: dict[str, Parameter] = field(hash=False)

    def __init__(
        self, parameters: Mapping[str, Parameter] | None = None, /, **named: Parameter
    ) -> None:
        given = dict(parameters or {})
        for name in given.keys() & named.keys():
            raise DriftpeakError(f"parameter {name!r} is given twice")
        given.update(named)
        if not given:
            raise DriftpeakError("a box needs at least one parameter, as in Box(x=Float(0, 1))")
        for name, parameter in given.items():
            if not isinstance(name, str):
                raise DriftpeakError(f"a parameter's name must be a string; got {name!r}")
            if not isinstance(parameter, Float | Integer | Categorical):
                raise DriftpeakError(
                    f"parameter {name!r} must be a Float, Integer or Categorical; got {parameter!r}"
                )
        object.__setattr__(self, "parameters", given)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"Box({inside})"


def check_names(parameters: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    """`parameters`, if it is a mapping with exactly these names.

    Raises:
        DriftpeakError: naming what is missing or misspelt.
    """
    if not isinstance(parameters, Mapping):
        raise DriftpeakError(
            f"give a suggestion, its id, or a mapping of {', '.join(names)}; got {parameters!r}"
        )
    for name in parameters:
        if name not in names:
            raise DriftpeakError(
                f"there is no parameter {name!r}; the space has {', '.join(names)}."
                + nearest(str(name), names)
            )
    for name in names:
        if name not in parameters:
            raise DriftpeakError(f"parameter {name!r} is missing")
    return parameters


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _key(choice: Any) -> tuple[bool, Any]:
    return isinstance(choice, bool), choice  # True == 1, but is another choice
