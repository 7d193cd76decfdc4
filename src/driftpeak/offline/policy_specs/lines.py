"""The tables of names that the command line prints and checks without loading what they stand for.

`names.json` beside this file holds them, written by `python -m driftpeak.offline.policy_specs` from
the constructors' own signatures and docstrings; a test compares.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from driftpeak._core.errors import DriftpeakError, nearest
from driftpeak.offline.policy_specs.parameters import KINDS, Parameter, split

FILE = "names.json"
KIND_NAMES = {kind.__name__: kind for kind in KINDS}


@dataclass(frozen=True)
class Line:
    """A name, what it can be told, and a sentence on what it is."""

    name: str
    parameters: tuple[Parameter, ...]
    summary: str


@cache
def lines(what: str) -> tuple[Line, ...]:
    """All "policies" or "widths"."""
    stored = json.loads(
        (files("driftpeak.offline.policy_specs") / FILE).read_text(encoding="utf-8")
    )
    return tuple(_line(**one) for one in stored[what])


def as_text(tables: Mapping[str, Iterable[Line]]) -> str:
    """The tables as `names.json` holds them: JSON, a line for each name."""
    written = (
        f'"{what}": [\n' + ",\n".join(json.dumps(_plain(line)) for line in table) + "\n]"
        for what, table in tables.items()
    )
    return "{\n" + ",\n".join(written) + "\n}\n"


def check_texts(policies: Sequence[str], width: str) -> None:
    """Refuse what is no policy or width: an unknown name or key, a value of another kind.

    Raises:
        DriftpeakError: naming the text that is wrong, and what there is.
    """
    for what, table, texts in (("policy", "policies", policies), ("width", "widths", [width])):
        known = {line.name: line for line in lines(table)}
        for text in texts:
            line = known[known_name(what, text, known)]
            split(text, {one.name: one for one in line.parameters})


def known_name(what: str, text: str, names: Collection[str]) -> str:
    """NAME of `NAME:key=value,...`.

    Raises:
        DriftpeakError: it is none of the names.
    """
    name = text.partition(":")[0]
    if name not in names:
        raise DriftpeakError(
            f"unknown {what} {name!r}; known: {', '.join(names)}." + nearest(name, list(names))
        )
    return name


def _plain(line: Line) -> dict[str, Any]:
    told = [(one.name, one.kind.__name__, one.default, one.required) for one in line.parameters]
    return {"name": line.name, "summary": line.summary, "parameters": told}


def _line(name: str, summary: str, parameters: list[list[Any]]) -> Line:
    told = (Parameter(one, KIND_NAMES[kind], *rest) for one, kind, *rest in parameters)
    return Line(name, tuple(told), summary)
