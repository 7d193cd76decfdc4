"""H23's environments: a function that switches its sign and a cosine with a moving phase."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite, finite_array, increasing, positive
from driftpeak._core.types import AnyArray, Scalar, Values
from driftpeak.environments.catalogue import environment
from driftpeak.environments.noise import Noise
from driftpeak.environments.protocol import Environment, State
from driftpeak.gp.feature_matrix import FeatureMatrix
from driftpeak.gp.features import Features
from driftpeak.gp.priors import Prior


class Bounded(Environment[State]):
    """An environment with values in +-`peak`; `reward_limit` bounds the rewards. Base class."""

    noise_variance: Scalar
    peak: Scalar
    reward_limit: Scalar | None

    def _bound(self, prior: Prior, peak: float, reward_limit: float | None) -> None:
        self.noise_variance = np.float64(prior.noise_variance)
        self.peak = np.float64(positive("peak", peak))
        if reward_limit is not None and not finite("reward_limit", reward_limit) > self.peak:
            raise DriftpeakError(
                f"reward_limit must be above peak={self.peak:g}; got {reward_limit:g}"
            )
        self.reward_limit = None if reward_limit is None else np.float64(reward_limit)

    @property
    def noise(self) -> Noise:
        limit = None if self.reward_limit is None else jnp.asarray(self.reward_limit)
        return Noise(jnp.asarray(self.noise_variance), limit)


@environment(
    "changes its sign",
    name="sign",
    build=lambda prior, drift, steps: SignSwitches(prior, changes=[0.3 * steps]),
)
class SignSwitches(Bounded[Values]):
    r"""A draw from the prior, scaled to \(\max |f| = \) `peak`, that changes sign (H23, section 6).

    The paper describes a new function; its program negates the old one, and so does this class.

    Arguments:
        prior: its covariance gives the function; its mean is not used.
        changes: increasing times after which f becomes -f; H23 has 3000, or 1500 and 5000.
        peak: largest absolute value.
        reward_limit: bound of the absolute rewards, by truncation of the noise; H23 has 1.
        features: features from which functions are drawn, as for `Moving`.

    Raises:
        DriftpeakError: changes that do not increase, peak not positive, a limit not above it, or
            features for another number of points.

    Source: H23 section 6.
    """

    features: FeatureMatrix
    changes: AnyArray

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        changes: Any,
        peak: float = 0.8,
        reward_limit: float | None = None,
        features: Features | None = None,
    ) -> None:
        self._bound(prior, peak, reward_limit)
        self.features = prior.features_or(features).loadings
        self.changes = increasing("changes", changes)

    def init(self, key: PRNGKeyArray) -> Values:
        weights = jax.random.normal(key, (self.features.shape[1],), dtype=float)
        values = self.features.values(weights)
        return values * self.peak / jnp.abs(values).max()

    def step(self, state: Values, time: Scalar) -> tuple[Values, Values]:
        odd = jnp.sum(time > self.changes) % 2 == 1
        return state, jnp.where(odd, -state, state)


@environment(
    "is a moving cosine",
    name="cosine",
    build=lambda prior, drift, steps: MovingCosine(
        prior, times=[share * steps for share in (0.1, 0.3, 0.4, 0.6)]
    ),
)
class MovingCosine(Bounded[Values]):
    r"""The function \(0.8 \cos(3 x^\top\theta + \varphi(t))\), \(\theta\) of length one (H23).

    Arguments:
        prior: its domain and noise variance.
        times, phases: corners of the phase \(\varphi\), which is linear between them and constant
            outside; H23's phases are 0 until 1000, pi from 3000 to 4000, 2 pi from 6000 on.
        random_phase: add a phase that is uniform on [0, 2 pi), as in H23's stationary cosine.
        peak: the factor 0.8.
        frequency: the factor 3.
        reward_limit: bound of the absolute rewards, by truncation of the noise; H23 has 1.

    Raises:
        DriftpeakError: a domain without coordinates, times that do not increase, not one phase for
            each time, or a number out of range.

    Source: H23 section 6.
    """

    points: AnyArray  # (n, d)
    times: AnyArray
    phases: AnyArray
    frequency: Scalar
    random_phase: bool = eqx.field(static=True)

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        times: Any = (1000.0, 3000.0, 4000.0, 6000.0),
        phases: Any = (0.0, np.pi, np.pi, 2 * np.pi),
        random_phase: bool = False,
        peak: float = 0.8,
        frequency: float = 3.0,
        reward_limit: float | None = None,
    ) -> None:
        if not prior.domain.has_coordinates:
            raise DriftpeakError("points of a moving cosine must have coordinates; got none")
        self._bound(prior, peak, reward_limit)
        self.points = prior.domain.points
        self.random_phase = random_phase
        self.times, self.phases = finite_array("times", times, 1), finite_array("phases", phases, 1)
        if (np.diff(self.times) <= 0).any() or len(self.times) != len(self.phases):
            raise DriftpeakError("times must increase, and phases must be one for each time")
        self.frequency = np.float64(positive("frequency", frequency))

    def init(self, key: PRNGKeyArray) -> Values:
        direction = jax.random.normal(key, (self.points.shape[1],), dtype=float)
        direction = direction / jnp.sqrt((direction**2).sum())
        values = jnp.asarray(self.points) * self.frequency @ direction
        if not self.random_phase:
            return values
        turn = jax.random.uniform(jax.random.fold_in(key, 1), dtype=float)
        return values + 2 * jnp.pi * turn

    def step(self, state: Values, time: Scalar) -> tuple[Values, Values]:
        phase = jnp.interp(time, jnp.asarray(self.times), jnp.asarray(self.phases))
        return state, jnp.cos(state + phase) * self.peak
