"""Options for reading a file of recorded rewards, shared by several commands."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpeak._core.errors import DriftpeakError

if TYPE_CHECKING:
    from driftpeak.offline.data import RewardTable


Dates = Annotated[
    str | None,
    typer.Option(
        help="Order of ambiguous dates such as 5/1/2026: day-first, month-first, or, with "
        "two-digit years, year-first."
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(help="Decimal separator of ambiguous numbers such as 1,234: point or comma."),
]
Encoding = Annotated[
    str | None, typer.Option(help="Text encoding, such as cp1250; detected by default.")
]
Blank = Annotated[
    list[str] | None,
    typer.Option(help="A further text of missing values, such as -; may be repeated."),
]
HeaderRows = Annotated[int, typer.Option(help="Number of header lines, whose cells are joined.")]
Sheet = Annotated[
    str | None, typer.Option(help="Sheet of a spreadsheet; by default the first with values.")
]


@dataclass(frozen=True)
class TableOptions:
    """The arguments of `driftpeak.offline.data.read_table`."""

    time_column: Annotated[
        str | None, typer.Option(help="Column of the times; by default recognised by its name.")
    ] = None
    missing: Annotated[
        str, typer.Option(help="Treatment of missing values: error, drop-arm or interpolate.")
    ] = "error"
    outliers: Annotated[
        str,
        typer.Option(
            help="Treatment of outliers, and of arms stuck at one value while others change: warn, "
            "error, blank (treat as missing) or keep (no check)."
        ),
    ] = "warn"
    dates: Dates = None
    decimal: Decimal = None
    encoding: Encoding = None
    index: Annotated[
        str | None,
        typer.Option(help="Column of the times in a long table (one line per time and arm)."),
    ] = None
    columns: Annotated[
        str | None, typer.Option(help="Column of the arms' names in a long table.")
    ] = None
    values: Annotated[str | None, typer.Option(help="Column of the rewards in a long table.")] = (
        None
    )
    context_columns: Annotated[
        list[str] | None,
        typer.Option(
            "--context-column",
            help="Column of a context, which is known before each decision, such as the weekday or "
            "the load; may be repeated. By default, text that repeats is a context.",
        ),
    ] = None
    blank: Blank = None
    header_rows: HeaderRows = 1
    sheet: Sheet = None


TABLE_ARGUMENTS = tuple(each.name for each in fields(TableOptions))
OTHER_NAMES = {"context_columns": "context_column"}
"""Names of options that differ from the names of the arguments."""


def read(data: Any, reading: TableOptions) -> "RewardTable":
    """Return the table of a file; messages name the options of the command line."""
    from driftpeak.offline.data import read_table

    try:
        return read_table(data, **asdict(reading))
    except DriftpeakError as error:
        raise type(error)(in_options(str(error))) from None


def in_options(text: str, arguments: Iterable[str] = TABLE_ARGUMENTS) -> str:
    """Replace arguments of Python, as in `missing=interpolate`, by options of the command line."""

    def option(found: re.Match[str]) -> str:
        name = OTHER_NAMES.get(found["name"], found["name"]).replace("_", "-")
        value = (found["value"] or "").strip('"')
        return f"--{name}" + (f" {shlex.quote(value)}" if value else "")

    name = rf"(?P<name>{'|'.join(arguments)})"
    text = re.sub(rf"(?<![\w-]){name}=(?P<value>\"[^\"]*\"|[\w-]+)?", option, text)
    return re.sub(rf"^{name}(?P<value>)(?= must )", option, text)
