"""Constraints as JSON-compatible data.

The JSON form is written as by hand::

    {"budget": {"sum": {"pump": 1, "fan": 2}, "at_most": 3},
     "temperature": {"at_most": 75, "probability": 0.9},
     "noise": {"at_most": {"context": "period", "values": {"day": 60, "night": 45}}},
     "pairs": {"function": "allowed_pairs"}}
"""

import json
from collections.abc import Mapping
from typing import Any

from driftpeak._core.errors import DriftpeakError, rejected, shown
from driftpeak.live._space.constraint_functions import function_named, name_of
from driftpeak.live._space.constraints import ByContext, Constraint, Limit, WeightedSum
from driftpeak.live._space.parameters import check_keys

_LIMIT = ("at_most", "at_least", "probability")


def constraints_to_data(constraints: Mapping[str, Constraint]) -> dict[str, Any]:
    """Return JSON-compatible data.

    A function is written by the name under which it is registered, or else its constraint's.
    """
    data: dict[str, Any] = {}
    for name, constraint in constraints.items():
        if isinstance(constraint, WeightedSum):
            data[name] = {"sum": dict(constraint.weights)} | _ends(constraint)
        elif isinstance(constraint, Limit):
            data[name] = _ends(constraint) | {"probability": constraint.probability}
        else:
            data[name] = {"function": name_of(constraint) or name}
    return data


def constraints_from_data(data: object) -> dict[str, Constraint]:
    """Return the constraints that a dictionary describes.

    Raises:
        DriftpeakError: an entry is missing, misspelt or invalid.
    """
    if not isinstance(data, Mapping):
        raise DriftpeakError(
            'constraints must be written as {"temperature": {"at_most": 75}} or {"budget": '
            f'{{"sum": {{"x": 1}}, "at_most": 3}}}}; got {shown(data)}'
        )
    constraints: dict[str, Constraint] = {}
    for name, entry in data.items():
        whose = f"constraint {shown(name)}"
        if not isinstance(entry, Mapping):
            raise rejected(whose, entry, 'be written as {"at_most": 75}')
        if "function" in entry:
            check_keys(f"{whose} must have keys", entry, ("function",))
            constraints[name] = function_named(whose, entry["function"])
            continue
        known = ("sum", "at_most", "at_least") if "sum" in entry else _LIMIT
        check_keys(f"{whose} must have keys", entry, known)
        options = {key: value for key, value in entry.items() if key != "sum"}
        try:
            options = {key: _bound_from_data(value) for key, value in options.items()}
            constraints[name] = (
                WeightedSum(entry["sum"], **options) if "sum" in entry else Limit(**options)
            )
        except DriftpeakError as error:
            raise DriftpeakError(f"{whose}: {error}") from None
    return constraints


def _bound_from_data(data: Any) -> Any:
    if not isinstance(data, Mapping):
        return data
    check_keys("a bound that depends on the context must have keys", data, ("context", "values"))
    if len(data) < 2 or not isinstance(data["values"], Mapping):
        raise rejected(
            "a bound", data, 'be a number or {"context": "period", "values": {"night": 45, ...}}'
        )
    return ByContext(data["context"], data["values"])


def _ends(constraint: Limit | WeightedSum) -> dict[str, Any]:
    ends = {"at_most": constraint.at_most, "at_least": constraint.at_least}
    return {
        name: {
            "context": end.name,
            "values": {context_key(k): value for k, value in end.values.items()},
        }
        if isinstance(end, ByContext)
        else end
        for name, end in ends.items()
        if end is not None
    }


def context_key(value: Any) -> str:
    """Return the key that stands for a value of a context in JSON."""
    return value if isinstance(value, str) else json.dumps(value)
