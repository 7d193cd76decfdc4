"""Batches of queries and elimination, shared by policies that eliminate in batches.

A batch takes, one after another, the allowed point of largest posterior variance given the points
already taken; this needs no rewards. With the data of the batch alone, points whose upper bound is
below the largest lower bound are then eliminated (PE, Li and Scarlett 2022; IT25 Algorithm 1). A
batch queried in random order gives a confidence bound for the average of the functions during it
(IT25 Theorem 4). The set of its points may be any set that is fixed in advance.
"""

import math
from typing import Any, TypedDict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.types import Scalar
from driftpeak.gp.features import Features
from driftpeak.gp.priors import Prior
from driftpeak.gp.ridge import Ridge, ridge
from driftpeak.inference.beliefs.posterior import FeaturePrior
from driftpeak.policies.fixed_horizon import PlannedPolicy
from driftpeak.policies.player import State
from driftpeak.policies.widths import Elimination, EliminationConstant, FixedDesign

PLAUSIBLE_NOISE = 5.0
"""A reward more than this number of noise scales outside +-B contradicts the bound B."""


class BatchOptions(TypedDict, total=False):
    """Arguments in addition to prior, horizon and restarts; see `RPERP`."""

    norm_bound: float
    noise_scale: float | None
    delta: float
    constant: EliminationConstant | None
    features: Features | None


class BatchElimination(RecordsArguments, PlannedPolicy[State]):
    """A policy with planned batches of queries and elimination after each batch. Base class."""

    prior: FeaturePrior
    width: Scalar
    norm_bound: Scalar
    noise_scale: Scalar
    horizon: int = eqx.field(static=True)
    longest: int = eqx.field(static=True)  # length of the longest batch

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
        constant: EliminationConstant | None = 1.0,
        batches: int | None = None,
        features: Features | None = None,
    ) -> None:
        """Set the fields.

        `feature_share` is the largest error of default features, in noise variances. `batches` is
        the number of batches if none is in random order; `constant` may then be None.
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
            raise DriftpeakError("constant must be a number for a random order; got None")
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
        """Select points of largest posterior variance given the points before.

        Points up to number `ends[0]` are from `sets[0]`, then up to number `ends[1]` from
        `sets[1]`, and so on. Entries from `ends[-1]` on are 0.
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
        """Return `plan` with its first `size` entries in uniformly random order."""
        order = jax.random.uniform(key, (self.longest,), dtype=float)
        return plan[jnp.argsort(jnp.where(jnp.arange(self.longest) < size, order, jnp.inf))]

    def fit(self, counts: Float[Array, " n"], sums: Float[Array, " n"]) -> Ridge:
        """Fit to `counts` queries with `sums` of rewards minus the prior mean."""
        fitted = ridge(self.prior.features, counts, sums, self.prior.noise_variance)
        return fitted._replace(mean=self.prior.mean + fitted.mean)

    def eliminate(
        self, survivors: Bool[Array, " n"], counts: Float[Array, " n"], sums: Float[Array, " n"]
    ) -> Bool[Array, " n"]:
        """Return the points that may still be best after `counts` queries with these `sums`.

        The point of the largest upper bound always survives.
        """
        mean, known, _ = self.fit(counts, sums)
        missed = self.prior.variance - self.prior.features.squares()
        deviation = jnp.sqrt(jnp.maximum(missed + known, 0.0))
        upper = jnp.where(survivors, mean + self.width * deviation, -jnp.inf)
        lower = jnp.where(survivors, mean - self.width * deviation, -jnp.inf)
        best = jnp.arange(self.points) == jnp.argmax(upper)
        return survivors & ((upper >= lower.max()) | best)
