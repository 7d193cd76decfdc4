"""A log of choices and their rewards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DataError, finite_array, shown

LARGEST = 1e100
"""Largest size of a reward, a choice or a time, so that squares do not overflow."""
LEVELS = 12
"""Largest number of different numbers that count as separate choices; more form a range."""
MOST_NAMES = 200
LEAST_STEPS = 8


@checked
@dataclass(frozen=True, eq=False)
class ChoiceLog:
    """What was chosen at each step and what it yielded, in order of time.

    Attributes:
        choices: the choices of n steps, all numbers or all strings.
        rewards: the rewards, shape `(n,)`.
        times: numbers or `datetime64`, shape `(n,)`, not decreasing; by default the steps 1 to n.
        propensities: probability with which each choice was drawn, in (0, 1], shape `(n,)`. If the
            choices are numbers with more than 12 different values, probability densities above 0,
            per unit of the choice. None if not known.
        contexts: quantities that were known before each choice, by name: n numbers or n strings.
        choice_name, reward_name, time_name: names for texts and figures.
        notes: descriptions of changes to the data.

    Raises:
        DataError: there are fewer than 8 steps; the lengths differ; a number is not finite or
            exceeds 1e100; a propensity is outside its range; the times decrease; all choices are
            equal; or there are more than 200 different strings.
    """

    choices: Any
    rewards: Any
    times: Any = None
    propensities: Any = None
    contexts: Mapping[str, Any] = field(default_factory=dict)
    choice_name: str = "choice"
    reward_name: str = "reward"
    time_name: str = "step"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rewards = _numbers("rewards", self.rewards)
        choices = _values("choices", self.choices, len(rewards))
        if len(rewards) < LEAST_STEPS:
            raise DataError(
                f"a log must have at least {LEAST_STEPS} steps; got {len(rewards)}. Collect more."
            )
        if len(set(choices)) == 1:
            raise DataError(
                f"choices must differ between steps; got {shown(choices[0])} in all "
                f"{len(rewards)}. Nothing can be learned about other choices: try others for some "
                "steps, and log them."
            )
        if isinstance(choices[0], str) and len(set(choices)) > MOST_NAMES:
            raise DataError(
                f"choices must have at most {MOST_NAMES} different texts; got {len(set(choices))}. "
                "Name a column with the choices, not with identifiers of steps."
            )
        propensities = self.propensities
        if propensities is not None:
            propensities = _numbers("propensities", propensities, len(rewards))
            _check_propensities(propensities, has_density(choices))
        contexts = {
            name: _values(f"contexts[{name!r}]", values, len(rewards))
            for name, values in self.contexts.items()
        }
        changed = {
            "choices": choices,
            "rewards": rewards,
            "times": _times(self.times, len(rewards)),
            "propensities": propensities,
            "contexts": contexts,
        }
        for name, value in changed.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def numeric(self) -> bool:
        """Whether the choices are numbers."""
        return not isinstance(self.choices[0], str)

    @property
    def dated(self) -> bool:
        """Whether the times are dates."""
        return bool(np.issubdtype(self.times.dtype, np.datetime64))

    @property
    def elapsed(self) -> npt.NDArray[np.float64]:
        """Times since the last step, at most 0, shape `(n,)`; in seconds for dates."""
        apart = self.times - self.times[-1]
        return apart / np.timedelta64(1, "s") if self.dated else apart


def has_density(choices: tuple[float | str, ...]) -> bool:
    """Return whether choices count as continuous, so that their propensities are densities."""
    return not isinstance(choices[0], str) and len(set(choices)) > LEVELS


def _numbers(name: str, given: Any, count: int | None = None) -> npt.NDArray[np.float64]:
    try:
        values = finite_array(name, given, 1)
    except ValueError as error:
        raise DataError(str(error)) from None
    if count is not None and len(values) != count:
        raise DataError(f"{name} must have one number per reward, {count}; got {len(values)}")
    if len(values) and np.abs(values).max() > LARGEST:
        raise DataError(f"{name} must lie in [-1e100, 1e100]; got {np.abs(values).max():g}")
    return values


def _values(name: str, given: Any, count: int) -> tuple[float | str, ...]:
    """Return numbers as floats, or strings."""
    try:
        values = list(given)
    except TypeError:
        raise DataError(f"{name} must be numbers or strings; got {shown(given)}") from None
    if values and all(isinstance(value, str) for value in values):
        if len(values) != count:
            raise DataError(f"{name} must have one value per reward, {count}; got {len(values)}")
        return tuple(map(str, values))
    if any(isinstance(value, str) for value in values):
        raise DataError(f"{name} must be all numbers or all strings; got both")
    return tuple(_numbers(name, given if isinstance(given, np.ndarray) else values, count).tolist())


def _times(given: Any, count: int) -> npt.NDArray[Any]:
    if given is None:
        return np.arange(1.0, count + 1)
    try:
        times = np.asarray(given)
    except ValueError:
        raise DataError(
            f"times must be {count} numbers or dates; got lists of different lengths"
        ) from None
    if np.issubdtype(times.dtype, np.datetime64):
        if times.shape != (count,) or np.isnat(times).any():
            raise DataError(f"times must be {count} dates; got shape {times.shape} or missing ones")
        times = times.astype("datetime64[us]")
    else:
        times = _numbers("times", given, count)
    back = np.flatnonzero(np.diff(times) < np.zeros(1, np.diff(times).dtype))
    if back.size:
        raise DataError(
            f"times must not decrease; got {times[back[0] + 1]} after {times[back[0]]}. Sort the "
            "steps by time."
        )
    return times


def _check_propensities(propensities: npt.NDArray[np.float64], density: bool) -> None:
    wrong = (propensities <= 0) | (not density and propensities > 1)
    if np.any(wrong):
        accepted = "densities above 0" if density else "probabilities in (0, 1]"
        place = int(np.argmax(wrong))
        raise DataError(
            f"propensities must be {accepted}; got {propensities[place]:g} at index [{place}]. "
            "Give the probability with which the choice of the step was drawn, or leave "
            "propensities out."
        )
