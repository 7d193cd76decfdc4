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

from driftpeak._core.errors import DataError
from driftpeak.offline.data._reading.messages import quoted
from driftpeak.offline.data._reading.numbers import is_number, looks_like_number

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_SAMPLE = 50  # lines from which the separator is inferred
_NAMED_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # the first line of Excel's CSV
_DATE_LIKE = re.compile(r"\d[\d\s:/.,TZ+-]*")


@dataclass(frozen=True, eq=False)
class Dialect:
    """The cells of a table, as in its file.

    Attributes:
        path: the file, for messages.
        names: the cells of the header line, without surrounding blanks.
        header: the position of the header, such as "line 1".
        places: the position of each row, such as "line 2".
        rows: the cells below the header, each row as long as `names`.
        notes: descriptions of omitted parts.
    """

    path: Path
    names: list[str]
    header: str
    places: Sequence[str]
    rows: list[list[str]]
    notes: list[str]


def read_sheet(path: Path, text: str) -> Dialect:
    """Parse a CSV text that has a header line and one line per row.

    Notes report the omitted parts: lines above the header that are blank or begin with "#", blank
    lines, lines of separators only at the end, and a last column without name and values.

    Raises:
        DataError: the file is empty, a line is not valid CSV, or a line and the header have
            different numbers of cells.
    """
    comments, above, separator = _above(text)
    separator = separator or _separator(_from_line(text, above).read(1 << 20))
    lines, rows = _split(path, _from_line(text, above), separator, above)

    notes = []
    at_the_end = 0
    while rows and not any(cell.strip() for cell in rows[-1]):
        at_the_end += len(rows.pop()) > 1
        lines.pop()
    if at_the_end:
        notes.append(f"ignored lines without any value at the end: {at_the_end}")
    if not rows:
        raise DataError(
            f"{path}: the file is empty; a header line and a line per time step are needed"
        )
    if comments and is_headless(rows[0]):  # NumPy writes its header as a comment
        line, comment = comments.pop()
        lines.insert(0, line)
        rows.insert(0, next(csv.reader([comment.lstrip("# ")], delimiter=separator)))
    if comments:
        notes.append(f"ignored lines above the header that begin with #: {len(comments)}")
    blank = [line for line, row in zip(lines, rows, strict=True) if not any(map(str.strip, row[:2]))
             and len(row) < 2]  # fmt: skip
    if blank:
        notes.append(f"ignored blank lines: {len(blank)}, the first is line {blank[0]}")
        kept = [
            (line, row) for line, row in zip(lines, rows, strict=True) if line not in set(blank)
        ]
        lines, rows = [line for line, _ in kept], [row for _, row in kept]

    names = [name.strip() for name in rows.pop(0)]
    header = lines.pop(0)
    if not any(names):
        raise DataError(
            f"{path}: line {header} must contain the column names, one column per arm; got a blank "
            "line"
        )
    if _has_empty_end(names, rows):
        notes.append("ignored separators at the end of the lines, after the last column")
        count = max(len(names) - (not names[-1]), 1)
        names, rows = names[:count], [row[:count] for row in rows]
    _check_widths(path, header, names, lines, rows)
    return Dialect(path, names, f"line {header}", [f"line {line}" for line in lines], rows, notes)


def _above(text: str) -> tuple[list[tuple[int, str]], int, str | None]:
    """Return the comments above the header with line numbers, the number of lines, the separator.

    The separator is None unless the first line states it.
    """
    comments, separator, count = [], None, 0
    for line in io.StringIO(text, newline=""):
        stripped = line.strip()
        if count == 0 and (stated := _NAMED_SEPARATOR.fullmatch(line)):
            separator = stated[1]
        elif stripped.startswith("#"):
            comments.append((count + 1, stripped))
        elif stripped:
            break
        count += 1
    return comments, count, separator


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
    best, chosen = (0.0, 0.0), ","
    for separator in SEPARATORS:
        reader = csv.reader(io.StringIO(start, newline=""), delimiter=separator,
                            skipinitialspace=True)  # fmt: skip
        try:
            header, *rows = [row for row in islice(reader, _SAMPLE) if any(map(str.strip, row))]
        except (csv.Error, ValueError):
            continue
        if len(header) < 2:
            continue
        alike = sum(abs(len(row) - len(header)) < 2 and len(row) > 1 for row in rows)
        cells = [cell for row in rows for cell in row[1:]]
        numbers = sum(map(looks_like_number, cells))
        score = (round(alike / max(len(rows), 1), 1), numbers / max(len(cells), 1))
        if score > best or (not rows and chosen == "," and best == (0.0, 0.0)):
            best, chosen = max(score, (0.0, 1e-9)), separator
    return chosen


def _split(
    path: Path, body: io.StringIO, separator: str, above: int
) -> tuple[list[int], list[list[str]]]:
    """Return the line numbers where the rows begin, and the rows."""
    reader = csv.reader(body, delimiter=separator, strict=True, skipinitialspace=True)
    lines: list[int] = []
    rows: list[list[str]] = []
    begins = above + 1
    try:
        for row in reader:
            lines.append(begins)
            rows.append(row)
            begins = above + reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{path}: line {begins}: not a CSV line ({error}); a cell that begins with a quote "
            "must end with one"
        ) from None
    return lines, rows


def _has_empty_end(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the last separator of header or rows begins a column without name or value."""
    if len(names) > 2 and not names[-1]:  # nameless in the header, blank or absent in the rows
        return bool(rows) and all(
            len(row) == len(names) - 1 or (len(row) == len(names) and not row[-1].strip())
            for row in rows
        )
    return bool(rows) and all(len(row) == len(names) + 1 and not row[-1].strip() for row in rows)


def is_headless(names: Sequence[str]) -> bool:
    """Return whether a line contains numbers instead of column names."""
    cells = [name.strip() for name in names]
    return bool(
        cells[0]
        and all(map(is_number, cells[1:]))
        and (is_number(cells[0]) or _DATE_LIKE.fullmatch(cells[0]))
    )


def _check_widths(
    path: Path, header: int, names: Sequence[str], lines: Sequence[int], rows: Sequence[list[str]]
) -> None:
    widths = Counter(map(len, rows))
    usual = widths.most_common(1)[0][0] if widths else len(names)
    first = next((line for line, row in zip(lines, rows, strict=True) if len(row) == usual), 0)
    if len(names) < 2:
        title = (
            f"; line {first} is the first with {usual} cells: if it contains the column names, "
            "remove the lines above it or begin them with #"
            if usual > 1 and len(rows) > 2
            else ", separated by commas, semicolons, tabs or |"
        )
        raise DataError(
            f"{path}: line {header}: only one column, {quoted(names[0])}; a table needs at least "
            f"two arms, one column each{title}"
        )
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(names):
            raise DataError(
                f"{path}: line {line}: expected {len(names)} cells as in the header, found "
                f"{len(row)}; check for a missing cell, a decimal comma, a separator within a cell "
                "without quotes, or lines of text above or below the table (begin those above it "
                "with #)"
            )
    if len(rows) < 2:
        content = "one line of values" if rows else "only a header line"
        raise DataError(
            f"{path}: a table must have at least two lines of values, one per time step; got "
            f"{content}"
        )
