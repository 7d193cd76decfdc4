r"""Hard instances: a bump at a random place, moved before a policy can locate it.

The lower bounds of IT25 (Theorem 1) and M25 (section 5) rest on the functions of Scarlett,
Bogunovic and Cevher 2017: translates of one bump \(f(x) = h_0\, b(\|x - c\|/s)/b(0)\), where b is
the inverse Fourier transform of \(\exp(-1/(1 - |\xi|^2))\) on the unit ball. Its spectrum is
compact, so its RKHS norm over \(R^d\) is finite even for SE:
\(\|f\|^2 = \int |\hat f|^2 / S\), with S the kernel's spectral density.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy import special

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least, at_least_integer, positive
from driftpeak._core.types import Scalar, Vector
from driftpeak.environments.catalogue import environment
from driftpeak.environments.protocol import Environment
from driftpeak.gp.kernels import SE, Kernel, Matern, Scaled
from driftpeak.gp.priors import Prior

LARGEST = 1_000_000  # largest number of cells times points


class Quadrature(NamedTuple):
    """Radii of frequencies in the unit ball, their weights, and the spectrum of the bump."""

    radii: Vector
    weights: Vector
    log_spectrum: Vector


@cache
def quadrature() -> Quadrature:
    """Return 400 Gauss-Legendre nodes, from an eigenvalue problem that takes up to a second."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    radii = (nodes + 1) / 2
    return Quadrature(radii, weights / 2, -1 / (1 - radii**2))


class BumpState(NamedTuple):
    """The random key that places the bumps."""

    key: PRNGKeyArray


