r"""Models of how a function moves: linear Gaussian in time and stationary, with variance one.

A motion of order d has d components. The function is a combination of them, \(f = h^\top z\) with
\(|h| = 1\): the components are the function and its derivatives, or parts that move at different
speeds. Over an elapsed time \(z\) becomes \(A z + \text{noise}\), where the noise has covariance
\(Q = I - A A^\top\). Each component has variance one at any time and the covariance of the prior
over space. The cost of a step does not depend on the length of the history (Hartikainen and Särkkä
2010, Kalman Filtering and Smoothing Solutions to Temporal Gaussian Process Regression Models).
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import DriftpeakError, finite_array, numbers, shown
from driftpeak._core.former_names import NEW_CLASS_NAMES, check_renamed
from driftpeak._core.types import Scalar
from driftpeak.gp.forgetting import markov_correlation

Parts = tuple[tuple[int, ...], ...]
HALF = 1.6783469900166605
"""The positive x at which (1 + x) exp(-x) is 1/2."""
HORIZONS = tuple(float(steps) for steps in range(24, 97, 12))
"""Steps ahead at which an observation made now should be useful, for exploration by influence."""
LONGEST = 1e9
"""A correlation that is above 1/2 after this time counts as constant in time."""


def __getattr__(name: str) -> Any:
    check_renamed(__name__, name, NEW_CLASS_NAMES)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Motion(eqx.Module):
    """Several motions of one kind, k of them, with different speeds."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of motions, k."""

    @property
    @abstractmethod
    def drift(self) -> Float[Array, " k"]:
        """Drift per unit of time of the Markov drift that forgets as fast as each motion."""

    @property
    @abstractmethod
    def observed(self) -> Float[Array, "k d"]:
        """The vector h of each motion, of length one."""

    @property
    @abstractmethod
    def parts(self) -> Parts:
        """For each of the d components, the components that it depends on: where A may not be 0."""

    @abstractmethod
    def transition(self, elapsed: Scalar) -> Float[Array, "k d d"]:
        """Return A over a time of length `elapsed`."""

    @property
    def order(self) -> int:
        """The number of components, d."""
        return len(self.parts)

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The name of each motion."""

    def correlation(self, elapsed: Scalar) -> Float[Array, " k"]:
        r"""Return the correlation of the function with itself after a time: \(h^\top A h\)."""
        return (after(self.observed, self.transition(elapsed)) * self.observed).sum(axis=-1)


def after(observed: Any, a: Any) -> Float[Array, "k d"]:
    r"""Return \(h^\top A\), the observed combination of components after a transition."""
    return (jnp.asarray(observed)[:, :, None] * a).sum(axis=1)


class MarkovMotion(RecordsArguments, Motion):
    r"""Markov drift: \(A = (1 - \epsilon)^{v/2}\) over a time v.

    Arguments:
        drifts: epsilon of each motion, in [0, 1], per unit of time.

    Raises:
        DriftpeakError: no drifts, or one outside [0, 1].

    Source: B16 (3)-(4).
    """

    drifts: Any

    @checked
    def __init__(self, drifts: Any) -> None:
        self.drifts = finite_array("drifts", drifts, 1)
        if len(self.drifts) == 0 or self.drifts.min() < 0 or self.drifts.max() > 1:
            raise DriftpeakError(
                f"drifts must be one or more numbers in [0, 1]; got {shown(drifts)}"
            )

    @property
    def count(self) -> int:
        return len(self.drifts)

    @property
    def drift(self) -> Float[Array, " k"]:
        return jnp.asarray(self.drifts)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"drift {drift:g}" for drift in np.asarray(self.drifts))

    @property
    def observed(self) -> Float[Array, "k d"]:
        return jnp.ones((self.count, 1))

    @property
    def parts(self) -> Parts:
        return ((0,),)

    def transition(self, elapsed: Scalar) -> Float[Array, "k d d"]:
        return markov_correlation(self.drift, elapsed)[:, None, None]


class SecondOrder(RecordsArguments, Motion):
    """Motions of two components, the function and its companion. Base class."""

    @property
    def observed(self) -> Float[Array, "k d"]:
        return jnp.broadcast_to(jnp.array([[1.0, 0.0]]), (self.count, 2))

    @property
    def parts(self) -> Parts:
        return ((0, 1), (0, 1))


class Matern32(SecondOrder):
    r"""Motion with momentum: a Matern-3/2 process in time, of correlation \((1 + av) e^{-av}\).

    Its sample paths are differentiable: a value that rises keeps rising for a while. It models
    slow steady change, which Markov drift treats as noise. With a the rate and the derivative
    divided by a,

    \[A = e^{-av} \begin{pmatrix} 1 + av & av \\ -av & 1 - av \end{pmatrix}.\]

    Arguments:
        rates: a of each motion, positive, per unit of time.

    Raises:
        DriftpeakError: no rates, or one that is not positive.
    """

    rates: Any

    @checked
    def __init__(self, rates: Any) -> None:
        self.rates = _positive("rates", rates)

    @property
    def count(self) -> int:
        return len(self.rates)

    @property
    def drift(self) -> Float[Array, " k"]:
        """The drift whose correlation falls to 1/2 at the same time.

        a v = 1.678 and (1 - e)^(v/2) = 1/2.
        """
        return 1 - jnp.exp(-2 * np.log(2) / HALF * jnp.asarray(self.rates))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"momentum {rate:g}" for rate in np.asarray(self.rates))

    def transition(self, elapsed: Scalar) -> Float[Array, "k d d"]:
        moved = jnp.asarray(self.rates) * elapsed
        rows = [[1 + moved, moved], [-moved, 1 - moved]]
        matrix = jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)
        return jnp.exp(-moved)[:, None, None] * matrix


class DampedOscillator(SecondOrder):
    r"""A cycle whose phase and amplitude change slowly: correlation \(\cos(2\pi v/P)\, e^{-v/l}\).

    The transition is a rotation with damping; harmonics are oscillations of P/2, P/3, ... (Solin
    and Särkkä 2014, Explicit Link Between Periodic Covariance Functions and State Space Models).

    Arguments:
        periods: P of each motion, positive.
        lifetimes: l of each motion: the time in which the envelope of the correlation falls to
            1/e; infinite for a cycle that never changes.

    Raises:
        DriftpeakError: no periods, not one lifetime for each period, or a number that is not
            positive.
    """

    periods: Any
    lifetimes: Any

    @checked
    def __init__(self, periods: Any, lifetimes: Any) -> None:
        self.periods = _positive("periods", periods)
        self.lifetimes = numbers("lifetimes", lifetimes)
        if self.lifetimes.shape != self.periods.shape or not (self.lifetimes > 0).all():
            raise DriftpeakError(
                f"lifetimes must be {len(self.periods)} numbers above 0, one for each period, "
                f"infinity included; got {lifetimes}"
            )

    @property
    def count(self) -> int:
        return len(self.periods)

    @property
    def drift(self) -> Float[Array, " k"]:
        """The drift of the Markov drift whose correlation is the envelope."""
        return -jnp.expm1(-2 / jnp.asarray(self.lifetimes))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"period {period:g}" for period in np.asarray(self.periods))

    def transition(self, elapsed: Scalar) -> Float[Array, "k d d"]:
        angle = 2 * jnp.pi * elapsed / jnp.asarray(self.periods)
        c, s = jnp.cos(angle), jnp.sin(angle)
        matrix = jnp.stack([jnp.stack([c, s], axis=-1), jnp.stack([-s, c], axis=-1)], axis=-2)
        return jnp.exp(-elapsed / jnp.asarray(self.lifetimes))[:, None, None] * matrix


class SumMotion(RecordsArguments, Motion):
    r"""A sum of motions, \(f = \sum_c \sqrt{w_c}\, f_c\), such as a slow part and a fast part.

    The parts are independent: their correlations add with the weights, and A is block diagonal.

    Arguments:
        motions: the parts, each with one motion or with k.
        weights: share of each part in the variance, shape `(parts,)` or `(k, parts)`; they are
            divided by their sum.

    Raises:
        DriftpeakError: no motions, parts with different numbers of motions, or weights that are
            negative, all zero or not one for each part.
    """

    motions: tuple[Motion, ...]
    weights: Any  # (k, parts)
    forgets: Any  # (k,), the drift

    @checked
    def __init__(self, motions: Sequence[Motion], weights: Any) -> None:
        self.motions = tuple(motions)
        if not self.motions:
            raise DriftpeakError("motions must have at least one part; got none")
        counts = {motion.count for motion in self.motions}
        if len(counts) > 1:
            raise DriftpeakError(
                f"the parts of a sum must have equal numbers of motions; got {sorted(counts)}"
            )
        given = np.atleast_1d(numbers("weights", weights))
        bad = given.ndim > 2 or given.shape[-1] != len(self.motions)
        bad = bad or not np.isfinite(given).all() or len(given) == 0
        if bad or given.min() < 0 or given.sum(axis=-1).min() <= 0:
            raise DriftpeakError(
                f"weights must be {len(self.motions)} numbers of at least 0, not all 0; "
                f"got {shown(weights)}"
            )
        if given.ndim == 2 and len(given) not in (1, max(counts)):
            raise DriftpeakError(f"weights must have {max(counts)} rows; got {len(given)}")
        given = np.broadcast_to(given, (max(counts), len(self.motions)))
        self.weights = given / given.sum(axis=-1, keepdims=True)
        self.forgets = 1 - 0.5 ** (2 / self._half_time())

    @property
    def count(self) -> int:
        return len(self.weights)

    @property
    def drift(self) -> Float[Array, " k"]:
        """Drift of equal half-life: the envelope of the correlation is 1/2 at the same time."""
        return jnp.asarray(self.forgets)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"sum, drift {drift:.3g}" for drift in np.asarray(self.forgets))

    @property
    def observed(self) -> Float[Array, "k d"]:
        roots = jnp.sqrt(jnp.asarray(self.weights))
        each = [roots[:, [c]] * motion.observed for c, motion in enumerate(self.motions)]
        return jnp.concatenate(each, axis=1)

    @property
    def parts(self) -> Parts:
        parts: list[tuple[int, ...]] = []
        for motion in self.motions:
            begin = len(parts)
            parts += [tuple(begin + place for place in part) for part in motion.parts]
        return tuple(parts)

    def transition(self, elapsed: Scalar) -> Float[Array, "k d d"]:
        whole, begin = jnp.zeros((self.count, self.order, self.order)), 0
        for motion in self.motions:
            own = slice(begin, begin + motion.order)
            whole = whole.at[:, own, own].set(motion.transition(elapsed))
            begin = own.stop
        return whole

    def _half_time(self) -> Any:
        """Return the time when the weighted sum of the parts' envelopes is 1/2, by bisection."""
        stays = np.stack([np.asarray(1 - motion.drift) for motion in self.motions], axis=-1)
        low, high = np.zeros(self.count), np.full(self.count, LONGEST)
        for _ in range(100):
            middle = (low + high) / 2
            above = (self.weights * stays ** (middle[:, None] / 2)).sum(axis=-1) > 0.5
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return high


def _positive(name: str, given: Any) -> Any:
    numbers = finite_array(name, given, 1)
    if len(numbers) == 0 or numbers.min() <= 0:
        raise DriftpeakError(f"{name} must be one or more numbers above 0; got {shown(given)}")
    return numbers
