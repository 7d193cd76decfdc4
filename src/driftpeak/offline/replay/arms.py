"""Which arms a policy followed through the rows: how much of the time, and how long on end."""

from typing import Any

import numpy as np
import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown

LONGEST_RUNS = 5


def check_played(runs: xr.Dataset, policy: str) -> None:
    """Raise DriftpeakError unless these are runs of a replay in which the policy played."""
    if "arm" not in runs.coords or "rewards" not in runs:
        raise DriftpeakError("runs must be what driftpeak.offline.replay.replay returned")
    names = [str(one) for one in runs["policy"].values]
    if policy not in names:
        raise DriftpeakError(f"policy must be one of {', '.join(names)}; got {shown(policy)}")


@checked
def arms_over_time(runs: xr.Dataset, policy: str) -> dict[str, Any]:
    """A policy's arms through the played rows.

    Arguments:
        runs: as `driftpeak.offline.replay.replay` gives them.
        policy: its name there.

    Returns:
        `share`: of the steps of all trials, by arm, largest first, arms never chosen left out.
        `changes`: how often, in the first trial, another arm was chosen than the step before.
        `longest_runs`: the longest stretches of the first trial on one arm, at most 5, as `arm`,
        `steps`, and their first and last time, `begins` and `ends` (the time column's cells, or the
        numbers of steps from 1).

    Raises:
        DriftpeakError: runs that are no replay, or a policy that did not play.
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
                "arm": arms[first[begins[one]]],
                "steps": int(ends[one] - begins[one]),
                "begins": _plain(when[begins[one]]),
                "ends": _plain(when[ends[one] - 1]),
            }
            for one in longest
        ],
    }


def _plain(time: Any) -> int | str:
    return int(time) if isinstance(time, np.integer) else str(time)