@environment("is a bump that jumps to random positions")
class MovingBump(Environment[BumpState]):
    r"""A bump that moves to a random cell every `period` steps.

    The bounding box of the domain is divided into `cells` per dimension. The bumps are centred in
    the cells and have height \(2\varepsilon\): points within \(\varepsilon\) of the peak lie in
    the bump's own cell, and other points are almost uninformative. A policy without enough time to
    search all cells has regret of order \(\varepsilon\) per step.

    Every function has the RKHS norm `norm` exactly (over all of \(R^d\); on the domain it is at
    most that), and \(\sum_t \|f_{t+1} - f_t\|_\infty \le\) `variation(steps)`.

    Arguments:
        prior: domain with coordinates, SE or Matern kernel with one lengthscale, noise variance.
        period: steps between moves (IT25's H); the first move is after `period` steps.
        cells: cells per dimension; more cells make the search harder and the bump lower.
        norm: RKHS norm of each function.

    Raises:
        DriftpeakError: another kernel or a lengthscale per dimension, a domain without coordinates,
            a number out of range, cells times points above a million, or a bump lower than 1e-12 of
            the norm.

    Source: IT25 Theorem 1, Lemma 2, (12)-(13).
    """

    bumps: Any
    noise_variance: Scalar
    period: int = eqx.field(static=True)
    height: float = eqx.field(static=True)
    norm: float = eqx.field(static=True)

    @checked
    def __init__(self, prior: Prior, *, period: int, cells: int, norm: float = 1.0) -> None:
        prior.kernel.check(prior.domain)
        self.period = at_least_integer("period", period, 1)
        self.norm = positive("norm", norm)
        points = prior.domain.points
        dimension = points.shape[1]
        cells = at_least_integer("cells", cells, 2)
        if cells**dimension * len(points) > LARGEST:
            raise DriftpeakError(
                f"cells times points must be at most {LARGEST:,}; got {cells**dimension:,} cells "
                f"and {len(points):,} points. Use fewer cells"
            )
        low, high = points.min(axis=0), points.max(axis=0)
        if (high <= low).any():
            raise DriftpeakError("the points of the domain must differ in every dimension")
        widths = (high - low) / cells
        scale = widths.min() / 2 / half_height_radius(dimension)
        log_unit_norm = log_unit_bump_norm(prior.kernel, scale, dimension)
        if log_unit_norm > math.log(1e12):
            raise DriftpeakError(
                f"the bump must be at least 1e-12 of its norm; with {cells} cells per dimension it "
                "is lower. Use fewer cells or a shorter lengthscale"
            )
        self.height = self.norm * math.exp(-log_unit_norm)
        axes = [
            start + width * (np.arange(cells) + 0.5)
            for start, width in zip(low, widths, strict=True)
        ]
        centres = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimension)
        distances = np.sqrt(((centres[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
        # a lattice has few distinct distances
        radii, which = np.unique(np.round(distances / scale, 12), return_inverse=True)
        self.bumps = self.height * bump(radii, dimension)[which].reshape(distances.shape)
        self.noise_variance = np.float64(prior.noise_variance)

    def variation(self, steps: int) -> float:
        r"""Return an upper bound of the variation of `steps` functions, in the supremum norm.

        A bump lies between minus its height and its height, so a move changes no value by more than
        twice the height (IT25's \(4\varepsilon\)). There are \(\lceil T/H \rceil - 1\) moves (IT25
        (13)).

        Raises:
            DriftpeakError: steps below 1.
        """
        steps = at_least_integer("steps", steps, 1)
        return 2 * self.height * (math.ceil(steps / self.period) - 1)

    def shortest_period(self, steps: int, variation: float) -> int:
        """Return the shortest period with `variation(steps)` at most `variation` (IT25, Thm 1).

        Raises:
            DriftpeakError: steps below 1, variation below 0.
        """
        steps = at_least_integer("steps", steps, 1)
        moves = math.floor(at_least("variation", variation, 0) / (2 * self.height))
        return max(1, math.ceil(steps / (moves + 1)))

    def init(self, key: PRNGKeyArray) -> BumpState:
        return BumpState(key)

    def step(self, state: BumpState, time: Scalar) -> tuple[BumpState, Float[Array, " n"]]:
        block = jnp.floor((time - 1) / self.period).astype(jnp.int32)
        cell = jax.random.randint(jax.random.fold_in(state.key, block), (), 0, len(self.bumps))
        return state, jnp.asarray(self.bumps)[cell]


def bump(radius: Vector, dimension: int) -> Vector:
    r"""Return \(b(r)/b(0)\) at each radius, 1 at the centre.

    The radial Fourier integral is \(b(r) \propto \int_0^1 e^{-1/(1-\rho^2)}\, J_v(z)\, z^{-v}
    \rho^{d-1} d\rho\) with \(z = 2\pi r\rho\), \(v = d/2 - 1\). Gauss-Legendre quadrature with 400
    nodes resolves it up to radii of about 100. The bump has decayed to 1e-5 by radius 20 and to
    1e-9 by radius 50.
    """
    v = dimension / 2 - 1
    at_zero = 0.5**v / special.gamma(v + 1)  # the limit of J_v(z) z^-v
    total = np.zeros_like(radius)
    radii, radial, log_spectrum = quadrature()
    weights = radial * np.exp(log_spectrum) * radii ** (dimension - 1)
    for rho, weight in zip(radii, weights, strict=True):
        z = 2 * np.pi * radius * rho
        away = np.maximum(z, 1e-6)
        total += weight * np.where(z > 1e-6, special.jv(v, away) * away**-v, at_zero)
    return total / (at_zero * weights.sum())


def half_height_radius(dimension: int) -> float:
    """Return the radius of half height; the bump stays below half at larger radii."""
    from scipy.optimize import brentq  # slow to import

    return float(brentq(lambda r: bump(np.array([r]), dimension)[0] - 0.5, 1e-3, 5.0))


def log_unit_bump_norm(kernel: Kernel, scale: float, dimension: int) -> float:
    r"""Return the logarithm of the RKHS norm of a bump of height 1 and length `scale`.

    \(\hat f(\xi) = s^d\, e^{-1/(1 - |s\xi|^2)} / b(0)\) for \(|\xi| < 1/s\), so
    \(\|f\|^2 = \frac{s^d}{b(0)^2} \int_0^1 e^{-2/(1-\rho^2)} \frac{A_d\, \rho^{d-1}}{S(\rho/s)}
    d\rho\), with \(A_d\) the surface of the unit sphere.

    Raises:
        DriftpeakError: a kernel that is neither SE nor Matern, or has several lengthscales.
    """
    surface = 2 * math.pi ** (dimension / 2) / math.gamma(dimension / 2)
    radii, radial, log_spectrum = quadrature()
    shell = surface * radial * radii ** (dimension - 1)
    density = log_spectral_density(kernel, radii / scale, dimension)
    integral = float(special.logsumexp(np.log(shell) + 2 * log_spectrum - density))
    centre = math.log(float((shell * np.exp(log_spectrum)).sum()))
    return (integral + dimension * math.log(scale)) / 2 - centre


def log_spectral_density(kernel: Kernel, frequency: Vector, dimension: int) -> Vector:
    r"""Return \(\log S(|\xi|)\), \(S(\xi) = \int k(x) e^{-2\pi i x \xi} dx\), in cycles per unit.

    Raises:
        DriftpeakError: a kernel that is neither SE nor Matern, or has several lengthscales.
    """
    if isinstance(kernel, Scaled):
        inner = log_spectral_density(kernel.kernel, frequency, dimension)
        return inner + math.log(float(kernel.variance))
    if not isinstance(kernel, SE | Matern):
        raise DriftpeakError(f"kernel must be SE or Matern; got {type(kernel).__name__}")
    if np.size(kernel.lengthscale) != 1:
        raise DriftpeakError(
            "kernel must have one lengthscale for all dimensions; got "
            f"{np.size(kernel.lengthscale)}"
        )
    length = float(np.ravel(kernel.lengthscale)[0])
    squared = (2 * np.pi * length * frequency) ** 2
    d = dimension
    if isinstance(kernel, SE):
        return d / 2 * math.log(2 * math.pi * length**2) - squared / 2
    nu = kernel.nu
    constant = d * math.log(2 * math.sqrt(math.pi) * length) + nu * math.log(2 * nu)
    constant += math.lgamma(nu + d / 2) - math.lgamma(nu)
    return constant - (nu + d / 2) * np.log(2 * nu + squared)
