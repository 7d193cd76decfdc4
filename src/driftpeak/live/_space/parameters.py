"""Parameters of a space: accepted values, encoding in [0, 1] and movement limits.

dp.Float(1e-4, 1, log=True), dp.Integer(1, 9, max_step=2), dp.Categorical("a", None), dp.Boolean()
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, TypeGuard

import attrs

from driftpeak._core.argument_types import checked
from driftpeak._core.durations import rate
from driftpeak._core.errors import DriftpeakError, finite, nearest, rejected, shown, whole

ROUNDING = 1e-9  # share of a range by which a value may lie outside; it is then clipped
LARGEST = 1e150  # bound of a range: differences, ratios and squares do not overflow
MOST = 2**53  # larger integers are not exact floats
Value = str | int | float | bool | None
ParameterValues = dict[str, Value]
"""A setting: the values of all active parameters by name."""
Condition = tuple[tuple[str, tuple[Any, ...]], ...]
"""A condition: names of other parameters, and the values of each that make a parameter active."""


class Parameter(ABC):
    """A parameter that the optimiser sets. Base class.

    Attributes:
        when: condition on other parameters for this one to be active; empty if always active.
    """

    when: Condition

    @property
    def categorical(self) -> bool:
        """Whether the values are unordered."""
        return False

    @property
    def gap(self) -> float:
        """Distance in [0, 1] between neighbouring choices; 0 for numbers, 1 if unordered."""
        return 0.0

    def __repr__(self) -> str:
        given = attrs.asdict(self, recurse=False).items()  # type: ignore[arg-type]
        words = [f"{k}={v!r}" for k, v in given if v is not None and v is not False and v != ()]
        return f"{type(self).__name__}({', '.join(words)})"

    @property
    @abstractmethod
    def levels(self) -> int:
        """Number of equally spaced values; 0 if continuous or unequally spaced."""

    @abstractmethod
    def clean(self, name: str, value: object) -> Value:
        """Return `value` with the type of suggestions: an int given for a float becomes a float.

        Arguments:
            name: the parameter's name, for messages.
            value: the value.

        Raises:
            DriftpeakError: the value has the wrong type or lies outside the range.
        """

    @abstractmethod
    def encode(self, name: str, value: object) -> float:
        """Return the position of `value` in [0, 1]."""

    @abstractmethod
    def decode(self, place: float) -> Value:
        """Return the valid value nearest to `place` in [0, 1]."""

    @property
    def limited(self) -> bool:
        """Whether the parameter has movement limits."""
        return False

    @abstractmethod
    def reach(self, value: Any, elapsed: float, share: float) -> tuple[Any, Any]:
        """Return the lowest and highest value within reach.

        Arguments:
            value: the current value.
            elapsed: time since the parameter was set to it.
            share: largest move as a share of the range.
        """

    @property
    @abstractmethod
    def widest_gap(self) -> float:
        """Largest distance between neighbouring values as a share of the range; 0 if continuous."""


@attrs.frozen(init=False, repr=False)
class Numeric(Parameter):
    """A numeric parameter. Base class of `Float` and `Integer`."""

    low: Any
    high: Any
    log: bool
    step: Any
    max_step: float | None
    max_rate: float | str | None
    when: Condition

    unit: ClassVar[int] = 0  # distance between neighbours without a step; 0 if continuous

    def encode(self, name: str, value: object) -> float:
        number: Any = self.clean(name, value)
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def at(self, place: Any) -> Any:
        """Return the real numbers at positions in [0, 1]: a number or an array."""
        if self.log:
            return self.low * (self.high / self.low) ** place
        return self.low + place * (self.high - self.low)

    @property
    def levels(self) -> int:
        apart = self.step or self.unit
        return round((self.high - self.low) / apart) + 1 if apart and not self.log else 0

    @property
    def limited(self) -> bool:
        return self.max_step is not None or self.max_rate is not None

    @property
    def widest_gap(self) -> float:
        if self.levels:
            return 1 / (self.levels - 1)
        return self.encode("", self.low + self.unit)  # the first gap is the largest on a log scale

    def reach(self, value: Any, elapsed: float, share: float) -> tuple[Any, Any]:
        low, high = self._span(value, elapsed, share)
        apart = self.step or self.unit
        if not apart:
            return low, high
        # a bound that misses a level by a rounding error includes it
        first = math.ceil((low - self.low) / apart - ROUNDING)
        last = math.floor((high - self.low) / apart + ROUNDING)
        while first <= last and not self._may_step(value, first):
            first += 1
        while first <= last and not self._may_step(value, last):
            last -= 1
        return (self._level(first), self._level(last)) if first <= last else (value, value)

    @property
    def _rate(self) -> float:
        """The largest change or factor per unit of time."""
        number, time = rate("max_rate", self.max_rate)
        return float(number ** (1 / time) if self.log else number / time)

    def _span(self, value: float, elapsed: float, share: float) -> tuple[float, float]:
        """Return the range within reach, without rounding errors beyond the limits."""
        if self.log:
            ratio = math.log(self.high / self.low)
            rate = math.inf if self.max_rate is None else math.log(self._rate) * elapsed
            farthest = math.exp(min(rate, share * ratio, ratio))
            farthest = min(farthest, self.max_step or farthest)
            low, high = value / farthest, value * farthest
        else:
            farthest = math.inf if self.max_rate is None else self._rate * elapsed
            farthest = min(farthest, share * (self.high - self.low), self.max_step or math.inf)
            low, high = value - farthest, value + farthest
        low, high = max(low, self.low), min(high, self.high)
        while self._apart(high, value) > farthest:
            high = math.nextafter(high, value)
        while self._apart(value, low) > farthest:
            low = math.nextafter(low, value)
        return low, high

    def _apart(self, larger: Any, smaller: Any) -> Any:
        """Return the distance between two values; with log their ratio."""
        return larger / smaller if self.log else larger - smaller

    def _may_step(self, value: float, number: int) -> bool:
        """Return whether a level is within `max_step` of a value in exact decimal arithmetic."""
        if self.max_step is None:
            return True
        here, there = _exact(value), _exact(self._level(number))
        limit, apart = _exact(self.max_step), _exact(self.step or self.unit)
        # between levels, compare their numbers: the last level may be off by a rounding error
        own = round((value - self.low) / float(apart))
        if not self.log and value == self._level(own):
            return abs(number - own) <= max(limit // apart, 1)
        return bool(self._apart(max(here, there), min(here, there)) <= limit)

    def _level(self, number: int) -> Any:
        """Return the decimal value after `number` steps: 0.3 rather than 0.1 + 0.1 + 0.1."""
        if (self.step or self.unit) * number >= self.high - self.low:
            return self.high
        value = Decimal(repr(self.low)) + number * Decimal(repr(self.step or self.unit))
        return min(max(type(self.low)(value), self.low), self.high)


@attrs.frozen(init=False, repr=False)
class Float(Numeric):
    """A real parameter from `low` to `high`, both included.

    Arguments:
        low, high: the range.
        log: whether the scale is logarithmic, as suits learning rates and penalties.
        step: only low, low + step, ... are suggested; `tell` accepts all values in the range.
        max_step: largest distance between a suggestion and the current value; with log the
            largest factor.
        max_rate: largest change (with log: factor) per unit of time since the last move. If times
            are dates, a number is per second, and a text such as "8/h" has its unit.
        when: values of other parameters that make this one active, as {"coolant": "oil"} or
            {"stages": [2, 3]}. With other values this parameter is not part of a setting.

    Raises:
        DriftpeakError: low >= high, a number is not finite or beyond 1e150, the range is narrower
            than 1e-150, or low is below 1e-150 with log; the range is not a whole number of steps
            or has more than 2**53; step and log are combined; max_step is below the step; a
            movement limit is not above 0 (with log: 1).
    """

    @checked
    def __init__(
        self,
        low: float,
        high: float,
        log: bool = False,
        *,
        step: float | None = None,
        max_step: float | None = None,
        max_rate: float | str | None = None,
        when: Mapping[str, Any] | None = None,
    ) -> None:
        low, high = finite("low", low), finite("high", high)
        _check_ends(low, high, log, math.ulp(0.0))
        narrowest = low if log else (high / 2 - low / 2) * 2
        if max(-low, high) > LARGEST or narrowest < 1 / LARGEST:
            raise DriftpeakError(
                "a range must lie in [-1e150, 1e150] and be at least 1e-150 wide, with log=True in "
                f"[1e-150, 1e150]; got {low:g} to {high:g}. Use a larger or smaller unit"
            )
        step = None if step is None else finite("step", step)
        _check_step(low, high, log, step)
        least = 1.0 if log else step or 0.0
        limits = (_limit("max_step", max_step, log, least), _rate_limit(max_rate, log))
        self.__attrs_init__(low, high, bool(log), step, *limits, _condition(when))

    def clean(self, name: str, value: object) -> float:
        number = finite(f"parameter {name!r}", value)
        if not self._contains(number):
            raise DriftpeakError(
                f"parameter {name!r} must lie in [{self.low:g}, {self.high:g}]; got {number:g}"
            )
        return min(max(number, self.low), self.high)

    def _contains(self, number: float) -> bool:
        """Return whether a number is within the range, up to rounding."""
        if not self.log:
            margin = ROUNDING * (self.high - self.low)
            return self.low - margin <= number <= self.high + margin
        margin = ROUNDING * math.log(self.high / self.low)
        if number <= 0:
            return False
        return math.log(self.low) - margin <= math.log(number) <= math.log(self.high) + margin

    def decode(self, place: float) -> float:
        if self.step is not None:
            return self._level(round(place * (self.levels - 1)))
        return float(min(max(self.at(place), self.low), self.high))


@attrs.frozen(init=False, repr=False)
class Integer(Numeric):
    """An integer parameter from `low` to `high`, both included.

    Neighbouring values are expected to have similar objectives.

    Arguments:
        low, high: the range.
        log: whether the scale is logarithmic, as suits sizes and counts.
        step: only low, low + step, ... are suggested; `tell` accepts all values in the range.
        max_step, max_rate, when: as for `Float`.

    Raises:
        DriftpeakError: low >= high, a bound is not an integer or beyond 2**53, the range has more
            than 2**53 integers; low is below 1 with log; the range is not a whole number of steps;
            step and log are combined; max_step is too small for any move; a movement limit is not
            above 0 (with log: 1).
    """

    unit: ClassVar[int] = 1

    @checked
    def __init__(
        self,
        low: int,
        high: int,
        log: bool = False,
        *,
        step: int | None = None,
        max_step: float | None = None,
        max_rate: float | str | None = None,
        when: Mapping[str, Any] | None = None,
    ) -> None:
        for name, value in {"low": low, "high": high}.items():
            if not whole(value) or abs(int(value)) > MOST:
                raise DriftpeakError(
                    f"{name} must be an integer from -2**53 to 2**53; got {shown(value)}. Use a "
                    "larger unit or a Float"
                )
        low, high = int(low), int(high)
        _check_ends(low, high, log, 1)
        if high - low + 1 > MOST:
            raise DriftpeakError(
                f"a range must have at most 2**53 integers; got {low} to {high}. Use a larger unit "
                "or a Float"
            )
        if step is not None and not (whole(step) and 0 < step <= high - low):
            raise DriftpeakError(f"step must be an integer from 1 to high - low; got {shown(step)}")
        _check_step(low, high, log, step)
        least = (low + 1) / low if log else step or 1
        limits = (_limit("max_step", max_step, log, least), _rate_limit(max_rate, log))
        step = None if step is None else int(step)
        self.__attrs_init__(low, high, bool(log), step, *limits, _condition(when))

    def clean(self, name: str, value: object) -> int:
        if not whole(value) or not self.low <= value <= self.high:
            raise rejected(
                f"parameter {name!r}", value, f"be an integer from {self.low} to {self.high}"
            )
        return int(value)

    def decode(self, place: float) -> int:
        if self.log:
            return min(max(round(self.at(place)), self.low), self.high)
        return self.low + round(place * (self.levels - 1)) * (self.step or 1)


@attrs.frozen(init=False, repr=False)
class Categorical(Parameter):
    """A parameter with several values: strings, finite numbers, booleans or None.

    Arguments:
        choices: the values.
        ordered: whether the values have an order in which neighbours are similar, as "low",
            "medium" and "high".
        when: as for `Float`.

    Raises:
        DriftpeakError: there are fewer than two choices, a choice has another type, a number is
            not finite, a text is not valid Unicode, or a choice occurs twice.
    """

    choices: tuple[Value, ...]
    ordered: bool
    when: Condition

    @checked
    def __init__(
        self, *choices: Value, ordered: bool = False, when: Mapping[str, Any] | None = None
    ) -> None:
        if len(choices) < 2:
            raise DriftpeakError(
                f"a categorical parameter must have at least 2 choices; got {len(choices)}. Give "
                'each as an argument of its own, as in Categorical("a", "b")'
            )
        for choice in choices:
            if not isinstance(choice, Value):
                raise rejected("choices", choice, "be strings, numbers, booleans or None")
            if isinstance(choice, str):
                check_text("a choice", choice)
            elif choice is not None:
                finite("a choice", choice + 0)  # converts a boolean to a number
        if len({_key(choice) for choice in choices}) < len(choices):
            raise DriftpeakError(f"choices must be distinct; got {shown(choices)}")
        self.__attrs_init__(choices, bool(ordered), _condition(when))

    @property
    def categorical(self) -> bool:
        return not self.ordered

    @property
    def levels(self) -> int:
        return len(self.choices)

    @property
    def gap(self) -> float:
        return self.widest_gap if self.ordered else 1.0

    @property
    def widest_gap(self) -> float:
        return 1 / (len(self.choices) - 1)

    def clean(self, name: str, value: object) -> Value:
        return self.choices[self._number(name, value)]

    def encode(self, name: str, value: object) -> float:
        return self._number(name, value) / (len(self.choices) - 1)

    def decode(self, place: float) -> Value:
        return self.choices[round(place * (len(self.choices) - 1))]

    def reach(self, value: Any, elapsed: float, share: float) -> tuple[Any, Any]:
        number, last = self._number("", value), len(self.choices) - 1
        farthest = int(min(share, 1.0) * last + ROUNDING) if self.ordered else last
        return self.choices[max(number - farthest, 0)], self.choices[min(number + farthest, last)]

    def _number(self, name: str, value: object) -> int:
        keys = [_key(choice) for choice in self.choices]
        if not isinstance(value, Value) or _key(value) not in keys:
            choices = ", ".join(map(repr, self.choices))
            hint = nearest(value, filter(_is_text, self.choices)) if _is_text(value) else ""
            raise DriftpeakError(
                f"parameter {name!r} must be one of {choices}; got {shown(value)}.{hint}"
            )
        return keys.index(_key(value))


@attrs.frozen(init=False, repr=False)
class Boolean(Categorical):
    """A parameter that is True or False.

    Arguments:
        when: as for `Float`.
    """

    @checked
    def __init__(self, *, when: Mapping[str, Any] | None = None) -> None:
        Categorical.__init__(self, False, True, when=when)


def _exact(number: float) -> Fraction:
    """Return the decimal number that Python prints as a fraction."""
    return Fraction(Decimal(repr(number)))


def check_text(what: str, text: str) -> None:
    """Check that text has no NUL and no lone surrogates, which files and databases cannot hold.

    Arguments:
        what: name of the text in the message.
        text: the text.

    Raises:
        DriftpeakError: the text holds such a character.
    """
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise DriftpeakError(
            f"{what} must be text without NUL and lone surrogates; got {ascii(text)[:60]}"
        )


def check_keys(accepted: str, given: Iterable[object], names: Collection[str]) -> None:
    """Check that the keys of a mapping are known.

    Arguments:
        accepted: begin of the message, such as "parameters must be".
        given: the keys.
        names: the accepted keys.

    Raises:
        DriftpeakError: a key is not accepted.
    """
    for name in given:
        if name not in names:
            raise DriftpeakError(
                f"{accepted} among {', '.join(names)}; got {shown(name)}."
                + nearest(shown(name), names)
            )


def _check_ends(low: float, high: float, log: object, least: float) -> None:
    if low >= high:
        raise DriftpeakError(f"low must be below high; got {low:g} and {high:g}")
    if log and low < least:
        words = "at least 1" if least == 1 else "above 0"
        raise DriftpeakError(f"low must be {words} with log=True; got {low:g}")


def _check_step(low: float, high: float, log: bool, step: float | None) -> None:
    """Check that the range is a whole number of steps."""
    if step is None:
        return
    if log:
        raise rejected("step", step, "be None with log=True", "Leave out step or log")
    if step <= 0 or step > (high - low) * (1 + ROUNDING):
        raise DriftpeakError(f"step must be above 0 and at most high - low; got {shown(step)}")
    count = (high - low) / step
    if count >= MOST:
        raise DriftpeakError(
            f"a range must have at most 2**53 steps; got {count:.3g}. Leave step out"
        )
    if abs(count - round(count)) > ROUNDING * count:
        below = low + math.floor(count) * step
        raise DriftpeakError(
            f"high must be low plus a whole number of steps; got {high:g}. With low {low:g} and "
            f"step {step:g} the nearest values are {below:g} and {below + step:g}"
        )


def _limit(name: str, given: object, log: bool, least: float = 0.0) -> float | None:
    """Return a valid movement limit, a distance or a rate."""
    if given is None:
        return None
    number = finite(name, given)
    if number <= (1.0 if log else 0.0):
        what = "a factor above 1 with log=True" if log else "above 0"
        raise DriftpeakError(f"{name} must be {what}; got {shown(given)}")
    if number < least * (1 - ROUNDING):
        raise rejected(
            name, given, f"be at least {least:g}, the distance between neighbouring values"
        )
    return number


def _rate_limit(given: object, log: bool) -> float | str | None:
    """Return a valid rate; a text keeps its unit of time."""
    if not isinstance(given, str):
        return _limit("max_rate", given, log)
    _limit("max_rate", rate("max_rate", given)[0], log)
    return given


def _condition(when: Mapping[str, Any] | None) -> Condition:
    """Return a condition as names and values. The box checks that they exist."""
    if when is None:
        return ()
    if not when:
        raise rejected("when", when, 'map names to values, as in {"coolant": "oil"}')
    conditions = []
    for name, values in when.items():
        each = tuple(values) if isinstance(values, list | tuple) else (values,)
        if not each or not all(isinstance(v, Value) for v in each):
            raise rejected("when", {name: values}, "map names to a value or a list of values")
        conditions.append((name, each))
    return tuple(conditions)


def same(value: Value, other: Value) -> bool:
    """Return whether two values are the same choice. True and 1 are different choices."""
    return _key(value) == _key(other)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _key(choice: Value) -> tuple[bool, Value]:
    return isinstance(choice, bool), choice
