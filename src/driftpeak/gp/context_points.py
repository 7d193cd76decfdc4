"""Contexts, one for each step of a run, and the cells: every point in every context."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown
from driftpeak._core.types import Points
from driftpeak.gp.domains import Arms, Domain

ALONE = "context"
"""The name of a part that is given without one."""
MOST_CELLS = 100_000


@frozen(eq=False, init=False)
class Contexts:
    """What the world says at each step of a run, before a policy decides.

    A *kind* is a context that occurs; a *cell* is a point in a kind. A policy in contexts
    (`InContext`) believes in a function of the cells, so that what it sees in one context tells of
    the others as far as its kernel says.

    Arguments:
        said: one for each step: a number, a text or a boolean; or a mapping of such by name, the
            same names at every step.

    Attributes:
        kinds: the contexts that occur, each once, in the order in which they first do.
        numbers: which of them it is at each step, shape `(steps,)`.
        labels: of the kinds, as "weekday=Mo, load=0.3".
        coordinates: of the kinds, shape `(kinds, d)`: numbers as they are; of texts and booleans
            one for each choice, so that two choices are at distance 1.

    Raises:
        DriftpeakError: no steps, other names at one step than at the first, a part that is neither
            number, text nor boolean, numbers that are not finite, numbers beside texts.

    Example:
        >>> import driftpeak as dp
        >>> contexts = dp.Contexts([{"rain": True, "load": 0.2}, {"rain": False, "load": 0.2}] * 15)
        >>> prices = dp.Arms([9.9, 11.9, 13.9])
        >>> cells = contexts.cells(prices)
        >>> len(cells)
        6
        >>> prior = dp.Prior(cells, dp.SE(lengthscale=[2.0, 1.0, 1.0, 0.5]), noise_variance=0.01)
        >>> policy = dp.InContext(dp.TVGPUCB(prior, drift=0.02), contexts)
        >>> policy.points
        3
    """

    kinds: tuple[Mapping[str, Any], ...] = field(repr=False)
    numbers: np.ndarray[Any, np.dtype[np.intp]] = field(repr=False)
    labels: tuple[str, ...]
    coordinates: Points = field(repr=False)

    @checked
    def __init__(self, said: "Sequence[Any] | np.ndarray[Any, np.dtype[Any]]") -> None:
        if isinstance(said, str | bytes | Mapping) or not (
            isinstance(said, Sequence) or (isinstance(said, np.ndarray) and said.ndim > 0)
        ):
            raise DriftpeakError(
                f"contexts must be a list with one for each step; got {shown(said)}"
            )
        steps = [_parts(one, step) for step, one in enumerate(said, start=1)]
        if not steps:
            raise DriftpeakError("contexts must have at least one step; got none")
        names = list(steps[0])
        for step, one in enumerate(steps, start=1):
            if one.keys() != steps[0].keys():
                raise DriftpeakError(
                    f"the context at step {step} has the parts {', '.join(one) or 'none'}, the "
                    f"first {', '.join(names) or 'none'}; give the same at every step"
                )
            for name, value in one.items():
                if isinstance(value, float) != isinstance(steps[0][name], float):
                    raise DriftpeakError(
                        f"{name!r} of the contexts is {shown(steps[0][name])} at step 1 and "
                        f"{shown(value)} at step {step}; write all as numbers or none"
                    )
        if not names:
            raise DriftpeakError("a context needs a part, as in {'load': 0.3}")
        order: dict[tuple[Any, ...], int] = {}
        numbers = [
            order.setdefault(tuple(one[name] for name in names), len(order)) for one in steps
        ]
        columns = [_coordinates([kind[i] for kind in order]) for i in range(len(names))]
        kinds = tuple(dict(zip(names, kind, strict=True)) for kind in order)
        self.__attrs_init__(
            kinds, np.array(numbers), tuple(map(_label, kinds)), np.concatenate(columns, axis=1)
        )

    def __len__(self) -> int:
        """The number of steps."""
        return len(self.numbers)

    def after(self, steps: int) -> "Contexts":
        """Those of the steps after so many, with the same kinds and cells.

        Raises:
            DriftpeakError: there are none.
        """
        if not 0 <= steps < len(self):
            raise DriftpeakError(f"there are contexts for {len(self)} steps: none after {steps}")
        rest = object.__new__(Contexts)
        rest.__attrs_init__(self.kinds, self.numbers[steps:], self.labels, self.coordinates)
        return rest

    def cells(self, domain: Domain) -> Arms:
        """Every point of `domain` in every kind: kind after kind, n points each.

        Their coordinates are those of the point and behind them those of the kind; without any, if
        `domain` has none: their covariance is then a `driftpeak.gp.kernels.Table`.

        Raises:
            DriftpeakError: more than 100,000 cells.
        """
        count, kinds = len(domain), len(self.kinds)
        if count * kinds > MOST_CELLS:
            raise DriftpeakError(
                f"{count:,} points in {kinds:,} contexts are {count * kinds:,} cells, and at most "
                f"{MOST_CELLS:,} are accepted; round the contexts, so that there are fewer"
            )
        names = [f"{name} ({label})" for label in self.labels for name in domain.names]
        if not domain.has_coordinates:
            return Arms(count * kinds, names)
        points = np.tile(domain.points, (kinds, 1))
        return Arms(np.hstack([points, np.repeat(self.coordinates, count, axis=0)]), names)


def check_room(numbers: Any, steps: int) -> None:
    """Raise DriftpeakError if a run is longer than its contexts, given as their numbers."""
    if steps > len(numbers):
        raise DriftpeakError(
            f"there are contexts for {len(numbers):,} steps, and the run has {steps:,}"
        )


def check_cells(what: str, points: int, kinds: int, part: str) -> None:
    """Raise DriftpeakError if so many points are no cells, naming whose, and what to make of them.

    Arguments:
        what: has the points, as "the policy".
        part: of it, is to be made on the cells, as "its prior".
    """
    if points % kinds or points < 2 * kinds:
        raise DriftpeakError(
            f"{what} has {points:,} points, which are no cells of two points or more in {kinds:,} "
            f"contexts: make {part} on contexts.cells(domain)"
        )


def _parts(one: Any, step: int) -> dict[str, Any]:
    given = one if isinstance(one, Mapping) else {ALONE: one}
    found: dict[str, Any] = {}
    for name, value in given.items():
        value = value.item() if isinstance(value, np.generic) else value
        plain = isinstance(value, str | bool | int | float)
        if not isinstance(name, str) or not plain:
            raise DriftpeakError(
                f"{shown(name)} of the context at step {step} must be a number, a text, True or "
                f"False, by a name that is a text; got {shown(value)}"
            )
        if not isinstance(value, str | bool):
            value = float(value) if abs(value) <= 1e100 else math.inf
            if not math.isfinite(value):  # NaN, too
                raise DriftpeakError(
                    f"{name!r} of the context at step {step} must be a finite number of at most "
                    f"1e100; got {shown(given[name])}"
                )
        found[name] = value + 0.0 if isinstance(value, float) else value  # no -0
    return found


def _coordinates(values: list[Any]) -> Points:
    """Of one part of every kind: numbers as they are, of choices one each."""
    if isinstance(values[0], float):
        return np.array(values)[:, None]
    choices = list(dict.fromkeys(values))
    return np.eye(len(choices))[[choices.index(value) for value in values]] / math.sqrt(2)


def _label(kind: Mapping[str, Any]) -> str:
    written = {n: f"{v:g}" if isinstance(v, float) else str(v) for n, v in kind.items()}
    if list(written) == [ALONE]:
        return written[ALONE]
    return ", ".join(f"{name}={value}" for name, value in written.items())
