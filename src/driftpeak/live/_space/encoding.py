"""Encoding of settings as rows of the unit cube, with one column for each parameter."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from driftpeak._core.errors import (
    DriftpeakError,
    UnsupportedError,
    finite,
    nearest,
    rejected,
    shown,
    whole,
)
from driftpeak._core.types import Vector
from driftpeak.gp.contexts import Contextual
from driftpeak.gp.domains import Arms, Grid
from driftpeak.live._space.box import Box, check_names
from driftpeak.live._space.discretization import (
    MIDDLE,
    Discretization,
    discretization_of,
    free_discretization,
)
from driftpeak.live._space.parameters import ROUNDING, ParameterValues, Value

Space = Box | Arms | Grid | Contextual


def is_nothing(given: object) -> bool:
    """Return whether an argument is None or an empty mapping."""
    return given is None or (isinstance(given, Mapping) and not given)


class Coding(ABC):
    """A mapping between settings and rows in \\([0, 1]^d\\). Base class.

    Attributes:
        names: names of the parameters.
        columns: names of the d columns, for diagnostics.
        discretization: the valid rows.
        categorical: whether each column is unordered.
        gaps: distance between neighbouring choices in each column. It is 0 for numbers and 1 for
            unordered choices, which all are neighbours.
        pool: all rows of a finite space, shape `(n, d)`; None for a box.
        context: the coding of the context; None if the space has no context.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    discretization: Discretization
    categorical: np.ndarray
    gaps: np.ndarray
    pool: Vector | None = None
    context: "BoxCoding | None" = None

    @property
    def dimension(self) -> int:
        """Number d of columns."""
        return len(self.discretization.levels)

    @property
    def all_columns(self) -> tuple[str, ...]:
        """Names of the parameter columns, then of the context columns."""
        return self.columns + (() if self.context is None else self.context.columns)

    @property
    def all_gaps(self) -> np.ndarray:
        """The gaps of the parameter columns, then of the context columns."""
        return self.gaps if self.context is None else np.append(self.gaps, self.context.gaps)

    def clean_context(self, given: object) -> ParameterValues:
        """Return a valid context with the types of its parameters; empty without a context.

        Raises:
            DriftpeakError: the context is needed and not given, or one of its values is misspelt,
                missing or outside its range.
            UnsupportedError: a context is given, and the study has none.
        """
        if self.context is None:
            if is_nothing(given):
                return {}
            raise UnsupportedError(
                f"context must be left out, as this study has none; got {shown(given)}. Create a "
                "study with space.context(...)"
            )
        names = self.context.names
        if is_nothing(given):
            example = ", ".join(f"{name!r}: ..." for name in names)
            raise DriftpeakError(
                f"context must be given, as this study has one. Write context={{{example}}}"
            )
        if not isinstance(given, Mapping):
            raise rejected("context", given, f"map {', '.join(names)} to values")
        try:
            return self.context.clean(given)
        except DriftpeakError as error:
            message = str(error).removesuffix(".")
            of_a_value = set(given) == set(names) and not message.endswith("?")
            hint = ". The context's range must cover all values that occur" if of_a_value else ""
            raise DriftpeakError(f"context: {message}{hint}") from None

    def context_row(self, context: ParameterValues) -> Vector:
        """Return the row of a context, shape `(k,)`; empty without a context."""
        return np.zeros(0) if self.context is None else self.context.row(context)

    def row_in(self, setting: ParameterValues) -> Vector:
        """Return the row of a setting followed by the row of its context, shape `(d + k,)`."""
        if self.context is None:
            return self.row(setting)
        context = {name: value for name, value in setting.items() if name in self.context.names}
        chosen = {name: value for name, value in setting.items() if name not in context}
        return np.append(self.row(chosen), self.context.row(context))

    @abstractmethod
    def row(self, parameters: object) -> Vector:
        """Return the row of a setting, shape `(d,)`.

        Raises:
            DriftpeakError: a parameter is misspelt or outside the space.
        """

    @abstractmethod
    def clean(self, parameters: object) -> ParameterValues:
        """Return a setting with the types of suggestions: an int given for a float becomes a float.

        Raises:
            DriftpeakError: a parameter is misspelt or outside the space.
        """

    @abstractmethod
    def parameters(self, row: Vector) -> ParameterValues:
        """Return the setting of the valid row nearest to `row`."""

    def moved(self, setting: ParameterValues, name: str, value: Value) -> ParameterValues:
        """Return a setting with one value changed."""
        return {**setting, name: value}

    def snap(self, rows: Vector) -> Vector:
        """Return the nearest valid rows."""
        return self.discretization.snap(np.atleast_2d(rows)).reshape(rows.shape)

    def spread(self, uniform: Vector) -> Vector:
        """Map uniform rows to valid rows, with equally frequent levels in discrete columns."""
        levels = self.discretization.levels
        number = np.minimum(np.floor(uniform * levels), np.maximum(levels - 1, 0))
        spread = np.where(levels > 0, number / np.maximum(levels - 1, 1), uniform)
        return self.snap(spread)


