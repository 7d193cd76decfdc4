"""Reading of a file in any supported format, which is recognised by its content."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from driftpeak._core.errors import at_least_integer
from driftpeak.offline.data._reading.csv_dialects import Sheet, read_sheet
from driftpeak.offline.data._reading.decoding import PARQUET, content_of, decoded
from driftpeak.offline.data._reading.parquet import read_parquet
from driftpeak.offline.data._reading.spreadsheets import is_spreadsheet, read_spreadsheet

MOST_HEADERS = 10


def read_cells(
    path: Path,
    encoding: str | None = None,
    *,
    blank: Sequence[str] | None = None,
    header_rows: int = 1,
    sheet: str | None = None,
    least: int = 2,
) -> Sheet:
    """Return the cells of a file.

    Arguments:
        path, encoding, blank, header_rows, sheet: as for `read_table`.
        least: least number of columns and of rows of a CSV file or spreadsheet.

    Raises:
        DataError: the file cannot be read, or is not a table.
        DriftpeakError: the path, the encoding or the sheet does not exist, the number of header
            rows is invalid, or a package is missing.
    """
    rows = at_least_integer("header_rows", header_rows, 1, MOST_HEADERS)
    read = _read(path, encoding, rows, sheet, least)
    if not blank:
        return read
    marks = {text.strip() for text in blank}
    return replace(read, cells=read.cells.map(lambda cell: "" if cell.strip() in marks else cell))


def _read(
    path: Path, encoding: str | None, header_rows: int, sheet: str | None, least: int
) -> Sheet:
    content = content_of(path)
    if content.startswith(PARQUET):
        return read_parquet(path, content)
    if is_spreadsheet(content):
        return read_spreadsheet(path, content, header_rows, sheet, least)
    return read_sheet(path, *decoded(path, content, encoding), header_rows, least=least)
