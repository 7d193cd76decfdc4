"""Colours and line styles of policies, the same in every figure.

Yardsticks, which do not learn during a run, are grey or brown. Each colour is for one way of
discarding old observations. Line styles distinguish policies of one colour.
"""

import re
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.plots._style import COLOURS, STYLES

BLUE, RED, GREEN, PINK, ORANGE, SKY, BROWN, GREY = COLOURS
FULL, DASHED, DASHDOT, DOTTED = STYLES


class Look(NamedTuple):
    """Colour and style of a policy's line and marks.

    Arguments:
        colour: one of `COLOURS`.
        style: line style, one of `STYLES`.
    """

    colour: str
    style: str


LOOKS: dict[str, Look] = {
    "auto": Look(BLUE, FULL),
    "gp-ucb": Look(RED, FULL),
    "tv-gp-ucb": Look(GREEN, FULL),
    "r-gp-ucb": Look(PINK, FULL),
    "sw-gp-ucb": Look(ORANGE, FULL),
    "w-gp-ucb": Look(SKY, FULL),
    "sparq": Look(BROWN, FULL),
    "igp-ucb": Look(RED, DASHED),
    "ui-gp-ucb": Look(GREEN, DASHED),
    "abo": Look(GREEN, DASHDOT),
    "et-gp-ucb": Look(PINK, DASHED),
    "r-perp": Look(PINK, DASHDOT),
    "r-opkb": Look(PINK, DOTTED),
    "pe": Look(ORANGE, DASHED),
    "rexp3": Look(ORANGE, DASHDOT),
    "opkb": Look(RED, DASHDOT),
    "w-sparq": Look(SKY, DASHED),
    "adaptive-sparq": Look(BROWN, DASHED),
    "adaptive-r-perp": Look(BLUE, DASHED),
    "ada-opkb": Look(BLUE, DASHDOT),
    "best-fixed-arm": Look(GREY, FULL),
    "best-of-history": Look(GREY, DASHED),
    "timetable": Look(GREY, DASHDOT),
    "random": Look(GREY, DOTTED),
    "clairvoyant": Look(BROWN, DOTTED),
}
"""Styles of policies that have a name on the command line; no two alike. Others take a free one."""


def family(name: str) -> str:
    """Return the command-line name of a policy's name in a run: lower case, without parameters.

    `tv-gp-ucb:drift=0.1` and `TV-GP-UCB (drift 0.1)` are both `tv-gp-ucb`.
    """
    return re.split(r"[:(]", name, maxsplit=1)[0].strip().casefold()


@checked
def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the looks of the policies of one figure, independent of their order.

    Arguments:
        names: names of the policies in a run, without repetition.

    Returns:
        Looks by name. Policies of `LOOKS` look the same in every figure. Two settings of one policy
        have the same colour and different styles. Other policies have a look that depends on their
        name. With more than 32 policies, looks repeat.

    Raises:
        DriftpeakError: names that are not strings.
    """
    names = list(names)
    if not all(isinstance(name, str) for name in names):
        raise DriftpeakError(f"names must be strings; got {shown(names)}")
    plain = sorted(name for name in names if family(name) in LOOKS)
    assigned: dict[str, Look] = {}
    for name in (*plain, *sorted(set(names) - set(plain))):
        assigned[name] = _free(_wanted(name), set(assigned.values()))
    return {name: assigned[name] for name in names}


def _wanted(name: str) -> Look:
    """Return a look that depends only on the name; Python's hash differs from run to run."""
    if family(name) in LOOKS:
        return LOOKS[family(name)]
    number = zlib.crc32(family(name).encode())
    return Look(COLOURS[number % 7], STYLES[number // 7 % len(STYLES)])  # grey is for yardsticks


def _free(wanted: Look, taken: set[Look]) -> Look:
    """Return the look, or if it is taken a free one, of the same colour if possible."""
    first, style = COLOURS.index(wanted.colour), STYLES.index(wanted.style)
    for colour in range(len(COLOURS)):
        for other in range(len(STYLES)):
            look = Look(
                COLOURS[(first + colour) % len(COLOURS)], STYLES[(style + other) % len(STYLES)]
            )
            if look not in taken:
                return look
    return wanted
