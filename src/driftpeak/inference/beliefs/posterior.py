"""Base classes of beliefs and the posterior that they return."""

from abc import abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.types import Scalar
from driftpeak.gp.feature_matrix import FeatureMatrix
from driftpeak.gp.features import Features
from driftpeak.gp.priors import Prior

State = TypeVar("State")
AFRESH = 32
"""Number of steps after which the moments of the values are recomputed from scratch."""


class Posterior(NamedTuple):
    """The marginal posterior of the function at one time, at the n points of the domain.

    Arguments:
        mean, variance: of the noiseless function, shape `(n,)`, in units of the reward and of its
            square.
        information: information gain of the observations in memory, in nats:
            1/2 log det(I + S^-1 K).
        observations: number of observations in memory.
    """

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]
    information: Float[Array, ""]
    observations: Int[Array, ""]

    @property
    def deviation(self) -> Float[Array, "*steps n"]:
        """Posterior standard deviation.

        Rounding may leave a variance slightly below zero; `simulate` raises for larger errors.
        """
        return jnp.sqrt(jnp.maximum(self.variance, 0.0))


class Belief(eqx.Module, Generic[State]):
    """GP regression under a forgetting rule, one observation at a time.

    A belief holds the configuration; `init` returns the state, and every method is pure. Times
    must not decrease from one call to the next.
    """

    prior: eqx.AbstractVar[Any]
    forgetting: eqx.AbstractVar[Any]

    @property
    def points(self) -> int:
        """The number of points of the domain, n."""
        return len(self.prior.variance)

    @abstractmethod
    def init(self) -> State:
        """Return the state before any observation."""

    @abstractmethod
    def posterior(self, state: State, time: Scalar) -> Posterior:
        """Return the posterior of the function at `time`."""

    @abstractmethod
    def update(self, state: State, arm: Scalar, reward: Scalar, time: Scalar) -> State:
        """Return the state after observing `reward` at point number `arm` at `time`."""

    def persistence(self, state: State, time: Scalar, ahead: Scalar) -> Float[Array, " n"]:
        r"""Return the posterior covariance of every \(f_t(x)\) with \(f_{t+h}(x)\).

        Under Markov rules it is the variance times the correlation over the elapsed time.

        Arguments:
            time: t.
            ahead: h, a duration of at least 0.
        """
        variance = jnp.maximum(self.posterior(state, time).variance, 0.0)
        return self.forgetting.correlation(ahead) * variance

    @abstractmethod
    def sample(self, state: State, time: Scalar, key: PRNGKeyArray) -> Float[Array, " n"]:
        """Draw the whole function at `time` once from the joint posterior."""

    def refresh(self, state: State) -> State:
        """Return the state with accumulated rounding errors removed; call it occasionally."""
        return state


class Fading(Belief[State]):
    """A belief for Keep, Restart and Drift: all moments fade by one factor. Base class.

    The state has `mean` (relative to the prior mean), `variance`, `information`, `observations`
    and `time`, all at the last observation.
    """

    def posterior(self, state: Any, time: Scalar) -> Posterior:
        c, same_epoch = self._elapse(state, time)
        return Posterior(
            mean=self.prior.mean + c * state.mean,
            variance=fade(c, state.variance, self.prior.variance),
            information=jnp.where(same_epoch, state.information, 0.0),
            observations=jnp.where(same_epoch, state.observations, 0),
        )

    def _elapse(self, state: Any, time: Scalar) -> tuple[Scalar, Scalar]:
        """Return the correlation since the last observation, and whether it still counts."""
        same_epoch = self.forgetting.same_epoch(state.time, time)
        faded = self.forgetting.correlation(jnp.maximum(time - state.time, 0.0))
        return jnp.where(same_epoch, faded, 0.0), same_epoch


class FeaturePrior(eqx.Module):
    """The arrays of a prior that a feature-space belief needs."""

    features: FeatureMatrix  # of the n points on r weights
    variance: Any  # (n,), exact: it includes what the features miss
    mean: Any  # (n,)
    noise_variance: Any

    def __init__(self, prior: Prior, features: Features) -> None:
        self.features = features.loadings_of_several
        self.variance = prior.variance
        self.mean = prior.mean
        self.noise_variance = np.float64(prior.noise_variance)


def fade(c: Scalar, now: Any, prior: Any) -> Any:
    """Return second moments after a time of correlation c: the lost share returns to the prior."""
    return c**2 * now + (1 - c**2) * prior
