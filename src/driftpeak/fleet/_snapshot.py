"""The whole state of a fleet as named arrays, for snapshots."""

from typing import Any

import numpy as np
import pandas as pd

from driftpeak.fleet._engine import Engine
from driftpeak.fleet._members import Members
from driftpeak.fleet._pending import Pending

PLACES = {
    "engine": ("now", "middle", "old", "whose", "tells", "refreshed", "clock"),
    "steps": ("kinds", "arms", "rewards", "times", "counts", "latest", "reach"),
    "pending": ("asked", "_number", "_points", "_times"),
    "members": ("rows", "serials", "resets", "_row_of_serial"),
}
"""The arrays of each part of a fleet."""


def captured(
    members: Members, engine: Engine, pending: Pending
) -> tuple[dict[str, np.ndarray[Any, np.dtype[Any]]], dict[str, Any]]:
    """Return the arrays of a fleet by name, and the rest in JSON-compatible data."""
    parts = _parts(members, engine, pending)
    arrays = {
        f"{part} {name}": getattr(parts[part], name)
        for part, names in PLACES.items()
        for name in names
    }
    if members.arms is not None:
        arrays["members arms"] = members.arms
    return arrays, {"members": members.index.to_list()}


def restore(
    members: Members,
    engine: Engine,
    pending: Pending,
    arrays: dict[str, Any],
    rest: dict[str, Any],
) -> None:
    """Set the state of a new fleet to that of a snapshot."""
    parts = _parts(members, engine, pending)
    for place, array in arrays.items():
        part, name = place.split(" ")
        setattr(parts[part], name, array)
    ids = rest["members"]
    whole = all(isinstance(one, int) for one in ids)
    members.index = pd.Index(np.array(ids, np.int64 if whole else object))


def _parts(members: Members, engine: Engine, pending: Pending) -> dict[str, Any]:
    return {"engine": engine, "steps": engine.steps, "pending": pending, "members": members}
