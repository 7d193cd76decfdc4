"""Times of side queries: at every step, at the starts of windows, or by the age of the answers.

A rule defines when to query, with its state; `driftpeak.policies.side_queries` defines the queries
and the posterior.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from driftpeak._core.times import Times
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.policies.catalogue import stored
from driftpeak.theory.side_queries import checked_share, side_query_windows


class Timing(eqx.Module):
    """A rule for the times of side queries. Base class."""

    def prepare(self, times: Times) -> "Timing":
        """Return the rule, ready for decisions at `times`."""
        return self

    @abstractmethod
    def longest(self, times: Times, budget: Any) -> int:
        """Return the largest number of observations in memory, answers of the expert included."""

    def init(self) -> Any:
        """Return the state before the first decision."""
        return ()

    @abstractmethod
    def due(self, state: Any, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        """Return whether to query at step number `step` (from 1), at `time`."""

    def heard(self, state: Any, step: Scalar, time: Scalar, report: "Report") -> Any:
        """Return the state after answers."""
        return state


class Report(NamedTuple):
    """The expert's answers with their predictive moments."""

    answers: Float[Array, " q"]
    answered: Bool[Array, " q"]
    mean: Float[Array, " q"]
    variance: Float[Array, " q"]  # without noise
    noise_variance: Scalar


@stored("every-step")
class EveryStep(Timing):
    """SparQ's rule: query at every step.

    Source: M25 Algorithm 1.
    """

    def longest(self, times: Times, budget: Any) -> int:
        return int(budget.max()) + 1

    def due(self, state: Any, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        return jnp.asarray(True)


@stored("windows")
class Windows(Timing):
    """W-SparQ's rule: query at the starts of windows, `side_query_windows`.

    Source: M25 Algorithm 2, (32).
    """

    exponent: Scalar
    a: Scalar
    starts: AnyArray

    def __init__(self, exponent: float, a: float, starts: Any = None) -> None:
        side_query_windows(1, exponent=exponent, a=a)  # for its checks
        self.exponent, self.a = np.float64(exponent), np.float64(a)
        self.starts = np.zeros(0, bool) if starts is None else starts

    def prepare(self, times: Times) -> "Windows":
        starts = side_query_windows(times, exponent=float(self.exponent), a=float(self.a))
        return Windows(float(self.exponent), float(self.a), starts)

    def longest(self, times: Times, budget: Any) -> int:
        window = np.cumsum(self.starts) - 1
        lengths, answers = np.bincount(window), budget[np.flatnonzero(self.starts)]
        return int((lengths + answers).max())

    def due(self, state: Any, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        return jnp.asarray(self.starts)[step - 1]


class Length(NamedTuple):
    """The time of the last answers, and the length of the window."""

    last: Float[Array, ""]
    length: Float[Array, ""]


@stored("feedback")
class Feedback(Timing):
    r"""An adaptive rule: query as soon as the answers are as inaccurate as M25's analysis allows.

    Each time the expert answers, the prediction errors r estimate the variance v that the drift
    since the last answers has injected, in excess of the posterior variance:

    \(v = \sum_i w_i (r_i^2 - s_i^2) / \sum_i w_i\), with \(s_i^2 = \sigma^2(x_i) + \lambda\) and
    \(w_i = s_i^{-4}\).

    W-SparQ's windows keep v below \(\lambda\,t^a\) if alpha is right. The next window is
    \(\sqrt{\lambda t^a / v}\) times as long as the last, at least half and at most twice. If v
    grows as the alpha-th power of the length, \(\log(v / \lambda t^a)\) shrinks by the factor
    \(1 - \alpha/2\) each time, for every possible alpha (in (0, 2], see
    `environments.InjectedDrift`).
    """

    a: Scalar

    def __init__(self, a: float) -> None:
        self.a = np.float64(checked_share(a))

    def longest(self, times: Times, budget: Any) -> int:
        return len(times) + int(budget.max())

    def init(self) -> Length:
        return Length(jnp.asarray(-jnp.inf), jnp.zeros(()))

    def due(self, state: Length, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        return jnp.asarray(time) >= state.last + state.length

    def heard(self, state: Length, step: Scalar, time: Scalar, report: Report) -> Length:
        time = jnp.asarray(time, float)
        variance = jnp.maximum(report.variance, 0.0) + report.noise_variance
        weights = jnp.where(report.answered, variance**-2, 0.0)
        errors = jnp.where(report.answered, (report.answers - report.mean) ** 2 - variance, 0.0)
        injected = jnp.sum(weights * errors) / weights.sum()
        bearable = report.noise_variance * jnp.asarray(step, float) ** self.a
        factor = jnp.sqrt(bearable / jnp.maximum(injected, bearable / 4))
        # the first answers follow no window: query again at the next step, at any time
        elapsed = jnp.where(jnp.isfinite(state.last), time - state.last, 0.0)
        return Length(time, elapsed * jnp.maximum(factor, 0.5))
