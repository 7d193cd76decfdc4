"""A space and a policy as data that JSON can hold, and back again, exactly.

A space is written as a user would write it by hand::

    {"box": {"rate": {"type": "float", "low": 1e-4, "high": 1, "log": true},
             "layers": {"type": "integer", "low": 1, "high": 9},
             "kind": {"type": "categorical", "choices": ["a", "b"]}}}
    {"arms": 5}    {"arms": [[0, 0], [1, 2]], "names": ["near", "far"]}
    {"grid": [[0, 1], [0, 5]], "size": [50, 20]}

A policy is written as its class and its fields, those of driftpeak only. What somebody else wrote,
a kernel or a function, cannot be written: only its name is, for comparison.
"""

import base64
import importlib
import json
from collections.abc import Mapping
from functools import cached_property
from inspect import isfunction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak.domains import Arms, Grid
from driftpeak.errors import DriftpeakError, nearest
from driftpeak.live.coding import Space
from driftpeak.live.space import Box, Categorical, Float, Integer, Parameter

TYPES = {"float": Float, "integer": Integer, "categorical": Categorical}
EXAMPLE = (
    '{"box": {"x": {"type": "float", "low": 0, "high": 1}}}, {"arms": 5} or '
    '{"grid": [[0, 1]], "size": 50}'
)


def space_to_data(space: Space) -> dict[str, Any]:
    """The space as a dictionary fit for JSON."""
    if isinstance(space, Box):
        each = space.parameters.items()
        return {"box": {name: _parameter_to_data(one) for name, one in each}}
    if isinstance(space, Grid):
        return {"grid": [list(pair) for pair in space.ranges], "size": list(space.shape)}
    arms = space.points.tolist() if space.has_coordinates else len(space)
    return {"arms": arms, "names": list(space.names)}


def space_from_data(data: Any) -> Space:
    """The space that a dictionary describes.

    Raises:
        DriftpeakError: naming what is missing, misspelt or impossible.
    """
    if not isinstance(data, Mapping):
        raise DriftpeakError(f"a space is written as {EXAMPLE}; got {data!r}")
    if "box" in data:
        fields = _fields("a box", data, ("box",))
        if not isinstance(fields["box"], Mapping):
            raise DriftpeakError(f"a box maps names to parameters; got {fields['box']!r}")
        return Box({name: _parameter(name, one) for name, one in fields["box"].items()})
    if "arms" in data:
        fields = _fields("arms", data, ("arms",), ("names",))
        return Arms(fields["arms"], fields.get("names"))
    if "grid" in data:
        fields = _fields("a grid", data, ("grid", "size"))
        if not isinstance(fields["grid"], list):
            raise DriftpeakError(f"a grid is a list of [low, high]; got {fields['grid']!r}")
        return Grid(*fields["grid"], size=fields["size"])
    raise DriftpeakError(f"a space is written as {EXAMPLE}; got {json.dumps(data)[:80]}")


def policy_to_data(policy: Any) -> Any:
    """The policy as classes and fields."""
    return json.loads(json.dumps(_encode(policy)))


def is_complete(data: Any) -> bool:
    """Whether `policy_from_data` can make the policy again."""
    if isinstance(data, Mapping):
        return "opaque" not in data and all(map(is_complete, data.values()))
    return all(map(is_complete, data)) if isinstance(data, list) else True


def policy_from_data(data: Any) -> Any:
    """The policy that `policy_to_data` described.

    Raises:
        DriftpeakError: a part of it was written by somebody else, or this version of driftpeak has
            no such class.
    """
    if not is_complete(data):
        raise DriftpeakError("the study's policy is not wholly driftpeak's: give policy= again")
    return _decode(data)


def _parameter_to_data(parameter: Parameter) -> dict[str, Any]:
    kind = type(parameter).__name__.lower()
    return {"type": kind} | {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in vars(parameter).items()
    }


