"""How a file of recorded rewards is read: the options of every command that reads one."""

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class TableOptions:
    """The arguments of `driftpeak.offline.data.read_table`."""

    time_column: Annotated[
        str | None, typer.Option(help="Column that holds the times; by default found by its name.")
    ] = None
    missing: Annotated[
        str, typer.Option(help="What to do about blanks: error, drop-arm or interpolate.")
    ] = "error"
    outliers: Annotated[
        str,
        typer.Option(
            help="What to do about values far outside everything else, and arms stuck at one value "
            "while others move: warn, error, blank (they count as missing) or keep (say nothing)."
        ),
    ] = "warn"
    dates: Annotated[
        str | None,
        typer.Option(
            help="Where 5/1/2026 could be either: day-first, month-first, or, with years of two "
            "digits, year-first."
        ),
    ] = None
    decimal: Annotated[
        str | None, typer.Option(help="Where 1,234 could be either: point or comma.")
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Of the text, such as cp1250; by default found out.")
    ] = None
    index: Annotated[
        str | None,
        typer.Option(help="Of a long table, a line per time and arm: the times' column."),
    ] = None
    columns: Annotated[
        str | None, typer.Option(help="Of a long table: the column of the arms' names.")
    ] = None
    values: Annotated[
        str | None, typer.Option(help="Of a long table: the column of the rewards.")
    ] = None
    context_columns: Annotated[
        list[str] | None,
        typer.Option(
            "--context-column",
            help="No arm, but what is known before each decision, as the weekday or the load; "
            "repeat for more.",
        ),
    ] = None
