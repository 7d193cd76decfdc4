"""Parsing of CSV text with any common separator into cells with line numbers.

pandas.read_csv would fill short lines with blanks, interpret long ones as having an index, accept
misplaced quotes, and not return line numbers. Python's csv module therefore splits the lines, and
pandas converts the cells.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from driftpeak._core.errors import DataError
from driftpeak.offline.data._reading.messages import quoted
from driftpeak.offline.data._reading.numbers import is_number

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = ",;\t|"
_SAMPLE = 50  # lines from which the separator is inferred
_NAMED_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # the first line of Excel's CSV
_DATE_LIKE = re.compile(r"\d[\d\s:/.,TZ+-]*")
Line = tuple[int, list[str]]
"""The number of a line in its file, from 1, and its cells."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """The cells of a table, as in its file.

    Attributes:
        path: the file, for messages.
        header: the position of the header, such as "line 1".
        cells: the cells below the header as text. The columns have the names in the header, and the
            index has the position of each row, such as "line 2".
        notes: descriptions of omitted parts.
    """

    path: Path
    header: str
    cells: pd.DataFrame
    notes: list[str]

    @classmethod
    def of(
        cls,
        path: Path,
        header: str,
        names: Sequence[str],
        places: Sequence[str],
        rows: Sequence[Sequence[str]],
        notes: list[str],
    ) -> Sheet:
        """Return a sheet of rows, each as long as `names`."""
        import pandas as pd

        cells = pd.DataFrame(rows, labels(places), labels(names), dtype=object)
        return cls(path, header, cells, notes)

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.cells.columns)

    @property
    def rows(self) -> pd.Index:
        """Return the positions of the rows."""
        return self.cells.index


def labels(texts: Sequence[str]) -> pd.Index:
    """Return the labels of rows or columns as Python strings, which may have any characters."""
    import pandas as pd

    return pd.Index(texts, dtype=object)


def read_sheet(
    path: Path, text: str, notes: list[str], header_rows: int = 1, *, least: int = 2
) -> Sheet:
    """Parse a CSV text that has one header line, or several that are joined, and one line per row.

    A table has at least `least` columns and rows.

    Notes report the omitted parts: lines above the header that are blank or begin with "#", blank
    lines, lines of separators only at the end, and a last column without name and values.

    Raises:
        DataError: the file is empty, a line is not valid CSV, or a line and the header have
            different numbers of cells.
    """
    comments, above, separator = _above(text)
    lines = _split(path, _from_line(text, above), separator, above)
    notes = list(notes)
    at_the_end = 0
    while lines and not any(cell.strip() for cell in lines[-1][1]):
        at_the_end += len(lines.pop()[1]) > 1
    if at_the_end:
        notes.append(f"ignored lines without any value at the end: {at_the_end}")
    if not lines:
        raise DataError(
            f"{path}: the file is empty; a header line and a line per time step are needed"
        )
    if comments and is_headless(lines[0][1]):  # NumPy writes its header as a comment
        number, comment = comments.pop()
        lines.insert(0, (number, next(csv.reader([comment.lstrip("# ")], delimiter=separator))))
    if comments:
        notes.append(f"ignored lines above the header that begin with #: {len(comments)}")
    blank = [number for number, row in lines if len(row) < 2 and not "".join(row).strip()]
    if blank:
        notes.append(f"ignored blank lines: {len(blank)}, the first is line {blank[0]}")
        lines = [(number, row) for number, row in lines if number not in set(blank)]
    if not any(cell.strip() for cell in lines[0][1]):
        raise DataError(
            f"{path}: line {lines[0][0]} must contain the column names, one column per arm; got a "
            "blank line"
        )
    return arranged(path, lines, notes, header_rows, least=least)


def arranged(
    path: Path,
    lines: list[Line],
    notes: list[str],
    header_rows: int,
    word: str = "line",
    *,
    least: int = 2,
) -> Sheet:
    """Return the sheet of a header and rows of equally many cells.

    Arguments:
        path: the file, for messages.
        lines: the header lines and the rows.
        notes: descriptions of omitted parts.
        header_rows: number of header lines.
        word: what a line is called in messages.
        least: least number of columns and of rows.

    Raises:
        DataError: there are too few columns or rows, or the numbers of cells differ.
    """
    width = longest = max(len(row) for _, row in lines)
    while not any("".join(row[width - 1 :]).strip() for _, row in lines):
        width -= 1
    if width < longest:
        notes.append("ignored separators at the end of the lines, after the last column")
        lines = [(number, row[:width]) for number, row in lines]
    _check_widths(path, lines, word, least)
    (header, names), *rows = _joined(path, lines, header_rows)
    return Sheet.of(
        path,
        f"{word} {header}",
        [name.strip() for name in names],
        [f"{word} {number}" for number, _ in rows],
        [row for _, row in rows],
        notes,
    )


def _joined(path: Path, lines: list[Line], header_rows: int) -> list[Line]:
    """Return the lines with the first `header_rows` joined into one.

    A blank cell of all except the last of these lines continues the cell on its left, as merged
    cells of spreadsheets do.
    """
    if header_rows == 1:
        return lines
    if len(lines) < header_rows + 2:
        raise DataError(
            f"{path}: a table must have at least two lines of values below {header_rows} header "
            f"lines; got {max(len(lines) - header_rows, 0)}"
        )
    above = [[cell.strip() for cell in row] for _, row in lines[:header_rows]]
    for row in above[:-1]:
        for column in range(2, len(row)):
            row[column] = row[column] or row[column - 1]
    names = [" ".join(filter(None, cells)) for cells in zip(*above, strict=True)]
    return [(lines[header_rows - 1][0], names), *lines[header_rows:]]


def _above(text: str) -> tuple[list[tuple[int, str]], int, str]:
    """Return the comments above the header with line numbers, the number of lines, the separator.

    The separator is the one that the first line states, or else inferred from the table.
    """
    comments, separator, count = [], "", 0
    for line in io.StringIO(text, newline=""):
        stripped = line.strip()
        if count == 0 and (stated := _NAMED_SEPARATOR.fullmatch(line)):
            separator = stated[1]
        elif stripped.startswith("#"):
            comments.append((count + 1, stripped))
        elif stripped:
            break
        count += 1
    return comments, count, separator or _separator(_from_line(text, count).read(1 << 20))


def _from_line(text: str, count: int) -> io.StringIO:
    """Return the text after `count` lines."""
    lines = io.StringIO(text, newline="")
    for _ in range(count):
        lines.readline()
    return lines


def _separator(start: str) -> str:
    """Infer the separator from the first lines.

    It is the one that gives the most lines of equal length, and among those the most numbers.
    """
    scores: dict[str, tuple[float, float]] = {}
    for separator in SEPARATORS:
        reader = csv.reader(io.StringIO(start, newline=""), delimiter=separator,
                            skipinitialspace=True)  # fmt: skip
        try:
            header, *rows = [row for row in islice(reader, _SAMPLE) if any(map(str.strip, row))]
        except (csv.Error, ValueError):
            continue
        if len(header) > 1:
            alike = sum(abs(len(row) - len(header)) < 2 and len(row) > 1 for row in rows)
            cells = [cell for row in rows for cell in row[1:]]
            numbers = sum(map(is_number, cells))
            share = numbers / max(len(cells), 1)
            scores[separator] = round(alike / max(len(rows), 1), 1), share
    return max(scores, key=lambda separator: scores[separator], default=",")


def _split(path: Path, body: io.StringIO, separator: str, above: int) -> list[Line]:
    reader = csv.reader(body, delimiter=separator, strict=True, skipinitialspace=True)
    lines: list[Line] = []
    begins = above + 1
    try:
        for row in reader:
            lines.append((begins, row))
            begins = above + reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{path}: line {begins}: not a CSV line ({error}); a cell that begins with a quote "
            "must end with one"
        ) from None
    return lines


def is_headless(names: Sequence[str]) -> bool:
    """Return whether a line contains numbers instead of column names."""
    first, *others = (name.strip() for name in names)
    starts = first and (is_number(first) or _DATE_LIKE.fullmatch(first))
    return bool(starts and all(map(is_number, others)))


def _check_widths(path: Path, lines: Sequence[Line], word: str, least: int) -> None:
    (header, names), *rows = lines
    if len(names) < least:
        widths = Counter(len(row) for _, row in rows)
        usual = widths.most_common(1)[0][0] if widths else 1
        title = ", separated by commas, semicolons, tabs or |" if word == "line" else ""
        if usual > 1 and len(rows) > 2:
            first = next(number for number, row in rows if len(row) == usual)
            title = (
                f"; line {first} is the first with {usual} cells: if it contains the column names, "
                "remove the lines above it or begin them with #"
            )
        raise DataError(
            f"{path}: {word} {header}: only one column, {quoted(names[0].strip())}; a table needs "
            f"at least two arms, one column each{title}"
        )
    for number, row in rows:
        if len(row) != len(names):
            raise DataError(
                f"{path}: {word} {number}: expected {len(names)} cells as in the header, found "
                f"{len(row)}; check for a missing cell, a decimal comma, a separator within a cell "
                "without quotes, or lines of text above or below the table (begin those above it "
                "with #)"
            )
    if len(rows) < least:
        content = f"one {word} of values" if rows else f"only a header {word}"
        needed = f"two {word}s" if least > 1 else f"one {word}"
        raise DataError(
            f"{path}: a table must have at least {needed} of values, one per time step; got "
            f"{content}"
        )
