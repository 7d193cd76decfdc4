"""Players, which `simulate` and a live optimiser run: pure functions on a separate state.

    state = player.init(key)
    state, query = player.ask(state, time)      # the point to sample now
    state = player.tell(state, query, reward, time)

A player whose `side_capacity` is not 0 may have an expert re-evaluate points that it has sampled
(side queries, M25). Side queries cause no regret, and are counted:

    state, arms, wanted = player.consult(state, time)
    state = player.hear(state, arms, answers, answered, time)
    state, query = player.ask(state, time)

If its `consults` is "after", it is consulted after `tell` instead, about the function of that step.

A player runs inside a compiled loop over steps and trials (`simulate`) and step by step
(`Optimizer`). Everything must be traceable by JAX: static shapes, no Python control flow on values.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.types import Scalar

State = TypeVar("State")
Query = Int[Array, ""]
REFRESH = 4096
"""Number of steps after which accumulated rounding errors of a player are removed."""
Foresight = Literal["none", "present", "all"]
Asks = Literal["before", "after"]
ASKS: tuple[Asks, ...] = ("before", "after")


class Reading(NamedTuple):
    """A quantity that a player reports: a number, or one for each of `labels`.

    Arguments:
        meaning: description in words.
        labels: labels of the numbers; empty for a single number.
    """

    meaning: str
    labels: tuple[str, ...] = ()


class Prediction(NamedTuple):
    """Moments of the function at every point, and the variance of the noise on one reward.

    Arguments:
        mean, variance: of the noiseless function, shape `(n,)`.
        noise_variance: variance of the noise on one reward, in squared units of the reward.
    """

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]
    noise_variance: Scalar


class Player(eqx.Module, Generic[State]):
    """An object that decides: `init`, `ask`, `tell`, and more. `Policy.prepare` returns it."""

    foresight: ClassVar[Foresight] = "none"
    """What `inform` shows before a decision: nothing; the true function at that step; or, once
    before the run, the true function at every step. Only baselines use it."""

    @property
    @abstractmethod
    def points(self) -> int:
        """The number of points to choose from."""

    @abstractmethod
    def init(self, key: PRNGKeyArray) -> State:
        """Return the state before the first decision; `key` is the only source of randomness.

        Every draw needs its own key: split the key in the state and keep the rest, so that a reset
        cannot repeat an earlier draw.
        """

    @abstractmethod
    def ask(self, state: State, time: Scalar) -> tuple[State, Query]:
        """Return the new state and the index of the point to sample at `time`."""

    @abstractmethod
    def tell(self, state: State, query: Query, reward: Scalar, time: Scalar) -> State:
        """Update with the reward of `query` observed at `time`.

        Raises:
            DriftpeakError: a reward that is NaN or infinite; the state does not change.
        """

    # optional abilities

    def ask_among(
        self, state: State, time: Scalar, among: Bool[Array, " n"]
    ) -> tuple[State, Query]:
        """Return what `ask` returns, for a point where `among` is true; see `InContext`.

        It requires a policy with `chooses_among`.
        """
        raise NotImplementedError("this policy does not support a choice among given points")

    @property
    def side_capacity(self) -> int:
        """The largest number of side queries at one step, q; 0 for most players."""
        return 0

    @property
    def consults(self) -> Asks:
        """The time of side queries: "before" the decision or "after" the reward."""
        return "before"

    def consult(
        self, state: State, time: Scalar
    ) -> tuple[State, Int[Array, " q"], Bool[Array, " q"]]:
        """Return side queries at `time`: indices of points, and a mask of those that count.

        The points have been sampled before; there are `side_capacity` places.
        """
        raise NotImplementedError("this policy makes no side queries")

    def hear(
        self, state: State, arms: Int[Array, " q"], answers: Any, answered: Any, time: Scalar
    ) -> State:
        """Update with the expert's answers to `arms` from `consult`, where `answered` is true.

        Answers are real numbers and booleans of shape `(q,)`; unanswered places may hold any
        number. An expert may answer some queries or none.

        Raises:
            DriftpeakError: an answer that is NaN or infinite; the state does not change.
        """
        raise NotImplementedError("this policy makes no side queries")

    def predict(self, state: State, time: Scalar) -> Prediction | None:
        """Return the prediction at every point at `time`, or None if there is none."""
        return None

    def held(self, state: State, time: Scalar) -> Int[Array, ""] | None:
        """Return the number of observations that count at `time`, or None if undefined."""
        return None

    def refresh(self, state: State) -> State:
        """Return the state with accumulated rounding errors removed; called occasionally."""
        return state

    def inform(self, state: State, values: Float[Array, " n"]) -> State:
        """Receive the true function; see `foresight`."""
        return state

    def restarts(self, state: State) -> Int[Array, ""]:
        """Return the number of restarts caused by observations (not by schedule)."""
        return jnp.zeros((), int)

    @property
    def readings(self) -> Mapping[str, Reading]:
        """The quantities that `read` returns, by name.

        Read it outside compiled code: the labels may depend on values of the policy.
        """
        return {}

    def read(self, state: State) -> dict[str, Any]:
        """Return the reported quantities by the names of `readings`: numbers and vectors."""
        return {}


def largest(scores: Float[Array, " n"], among: Bool[Array, " n"] | None) -> Query:
    """Return the first maximiser of the scores, among all points or where `among` is true."""
    return jnp.argmax(scores if among is None else jnp.where(among, scores, -jnp.inf))


def checked_reward(reward: Scalar) -> Scalar:
    """Return `reward` after a check that it is finite; inside a compiled program it is not checked.

    Raises:
        DriftpeakError: a reward that is not a finite number.
    """
    if not isinstance(reward, jax.core.Tracer) and not np.isfinite(reward):
        raise DriftpeakError(f"a reward must be a finite number; got {reward}")
    return reward


def checked_answers(answers: Any, answered: Any) -> None:
    """Check that an expert's answers are finite; inside a compiled program they are not checked.

    Raises:
        DriftpeakError: an answer that is not a finite number.
    """
    if not isinstance(answers, jax.core.Tracer):
        given = np.asarray(answers, float)[np.asarray(answered, bool)]
        if not np.isfinite(given).all():
            raise DriftpeakError("the expert's answers must be finite numbers")
