"""Contexts, one for each step of a run, and cells: every point in every context."""

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
"""The name of a context variable that is given without a name."""
MOST_CELLS = 100_000


@frozen(eq=False, init=False)
class Contexts:
    """Observed context variables at each step of a run, known before the policy decides.

    A *kind* is a distinct context; a *cell* is a point in a kind. A policy in contexts
    (`InContext`) models a function on the cells. Observations in one context therefore inform the
    posterior in the others, to the degree that the kernel correlates them.

    Arguments:
        contexts: one context for each step: a number, a string or a boolean; or a mapping from
            names to numbers, strings or booleans, with the same names at every step.

    Attributes:
        kinds: the distinct contexts, in the order of their first occurrence.
        numbers: the index of the kind at each step, shape `(steps,)`.
        labels: one text for each kind, such as "weekday=Mo, load=0.3".
        coordinates: of each kind, shape `(kinds, d)`. Numbers are kept; strings and booleans are
            one-hot encoded so that two choices are at distance 1.

    Raises:
        DriftpeakError: no steps, names that differ from the names at the first step, a value that
            is not a number, string or boolean, numbers that are not finite, or a name that has
            numbers at some steps and other values at others.

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
    def __init__(self, contexts: "Sequence[Any] | np.ndarray[Any, np.dtype[Any]]") -> None:
        if isinstance(contexts, str | bytes | Mapping) or not (
            isinstance(contexts, Sequence)
            or (isinstance(contexts, np.ndarray) and contexts.ndim > 0)
        ):
            raise DriftpeakError(
                f"contexts must be a list with one context for each step; got {shown(contexts)}"
            )
        steps = [_parts(context, step) for step, context in enumerate(contexts, start=1)]
        if not steps:
            raise DriftpeakError("contexts must have at least one step; got none")
        names = list(steps[0])
        for step, context in enumerate(steps, start=1):
            if context.keys() != steps[0].keys():
                raise DriftpeakError(
                    "a context must have the same names at every step; got "
                    f"{', '.join(context) or 'none'} at step {step} and "
                    f"{', '.join(names) or 'none'} at step 1"
                )
            for name, value in context.items():
                if isinstance(value, float) != isinstance(steps[0][name], float):
                    raise DriftpeakError(
                        f"{name!r} of the contexts must be a number at every step or at none; got "
                        f"{shown(steps[0][name])} at step 1 and {shown(value)} at step {step}"
                    )
        if not names:
            raise DriftpeakError("a context must have at least one name, as in {'load': 0.3}")
        order: dict[tuple[Any, ...], int] = {}
        numbers = [
            order.setdefault(tuple(context[name] for name in names), len(order))
            for context in steps
        ]
        columns = [_coordinates([kind[i] for kind in order]) for i in range(len(names))]
        kinds = tuple(dict(zip(names, kind, strict=True)) for kind in order)
        self.__attrs_init__(
            kinds, np.array(numbers), tuple(map(_label, kinds)), np.concatenate(columns, axis=1)
        )

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.numbers)

    def after(self, steps: int) -> "Contexts":
        """Return the contexts after the first `steps` steps, with unchanged kinds and cells.

        Raises:
            DriftpeakError: no steps remain.
        """
        if not 0 <= steps < len(self):
            raise DriftpeakError(
                f"steps must be in 0..{len(self) - 1}, so that contexts remain; got {steps}. Give "
                "contexts for later steps"
            )
        rest = object.__new__(Contexts)
        rest.__attrs_init__(self.kinds, self.numbers[steps:], self.labels, self.coordinates)
        return rest

    def cells(self, domain: Domain) -> Arms:
        """Return every point of `domain` in every kind: kind after kind, n points each.

        The coordinates of a cell are the coordinates of the point, followed by those of the kind.
        If `domain` has no coordinates, the cells have none either; their covariance is then a
        `driftpeak.gp.kernels.Table`.

        Raises:
            DriftpeakError: more than 100,000 cells.
        """
        count, kinds = len(domain), len(self.kinds)
        if count * kinds > MOST_CELLS:
            raise DriftpeakError(
                f"points times contexts must be at most {MOST_CELLS:,} cells; got {count:,} points "
                f"in {kinds:,} contexts, {count * kinds:,} cells. Round the contexts, so that "
                "fewer are distinct"
            )
        names = [f"{name} ({label})" for label in self.labels for name in domain.names]
        if not domain.has_coordinates:
            return Arms(count * kinds, names)
        points = np.tile(domain.points, (kinds, 1))
        return Arms(np.hstack([points, np.repeat(self.coordinates, count, axis=0)]), names)


def check_room(numbers: Any, steps: int) -> None:
    """Raise DriftpeakError if a run of `steps` steps is longer than its contexts."""
    if steps > len(numbers):
        raise DriftpeakError(
            f"the run must have at most {len(numbers):,} steps, one for each context; got {steps:,}"
        )


def check_cells(what: str, points: int, kinds: int, part: str) -> None:
    """Raise DriftpeakError if the number of points is not that of the cells of at least two points.

    Arguments:
        what: the object that has the points, such as "the policy".
        part: its part that must be built on the cells, such as "its prior".
    """
    if points % kinds or points < 2 * kinds:
        raise DriftpeakError(
            f"the points of {what} must be cells of {kinds:,} contexts, 2 points or more in each; "
            f"got {points:,} points. Build {part} on contexts.cells(domain)"
        )


def _parts(context: Any, step: int) -> dict[str, Any]:
    given = context if isinstance(context, Mapping) else {ALONE: context}
    parts: dict[str, Any] = {}
    for name, value in given.items():
        value = value.item() if isinstance(value, np.generic) else value
        plain = isinstance(value, str | bool | int | float)
        if not isinstance(name, str) or not plain:
            raise DriftpeakError(
                f"{shown(name)} of the context at step {step} must be a number, a string, True or "
                f"False, with a name that is a string; got {shown(value)}"
            )
        if not isinstance(value, str | bool):
            value = float(value) if abs(value) <= 1e100 else math.inf
            if not math.isfinite(value):  # NaN, too
                raise DriftpeakError(
                    f"{name!r} of the context at step {step} must be a finite number of at most "
                    f"1e100; got {shown(given[name])}"
                )
        parts[name] = value + 0.0 if isinstance(value, float) else value  # no -0
    return parts


def _coordinates(values: list[Any]) -> Points:
    """Return the coordinates of one part of every kind: numbers as they are, choices one-hot."""
    if isinstance(values[0], float):
        return np.array(values)[:, None]
    choices = list(dict.fromkeys(values))
    return np.eye(len(choices))[[choices.index(value) for value in values]] / math.sqrt(2)


def _label(kind: Mapping[str, Any]) -> str:
    written = {n: f"{v:g}" if isinstance(v, float) else str(v) for n, v in kind.items()}
    if list(written) == [ALONE]:
        return written[ALONE]
    return ", ".join(f"{name}={value}" for name, value in written.items())
