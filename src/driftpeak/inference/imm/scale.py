r"""The scale of the rewards, learned: how large the function is, and how large the noise.

The variances of function and noise are \(e^a\) and \(e^{a + b}\) times those of the prior. The
joint posterior of a and b is kept on a grid, even and fine enough that no unit of the rewards lies
between its nodes, to a millionfold of the deviation either way. The prior is heavy-tailed (Cauchy),
so that rewards in quite another unit are recognised at once; an observation counts as Gaussian up
to three deviations and by a power law beyond, so that an outlier is not soon taken for another
unit; and the scale may change now and then, which is noticed at once, and taken back at once if it
was an outlier after all. The beliefs are conditional on the means of a and b of their time
(empirical Bayes).

Whether a large reward comes of a large function or of another level is for both to decide: the
likelihood of a scale is a mixture over what the level may be (`driftpeak.inference.imm.level`),
with the chances that it has at that scale.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.types import Scalar

REACH = np.log(1e12)
"""Variances up to a factor of 1e12 either way, deviations up to a million."""
AMPLITUDES = np.linspace(-REACH, REACH, 81)
RATIOS = np.log(10) * np.linspace(-2, 2, 9)
CHANGE = 1e-4
"""Probability per observation that the scale is drawn anew from its prior."""
WIDTH = 0.5
"""Of the Cauchy prior, in logarithms of a variance."""
GAUSSIAN = 3.0
"""Deviations beyond which an observation says less about the scale than a Gaussian one would."""
UNLIKELY = 1e-3
"""An amplitude that is exceeded with this probability is not expected."""


class ScaleState(NamedTuple):
    """The posterior over the grid, its means, and the largest amplitude to be expected."""

    posterior: Float[Array, "a b"]
    amplitude: Float[Array, ""]  # of the function's variance, as a factor
    ratio: Float[Array, ""]  # of the noise variance to it, as a factor
    ceiling: Float[Array, ""]  # of the amplitude


class Scale(eqx.Module):
    """What is known of the scale.

    Arguments:
        learn: whether to learn it; if not, it stays that of the prior.
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
        """Whether there is anything to learn."""
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
        """Learn from one observation.

        Arguments:
            surprise: by which it missed the expectation, under each of h levels.
            variance: of that expectation, in units of the prior's.
            chance: of these levels, at every amplitude of the grid.
            noise: the prior's noise variance.
        """
        if not self.learned:
            return state
        spread = variance[:, None] + noise * jnp.exp(self.ratios)[None]
        # products and sums of rows and columns: of all cells only one exponential is taken
        expected = jnp.log(spread)[:, None, :] + jnp.asarray(self.amplitudes)[None, :, None]
        # no surprise is smaller than the least noise: of a point seen again without any, each would
        # make the function smaller still, until nothing elsewhere seemed worth a look
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
"""Keeps what is impossible off the logarithm of 0."""
