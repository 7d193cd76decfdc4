"""Finite sets of candidate points: `Arms` (listed one by one) and `Grid` (a regular lattice)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    LARGEST_SEED,
    DriftpeakError,
    at_least_integer,
    finite_array,
    shown,
)
from driftpeak._core.types import Points, Vector
from driftpeak.gp.contexts import HasContext

MOST = 10_000_000  # largest number of points of a domain, all of which are listed


@frozen(eq=False, init=False)
class Arms(HasContext):
    """A list of candidates, with coordinates or without.

    Arguments:
        points: coordinates, shape `(n, d)` or `(n,)` for one dimension; or an integer n for n arms
            that have no coordinates (their covariance then comes from
            `driftpeak.gp.kernels.Table`).
        names: n distinct names; "0", "1", ... by default.

    Raises:
        DriftpeakError: fewer than two arms, coordinates that are not finite, or names that are not
            distinct or not one for each arm.

    Example:
        >>> import driftpeak as dp
        >>> len(dp.Arms([9.9, 11.9, 13.9], names=["low", "middle", "high"]))
        3
    """

    points: Points
    names: tuple[str, ...]
    has_coordinates: bool

    @checked
    def __init__(
        self,
        points: int | np.integer[Any] | Sequence[Any] | np.ndarray[Any, np.dtype[Any]],
        names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(points, int | np.integer):
            count = at_least_integer("number of arms", points, 2)
            _check_room("points", count)
            coordinates = np.arange(count, dtype=np.float64)[:, None]
        else:
            try:
                given = np.asarray(points)
            except ValueError:
                raise DriftpeakError(
                    "points must all have the same number of coordinates"
                ) from None
            coordinates = finite_array("points", given[:, None] if given.ndim == 1 else given, 2)
            if len(coordinates) < 2:
                raise DriftpeakError(f"a domain must have at least 2 arms; got {len(coordinates)}")
            if coordinates.shape[1] == 0:
                raise DriftpeakError("points must have at least 1 coordinate; got none")
        if names is not None and (
            isinstance(names, str | bytes)
            or not isinstance(names, Sequence | np.ndarray)
            or (isinstance(names, np.ndarray) and names.ndim == 0)
        ):
            raise DriftpeakError(f"names must be a sequence of strings; got {shown(names)}")
        labels = tuple(map(str, range(len(coordinates)) if names is None else names))
        if len(labels) != len(coordinates):
            raise DriftpeakError(
                f"names must be {len(coordinates)}, one for each arm; got {len(labels)}"
            )
        if len(set(labels)) != len(labels):
            twice = next(name for name in labels if labels.count(name) > 1)
            raise DriftpeakError(f"arm names must be distinct; {twice!r} occurs more than once")
        self.__attrs_init__(coordinates.copy(), labels, not isinstance(points, int | np.integer))

    def __len__(self) -> int:
        return len(self.points)

    def shrunk(self, factor: float) -> "Arms":
        """Return the same points, `factor` times closer together, without their names."""
        return Arms(self.points / factor)

    def __repr__(self) -> str:
        dimension = f", dimension={self.points.shape[1]}" if self.has_coordinates else ""
        return f"Arms({len(self)}{dimension})"


@frozen(eq=False, init=False)
class Grid(HasContext):
    """A regular lattice over a box; the last dimension varies fastest.

    Arguments:
        *ranges: one `(low, high)` pair per dimension, both ends included.
        size: points per dimension, one integer for all or one for each.

    Raises:
        DriftpeakError: no range, low >= high, or a size below 2.

    Example:
        >>> import driftpeak as dp
        >>> len(dp.Grid([0, 1], [0, 5], size=[50, 20]))
        1000
    """

    ranges: tuple[tuple[float, float], ...]
    shape: tuple[int, ...]
    points: Points = field(repr=False)
    has_coordinates: bool = field(default=True, repr=False)

    @checked
    def __init__(
        self, *ranges: Sequence[float], size: int | np.integer[Any] | Sequence[int]
    ) -> None:
        if not ranges:
            raise DriftpeakError(
                "a grid must have a (low, high) range for each dimension, as in [0, 1]"
            )
        for pair in ranges:
            try:
                ends = np.asarray(pair)
            except ValueError:
                ends = np.zeros(0)
            if (
                ends.shape != (2,)
                or ends.dtype.kind not in "iuf"
                or not -np.inf < ends[0] < ends[1] < np.inf
            ):
                raise DriftpeakError(
                    f"a range of a grid must be (low, high) with low < high; got {shown(pair)}"
                )
        several = not isinstance(size, str | bytes) and (
            isinstance(size, Sequence) or (isinstance(size, np.ndarray) and size.ndim > 0)
        )
        sizes = list(size) if several else [size] * len(ranges)  # type: ignore[arg-type]
        if len(sizes) != len(ranges):
            raise DriftpeakError(
                f"size must be one integer or {len(ranges)}, one for each range; got {len(sizes)}"
            )
        shape = tuple(at_least_integer("size", count, 2) for count in sizes)
        _check_room("size", math.prod(shape))
        axes = [
            np.linspace(low, high, count) for (low, high), count in zip(ranges, shape, strict=True)
        ]
        lattice = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        box = tuple((float(low), float(high)) for low, high in ranges)
        self.__attrs_init__(box, shape, lattice.reshape(-1, len(shape)))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def axes(self) -> tuple[Vector, ...]:
        """The coordinates along each dimension, shapes `(m,)`."""
        strides = [math.prod(self.shape[dimension + 1 :]) for dimension in range(len(self.shape))]
        return tuple(
            self.points[: count * stride : stride, dimension]
            for dimension, (count, stride) in enumerate(zip(self.shape, strides, strict=True))
        )

    def shrunk(self, factor: float) -> "Grid":
        """Return the same points, `factor` times closer together."""
        smaller = object.__new__(Grid)
        ranges = tuple((low / factor, high / factor) for low, high in self.ranges)
        smaller.__attrs_init__(ranges, self.shape, self.points / factor)
        return smaller

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates of each point as text."""
        return tuple(", ".join(f"{value:.4g}" for value in point) for point in self.points)


Domain = Arms | Grid


def _check_room(name: str, count: int) -> None:
    if count > MOST:
        raise DriftpeakError(
            f"{name} must give a domain of at most {MOST:,} points; got {shown(count)}. Use fewer "
            "points, or a Box with the live optimiser, which does not list its points"
        )


@checked
def unit_sphere(count: int, dimension: int, *, seed: int = 0) -> Arms:
    """Draw `count` points uniformly from the unit sphere in `dimension` dimensions (as in H23).

    Arguments:
        count: the number of points, at least 2.
        dimension: the dimension of the space, at least 2.
        seed: seed of the random numbers, at least 0.

    Raises:
        DriftpeakError: count or dimension below 2, or a negative seed.
    """
    count = at_least_integer("count", count, 2)
    dimension = at_least_integer("dimension", dimension, 2)
    generator = np.random.default_rng(at_least_integer("seed", seed, 0, LARGEST_SEED))
    directions = generator.normal(size=(count, dimension))
    return Arms(directions / np.linalg.norm(directions, axis=1, keepdims=True))
