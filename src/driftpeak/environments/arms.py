"""H23's environments: the sign of a function switches; a cosine moves its phase."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak.environments.protocol import Environment, Scalar
from driftpeak.errors import DriftpeakError, finite_array, positive
from driftpeak.priors import Prior

Values = Float[Array, " n"]


class SignSwitches(Environment[Values]):
    r"""A draw from the prior, scaled to \(\max |f| = \) `peak`, that changes sign (H23, section 6).

    The paper speaks of a new function; its program negates the old one, and so do we.

    Arguments:
        prior: its covariance gives the function; its mean is not used.
        changes: increasing times after which f becomes -f; H23 has 3000, or 1500 and 5000.
        peak: largest absolute value.

    Raises:
        DriftpeakError: changes that do not increase, peak not positive.
    """

    features: Any
    noise_variance: Any
    changes: Any
    peak: Any

    def __init__(self, prior: Prior, *, changes: Any, peak: float = 0.8) -> None:
        self.features = prior.features.matrix
        self.noise_variance = np.float64(prior.noise_variance)
        self.changes = finite_array("changes", changes, 1)
        if (np.diff(self.changes) <= 0).any():
            raise DriftpeakError(f"changes must increase; got {list(self.changes)}")
        self.peak = np.float64(positive("peak", peak))

    def init(self, key: PRNGKeyArray) -> Values:
        weights = jax.random.normal(key, (self.features.shape[1],), dtype=float)
        values = jnp.asarray(self.features) @ weights
        return self.peak * values / jnp.abs(values).max()

    def step(self, state: Values, time: Scalar) -> tuple[Values, Values]:
        odd = jnp.sum(time > self.changes) % 2 == 1
        return state, jnp.where(odd, -state, state)


class MovingCosine(Environment[Values]):
    r"""\(f_t(x) = 0.8 \cos(3 x^\top\theta + \varphi(t))\), \(\theta\) of length one (H23).

    Arguments:
        prior: its domain and noise variance.
        times, phases: corners of the phase \(\varphi\), straight lines between them and constant
            outside; H23's are 0 until 1000, pi from 3000 to 4000, 2 pi from 6000 on.
        peak: the factor 0.8. frequency: the factor 3.

    Raises:
        DriftpeakError: a domain without coordinates, times that do not increase, as many phases as
            times missing, a number out of range.
    """

    points: Any  # (n, d)
    noise_variance: Any
    times: Any
    phases: Any
    peak: Any
    frequency: Any

    def __init__(
        self,
        prior: Prior,
        *,
        times: Any = (1000.0, 3000.0, 4000.0, 6000.0),
        phases: Any = (0.0, np.pi, np.pi, 2 * np.pi),
        peak: float = 0.8,
        frequency: float = 3.0,
    ) -> None:
        if not prior.domain.has_coordinates:
            raise DriftpeakError("a moving cosine needs points with coordinates")
        self.points = prior.domain.points
        self.noise_variance = np.float64(prior.noise_variance)
        self.times, self.phases = finite_array("times", times, 1), finite_array("phases", phases, 1)
        if (np.diff(self.times) <= 0).any() or len(self.times) != len(self.phases):
            raise DriftpeakError("times must increase, and phases must be as many as times")
        self.peak = np.float64(positive("peak", peak))
        self.frequency = np.float64(positive("frequency", frequency))

    def init(self, key: PRNGKeyArray) -> Values:
        direction = jax.random.normal(key, (self.points.shape[1],), dtype=float)
        direction = direction / jnp.sqrt((direction**2).sum())
        return self.frequency * jnp.asarray(self.points) @ direction

    def step(self, state: Values, time: Scalar) -> tuple[Values, Values]:
        phase = jnp.interp(time, jnp.asarray(self.times), jnp.asarray(self.phases))
        return state, self.peak * jnp.cos(state + phase)
