"""Parts of messages: positions in a file, quoted names and shortened lists."""

from collections.abc import Sequence
from pathlib import Path

from driftpeak._core.errors import DataError


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
