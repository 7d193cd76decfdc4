"""Tables of rewards, one line per time step and one column per arm, read from CSV files."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from driftpeak.errors import DriftpeakError, nearest
from driftpeak.files import check_regular

__all__ = ["Missing", "RewardTable", "read_table"]

Missing = Literal["error", "drop-arm", "interpolate"]

# A first column of this name holds the times; pandas leaves the name of an index empty.
_TIME_NAMES = frozenset({"time", "date", "datetime", "timestamp", "step", "t", "index", ""})
_TIME_NAMES |= {"day", "month", "year", "hour", "minute", "second"}
_BLANKS = frozenset({"", "na", "nan"})
LARGEST = 1e100  # of a cell: sums of squares do not overflow
MOST_BYTES = 2**30  # of a table, unpacked
_GZIP_MAGIC = b"\x1f\x8b"
_DATE_LIKE = re.compile(r"\d[\d\s:/.,TZ+-]*")


@dataclass(frozen=True, eq=False)
class RewardTable:
    """Rewards of every arm at every time step.

    Attributes:
        values: the rewards, (steps, arms), all finite.
        arms: the names of the arms, unique and not empty.
        times: the cells of the time column as written, None if the table has no such column.
        time_name: the name of the time column, possibly empty; None if there is none.
        notes: what was done to the data, in words.
        positions: longitude and latitude of the arms in degrees, (arms, 2); None if not known.
    """

    values: npt.NDArray[np.float64]
    arms: tuple[str, ...]
    times: tuple[str, ...] | None
    time_name: str | None
    notes: tuple[str, ...] = ()
    positions: npt.NDArray[np.float64] | None = None

    def rows(self, first: int, last: int | None = None) -> RewardTable:
        """The steps from number `first` (from 0) to before `last`."""
        times = None if self.times is None else self.times[first:last]
        return replace(self, values=self.values[first:last], times=times)

    def columns(self, chosen: Sequence[int] | npt.NDArray[np.integer]) -> RewardTable:
        """The arms with these numbers (from 0), in this order."""
        numbers = np.asarray(chosen)
        positions = None if self.positions is None else self.positions[numbers]
        arms = tuple(self.arms[number] for number in numbers)
        return replace(self, values=self.values[:, numbers], arms=arms, positions=positions)


def read_table(
    path: str | os.PathLike[str],
    *,
    time_column: str | None = None,
    missing: Missing = "error",
) -> RewardTable:
    """Read a table of rewards from a CSV file, plain or compressed with gzip, in UTF-8.

    The first line holds the column names. Without `time_column`, the first column holds the times
    if its name says so ("time", "date", "step", ...; also an empty name) or if its first value is
    not a number; otherwise every column is an arm. A cell that is blank, NA or nan is missing.

    Args:
        path: the file; compression is recognised by content, not by name.
        time_column: the name of the column that holds the times.
        missing: what to do about missing cells: "error" refuses them, "drop-arm" leaves out each
            arm that has any, "interpolate" fills them linearly in the order of the lines and holds
            an arm's first and last value at its ends.

    Raises:
        DriftpeakError: if the file cannot be read or is no such table; the message names the
            line (the header is line 1), the column and the remedy.
    """
    if missing not in get_args(Missing):
        raise DriftpeakError(
            f"missing must be one of {', '.join(get_args(Missing))}; got {missing!r}."
            f"{nearest(str(missing), get_args(Missing))}"
        )
    path = Path(path)
    lines, rows, notes = _rows(path, text_of(path))
    header = [name.strip() for name in rows.pop(0)]
    del lines[0]
    _check_header(path, header, time_column)
    _check_shape(path, header, lines, rows)

    time_index = _time_index(path, header, rows, time_column)
    times, time_name = None, None
    if time_index is not None:
        time_name = header.pop(time_index)
        times = tuple(row.pop(time_index) for row in rows)
    if len(header) < 2:
        raise DriftpeakError(
            f"{path}: only one arm, {_quoted(header[0])}, beside the time column "
            f"{_quoted(time_name or '')}; a table needs at least two arms, one column each"
        )

    values = _numbers(path, header, lines, rows)
    gaps = np.isnan(values)
    arms = tuple(header)
    if gaps.any():
        if missing == "error":
            row, arm = np.argwhere(gaps)[0]
            gappy = gaps.any(axis=0).sum()
            raise DriftpeakError(
                f"{_place(path, lines[row], arms[arm])}: the cell is blank, the first of "
                f"{gaps.sum()} missing in {gappy} of {len(arms)} arms; fill the cells with "
                "missing=interpolate, or leave those arms out with missing=drop-arm "
                f"(which keeps {len(arms) - gappy})"
            )
        if missing == "drop-arm":
            values, arms, note = _without_gaps(path, values, arms, gaps)
        else:
            values, note = interpolated(path, values, arms, gaps)
        notes.append(note)
    return RewardTable(values, arms, times, time_name, tuple(notes))


def text_of(path: Path) -> str:
    """The decoded content of a file, of at most 1 GiB when unpacked."""
    try:
        check_regular(path)
        if path.exists() and path.stat().st_size > MOST_BYTES:
            raise _too_large(path)
        content = path.read_bytes()
    except DriftpeakError:
        raise  # a ValueError too
    except FileNotFoundError:
        raise DriftpeakError(f"{path}: there is no such file; check the path") from None
    except OSError as error:
        if path.is_dir():
            raise DriftpeakError(
                f"{path}: is a directory; give the path of a CSV file in it"
            ) from None
        raise DriftpeakError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError:  # NUL
        raise DriftpeakError(f"{str(path)!a}: is no path") from None
    # Browsers often unpack a download but keep its name, so the name is no guide.
    if content.startswith(_GZIP_MAGIC):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
                content = unpacked.read(MOST_BYTES + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise DriftpeakError(
                f"{path}: the gzip data is broken ({error}); the file may be cut short, "
                "so fetch or compress it again"
            ) from None
    if len(content) > MOST_BYTES:
        raise _too_large(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DriftpeakError(
            f"{path}: line {line}: byte 0x{error.object[error.start]:02x} is not UTF-8 text; "
            "a CSV file in UTF-8, plain or compressed with gzip, is needed"
        ) from None


def _too_large(path: Path) -> DriftpeakError:
    return DriftpeakError(
        f"{path}: holds more than {MOST_BYTES >> 20:,} MiB, the most that is read; leave out times "
        "or arms"
    )


def _rows(path: Path, text: str) -> tuple[list[int], list[list[str]], list[str]]:
    """The rows of a CSV text without blank ones at the end, where each begins, and notes."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines: list[int] = []
    rows: list[list[str]] = []
    begins = 1
    try:
        for row in reader:
            lines.append(begins)
            rows.append(row)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise DriftpeakError(
            f"{path}: line {begins}: not a CSV line ({error}); a cell that begins with a quote "
            "must end with one"
        ) from None
    separators = 0
    while rows and not any(cell.strip() for cell in rows[-1]):
        separators += len(rows.pop()) > 1
        lines.pop()
    if not rows:
        raise DriftpeakError(
            f"{path}: the file is empty; a header line and a line per time step are needed"
        )
    notes = [f"ignored lines without any value at the end: {separators}"] if separators else []
    return lines, rows, notes


