"""What a policy is: configuration, a separate state, and three pure functions.

    policy = policy.prepare(times)              # on the host, once per run
    state = policy.init(key)
    state, query = policy.ask(state, time)      # which point to sample now?
    state = policy.tell(state, query, reward, time)

A policy whose `side_capacity` is not 0 may have an expert re-evaluate points that it has sampled
(side queries, M25). They bring no regret, and are counted:

    state, arms, wanted = policy.consult(state, time)
    state = policy.hear(state, arms, answers, answered, time)
    state, query = policy.ask(state, time)

One whose `consults` is "after" is consulted after `tell` instead, about the function of that step.

The same object runs inside a compiled loop over steps and trials (`simulate`) and step by step.
Everything but `prepare` must be traceable by JAX: static shapes, no Python control flow on values.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak.errors import DriftpeakError
from driftpeak.forgetting import TimesLike

Scalar = Any  # a real number; an array of one inside JAX
State = TypeVar("State")
Query = Int[Array, ""]
Foresight = Literal["none", "present", "all"]
Asks = Literal["before", "after"]
ASKS: tuple[Asks, ...] = ("before", "after")


class Reading(NamedTuple):
    """What a policy shows of what it thinks: a number, or one for each of `labels`."""

    meaning: str
    labels: tuple[str, ...] = ()


class Prediction(NamedTuple):
    """What a policy expects of every point: the function's moments, and the noise on one reward."""

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]
    noise_variance: Scalar


class Policy(eqx.Module, Generic[State]):
    """A rule that decides where to sample next."""

    foresight: ClassVar[Foresight] = "none"
    """What `inform` shows before a decision: nothing; the true function at that step; or, once
    before the run, the true function at every step. For yardsticks, not for real policies."""

    @property
    @abstractmethod
    def points(self) -> int:
        """How many points the policy chooses from."""

    @property
    def deterministic(self) -> bool:
        """Whether equal observations always lead to equal queries, whatever the key."""
        return False

    @property
    def side_capacity(self) -> int:
        """The most side queries at one step, q, known once prepared; 0 for most policies."""
        return 0

    @property
    def consults(self) -> Asks:
        """When it makes its side queries: before it decides, or after the reward."""
        return "before"

    def prepare(self, times: TimesLike) -> "Policy[Any]":
        """The policy made ready to be asked at `times` (or at 1, ..., T): sizes fixed, checks done.

        Raises:
            DriftpeakError: the configuration does not fit the run.
        """
        return self

    @abstractmethod
    def init(self, key: PRNGKeyArray) -> State:
        """The state before the first decision; `key` is all the randomness there will be."""

    @abstractmethod
    def ask(self, state: State, time: Scalar) -> tuple[State, Query]:
        """The number of the point to sample at `time`."""

    @abstractmethod
    def tell(self, state: State, query: Query, reward: Scalar, time: Scalar) -> State:
        """Learn the reward that `query` brought at `time`.

        Raises:
            DriftpeakError: a reward that is NaN or infinite; what is believed stays as it was.
        """

    def consult(
        self, state: State, time: Scalar
    ) -> tuple[State, Int[Array, " q"], Bool[Array, " q"]]:
        """Side queries at `time`: point numbers, and which of them count.

        Points that the policy has sampled before, in `side_capacity` places.
        """
        raise NotImplementedError("this policy makes no side queries")

    def hear(
        self,
        state: State,
        arms: Int[Array, " q"],
        answers: Any,
        answered: Any,
        time: Scalar,
    ) -> State:
        """Learn the expert's answers: `arms` as `consult` gave them, and which were `answered`.

        Answers are real numbers and booleans of shape `(q,)`; where not answered, any number.

        An expert may answer some or none; the policy goes on with what it has.

        Raises:
            DriftpeakError: an answer that is NaN or infinite; what is believed stays as it was.
        """
        raise NotImplementedError("this policy makes no side queries")

    def predict(self, state: State, time: Scalar) -> Prediction | None:
        """What is expected of every point at `time`, or None if the policy expects nothing."""
        return None

    def refresh(self, state: State) -> State:
        """The same state with accumulated rounding errors removed; called now and then."""
        return state

    def inform(self, state: State, values: Float[Array, " n"]) -> State:
        """Be shown the true function; see `foresight`."""
        return state

    def restarts(self, state: State) -> Int[Array, ""]:
        """How often the policy has started afresh because of what it saw (not by schedule)."""
        return jnp.zeros((), int)

    @property
    def readings(self) -> Mapping[str, Reading]:
        """What `read` gives, by name."""
        return {}

    def read(self, state: State) -> dict[str, Any]:
        """What the policy thinks, by the names of `readings`: numbers and vectors of numbers."""
        return {}

    def out_of_bounds(self, actions: Any, rewards: Any) -> Any:
        """Which of the rewards contradict the bound that the policy was given. NumPy arrays."""
        return np.zeros(np.shape(rewards), bool)

    @property
    def bounds_in_words(self) -> str:
        """The bound that `out_of_bounds` tests, for a warning."""
        return ""


def checked_reward(reward: Scalar) -> Scalar:
    """`reward`, refused if it is NaN or infinite; inside a compiled program the caller has checked.

    Raises:
        DriftpeakError: a reward that is not a finite number.
    """
    if not isinstance(reward, jax.core.Tracer) and not np.isfinite(reward):
        raise DriftpeakError(f"a reward must be a finite number; got {reward}")
    return reward
