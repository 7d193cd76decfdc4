r"""Phased elimination, restarted: PE (Li and Scarlett 2022) and R-PERP (IT25 Algorithm 1).

An interval of T' steps is divided into batches of \(N_j = \min(\lceil\sqrt{T' N_{j-1}}\rceil,
\text{rest})\), \(N_0 = 1\). Module `batch_elimination` describes the batches.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import MOST_STEPS, DriftpeakError, at_least_integer
from driftpeak._core.numerics.conditionals import lockstep
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.batch_elimination import BatchElimination, BatchOptions
from driftpeak.policies.catalogue import Family, policy, stored
from driftpeak.policies.fixed_horizon import check_horizon, chosen_period
from driftpeak.policies.player import Query, checked_reward

if TYPE_CHECKING:
    import xarray as xr

FEATURE_SHARE = 1e-3
"""Error of default features, as a share of the noise variance."""


def batch_sizes(interval: int) -> list[int]:
    """Return the sizes of the batches in an interval of `interval` steps.

    Raises:
        DriftpeakError: interval below 1.

    Source: IT25 Algorithm 1.
    """
    interval = at_least_integer("interval", interval, 1)
    sizes, size, left = [], 1, interval
    while left:
        size = min(math.ceil(math.sqrt(interval * size)), left)
        sizes.append(size)
        left -= size
    return sizes


class EliminationState(NamedTuple):
    """The current batch: points that may still be best, planned queries, and observations."""

    step: Int[Array, ""]
    survivors: Bool[Array, " n"]
    plan: Int[Array, " longest"]
    counts: Float[Array, " n"]
    sums: Float[Array, " n"]  # of rewards minus the prior mean
    key: PRNGKeyArray


SMALLER = 0.03
"""R-PERP's constant C in the tournament: with C = 1 no point is eliminated at these horizons."""


