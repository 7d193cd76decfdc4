"""Policies that are planned for a number of steps known in advance."""

import equinox as eqx

from driftpeak._core.errors import DriftpeakError, at_least_integer, positive
from driftpeak._core.times import Horizon, TimesLike, check_times
from driftpeak.gp.priors import Prior
from driftpeak.policies.player import State
from driftpeak.policies.protocol import ActingPolicy
from driftpeak.theory.schedules import elimination_period


class PlannedPolicy(ActingPolicy[State]):
    """A policy for runs of at most `horizon` steps; `Doubling` removes the limit. Base class."""

    horizon: eqx.AbstractVar[int]
    learns_from_any = False

    def prepare(self, times: TimesLike | Horizon) -> "PlannedPolicy[State]":
        check_horizon(self.horizon, times)
        return self


def check_horizon(horizon: int, times: TimesLike | Horizon) -> None:
    """Raise DriftpeakError if a run at `times` is longer than a policy's horizon."""
    steps = len(check_times(times))
    if steps > horizon:
        raise DriftpeakError(
            f"the run must have at most horizon={horizon} steps; got {steps}. Use a larger "
            "horizon, or wrap the policy in Doubling"
        )


def check_period(period: int, horizon: int) -> int:
    """Raise DriftpeakError unless `period` is an integer in [2, horizon]."""
    if at_least_integer("period", period, 1) not in range(2, horizon + 1):
        raise DriftpeakError(f"period must lie in [2, {horizon}], up to the horizon; got {period}")
    return int(period)


def chosen_period(prior: Prior, horizon: int, period: int | None, variation: float | None) -> int:
    """Return the given period, or the period from theory for this variation.

    Raises:
        DriftpeakError: both given, a period outside [2, horizon], a variation that is not positive,
            or a kernel without a period in theory.
    """
    if period is None:
        return check_period(default_period(prior, horizon, variation), horizon)
    if variation is not None:
        raise DriftpeakError(
            "at most one of period and variation must be given, since variation only sets the "
            "period; got both"
        )
    return check_period(period, horizon)


def default_period(prior: Prior, horizon: int, variation: float | None) -> int:
    """Return H of IT25 Theorems 3 and 5 for this prior.

    Raises:
        DriftpeakError: a kernel without H in theory.
    """
    if variation is not None:
        positive("variation", variation)
    dimension = prior.domain.points.shape[1]
    try:
        return elimination_period(
            prior.kernel, horizon=horizon, dimension=dimension, variation=variation
        )
    except DriftpeakError as error:
        raise DriftpeakError(f"{error}. Give period") from None
