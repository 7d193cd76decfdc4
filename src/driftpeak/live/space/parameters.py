"""One parameter of a real system: its values, how they lie in [0, 1], how far it may be moved.

dp.Float(1e-4, 1, log=True), dp.Integer(1, 9, max_step=2), dp.Categorical("a", None), dp.Boolean()
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, TypeGuard

import attrs

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite, nearest, shown, whole

ROUNDING = 1e-9  # of a range: a value this far outside is taken for its end
LARGEST = 1e150  # of the ends of a range: no difference, ratio or square of them overflows
MOST = 2**53  # whole numbers beyond are no floats
Value = str | int | float | bool | None
ParameterValues = dict[str, Value]
"""A setting: the value of every parameter that counts there, by name."""
Condition = tuple[tuple[str, tuple[Any, ...]], ...]
"""Names of other parameters, and the values of each with which a parameter counts."""


class Parameter(ABC):
    """What can be set. Base class.

    Attributes:
        when: values of other parameters with which this one counts; empty: always.
    """

    when: Condition

    @property
    def categorical(self) -> bool:
        """Whether its values have no order."""
        return False

    def __repr__(self) -> str:
        given = attrs.asdict(self, recurse=False).items()  # type: ignore[arg-type]
        words = [f"{k}={v!r}" for k, v in given if v is not None and v is not False and v != ()]
        return f"{type(self).__name__}({', '.join(words)})"

    @property
    @abstractmethod
    def levels(self) -> int:
        """How many values can be suggested; 0 for a continuum, and where they lie unevenly."""

    @abstractmethod
    def clean(self, name: str, value: object) -> Value:
        """`value` as it would be suggested: an int given for a float is a float.

        Raises:
            DriftpeakError: naming the parameter and its range.
        """

    @abstractmethod
    def encode(self, name: str, value: object) -> float:
        """Where `value` lies in [0, 1]."""

    @abstractmethod
    def decode(self, place: float) -> Value:
        """The value that can be suggested nearest to `place` in [0, 1]."""

    @property
    def limited(self) -> bool:
        """Whether how far or how fast it moves is limited."""
        return False

    @abstractmethod
    def reach(self, value: Any, elapsed: float, share: float) -> tuple[Any, Any]:
        """The least and the greatest value that can be suggested after another.

        Arguments:
            value: where it is.
            elapsed: time since it was moved there.
            share: of its range, the farthest it may go.
        """

    @property
    @abstractmethod
    def widest_gap(self) -> float:
        """Between neighbours, as a share of the range; 0 for a continuum."""


@attrs.frozen(init=False, repr=False)
class Numeric(Parameter):
    """A number. Base class of `Float` and `Integer`."""

    low: Any
    high: Any
    log: bool
    step: Any
    max_step: float | None
    max_rate: float | None
    when: Condition

    unit: ClassVar[int] = 0  # between neighbours, without a step; 0 for a continuum

    def encode(self, name: str, value: object) -> float:
        number: Any = self.clean(name, value)
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

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
        return self.encode("", self.low + self.unit)  # the first, in the logarithm

    def reach(self, value: Any, elapsed: float, share: float) -> tuple[Any, Any]:
        low, high = self._span(value, elapsed, share)
        apart = self.step or self.unit
        if not apart:
            return low, high
        # what misses a level by rounding reaches it
        first = math.ceil((low - self.low) / apart - ROUNDING)
        last = math.floor((high - self.low) / apart + ROUNDING)
        while first <= last and not self._may_step(value, first):
            first += 1
        while first <= last and not self._may_step(value, last):
            last -= 1
        return (self._level(first), self._level(last)) if first <= last else (value, value)

    def _span(self, value: float, elapsed: float, share: float) -> tuple[float, float]:
        """The numbers in reach; no difference, or ratio, is beyond the limit by rounding."""
        if self.log:
            ratio = math.log(self.high / self.low)
            rate = math.inf if self.max_rate is None else math.log(self.max_rate) * elapsed
            factor = math.exp(min(rate, share * ratio, ratio))
            factor = min(factor, self.max_step or factor)
            low, high = max(value / factor, self.low), min(value * factor, self.high)
            while high / value > factor:
                high = math.nextafter(high, value)
            while value / low > factor:
                low = math.nextafter(low, value)
            return low, high
        farthest = math.inf if self.max_rate is None else self.max_rate * elapsed
        farthest = min(farthest, share * (self.high - self.low), self.max_step or math.inf)
        low, high = max(value - farthest, self.low), min(value + farthest, self.high)
        while high - value > farthest:
            high = math.nextafter(high, value)
        while value - low > farthest:
            low = math.nextafter(low, value)
        return low, high

    def _may_step(self, value: float, number: int) -> bool:
        """Return whether a level is within `max_step` of a value, by the decimals written."""
        if self.max_step is None:
            return True
        here, there = _exact(value), _exact(self._level(number))
        limit, apart = _exact(self.max_step), _exact(self.step or self.unit)
        if self.log:
            return max(here / there, there / here) <= limit
        # from level to level by their numbers: the last one may miss its place by rounding
        own = round((value - self.low) / float(apart))
        if value == self._level(own):
            return abs(number - own) <= max(limit // apart, 1)
        return abs(there - here) <= limit

    def _level(self, number: int) -> Any:
        """The value after so many steps, as it is written by hand: 0.3, not 0.1 + 0.1 + 0.1."""
        if (self.step or self.unit) * number >= self.high - self.low:
            return self.high
        value = Decimal(repr(self.low)) + number * Decimal(repr(self.step or self.unit))
        return min(max(type(self.low)(value), self.low), self.high)


@attrs.frozen(init=False, repr=False)
class Float(Numeric):
    """A real parameter from `low` to `high`, both included.

    Arguments:
        low, high: the range.
        log: whether ratios matter rather than differences, as for rates and penalties.
        step: only low, low + step, ... are suggested; whatever lies in the range can be told.
        max_step: the farthest that a suggestion lies from where the system is before it; with log
            the largest factor.
        max_rate: the same per unit of time since then (a second where times are dates).
        when: values of other parameters with which this one counts, as {"coolant": "oil"} or
            {"stages": [2, 3]}; with others it is no part of a setting.

    Raises:
        DriftpeakError: low >= high, numbers that are not finite or beyond 1e150, a range narrower
            than 1e-150, or log with low below 1e-150; a range that is no whole number of steps, or
            of more than 2**53; step with log; a max_step below the step; limits that are not above
            0, with log 1.
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
        max_rate: float | None = None,
        when: Mapping[str, Any] | None = None,
    ) -> None:
        low, high = finite("low", low), finite("high", high)
        _check_ends(low, high, log, math.ulp(0.0))
        narrowest = low if log else (high / 2 - low / 2) * 2
        if max(-low, high) > LARGEST or narrowest < 1 / LARGEST:
            raise DriftpeakError(
                "a range must lie in [-1e150, 1e150] and be at least 1e-150 wide, with log=True in "
                f"[1e-150, 1e150]; got {low:g} to {high:g}. Choose a larger or smaller unit"
            )
        step = None if step is None else finite("step", step)
        _check_step(low, high, log, step)
        least = 1.0 if log else step or 0.0
        limits = (_limit("max_step", max_step, log, least), _limit("max_rate", max_rate, log))
        self.__attrs_init__(low, high, log, step, *limits, _condition(when))

    def clean(self, name: str, value: object) -> float:
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

    def decode(self, place: float) -> float:
        if self.step is not None:
            return self._level(round(place * (self.levels - 1)))
        if self.log:
            value = self.low * (self.high / self.low) ** place
        else:
            value = self.low + place * (self.high - self.low)
        return float(min(max(value, self.low), self.high))


