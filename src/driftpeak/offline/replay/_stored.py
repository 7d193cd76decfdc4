"""Conversion of a replayed policy to a policy file for `driftpeak live`."""

import dataclasses

import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.live._policy_file import StoredPolicy
from driftpeak.offline._policy_specs.policies import make_policy, make_width
from driftpeak.offline.data import RewardTable
from driftpeak.offline.replay._players import WITHOUT_CONTEXTS, learned_for
from driftpeak.offline.replay._prior import prior_from_history


@checked
def policy_for_live(table: RewardTable, runs: xr.Dataset, name: str) -> StoredPolicy:
    """Return a replayed policy for a live study that starts after the last row of the table.

    The policy is the one of the replay, but its prior and the estimates of `auto` and `timetable`
    come from all rows. The row after the last is at time 1, so that a study counts its steps from
    there. Parameters from `fit` are kept.

    Arguments:
        table: the replayed table.
        runs: the result of `driftpeak.offline.replay.replay` for it.
        name: the name of one of its policies.

    Raises:
        DriftpeakError: the policy is unknown, needs the true function, uses the contexts of the
            table (a live study gets them with every `ask`), or cannot be stored.
    """
    names = [str(policy) for policy in runs["policy"].values]
    if name not in names:
        raise DriftpeakError(f"name must be one of {', '.join(names)}; got {shown(name)}")
    if name + WITHOUT_CONTEXTS in names:
        raise DriftpeakError(
            f"{name} uses the contexts of the table, which a stored policy does not support. "
            "Create a live study on a space with space.context(...), or use "
            f"{name + WITHOUT_CONTEXTS!r}."
        )
    place, minimize = names.index(name), bool(runs.attrs["minimize"])
    text, steps = runs.attrs["policies"].split("\n")[place], runs.sizes["step"]
    noise = float(runs.attrs["noise_variance"])
    sign = -1.0 if minimize else 1.0
    table = dataclasses.replace(table, values=sign * table.values + 0.0)
    prior = prior_from_history(
        table.values, table.arms, noise_variance=noise, mean=runs.attrs["mean"]
    )
    # unless the noise variance was given, learned_for estimates it
    given = noise if runs.attrs["noise_given"] else None
    learned = learned_for([text], table, given)
    width = make_width(runs.attrs["width"], prior, steps)
    policy = make_policy(text, prior, width, steps, learned)
    return StoredPolicy.of(policy, prior.domain, maximize=not minimize, name=name)
