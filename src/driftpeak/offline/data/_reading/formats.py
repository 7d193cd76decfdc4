"""Reading of a file in any supported format, which is recognised by its content."""

from pathlib import Path

from driftpeak.offline.data._reading.csv_dialects import Sheet, read_sheet
from driftpeak.offline.data._reading.decoding import PARQUET, content_of, decoded
from driftpeak.offline.data._reading.parquet import read_parquet
from driftpeak.offline.data._reading.spreadsheets import is_spreadsheet, read_spreadsheet


def read_cells(
    path: Path, encoding: str | None, *, header_rows: int = 1, sheet: str | None = None
) -> Sheet:
    """Return the cells of a CSV or Parquet file, or of a sheet of a spreadsheet.

    Raises:
        DataError: the file cannot be read, or is not a table.
        DriftpeakError: the path, the encoding or the sheet does not exist, or a package is missing.
    """
    content = content_of(path)
    if content.startswith(PARQUET):
        return read_parquet(path, content)
    if is_spreadsheet(content):
        return read_spreadsheet(path, content, header_rows, sheet)
    return read_sheet(path, *decoded(path, content, encoding), header_rows)