def _check_header(path: Path, header: Sequence[str], time_column: str | None) -> None:
    if not any(header):
        raise DriftpeakError(
            f"{path}: line 1 is blank; it must hold the column names, one column per arm"
        )
    if len(header) == 1:
        for separator, word in ((";", "semicolons"), ("\t", "tabs")):
            if separator in header[0]:
                raise DriftpeakError(
                    f"{path}: line 1: the cells are separated by {word}; "
                    "save the table with commas (and decimal points)"
                )
        raise DriftpeakError(
            f"{path}: line 1: only one column, {_quoted(header[0])}; a table needs at least two "
            "arms, one column each, separated by commas"
        )
    # Arms may be named by numbers, and a time column the user named proves that this is a header.
    if (
        all(map(_is_number, header[1:]))
        and header[0]
        and (_is_number(header[0]) or _DATE_LIKE.fullmatch(header[0]))
        and time_column not in header
    ):
        raise DriftpeakError(
            f"{path}: line 1: no header line, its first cell is {_quoted(header[0])} and the "
            "others are numbers; put a line with the column names first"
        )
    columns: dict[str, int] = {}
    for column, name in enumerate(header, start=1):
        if not name and column > 1:
            raise DriftpeakError(
                f"{path}: line 1: column {column} has no name; name the arm, or remove the column "
                "(a comma at the end of the lines makes one)"
            )
        if name in columns:
            raise DriftpeakError(
                f"{path}: line 1: columns {columns[name]} and {column} are both named "
                f"{_quoted(name)}; give every column its own name"
            )
        columns[name] = column


def _check_shape(
    path: Path, header: Sequence[str], lines: Sequence[int], rows: Sequence[Sequence[str]]
) -> None:
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(header):
            raise DriftpeakError(
                f"{path}: line {line}: expected {len(header)} cells as in the header, found "
                f"{len(row)}; check for a blank line, a missing cell or a decimal comma"
            )
    if len(rows) < 2:
        found = "one line of values" if rows else "only a header line"
        raise DriftpeakError(
            f"{path}: {found}; a table needs at least two lines of values, one per time step"
        )


