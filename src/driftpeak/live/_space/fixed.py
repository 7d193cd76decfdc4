"""Parameters that are fixed for one suggestion."""

import numpy as np

from driftpeak._core.errors import DriftpeakError, InfeasibleError, finite, rejected, shown
from driftpeak.live._space.box import known_names, unmet
from driftpeak.live._space.encoding import BoxCoding, Coding, FiniteCoding, is_nothing
from driftpeak.live._space.parameters import ROUNDING, Numeric, ParameterValues
from driftpeak.live._space.records import Reach, unlimited_reach


def clean_fixed(coding: Coding, given: object) -> ParameterValues:
    """Return valid fixed values with the types of the parameters; empty if none are given.

    Raises:
        DriftpeakError: a name is misspelt; a value is outside its range; a parameter is active only
            with values of other parameters that are not fixed.
    """
    if is_nothing(given):
        return {}
    values = known_names(given, coding.names, "fixed")
    if isinstance(coding, BoxCoding):
        fixed: ParameterValues = {}
        for name, parameter in coding.box.parameters.items():
            if name not in values:
                continue
            if (condition := unmet(parameter, fixed)) is not None:
                raise DriftpeakError(
                    f"fixed parameter {name!r} is active only if {condition}. Fix that too, or "
                    f"leave {name!r} out"
                )
            fixed[name] = parameter.clean(name, values[name])
        return fixed
    assert isinstance(coding, FiniteCoding)
    if coding.named:
        return coding.clean(values)
    return {name: _coordinate(coding, name, value) for name, value in values.items()}


def _coordinate(coding: FiniteCoding, name: str, given: object) -> float:
    """Return the nearest coordinate of a grid, up to rounding."""
    value = finite(f"fixed {name!r}", given)
    axis = coding.domain.points[:, coding.names.index(name)]
    nearest = float(axis[np.argmin(np.abs(axis - value))])
    if abs(nearest - value) > ROUNDING * np.ptp(axis):
        raise rejected(
            f"fixed {name!r}", given, f"be a coordinate of the grid, such as {nearest:g}"
        )
    return nearest


def with_fixed(coding: Coding, reach: Reach | None, fixed: ParameterValues) -> Reach:
    """Return the settings within reach that have the fixed values.

    Arguments:
        coding: the coding of the space.
        reach: the settings within reach without fixed values; None: all.
        fixed: valid values by name.

    Raises:
        InfeasibleError: no setting within reach has these values.
    """
    columns = np.array([coding.names.index(name) for name in fixed])
    if isinstance(coding, BoxCoding):
        each = coding.box.parameters
        values = np.array([each[name].encode(name, value) for name, value in fixed.items()])
        ends = {name: (v, v) for name, v in fixed.items() if isinstance(each[name], Numeric)}
        slack = 0.0
    else:
        assert isinstance(coding, FiniteCoding)
        ends, slack = {}, ROUNDING
        if coding.named:  # an arm may have several coordinates
            columns, values = np.arange(coding.dimension), coding.row(fixed)
        else:
            points = coding.domain.points
            same = (np.abs(points[:, columns] - list(fixed.values())) == 0).all(axis=1)
            values = coding.pool[np.argmax(same)][columns]
    middle = np.full(coding.dimension, 0.5)
    known = unlimited_reach(coding, {}, middle) if reach is None else reach
    lower, upper = known.lower.copy(), known.upper.copy()
    outside = (values < lower[columns] - ROUNDING) | (values > upper[columns] + ROUNDING)
    lower[columns], upper[columns] = values - slack, values + slack
    within = known._replace(lower=lower, upper=upper, ends=known.ends | ends, fixed=fixed)
    if outside.any() or (coding.pool is not None and not within.holds(coding.pool).any()):
        raise InfeasibleError(
            f"fixed values must be within the movement limits; got {shown(fixed)}. Fix nearer "
            "values, or call tell() with the system's current setting"
        )
    near = within.nearest(coding, known.here)
    if reach is not None:
        return within._replace(near=near)
    return within._replace(setting=coding.parameters(near) | fixed, here=near, near=near)


def random_setting(
    coding: Coding, random: np.random.Generator, fixed: ParameterValues
) -> ParameterValues:
    """Return a uniform random setting that has the fixed values."""
    row = coding.spread(random.uniform(size=coding.dimension))
    if fixed:
        reach = with_fixed(coding, None, fixed)
        row = np.clip(row, reach.lower, reach.upper)
    return coding.parameters(row)
