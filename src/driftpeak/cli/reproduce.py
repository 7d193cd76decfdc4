"""`driftpeak reproduce`: the papers' experiments and the tournament."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftpeak._core.errors import DriftpeakError
from driftpeak.cli.executor_options import Workers, compile_soon, one_core_each
from driftpeak.cli.option_groups import bundled
from driftpeak.cli.options import MOST_TRIALS, Results, Seed
from driftpeak.cli.printing import note, print_claims, print_experiments
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy

if TYPE_CHECKING:
    from driftpeak.experiments.running.reproduce import Report

DEFAULT_WORKERS = 2


@dataclass(frozen=True)
class Size:
    """The size of a run, and its data."""

    trials: Annotated[
        int | None,
        typer.Option(
            help="Trials of each case; by default as many as in the paper.", max=MOST_TRIALS
        ),
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="Run few trials, and shorten long runs.")
    ] = False
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data files; by default the one of `driftpeak data`."),
    ] = None
    seed: Seed = 0


@bundled
def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of experiments (see --list); all: every experiment of the papers; "
            "simulated: all that need no data.",
            metavar="ID...",
        ),
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Evaluate and draw the results stored in this folder again."),
    ] = None,
    *,
    size: Size,
    workers: Workers,
    results: Results,
) -> None:
    """Run the papers' experiments at full size, and test their claims.

    The same command with the same --output resumes an interrupted run.
    """
    one_core_each()
    if size.quick:
        compile_soon()
    with busy("loading"):
        if not show_list and source is None:
            keep_programs()  # before JAX is loaded
        from driftpeak.experiments.running import registry
        from driftpeak.experiments.running.reproduce import redraw
    if show_list:
        print_experiments(registry.EXPERIMENTS.values())
        return
    report: Report = (lambda _: None) if results.as_json else print_claims
    if source is None:
        result = _run(ids, size, workers, results, report)
    elif ids or results.output or results.overwrite or (size, workers) != (Size(), Workers()):
        raise DriftpeakError(
            "--from DIR reads the results in DIR and writes to DIR. Omit all other options except "
            "--json."
        )
    else:
        result = redraw(source, report=report)
    if results.as_json:
        print(json.dumps(result, indent=2, allow_nan=False))
    if results.output or source:
        note(f"Written to {results.output or source}/: ID.nc, ID.png, summary.json, report.html.")
    elif not results.as_json:
        note("Nothing written: --output DIR writes results, figures and report.html.")


def _run(
    ids: list[str] | None, size: Size, workers: Workers, results: Results, report: "Report"
) -> dict[str, object]:
    from driftpeak.experiments.running import registry, reproduce, runner

    if not ids:
        raise DriftpeakError(
            "ID is required: the name of an experiment, all, or simulated (all that need no data); "
            "see driftpeak reproduce --list"
        )
    if size.quick and size.trials is not None:
        raise DriftpeakError("--trials and --quick exclude each other; give one of them")
    if results.overwrite and results.output is None:
        raise DriftpeakError("--overwrite needs --output DIR")
    chosen, run_size = registry.find(ids), runner.RunSize(**asdict(size))
    output, overwrite = results.output, results.overwrite
    try:
        with workers.start(DEFAULT_WORKERS) as executor:
            return reproduce.reproduce(
                chosen,
                run_size,
                output=output,
                overwrite=overwrite,
                executor=executor,
                report=report,
            )
    except KeyboardInterrupt:
        resumed = f"; repeat the command to resume from {output}" if output else ""
        raise DriftpeakError(f"interrupted{resumed}") from None