@stored("phased-elimination", BatchElimination._configure)
class PhasedElimination(BatchElimination[EliminationState]):
    """Phased elimination with a schedule fixed by horizon and period, from `PE` and `RPERP`."""

    first_steps: Any  # of the batches, from 0
    sizes: Any
    opens_interval: Any
    batch_at: Any  # per step: the batch it opens, or -1
    period: int = eqx.field(static=True)
    permute: bool = eqx.field(static=True)

    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        period: int,
        permute: bool,
        **options: Unpack[BatchOptions],
    ) -> None:
        self.period, self.permute = period, permute
        starts, (whole, rest) = np.arange(0, horizon, period), divmod(horizon, period)
        last = batch_sizes(rest) if rest else []
        self.sizes = np.array(batch_sizes(period) * whole + last)
        self.first_steps = np.cumsum(self.sizes) - self.sizes
        self.opens_interval = np.isin(self.first_steps, starts)
        self.batch_at = np.full(horizon, -1)
        self.batch_at[self.first_steps] = np.arange(len(self.sizes))
        self._configure(
            prior,
            horizon=horizon,
            period=period,
            longest=int(self.sizes.max()),
            feature_share=FEATURE_SHARE,
            batches=None if permute else len(self.sizes),
            **options,
        )

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

    @double_precision
    def surviving_sets(self, actions: Any, rewards: Any) -> "xr.DataArray":
        """Return the points that survive each finished batch of a recorded trial.

        Arguments:
            actions, rewards: of one trial, from its first step, shape `(steps,)` each.

        Returns:
            Booleans of dimensions `(batch, point)`, with the batch's `interval`, `first_step` and
            `last_step` (from 1).

        Raises:
            DriftpeakError: no steps, more steps than the horizon, or arrays of different lengths.
        """
        import xarray as xr  # imported here: with pandas it takes half a second

        actions, rewards = np.asarray(actions), np.asarray(rewards, dtype=float)
        if actions.ndim != 1 or actions.shape != rewards.shape or len(actions) == 0:
            raise DriftpeakError(
                "actions and rewards must be one trial, one value for each step; got shapes "
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
    """Eliminate by the last batch and plan the new one, if a batch opens at this step."""
    policy, survivors, plan, counts, sums, key = own

    def renew() -> Any:
        kept = jax.lax.cond(
            jnp.asarray(policy.opens_interval)[batch],
            lambda: jnp.ones_like(survivors),
            lambda: policy.eliminate(survivors, counts, sums),
        )
        size = jnp.asarray(policy.sizes)[batch]
        chosen = policy.select(kept[None, :], size[None])
        if policy.permute:
            chosen = policy.shuffle(key, chosen, size)
        return kept, chosen, jnp.zeros_like(counts), jnp.zeros_like(sums)

    return jax.lax.cond(batch >= 0, renew, lambda: (survivors, plan, counts, sums))


@policy("pe", memory="batches (:doc:`near-optimal`)", width="``Elimination``")
@checked
def PE(prior: Prior, *, horizon: int, **options: Unpack[BatchOptions]) -> PhasedElimination:
    """PE: phased elimination in greedy order, for a constant function (Li and Scarlett 2022).

    Arguments:
        prior: its noise variance is lambda.
        horizon: T, the number of decisions.
        options: as for `RPERP`, except for the width: by default that of Li and Scarlett,
            `widths.FixedDesign`, and with a `constant` that of IT25 with one interval.

    Raises:
        DriftpeakError: a number out of range, features for another number of points, a kernel so
            rough that its features would take too long to compute, or a run longer than the
            horizon.
    """
    horizon = at_least_integer("horizon", horizon, 2, MOST_STEPS)
    options.setdefault("constant", None)
    return PhasedElimination(prior, horizon=horizon, period=horizon, permute=False, **options)


@policy(
    "r-perp",
    memory="restarts and batches (:doc:`near-optimal`)",
    width="``Elimination``",
    schedule=":func:`~driftpeak.theory.schedules.elimination_period`",
    family=lambda make: Family(
        "R-PERP",
        lambda known: _rperp(known, known.elimination_period, 1.0),
        f"C = {SMALLER:g}, period",
        (100, 500),
        lambda known, period, width: _rperp(known, period, SMALLER),
        wide_only=True,
    ),
)
@checked
def RPERP(
    prior: Prior,
    *,
    horizon: int,
    period: int | None = None,
    variation: float | None = None,
    permute: bool = True,
    **options: Unpack[BatchOptions],
) -> PhasedElimination:
    """R-PERP: phased elimination with restarts, in random order (IT25 Algorithm 1, Theorem 5).

    Arguments:
        prior: its noise variance is lambda; the theory assumes k(x, x) <= 1.
        horizon: T, the number of decisions; `Doubling` removes the limit.
        period: H in [2, T], the steps between restarts; by default that of Theorem 5 for SE and
            Matern kernels (`theory.schedules.elimination_period`).
        variation: V_T, for the default period; unknown if omitted.
        permute: whether each batch is queried in random order. Without, it is queried in the order
            in which its points are chosen: the comparison of IT25 Figure 1, to which the width (8)
            does not apply (`environments.AgainstQueries`).
        options:
            - norm_bound: B, a bound of the RKHS norm of each f_t minus the prior mean; default 1.
            - noise_scale: rho, sub-Gaussian constant of the noise; by default the prior's noise
              standard deviation.
            - delta: failure probability; default 0.1.
            - constant: C in the width (8), which the paper does not give; default 1. With "proved",
              sqrt(8), the confidence bounds (9) are proved (`widths.PROVED_CONSTANT`).
            - features: a factor of the covariance; by default with an error of at most 1e-3 of the
              noise variance.

    Raises:
        DriftpeakError: a number out of range, both period and variation, no period for a kernel
            without one in theory, features as for `PE`, or a run longer than the horizon.

    Source: IT25 Algorithm 1, (6)-(7), Theorem 5, section 5.1.
    """
    horizon = at_least_integer("horizon", horizon, 2, MOST_STEPS)
    period = chosen_period(prior, horizon, period, variation)
    return PhasedElimination(prior, horizon=horizon, period=period, permute=permute, **options)


def _rperp(known: Any, period: int, constant: float) -> PhasedElimination:
    """Return R-PERP for what is known of an environment."""
    return RPERP(
        known.prior,
        horizon=known.horizon,
        period=min(period, known.horizon),
        norm_bound=known.norm_bound,
        constant=constant,
    )
