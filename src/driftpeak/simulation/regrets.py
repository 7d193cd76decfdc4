"""The numbers that runs are judged by, however the run was kept."""

import numpy as np
import xarray as xr

from driftpeak._core.errors import DriftpeakError
from driftpeak.simulation.aggregation import kept_of

Values = np.ndarray


def check_runs(runs: object) -> None:
    """Raise DriftpeakError for something that is no record of `simulate` or `replay`."""
    if isinstance(runs, xr.Dataset) and "foresight" in runs.variables:
        regrets = "total_regret" if kept_of(runs) == "summaries" else "regret"
        if regrets in runs.variables:
            return
    raise DriftpeakError("runs must be what simulate or replay gave, with regret and foresight")


def regrets_of(runs: xr.Dataset, policy: str, *, independent_trials: bool) -> Values:
    """A policy's regrets, shape `(trial, step)`, for means over samples (`samples.by_sample`).

    Of summaries one column with each trial's mean or, where trials are no samples, one row with the
    mean over trials at every step: they have the same samples.
    """
    if kept_of(runs) == "everything":
        return runs["regret"].sel(policy=policy).values
    if independent_trials:
        return runs["total_regret"].sel(policy=policy).values[:, None] / runs.sizes["step"]
    return runs["mean_regret"].sel(policy=policy).values[None]


def regret_so_far(runs: xr.Dataset, policy: str) -> Values:
    """Regret per step so far, R_t / t, mean over trials, shape `(step,)`."""
    if kept_of(runs) == "summaries":
        return runs["mean_regret_so_far"].sel(policy=policy).values
    average = runs["regret"].sel(policy=policy).cumsum("step") / runs["step"]
    return average.values.mean(axis=0)


def totals_of(runs: xr.Dataset, counts: str, policy: str) -> Values:
    """How often something happened in every trial, shape `(trial,)`.

    Arguments:
        counts: "side_queries" or "restarts".
    """
    if kept_of(runs) == "summaries":
        return runs[f"total_{counts}"].sel(policy=policy).values
    return runs[counts].sel(policy=policy).sum("step").values


def side_queries_by_step(runs: xr.Dataset, policy: str) -> Values:
    """Side queries, mean over trials, shape `(step,)`."""
    if kept_of(runs) == "summaries":
        return runs["mean_side_queries"].sel(policy=policy).values
    return runs["side_queries"].sel(policy=policy).mean("trial").values


def share_on_best(runs: xr.Dataset, policy: str) -> float:
    """Of all steps, how many were spent on a best point."""
    if kept_of(runs) == "summaries":
        steps = runs["best_steps"].sel(policy=policy).values
        return float(steps.sum() / (steps.size * runs.sizes["step"]))
    return float((runs["regret"].sel(policy=policy).values <= 0).mean())


def regret_unit(runs: xr.Dataset) -> str:
    """Of the reward, as the record says; "" if it is not known."""
    name = "mean_regret" if kept_of(runs) == "summaries" else "regret"
    return str(runs[name].attrs.get("units", ""))
