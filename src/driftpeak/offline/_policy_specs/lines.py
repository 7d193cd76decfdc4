"""Tables of policies, environments and widths, which the command line uses without importing them.

`names.json` in this folder has the tables. `python -m driftpeak.offline._policy_specs` writes it
from the constructors' signatures and docstrings, and a test compares them.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from driftpeak._core.errors import DriftpeakError, nearest
from driftpeak.offline._policy_specs.parameters import KINDS, Parameter, split

FILE = "names.json"
KIND_NAMES = {kind.__name__: kind for kind in KINDS}


@dataclass(frozen=True)
class Line:
    """A name with its parameters and a sentence of description."""

    name: str
    parameters: tuple[Parameter, ...]
    summary: str


@cache
def lines(what: str) -> tuple[Line, ...]:
    """Return the table of all "policies", "environments" or "widths"."""
    stored = json.loads(
        (files("driftpeak.offline._policy_specs") / FILE).read_text(encoding="utf-8")
    )
    return tuple(_line(**row) for row in stored[what])


def as_text(tables: Mapping[str, Iterable[Line]]) -> str:
    """Return the content of `names.json`: JSON, a line for each name."""
    written = (
        f'"{what}": [\n' + ",\n".join(json.dumps(_plain(line)) for line in table) + "\n]"
        for what, table in tables.items()
    )
    return "{\n" + ",\n".join(written) + "\n}\n"


def check_texts(policies: Sequence[str], width: str) -> None:
    """Check descriptions of policies and a width without importing them.

    Raises:
        DriftpeakError: a name or a key is unknown, or a value has another type.
    """
    for what, table, texts in (("policy", "policies", policies), ("width", "widths", [width])):
        known = {line.name: line for line in lines(table)}
        for text in texts:
            line = known[known_name(what, text, known)]
            split(text, {parameter.name: parameter for parameter in line.parameters})


def known_name(what: str, text: str, names: Collection[str]) -> str:
    """Return NAME of `NAME:key=value,...`.

    Raises:
        DriftpeakError: it is not one of the names.
    """
    name = text.partition(":")[0]
    if name not in names:
        raise DriftpeakError(
            f"unknown {what} {name!r}; known: {', '.join(names)}." + nearest(name, list(names))
        )
    return name


def _plain(line: Line) -> dict[str, Any]:
    parameters = [
        (parameter.name, parameter.kind.__name__, parameter.default, parameter.required)
        + ((parameter.words,) if parameter.words else ())
        for parameter in line.parameters
    ]
    return {"name": line.name, "summary": line.summary, "parameters": parameters}


def _line(name: str, summary: str, parameters: list[list[Any]]) -> Line:
    accepted = (
        Parameter(key, KIND_NAMES[kind], default, required, *map(tuple, words))
        for key, kind, default, required, *words in parameters
    )
    return Line(name, tuple(accepted), summary)
