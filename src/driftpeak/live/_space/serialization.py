"""Exact conversion of spaces to JSON-compatible data and back.

The data are written as by hand::

    {"box": {"rate": {"type": "float", "low": 1e-4, "high": 1, "log": true},
             "layers": {"type": "integer", "low": 1, "high": 9},
             "kind": {"type": "categorical", "choices": ["a", "b"]},
             "heat": {"type": "float", "low": 0, "high": 90, "step": 0.5, "max_step": 2,
                      "when": {"kind": ["a"]}}}}
    {"arms": 5}    {"arms": [[0, 0], [1, 2]], "names": ["near", "far"]}
    {"grid": [[0, 1], [0, 5]], "size": [50, 20]}

Each form may have a context, whose values are observed and not chosen::

    {"arms": 5, "context": {"load": {"type": "float", "low": 0, "high": 1}}}
"""

import json
from collections.abc import Mapping
from typing import Any

import attrs

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.contexts import Contextual
from driftpeak.gp.domains import Arms, Grid
from driftpeak.live._space.box import Box
from driftpeak.live._space.encoding import Space
from driftpeak.live._space.parameters import (
    Boolean,
    Categorical,
    Float,
    Integer,
    Parameter,
    check_keys,
)

ENDS, NUMERIC = ("low", "high"), ("log", "step", "max_step", "max_rate", "when")
TYPES: dict[str, tuple[Any, tuple[str, ...], tuple[str, ...]]] = {
    "float": (Float, ENDS, NUMERIC),
    "integer": (Integer, ENDS, NUMERIC),
    "categorical": (Categorical, ("choices",), ("ordered", "when")),
    "boolean": (Boolean, (), ("when",)),
}
"""Class, necessary keys and optional keys by type."""
EXAMPLE = (
    '{"box": {"x": {"type": "float", "low": 0, "high": 1}}}, {"arms": 5} or '
    '{"grid": [[0, 1]], "size": 50}'
)


@checked
def space_to_data(space: Space) -> dict[str, object]:
    """Return a space as a JSON-compatible dictionary.

    Arguments:
        space: a `Box`, `Arms` or `Grid`, or one of these with a context.
    """
    if isinstance(space, Contextual):
        each = space.parameters.items()
        context = {name: _parameter_to_data(parameter) for name, parameter in each}
        return space_to_data(space.space) | {"context": context}  # type: ignore[arg-type]
    if isinstance(space, Box):
        each = space.parameters.items()
        return {"box": {name: _parameter_to_data(parameter) for name, parameter in each}}
    if isinstance(space, Grid):
        return {"grid": [list(pair) for pair in space.ranges], "size": list(space.shape)}
    arms = space.points.tolist() if space.has_coordinates else len(space)
    return {"arms": arms, "names": list(space.names)}


@checked
def space_from_data(data: object) -> Space:
    """Return the space that a dictionary describes.

    Arguments:
        data: a dictionary, such as the result of `space_to_data`.

    Raises:
        DriftpeakError: an entry is missing, misspelt or invalid.
    """
    if not isinstance(data, Mapping):
        raise DriftpeakError(f"a space must be written as {EXAMPLE}; got {data!r}")
    if "context" in data:
        rest = {name: value for name, value in data.items() if name != "context"}
        return space_from_data(rest).context(_parameters("a context", data["context"]))  # type: ignore[union-attr]
    if "box" in data:
        fields = _fields("a box", data, ("box",))
        return Box(_parameters("a box", fields["box"]))
    if "arms" in data:
        fields = _fields("arms", data, ("arms",), ("names",))
        return Arms(fields["arms"], fields.get("names"))
    if "grid" in data:
        fields = _fields("a grid", data, ("grid", "size"))
        if not isinstance(fields["grid"], list):
            raise DriftpeakError(f"a grid must be a list of [low, high]; got {fields['grid']!r}")
        return Grid(*fields["grid"], size=fields["size"])
    raise DriftpeakError(f"a space must be written as {EXAMPLE}; got {json.dumps(data)[:80]}")


def _parameters(whose: str, data: object) -> dict[str, Parameter]:
    if not isinstance(data, Mapping):
        raise DriftpeakError(f"{whose} must map names to parameters; got {data!r}")
    return {name: _parameter(name, entry) for name, entry in data.items()}


def _parameter_to_data(parameter: Parameter) -> dict[str, object]:
    kind = next(name for name, (make, *_) in TYPES.items() if type(parameter) is make)
    given = attrs.asdict(parameter, recurse=False)  # type: ignore[arg-type]
    when = {name: list(values) for name, values in given.pop("when")}
    if kind == "boolean":
        given = {}
    # options added in later versions are not written if they have their default
    if kind != "float":
        given = {name: value for name, value in given.items() if value is not False}
    data = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value is not None
    }
    return {"type": kind} | data | ({"when": when} if when else {})


def _parameter(name: str, data: Any) -> Parameter:
    whose = f"parameter {name!r}"
    kind = data.get("type") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in TYPES:
        raise DriftpeakError(f'{whose} must have a "type" among {", ".join(TYPES)}; got {data!r}')
    try:
        make, needed, others = TYPES[kind]
        fields = _fields(whose, data, ("type", *needed), others)
        values = [fields[key] for key in needed]
        if kind == "categorical":
            (values,) = values
            if not isinstance(values, list):
                raise DriftpeakError(f"choices must be a list; got {values!r}")
        parameter: Parameter = make(*values, **{k: fields[k] for k in others if k in fields})
        return parameter
    except DriftpeakError as error:
        raise DriftpeakError(str(error) if whose in str(error) else f"{whose}: {error}") from None


def _fields(
    whose: str, data: Mapping[str, Any], needed: tuple[str, ...], others: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    check_keys(f"{whose} must have keys", data, needed + others)
    for name in needed:
        if name not in data:
            raise DriftpeakError(f'{whose} must have the key "{name}"')
    return data
