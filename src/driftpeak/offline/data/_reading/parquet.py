"""Reading of tables from Parquet files, which needs pyarrow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from driftpeak._core.errors import DataError, DriftpeakError
from driftpeak._core.extras import message
from driftpeak.offline.data._reading.csv_dialects import Sheet


def read_parquet(path: Path, content: bytes) -> Sheet:
    """Return the cells of a Parquet table as text; an index written by pandas is the first column.

    Raises:
        DataError: the content is damaged, or there are fewer than two rows or columns.
        DriftpeakError: pyarrow is not installed.
    """
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except ImportError:
        raise DriftpeakError(
            f"{path}: is a Parquet file; {message('pyarrow')}, or save the table as CSV"
        ) from None
    except Exception as error:  # pyarrow raises errors of many classes
        first = str(error).partition("\n")[0]
        raise DataError(
            f"{path}: the Parquet data are damaged ({first}); fetch or write the file again"
        ) from None
    if frame.index.name is not None or isinstance(frame.index, pd.DatetimeIndex):
        frame = frame.reset_index(names=frame.index.name or "time")
    rows, columns = frame.shape
    if columns < 2 or rows < 2:
        raise DataError(
            f"{path}: a table must have at least two rows and columns; got {rows} rows and "
            f"{columns} columns"
        )
    names = [str(name).strip() for name in frame.columns]
    places = [f"row {row}" for row in range(1, rows + 1)]
    texts = zip(*([_text(cell) for cell in frame.iloc[:, i]] for i in range(columns)), strict=True)
    return Sheet.of(path, "the header", names, places, list(texts), [])


def _text(cell: Any) -> str:
    """Return a cell as text, as in a CSV file."""
    import pandas as pd

    if cell is None or cell is pd.NA or cell is pd.NaT:
        return ""
    return str(cell)
