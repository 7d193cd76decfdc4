"""A function of an RKHS with rotating coefficients: M25's synthetic environment."""

from numbers import Real
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, finite, finite_array, positive
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.environments.catalogue import environment
from driftpeak.environments.protocol import Environment
from driftpeak.gp.gram import Pairs
from driftpeak.gp.priors import Prior


class Centred(NamedTuple):
    """The kernel at the centres, \\(k(c_i, \\cdot)\\), and the norm of the coefficients."""

    kernels: Float[Array, "m n"]
    length: Float[Array, ""]


@environment("is a sum of kernels with moving coefficients")
class MovingCoefficients(Environment[Centred]):
    r"""\(f_t = m + \sum_i a_i(t)\, k(\cdot, c_i)\) with \(a(t) = \frac{b}{\lambda_{\max}}
    \frac{u(t)}{\lVert u(t) \rVert}\), \(u_i(t) = \sin(s t + i)\) (M25 section 4.1).

    \(\lambda_{\max}\) is the largest eigenvalue of the centres' covariance. The RKHS norm of
    \(f_t - m\) is at most \(b / \sqrt{\lambda_{\max}}\). It is below b, as M25 states, only if
    \(\lambda_{\max} \ge 1\), which requires enough centres.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        centres: number of centres, drawn from the points of the domain without replacement in each
            trial (M25 does not state the number); or indices of points, fixed for all trials.
        norm: b, 5 in M25.
        speed: s, in radians per unit of time, 0.3 in M25, a period of 21 steps.

    Raises:
        DriftpeakError: no centre, more centres than points, a centre outside the domain, or a norm
            that is not positive.

    Source: M25 section 4.1.
    """

    pairs: Pairs
    mean: AnyArray
    noise_variance: Scalar
    fixed: AnyArray | None
    norm: Scalar
    speed: Scalar
    count: int = eqx.field(static=True)

    @checked
    def __init__(
        self, prior: Prior, *, centres: Any = 20, norm: float = 5.0, speed: float = 0.3
    ) -> None:
        self.pairs = prior.listed_pairs
        self.mean = prior.mean
        self.noise_variance = np.float64(prior.noise_variance)
        self.norm = np.float64(positive("norm", norm))
        self.speed = np.float64(finite("speed", speed))
        points = len(prior)
        if isinstance(centres, Real):
            self.count, self.fixed = at_least_integer("centres", centres, 1), None
        else:
            inside = finite_array("centres", centres, 1)
            chosen = np.asarray(centres)
            whole = chosen.dtype.kind in "iu" and len(chosen) > 0
            if not whole or not ((inside >= 0) & (inside < points)).all():
                raise DriftpeakError(f"centres must be indices of points in 0..{points - 1}")
            self.count, self.fixed = len(chosen), chosen
        if self.count > points:
            raise DriftpeakError(
                f"centres must be at most {points}, the number of points; got {self.count}"
            )

    def init(self, key: PRNGKeyArray) -> Centred:
        centres = self.fixed
        if centres is None:
            centres = jax.random.choice(key, len(self.mean), (self.count,), replace=False)
        kernels = self.pairs.rows(centres)
        largest = jnp.linalg.eigvalsh(kernels[:, centres])[-1]
        return Centred(kernels, self.norm / largest)

    def step(self, state: Centred, time: Scalar) -> tuple[Centred, Float[Array, " n"]]:
        directions = jnp.sin(self.speed * time + jnp.arange(1.0, self.count + 1))
        coefficients = state.length * directions / jnp.linalg.norm(directions)
        return state, self.mean + coefficients @ state.kernels
