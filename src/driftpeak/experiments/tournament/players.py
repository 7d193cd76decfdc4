"""Policies of the tournament: published policies with theory's parameters and on a grid.

Every family runs once with the parameter from theory, and once for every setting of a grid that is
the same in all environments. The best of these settings is the choice in hindsight.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.kernels import Table
from driftpeak.gp.priors import Prior
from driftpeak.offline.history import Learned
from driftpeak.policies import (
    ABO,
    ADAOPKB,
    ETGPUCB,
    GPUCB,
    IGPUCB,
    OPKB,
    RGPUCB,
    RPERP,
    SWGPUCB,
    TVGPUCB,
    UIGPUCB,
    WGPUCB,
    Auto,
    Policy,
    RandomStart,
    RExp3,
    UniformRandom,
)
from driftpeak.policies.widths import FiniteDomain, ScaledLog, Width
from driftpeak.theory.schedules import (
    discount_factor,
    elimination_period,
    markov_restart_period,
    restart_period,
)

AUTO, RANDOM, THEORY = "auto", "random", "theory"
WIDE, NARROW = ScaledLog(0.8, 4.0), ScaledLog(0.2, 0.4)
"""B16's widths for synthetic data and for traffic: the largest and the smallest of its three."""
WIDTHS: Mapping[str, Width] = {"wide": WIDE, "narrow": NARROW}
SMALLER = 0.03
"""Smaller value of R-PERP's constant C; with C = 1 no point is eliminated at these horizons."""
MEMORIES = (10, 25, 50, 100, 250)
LENGTHSCALES = (10, 30, 100, 250, 500)


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
        learned: result of `driftpeak.learn` on recorded rows, if any; `auto` starts from it.
        period: period in steps of the yardstick that uses the time of day.
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


@dataclass(frozen=True)
class Family:
    """A published policy with a free parameter.

    Attributes:
        name: name in the tables.
        theory: creates the policy with the parameter of its paper.
        parameter, values: name and values of the grid.
        make: creates the policy with a value of the grid and a width of `WIDTHS`.
        wide_only: whether the family has its own width, so that widths are not varied.
    """

    name: str
    theory: Callable[[WorldKnowledge], Policy]
    parameter: str = ""
    values: tuple[float, ...] = ()
    make: Callable[[WorldKnowledge, Any, Width], Policy] | None = None
    wide_only: bool = False

    @property
    def grid(self) -> dict[str, tuple[float, Width]]:
        """Settings of the grid by the names of their policies."""
        widths = {"": WIDE} if self.wide_only else {f", {name}": w for name, w in WIDTHS.items()}
        return {
            f"{self.name}, {self.parameter} {value:g}{suffix}": (value, width)
            for value in self.values
            for suffix, width in widths.items()
        }

    @property
    def at_theory(self) -> str:
        """Name of the policy with theory's parameter."""
        return f"{self.name}, {THEORY}"

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of all policies of the family, theory's first."""
        return (self.at_theory, *self.grid)


def _abo(known: WorldKnowledge, lengthscale: float, width: Width) -> Policy:
    return ABO(known.prior, lengthscale=lengthscale, memory=known.horizon, width=width)


def _perp(known: WorldKnowledge, period: int, constant: float) -> Policy:
    return RPERP(
        known.prior,
        horizon=known.horizon,
        period=min(period, known.horizon),
        norm_bound=known.norm_bound,
        constant=constant,
    )


def _opkb(known: WorldKnowledge, period: int) -> Policy:
    return OPKB(
        known.prior,
        horizon=known.horizon,
        period=min(period, known.horizon),
        reward_bound=known.reward_bound,
    )


def _rexp3(known: WorldKnowledge, variation: float | None) -> Policy:
    positive = None if variation is None else max(variation, 1e-6)  # theory divides by it
    return RExp3(
        known.prior, horizon=known.horizon, variation=positive, reward_bound=known.reward_bound
    )


