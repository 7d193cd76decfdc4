r"""The scale of the rewards, estimated online: the amplitude of the function and the noise.

The variances of function and noise are \(e^a\) and \(e^{a + b}\) times those of the prior. The
joint posterior of a and b is kept on a grid. Its nodes are evenly spaced and dense enough for
rewards in any unit, up to a factor of a million in the standard deviation either way.

The prior is heavy-tailed (Cauchy), so rewards in a very different unit are recognised at once. The
likelihood of an observation is Gaussian up to three standard deviations and a power law beyond, so
an outlier is not quickly mistaken for another unit. The scale may also change at any step: a change
is detected at once, and reverted at once if the observation was an outlier. The posteriors of the
function are conditional on the current means of a and b (empirical Bayes).

A large reward may come from a large function or from another level. The likelihood of a scale is
therefore a mixture over the level (`driftpeak.inference.imm.level`), with the probabilities of the
levels at that scale.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.types import Scalar

REACH = np.log(1e12)
"""Log range of the variances: a factor of 1e12 either way, a million in standard deviations."""
AMPLITUDES = np.linspace(-REACH, REACH, 81)
RATIOS = np.log(10) * np.linspace(-2, 2, 9)
CHANGE = 1e-4
"""Probability per observation that the scale is drawn again from its prior."""
WIDTH = 0.5
"""Width of the Cauchy prior, in logarithms of a variance."""
GAUSSIAN = 3.0
"""Standard deviations beyond which the likelihood of an observation is a power law."""
UNLIKELY = 1e-3
"""Posterior probability that the amplitude exceeds the ceiling."""


class ScaleState(NamedTuple):
    """The posterior over the grid, its means, and the largest plausible amplitude."""

    posterior: Float[Array, "a b"]
    amplitude: Float[Array, ""]  # of the function's variance, as a factor
    ratio: Float[Array, ""]  # of the noise variance to it, as a factor
    ceiling: Float[Array, ""]  # of the amplitude


class Scale(eqx.Module):
    """The model of the scale.

    Arguments:
        learn: whether to estimate the scale; if not, the scale of the prior is used.
    """

    amplitudes: Any  # (a,), logarithms
    ratios: Any  # (b,)
    prior: Any  # (a, b)

    def __init__(self, *, learn: bool = True) -> None:
        self.amplitudes = AMPLITUDES if learn else np.zeros(1)
        self.ratios = RATIOS if learn else np.zeros(1)
        heights = (1 / (1 + (grid / WIDTH) ** 2) for grid in (self.amplitudes, self.ratios))
        prior = np.outer(*heights)
        self.prior = prior / prior.sum()

    @property
    def learned(self) -> bool:
        """Whether the scale is estimated."""
        return len(self.amplitudes) > 1

    def init(self) -> ScaleState:
        return self._summarised(jnp.asarray(self.prior))

    def update(
        self,
        state: ScaleState,
        surprise: Float[Array, " h"],
        variance: Float[Array, " h"],
        chance: Float[Array, "a h"],
        noise: Scalar,
    ) -> ScaleState:
        """Update with one observation.

        Arguments:
            surprise: residual of the observation under each of h levels.
            variance: predictive variance, in units of the prior's.
            chance: probabilities of these levels, at each amplitude of the grid.
            noise: the prior's noise variance.
        """
        if not self.learned:
            return state
        spread = variance[:, None] + noise * jnp.exp(self.ratios)[None]
        # products and sums of rows and columns: only one exponential is taken over all cells
        expected = jnp.log(spread)[:, None, :] + jnp.asarray(self.amplitudes)[None, :, None]
        # squared residuals are at least the smallest noise. Otherwise a point repeated without
        # noise would shrink the estimated amplitude until nothing else is explored
        least = state.amplitude * noise * jnp.exp(self.ratios[0])
        away = (surprise**2 + least)[:, None] / spread
        squared = away[:, None, :] * jnp.exp(-self.amplitudes)[None, :, None]
        near = jnp.minimum(squared, GAUSSIAN**2)
        beyond = jnp.log(away / GAUSSIAN**2)[:, None, :] - self.amplitudes[None, :, None]
        likelihood = -0.5 * (near + GAUSSIAN**2 * jnp.maximum(beyond, 0.0) + expected)
        shares = jnp.exp(likelihood - likelihood.max()) * chance.T[:, :, None]
        before = (1 - CHANGE) * state.posterior + CHANGE * jnp.asarray(self.prior)
        posterior = before * (shares.sum(axis=0) + TINY)
        return self._summarised(posterior / posterior.sum())

    def _summarised(self, posterior: Float[Array, "a b"]) -> ScaleState:
        amplitudes, ratios = posterior.sum(axis=1), posterior.sum(axis=0)
        unlikely = jnp.cumsum(amplitudes) >= 1 - UNLIKELY
        return ScaleState(
            posterior,
            jnp.exp(amplitudes @ self.amplitudes),
            jnp.exp(ratios @ self.ratios),
            jnp.exp(jnp.asarray(self.amplitudes)[jnp.argmax(unlikely)]),
        )


TINY = 1e-300
"""Keeps impossible values away from the logarithm of 0."""
