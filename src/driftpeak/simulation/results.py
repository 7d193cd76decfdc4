"""What a run says in numbers: one row per policy."""

from dataclasses import dataclass

import xarray as xr

from driftpeak.simulation.samples import standard_error


@dataclass(frozen=True)
class PolicyResult:
    """One policy's figures.

    `mean_regret` and `cumulative_regret` are averages over trials, `stderr` the standard error of
    `mean_regret`, `on_best` the share of steps spent on a best arm, `side_queries` what the expert
    answered in a whole trial, `seconds` the run time of all trials played, without compilation.
    """

    mean_regret: float
    cumulative_regret: float
    stderr: float
    on_best: float
    side_queries: float
    side_queries_per_step: float
    restarts: float
    seconds: float
    compile_seconds: float


def summarise(runs: xr.Dataset, *, independent_trials: bool) -> dict[str, PolicyResult]:
    """Every policy's figures, best first."""
    results = {}
    for name in map(str, runs["policy"].values):
        run = runs.sel(policy=name)
        regret = run["regret"].values
        results[name] = PolicyResult(
            mean_regret=float(regret.mean()),
            cumulative_regret=float(regret.sum(axis=1).mean()),
            stderr=standard_error(regret, independent_trials=independent_trials),
            on_best=float((regret <= 0).mean()),
            side_queries=float(run["side_queries"].sum("step").mean()),
            restarts=float(run["restarts"].sum("step").mean()),
            side_queries_per_step=float(run["side_queries"].mean()),
            seconds=float(run["seconds"]),
            compile_seconds=float(run["compile_seconds"]),
        )
    return dict(sorted(results.items(), key=lambda item: item[1].mean_regret))
