"""The policy that did best, made for the time after the table: for `driftpeak live`."""

import dataclasses

import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.live.policy_file import StoredPolicy
from driftpeak.offline.data import RewardTable
from driftpeak.offline.policy_specs.policies import make_policy, make_width
from driftpeak.offline.replay.players import NOT_TOLD, learned_for
from driftpeak.offline.replay.prior import prior_from_history


@checked
def policy_for_live(table: RewardTable, runs: xr.Dataset, name: str) -> StoredPolicy:
    """A policy that played, as a live study begins with it after the last row of the table.

    It is made as for the replay, but its prior, and what `auto` and `timetable` learn, come from
    all rows: the row after the last is at time 1, so a study counts its steps from there. What
    `fit` found stays as it was found.

    Arguments:
        table: the one that was replayed.
        runs: what `driftpeak.offline.replay.replay` gave for it.
        name: of one of its policies.

    Raises:
        DriftpeakError: no such policy, one that must see the truth, one that knows the contexts of
            a table (a live study is told them with every `ask`), or one that cannot be stored.
    """
    names = [str(one) for one in runs["policy"].values]
    if name not in names:
        raise DriftpeakError(f"{shown(name)} did not play; choose one of {', '.join(names)}")
    if name + NOT_TOLD in names:
        raise DriftpeakError(
            f"{name} was told the contexts of the table, which a stored policy cannot be: begin a "
            f"live study on a space with space.context(...), or go on with {name + NOT_TOLD!r}"
        )
    place, minimize = names.index(name), bool(runs.attrs["minimize"])
    text, steps = runs.attrs["policies"].split("\n")[place], runs.sizes["step"]
    noise = float(runs.attrs["noise_variance"])
    sign = -1.0 if minimize else 1.0
    table = dataclasses.replace(table, values=sign * table.values + 0.0)
    prior = prior_from_history(
        table.values, table.arms, noise_variance=noise, mean=runs.attrs["mean"]
    )
    # the noise is the learner's own finding, unless it was given
    given = noise if runs.attrs["noise_given"] else None
    learned = learned_for([text], table, given)
    width = make_width(runs.attrs["width"], prior, steps)
    policy = make_policy(text, prior, width, steps, learned)
    return StoredPolicy.of(policy, prior.domain, maximize=not minimize, name=name)
