"""Between the user's parameters and the unit cube in which beliefs compute: one column each."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from driftpeak._core.errors import (
    DriftpeakError,
    UnsupportedError,
    finite,
    nearest,
    shown,
    whole,
)
from driftpeak._core.types import Vector
from driftpeak.gp.contexts import Contextual
from driftpeak.gp.domains import Arms, Grid
from driftpeak.live.space.box import Box, check_names
from driftpeak.live.space.discretization import MIDDLE, Lattice, free_lattice, lattice_of
from driftpeak.live.space.parameters import ROUNDING, ParameterValues

Space = Box | Arms | Grid | Contextual


def is_nothing(given: object) -> bool:
    """Whether nothing is given: None, or an empty mapping."""
    return given is None or (isinstance(given, Mapping) and not given)


class Coding(ABC):
    """One row in \\([0, 1]^d\\) for every setting of the parameters.

    Attributes:
        names: of the parameters.
        columns: of the d columns, for diagnostics.
        lattice: which rows stand for settings that can be suggested.
        categorical: which columns have no order.
        pool: all rows there are, shape `(n, d)`; None for a box.
        context: the coding of what the world says and nobody chooses; None if it says nothing.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    lattice: Lattice
    categorical: np.ndarray
    pool: Vector | None = None
    context: "BoxCoding | None" = None

    @property
    def dimension(self) -> int:
        """d, the number of columns."""
        return len(self.lattice.levels)

    @property
    def all_columns(self) -> tuple[str, ...]:
        """Of the d columns and those of the context."""
        return self.columns + (() if self.context is None else self.context.columns)

    @property
    def all_categorical(self) -> np.ndarray:
        """Which of all columns have no order."""
        own = self.categorical
        return own if self.context is None else np.append(own, self.context.categorical)

    def clean_context(self, given: object) -> ParameterValues:
        """A context as the belief takes it; empty if the world says nothing.

        Raises:
            DriftpeakError: none where one is needed, one where there is none, or naming what of it
                is misspelt, missing or outside its range.
        """
        if self.context is None:
            if is_nothing(given):
                return {}
            raise UnsupportedError(
                f"this study has no context; got {shown(given)}. A new one has, with "
                "space.context(...)"
            )
        names = self.context.names
        if is_nothing(given):
            example = ", ".join(f"{name!r}: ..." for name in names)
            raise DriftpeakError(f"a context is needed: give context={{{example}}}")
        if not isinstance(given, Mapping):
            raise DriftpeakError(f"a context maps {', '.join(names)} to values; got {shown(given)}")
        try:
            return self.context.clean(given)
        except DriftpeakError as error:
            said = str(error).removesuffix(".")
            of_a_value = set(given) == set(names) and not said.endswith("?")
            hint = ". A value that the world can take must be in it" if of_a_value else ""
            raise DriftpeakError(f"context: {said}{hint}") from None

    def context_row(self, context: ParameterValues) -> Vector:
        """The row of a context, shape `(k,)`; empty if the world says nothing."""
        return np.zeros(0) if self.context is None else self.context.row(context)

    def row_in(self, setting: ParameterValues) -> Vector:
        """The row of a setting with what the world said beside it, shape `(d + k,)`."""
        if self.context is None:
            return self.row(setting)
        said = {name: value for name, value in setting.items() if name in self.context.names}
        chosen = {name: value for name, value in setting.items() if name not in said}
        return np.append(self.row(chosen), self.context.row(said))

    @abstractmethod
    def row(self, parameters: object) -> Vector:
        """The row of a setting, shape `(d,)`.

        Raises:
            DriftpeakError: naming the parameter that is misspelt or outside the space.
        """

    @abstractmethod
    def clean(self, parameters: object) -> ParameterValues:
        """A setting as it would be suggested: an int given for a float is a float.

        Raises:
            DriftpeakError: as `row`.
        """

    @abstractmethod
    def parameters(self, row: Vector) -> ParameterValues:
        """The setting that belongs to a row, or the nearest."""

    def snap(self, rows: Vector) -> Vector:
        """The nearest rows that can be suggested."""
        return self.lattice.snap(np.atleast_2d(rows)).reshape(rows.shape)

    def spread(self, uniform: Vector) -> Vector:
        """Rows in which every value of a whole or categorical column is equally frequent."""
        levels = self.lattice.levels
        number = np.minimum(np.floor(uniform * levels), np.maximum(levels - 1, 0))
        spread = np.where(levels > 0, number / np.maximum(levels - 1, 1), uniform)
        return self.snap(spread)


