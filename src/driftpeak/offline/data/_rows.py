"""Reading of a table of settings, or of settings with observations, from a file."""

from pathlib import Path
from typing import Any

from driftpeak._core.errors import DriftpeakError
from driftpeak.offline.data._reading.csv_dialects import Sheet
from driftpeak.offline.data._reading.formats import read_cells
from driftpeak.offline.data._reading.numbers import NotANumberError, is_blank, is_number, numbers
from driftpeak.offline.data._reading.timestamps import read_stamps

TRUTH = {"true": True, "false": False}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV file, a spreadsheet or a Parquet file, without blank cells.

    Dates in a column `time` become datetimes, and "true" and "false" Booleans. Whole numbers become
    integers, which are also valid real numbers. Columns with other cells are texts.

    Raises:
        DataError: the file cannot be read, or the meaning of a number or a date is ambiguous.
    """
    sheet = read_cells(path, least=1)
    columns = {name: _values(sheet, name) for name in sheet.names}
    return [
        {name: values[row] for name, values in columns.items() if values[row] is not None}
        for row in range(len(sheet.rows))
    ]


def _values(sheet: Sheet, name: str) -> list[Any]:
    """Return the values of a column, with None for blank cells."""
    cells = [cell.strip() for cell in sheet.cells[name]]
    blank = list(map(is_blank, cells))
    if name == "time" and (instants := read_stamps(sheet, name).instants) is not None:
        values: list[Any] = instants.astype("datetime64[us]").tolist()
    elif all(map(is_number, cells)):
        try:
            frame, _ = numbers(sheet.cells[[name]])
        except NotANumberError as error:
            raise DriftpeakError(
                f"{sheet.path}, {sheet.rows[error.row]}, column {name}: {error.why}"
            ) from None
        values = [
            int(value) if value.is_integer() else value
            for value in frame.to_numpy(dtype=float)[:, 0].tolist()
        ]
    else:
        values = [TRUTH.get(cell.lower(), cell) for cell in cells]
    return [None if empty else value for empty, value in zip(blank, values, strict=True)]
