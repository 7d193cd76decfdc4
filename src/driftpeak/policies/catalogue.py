"""The catalogue of policies: one declaration for each.

It gives the name on the command line, the tag in stored studies, the row in the documentation, and
the tournament entry:

    @policy("my-policy", memory="`Window`")
    class MyPolicy(ActingPolicy[State]): ...

The declaration stands above the class or function that makes the policy. A policy is declared when
its module is loaded; `entries` and `stored_classes` load all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from driftpeak._core.arguments import Constructor
from driftpeak._core.lazy_packages import load_all
from driftpeak.policies.widths import ScaledLog, Width

Make = TypeVar("Make", bound=Callable[..., Any])

THEORY = "theory"
WIDE, NARROW = ScaledLog(0.8, 4.0), ScaledLog(0.2, 0.4)
"""B16's widths for synthetic data and for traffic, the largest and the smallest of its three."""
WIDTHS: Mapping[str, Width] = {"wide": WIDE, "narrow": NARROW}
MEMORIES = (10, 25, 50, 100, 250)
"""The tournament's grid of windows and restart periods."""
DISCOUNTS = tuple(1 - 1 / memory for memory in MEMORIES)
LONG_DISCOUNTS = tuple(1 - 1 / memory for memory in (25, 100, 250, 1000))
"""The grid of simple bandits, which need longer memories than policies that use correlations."""
Second = tuple[str, tuple[float, ...]]
"""Name and values of a second parameter of a grid."""


@dataclass(frozen=True)
class Family:
    """The tournament entry of a policy: its parameter by theory, and a grid of parameters.

    Attributes:
        name: name in the tables.
        theory: makes the policy with the parameter of its paper, from what is known of the
            environment (`driftpeak.experiments.tournament.players.WorldKnowledge`).
        parameter, values: the grid.
        make: makes the policy with a value of the grid and a width of `WIDTHS`, or a value of the
            second parameter.
        wide_only: whether the policy has its own width, so that the grid has no choice of widths.
        second: name and values of a second parameter of the grid, in place of the widths.
    """

    name: str
    theory: Callable[[Any], Any]
    parameter: str = ""
    values: tuple[float, ...] = ()
    make: Callable[[Any, Any, Any], Any] | None = None
    wide_only: bool = False
    second: Second | None = None

    @property
    def grid(self) -> dict[str, tuple[float, Any]]:
        """Return value and width (or second value) of each setting, by the name of the setting."""
        choices: dict[str, Any] = {"": WIDE}
        if self.second is not None:
            name, values = self.second
            choices = {f", {name} {value:g}": value for value in values}
        elif not self.wide_only:
            choices = {f", {name}": width for name, width in WIDTHS.items()}
        return {
            f"{self.name}, {self.parameter} {value:g}{suffix}": (value, choice)
            for value in self.values
            for suffix, choice in choices.items()
        }

    @property
    def at_theory(self) -> str:
        """Return the name of the setting that theory gives."""
        return f"{self.name}, {THEORY}"

    @property
    def settings(self) -> tuple[str, ...]:
        """Return the names of all settings, theory's first."""
        return (self.at_theory, *self.grid)


def given(*names: str) -> Callable[[Any], dict[str, Any]]:
    """Return the function that takes arguments of these names from what is known."""
    return lambda known: {name: getattr(known, name) for name in names}


def tuned(
    name: str,
    parameter: str,
    values: tuple[float, ...],
    theory: Callable[[Any], Any],
    *,
    arguments: Callable[[Any], Mapping[str, Any]] | None = None,
    second: Second | None = None,
) -> Callable[[Callable[..., Any]], Family]:
    """Return the function that makes the tournament entry of a policy with one parameter.

    Arguments:
        parameter: name of the policy's argument, whose grid is `values`.
        theory: returns the argument by theory, from what is known of the environment.
        arguments: returns further arguments; for a policy that has its own width.
        second: name and values of a second argument on the grid. Theory has its default.
    """

    def family(make: Callable[..., Any]) -> Family:
        def of(known: Any, value: Any, choice: Any) -> Any:
            further = {"width": choice} if arguments is None else dict(arguments(known))
            if second is not None and choice is not None:
                further |= {second[0]: choice}
            return make(known.prior, **{parameter: value}, **further)

        def by_theory(known: Any) -> Any:
            return of(known, theory(known), WIDE if second is None else None)

        own = arguments is not None
        return Family(name, by_theory, parameter, values, of, wide_only=own, second=second)

    return family


@dataclass(frozen=True)
class Entry:
    """A policy of the catalogue; see `policy`."""

    make: Callable[..., Any]
    name: str | None
    memory: str
    width: str
    schedule: str
    family: Family | None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    own_width: bool = False
    simple: Family | None = None


_entries: list[Entry] = []
STORED: dict[str, Constructor] = {}
"""The classes of stored policies and their parts that are loaded, by tag."""


def entries() -> list[Entry]:
    """Return all policies."""
    load_all("driftpeak.policies")
    return _entries


def stored_classes() -> dict[str, Constructor]:
    """Return the classes of all stored policies and their parts, by tag."""
    load_all("driftpeak.policies")
    return STORED


def policy(
    name: str | None = None,
    *,
    memory: str = "",
    width: str = "",
    schedule: str = "",
    tag: str | None = None,
    options: Callable[..., Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    own_width: bool = False,
    family: Callable[[Callable[..., Any]], Family] | None = None,
    simple: Callable[[Callable[..., Any]], Family] | None = None,
) -> Callable[[Make], Make]:
    """Declare a policy: a class, or a function that returns one.

    Arguments:
        name: name on the command line; None if the policy cannot be made from a prior alone.
        memory, width, schedule: the row of the documentation: which observations the policy keeps,
            its published width, and the function of theory that sets its parameter. Inline
            reStructuredText.
        tag: tag in stored studies, for a class; by default the name. "" for a class that cannot be
            stored, because it sees the true function.
        options: the constructor that has the defaults of the class's `**options`, if it has any.
        defaults: values of required parameters for the command line.
        own_width: whether the command line's `--width` does not apply.
        family: returns the tournament entry of the class or function.
        simple: returns the entry in the comparison with simple bandits, for independent arms.
    """

    def declare(make: Make) -> Make:
        entry, simple_entry = (None if one is None else one(make) for one in (family, simple))
        _entries.append(
            Entry(make, name, memory, width, schedule, entry, defaults or {}, own_width,
                  simple_entry)
        )  # fmt: skip
        if isinstance(make, type) and (key := name if tag is None else tag):
            stored(key, options)(make)
        return make

    return declare


def stored(tag: str, options: Callable[..., Any] | None = None) -> Callable[[Make], Make]:
    """Declare the tag of a class in stored studies. A released tag keeps its meaning forever.

    Arguments:
        tag: unique among policies and their parts.
        options: as for `policy`.
    """

    def declare(make: Make) -> Make:
        assert isinstance(make, type), make
        assert tag not in STORED, f"the tag {tag!r} is declared twice"
        STORED[tag] = Constructor(make, options)
        return make

    return declare
