"""Policies of the tournament: published policies with theory's parameters and on a grid.

Every family runs once with the parameter from theory, and once for every setting of a grid that is
the same in all environments. The best of these settings is the choice in hindsight.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.kernels import Table
from driftpeak.gp.priors import Prior
from driftpeak.offline.history import Learned
from driftpeak.policies import Auto, Policy, RandomStart, UniformRandom
from driftpeak.policies.catalogue import Family, entries
from driftpeak.theory.schedules import (
    discount_factor,
    elimination_period,
    markov_restart_period,
    restart_period,
)

AUTO, RANDOM = "auto", "random"


@dataclass(frozen=True)
class WorldKnowledge:
    """Parameters of an environment for policies that need them; `auto` uses only the prior.

    Attributes:
        prior: domain, kernel, noise variance and mean.
        horizon: number of steps T.
        variation: V_T in the supremum norm; None if unknown.
        drift: B16's epsilon: the true value, or the value of highest likelihood in other data.
        markov: whether the environment has Markov drift.
        norm_bound: B, in standard deviations of the prior.
        gain: greedy information gain of T observations.
        learned: result of `driftpeak.fit_history` on recorded rows, if any; `auto` starts from it.
        period: steps of a day or a year, for policies that use the time of day or of the year; 1 if
            there is none.
    """

    prior: Prior
    horizon: int
    variation: float | None
    drift: float
    markov: bool
    norm_bound: float
    gain: float
    learned: Learned | None = None
    period: int = 1

    @property
    def reward_bound(self) -> float:
        """Bound on the distance of rewards from the prior mean."""
        deviation = math.sqrt(float(self.prior.variance.max()))
        return self.norm_bound * deviation + 5 * math.sqrt(self.prior.noise_variance)

    @property
    def dimension(self) -> int:
        return int(self.prior.domain.points.shape[1])

    @property
    def memory(self) -> int:
        """Restart period and window of ZS21."""
        return self._scheduled(restart_period)

    @property
    def markov_memory(self) -> int:
        """Restart period of B16 under Markov drift, and of ZS21 otherwise."""
        if not self.markov or isinstance(self.prior.kernel, Table):
            return self.memory
        return markov_restart_period(
            self.prior.kernel, drift=self.drift, horizon=self.horizon, dimension=self.dimension
        )

    @property
    def smooth_memory(self) -> float:
        """Lengthscale in time with the half-life of the drift's correlation."""
        if self.drift == 0:
            return float(self.horizon)
        half_life = 2 * math.log(2) / -math.log1p(-min(self.drift, 0.999))
        return min(half_life / math.sqrt(2 * math.log(2)), float(self.horizon))

    @property
    def discount(self) -> float:
        """Discount of D22."""
        return self._scheduled(discount_factor)

    @property
    def elimination_period(self) -> int:
        """Restart interval of IT25."""
        return self._scheduled(elimination_period)

    @property
    def settings(self) -> dict[str, Any]:
        """Inputs of theory and the resulting parameters, for the record."""
        return {
            "variation": self.variation, "drift": self.drift, "norm_bound": self.norm_bound,
            "gain": self.gain, "period and window": self.memory, "discount": self.discount,
            "period under Markov drift": self.markov_memory,
            "elimination_period": self.elimination_period, "reward_bound": self.reward_bound,
        }  # fmt: skip

    def _scheduled(self, schedule: Callable[..., Any]) -> Any:
        """Return the parameter of a schedule, with the greedy gain, which tables have too."""
        return schedule(
            self.prior.kernel,
            horizon=self.horizon,
            dimension=self.dimension,
            variation=self.variation,
            gain=self.gain,
        )


BY_TIME, BY_MEAN = "best arm at this time", "best arm of the rows"
YARDSTICKS = (BY_TIME, BY_MEAN)
"""Arms from the training rows without a bandit, on recordings only. They are not ranked."""


@dataclass(frozen=True)
class Rivals:
    """The policies that an experiment compares with `auto`.

    Attributes:
        families: the policies.
        what: what one of their settings is called in tables and figures.
    """

    families: tuple[Family, ...]
    what: str

    @property
    def settings(self) -> tuple[str, ...]:
        """Return the names of all policies in every setting, random choice first."""
        return (RANDOM, *(name for family in self.families for name in family.settings))


def _by_name(families: Iterable[Family | None]) -> tuple[Family, ...]:
    return tuple(sorted((each for each in families if each), key=lambda family: family.name))


PUBLISHED = Rivals(_by_name(entry.family for entry in entries()), "published setting")
"""Every published policy of the tournament."""
SIMPLE = Rivals(_by_name(entry.simple for entry in entries()), "simple bandit")
"""Policies for independent arms, of the comparison with simple bandits."""
RIVALS = {"published": PUBLISHED, "simple": SIMPLE}


def players(
    known: WorldKnowledge, against: str = "published", *, random_start: bool = False
) -> dict[str, Policy]:
    """Create all policies by name: `auto`, its rivals and, with a history, `YARDSTICKS`.

    Arguments:
        against: a key of `RIVALS`.
        random_start: whether the first point is drawn at random. It is the same point for all
            policies that can learn from points they did not choose.

    Raises:
        DriftpeakError: theory gives no parameter for these values.
    """
    auto = Auto(known.prior) if known.learned is None else known.learned.policy()
    made: dict[str, Policy] = {AUTO: auto, RANDOM: UniformRandom(known.prior)}
    for family in RIVALS[against].families:
        try:
            made[family.at_theory] = family.theory(known)
        except DriftpeakError as error:
            raise DriftpeakError(f"{family.name} at theory's parameter: {error}") from None
        if family.make is not None:
            for name, (value, width) in family.grid.items():
                made[name] = family.make(known, value, width)
    if random_start:
        made = {
            name: RandomStart(policy) if policy.learns_from_any and name != RANDOM else policy
            for name, policy in made.items()
        }
    if known.learned is not None:
        made |= {
            BY_TIME: known.learned.timetable(known.period), BY_MEAN: known.learned.timetable(1)
        }  # fmt: skip
    return made
