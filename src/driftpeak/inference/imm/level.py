r"""The level of the rewards, estimated online: a constant that is added to the prior mean.

Given a level \(\ell\), a member's mean is \(m_y - \ell\, m_1\): its responses to the rewards and to
a constant 1 (Rosenberg 1973; de Jong 1991, The Diffuse Kalman Filter). With \(e, u\) the residuals
of both series at an observation of predictive variance s, in units of the prior's,

\[S = \sum u^2 / s, \qquad B = \sum u e / s\]

are sufficient statistics of the level. Its prior is heavy-tailed, a mixture of \(N(0, \tau^2)\)
over the standard deviations \(\tau\); most of its mass is at \(\tau = 0\), a correct prior mean.
Under \(\tau\), with the amplitude A of the function's variance,

\[V_\tau = \frac{\tau^2}{1 + \tau^2 S}, \qquad \ell_\tau = V_\tau B, \qquad
\log p_\tau = -\tfrac12 \log(1 + \tau^2 S) + \tfrac{V_\tau B^2}{2A} + \text{const}.\]

An offset of the rewards is thus found within the first few rewards, and costs nothing if there is
none.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.types import Scalar

DEVIATIONS = (0.0, 4.0, 1000.0)
CHANCES = (0.8, 0.15, 0.05)
"""Prior probabilities of `DEVIATIONS`, the level's deviations in units of the function's."""


class LevelState(NamedTuple):
    """Sufficient statistics of the level, by member: S, and B in units of the reward."""

    information: Float[Array, "*k"]
    weighted: Float[Array, "*k"]


class Levels(NamedTuple):
    """The level under each of the h deviations: mean, variance in units of the prior's, weight."""

    mean: Float[Array, "*k h"]
    variance: Float[Array, "*k h"]
    chance: Float[Array, "*k h"]

    def moments(self, amplitude: Scalar) -> tuple[Float[Array, "*k"], Float[Array, "*k"]]:
        """Return mean and variance of the mixture, the variance in units of the prior's."""
        mean = (self.chance * self.mean).sum(axis=-1)
        apart = (self.mean - mean[..., None]) ** 2 / amplitude
        return mean, (self.chance * (self.variance + apart)).sum(axis=-1)


class Level(eqx.Module):
    """The model of the level.

    Arguments:
        variance: variance of the function under the prior.
        learn: whether to estimate the level; if not, the prior mean is taken as correct.
    """

    squares: Any  # (h,), tau^2
    log_chances: Any  # (h,)

    def __init__(self, variance: float, *, learn: bool = True) -> None:
        count = len(DEVIATIONS) if learn else 1
        self.squares = np.square(DEVIATIONS[:count]) * variance
        self.log_chances = np.log(CHANCES[:count]) - np.log(sum(CHANCES[:count]))

    def init(self, members: int) -> LevelState:
        return LevelState(jnp.zeros(members), jnp.zeros(members))

    def update(self, state: LevelState, surprise: Any, lift: Any, variance: Any) -> LevelState:
        """Update with one observation.

        Arguments:
            surprise, lift: e and u, by member.
            variance: s, by member.
        """
        return LevelState(
            state.information + lift**2 / variance,
            state.weighted + lift * surprise / variance,
        )

    def given(self, state: LevelState, amplitude: Scalar) -> Levels:
        """Return the posterior of the level if the function has this amplitude."""
        information, weighted = state.information[..., None], state.weighted[..., None]
        shape = (1,) * state.information.ndim + (-1,)
        squares, log_chances = (x.reshape(shape) for x in (self.squares, self.log_chances))
        shrunk = 1 + squares * information
        variance = squares / shrunk
        unit = jnp.broadcast_to(amplitude, state.information.shape)[..., None]
        evidence = log_chances - 0.5 * jnp.log(shrunk) + 0.5 * variance * weighted**2 / unit
        return Levels(variance * weighted, variance, jax.nn.softmax(evidence))
