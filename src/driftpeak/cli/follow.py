"""`driftpeak follow`: learn from a log of choices and what they yielded."""

import json
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from driftpeak._core.errors import DriftpeakError
from driftpeak.cli import table_options
from driftpeak.cli.option_groups import bundled
from driftpeak.cli.options import Json, next_context_of
from driftpeak.cli.printing import note
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy
from driftpeak.cli.table_options import Blank, Dates, Decimal, Encoding, HeaderRows, Sheet


@dataclass(frozen=True)
class LogOptions:
    """Reading of the log."""

    choice: Annotated[
        str, typer.Option(help="Column of the choices: numbers such as prices, or names.")
    ]
    reward: Annotated[str, typer.Option(help="Column of what the choices yielded.")]
    time: Annotated[
        str | None,
        typer.Option(help="Column of the times; by default the lines are steps in their order."),
    ] = None
    propensity: Annotated[
        str | None,
        typer.Option(
            help="Column of the probability with which the choice was drawn, in (0, 1]; for more "
            "than 12 different numbers, its probability density."
        ),
    ] = None
    context: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a quantity known before each choice, such as the weekday; may be "
            "repeated."
        ),
    ] = None
    unordered: Annotated[
        bool, typer.Option("--unordered", help="Treat numbers in the choice column as names.")
    ] = False
    missing: Annotated[
        str, typer.Option(help="Treatment of lines with a blank cell: error or drop.")
    ] = "error"
    duplicates: Annotated[
        str, typer.Option(help="Treatment of lines that repeat another: keep, drop or error.")
    ] = "keep"
    dates: Dates = None
    decimal: Decimal = None
    encoding: Encoding = None
    blank: Blank = None
    header_rows: HeaderRows = 1
    sheet: Sheet = None


@dataclass(frozen=True)
class LearningOptions:
    """The meaning of choices and rewards."""

    minimize: Annotated[
        bool, typer.Option("--minimize", help="Minimise the rewards: they are costs.")
    ] = False
    unit: Annotated[str, typer.Option(help="Unit of the rewards, such as EUR.")] = ""
    low: Annotated[
        float | None, typer.Option(help="Smallest possible choice; default: in the log.")
    ] = None
    high: Annotated[
        float | None, typer.Option(help="Largest possible choice; default: in the log.")
    ] = None
    arms: Annotated[
        list[str] | None,
        typer.Option(help="A possible name that may not occur in the log; may be repeated."),
    ] = None
    randomised: Annotated[
        bool | None,
        typer.Option(
            help="Whether each choice was drawn uniformly at random; by default tested.",
        ),
    ] = None
    window: Annotated[
        int | None,
        typer.Option(help="Steps of the alternative 'best of the last steps'; default 5 per arm."),
    ] = None


ARGUMENTS = (
    *(each.name for each in (*fields(LogOptions), *fields(LearningOptions))),
    "next_context",
)


@bundled
def follow(
    log: Annotated[
        Path, typer.Argument(help="CSV, plain or .gz, .xlsx, .ods or Parquet: one line per step.")
    ],
    reading: LogOptions,
    learning: LearningOptions,
    next_context: Annotated[
        list[str] | None,
        typer.Option(
            help="Context of the next step: NAME=VALUE for each --context; by default the last one."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="File for a figure, such as log.png or log.svg.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Recommend a choice from a log of past choices, and evaluate alternative policies.

    The log has one line per step: what was chosen, and what it yielded.
    """
    try:
        coming = next_context_of(next_context)
        with busy(f"reading {log.name}"):
            from driftpeak.offline.logs._read import read_log

            content = read_log(log, **asdict(reading) | {"context": reading.context or ()})
        for text in content.notes:
            note(in_options(text))
        with busy("learning"):
            keep_programs()
            from driftpeak._core.files import check_writable, new_file
            from driftpeak.offline.logs import learn_from_log, log_figure

            if plot is not None:
                check_writable(plot.parent)
            given = asdict(learning) | {"arms": learning.arms or ()}
            report = learn_from_log(content, **given, next_context=coming)
    except DriftpeakError as error:
        raise type(error)(in_options(str(error))) from None
    if as_json:
        made_by = {"command": "follow", "driftpeak_version": version("driftpeak"), "log": str(log)}
        print(json.dumps({**made_by, **report.as_data()}, indent=2, allow_nan=False))
    else:
        print(in_options(str(report)))
    if plot is not None:
        kind = plot.suffix.lstrip(".") or "png"
        with new_file(plot) as part:
            log_figure(content, report, title=log.name).savefig(part, dpi=150, format=kind)
        note(f"Written to {plot}.")


def in_options(text: str) -> str:
    """Replace arguments of Python, as in `missing=drop`, by options of the command line."""
    return table_options.in_options(text, ARGUMENTS)
