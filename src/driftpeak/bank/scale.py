r"""The scale of the rewards, learned: how large the function is, and how large the noise.

The variances of function and noise are \(e^a\) and \(e^{a + b}\) times those of the prior. The
joint posterior of a and b is kept on a grid, fine near 0 and coarse to a millionfold of the
deviation either way. The prior is heavy-tailed (Cauchy), so that rewards in quite another unit are
recognised at once; an observation counts as Gaussian up to three deviations and by a power law
beyond, so that an outlier is not soon taken for another unit; and the scale may change now and
then, which is noticed at once, and taken back at once if it was an outlier after all. The beliefs
are conditional on the means of a and b of their time (empirical Bayes).
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Scalar = Any  # a real number; an array of one inside JAX

REACH = np.log(1e12)
"""Variances up to a factor of 1e12 either way, deviations up to a million."""
AMPLITUDES = REACH * np.sinh(np.linspace(-5, 5, 21)) / np.sinh(5)
RATIOS = np.log(10) * np.linspace(-2, 2, 9)
CHANGE = 1e-4
"""Probability per observation that the scale is drawn anew from its prior."""
WIDTH = 0.5
"""Of the Cauchy prior, in logarithms of a variance."""
GAUSSIAN = 3.0
"""Deviations beyond which an observation says less about the scale than a Gaussian one would."""


class ScaleState(NamedTuple):
    """The logarithms of the posterior over the grid, up to a constant, and its means."""

    log_posterior: Float[Array, " g"]
    amplitude: Float[Array, ""]  # of the function's variance, as a factor
    ratio: Float[Array, ""]  # of the noise variance to it, as a factor


class Scale(eqx.Module):
    """What is known of the scale.

    Arguments:
        learn: whether to learn it; if not, it stays that of the prior.
    """

    amplitudes: Any  # (g,), logarithms
    ratios: Any
    log_prior: Any

    def __init__(self, *, learn: bool = True) -> None:
        zero = np.zeros(1)
        grid = np.meshgrid(AMPLITUDES if learn else zero, RATIOS if learn else zero, indexing="ij")
        self.amplitudes, self.ratios = grid[0].ravel(), grid[1].ravel()
        # the grid is uneven: each cell stands for as much of the line as lies around it
        cell = np.gradient(AMPLITUDES) if learn else np.ones(1)
        heights = np.repeat(np.log(cell), len(self.ratios) // len(cell))
        log_prior = heights - np.log1p((self.amplitudes / WIDTH) ** 2)
        log_prior -= np.log1p((self.ratios / WIDTH) ** 2)
        self.log_prior = log_prior - np.logaddexp.reduce(log_prior)

    def init(self) -> ScaleState:
        return self._summarised(jnp.asarray(self.log_prior))

    def update(
        self, state: ScaleState, surprise: Scalar, variance: Scalar, noise: Scalar
    ) -> ScaleState:
        """Learn from one observation.

        Arguments:
            surprise: by which it missed the expectation.
            variance: of that expectation, in units of the prior's.
            noise: the prior's noise variance.
        """
        if len(self.amplitudes) == 1:
            return state
        expected = jnp.exp(self.amplitudes) * (variance + noise * jnp.exp(self.ratios))
        squared = surprise**2 / expected
        far = jnp.maximum(squared / GAUSSIAN**2, 1.0)
        near = jnp.minimum(squared, GAUSSIAN**2)
        likelihood = -0.5 * (near + GAUSSIAN**2 * jnp.log(far) + jnp.log(expected))
        stayed, anew = state.log_posterior + np.log(1 - CHANGE), self.log_prior + np.log(CHANGE)
        return self._summarised(jnp.logaddexp(stayed, anew) + likelihood)

    def _summarised(self, log_posterior: Float[Array, " g"]) -> ScaleState:
        share = jax.nn.softmax(log_posterior)
        return ScaleState(
            log_posterior - jax.nn.logsumexp(log_posterior),
            jnp.exp(share @ self.amplitudes),
            jnp.exp(share @ self.ratios),
        )
