"""Colours belong to policies: the same policy looks the same in every picture.

Yardsticks, which learn nothing while they play, are grey or brown; a colour stands for a way of
forgetting, and line styles tell policies of one colour apart.
"""

import re
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.plots.style import COLOURS, STYLES

BLUE, RED, GREEN, PINK, ORANGE, SKY, BROWN, GREY = COLOURS
FULL, DASHED, DASHDOT, DOTTED = STYLES


class Look(NamedTuple):
    """Of a policy's line and marks.

    Arguments:
        colour: one of `COLOURS`.
        style: of the line, one of `STYLES`.
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
"""Of every policy that has a name on the command line; no two alike."""


def family(name: str) -> str:
    """Of a name as it stands in a run, that of the command line: without parameters, in lower case.

    `tv-gp-ucb:drift=0.1` and `TV-GP-UCB (drift 0.1)` are both `tv-gp-ucb`.
    """
    return re.split(r"[:(]", name, maxsplit=1)[0].strip().casefold()


@checked
def looks(names: Iterable[str]) -> dict[str, Look]:
    """How the policies of one picture look, whatever their order.

    Arguments:
        names: of the policies, as they stand in a run; each once.

    Returns:
        By name. One of `LOOKS`, wherever else it is drawn too. Two settings of one policy share its
        colour and differ in style; a policy without a name on the command line has the look that
        its name happens to give. With more policies than 32, looks repeat.

    Raises:
        DriftpeakError: names that are no texts.
    """
    names = list(names)
    if not all(isinstance(name, str) for name in names):
        raise DriftpeakError(f"names must be texts; got {shown(names)}")
    plain = sorted(name for name in names if family(name) in LOOKS)
    found: dict[str, Look] = {}
    for name in (*plain, *sorted(set(names) - set(plain))):
        found[name] = _free(_wanted(name), set(found.values()))
    return {name: found[name] for name in names}


def _wanted(name: str) -> Look:
    """A look that depends on the name alone; Python's own hash differs from run to run."""
    if family(name) in LOOKS:
        return LOOKS[family(name)]
    number = zlib.crc32(family(name).encode())
    return Look(COLOURS[number % 7], STYLES[number // 7 % len(STYLES)])  # grey is for yardsticks


def _free(wanted: Look, taken: set[Look]) -> Look:
    """The look, or one that is not taken: of the same colour if there is any."""
    first, style = COLOURS.index(wanted.colour), STYLES.index(wanted.style)
    for colour in range(len(COLOURS)):
        for other in range(len(STYLES)):
            look = Look(
                COLOURS[(first + colour) % len(COLOURS)], STYLES[(style + other) % len(STYLES)]
            )
            if look not in taken:
                return look
    return wanted