def _time_index(
    path: Path,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    time_column: str | None,
) -> int | None:
    """Which column holds the times, if any."""
    if time_column is not None:
        if time_column not in header:
            raise DriftpeakError(
                f"{path}: line 1: no column is named {_quoted(time_column)}; name the column "
                f"that holds the times as line 1 does.{nearest(time_column, header)}"
            )
        index = header.index(time_column)
        if index and not header[0]:
            raise DriftpeakError(
                f"{path}: line 1: column 1 has no name and is not the time column; name the arm, "
                "or remove the column (pandas leaves it out with index=False)"
            )
        return index
    if header[0].lower() in _TIME_NAMES:
        return 0
    first = next((row[0] for row in rows if row[0].strip().lower() not in _BLANKS), "")
    return None if _is_number(first) else 0


def _numbers(
    path: Path, arms: Sequence[str], lines: Sequence[int], rows: Sequence[Sequence[str]]
) -> npt.NDArray[np.float64]:
    """The cells as numbers, NaN where one is missing."""
    values = np.empty((len(rows), len(arms)))
    for i, row in enumerate(rows):
        try:
            values[i] = _parsed(row)
        except ValueError:
            arm = next(j for j, cell in enumerate(row) if not _is_number(cell))
            hint = (
                f"if these are the times, give time_column={arms[arm]}"
                if arms[arm].lower() in _TIME_NAMES
                else "a long table (one line per step and arm) must first be made wide, one column "
                "per arm"
            )
            raise DriftpeakError(
                f"{_place(path, lines[i], arms[arm])}: {_quoted(row[arm])} is not a number; an "
                f"arm's cells must be numbers such as 12.5, or blank where missing; {hint}"
            ) from None
    too_large = np.abs(values) > LARGEST
    if too_large.any():
        i, arm = np.argwhere(too_large)[0]
        raise DriftpeakError(
            f"{_place(path, lines[i], arms[arm])}: {_quoted(rows[i][arm])} is infinite or "
            "beyond 1e100; an arm's cells must be finite numbers, so correct the cell or leave it "
            "blank"
        )
    return values


def _without_gaps(
    path: Path,
    values: npt.NDArray[np.float64],
    arms: tuple[str, ...],
    gaps: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.float64], tuple[str, ...], str]:
    """The arms that miss no value, and a note of the others."""
    gappy = gaps.any(axis=0)
    kept = np.flatnonzero(~gappy)
    dropped = [_quoted(arms[arm]) for arm in np.flatnonzero(gappy)]
    if len(kept) < 2:
        raise DriftpeakError(
            f"{path}: {len(dropped)} of {len(arms)} arms miss values and missing=drop-arm "
            f"leaves {len(kept)}; at least two are needed, so fill the cells with "
            "missing=interpolate or correct the table"
        )
    names = ", ".join(dropped[:5]) + (", ..." if len(dropped) > 5 else "")
    note = f"dropped {len(dropped)} of {len(arms)} arms, which miss values: {names}"
    return np.take(values, kept, axis=1), tuple(arms[arm] for arm in kept), note


def interpolated(
    path: Path,
    values: npt.NDArray[np.float64],
    arms: tuple[str, ...],
    gaps: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.float64], str]:
    """The values with every gap filled, and a note of how many there were."""
    empty = np.flatnonzero(gaps.all(axis=0))
    if empty.size:
        raise DriftpeakError(
            f"{path}: column {_quoted(arms[empty[0]])} holds no value at all, so there is nothing "
            "to interpolate; leave the arm out with missing=drop-arm or remove the column"
        )
    filled = values.copy()
    for arm in np.flatnonzero(gaps.any(axis=0)):
        gap = np.flatnonzero(gaps[:, arm])
        known = np.flatnonzero(~gaps[:, arm])
        # Halved, the difference of two finite numbers cannot overflow.
        filled[gap, arm] = 2 * np.interp(gap, known, values[known, arm] / 2)
    count = gaps.any(axis=0).sum()
    note = f"interpolated {gaps.sum()} of {gaps.size} cells, in {count} of {len(arms)} arms"
    return filled, note


def _parsed(cells: Sequence[str]) -> list[float]:
    """The numbers in the cells, NaN for a blank one; ValueError if a cell is neither."""
    # float() takes 1_000, but in a table that is a name.
    if "_" in "".join(cells):
        raise ValueError
    return [math.nan if cell.strip().lower() in _BLANKS else float(cell) for cell in cells]


def _is_number(cell: str) -> bool:
    """Whether a cell may stand among numbers: it is one, or is blank."""
    try:
        _parsed([cell])
    except ValueError:
        return False
    return True


def _place(path: Path, line: int, column: str) -> str:
    return f"{path}: line {line}, column {_quoted(column)}"


def _quoted(text: str) -> str:
    """The text in quotes, on one line and not too long."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
