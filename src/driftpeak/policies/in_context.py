"""Policies in contexts: any policy with a belief, restricted to the context of each step."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.times import Horizon, TimesLike, check_times
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.gp.context_points import Contexts, check_cells, check_room
from driftpeak.policies.catalogue import policy
from driftpeak.policies.player import Prediction, Query
from driftpeak.policies.protocol import Policy
from driftpeak.policies.wrappers import WrappedState, Wrapping, WrappingPolicy


@policy(
    tag="",
    memory="wraps a policy that has a belief; adds the context of each step "
    "(:doc:`how-to/contexts`)",
)
class InContext(WrappingPolicy):
    """A policy on cells, `policy`, that chooses a point in the context of each step.

    Only the cells in the context of the step may be chosen, and a reward is an observation of its
    cell. With `GPUCB` this is contextual GP-UCB (Krause and Ong 2011). The belief covers all cells
    (`Contexts.cells`). Outside it is a policy of the n points, so policies with and without
    contexts can play one environment. Contexts of later steps have no influence.

    After the last step its predictions are a mixture over the contexts by their frequency.

    Arguments:
        policy: a policy of the GP-UCB family, `Auto`, or one of these in `Transformed`, with a
            prior on the cells.
        contexts: contexts of the run; the run may be shorter, not longer.

    Raises:
        DriftpeakError: a policy that does not support a choice among given points (it eliminates
            points, draws them, or makes side queries), points that are not the cells of these
            contexts, a run longer than the contexts, or times that are unknown in advance.
    """

    numbers: AnyArray  # (steps,), of kinds
    kinds: int = eqx.field(static=True)

    @checked
    def __init__(self, policy: Policy, contexts: Contexts) -> None:
        if not policy.chooses_among:
            raise DriftpeakError(
                f"policy must support contexts; got {type(policy).__name__}. Use a policy of the "
                "GP-UCB family or Auto, and put InContext inside other wrappers"
            )
        kinds = len(contexts.kinds)
        check_cells("the policy", policy.points, kinds, "its prior")
        self.policy = policy
        self.numbers = contexts.numbers
        self.kinds = kinds

    @property
    def points(self) -> int:
        return self.policy.points // self.kinds

    def prepare(self, times: TimesLike | Horizon) -> "InContextPlayer":
        if isinstance(times, Horizon):
            raise DriftpeakError(
                "times must be known in advance for InContext. If contexts arrive with decisions, "
                "use a DriftingGP on a space with space.context(...)"
            )
        check_room(self.numbers, len(check_times(times)))
        return InContextPlayer(self.policy.prepare(times), self.numbers, self.kinds)


class InContextPlayer(Wrapping):
    """The player of the cells; the wrapper counts the decisions."""

    numbers: Any
    shares: Any  # (kinds,), share of the steps
    kinds: int = eqx.field(static=True)

    def __init__(self, player: Any, numbers: AnyArray, kinds: int) -> None:
        self.player = player
        self.numbers = numbers
        self.kinds = kinds
        self.shares = np.bincount(numbers, minlength=kinds) / len(numbers)

    @property
    def points(self) -> int:
        return self.player.points // self.kinds

    def init(self, key: PRNGKeyArray) -> WrappedState:
        return WrappedState(self.player.init(key), jnp.zeros((), int))

    def ask(self, state: WrappedState, time: Scalar) -> tuple[WrappedState, Query]:
        first = self._first(state.more)
        cells = jnp.arange(self.player.points)
        among = (cells >= first) & (cells < first + self.points)
        own, cell = self.player.ask_among(state.own, time, among)
        return WrappedState(own, state.more + 1), cell - first

    def tell(self, state: WrappedState, query: Query, reward: Scalar, time: Scalar) -> WrappedState:
        return super().tell(state, self._first(state.more - 1) + query, reward, time)

    def predict(self, state: WrappedState, time: Scalar) -> Prediction | None:
        prediction = super().predict(state, time)
        if prediction is None:
            return None
        known = jnp.arange(self.kinds) == jnp.asarray(self.numbers)[self._step(state.more)]
        shares = jnp.where(state.more < len(self.numbers), known, jnp.asarray(self.shares))
        means = prediction.mean.reshape(self.kinds, -1)
        mean = shares @ means
        variance = shares @ (prediction.variance.reshape(means.shape) + (means - mean[None]) ** 2)
        return Prediction(mean, variance, prediction.noise_variance)

    def _step(self, decisions: Int[Array, ""]) -> Int[Array, ""]:
        """Return the step after so many decisions; padding beyond the last is not recorded."""
        return jnp.clip(decisions, 0, len(self.numbers) - 1)

    def _first(self, decisions: Int[Array, ""]) -> Int[Array, ""]:
        """Return the index of the first cell in the context of the next step."""
        return jnp.asarray(self.numbers)[self._step(decisions)] * self.points
