"""Statistics of a policy's choices: frequencies of arms, changes, and longest runs."""

from typing import Any

import numpy as np
import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown

LONGEST_RUNS = 5


def check_played(runs: xr.Dataset, policy: str) -> None:
    """Raise DriftpeakError unless these are runs of a replay with this policy."""
    if "arm" not in runs.coords or "rewards" not in runs:
        raise DriftpeakError("runs must be the result of driftpeak.offline.replay.replay")
    names = [str(name) for name in runs["policy"].values]
    if policy not in names:
        raise DriftpeakError(f"policy must be one of {', '.join(names)}; got {shown(policy)}")


@checked
def arms_over_time(runs: xr.Dataset, policy: str) -> dict[str, Any]:
    """Return statistics of a policy's choices over the rows.

    Arguments:
        runs: the result of `driftpeak.offline.replay.replay`.
        policy: the name of the policy.

    Returns:
        `share`: fraction of the steps of all trials for each chosen arm, largest first.
        `changes`: number of changes of the arm in the first trial.
        `longest_runs`: at most 5 longest runs on one arm in the first trial, as `arm`, `steps`, and
        first and last time, `begins` and `ends` (cells of the time column, or step numbers from 1).

    Raises:
        DriftpeakError: the runs are not of a replay, or the policy is not in them.
    """
    check_played(runs, policy)
    arms = [str(arm) for arm in runs["arm"].values]
    actions = runs["action"].sel(policy=policy).values
    shares = np.bincount(actions.ravel(), minlength=len(arms)) / actions.size
    order = np.argsort(-shares, kind="stable")
    first = actions[0]
    cuts = np.flatnonzero(np.diff(first)) + 1
    begins, ends = np.append(0, cuts), np.append(cuts, len(first))
    longest = np.argsort(begins - ends, kind="stable")[:LONGEST_RUNS]
    when = runs["label" if "label" in runs.coords else "step"].values
    return {
        "share": {arms[arm]: float(shares[arm]) for arm in order if shares[arm] > 0},
        "changes": len(cuts),
        "longest_runs": [
            {
                "arm": arms[first[begins[run]]],
                "steps": int(ends[run] - begins[run]),
                "begins": _plain(when[begins[run]]),
                "ends": _plain(when[ends[run] - 1]),
            }
            for run in longest
        ],
    }


def _plain(time: Any) -> int | str:
    return int(time) if isinstance(time, np.integer) else str(time)