class BoxCoding(Coding):
    """The coding of a box, with one column for each parameter."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.names = self.columns = tuple(box.parameters)
        self.discretization = discretization_of(box.parameters)
        self.categorical = np.array([each.categorical for each in box.parameters.values()])
        self.gaps = np.array([each.gap for each in box.parameters.values()])

    def row(self, parameters: object) -> Vector:
        given, row = self.box.clean(parameters), np.full(len(self.names), MIDDLE)
        for column, (name, parameter) in enumerate(self.box.parameters.items()):
            if name in given:
                row[column] = parameter.encode(name, given[name])
        return row

    def clean(self, parameters: object) -> ParameterValues:
        return self.box.clean(parameters)

    def moved(self, setting: ParameterValues, name: str, value: Value) -> ParameterValues:
        return self.box.moved(setting, name, value)

    def parameters(self, row: Vector) -> ParameterValues:
        each = self.box.parameters.items()
        counts = self.discretization.counting(self.snap(row[None]))[0]
        every = zip(each, row, counts, strict=True)
        return {name: parameter.decode(float(u)) for (name, parameter), u, here in every if here}


class FiniteCoding(Coding):
    """The coding of arms or grid points, which are numbered from 0."""

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
        self.discretization = free_discretization(dimension)  # the pool lists the valid rows
        self.categorical = np.full(dimension, not domain.has_coordinates)
        self.gaps = self.categorical.astype(float)
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
        """Return the setting with this number."""
        if self.named:
            return {"arm": self.domain.names[number]}
        return dict(zip(self.names, map(float, self.domain.points[number]), strict=True))

    def number(self, parameters: object) -> int:
        """Return the number of an arm (by name or number) or of a grid point (by coordinates).

        Raises:
            DriftpeakError: the space has no such arm or point.
        """
        given = check_names(parameters, self.names)
        return self._arm(given["arm"]) if self.named else self._point(given)

    def _arm(self, arm: object) -> int:
        if whole(arm):
            if not 0 <= int(arm) < len(self.pool):
                raise rejected("arm", arm, f"be 0 to {len(self.pool) - 1} or a name")
            return int(arm)
        if not isinstance(arm, str) or arm not in self.numbers:
            raise DriftpeakError(
                f"arm must be one of {_some(self.domain.names)}; got {shown(arm)}."
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
                f"parameters must be a point of the grid; got {shown(dict(given))}. The nearest "
                f"point is {self.at(number)}"
            )
        return number


def make_coding(space: Space) -> Coding:
    """Return the coding of a space.

    Raises:
        DriftpeakError: `space` is not a space.
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
                "names of parameters and context must be distinct; got "
                f"{shown(name)} in both. Rename one of them"
            )
        if parameter.limited:
            raise DriftpeakError(
                f"context {shown(name)} must have no movement limits. Leave out max_step and "
                "max_rate"
            )
    return BoxCoding(box)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
