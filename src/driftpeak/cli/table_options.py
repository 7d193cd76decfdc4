"""Options for reading a file of recorded rewards, shared by several commands."""

from dataclasses import dataclass
from typing import Annotated

import typer


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
    dates: Annotated[
        str | None,
        typer.Option(
            help="Order of ambiguous dates such as 5/1/2026: day-first, month-first, or, with "
            "two-digit years, year-first."
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(help="Decimal separator of ambiguous numbers such as 1,234: point or comma."),
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Text encoding, such as cp1250; detected by default.")
    ] = None
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
            "the load; may be repeated.",
        ),
    ] = None