class BoxCoding(Coding):
    """One column for each parameter of a box."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.names = self.columns = tuple(box.parameters)
        self.lattice = lattice_of(box.parameters)
        self.categorical = np.array([one.categorical for one in box.parameters.values()])

    def row(self, parameters: object) -> Vector:
        given, row = self.box.clean(parameters), np.full(len(self.names), MIDDLE)
        for column, (name, one) in enumerate(self.box.parameters.items()):
            if name in given:
                row[column] = one.encode(name, given[name])
        return row

    def clean(self, parameters: object) -> ParameterValues:
        return self.box.clean(parameters)

    def parameters(self, row: Vector) -> ParameterValues:
        each = self.box.parameters.items()
        counts = self.lattice.counting(self.snap(row[None]))[0]
        every = zip(each, row, counts, strict=True)
        return {name: one.decode(float(u)) for (name, one), u, here in every if here}


class FiniteCoding(Coding):
    """Arms or the points of a grid: every setting has a number too."""

    pool: Vector

    def __init__(self, domain: Arms | Grid) -> None:
        self.domain = domain
        points = domain.points
        low, high = points.min(axis=0), points.max(axis=0)
        self.pool = (points - low) / np.where(high > low, high - low, 1.0)
        self.named = isinstance(domain, Arms)
        dimension = points.shape[1]
        coordinates = tuple(f"x{j + 1}" for j in range(dimension))
        self.names = ("arm",) if self.named else coordinates
        self.columns = coordinates if domain.has_coordinates else ("arm",)
        self.lattice = free_lattice(dimension)  # the pool says what there is
        self.categorical = np.full(dimension, not domain.has_coordinates)
        self.numbers = {name: number for number, name in enumerate(domain.names)}

    def __len__(self) -> int:
        return len(self.pool)

    def row(self, parameters: object) -> Vector:
        return self.pool[self.number(parameters)]

    def clean(self, parameters: object) -> ParameterValues:
        return self.at(self.number(parameters))

    def parameters(self, row: Vector) -> ParameterValues:
        return self.at(int(np.argmin(((self.pool - row) ** 2).sum(axis=1))))

    def at(self, number: int) -> ParameterValues:
        """The setting with this number."""
        if self.named:
            return {"arm": self.domain.names[number]}
        return dict(zip(self.names, map(float, self.domain.points[number]), strict=True))

    def number(self, parameters: object) -> int:
        """The number of a setting: an arm by its name or number, a grid point by its coordinates.

        Raises:
            DriftpeakError: there is no such arm or point.
        """
        given = check_names(parameters, self.names)
        return self._arm(given["arm"]) if self.named else self._point(given)

    def _arm(self, arm: object) -> int:
        if whole(arm):
            if not 0 <= int(arm) < len(self.pool):
                raise DriftpeakError(
                    f"arm must be 0 to {len(self.pool) - 1} or a name; got {shown(arm)}"
                )
            return int(arm)
        if not isinstance(arm, str) or arm not in self.numbers:
            raise DriftpeakError(
                f"there is no arm {shown(arm)}; arms are {_some(self.domain.names)}."
                + nearest(shown(arm), self.domain.names)
            )
        return self.numbers[arm]

    def _point(self, given: Mapping[str, object]) -> int:
        wanted = np.array([finite(f"parameter {name!r}", given[name]) for name in self.names])
        points = self.domain.points
        with np.errstate(over="ignore"):
            gap = np.abs(points - wanted) / np.maximum(np.ptp(points, axis=0), 1e-300)
        distance = gap.max(axis=1)
        number = int(np.argmin(np.where(np.isnan(distance), np.inf, distance)))
        if not distance[number] <= ROUNDING:
            raise DriftpeakError(
                f"the grid has no point {shown(dict(given))}; the nearest is {self.at(number)}"
            )
        return number


def make_coding(space: Space) -> Coding:
    """The coding of a space.

    Raises:
        DriftpeakError: something that is no space.
    """
    if isinstance(space, Contextual):
        coding = make_coding(space.space)  # type: ignore[arg-type]
        coding.context = _context(space, coding.names)
        return coding
    if isinstance(space, Box):
        return BoxCoding(space)
    if isinstance(space, Arms | Grid):
        return FiniteCoding(space)
    raise DriftpeakError(f"space must be a Box, Arms or Grid; got {shown(space)}")


def _context(space: Contextual, names: tuple[str, ...]) -> BoxCoding:
    try:
        box = Box(space.parameters)
    except DriftpeakError as error:
        raise DriftpeakError(f"context: {error}") from None
    for name, parameter in box.parameters.items():
        if name in names:
            raise DriftpeakError(
                f"{shown(name)} is a parameter and cannot be in the context too: rename one"
            )
        if parameter.limited:
            raise DriftpeakError(
                f"context: {shown(name)} is not moved by anybody: leave out max_step and max_rate"
            )
    return BoxCoding(box)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
