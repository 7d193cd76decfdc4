"""Summary statistics of a run: one row per policy."""

from dataclasses import dataclass

import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak.simulation._regrets import regrets_of, share_on_best, totals_of
from driftpeak.simulation._samples import standard_error


@dataclass(frozen=True)
class PolicyResult:
    """Summary statistics of one policy.

    Attributes:
        mean_regret: regret per step, averaged over trials.
        cumulative_regret: regret of all steps, averaged over trials.
        stderr: standard error of `mean_regret`.
        on_best: share of steps on a best arm.
        side_queries: mean number of answers by the expert in a trial.
        side_queries_per_step: the same per step.
        restarts: mean number of restarts in a trial.
        seconds: run time of all trials without compilation.
        compile_seconds: time of compilation.
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


@checked
def summarise(runs: xr.Dataset, *, independent_trials: bool) -> dict[str, PolicyResult]:
    """Return the statistics of every policy, lowest mean regret first.

    Arguments:
        runs: result of `simulate` or of a replay, with everything or summaries kept.
        independent_trials: whether trials are samples; False for one recorded history.
    """
    results, steps = {}, runs.sizes["step"]
    for name in map(str, runs["policy"].values):
        regret = regrets_of(runs, name, independent_trials=independent_trials)
        queries = float(totals_of(runs, "side_queries", name).mean())
        results[name] = PolicyResult(
            mean_regret=float(regret.mean()),
            cumulative_regret=float(regret.sum(axis=1).mean()) * (steps / regret.shape[1]),
            stderr=standard_error(regret, independent_trials=independent_trials),
            on_best=share_on_best(runs, name),
            side_queries=queries,
            restarts=float(totals_of(runs, "restarts", name).mean()),
            side_queries_per_step=queries / steps,
            seconds=float(runs["seconds"].sel(policy=name)),
            compile_seconds=float(runs["compile_seconds"].sel(policy=name)),
        )
    return dict(sorted(results.items(), key=lambda item: item[1].mean_regret))
