"""Errors and warnings of the library, and argument checks that raise them."""

from __future__ import annotations

import difflib
import math
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from numbers import Integral, Real
from typing import ClassVar, TypeGuard, TypeVar, cast

import numpy as np
import numpy.typing as npt

Choice = TypeVar("Choice", bound=str)

LARGEST_WHOLE = 2**53  # above it, floats do not represent all integers
LARGEST_SEED = 2**63 - 1  # the largest that JAX accepts
LARGEST_INTEGER = 10**18  # for arguments: sums and small products still fit 64 bits
MOST_STEPS = 100_000_000  # in one run: arrays hold a number for each step
NOT_USERS = {"driftpeak", "beartype", "contextlib", "equinox", "functools", "jax", "jaxtyping"}
"""Packages whose frames are skipped when a warning looks for the user's line."""


class DriftpeakError(ValueError):
    """An argument or a request is invalid. Base class of all errors of this library.

    The message is one line. It names the argument, the accepted range and, where it is not obvious,
    the remedy. Subclasses name the cases that programs may want to catch.

    Attributes:
        code: a stable name of the error for programs. The service sends it with each problem.
        exit_code: the exit code of the command line.

    Example:
        >>> import driftpeak as dp
        >>> dp.Float(2, 1)
        Traceback (most recent call last):
        driftpeak._core.errors.DriftpeakError: low must be below high; got 2 and 1
    """

    code: ClassVar[str] = "refused"
    exit_code: ClassVar[int] = 2


class StorageError(DriftpeakError):
    """The storage cannot be read or written now. The request itself is valid."""

    code = "storage"
    exit_code = 3


class StorageLockedError(StorageError):
    """Another process holds the lock of the storage. Try again later."""

    code = "storage-locked"
    exit_code = 4


class StorageCorruptError(StorageError):
    """Stored data fail a checksum or cannot be decoded. Restore them from a copy."""

    code = "storage-corrupt"
    exit_code = 5


class StudyNotFoundError(DriftpeakError):
    """The storage holds no study of this name."""

    code = "unknown-study"
    exit_code = 6


class StudyMismatchError(DriftpeakError):
    """The stored study has another space, policy, seed or direction than the arguments."""

    code = "another-study"
    exit_code = 7


class UnknownSuggestionError(DriftpeakError):
    """No pending suggestion has this id: it was never made, or it is already answered."""

    code = "unknown-suggestion"
    exit_code = 8


class InfeasibleError(DriftpeakError):
    """No setting meets all constraints, movement limits and fixed values."""

    code = "infeasible"
    exit_code = 9


class NoObservationsError(DriftpeakError):
    """The result needs observations, and there are none or too few."""

    code = "no-observations"
    exit_code = 10


class NotConvergedError(DriftpeakError):
    """A numerical method did not converge, or lost its precision."""

    code = "not-converged"
    exit_code = 11


class DataError(DriftpeakError):
    """A table or a recording cannot be read, or its contents are invalid."""

    code = "invalid-data"
    exit_code = 12


class UnsupportedError(DriftpeakError):
    """The policy, space or storage does not support this operation."""

    code = "unsupported"
    exit_code = 13


class DriftpeakWarning(UserWarning):
    """A condition that may be intended but that the user should know. The message is one line."""


def warn(message: str) -> None:
    """Issue a `DriftpeakWarning` that points to the user's line.

    The user's line is in the innermost frame outside this package and the libraries that call back.
    """
    level, frame = 1, sys._getframe()
    while frame.f_globals.get("__name__", "").partition(".")[0] in NOT_USERS:
        if frame.f_back is None:  # a thread of this package
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, DriftpeakWarning, stacklevel=level)


def finite(name: str, value: object) -> float:
    """Return `value` as a float.

    Raises:
        DriftpeakError: if it is not a finite number.
    """
    return _finite(name, value, "be a finite number")


def stored_number(name: str, value: object) -> float:
    """Return `value`, read from a store, as a float.

    Raises:
        DriftpeakError: if it is not a finite number, or is an integer that a float cannot represent
            exactly.
    """
    number = finite(name, value)
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        raise DriftpeakError(
            f"{name} must be stored as a float, or be an integer between -2**53 and 2**53; got "
            f"{shown(value)}"
        )
    return number


def positive(name: str, value: object) -> float:
    """Return `value` as a float.

    Raises:
        DriftpeakError: if it is not a finite number above 0.
    """
    return _finite(name, value, "be a finite number above 0", lambda number: number > 0)


def unit_interval(
    name: str, value: object, *, low_open: bool = False, high_open: bool = False
) -> float:
    """Return `value` as a float.

    Raises:
        DriftpeakError: if it is not a number between 0 and 1; `low_open` and `high_open` exclude
            0 and 1 themselves.
    """
    accepted = f"lie in {'(' if low_open else '['}0, 1{')' if high_open else ']'}"
    low = math.nextafter(0, 1) if low_open else 0
    high = math.nextafter(1, 0) if high_open else 1
    return _finite(name, value, accepted, lambda number: low <= number <= high)


def at_least(name: str, value: object, minimum: float) -> float:
    """Return `value` as a float.

    Raises:
        DriftpeakError: if it is not a finite number of at least `minimum`.
    """
    accepted = f"be a finite number of at least {minimum}"
    return _finite(name, value, accepted, lambda number: number >= minimum)


