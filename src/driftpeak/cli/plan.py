"""`driftpeak plan`."""

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from driftpeak.cli.bundles import bundled
from driftpeak.cli.options import Json
from driftpeak.cli.printing import note
from driftpeak.cli.reading import TableOptions
from driftpeak.errors import DriftpeakError


@dataclass(frozen=True)
class Problem:
    """What theory asks of a problem."""

    kernel: Annotated[str, typer.Option(help="se or matern.")] = "se"
    nu: Annotated[float, typer.Option(help="Smoothness of the Matern kernel.")] = 2.5
    dimension: Annotated[int, typer.Option(help="Of the domain.")] = 1
    horizon: Annotated[
        int | None,
        typer.Option(help="Steps T; with --data by default its number of rows."),
    ] = None
    variation: Annotated[
        float | None,
        typer.Option(help="V_T: the sum over time of the largest change, in prior deviations."),
    ] = None
    rkhs_variation: Annotated[
        float | None,
        typer.Option(
            help="P_T: the sum over time of the change's RKHS norm, at least V_T; what R-, SW- and "
            "W-GP-UCB's theorems need. It also bounds V_T."
        ),
    ] = None
    drift: Annotated[
        float | None, typer.Option(help="Epsilon of Markov drift per step, in [0, 1].")
    ] = None
    exponent: Annotated[
        float | None,
        typer.Option(help="Alpha of uncertainty injection: noise grows as 1 + age^alpha."),
    ] = None


@bundled
def plan(
    problem: Problem,
    reading: TableOptions,
    side_queries: Annotated[
        int,
        typer.Option(
            help="Re-evaluations of the present function that may be made in all.", max=10**15
        ),
    ] = 0,
    data: Annotated[
        Path | None,
        typer.Option(help="CSV, time x arms: estimates horizon, variation and drift not given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """What theory and the tournament say before the first step: every policy, and which to take."""
    from driftpeak.cli.plan_report import print_plan, summary
    from driftpeak.named.settings import make_kernel
    from driftpeak.theory.planner import fill_in
    from driftpeak.theory.planner import plan as make_plan
    from driftpeak.theory.setting import Setting

    kernel = make_kernel(problem.kernel, problem.nu, lengthscale=1.0)
    horizon, variation, drift = problem.horizon, problem.variation, problem.drift
    notes: tuple[str, ...] = ()
    if data is not None:
        from driftpeak.data import read_table

        table = read_table(data, **asdict(reading))
        given = problem.rkhs_variation if variation is None else variation
        horizon, found, drift, estimated = fill_in(table.values, horizon, given, drift)
        variation = found if given is None else variation
        notes = (*table.notes, *estimated)
    if horizon is None:
        raise DriftpeakError("give --horizon T, the number of steps, or --data FILE")
    setting = Setting(
        kernel,
        problem.dimension,
        horizon,
        variation,
        drift,
        problem.exponent,
        rkhs_variation=problem.rkhs_variation,
    )
    result = make_plan(setting, side_queries=side_queries)
    if as_json:
        made_by = {"command": "plan", "driftpeak_version": version("driftpeak")}
        print(json.dumps({**made_by, **summary(result), "notes": notes}, indent=2, allow_nan=False))
        return
    for text in notes:
        note(text)
    print_plan(result)