@attrs.frozen(init=False, repr=False)
class Integer(Numeric):
    """A whole parameter from `low` to `high`, both included; neighbours are alike.

    Arguments:
        low, high: the range.
        log: whether ratios matter rather than differences, as for sizes and counts.
        step: only low, low + step, ... are suggested; whatever lies in the range can be told.
        max_step, max_rate, when: as for `Float`.

    Raises:
        DriftpeakError: low >= high, ends that are not integers, or beyond 2**53, or farther apart;
            log with low below 1; a range that is no whole number of steps; step with log; a
            max_step with which it could never move; limits that are not above 0, with log 1.
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
        max_rate: float | None = None,
        when: Mapping[str, Any] | None = None,
    ) -> None:
        for name, value in {"low": low, "high": high}.items():
            if not whole(value) or abs(int(value)) > MOST:
                raise DriftpeakError(
                    f"{name} must be an integer from -2**53 to 2**53; got {shown(value)}. Count in "
                    "a larger unit, or take a Float"
                )
        low, high = int(low), int(high)
        _check_ends(low, high, log, 1)
        if high - low + 1 > MOST:
            raise DriftpeakError(
                f"a range has at most 2**53 whole numbers; got {low} to {high}. Count in "
                "a larger unit, or take a Float"
            )
        if step is not None and not (whole(step) and 0 < step <= high - low):
            raise DriftpeakError(
                f"step must be an integer above 0 and within the range; got {shown(step)}"
            )
        _check_step(low, high, log, step)
        least = (low + 1) / low if log else step or 1
        limits = (_limit("max_step", max_step, log, least), _limit("max_rate", max_rate, log))
        step = None if step is None else int(step)
        self.__attrs_init__(low, high, log, step, *limits, _condition(when))

    def clean(self, name: str, value: object) -> int:
        if not whole(value) or not self.low <= value <= self.high:
            raise DriftpeakError(
                f"parameter {name!r} must be an integer from {self.low} to {self.high}; "
                f"got {shown(value)}"
            )
        return int(value)

    def decode(self, place: float) -> int:
        if self.log:
            value = round(self.low * (self.high / self.low) ** place)
            return min(max(value, self.low), self.high)
        return self.low + round(place * (self.levels - 1)) * (self.step or 1)


@attrs.frozen(init=False, repr=False)
class Categorical(Parameter):
    """One of several values: strings, finite numbers, booleans or None.

    Arguments:
        choices: the values.
        ordered: whether neighbours are alike, as "low", "medium" and "high" are.
        when: as for `Float`.

    Raises:
        DriftpeakError: fewer than two choices, choices of another type, numbers that are not
            finite, text that is no Unicode, or the same choice twice.
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
                f"a categorical parameter needs at least 2 choices; got {len(choices)}"
            )
        for choice in choices:
            if not isinstance(choice, Value):
                raise DriftpeakError(
                    f"choices must be strings, numbers, booleans or None; got {shown(choice)}"
                )
            if isinstance(choice, str):
                check_text("a choice", choice)
            elif choice is not None:
                finite("a choice", choice + 0)  # a truth value as a number
        if len({_key(choice) for choice in choices}) < len(choices):
            raise DriftpeakError(f"choices must be distinct; got {shown(choices)}")
        if not isinstance(ordered, bool):
            raise DriftpeakError(f"ordered must be True or False; got {shown(ordered)}")
        self.__attrs_init__(choices, ordered, _condition(when))

    @property
    def categorical(self) -> bool:
        return not self.ordered

    @property
    def levels(self) -> int:
        return len(self.choices)

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
    """True or False.

    Arguments:
        when: as for `Float`.
    """

    @checked
    def __init__(self, *, when: Mapping[str, Any] | None = None) -> None:
        Categorical.__init__(self, False, True, when=when)


