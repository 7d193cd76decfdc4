"""A wrapper that gives a policy the logarithms or roots of the rewards."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, one_of, positive
from driftpeak._core.times import Horizon, TimesLike
from driftpeak._core.types import Scalar
from driftpeak.gp.transforms import TRANSFORMATIONS, TRANSFORMS, Transformation
from driftpeak.policies.catalogue import policy
from driftpeak.policies.player import Prediction, Query, checked_reward
from driftpeak.policies.protocol import Policy
from driftpeak.policies.wrappers import WrappedState, Wrapping, WrappingPolicy


@policy(
    tag="transformed",
    memory="wraps a policy without a reward bound; logarithms or roots of positive rewards",
)
class Transformed(WrappingPolicy):
    """A policy, `policy`, that receives logarithms or roots of the rewards (Box and Cox 1964).

    It is for rewards above 0 whose variance grows with their size, such as prices, durations and
    counts: no Gaussian posterior fits them on their own scale. The transformation is increasing, so
    the order of the points does not change. The prior of `policy` is one of the transformed
    rewards. Predictions are in units of the rewards, with the noise averaged over the points.

    Arguments:
        policy: the policy that decides.
        transformation: "log" or "root".
        least: smaller rewards are set to this value; above 0.

    Raises:
        DriftpeakError: an unknown transformation, least not above 0, a policy that sees the true
            function, or a policy with a bound of the rewards.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.Transformed(dp.Auto(prior), "log", least=0.01)
    """

    transformation: Transformation = eqx.field(static=True)
    least: Scalar

    @checked
    def __init__(self, policy: Policy, transformation: str, *, least: float) -> None:
        self.transformation = one_of("transformation", transformation, TRANSFORMATIONS[1:])
        if policy.foresight != "none":
            raise DriftpeakError("policy must not see the true function to be transformed")
        if policy.bounds_in_words:
            raise DriftpeakError(
                f"policy must have no bound of the rewards; got {type(policy).__name__} with "
                f"{policy.bounds_in_words}. Give it a bound of the transformed rewards and "
                "transform them yourself"
            )
        self.policy = policy
        self.least = np.float64(positive("least", least))

    @property
    def chooses_among(self) -> bool:
        return self.policy.chooses_among

    def prepare(self, times: TimesLike | Horizon) -> "TransformedPlayer":
        return TransformedPlayer(self.policy.prepare(times), self.transformation, self.least)


class TransformedPlayer(Wrapping):
    """The player of the policy, with the rewards that `Transformed` describes."""

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
        prediction = super().predict(state, time)
        if prediction is None:
            return None
        transform, (mean, variance, noise) = TRANSFORMS[self.transformation], prediction
        own = transform.variance(mean, variance)
        whole = transform.variance(mean, variance + noise)
        return Prediction(transform.mean(mean, variance), own, (whole - own).mean())

    def _changed(self, reward: Any) -> Any:
        return TRANSFORMS[self.transformation].forward(jnp.maximum(reward, self.least))
