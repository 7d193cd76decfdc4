"""A policy that is told logarithms or roots of the rewards."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, positive
from driftpeak._core.times import AtMost, TimesLike
from driftpeak._core.types import Scalar
from driftpeak.gp.transforms import CHANGES, TRANSFORMATIONS, Transformation
from driftpeak.policies.player import Prediction, Query, checked_reward
from driftpeak.policies.protocol import Policy
from driftpeak.policies.wrappers import WrappedState, Wrapping, WrappingPolicy


class Transformed(WrappingPolicy):
    """`policy`, to which the rewards are told as their logarithms or roots (Box and Cox 1964).

    For rewards above 0 that vary the more the larger they are, such as prices, durations and
    counts: on their own scale no Gaussian belief fits them. What is largest stays largest, so the
    policy decides as before; the prior of `policy` is one of the transformed rewards. What it
    predicts is in units of the rewards again, the noise in the mean over the points.

    Arguments:
        policy: what acts.
        transformation: "log" or "root".
        least: rewards below it count as this much; above 0.

    Raises:
        DriftpeakError: no such transformation, least not above 0, a policy that sees the true
            function or is told a bound of the rewards.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.Transformed(dp.Auto(prior), "log", least=0.01)
    """

    transformation: Transformation = eqx.field(static=True)
    least: Scalar

    @checked
    def __init__(self, policy: Policy, transformation: str, *, least: float) -> None:
        changing = TRANSFORMATIONS[1:]
        if transformation not in changing:
            raise DriftpeakError(
                f"transformation must be one of {', '.join(changing)}; got {transformation!r}"
            )
        if policy.foresight != "none":
            raise DriftpeakError("a policy that sees the true function is told no rewards")
        if policy.bounds_in_words:
            raise DriftpeakError(
                f"{type(policy).__name__} is told a bound of the rewards ({policy.bounds_in_words})"
                ": give it the bound of the transformed rewards and transform them yourself"
            )
        self.policy = policy
        self.transformation = transformation
        self.least = np.float64(positive("least", least))

    @property
    def chooses_among(self) -> bool:
        return self.policy.chooses_among

    def prepare(self, times: TimesLike | AtMost) -> "TransformedPlayer":
        return TransformedPlayer(self.policy.prepare(times), self.transformation, self.least)


class TransformedPlayer(Wrapping):
    """The player of the policy, told what `Transformed` says."""

    transformation: Transformation = eqx.field(static=True)
    least: Scalar

    def init(self, key: PRNGKeyArray) -> WrappedState:
        return WrappedState(self.player.init(key), ())

    def tell(self, state: WrappedState, query: Query, reward: Scalar, time: Scalar) -> WrappedState:
        return super().tell(state, query, self._changed(checked_reward(reward)), time)

    def hear(
        self, state: WrappedState, arms: Any, answers: Any, answered: Any, time: Scalar
    ) -> WrappedState:
        return super().hear(state, arms, self._changed(answers), answered, time)

    def predict(self, state: WrappedState, time: Scalar) -> Prediction | None:
        found = super().predict(state, time)
        if found is None:
            return None
        change, (mean, variance, noise) = CHANGES[self.transformation], found
        own = change.variance(mean, variance)
        whole = change.variance(mean, variance + noise)
        return Prediction(change.mean(mean, variance), own, (whole - own).mean())

    def _changed(self, reward: Any) -> Any:
        return CHANGES[self.transformation].forward(jnp.maximum(reward, self.least))
