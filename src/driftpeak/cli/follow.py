"""`driftpeak follow`: learn from a log of choices and what they yielded."""

import json
import re
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.cli.options import Json
from driftpeak.cli.printing import note
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy

OPTIONS = (
    *("choice", "reward", "time", "propensity", "context", "unordered", "missing", "duplicates"),
    *("dates", "decimal", "encoding", "blank", "header_rows", "sheet", "minimize", "low", "high"),
    *("arms", "randomised", "window"),
    "next_context",
)


def follow(
    log: Annotated[
        Path, typer.Argument(help="CSV, plain or .gz, .xlsx, .ods or Parquet: one line per step.")
    ],
    choice: Annotated[
        str, typer.Option(help="Column of the choices: numbers such as prices, or names.")
    ],
    reward: Annotated[str, typer.Option(help="Column of what the choices yielded.")],
    time: Annotated[
        str | None,
        typer.Option(help="Column of the times; by default the lines are steps in their order."),
    ] = None,
    propensity: Annotated[
        str | None,
        typer.Option(
            help="Column of the probability with which the choice was drawn, in (0, 1]; for more "
            "than 12 different numbers, its probability density."
        ),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a quantity known before each choice, such as the weekday; may be "
            "repeated."
        ),
    ] = None,
    next_context: Annotated[
        list[str] | None,
        typer.Option(
            help="Context of the next step: NAME=VALUE for each --context; by default the last one."
        ),
    ] = None,
    minimize: Annotated[
        bool, typer.Option("--minimize", help="Minimise the rewards: they are costs.")
    ] = False,
    unit: Annotated[str, typer.Option(help="Unit of the rewards, such as EUR.")] = "",
    low: Annotated[
        float | None, typer.Option(help="Smallest possible choice; default: in the log.")
    ] = None,
    high: Annotated[
        float | None, typer.Option(help="Largest possible choice; default: in the log.")
    ] = None,
    arms: Annotated[
        list[str] | None,
        typer.Option(help="A possible name that may not occur in the log; may be repeated."),
    ] = None,
    unordered: Annotated[
        bool, typer.Option("--unordered", help="Treat numbers in the choice column as names.")
    ] = False,
    randomised: Annotated[
        bool | None,
        typer.Option(
            help="Whether each choice was drawn uniformly at random; by default tested.",
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(help="Steps of the alternative 'best of the last steps'; default 5 per arm."),
    ] = None,
    missing: Annotated[
        str, typer.Option(help="Treatment of lines with a blank cell: error or drop.")
    ] = "error",
    duplicates: Annotated[
        str, typer.Option(help="Treatment of lines that repeat another: keep, drop or error.")
    ] = "keep",
    dates: Annotated[
        str | None,
        typer.Option(help="Order of ambiguous dates: day-first, month-first or year-first."),
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="Decimal separator of ambiguous numbers: point or comma.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Text encoding, such as cp1250; detected by default.")
    ] = None,
    blank: Annotated[
        list[str] | None,
        typer.Option(help="A further text of missing values, such as -; may be repeated."),
    ] = None,
    header_rows: Annotated[
        int, typer.Option(help="Number of header lines, whose cells are joined.")
    ] = 1,
    sheet: Annotated[
        str | None, typer.Option(help="Sheet of a spreadsheet; by default the first with values.")
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
        coming = _pairs(next_context)
        with busy(f"reading {log.name}"):
            from driftpeak.offline.logs._read import read_log

            content = read_log(
                log,
                choice=choice,
                reward=reward,
                time=time,
                propensity=propensity,
                context=context or (),
                unordered=unordered,
                missing=missing,  # type: ignore[arg-type]  # checked there
                duplicates=duplicates,  # type: ignore[arg-type]
                dates=dates,  # type: ignore[arg-type]
                decimal=decimal,  # type: ignore[arg-type]
                encoding=encoding,
                blank=blank,
                header_rows=header_rows,
                sheet=sheet,
            )
        for text in content.notes:
            note(in_options(text))
        with busy("learning"):
            keep_programs()
            from driftpeak._core.files import check_writable, new_file
            from driftpeak.offline.logs import learn_from_log, log_figure

            if plot is not None:
                check_writable(plot.parent)
            report = learn_from_log(
                content,
                minimize=minimize,
                unit=unit,
                low=low,
                high=high,
                arms=arms or (),
                randomised=randomised,
                window=window,
                next_context=coming,
            )
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

    def option(found: re.Match[str]) -> str:
        name, value = found["name"].replace("_", "-"), (found["value"] or "").strip('"')
        return f"--{name} {shlex.quote(value)}" if value else f"--{name}"

    names = "|".join(OPTIONS)
    text = re.sub(rf"(?<![\w-])(?P<name>{names})=(?P<value>\"[^\"]*\"|[\w-]+)?", option, text)
    return re.sub(rf"^(?P<name>{names})(?P<value>)(?= must )", option, text)


def _pairs(given: list[str] | None) -> dict[str, float | str] | None:
    """Return the values of NAME=VALUE by name."""
    pairs: dict[str, float | str] = {}
    for text in given or ():
        name, sign, value = (part.strip() for part in text.partition("="))
        if not (name and sign and value):
            raise DriftpeakError(
                f"next_context must be NAME=VALUE, such as weekday=Mo; got {shown(text)}"
            )
        pairs[name] = value
    return pairs or None