def _exact(number: float) -> Fraction:
    """Return the decimal number that Python shows."""
    return Fraction(Decimal(repr(number)))


def check_text(what: str, text: str) -> None:
    """Refuse what no file and no database can hold: NUL, and surrogates that are no character.

    Raises:
        DriftpeakError: naming `what` it is.
    """
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise DriftpeakError(
            f"{what} must be text without NUL and lone surrogates; got {ascii(text)[:60]}"
        )


def _check_ends(low: float, high: float, log: object, least: float) -> None:
    if not isinstance(log, bool):
        raise DriftpeakError(f"log must be True or False; got {shown(log)}")
    if low >= high:
        raise DriftpeakError(f"low must be below high; got {low:g} and {high:g}")
    if log and low < least:
        words = "at least 1" if least == 1 else "above 0"
        raise DriftpeakError(f"with log=True low must be {words}; got {low:g}")


def _check_step(low: float, high: float, log: bool, step: float | None) -> None:
    """Refuse steps that do not lead from one end of a range to the other."""
    if step is None:
        return
    if log:
        raise DriftpeakError("with log=True there is no step: choose one of them")
    if step <= 0 or step > (high - low) * (1 + ROUNDING):
        raise DriftpeakError(f"step must lie above 0 and within the range; got {shown(step)}")
    count = (high - low) / step
    if count >= MOST:
        raise DriftpeakError(f"a range has at most 2**53 steps; got {count:.3g}: leave step out")
    if abs(count - round(count)) > ROUNDING * count:
        below = low + math.floor(count) * step
        raise DriftpeakError(
            f"the range must be a whole number of steps: from {low:g} steps of {step:g} lead to "
            f"{below:g} and {below + step:g}, not to {high:g}"
        )


def _limit(name: str, given: object, log: bool, least: float = 0.0) -> float | None:
    """How far, or how fast, a parameter may move."""
    if given is None:
        return None
    number = finite(name, given)
    if number <= (1.0 if log else 0.0):
        what = "with log=True a factor above 1" if log else "above 0"
        raise DriftpeakError(f"{name} must be {what}; got {shown(given)}")
    if number < least * (1 - ROUNDING):
        raise DriftpeakError(
            f"{name} must be at least {least:g}, or nothing else is in reach; got {shown(given)}"
        )
    return number


def _condition(when: Mapping[str, Any] | None) -> Condition:
    """With which values of which others; whether there are such is the box's to know."""
    if when is None:
        return ()
    if not when:
        raise DriftpeakError(
            f'when maps names to values, as in {{"coolant": "oil"}}; got {shown(when)}'
        )
    found = []
    for name, values in when.items():
        each = tuple(values) if isinstance(values, list | tuple) else (values,)
        if not each or not all(isinstance(v, Value) for v in each):
            raise DriftpeakError(
                f"when maps names to a value, or a list of them; got {shown({name: values})}"
            )
        found.append((name, each))
    return tuple(found)


def same(one: Value, other: Value) -> bool:
    """Whether two values are the same choice: True == 1, but is another."""
    return _key(one) == _key(other)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _key(choice: Value) -> tuple[bool, Value]:
    return isinstance(choice, bool), choice
