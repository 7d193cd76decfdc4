"""`driftpeak plan`."""

import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpeak._core.errors import DriftpeakError, one_of
from driftpeak.cli.option_groups import bundled
from driftpeak.cli.options import Json
from driftpeak.cli.printing import note
from driftpeak.cli.spinner import busy
from driftpeak.cli.table_options import TableOptions, in_options, read

if TYPE_CHECKING:
    from driftpeak.theory.planner import Plan


@dataclass(frozen=True)
class Problem:
    """The properties of a problem that the regret bounds depend on."""

    kernel: Annotated[str, typer.Option(help="Kernel: se, matern or linear.")] = "se"
    nu: Annotated[float, typer.Option(help="Smoothness of the Matern kernel.")] = 2.5
    dimension: Annotated[int, typer.Option(help="Dimension of the domain.")] = 1
    horizon: Annotated[
        int | None,
        typer.Option(help="Number of steps T; with --data, its number of rows by default."),
    ] = None
    variation: Annotated[
        float | None,
        typer.Option(
            help="V_T: the sum over time of the largest change, in prior standard deviations."
        ),
    ] = None
    rkhs_variation: Annotated[
        float | None,
        typer.Option(
            help="P_T: the sum over time of the change's RKHS norm, at least V_T. The theorems of "
            "R-, SW- and W-GP-UCB need it. It also bounds V_T."
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
            help="Total number of allowed re-evaluations of the present function.", max=10**15
        ),
    ] = 0,
    data: Annotated[
        Path | None,
        typer.Option(
            help="CSV, time x arms, from which horizon, variation and drift are estimated if they "
            "are not given."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recommend a policy before the first step, from regret bounds and the tournament's results."""
    if problem.horizon is None and data is None:
        raise DriftpeakError(
            "the number of steps is required: give --horizon T, or --data FILE, whose rows count"
        )
    table = None
    if data is not None:
        with busy(f"reading {data.name}"):
            table = read(data, reading)
    with busy("loading"):
        from driftpeak.cli.plan_report import print_plan, summary

        result, estimated = _plan(problem, None if table is None else table.values, side_queries)
    notes = (*(table.notes if table else ()), *estimated)
    if as_json:
        made_by = {"command": "plan", "driftpeak_version": version("driftpeak")}
        print(json.dumps({**made_by, **summary(result), "notes": notes}, indent=2, allow_nan=False))
        return
    for text in notes:
        note(in_options(text))
    print_plan(result)


def _plan(problem: Problem, values: Any, side_queries: int) -> "tuple[Plan, tuple[str, ...]]":
    """Return the plan, and notes about what was estimated from recorded rewards, if given."""
    from driftpeak.gp.kernels import Linear
    from driftpeak.offline._policy_specs.settings import KERNELS, make_kernel
    from driftpeak.theory.planner import fill_in, plan
    from driftpeak.theory.setting import Setting

    name = one_of("kernel", problem.kernel, (*KERNELS, "linear"))
    kernel = Linear() if name == "linear" else make_kernel(name, problem.nu, lengthscale=1.0)
    horizon, variation, drift = problem.horizon, problem.variation, problem.drift
    estimated: tuple[str, ...] = ()
    if values is not None:
        given = problem.rkhs_variation if variation is None else variation
        horizon, estimate, drift, estimated = fill_in(values, horizon, given, drift)
        variation = estimate if given is None else variation
    assert horizon is not None  # the caller has checked
    setting = Setting(
        kernel,
        problem.dimension,
        horizon,
        variation,
        drift,
        problem.exponent,
        rkhs_variation=problem.rkhs_variation,
    )
    return plan(setting, side_queries=side_queries), estimated
