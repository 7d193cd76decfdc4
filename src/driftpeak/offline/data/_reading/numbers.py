"""Conversion of cells to numbers: blanks, decimal commas and thousands separators."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Decimal = Literal["point", "comma"]
BLANKS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "+nan", "null", "none", "nat"})
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
_COMMAS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)  # 1,234.5
_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?", re.ASCII)  # 1.234,5
_SPACES = re.compile(r"[+-]?[1-9]\d{0,2}([ \u00a0\u2009\u202f'’]\d{3})+([.,]\d*)?", re.ASCII)
_MINUS = str.maketrans({"\u2212": "-"})


class NotANumberError(ValueError):
    """A cell is not a number. The error has its row and column from 0, and optionally a reason."""

    def __init__(self, row: int, column: int, why: str = "") -> None:
        super().__init__(why)
        self.row, self.column, self.why = row, column, why


def is_blank(cell: str) -> bool:
    """Return whether a cell counts as missing."""
    return cell.strip().lower() in BLANKS


def is_number(cell: str) -> bool:
    """Return whether a cell is blank or a number with a decimal point."""
    text = cell.strip()
    return bool(is_blank(cell) or _NUMBER.fullmatch(text) or _INFINITE.fullmatch(text))


def looks_like_number(cell: str) -> bool:
    """Return whether a cell is blank or a number in any supported notation."""
    forms = (_DECIMAL_COMMA, _COMMAS, _POINTS, _SPACES)
    return is_number(cell) or any(form.fullmatch(cell.strip()) for form in forms)


def numbers(
    rows: Sequence[Sequence[str]], decimal: Decimal | None = None
) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Return the cells as numbers, shape `(rows, columns)`, with NaN for blanks, and notes.

    Without `decimal`, the cells determine the meaning of a comma: in "0,25" it is a decimal comma,
    in "1,234.5" it separates thousands, and "1,234" is ambiguous.

    Raises:
        NotANumberError: for the first cell that is not a number, or whose comma is ambiguous.
    """
    if decimal != "comma":
        try:
            return _plain(rows), []
        except ValueError:
            pass
    return _with_separators(rows, decimal)


def _plain(rows: Sequence[Sequence[str]]) -> npt.NDArray[np.float64]:
    """Convert cells by Python's rules; raise ValueError if one is neither number nor blank."""
    values = np.empty((len(rows), len(rows[0]) if rows else 0))
    for i, row in enumerate(rows):
        if "_" in "".join(row):  # float() accepts 1_000, which in a table is a name
            raise ValueError
        try:
            values[i] = [float(cell) for cell in row]
        except ValueError:
            values[i] = [np.nan if is_blank(cell) else float(cell) for cell in row]
    return values


def _with_separators(
    rows: Sequence[Sequence[str]], decimal: Decimal | None
) -> tuple[npt.NDArray[np.float64], list[str]]:
    import pandas as pd

    shape = (len(rows), len(rows[0]))
    every = pd.Series([cell for row in rows for cell in row], dtype=object)
    cells = every.str.strip().str.translate(_MINUS)
    cells = cells[~cells.str.lower().isin(BLANKS)]
    spaced = cells.str.fullmatch(_SPACES)
    notes = []
    if spaced.any():
        notes.append(
            _read_as(cells[spaced].iloc[0], "thousands separated by blanks or apostrophes")
        )
        cells = cells.mask(spaced, cells.str.replace("[ \u00a0\u2009\u202f'’]", "", regex=True))
    number = cells.str.fullmatch(_NUMBER) | cells.str.fullmatch(_INFINITE)
    commas, points = cells.str.fullmatch(_COMMAS), cells.str.fullmatch(_POINTS)
    comma = cells.str.fullmatch(_DECIMAL_COMMA)
    if decimal is None:
        decimal = _decimal(cells, number, commas, points, comma, shape[1])
    grouped, right = (points, comma) if decimal == "comma" else (commas, number)
    wrong = ~(grouped | right | number if decimal == "point" else grouped | right | _whole(cells))
    if wrong.any():
        raise NotANumberError(*divmod(int(cells.index[wrong.argmax()]), shape[1]))
    thousands, mark = (".", ",") if decimal == "comma" else (",", ".")
    if (grouped & cells.str.contains(thousands, regex=False)).any():
        notes.append(_read_as(cells[grouped].iloc[0], f"{_named(thousands)} separate thousands"))
    elif decimal == "comma" and comma.any():
        notes.append(_read_as(cells[comma].iloc[0], "decimal commas"))
    plain = cells.str.replace(thousands, "", regex=False).str.replace(mark, ".", regex=False)
    values = np.full(len(every), np.nan)
    values[cells.index.to_numpy()] = plain.to_numpy(dtype=object).astype(np.float64)
    return values.reshape(shape), notes


def _decimal(
    cells: pd.Series,
    number: pd.Series,
    commas: pd.Series,
    points: pd.Series,
    comma: pd.Series,
    columns: int,
) -> Decimal:
    """Return the decimal separator that the cells show.

    Raises:
        NotANumberError: the cells contradict each other, or do not show it.
    """
    several = cells.str.count(r"[.,]") > 1
    shows_comma = (comma & ~commas) | (points & several)
    shows_point = (number & cells.str.contains(".", regex=False) & ~points) | (commas & several)
    if shows_comma.any() and shows_point.any():
        one, other = cells[shows_comma].iloc[0], cells[shows_point].iloc[0]
        row, column = divmod(int(cells.index[shows_comma.argmax()]), columns)
        raise NotANumberError(
            row, column,
            f"{one!r} has a decimal comma, but {other!r} in another cell has a decimal point; "
            "use one format for all numbers",
        )  # fmt: skip
    if shows_comma.any():
        return "comma"
    if commas.any() and not shows_point.any():
        row, column = divmod(int(cells.index[commas.argmax()]), columns)
        raise NotANumberError(
            row, column,
            f"{cells[commas].iloc[0]!r} is ambiguous: its comma is a decimal comma or separates "
            "thousands, and no other cell decides; give decimal=comma or decimal=point",
        )  # fmt: skip
    return "point"


def _whole(cells: pd.Series) -> pd.Series:
    return cells.str.fullmatch(r"[+-]?\d+([eE][+-]?\d+)?") | cells.str.fullmatch(_INFINITE)


def _named(sign: str) -> str:
    return "points" if sign == "." else "commas"


def _read_as(cell: str, how: str) -> str:
    return f"numbers such as {cell!r} are read with {how}"
