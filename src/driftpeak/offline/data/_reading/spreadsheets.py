"""Reading of tables from spreadsheets (.xlsx and .ods), which needs python-calamine."""

from __future__ import annotations

import io
import zipfile
from datetime import datetime, time
from pathlib import Path
from typing import Any

from driftpeak._core.errors import DataError, DriftpeakError, nearest
from driftpeak._core.extras import message
from driftpeak.offline.data._reading.csv_dialects import Sheet, arranged
from driftpeak.offline.data._reading.decoding import MOST_BYTES, ZIP, too_large
from driftpeak.offline.data._reading.messages import listed, quoted

_PARTS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")  # in .xlsx, .xlsb and .ods
Rows = list[list[str]]


def is_spreadsheet(content: bytes) -> bool:
    """Return whether the content of a file is a spreadsheet."""
    return bool(_parts(content))


def read_spreadsheet(
    path: Path, content: bytes, header_rows: int, sheet: str | None, least: int
) -> Sheet:
    """Return the cells of a sheet as text, by default of the first sheet with values.

    A table has at least `least` columns and rows. Blank rows and columns around the table are
    ignored, and so are titles: rows above the table with a value only in its first column.

    Raises:
        DataError: the content is damaged, or there is no sheet with a table.
        DriftpeakError: python-calamine is not installed, or there is no sheet of this name.
    """
    if sum(part.file_size for part in _parts(content)) > MOST_BYTES:
        raise too_large(path)
    sheets = {name: rows for name, rows in _sheets(path, content).items() if any(map(any, rows))}
    if not sheets:
        raise DataError(
            f"{path}: the file is empty; a header row and a row per time step are needed"
        )
    if sheet is not None and sheet not in sheets:
        raise DriftpeakError(
            f"{path}: sheet must be one of {listed([quoted(name) for name in sheets])}; got "
            f"{quoted(sheet)}.{nearest(sheet, sheets)}"
        )
    name = next(iter(sheets)) if sheet is None else sheet
    notes = []
    if len(sheets) > 1 and sheet is None:
        others = listed([quoted(other) for other in sheets if other != name])
        notes.append(f"read sheet {quoted(name)}; sheet= reads another: {others}")
    columns = [j for j, cells in enumerate(zip(*sheets[name], strict=True)) if any(cells)]
    rows = [row[columns[0] : columns[-1] + 1] for row in sheets[name]]
    lines = [(number, row) for number, row in enumerate(rows, 1) if any(row)]
    titles = next((n for n, (_, row) in enumerate(lines) if any(row[1:])), 0)
    if titles:
        notes.append(f"ignored rows above the table: {titles}, such as {quoted(lines[0][1][0])}")
    lines = lines[titles:]
    if blank := lines[-1][0] - lines[0][0] + 1 - len(lines):
        notes.append(f"ignored blank rows: {blank}")
    return arranged(path, lines, notes, header_rows, "row", least=least)


def _parts(content: bytes) -> list[zipfile.ZipInfo]:
    """Return the files in a spreadsheet; empty if the content is not a spreadsheet."""
    if not content.startswith(ZIP):
        return []
    try:
        parts = zipfile.ZipFile(io.BytesIO(content)).infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return []
    return parts if any(part.filename in _PARTS for part in parts) else []


def _sheets(path: Path, content: bytes) -> dict[str, Rows]:
    """Return the rows of all sheets by name; a blank cell is an empty string."""
    import pandas as pd

    try:
        frames = pd.read_excel(
            io.BytesIO(content), sheet_name=None, header=None, dtype=object, na_filter=False,
            engine="calamine",
        )  # fmt: skip
    except ImportError:
        raise DriftpeakError(
            f"{path}: is a spreadsheet; {message('python-calamine')}, or save the sheet as CSV"
        ) from None
    except Exception as error:  # calamine raises errors of many classes
        raise DataError(
            f"{path}: cannot be read as a spreadsheet ({str(error).partition(chr(10))[0]}); save "
            "it again, or save the sheet as CSV"
        ) from None
    return {
        str(name): [list(row) for row in zip(*map(_texts, frame.to_numpy().T), strict=True)]
        for name, frame in frames.items()
    }


def _texts(column: Any) -> list[str]:
    """Return the cells of a column as text; dates without a time if all times are midnight."""
    dates = [cell for cell in column if isinstance(cell, datetime)]
    days = all(date.time() == time() for date in dates)
    return [
        ""
        if cell is None
        else str(cell.date() if days and isinstance(cell, datetime) else cell).strip()
        for cell in column
    ]
