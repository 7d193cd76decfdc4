"""Values of a parameter at which views evaluate the posterior."""

from typing import Any

import numpy as np

from driftpeak.live._space.encoding import BoxCoding, Coding, FiniteCoding
from driftpeak.live._space.parameters import Categorical, Parameter


def parameter_of(coding: Coding, name: str) -> Parameter | None:
    """Return the parameter of a box; None for arms and grids."""
    return coding.box.parameters[name] if isinstance(coding, BoxCoding) else None


def values_of(coding: Coding, name: str, most: int) -> list[Any]:
    """Return at most `most` equally spaced values of a parameter or of a grid's coordinate.

    A `Categorical` has all its values.
    """
    parameter = parameter_of(coding, name)
    if parameter is None:
        assert isinstance(coding, FiniteCoding)
        column = np.unique(coding.domain.points[:, coding.names.index(name)])
        places = np.unique(np.linspace(0, len(column) - 1, most).round().astype(int))
        coordinates: list[Any] = column[places].tolist()
        return coordinates
    count = min(parameter.levels or most, most)
    count = parameter.levels if isinstance(parameter, Categorical) else count
    return list(dict.fromkeys(parameter.decode(float(u)) for u in np.linspace(0, 1, count)))
