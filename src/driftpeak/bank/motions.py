r"""How a function may move, as linear Gaussian models in time, stationary with variance one.

A motion of order d carries the function and d - 1 of its time derivatives, each in units of its own
stationary deviation: over an elapsed time they become \(A z + \text{noise}\), the noise of
covariance \(Q = I - A A^\top\). Over space all of them have the covariance of the prior.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak.errors import DriftpeakError, finite_array

Scalar = Any  # a real number; an array of one inside JAX


class Motion(eqx.Module):
    """Several motions of one kind, k of them, that differ in how fast they are."""

    order: ClassVar[int]

    @property
    @abstractmethod
    def count(self) -> int:
        """k."""

    @property
    @abstractmethod
    def drift(self) -> Float[Array, " k"]:
        """Of every motion: the drift, per unit of time, of Markov drift that forgets as fast."""

    @abstractmethod
    def transition(self, elapsed: Scalar) -> Float[Array, "k d d"]:
        """A, over a time of length `elapsed`."""


class MarkovMotion(Motion):
    r"""Markov drift (B16 (3)-(4)): \(A = (1 - \epsilon)^{v/2}\) over a time v.

    Arguments:
        drifts: epsilon of every motion, in [0, 1], per unit of time.

    Raises:
        DriftpeakError: no drifts, or one outside [0, 1].
    """

    order: ClassVar[int] = 1
    drifts: Any

    def __init__(self, drifts: Any) -> None:
        self.drifts = finite_array("drifts", drifts, 1)
        if len(self.drifts) == 0 or self.drifts.min() < 0 or self.drifts.max() > 1:
            raise DriftpeakError(f"drifts must be one or more numbers in [0, 1]; got {drifts}")

    @property
    def count(self) -> int:
        return len(self.drifts)

    @property
    def drift(self) -> Float[Array, " k"]:
        return jnp.asarray(self.drifts)

    def transition(self, elapsed: Scalar) -> Float[Array, "k d d"]:
        return jnp.power(1 - self.drift, elapsed / 2)[:, None, None]


class SmoothMotion(Motion):
    r"""Motion with momentum: a Matern-3/2 process in time, of correlation \((1 + av) e^{-av}\).

    Its sample paths are differentiable: what moved up goes on moving up for a while, as in slow
    steady change, which Markov drift takes for a chance result. With a its rate and the derivative
    divided by a,

    \[A = e^{-av} \begin{pmatrix} 1 + av & av \\ -av & 1 - av \end{pmatrix}.\]

    Arguments:
        rates: a of every motion, positive, per unit of time.

    Raises:
        DriftpeakError: no rates, or one that is not positive.
    """

    order: ClassVar[int] = 2
    rates: Any

    def __init__(self, rates: Any) -> None:
        self.rates = finite_array("rates", rates, 1)
        if len(self.rates) == 0 or self.rates.min() <= 0:
            raise DriftpeakError(f"rates must be one or more numbers above 0; got {rates}")

    @property
    def count(self) -> int:
        return len(self.rates)

    @property
    def drift(self) -> Float[Array, " k"]:
        """Both correlations fall to 1/2 at the same time: a v = 1.678 and (1 - e)^(v/2) = 1/2."""
        return 1 - jnp.exp(-2 * np.log(2) / HALF * jnp.asarray(self.rates))

    def transition(self, elapsed: Scalar) -> Float[Array, "k d d"]:
        moved = jnp.asarray(self.rates) * elapsed
        rows = [[1 + moved, moved], [-moved, 1 - moved]]
        matrix = jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)
        return jnp.exp(-moved)[:, None, None] * matrix


HALF = 1.6783469900166605
"""Where (1 + x) exp(-x) is 1/2."""
