"""Parts of messages: positions in a file, quoted names and shortened lists."""

from collections.abc import Sequence
from pathlib import Path

from driftpeak._core.errors import DataError

LONGEST_MARK = 10  # characters of a text that may stand for missing values


def cell_error(path: Path, row: str, column: str, why: str) -> DataError:
    """Return an error about one cell.

    Args:
        path: the file.
        row: the position of the row, such as "line 2".
        column: the name of the column.
        why: the reason, and the remedy.
    """
    return DataError(f"{path}: {row}, column {quoted(column)}: {why}")


def quoted(text: str) -> str:
    """Return the text in quotes, on one line and shortened."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def listed(texts: Sequence[str], most: int = 5) -> str:
    """Return the first few texts, separated by commas."""
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")


def counted(text: str, count: int) -> str:
    """Return a text such as "{} line{s} repeat{not_s}" in the singular or the plural."""
    one = count == 1
    return text.format(count, s="" if one else "s", not_s="s" if one else "")


def as_blank(cell: str) -> str:
    """Return the remedy for a text that may stand for a missing value; empty for a long text."""
    mark = cell.strip()
    if len(mark) > LONGEST_MARK or '"' in mark or not mark.isprintable():
        return ""
    return f'; if it stands for a missing value, give blank="{mark}"'
