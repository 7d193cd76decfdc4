"""When to ask the expert: at every step, as windows start, or when the answers have grown stale.

A rule of when, and its state; what is asked and believed is `driftpeak.policies.side_queries`.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from driftpeak._core.times import Times
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.theory.side_queries import checked_share, side_query_windows


class Timing(eqx.Module):
    """When to ask the expert."""

    def prepare(self, times: Times) -> "Timing":
        """The rule made ready for decisions at `times`."""
        return self

    @abstractmethod
    def longest(self, times: Times, budget: Any) -> int:
        """The most observations in memory at once, answers included, if the expert answers."""

    def init(self) -> Any:
        """The rule's state before the first decision."""
        return ()

    @abstractmethod
    def due(self, state: Any, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        """Whether to ask at step number `step` (from 1), at `time`."""

    def heard(self, state: Any, step: Scalar, time: Scalar, report: "Report") -> Any:
        """The state after answers."""
        return state


class Report(NamedTuple):
    """The expert's answers beside what had been expected of them."""

    answers: Float[Array, " q"]
    answered: Bool[Array, " q"]
    mean: Float[Array, " q"]
    variance: Float[Array, " q"]  # without noise
    noise_variance: Scalar


class EveryStep(Timing):
    """SparQ: always (M25 Algorithm 1)."""

    def longest(self, times: Times, budget: Any) -> int:
        return int(budget.max()) + 1

    def due(self, state: Any, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        return jnp.asarray(True)


class Windows(Timing):
    """W-SparQ: at the starts of M25's windows (32): `theory.side_queries.side_query_windows`."""

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
    """When the expert answered last, and how long to wait."""

    last: Float[Array, ""]
    length: Float[Array, ""]


class Feedback(Timing):
    r"""As soon as the answers are expected to be as far off as M25's analysis can bear.

    Each time the expert answers, the errors r of what was expected of the answers estimate the
    variance v that the drift since the last answers has injected, in excess of the belief's own:

    \(v = \sum_i w_i (r_i^2 - s_i^2) / \sum_i w_i\), with \(s_i^2 = \sigma^2(x_i) + \lambda\) and
    \(w_i = s_i^{-4}\).

    W-SparQ's windows keep it below \(\lambda\,t^a\), if alpha is right. The next window is
    \(\sqrt{\lambda t^a / v}\) times as long as the last, at least half and at most twice: if v
    grows as the alpha-th power of the length, \(\log(v / \lambda t^a)\) shrinks by the factor
    \(1 - \alpha/2\) each time, for every alpha that there is (in (0, 2], see
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
        # the first answers come after no window: ask again at the next step, whatever its time
        elapsed = jnp.where(jnp.isfinite(state.last), time - state.last, 0.0)
        return Length(time, elapsed * jnp.maximum(factor, 0.5))
