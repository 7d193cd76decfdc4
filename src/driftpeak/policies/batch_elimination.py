"""What policies that eliminate in batches share: choosing a batch's queries, and judging by them.

A batch takes, one after another, the allowed point of largest posterior variance given those
already taken; this needs no rewards. With the batch's data alone, the points whose upper bound lies
below the largest lower bound are then dropped (PE, Li and Scarlett 2022; IT25 Algorithm 1). A batch
queried in random order gives a confidence bound for the average of the functions that it met (IT25
Theorem 4), whatever set of points it consists of, as long as that is fixed beforehand.
"""

import math
from typing import Any, TypedDict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.arguments import Recorded
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.types import Scalar
from driftpeak.gp.features import Features
from driftpeak.gp.priors import Prior
from driftpeak.gp.ridge import Ridge, ridge
from driftpeak.inference.beliefs.posterior import FeaturePrior
from driftpeak.policies.fixed_horizon import PlannedPolicy
from driftpeak.policies.player import State
from driftpeak.policies.widths import Elimination, FixedDesign

PLAUSIBLE_NOISE = 5.0
"""A reward further than this many noise scales outside +-B contradicts the bound B."""


class BatchOptions(TypedDict, total=False):
    """What all take besides prior, horizon and when to restart; explained in `RPERP`."""

    norm_bound: float
    noise_scale: float | None
    delta: float
    constant: float | None
    features: Features | None


class BatchElimination(Recorded, PlannedPolicy[State]):
    """Batches of queries that are planned ahead, and elimination by each of them. Base class."""

    prior: FeaturePrior
    width: Scalar
    norm_bound: Scalar
    noise_scale: Scalar
    horizon: int = eqx.field(static=True)
    longest: int = eqx.field(static=True)  # batch

    def _configure(
        self,
        prior: Prior,
        *,
        horizon: int,
        period: int,
        longest: int,
        feature_share: float,
        norm_bound: float = 1.0,
        noise_scale: float | None = None,
        delta: float = 0.1,
        constant: float | None = 1.0,
        batches: int | None = None,
        features: Features | None = None,
    ) -> None:
        """`feature_share`: what default features may miss of any variance, in noise variances.

        `batches`: how many there are, where none is queried in random order: no `constant` needed.
        """
        noise_scale = math.sqrt(prior.noise_variance) if noise_scale is None else noise_scale
        width: Elimination | FixedDesign
        given: dict[str, Any] = {
            "noise_variance": prior.noise_variance, "norm_bound": norm_bound,
            "noise_scale": noise_scale, "delta": delta,
        }  # fmt: skip
        if constant is not None:
            given |= {"horizon": horizon, "period": period, "constant": constant}
            width = Elimination(len(prior), **given)
        elif batches is not None:
            width = FixedDesign(len(prior), batches=batches, **given)
        else:
            raise DriftpeakError("constant must be a number: a random order costs the width C")
        share = feature_share * prior.noise_variance / prior.variance.max()
        self.prior = FeaturePrior(prior, prior.features_or(features, tolerance=share))
        self.width = width.value
        self.norm_bound, self.noise_scale = np.float64(norm_bound), np.float64(noise_scale)
        self.horizon, self.longest = horizon, longest

    @property
    def points(self) -> int:
        return len(self.prior.variance)

    def out_of_bounds(self, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        excess = abs(rewards - self.prior.mean[actions]) - PLAUSIBLE_NOISE * self.noise_scale
        return excess > self.norm_bound * np.sqrt(self.prior.variance[actions])

    @property
    def bounds_in_words(self) -> str:
        return (
            f"norm_bound={self.norm_bound:g} prior deviations plus {PLAUSIBLE_NOISE:g} times "
            f"noise_scale={self.noise_scale:g} around the prior mean"
        )

    def select(
        self, sets: Bool[Array, "sets n"], ends: Int[Array, " sets"]
    ) -> Int[Array, " longest"]:
        """Points of largest posterior variance given those before: up to number `ends[0]` from
        `sets[0]`, from there up to number `ends[1]` from `sets[1]`, and so on.

        Entries from `ends[-1]` on are 0.
        """
        features = self.prior.features

        def pick(number: Any, state: Any) -> Any:
            plan, covariance, variance = state
            allowed = sets[jnp.searchsorted(ends, number, side="right")]
            point = jnp.argmax(jnp.where(allowed, variance, -jnp.inf))
            new = features.rows(point)
            gain = covariance @ new
            scale = new @ gain + self.prior.noise_variance
            variance = variance - features.values(gain) ** 2 / scale
            covariance = covariance - jnp.outer(gain, gain) / scale
            return plan.at[number].set(point), covariance, variance

        begin = (
            jnp.zeros(self.longest, int),
            jnp.eye(features.shape[1]),
            jnp.asarray(self.prior.variance),
        )
        return jax.lax.fori_loop(0, ends[-1], pick, begin)[0]

    def shuffle(self, key: PRNGKeyArray, plan: Int[Array, " longest"], size: Any) -> Any:
        """The first `size` entries of `plan` in uniformly random order, before the others."""
        order = jax.random.uniform(key, (self.longest,), dtype=float)
        return plan[jnp.argsort(jnp.where(jnp.arange(self.longest) < size, order, jnp.inf))]

    def fit(self, counts: Float[Array, " n"], sums: Float[Array, " n"]) -> Ridge:
        """From `counts` queries with `sums` of rewards, less the prior mean."""
        found = ridge(self.prior.features, counts, sums, self.prior.noise_variance)
        return found._replace(mean=self.prior.mean + found.mean)

    def eliminate(
        self, survivors: Bool[Array, " n"], counts: Float[Array, " n"], sums: Float[Array, " n"]
    ) -> Bool[Array, " n"]:
        """Who may still be the best after `counts` queries with these `sums` of rewards.

        The point of the largest upper bound always stays.
        """
        mean, known, _ = self.fit(counts, sums)
        missed = self.prior.variance - self.prior.features.squares()
        deviation = jnp.sqrt(jnp.maximum(missed + known, 0.0))
        upper = jnp.where(survivors, mean + self.width * deviation, -jnp.inf)
        lower = jnp.where(survivors, mean - self.width * deviation, -jnp.inf)
        best = jnp.arange(self.points) == jnp.argmax(upper)
        return survivors & ((upper >= lower.max()) | best)
