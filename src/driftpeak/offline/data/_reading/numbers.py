"""Conversion of cells to numbers: blanks, decimal commas and thousands separators."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

Decimal = Literal["point", "comma"]
BLANKS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "+nan", "null", "none", "nat"})
_BLANK_SIGNS = " \u00a0\u2009\u202f'’"  # that separate thousands
_MINUS = str.maketrans({"\u2212": "-"})


def _notation(mark: str, thousands: str) -> re.Pattern[str]:
    """Return the pattern of numbers with a decimal mark and any of several thousands separators."""
    grouped = rf"[1-9]\d{{0,2}}(?P<thousands>[{thousands}])\d{{3}}(?:(?P=thousands)\d{{3}})*"
    number = rf"(?:(?:{grouped}|\d+)(?:{mark}\d*)?|{mark}\d+)(?:e[+-]?\d+)?"
    return re.compile(rf"[+-]?(?:{number}|inf(?:inity)?)", re.ASCII | re.IGNORECASE)


_NOTATIONS: dict[Decimal, re.Pattern[str]] = {
    "point": _notation(r"\.", "," + _BLANK_SIGNS),
    "comma": _notation(",", "." + _BLANK_SIGNS),
}


class NotANumberError(ValueError):
    """A cell is not a number. The error has its row and column from 0, and optionally a reason."""

    def __init__(self, row: int, column: int, why: str = "") -> None:
        super().__init__(why)
        self.row, self.column, self.why = row, column, why


def is_blank(cell: str) -> bool:
    """Return whether a cell counts as missing."""
    return cell.strip().lower() in BLANKS


def is_number(cell: str) -> bool:
    """Return whether a cell is blank or a number in any supported notation."""
    text = cell.strip().translate(_MINUS)
    return is_blank(cell) or any(form.fullmatch(text) for form in _NOTATIONS.values())


def numbers(cells: pd.DataFrame, decimal: Decimal | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Return the cells as numbers, with NaN for blanks, and notes.

    Without `decimal`, the cells determine the meaning of a comma: in "0,25" it is a decimal comma,
    in "1,234.5" it separates thousands, and "1,234" is ambiguous.

    Raises:
        NotANumberError: for the first cell that is not a number, or whose comma is ambiguous.
    """
    import numpy as np
    import pandas as pd

    texts: list[str] = cells.to_numpy(dtype=object).ravel().tolist()
    values: list[float] | None = None
    notes: list[str] = []
    if decimal != "comma":
        values = _plain(texts)
    if values is None:
        values, notes = _with_separators(texts, cells.shape[1], decimal)
    array = np.array(values, dtype=np.float64).reshape(cells.shape)
    return pd.DataFrame(array, cells.index, cells.columns), notes


def _plain(texts: list[str]) -> list[float] | None:
    """Return the cells as numbers by Python's rules; None if one is neither number nor blank."""
    if "_" in "".join(texts):  # float() accepts 1_000, which in a table is a name
        return None
    try:
        return list(map(float, texts))
    except ValueError:
        pass
    try:
        return [math.nan if is_blank(text) else float(text) for text in texts]
    except ValueError:
        return None


def _with_separators(
    cells: list[str], columns: int, decimal: Decimal | None
) -> tuple[list[float], list[str]]:
    # cells repeat: each text is converted once
    texts = {
        cell: cell.strip().translate(_MINUS) for cell in dict.fromkeys(cells) if not is_blank(cell)
    }
    matches = {
        mark: {cell: match for cell, text in texts.items() if (match := form.fullmatch(text))}
        for mark, form in _NOTATIONS.items()
    }

    def error(cell: str, why: str = "") -> NotANumberError:
        return NotANumberError(*divmod(cells.index(cell), columns), why)

    if decimal is None:
        decimal = _decimal(texts, matches, error)
    chosen = matches[decimal]
    for cell in texts:
        if cell not in chosen:
            raise error(cell)
    known: dict[str, float] = {}
    used: dict[str, str] = {}  # the first cell of every kind of separator
    for cell, match in chosen.items():
        text = match[0]
        if thousands := match["thousands"]:
            text = text.replace(thousands, "")
            if thousands in _BLANK_SIGNS:
                used.setdefault("thousands separated by blanks or apostrophes", match[0])
            else:
                name = "commas" if thousands == "," else "points"
                used.setdefault(f"{name} separate thousands", match[0])
        if decimal == "comma" and "," in text:
            text = text.replace(",", ".")
            used.setdefault("decimal commas", match[0])
        known[cell] = float(text)
    values = [known.get(cell, math.nan) for cell in cells]
    return values, [f"numbers such as {cell!r} are read with {how}" for how, cell in used.items()]


def _decimal(
    texts: dict[str, str],
    matches: dict[Decimal, dict[str, re.Match[str]]],
    error: Callable[[str, str], NotANumberError],
) -> Decimal:
    """Return the decimal separator that the cells show.

    Raises:
        NotANumberError: the cells contradict each other, or do not show it.
    """
    either = matches["point"].keys() & matches["comma"].keys()
    shows = {mark: [cell for cell in own if cell not in either] for mark, own in matches.items()}
    if shows["comma"] and shows["point"]:
        comma, point = shows["comma"][0], shows["point"][0]
        raise error(
            comma,
            f"{texts[comma]!r} has a decimal comma, but {texts[point]!r} in another cell has a "
            "decimal point; use one format for all numbers",
        )
    if shows["comma"]:
        return "comma"
    unclear = next((cell for cell in texts if cell in either and "," in cell), None)
    if unclear is not None and not shows["point"]:
        raise error(
            unclear,
            f"{texts[unclear]!r} is ambiguous: its comma is a decimal comma or separates "
            "thousands, and no other cell decides; give decimal=comma or decimal=point",
        )
    return "point"
