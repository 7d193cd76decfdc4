"""What can be set on a real system: named parameters in a box.

dp.Box(rate=dp.Float(1e-4, 1, log=True), layers=dp.Integer(1, 9), kind=dp.Categorical("a", "b"))
"""

import math
from collections.abc import Mapping
from typing import TypeGuard

from attrs import field, frozen

from driftpeak.errors import DriftpeakError, finite, nearest, shown, whole

ROUNDING = 1e-9  # of a range: a value this far outside is taken for its end
LARGEST = 1e150  # of the ends of a range: no difference, ratio or square of them overflows
MOST = 2**53  # whole numbers beyond are no floats
Value = str | int | float | bool
ParameterValues = dict[str, Value]
"""A setting: the value of every parameter, by name."""


@frozen(init=False)
class Float:
    """A real parameter from `low` to `high`, both included.

    Arguments:
        low, high: the range.
        log: whether ratios matter rather than differences, as for rates and penalties.

    Raises:
        DriftpeakError: low >= high, numbers that are not finite or beyond 1e150, a range narrower
            than 1e-150, or log with low below 1e-150.
    """

    low: float
    high: float
    log: bool

    def __init__(self, low: float, high: float, log: bool = False) -> None:
        low, high = finite("low", low), finite("high", high)
        if low >= high:
            raise DriftpeakError(f"low must be below high; got {low:g} and {high:g}")
        if log and low <= 0:
            raise DriftpeakError(f"with log=True low must be above 0; got {low:g}")
        narrowest = low if log else (high / 2 - low / 2) * 2
        if max(-low, high) > LARGEST or narrowest < 1 / LARGEST:
            raise DriftpeakError(
                "a range must lie in [-1e150, 1e150] and be at least 1e-150 wide, with log=True in "
                f"[1e-150, 1e150]; got {low:g} to {high:g}. Choose a larger or smaller unit"
            )
        self.__attrs_init__(low, high, log)

    levels = 0  # how many values there are; 0 for a continuum
    categorical = False

    def clean(self, name: str, value: object) -> float:
        """`value` as a float within the range.

        Raises:
            DriftpeakError: naming the parameter and its range.
        """
        number = finite(f"parameter {name!r}", value)
        if not self._contains(number):
            raise DriftpeakError(
                f"parameter {name!r} must lie in [{self.low:g}, {self.high:g}]; got {number:g}"
            )
        return min(max(number, self.low), self.high)

    def _contains(self, number: float) -> bool:
        """Whether a number is within the range, up to rounding."""
        if not self.log:
            margin = ROUNDING * (self.high - self.low)
            return self.low - margin <= number <= self.high + margin
        margin = ROUNDING * math.log(self.high / self.low)
        if number <= 0:
            return False
        return math.log(self.low) - margin <= math.log(number) <= math.log(self.high) + margin

    def encode(self, name: str, value: object) -> float:
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


@frozen(init=False)
class Integer:
    """A whole parameter from `low` to `high`, both included; neighbours are alike.

    Arguments:
        low, high: the range.

    Raises:
        DriftpeakError: low >= high, ends that are not integers, or beyond 2**53, or farther apart.
    """

    low: int
    high: int

    def __init__(self, low: int, high: int) -> None:
        for name, value in {"low": low, "high": high}.items():
            if not whole(value) or abs(int(value)) > MOST:
                raise DriftpeakError(
                    f"{name} must be an integer from -2**53 to 2**53; got {shown(value)}. Count in "
                    "a larger unit, or take a Float"
                )
        self.__attrs_init__(int(low), int(high))
        if self.low >= self.high:
            raise DriftpeakError(f"low must be below high; got {self.low} and {self.high}")
        if self.levels > MOST:
            raise DriftpeakError(
                f"a range has at most 2**53 whole numbers; got {self.low} to {self.high}. Count in "
                "a larger unit, or take a Float"
            )

    categorical = False

    @property
    def levels(self) -> int:
        """How many values there are."""
        return self.high - self.low + 1

    def clean(self, name: str, value: object) -> int:
        """`value` as an int within the range.

        Raises:
            DriftpeakError: naming the parameter and its range.
        """
        if not whole(value) or not self.low <= value <= self.high:
            raise DriftpeakError(
                f"parameter {name!r} must be an integer from {self.low} to {self.high}; "
                f"got {shown(value)}"
            )
        return int(value)

    def encode(self, name: str, value: object) -> float:
        """Where `value` lies between low (0) and high (1)."""
        return (self.clean(name, value) - self.low) / (self.high - self.low)

    def decode(self, place: float) -> int:
        """The value nearest to `place` in [0, 1]."""
        return self.low + round(place * (self.high - self.low))