def at_least_integer(name: str, value: object, minimum: int, maximum: int = LARGEST_INTEGER) -> int:
    """Return `value` as an int; a float is refused even if it is whole.

    Raises:
        DriftpeakError: if it is not an integer of at least `minimum` and at most `maximum`.
    """
    if not whole(value) or not minimum <= value <= maximum:
        stated = maximum < MOST_STEPS or (whole(value) and value > maximum)
        most = f" and at most {maximum:,}" if stated else ""
        raise rejected(name, value, f"be an integer of at least {minimum}{most}")
    return int(value)


def finite_array(name: str, value: object, ndim: int) -> npt.NDArray[np.float64]:
    """Return `value` as a float64 array, without a copy if it is one already.

    Raises:
        DriftpeakError: if an entry is not a finite number, or the array does not have `ndim`
            dimensions.
    """
    accepted = f"{name} must be a {ndim}-dimensional array of finite numbers"
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise DriftpeakError(
            f"{accepted}; got {shown(value)}. Rows must have equal lengths."
        ) from None
    # Converting at once would let strings, booleans and None through as numbers.
    if array.dtype.kind not in "iuf":
        raise DriftpeakError(f"{accepted}; got elements of type {array.dtype}")
    if array.ndim != ndim:
        raise DriftpeakError(f"{accepted}; got shape {array.shape}")
    array = array.astype(np.float64, copy=False)
    finite = np.isfinite(array)
    if not finite.all():
        place = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = f" at index [{', '.join(map(str, place))}]" if place else ""
        raise DriftpeakError(f"{accepted}; got {array[place]}{where}")
    return array


def numbers(name: str, value: object) -> npt.NDArray[np.float64]:
    """Return `value` as a float64 array of any shape, which may hold infinities and NaN.

    Raises:
        DriftpeakError: if an entry is not a number.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise DriftpeakError(f"{name} must be numbers; got rows that differ in length") from None
    if array.dtype.kind not in "iuf":
        raise DriftpeakError(f"{name} must be numbers; got {shown(value)}")
    return array.astype(np.float64, copy=False)


def increasing(name: str, value: object) -> npt.NDArray[np.float64]:
    """Return `value` as an array of strictly increasing numbers, shape `(n,)`.

    Raises:
        DriftpeakError: if the numbers do not increase, or are not a list of finite numbers.
    """
    numbers = finite_array(name, value, 1)
    if (np.diff(numbers) <= 0).any():
        raise DriftpeakError(f"{name} must increase; got {list(map(float, numbers))}")
    return numbers


def indices(name: str, value: object, count: int) -> npt.NDArray[np.int_]:
    """Return a list of integers from 0 to `count - 1` as an array; it may be empty.

    Raises:
        DriftpeakError: the value is something else.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.asarray(value, dtype=object)
    whole = array.ndim == 1 and (array.dtype.kind in "iu" or array.size == 0)
    array = array.astype(int) if whole else array
    if not whole or not ((array >= 0) & (array < count)).all():
        raise DriftpeakError(
            f"{name} must be a list of integers in 0..{count - 1}; got {shown(array.tolist())}"
        )
    return array


def one_of(name: str, value: object, choices: Sequence[Choice]) -> Choice:
    """Return `value`, one of `choices`.

    Raises:
        DriftpeakError: the value is not one of them; the message names the choices.
    """
    if value not in choices:
        raise DriftpeakError(
            f"{name} must be one of {', '.join(choices)}; got {shown(value)}."
            + nearest(str(value), choices)
        )
    return cast(Choice, value)


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" with the choice closest to `word`, or "" if none is close."""
    by_folded = {choice.casefold(): choice for choice in choices}
    matches = difflib.get_close_matches(word.casefold(), by_folded, n=1)
    return f" Did you mean {by_folded[matches[0]]!r}?" if matches else ""


def _finite(
    name: str, value: object, accepted: str, inside: Callable[[float], bool] = math.isfinite
) -> float:
    """Return `value` as a float.

    Raises:
        DriftpeakError: if it is not a finite number, or not `inside` the accepted range.
    """
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, Real):
        raise rejected(name, value, accepted)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and inside(number)):
        raise rejected(name, value, accepted)
    return number


def whole(value: object) -> TypeGuard[int]:
    """Return whether `value` is a Python or NumPy integer; booleans and durations are not."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)


def shown(value: object) -> str:
    """Return a short text of `value` on one line, for messages."""
    try:
        # str() omits numpy's type name; repr() keeps the quotes that distinguish '1' from 1
        text = str(value) if isinstance(value, Real | datetime) else repr(value)
    except Exception:  # integers with thousands of digits, and objects with a broken repr
        text = f"a {type(value).__name__} that cannot be shown"
    if len(text.split(" ")[0]) > 57:  # textwrap.shorten would drop the whole word
        return ascii(text)[1:-1][:57] + "..."
    return textwrap.shorten(text, 60, placeholder="...") or ascii(text)[:60]


def rejected(name: str, value: object, accepted: str, remedy: str = "") -> DriftpeakError:
    """Return the error of an argument: what it must do or be, what it is, and the remedy."""
    return DriftpeakError(f"{name} must {accepted}; got {shown(value)}{remedy and f'. {remedy}'}")


def error_classes() -> dict[str, type[DriftpeakError]]:
    """Return the error classes of this library by code."""
    return dict(_CLASSES)


_CLASSES = {
    error.code: error
    for error in list(globals().values())
    if isinstance(error, type) and issubclass(error, DriftpeakError)
}
