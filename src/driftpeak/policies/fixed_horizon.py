"""Policies that are planned for a number of steps, which they must know beforehand."""

import equinox as eqx

from driftpeak._core.errors import DriftpeakError, at_least_integer, positive
from driftpeak._core.times import AtMost, TimesLike, check_times
from driftpeak.gp.priors import Prior
from driftpeak.policies.player import State
from driftpeak.policies.protocol import ActingPolicy
from driftpeak.theory.schedules import elimination_period


class PlannedPolicy(ActingPolicy[State]):
    """A policy for runs of at most `horizon` steps; `Doubling` lifts the limit. Base class."""

    horizon: eqx.AbstractVar[int]

    @property
    def learns_from_any(self) -> bool:
        return False

    def prepare(self, times: TimesLike | AtMost) -> "PlannedPolicy[State]":
        check_horizon(self.horizon, times)
        return self


def check_horizon(horizon: int, times: TimesLike | AtMost) -> None:
    """Raise DriftpeakError unless a run at `times` fits into a policy's horizon."""
    steps = len(check_times(times))
    if steps > horizon:
        raise DriftpeakError(
            f"the policy is planned for horizon={horizon} steps, the run has {steps}: give a "
            "larger horizon, or wrap the policy in Doubling"
        )


def check_period(period: int, horizon: int) -> int:
    """Raise DriftpeakError unless `period` is an integer in [2, horizon]."""
    if at_least_integer("period", period, 1) not in range(2, horizon + 1):
        raise DriftpeakError(f"period must lie in [2, {horizon}], the horizon; got {period}")
    return int(period)


def chosen_period(prior: Prior, horizon: int, period: int | None, variation: float | None) -> int:
    """The given period, or theory's for this variation.

    Raises:
        DriftpeakError: both are given, a period outside [2, horizon], a variation that is not
            positive, a kernel that theory gives no period for.
    """
    if period is None:
        return check_period(default_period(prior, horizon, variation), horizon)
    if variation is not None:
        raise DriftpeakError("give period or variation, not both: variation only sets the period")
    return check_period(period, horizon)


def default_period(prior: Prior, horizon: int, variation: float | None) -> int:
    """H of IT25 Theorems 3 and 5 for this prior.

    Raises:
        DriftpeakError: a kernel that theory gives no H for.
    """
    if variation is not None:
        positive("variation", variation)
    dimension = prior.domain.points.shape[1]
    try:
        return elimination_period(
            prior.kernel, horizon=horizon, dimension=dimension, variation=variation
        )
    except DriftpeakError as error:
        raise DriftpeakError(f"{error}; give period") from None