@frozen(init=False)
class Categorical:
    """One of several values without an order: strings, finite numbers or booleans.

    Arguments:
        *choices: at least two, all different.

    Raises:
        DriftpeakError: fewer than two choices, choices of another type, numbers that are not
            finite, text that is no Unicode, or the same choice twice.
    """

    choices: tuple[Value, ...]

    def __init__(self, *choices: Value) -> None:
        if len(choices) < 2:
            raise DriftpeakError(
                f"a categorical parameter needs at least 2 choices; got {len(choices)}"
            )
        for choice in choices:
            if not isinstance(choice, str | int | float | bool):
                raise DriftpeakError(
                    f"choices must be strings, numbers or booleans; got {shown(choice)}"
                )
            if isinstance(choice, str):
                check_text("a choice", choice)
            else:
                finite("a choice", choice + 0)  # a truth value as a number
        if len({_key(choice) for choice in choices}) < len(choices):
            raise DriftpeakError(f"choices must be distinct; got {choices}")
        self.__attrs_init__(choices)

    categorical = True

    @property
    def levels(self) -> int:
        """How many choices there are."""
        return len(self.choices)

    def clean(self, name: str, value: object) -> Value:
        """The choice that equals `value`.

        Raises:
            DriftpeakError: naming the parameter and its choices.
        """
        return self.choices[self._number(name, value)]

    def encode(self, name: str, value: object) -> float:
        """The number of the choice, divided by that of the last."""
        return self._number(name, value) / (len(self.choices) - 1)

    def _number(self, name: str, value: object) -> int:
        keys = [_key(choice) for choice in self.choices]
        if not isinstance(value, str | int | float | bool) or _key(value) not in keys:
            choices = ", ".join(map(repr, self.choices))
            hint = nearest(value, filter(_is_text, self.choices)) if _is_text(value) else ""
            raise DriftpeakError(
                f"parameter {name!r} must be one of {choices}; got {shown(value)}.{hint}"
            )
        return keys.index(_key(value))

    def decode(self, place: float) -> Value:
        """The choice at `place` in [0, 1]."""
        return self.choices[round(place * (len(self.choices) - 1))]


Parameter = Float | Integer | Categorical


@frozen(init=False)
class Box:
    """Named parameters: `Float`, `Integer` or `Categorical`, at most 10 in practice.

    Arguments:
        parameters: a mapping, for names that are no Python identifiers; and
        **named: parameters by name.

    Raises:
        DriftpeakError: no parameter, a name given twice, or something that is no parameter.

    Example:
        >>> import driftpeak as dp
        >>> space = dp.Box(
        ...     speed=dp.Float(0, 10),
        ...     gain=dp.Float(1e-3, 1, log=True),
        ...     stages=dp.Integer(1, 6),
        ...     coolant=dp.Categorical("water", "oil"),
        ... )
    """

    parameters: dict[str, Parameter] = field(hash=False)

    def __init__(
        self, parameters: Mapping[str, Parameter] | None = None, /, **named: Parameter
    ) -> None:
        if not isinstance(parameters, Mapping | None):
            raise DriftpeakError(
                f"a box maps names to parameters, as in Box(x=Float(0, 1)); got {shown(parameters)}"
            )
        given = dict(parameters or {})
        for name in given.keys() & named.keys():
            raise DriftpeakError(f"parameter {name!r} is given twice")
        given.update(named)
        if not given:
            raise DriftpeakError("a box needs at least one parameter, as in Box(x=Float(0, 1))")
        for name, parameter in given.items():
            if not isinstance(name, str):
                raise DriftpeakError(f"a parameter's name must be a string; got {shown(name)}")
            check_text("a parameter's name", name)
            if not isinstance(parameter, Float | Integer | Categorical):
                raise DriftpeakError(
                    f"parameter {name!r} must be a Float, Integer or Categorical; got "
                    f"{shown(parameter)}"
                )
        self.__attrs_init__(given)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"Box({inside})"


def check_names(parameters: object, names: tuple[str, ...]) -> Mapping[str, object]:
    """`parameters`, if it is a mapping with exactly these names.

    Raises:
        DriftpeakError: naming what is missing or misspelt.
    """
    if not isinstance(parameters, Mapping):
        raise DriftpeakError(
            f"give a suggestion, its id, or a mapping of {', '.join(names)}; got "
            f"{shown(parameters)}"
        )
    for name in parameters:
        if name not in names:
            raise DriftpeakError(
                f"there is no parameter {shown(name)}; the space has {', '.join(names)}."
                + nearest(shown(name), names)
            )
    for name in names:
        if name not in parameters:
            raise DriftpeakError(f"parameter {name!r} is missing")
    return parameters


def check_text(what: str, text: str) -> None:
    """Refuse what no file and no database can hold: NUL, and surrogates that are no character.

    Raises:
        DriftpeakError: naming `what` it is.
    """
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise DriftpeakError(
            f"{what} must be text without NUL and lone surrogates; got {ascii(text)[:60]}"
        )


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _key(choice: Value) -> tuple[bool, Value]:
    return isinstance(choice, bool), choice  # True == 1, but is another choice
