"""`reproduce`: the papers' experiments and the tournament."""

import json
from pathlib import Path
from typing import Annotated

import typer

from driftpeak.cli.options import MOST_TRIALS, MOST_WORKERS, Json, Output, Overwrite, Seed
from driftpeak.cli.printing import note, print_claims, print_experiments
from driftpeak.errors import DriftpeakError

DEFAULT_WORKERS = 2


def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments, see --list; all: of the papers; simulated: without data.",
            metavar="ID...",
        ),
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    trials: Annotated[
        int | None,
        typer.Option(help="Of every case; by default as many as in the paper.", max=MOST_TRIALS),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the trials.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes that share the work; 2 by default.", max=MOST_WORKERS),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://HOST:PORT",
            help="Scheduler of a dask cluster whose workers share the work instead.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data files, by default that of `driftpeak data`."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Judge and draw again the results kept in this folder."),
    ] = None,
    seed: Seed = 0,
    output: Output = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """The papers' experiments at full size, and whether their claims hold.

    A run that was interrupted is taken up again by the same command with the same --output.
    """
    from driftpeak.experiments.running import registry, reproduce, runner
    from driftpeak.experiments.running.workers import cluster_workers, local_workers

    if show_list:
        print_experiments(registry.EXPERIMENTS.values())
        return
    tell = (lambda _: None) if as_json else print_claims
    if source is not None:
        if ids or trials or quick or output or overwrite or workers or cluster:
            raise DriftpeakError("--from DIR draws what DIR holds, there: give nothing else")
        result = reproduce.redraw(source, tell=tell)
    else:
        if not ids:
            raise DriftpeakError(
                "name an experiment, or all, or simulated (all that need no data); see "
                "driftpeak reproduce --list"
            )
        if quick and trials is not None:
            raise DriftpeakError("give either --trials or --quick")
        if overwrite and output is None:
            raise DriftpeakError("--overwrite needs --output DIR")
        if workers is not None and cluster is not None:
            raise DriftpeakError(
                "give either --workers N (processes here) or --cluster; a cluster has as many "
                "workers as were started with `dask worker`"
            )
        chosen = registry.find(ids)
        plan = runner.Plan(trials=trials, quick=quick, seed=seed, data=data)
        try:
            with (
                local_workers(DEFAULT_WORKERS if workers is None else workers)
                if cluster is None
                else cluster_workers(cluster)
            ) as executor:
                result = reproduce.reproduce(
                    chosen, plan, output=output, overwrite=overwrite, executor=executor, tell=tell
                )
        except KeyboardInterrupt:
            kept = f"; the same command goes on where it stopped ({output})" if output else ""
            raise DriftpeakError(f"interrupted{kept}") from None
    if as_json:
        print(json.dumps(result, indent=2, allow_nan=False))
    if output or source:
        note(f"Written to {output or source}/: ID.nc, ID.png, summary.json, report.html.")
    elif not as_json:
        note("Nothing written: --output DIR keeps results, pictures and report.html.")
