"""Arrays with one row for each member."""

from collections.abc import Iterable
from typing import Any

import numpy as np

Rows = np.ndarray[Any, np.dtype[np.intp]]


def resize(owner: Any, names: Iterable[str], rows: int, fill: Any = 0) -> None:
    """Give arrays of an object this number of rows; new rows have the value `fill`."""
    for name in names:
        old = getattr(owner, name)
        new = np.full((rows, *old.shape[1:]), fill, old.dtype)
        new[: len(old)] = old
        setattr(owner, name, new)
