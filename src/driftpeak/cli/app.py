"""The command line, but for `data` and `live`. Thin: parse, call, print."""

import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from driftpeak.cli import play
from driftpeak.cli.data import data_app
from driftpeak.cli.live import live_app
from driftpeak.cli.options import Json
from driftpeak.cli.policy_help import CommandWithPolicies
from driftpeak.cli.printing import note
from driftpeak.cli.reproduce import reproduce
from driftpeak.errors import DriftpeakError, DriftpeakWarning

# The rest of the package is imported where it is used: `--help` and mistakes answer at once.

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")
app.add_typer(live_app, name="live")

app.command()(play.demo)
app.command(cls=CommandWithPolicies)(play.replay)
app.command(cls=CommandWithPolicies)(play.compare)
app.command()(reproduce)


def main() -> None:
    """Entry point: a mistake in the input is one line on the error output, and exit code 2."""
    warnings.showwarning = _show_warning
    try:
        app()
    except DriftpeakError as error:
        print(f"driftpeak: {error}", file=sys.stderr)
        sys.exit(2)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """One line without the place in our code, which says nothing to a user."""
    name = "driftpeak" if issubclass(category, DriftpeakWarning) else category.__name__
    print(f"{name}: {message}", file=sys.stderr)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(version("driftpeak"))
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Follow the peak of a function that keeps moving."""


@app.command()
def plan(
    kernel: Annotated[str, typer.Option(help="se or matern.")] = "se",
    nu: Annotated[float, typer.Option(help="Smoothness of the Matern kernel.")] = 2.5,
    dimension: Annotated[int, typer.Option(help="Of the domain.")] = 1,
    horizon: Annotated[
        int | None, typer.Option(help="Steps T; with --data by default its number of rows.")
    ] = None,
    variation: Annotated[
        float | None,
        typer.Option(help="V_T: the sum over time of the largest change, in prior deviations."),
    ] = None,
    drift: Annotated[
        float | None, typer.Option(help="Epsilon of Markov drift per step, in [0, 1].")
    ] = None,
    exponent: Annotated[
        float | None,
        typer.Option(help="Alpha of uncertainty injection: noise grows as 1 + age^alpha."),
    ] = None,
    side_queries: Annotated[
        int, typer.Option(help="Re-evaluations of the present function that may be made in all.")
    ] = 0,
    data: Annotated[
        Path | None,
        typer.Option(help="CSV, time x arms: estimates horizon, variation and drift not given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """What theory says before the first step: every policy, its parameters, and which to take."""
    from driftpeak.cli.plan_report import print_plan, summary
    from driftpeak.named.settings import make_kernel
    from driftpeak.theory.planner import fill_in
    from driftpeak.theory.planner import plan as make_plan
    from driftpeak.theory.rates import Setting

    made = make_kernel(kernel, nu, lengthscale=1.0)
    notes: tuple[str, ...] = ()
    if data is not None:
        from driftpeak.data import read_table

        table = read_table(data)
        horizon, variation, drift, estimated = fill_in(table.values, horizon, variation, drift)
        notes = (*table.notes, *estimated)
    if horizon is None:
        raise DriftpeakError("give --horizon T, the number of steps, or --data FILE")
    setting = Setting(made, dimension, horizon, variation, drift, exponent)
    result = make_plan(setting, side_queries=side_queries)
    if as_json:
        made_by = {"command": "plan", "driftpeak_version": version("driftpeak")}
        print(json.dumps({**made_by, **summary(result), "notes": notes}, indent=2, allow_nan=False))
        return
    for text in notes:
        note(text)
    print_plan(result)
