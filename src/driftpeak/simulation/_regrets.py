"""Regrets and counts of a run, recorded with everything or with summaries."""

import numpy as np
import xarray as xr

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.simulation._aggregation import kept_of

Values = np.ndarray


def check_runs(runs: object) -> None:
    """Raise DriftpeakError if the argument is not a result of `simulate` or `replay`."""
    if isinstance(runs, xr.Dataset) and "foresight" in runs.variables:
        regrets = "total_regret" if kept_of(runs) == "summaries" else "regret"
        if regrets in runs.variables:
            return
    raise DriftpeakError(
        "runs must be a result of simulate or replay, with the variables regret and foresight; "
        f"got {shown(runs)}"
    )


def regrets_of(runs: xr.Dataset, policy: str, *, independent_trials: bool) -> Values:
    """Return a policy's regrets, shape `(trial, step)`, for means over samples.

    For summaries, the result is one column with the mean of each trial. If trials are not
    independent, it is one row with the mean over trials at every step. `samples.by_sample` gives
    the same samples for both as for everything.
    """
    if kept_of(runs) == "everything":
        return runs["regret"].sel(policy=policy).values
    if independent_trials:
        return runs["total_regret"].sel(policy=policy).values[:, None] / runs.sizes["step"]
    return runs["mean_regret"].sel(policy=policy).values[None]


def regret_so_far(runs: xr.Dataset, policy: str) -> Values:
    """Return the regret per step so far, R_t / t, mean over trials, shape `(step,)`."""
    if kept_of(runs) == "summaries":
        return runs["mean_regret_so_far"].sel(policy=policy).values
    average = runs["regret"].sel(policy=policy).cumsum("step") / runs["step"]
    return average.values.mean(axis=0)


def totals_of(runs: xr.Dataset, counts: str, policy: str) -> Values:
    """Return the total count of an event in every trial, shape `(trial,)`.

    Arguments:
        counts: "side_queries" or "restarts".
    """
    if kept_of(runs) == "summaries":
        return runs[f"total_{counts}"].sel(policy=policy).values
    return runs[counts].sel(policy=policy).sum("step").values


def side_queries_by_step(runs: xr.Dataset, policy: str) -> Values:
    """Return the side queries of every step, mean over trials, shape `(step,)`."""
    if kept_of(runs) == "summaries":
        return runs["mean_side_queries"].sel(policy=policy).values
    return runs["side_queries"].sel(policy=policy).mean("trial").values


def share_on_best(runs: xr.Dataset, policy: str) -> float:
    """Return the share of all steps that were spent on a best point."""
    if kept_of(runs) == "summaries":
        steps = runs["best_steps"].sel(policy=policy).values
        return float(steps.sum() / (steps.size * runs.sizes["step"]))
    return float((runs["regret"].sel(policy=policy).values <= 0).mean())


def regret_unit(runs: xr.Dataset) -> str:
    """Return the unit of the reward in the record, or "" if it is not known."""
    name = "mean_regret" if kept_of(runs) == "summaries" else "regret"
    return str(runs[name].attrs.get("units", ""))
