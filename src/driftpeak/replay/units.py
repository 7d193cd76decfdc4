"""The unit that a table's header gives: what all its column names end with, in brackets."""

import dataclasses
import re

from driftpeak.data import RewardTable
from driftpeak.errors import DriftpeakError, shown

ENDING = re.compile(r"(.*\S)\s*[\[(]([^\[\]()]+)[\])]")
LONGEST = 40  # characters of a unit


def with_unit_apart(table: RewardTable, unit: str | None) -> tuple[RewardTable, str]:
    """The table with its unit taken out of the names of its arms, and the unit, "" if unknown.

    Arguments:
        table: with names as `kitchen (degrees C)`.
        unit: instead of the one in the names.

    Raises:
        DriftpeakError: a unit that is no short text on one line.
    """
    if unit is not None and not (isinstance(unit, str) and len(unit) <= LONGEST):
        raise DriftpeakError(
            f"unit must be a text of at most {LONGEST} characters; got {shown(unit)}"
        )
    if unit is not None and not unit.isprintable():
        raise DriftpeakError(f"unit must be printable, on one line; got {shown(unit)}")
    found = [ENDING.fullmatch(arm) for arm in table.arms]
    endings = {match and match[2].strip() for match in found}
    names = tuple(match[1] for match in found if match)
    # brackets that differ say something else, as "sensor (north)" does
    if len(endings) != 1 or None in endings or len(set(names)) < len(table.arms):
        return table, (unit or "").strip()
    (ending,) = endings
    given = str(ending) if unit is None else unit.strip()
    return dataclasses.replace(table, arms=names), given
