"""The catalogue of environments: one declaration for each.

It gives the name on the command line and the row in the documentation:

    @environment("is replaced at given steps", name="abrupt", build=...)
    class AbruptSwitches(Environment[State]): ...
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from driftpeak._core.lazy_packages import load_all

Make = TypeVar("Make", bound=type)
Build = Callable[..., Any]


@dataclass(frozen=True)
class Entry:
    """An environment of the catalogue; see `environment`."""

    make: type
    change: str
    name: str | None
    build: Build | None


_entries: list[Entry] = []


def entries() -> list[Entry]:
    """Return all environments."""
    load_all("driftpeak.environments")
    return _entries


def environment(
    change: str, *, name: str | None = None, build: Build | None = None
) -> Callable[[Make], Make]:
    """Declare an environment.

    Arguments:
        change: how the function changes, a verb phrase for the documentation in inline
            reStructuredText.
        name: name for `driftpeak compare --environment`, if it has one.
        build: with a name, makes the environment from a prior, a drift per step and the number of
            steps.
    """
    assert (name is None) == (build is None), "give name and build together"

    def declare(make: Make) -> Make:
        _entries.append(Entry(make, change, name, build))
        return make

    return declare
