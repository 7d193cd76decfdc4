"""Which policy would have followed the peak of recorded data best?"""

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr

from driftpeak import kernels
from driftpeak.data import RewardTable
from driftpeak.domains import Arms
from driftpeak.environments import RecordedRewards
from driftpeak.errors import DriftpeakError, at_least_integer, positive, unit_interval
from driftpeak.history import Learned, calendar_periods, learn
from driftpeak.named.fitted import Finding, complete, tune
from driftpeak.named.policies import DEFAULT_POLICIES, HISTORIC, make_policies
from driftpeak.priors import Prior
from driftpeak.simulation.simulator import simulate

Mean = Literal["per-arm", "common", "zero"]
MEANS = ("per-arm", "common", "zero")
NOISE_SHARE = 0.05
SENSOR_WIDTH = "scaled-log:c1=0.8,c2=0.4"


def prior_from_history(
    history: Any,
    names: Sequence[str],
    *,
    noise_variance: float | None = None,
    mean: Mean = "per-arm",
) -> Prior:
    """The prior that recorded rewards suggest: their empirical covariance and mean.

    Arguments:
        history: rewards, shape `(steps, arms)`, at least two steps.
        names: of the arms.
        noise_variance: default 5 % of the arms' average variance, B16's choice for its sensors.
        mean: "per-arm" averages, one "common" average, or "zero".

    Raises:
        DriftpeakError: fewer than two steps, an unknown mean, a noise variance that is not
            positive, or none given while the history never varies.
    """
    rewards = np.asarray(history, dtype=np.float64)
    if len(rewards) < 2:
        raise DriftpeakError(f"a covariance needs at least 2 training rows; got {len(rewards)}")
    covariance = np.atleast_2d(np.cov(rewards, rowvar=False))
    if noise_variance is None:
        noise_variance = NOISE_SHARE * float(covariance.diagonal().mean())
        if noise_variance == 0:
            raise DriftpeakError(
                "the training rows never vary, so no noise variance can be guessed: "
                "give noise_variance"
            )
    means = {
        "per-arm": rewards.mean(axis=0),
        "common": np.full(rewards.shape[1], rewards.mean()),
        "zero": np.zeros(rewards.shape[1]),
    }
    if mean not in means:
        raise DriftpeakError(f"mean must be one of {', '.join(MEANS)}; got {mean!r}")
    arms = Arms(rewards.shape[1], names)
    return Prior(
        arms, kernels.Table(covariance), positive("noise_variance", noise_variance), means[mean]
    )


def replay(
    table: RewardTable,
    policies: Sequence[str] = (*DEFAULT_POLICIES, *HISTORIC),
    *,
    train: float = 0.6,
    noise_variance: float | None = None,
    mean: Mean = "per-arm",
    fit: bool = False,
    width: str = SENSOR_WIDTH,
    trials: int = 20,
    seed: int = 0,
    progress: bool | None = None,
) -> xr.Dataset:
    """Let policies play the later rows of a table, with a prior from the earlier ones.

    Every arm's reward is known at every step, so each policy can be given what its choice would
    have brought. Steps are the rows, at times 1, 2, ...; rewards are taken as recorded.

    Arguments:
        table: rewards, one row per step and one column per arm (`driftpeak.data.read_table`).
        policies: as for `driftpeak.named.policies.make_policies`.
            `auto` begins with what `driftpeak.learn` finds in the training rows.
        train: share of the rows, from the first, that the prior comes from (rounded down).
        noise_variance, mean: see `prior_from_history`.
        fit: learn what is not given from the training rows: the noise variance and the policies'
            drift, window, period, discount or exponent (`driftpeak.named.fitted`).
        width: of the policies that have no width of their own; B16's for sensors by default.
        trials: repetitions of the policies that act at random. The others are played once, and
            that one trial is repeated in the result if there are more.
        seed: of the policies' randomness.
        progress: show a progress bar; by default if the error output is a terminal.

    Returns:
        As `driftpeak.simulate`, with `rewards` (step x arm, what could be had), coordinates `arm`
        and, if the table has a time column, `label`.

    Raises:
        DriftpeakError: train outside (0, 1) or leaving fewer than two rows on either side, and as
            the functions named above.
    """
    share = unit_interval("train", train, low_open=True, high_open=True)
    first = math.floor(share * len(table.values) + 1e-9)
    if first < 2 or len(table.values) - first < 2:
        raise DriftpeakError(
            f"train={share:g} leaves {first} rows to learn from and {len(table.values) - first} "
            f"to play, of {len(table.values)}; both need at least 2"
        )
    history, rewards = table.values[:first], table.values[first:]
    prior = prior_from_history(history, table.arms, noise_variance=noise_variance, mean=mean)
    trials = at_least_integer("trials", trials, 1)
    learned = _learned(policies, table.rows(0, first), noise_variance)
    made = make_policies(policies, prior, len(rewards), width=width, learned=learned)
    found: dict[str, Finding] = {}
    if fit:

        def from_rows(rows: Any, noise: float | None) -> Prior:
            return prior_from_history(rows, table.arms, noise_variance=noise, mean=mean)

        found = tune(policies, history, from_rows, noise_variance)
        if noise_variance is None:
            prior = prior.with_noise_variance(found["noise_variance"].value)
        policies = complete(policies, found)
        made = make_policies(policies, prior, len(rewards), width=width, learned=learned)
    # one history: a policy that does not act at random does the same in every trial
    once = {name: policy for name, policy in made.items() if policy.deterministic}
    often = {name: policy for name, policy in made.items() if not policy.deterministic}
    played = [
        simulate(
            part,
            RecordedRewards(rewards),
            steps=len(rewards),
            trials=count,
            seed=seed,
            progress=progress,
            readings=True,
        )
        for part, count in ((once, 1), (often, trials))
        if part
    ]
    most = max(part.sizes["trial"] for part in played)
    repeated = [part.isel(trial=np.arange(most) % part.sizes["trial"]) for part in played]
    runs = xr.concat(
        [part.assign_coords(trial=np.arange(most)) for part in repeated], "policy"
    ).sel(policy=list(made))
    runs = runs.assign_coords(arm=list(table.arms))
    runs["rewards"] = (("step", "arm"), rewards, {"long_name": "reward of every arm"})
    if table.times is not None:
        runs = runs.assign_coords(label=("step", list(table.times[first:])))
    return runs.assign_attrs(
        train_rows=first,
        noise_variance=prior.noise_variance,
        mean=mean,
        learned="" if learned is None else learned.report(),
        width=width,
        policies=" ".join(policies),
        fitted=json.dumps({name: dataclasses.asdict(one) for name, one in found.items()}),
    )


def _learned(
    policies: Sequence[str], history: RewardTable, noise_variance: float | None
) -> Learned | None:
    """What the training rows say, if one of the policies wants to know."""
    names = {text.split(":")[0] for text in policies}
    if not names & {"auto", *HISTORIC}:
        return None
    learned = learn(history.values, history.arms, likely=calendar_periods(history.times))
    if noise_variance is None:
        return learned
    prior = learned.prior.with_noise_variance(positive("noise_variance", noise_variance))
    return dataclasses.replace(learned, prior=prior)
