r"""Phased elimination, restarted: PE (Li and Scarlett 2022) and R-PERP (IT25 Algorithm 1).

An interval of T' steps is cut into batches of \(N_j = \min(\lceil\sqrt{T' N_{j-1}}\rceil,
\text{what is left})\), \(N_0 = 1\). A batch takes, one after another, the surviving point of
largest posterior variance given those already taken, and queries them. With the batch's data alone,
the points whose upper bound lies below the largest lower bound are then dropped.
"""

import math
from typing import Any, NamedTuple, TypedDict, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak.beliefs.posterior import FeaturePrior
from driftpeak.errors import DriftpeakError, at_least_integer
from driftpeak.features import Features, pivoted_cholesky
from driftpeak.lanes import lockstep
from driftpeak.policies.planned import (
    PlannedPolicy,
    check_horizon,
    check_period,
    default_period,
)
from driftpeak.policies.protocol import Query, Scalar, checked_reward
from driftpeak.precision import double_precision
from driftpeak.priors import Prior
from driftpeak.widths import Elimination

FEATURE_SHARE = 1e-3
"""Features are exact to this share of the noise variance, unless others are given."""
PLAUSIBLE_NOISE = 5.0
"""A reward further than this many noise scales outside +-B contradicts the bound B."""


def batch_sizes(interval: int) -> list[int]:
    """The batches of phased elimination in an interval of `interval` steps (IT25 Alg. 1, line 5).

    Raises:
        DriftpeakError: interval below 1.
    """
    interval = at_least_integer("interval", interval, 1)
    sizes, size, left = [], 1, interval
    while left:
        size = min(math.ceil(math.sqrt(interval * size)), left)
        sizes.append(size)
        left -= size
    return sizes


class EliminationState(NamedTuple):
    """The current batch: who may still be the best, what will be queried, what was seen."""

    step: Int[Array, ""]
    survivors: Bool[Array, " n"]
    plan: Int[Array, " longest"]
    counts: Float[Array, " n"]
    sums: Float[Array, " n"]  # of rewards, less the prior mean
    key: PRNGKeyArray


