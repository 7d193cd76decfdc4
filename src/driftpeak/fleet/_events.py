"""The changes of a fleet, each with the arrays of a whole batch, and their form in a store."""

import base64
from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.errors import StorageCorruptError

ARRAYS: dict[str, dict[str, str]] = {
    "Added": {"arms": "|b1"},
    "Removed": {"serials": "<i8"},
    "Reset": {"serials": "<i8"},
    "Asked": {"serials": "<i8", "times": "<f8", "points": "<i4"},
    "Told": {"ids": "<i8", "rewards": "<f8", "times": "<f8"},
    "Refreshed": {},
    "Observed": {"serials": "<i8", "points": "<i4", "rewards": "<f8", "times": "<f8"},
}
"""The arrays of each kind of event, and their types."""


class Event(NamedTuple):
    """A change of a fleet.

    Attributes:
        kind: a key of `ARRAYS`.
        arrays: its arrays, by name. All have one entry for each row, except `arms`, which is a
            flattened mask or empty.
        ids: the ids of new members.
        rest: JSON-compatible data: the groups of new members ("groups"), or a new population prior
            ("population") of a group ("group"). In a shard also the serial numbers of new members
            ("serials"), the name of the group ("label"), and the id of the call ("call").
    """

    kind: str
    arrays: dict[str, np.ndarray[Any, np.dtype[Any]]]
    ids: list[Any] | None = None
    rest: dict[str, Any] | None = None


def to_dict(event: Event) -> dict[str, Any]:
    """Return an event in JSON-compatible data; arrays are base64 texts of their bytes."""
    written: dict[str, Any] = {"event": event.kind}
    for name, kind in ARRAYS[event.kind].items():
        content = np.ascontiguousarray(event.arrays[name], dtype=kind)
        written[name] = base64.b64encode(content.data if content.size else b"").decode()
    if event.ids is not None:
        written["members"] = event.ids
    if event.rest is not None:
        written["rest"] = event.rest
    return written


def from_dict(written: dict[str, Any]) -> Event:
    """Return the event that `to_dict` wrote.

    Raises:
        StorageCorruptError: the data are something else.
    """
    try:
        kinds = ARRAYS[written["event"]]
        arrays = {
            name: np.frombuffer(base64.b64decode(written[name], validate=True), kind)
            for name, kind in kinds.items()
        }
        ids = written["members"] if written["event"] == "Added" else None
        same = len({len(array) for name, array in arrays.items() if name != "arms"}) <= 1
        if not same or not (ids is None or isinstance(ids, list)):
            raise ValueError("columns of different lengths")
    except (KeyError, ValueError, TypeError) as error:
        raise StorageCorruptError(
            f"an event of a fleet must have the columns of its kind; got {error}. Restore the "
            "storage from a copy"
        ) from None
    return Event(written["event"], arrays, ids, written.get("rest"))