def _parameter(name: str, data: Any) -> Parameter:
    whose = f"parameter {name!r}"
    if not isinstance(data, Mapping) or data.get("type") not in TYPES:
        raise DriftpeakError(f'{whose} needs a "type": {", ".join(TYPES)}; got {data!r}')
    try:
        match data["type"]:
            case "float":
                fields = _fields(whose, data, ("type", "low", "high"), ("log",))
                if not isinstance(fields.get("log", False), bool):
                    raise DriftpeakError(f"log must be true or false; got {fields['log']!r}")
                return Float(fields["low"], fields["high"], fields.get("log", False))
            case "integer":
                fields = _fields(whose, data, ("type", "low", "high"))
                return Integer(fields["low"], fields["high"])
        fields = _fields(whose, data, ("type", "choices"))
        if not isinstance(fields["choices"], list):
            raise DriftpeakError(f"choices must be a list; got {fields['choices']!r}")
        return Categorical(*fields["choices"])
    except DriftpeakError as error:
        raise DriftpeakError(str(error) if whose in str(error) else f"{whose}: {error}") from None


def _fields(
    whose: str, data: Mapping[str, Any], needed: tuple[str, ...], others: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    known = needed + others
    for name in data:
        if name not in known:
            raise DriftpeakError(
                f"{whose} has no {name!r}; it has {', '.join(known)}." + nearest(name, known)
            )
    for name in needed:
        if name not in data:
            raise DriftpeakError(f'{whose} needs "{name}"')
    return data


def _encode(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray | jax.Array):
        if jnp.issubdtype(value.dtype, jax.dtypes.extended):
            return {"opaque": str(value.dtype)}
        array = np.asarray(value)
        content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        scalar = isinstance(value, np.generic)
        shape = None if scalar else list(array.shape)
        return {"array": content, "dtype": array.dtype.str, "shape": shape}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return {type(value).__name__: [_encode(one) for one in value]}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(one) for key, one in value.items()}}
    named = value if isinstance(value, type) or isfunction(value) else type(value)
    place = f"{named.__module__}:{named.__qualname__}"
    if not _is_ours(place):
        return {"opaque": place}
    if named is value:
        return {"name": place}
    if isinstance(value, tuple):
        return {"class": place, "items": [_encode(one) for one in value]}
    fields = {name: _encode(one) for name, one in _state(value).items()}
    return {"class": place, "fields": fields}


def _state(value: Any) -> dict[str, Any]:
    """The attributes of an object, but for those that it computes when asked."""
    found = dict(vars(value))
    for name in found.keys() & set(dir(type(value))):
        if isinstance(getattr(type(value), name, None), cached_property):
            del found[name]
    return dict(sorted(found.items()))


def _decode(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    if "array" in data:
        flat = np.frombuffer(base64.b64decode(data["array"]), np.dtype(data["dtype"]))
        return flat[0] if data["shape"] is None else flat.reshape(data["shape"]).copy()
    if "list" in data:
        return [_decode(one) for one in data["list"]]
    if "tuple" in data:
        return tuple(_decode(one) for one in data["tuple"])
    if "dict" in data:
        return {key: _decode(one) for key, one in data["dict"].items()}
    if "name" in data:
        return _find(data["name"])
    kind = _find(data["class"])
    if "items" in data:
        return kind(*map(_decode, data["items"]))
    made = object.__new__(kind)
    for name, one in data["fields"].items():
        object.__setattr__(made, name, _decode(one))
    return made


def _is_ours(place: str) -> bool:
    """Whether this names something of driftpeak that can be found again: nothing else is loaded."""
    module = place.split(":")[0]
    return (module == "driftpeak" or module.startswith("driftpeak.")) and "<" not in place


def _find(place: str) -> Any:
    try:
        if not _is_ours(place):
            raise AttributeError
        module, _, name = place.partition(":")
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found
    except (ImportError, AttributeError):
        raise DriftpeakError(
            f"this version of driftpeak has no {place}: give policy= again"
        ) from None