class PhasedElimination(PlannedPolicy[EliminationState]):
    """What `PE` and `RPERP` make; the schedule is fixed by the horizon and the period."""

    prior: FeaturePrior
    width: Any
    norm_bound: Any
    noise_scale: Any
    first_steps: Any  # of the batches, from 0
    sizes: Any
    opens_interval: Any
    batch_at: Any  # per step: the batch it opens, or -1
    horizon: int = eqx.field(static=True)
    period: int = eqx.field(static=True)
    permute: bool = eqx.field(static=True)
    longest: int = eqx.field(static=True)  # batch

    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        period: int,
        permute: bool,
        norm_bound: float = 1.0,
        noise_scale: float | None = None,
        delta: float = 0.1,
        constant: float = 1.0,
        features: Features | None = None,
    ) -> None:
        noise_scale = math.sqrt(prior.noise_variance) if noise_scale is None else noise_scale
        width = Elimination(
            len(prior),
            horizon=horizon,
            period=period,
            noise_variance=prior.noise_variance,
            norm_bound=norm_bound,
            noise_scale=noise_scale,
            delta=delta,
            constant=constant,
        )
        if features is None:
            share = FEATURE_SHARE * prior.noise_variance / prior.variance.max()
            features = pivoted_cholesky(prior.kernel, prior.domain, tolerance=share)
        features.check(len(prior))
        self.prior = FeaturePrior(prior, features)
        self.width = width.value
        self.norm_bound, self.noise_scale = np.float64(norm_bound), np.float64(noise_scale)
        self.horizon, self.period, self.permute = horizon, period, permute
        starts = range(0, horizon, period)
        batches = [batch_sizes(min(period, horizon - start)) for start in starts]
        self.sizes = np.concatenate(batches)
        self.longest = int(self.sizes.max())
        self.first_steps = np.cumsum(self.sizes) - self.sizes
        self.opens_interval = np.isin(self.first_steps, list(starts))
        self.batch_at = np.full(horizon, -1)
        self.batch_at[self.first_steps] = np.arange(len(self.sizes))

    @property
    def points(self) -> int:
        return len(self.prior.variance)

    @property
    def deterministic(self) -> bool:
        return not self.permute

    def init(self, key: PRNGKeyArray) -> EliminationState:
        zeros = jnp.zeros(self.points)
        plan = jnp.zeros(self.longest, int)
        everyone = jnp.ones(self.points, bool)
        return EliminationState(jnp.zeros((), int), everyone, plan, zeros, zeros, key)

    def ask(self, state: EliminationState, time: Scalar) -> tuple[EliminationState, Query]:
        step = state.step
        batch = jnp.asarray(self.batch_at)[step]
        key = jax.random.fold_in(state.key, step)
        own = (self, state.survivors, state.plan, state.counts, state.sums, key)
        survivors, plan, counts, sums = lockstep(_open_batch, batch, own)
        before = jnp.searchsorted(jnp.asarray(self.first_steps), step, side="right") - 1
        query = plan[step - jnp.asarray(self.first_steps)[before]]
        return EliminationState(step + 1, survivors, plan, counts, sums, state.key), query

    def tell(
        self, state: EliminationState, query: Query, reward: Scalar, time: Scalar
    ) -> EliminationState:
        gain = checked_reward(reward) - jnp.asarray(self.prior.mean)[query]
        return state._replace(
            counts=state.counts.at[query].add(1.0), sums=state.sums.at[query].add(gain)
        )

    def out_of_bounds(self, actions: Any, rewards: Any) -> Any:
        excess = abs(rewards - self.prior.mean[actions]) - PLAUSIBLE_NOISE * self.noise_scale
        return excess > self.norm_bound * np.sqrt(self.prior.variance[actions])

    @property
    def bounds_in_words(self) -> str:
        return (
            f"norm_bound={self.norm_bound:g} prior deviations plus {PLAUSIBLE_NOISE:g} times "
            f"noise_scale={self.noise_scale:g} around the prior mean"
        )

    def select(self, survivors: Bool[Array, " n"], size: Any) -> Int[Array, " longest"]:
        """`size` points of `survivors`, each of largest posterior variance given those before it.

        Entries from `size` on are 0.
        """
        features = jnp.asarray(self.prior.features)

        def pick(number: Any, state: Any) -> Any:
            plan, covariance, variance = state
            point = jnp.argmax(jnp.where(survivors, variance, -jnp.inf))
            gain = covariance @ features[point]
            scale = features[point] @ gain + self.prior.noise_variance
            variance = variance - (features @ gain) ** 2 / scale
            covariance = covariance - jnp.outer(gain, gain) / scale
            return plan.at[number].set(point), covariance, variance

        begin = (
            jnp.zeros(self.longest, int),
            jnp.eye(features.shape[1]),
            jnp.asarray(self.prior.variance),
        )
        return jax.lax.fori_loop(0, size, pick, begin)[0]

    def eliminate(
        self, survivors: Bool[Array, " n"], counts: Float[Array, " n"], sums: Float[Array, " n"]
    ) -> Bool[Array, " n"]:
        """Who may still be the best after `counts` queries with these `sums` of rewards.

        The point of the largest upper bound always stays.
        """
        features, noise = jnp.asarray(self.prior.features), self.prior.noise_variance
        precision = (features.T * counts[None, :] / noise) @ features + jnp.eye(features.shape[1])
        factor = jnp.linalg.cholesky(precision)
        half = jax.scipy.linalg.solve_triangular(factor, features.T, lower=True)
        mean = self.prior.mean + half.T @ (half @ sums) / noise
        missed = self.prior.variance - (features**2).sum(axis=1)
        deviation = jnp.sqrt(jnp.maximum(missed + (half**2).sum(axis=0), 0.0))
        upper = jnp.where(survivors, mean + self.width * deviation, -jnp.inf)
        lower = jnp.where(survivors, mean - self.width * deviation, -jnp.inf)
        best = jnp.arange(self.points) == jnp.argmax(upper)
        return survivors & ((upper >= lower.max()) | best)

    @double_precision
    def surviving_sets(self, actions: Any, rewards: Any) -> xr.DataArray:
        """Who was left after every finished batch of a recorded trial.

        Arguments:
            actions, rewards: of one trial, from its first step, shape `(steps,)` each.

        Returns:
            Booleans of dimensions `(batch, point)`, with the batch's `interval`, `first_step` and
            `last_step` (from 1).

        Raises:
            DriftpeakError: no or more steps than the horizon, or arrays of different lengths.
        """
        actions, rewards = np.asarray(actions), np.asarray(rewards, dtype=float)
        if actions.ndim != 1 or actions.shape != rewards.shape or len(actions) == 0:
            raise DriftpeakError(
                "actions and rewards must be of one trial, one value per step; got shapes "
                f"{actions.shape} and {rewards.shape}"
            )
        check_horizon(self.horizon, len(actions))
        last_steps = self.first_steps + self.sizes
        survivors, sets = np.ones(self.points, bool), []
        for batch in np.flatnonzero(last_steps <= len(actions)):
            rows = slice(self.first_steps[batch], last_steps[batch])
            gains = rewards[rows] - self.prior.mean[actions[rows]]
            counts = np.bincount(actions[rows], minlength=self.points).astype(float)
            sums = np.bincount(actions[rows], gains, minlength=self.points)
            before = np.ones(self.points, bool) if self.opens_interval[batch] else survivors
            survivors = np.asarray(_eliminate(self, before, counts, sums))
            sets.append(survivors)
        done = len(sets)
        return xr.DataArray(
            np.array(sets).reshape(done, self.points),
            dims=("batch", "point"),
            coords={
                "interval": ("batch", 1 + self.first_steps[:done] // self.period),
                "first_step": ("batch", self.first_steps[:done] + 1),
                "last_step": ("batch", last_steps[:done]),
            },
            name="survivors",
        )


@eqx.filter_jit
def _eliminate(policy: PhasedElimination, survivors: Any, counts: Any, sums: Any) -> Any:
    return policy.eliminate(survivors, counts, sums)


def _open_batch(batch: Any, own: Any) -> Any:
    """If a batch opens at this step: eliminate by the last one, and plan the new one."""
    policy, survivors, plan, counts, sums, key = own

    def renew() -> Any:
        kept = jax.lax.cond(
            jnp.asarray(policy.opens_interval)[batch],
            lambda: jnp.ones_like(survivors),
            lambda: policy.eliminate(survivors, counts, sums),
        )
        size = jnp.asarray(policy.sizes)[batch]
        chosen = policy.select(kept, size)
        if policy.permute:
            order = jax.random.uniform(key, (len(plan),), dtype=float)
            chosen = chosen[jnp.argsort(jnp.where(jnp.arange(len(plan)) < size, order, jnp.inf))]
        return kept, chosen, jnp.zeros_like(counts), jnp.zeros_like(sums)

    return jax.lax.cond(batch >= 0, renew, lambda: (survivors, plan, counts, sums))


class Options(TypedDict, total=False):
    """What both take besides prior, horizon and period; explained in `RPERP`."""

    norm_bound: float
    noise_scale: float | None
    delta: float
    constant: float
    features: Features | None


def PE(prior: Prior, *, horizon: int, **options: Unpack[Options]) -> PhasedElimination:
    """Phased elimination (Li and Scarlett 2022): for a function that stays; the order is as picked.

    Arguments: as for `RPERP`, whose width it shares with one interval.

    Raises:
        DriftpeakError: a number out of range; a run longer than the horizon.
    """
    horizon = at_least_integer("horizon", horizon, 2)
    return PhasedElimination(prior, horizon=horizon, period=horizon, permute=False, **options)


def RPERP(
    prior: Prior,
    *,
    horizon: int,
    period: int | None = None,
    variation: float | None = None,
    **options: Unpack[Options],
) -> PhasedElimination:
    """R-PERP: phased elimination, restarted, in random order (IT25 Algorithm 1, Theorem 5).

    Arguments:
        prior: its noise variance is lambda; the theory takes k(x, x) <= 1.
        horizon: T, the number of decisions; `Doubling` lifts the limit.
        period: H in [2, T], the steps between restarts; by default what Theorem 5 gives for SE and
            Matern kernels (`theory.schedules.elimination_period`).
        variation: V_T, for that default; unknown if left out.
        options:
            - norm_bound: B, a bound on the RKHS norm of every f_t less the prior mean; default 1.
            - noise_scale: rho, sub-Gaussian constant of the noise; default the prior's noise
              deviation.
            - delta: failure probability; default 0.1.
            - constant: C in the width (8), which the paper does not name; default 1.
            - features: a factor of the covariance; by default one exact to 1e-3 of the noise
              variance.

    Raises:
        DriftpeakError: a number out of range, both period and variation, no period for a kernel
            that theory gives none for; a run longer than the horizon.
    """
    horizon = at_least_integer("horizon", horizon, 2)
    if period is None:
        period = default_period(prior, horizon, variation)
    elif variation is not None:
        raise DriftpeakError("give period or variation, not both: variation only sets the period")
    period = check_period(period, horizon)
    return PhasedElimination(prior, horizon=horizon, period=period, permute=True, **options)
