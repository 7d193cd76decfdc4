"""Any policy with a belief, told at every step in which context it decides."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.times import AtMost, TimesLike, check_times
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.gp.context_points import Contexts, check_cells, check_room
from driftpeak.policies.player import Prediction, Query
from driftpeak.policies.protocol import Policy
from driftpeak.policies.wrappers import WrappedState, Wrapping, WrappingPolicy


class InContext(WrappingPolicy):
    """`policy`, which is one of the cells, choosing a point in the context of each step.

    Of its belief in all cells (`Contexts.cells`) only those in the context of the step may be
    chosen, and a reward is one of its cell (contextual GP-UCB, Krause and Ong 2011, if the policy
    is `GPUCB`). To others it is a policy of the n points: the same world is played by policies that
    know the contexts and by those that do not. Contexts of later steps have no influence.

    After the last of the steps it predicts the mixture over the contexts, as often as they came.

    Arguments:
        policy: of the GP-UCB family, `Auto`, or one of these in `Transformed`; its prior is one of
            the cells.
        contexts: of the run; it may be shorter, not longer.

    Raises:
        DriftpeakError: a policy that cannot be told what may be chosen (it eliminates points, draws
            them, or asks an expert), or whose points are not the cells of these contexts; a run
            longer than the contexts, or at times that nobody knows yet.
    """

    numbers: AnyArray  # (steps,), of kinds
    kinds: int = eqx.field(static=True)

    @checked
    def __init__(self, policy: Policy, contexts: Contexts) -> None:
        if not policy.chooses_among:
            raise DriftpeakError(
                f"{type(policy).__name__} cannot be told what may be chosen, so it knows no "
                "contexts: take a policy of the GP-UCB family or Auto, and put InContext inside "
                "other wrappers"
            )
        kinds = len(contexts.kinds)
        check_cells("the policy", policy.points, kinds, "its prior")
        self.policy = policy
        self.numbers = contexts.numbers
        self.kinds = kinds

    @property
    def points(self) -> int:
        return self.policy.points // self.kinds

    def prepare(self, times: TimesLike | AtMost) -> "InContextPlayer":
        if isinstance(times, AtMost):
            raise DriftpeakError(
                "InContext needs the contexts of the whole run beforehand: for decisions whose "
                "contexts come with them, take a DriftingGP on a space with space.context(...)"
            )
        check_room(self.numbers, len(check_times(times)))
        return InContextPlayer(self.policy.prepare(times), self.numbers, self.kinds)


class InContextPlayer(Wrapping):
    """The player of the cells; the wrapper counts the decisions."""

    numbers: Any
    shares: Any  # (kinds,), of the steps
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
        found = super().predict(state, time)
        if found is None:
            return None
        known = jnp.arange(self.kinds) == jnp.asarray(self.numbers)[self._step(state.more)]
        shares = jnp.where(state.more < len(self.numbers), known, jnp.asarray(self.shares))
        means = found.mean.reshape(self.kinds, -1)
        mean = shares @ means
        variance = shares @ (found.variance.reshape(means.shape) + (means - mean[None]) ** 2)
        return Prediction(mean, variance, found.noise_variance)

    def _step(self, decisions: Int[Array, ""]) -> Int[Array, ""]:
        """Which step comes after so many decisions; padding beyond the last is not recorded."""
        return jnp.clip(decisions, 0, len(self.numbers) - 1)

    def _first(self, decisions: Int[Array, ""]) -> Int[Array, ""]:
        """The number of the first cell in the context of the next step."""
        return jnp.asarray(self.numbers)[self._step(decisions)] * self.points
