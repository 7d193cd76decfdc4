"""The answer of `Fleet.ask`: arrays with one entry for each member."""

from typing import Any

import numpy as np
from attrs import field, frozen

from driftpeak._core.types import Integers, Points, Vector
from driftpeak.gp.domains import Domain


@frozen(eq=False)
class Suggestions:
    """Suggestions of a fleet: one for each member that was asked.

    Attributes:
        ids: the id of each suggestion, 64-bit integers, for `Fleet.tell`.
        members: the id of each member.
        choices: the number of the arm or grid point to sample next, from 0.
        times: the time of each decision.
        space: the arms or the grid.
    """

    ids: Integers
    members: np.ndarray[Any, np.dtype[Any]]
    choices: Integers
    times: Vector
    space: Domain = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def points(self) -> Points:
        """Coordinates of the choices, shape `(members, d)`."""
        return self.space.points[self.choices]

    @property
    def names(self) -> list[str]:
        """Names of the choices."""
        names = self.space.names
        return [names[choice] for choice in self.choices]

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with the columns id, member, choice and time."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def to_arrow(self) -> Any:
        """Return an Arrow Table with the columns of `to_pandas`; it needs the package pyarrow."""
        import pyarrow as pa

        return pa.table(self._columns())

    def _columns(self) -> dict[str, Any]:
        return {
            "id": self.ids,
            "member": self.members,
            "choice": self.choices,
            "time": self.times,
        }
