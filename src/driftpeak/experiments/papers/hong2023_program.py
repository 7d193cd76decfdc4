r"""Sliding window of H23's program as published, including its two errors.

With \(A = (\Phi^\top \Phi + \rho I)^{-1}\) over the observations in the window, an observation at u
is added by \(A - A u u^\top A / (1 + u^\top A u)\), and must be removed by
\(A + A u u^\top A / (1 - u^\top A u)\). The program has 1 + in both places, so the uncertainty at a
removed point increases too little. A starts as 20 I, whereas the program's ridge of 20 means
I / 20.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.errors import at_least_integer, positive
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies import ActingPolicy
from driftpeak.policies.player import Query, checked_reward


class SlippedState(NamedTuple):
    """State: the number of decisions, Phi A Phi', the sums by point, and the window."""

    step: Int[Array, ""]
    inverse: Float[Array, "n n"]
    sums: Float[Array, " n"]
    actions: Int[Array, " window"]
    rewards: Float[Array, " window"]


class SlippedWindow(ActingPolicy[SlippedState]):
    """H23's SW-GP-UCB with the errors of its program.

    Arguments:
        prior: prior of which only the covariance is used, not the mean or noise variance.
        window: number of observations in the window.
        ridge: factor of I in the initial A, and the square of the factor of standard deviations.
        widths: width of the confidence bound at every step of the run.
        sign: 1 as published; -1 removes observations correctly.
    """

    gram: Any
    widths: Any
    ridge: Any
    window: int = eqx.field(static=True)
    sign: int = eqx.field(static=True)
    deterministic = True

    def __init__(
        self, prior: Prior, *, window: int, ridge: float, widths: Any, sign: int = 1
    ) -> None:
        self.gram = np.asarray(prior.gram)
        self.widths = np.asarray(widths, dtype=float)
        self.ridge = np.float64(positive("ridge", ridge))
        self.window = at_least_integer("window", window, 1)
        self.sign = sign

    @property
    def points(self) -> int:
        return len(self.gram)

    def init(self, key: PRNGKeyArray) -> SlippedState:
        empty = jnp.zeros(self.window)
        start = self.ridge * jnp.asarray(self.gram)
        sums = jnp.zeros(self.points)
        return SlippedState(jnp.zeros((), int), start, sums, empty.astype(int), empty)

    def ask(self, state: SlippedState, time: Scalar) -> tuple[SlippedState, Query]:
        deviation = jnp.sqrt(self.ridge * state.inverse.diagonal())
        width = jnp.asarray(self.widths)[state.step]
        scores = state.inverse @ state.sums + width * deviation
        # before the first reward the program gives every point the score 0
        return state, jnp.argmax(jnp.where(state.step > 0, scores, 0.0))

    def tell(self, state: SlippedState, query: Query, reward: Scalar, time: Scalar) -> SlippedState:
        reward = checked_reward(reward)
        place = state.step % self.window
        left, lost = state.actions[place], state.rewards[place]
        full = state.step >= self.window
        column = state.inverse[query]
        inverse = state.inverse - jnp.outer(column, column / (1 + column[query]))
        gone = jnp.where(full, inverse[left], 0.0)
        inverse = inverse + jnp.outer(gone, gone / (1 + self.sign * gone[left]))
        sums = state.sums.at[query].add(reward)
        return SlippedState(
            state.step + 1,
            inverse,
            sums.at[left].add(jnp.where(full, -lost, 0.0)),
            state.actions.at[place].set(query),
            state.rewards.at[place].set(reward),
        )
