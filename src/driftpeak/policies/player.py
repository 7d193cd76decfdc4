"""What `simulate` and a live optimiser act out: a separate state and pure functions on it.

    state = player.init(key)
    state, query = player.ask(state, time)      # which point to sample now?
    state = player.tell(state, query, reward, time)

A player whose `side_capacity` is not 0 may have an expert re-evaluate points that it has sampled
(side queries, M25). They bring no regret, and are counted:

    state, arms, wanted = player.consult(state, time)
    state = player.hear(state, arms, answers, answered, time)
    state, query = player.ask(state, time)

One whose `consults` is "after" is consulted after `tell` instead, about the function of that step.

The same object runs inside a compiled loop over steps and trials (`simulate`) and step by step
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
"""Steps after which whoever acts out a player has accumulated rounding errors removed."""
Foresight = Literal["none", "present", "all"]
Asks = Literal["before", "after"]
ASKS: tuple[Asks, ...] = ("before", "after")


class Reading(NamedTuple):
    """What a player shows of what it thinks: a number, or one for each of `labels`.

    Arguments:
        meaning: in words.
        labels: of the numbers, none for a single one.
    """

    meaning: str
    labels: tuple[str, ...] = ()


class Prediction(NamedTuple):
    """What a player expects of every point: the function's moments, and the noise on one reward.

    Arguments:
        mean, variance: of the noiseless function, shape `(n,)`.
        noise_variance: of the noise on one reward, in squared units of it.
    """

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]
    noise_variance: Scalar


class Player(eqx.Module, Generic[State]):
    """What acts: `init`, `ask`, `tell`, and what else it is able to. Made by `Policy.prepare`."""

    foresight: ClassVar[Foresight] = "none"
    """What `inform` shows before a decision: nothing; the true function at that step; or, once
    before the run, the true function at every step. For yardsticks, not for real policies."""

    @property
    @abstractmethod
    def points(self) -> int:
        """How many points are chosen from."""

    @abstractmethod
    def init(self, key: PRNGKeyArray) -> State:
        """The state before the first decision; `key` is all the randomness there will be.

        Every draw needs a key of its own: split the key in the state and keep the rest, so that
        nothing that is ever reset can bring an old draw back.
        """

    @abstractmethod
    def ask(self, state: State, time: Scalar) -> tuple[State, Query]:
        """The number of the point to sample at `time`."""

    @abstractmethod
    def tell(self, state: State, query: Query, reward: Scalar, time: Scalar) -> State:
        """Learn the reward that `query` brought at `time`.

        Raises:
            DriftpeakError: a reward that is NaN or infinite; what is believed stays as it was.
        """

    # what not every player is able to

    def ask_among(
        self, state: State, time: Scalar, among: Bool[Array, " n"]
    ) -> tuple[State, Query]:
        """As `ask`, but only points where `among` is true may be sampled; see `InContext`.

        Of players whose policy says that it `chooses_among`.
        """
        raise NotImplementedError("this policy cannot be told what may be chosen")

    @property
    def side_capacity(self) -> int:
        """The most side queries at one step, q; 0 for most players."""
        return 0

    @property
    def consults(self) -> Asks:
        """When it makes its side queries: before it decides, or after the reward."""
        return "before"

    def consult(
        self, state: State, time: Scalar
    ) -> tuple[State, Int[Array, " q"], Bool[Array, " q"]]:
        """Side queries at `time`: point numbers, and which of them count.

        Points that the player has sampled before, in `side_capacity` places.
        """
        raise NotImplementedError("this policy makes no side queries")

    def hear(
        self, state: State, arms: Int[Array, " q"], answers: Any, answered: Any, time: Scalar
    ) -> State:
        """Learn the expert's answers: `arms` as `consult` gave them, and which were `answered`.

        Answers are real numbers and booleans of shape `(q,)`; where not answered, any number.

        An expert may answer some or none; the player goes on with what it has.

        Raises:
            DriftpeakError: an answer that is NaN or infinite; what is believed stays as it was.
        """
        raise NotImplementedError("this policy makes no side queries")

    def predict(self, state: State, time: Scalar) -> Prediction | None:
        """What is expected of every point at `time`, or None if nothing is."""
        return None

    def held(self, state: State, time: Scalar) -> Int[Array, ""] | None:
        """How many observations still count at `time`, or None if that has no meaning."""
        return None

    def refresh(self, state: State) -> State:
        """The same state with accumulated rounding errors removed; called now and then."""
        return state

    def inform(self, state: State, values: Float[Array, " n"]) -> State:
        """Be shown the true function; see `foresight`."""
        return state

    def restarts(self, state: State) -> Int[Array, ""]:
        """How often it has started afresh because of what it saw (not by schedule)."""
        return jnp.zeros((), int)

    @property
    def readings(self) -> Mapping[str, Reading]:
        """What `read` gives, by name."""
        return {}

    def read(self, state: State) -> dict[str, Any]:
        """What it thinks, by the names of `readings`: numbers and vectors of numbers."""
        return {}


def largest(scores: Float[Array, " n"], among: Bool[Array, " n"] | None) -> Query:
    """The first point whose score is largest, of all or of those where `among` is true."""
    return jnp.argmax(scores if among is None else jnp.where(among, scores, -jnp.inf))


def checked_reward(reward: Scalar) -> Scalar:
    """`reward`, refused if it is NaN or infinite; inside a compiled program the caller has checked.

    Raises:
        DriftpeakError: a reward that is not a finite number.
    """
    if not isinstance(reward, jax.core.Tracer) and not np.isfinite(reward):
        raise DriftpeakError(f"a reward must be a finite number; got {reward}")
    return reward


def checked_answers(answers: Any, answered: Any) -> None:
    """Refuse an expert's answers that are NaN or infinite; inside a program the caller has checked.

    Raises:
        DriftpeakError: an answer that is not a finite number.
    """
    if not isinstance(answers, jax.core.Tracer):
        given = np.asarray(answers, float)[np.asarray(answered, bool)]
        if not np.isfinite(given).all():
            raise DriftpeakError("the expert's answers must be finite numbers")