FAMILIES = (
    Family(
        "GP-UCB",
        lambda known: GPUCB(known.prior, width=FiniteDomain(len(known.prior))),
        "c1",
        (0.05, 0.2, 0.8),
        lambda known, c1, width: GPUCB(known.prior, width=ScaledLog(c1, 4.0)),
        wide_only=True,
    ),
    Family(
        "IGP-UCB",
        lambda known: IGPUCB(known.prior, norm_bound=known.norm_bound, horizon=known.horizon),
        "B",
        (0.3, 1.0, 3.0),
        lambda known, bound, width: IGPUCB(known.prior, norm_bound=bound),
        wide_only=True,
    ),
    Family(
        "R-GP-UCB",
        lambda known: RGPUCB(known.prior, period=known.markov_memory, width=WIDE),
        "period",
        MEMORIES,
        lambda known, period, width: RGPUCB(known.prior, period=period, width=width),
    ),
    Family(
        "SW-GP-UCB",
        lambda known: SWGPUCB(known.prior, window=known.memory, width=WIDE),
        "window",
        MEMORIES,
        lambda known, window, width: SWGPUCB(known.prior, window=window, width=width),
    ),
    Family(
        "TV-GP-UCB",
        lambda known: TVGPUCB(known.prior, drift=known.drift, width=WIDE),
        "drift",
        (0.001, 0.003, 0.01, 0.03, 0.1, 0.3),
        lambda known, drift, width: TVGPUCB(known.prior, drift=drift, width=width),
    ),
    Family(
        "WGP-UCB",
        lambda known: WGPUCB(known.prior, discount=known.discount, width=WIDE),
        "discount",
        tuple(1 - 1 / memory for memory in MEMORIES),
        lambda known, discount, width: WGPUCB(known.prior, discount=discount, width=width),
    ),
    Family(
        "UI-GP-UCB",
        lambda known: UIGPUCB(known.prior, exponent=1.0, width=WIDE),
        "exponent",
        (0.25, 0.5, 1.0, 2.0),
        lambda known, exponent, width: UIGPUCB(known.prior, exponent=exponent, width=width),
    ),
    Family(
        "ET-GP-UCB",
        lambda known: ETGPUCB(known.prior, width=WIDE),
        "delta",
        (0.01, 0.5),
        lambda known, delta, width: ETGPUCB(known.prior, delta=delta, width=width),
    ),
    Family(
        "ABO",
        lambda known: _abo(known, known.smooth_memory, WIDE),
        "lengthscale",
        LENGTHSCALES,
        _abo,
    ),
    Family(
        "R-PERP",
        lambda known: _perp(known, known.elimination_period, 1.0),
        f"C = {SMALLER:g}, period",
        (100, 500),
        lambda known, period, width: _perp(known, period, SMALLER),
        wide_only=True,
    ),
    Family(
        "OPKB with restarts",
        lambda known: _opkb(known, known.elimination_period),
        "period",
        (100, 500),
        lambda known, period, width: _opkb(known, period),
        wide_only=True,
    ),
    Family(
        "ADA-OPKB",
        lambda known: ADAOPKB(
            known.prior, horizon=known.horizon, reward_bound=known.reward_bound
        ),
    ),
    Family(
        "RExp3",
        lambda known: _rexp3(known, known.variation),
        "variation",
        (1, 10, 100),
        lambda known, variation, width: _rexp3(known, variation),
        wide_only=True,
    ),
)  # fmt: skip
BY_TIME, BY_MEAN = "best arm at this time", "best arm of the rows"
YARDSTICKS = (BY_TIME, BY_MEAN)
"""Arms from the training rows without a bandit, on recordings only. They are not ranked."""
PUBLISHED = (RANDOM, *(name for family in FAMILIES for name in family.settings))
"""Names of every published policy in every setting."""


def players(known: WorldKnowledge, *, random_start: bool = False) -> dict[str, Policy]:
    """Create all policies by name: `auto`, `PUBLISHED` and, with a history, `YARDSTICKS`.

    Arguments:
        random_start: whether the first point is drawn at random. It is the same point for all
            policies that can learn from points they did not choose.

    Raises:
        DriftpeakError: theory gives no parameter for these values.
    """
    auto = Auto(known.prior) if known.learned is None else known.learned.policy()
    made: dict[str, Policy] = {AUTO: auto, RANDOM: UniformRandom(known.prior)}
    for family in FAMILIES:
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
