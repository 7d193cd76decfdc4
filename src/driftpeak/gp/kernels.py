r"""Covariance functions, as small pytrees that add and multiply.

A kernel has two evaluations: `kernel(x, y)`, the covariance between two sets of points, and
`kernel.rows(domain, indices)`, rows of the Gram matrix of a finite domain. Distances are Euclidean
and scaled per dimension, \(r^2 = \sum_j (x_j - y_j)^2 / l_j^2\). They are summed from the
differences: the shortcut through one matrix product leaves errors of 1e-8 in r near zero, where a
Matern kernel is not smooth.
"""

import math
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite_array, positive
from driftpeak._core.numerics.precision import double_precision
from driftpeak.gp.domains import Domain

Points = Float[Array, "n d"]
Others = Float[Array, "m d"]
Gram = Float[Array, "n m"]
Scale = Any  # a positive number or one per dimension; a traced array while it is being fitted
FAR = 1e4  # every Matern kernel is 0 there in double precision; the cap avoids inf * 0
NEAR = 1e-200  # least squared distance: every Matern kernel is 1 there, and sqrt has a derivative


def _checked(name: str, value: Scale, *, per_dimension: bool = True, zero: bool = False) -> Scale:
    """Check that `value` is positive (or 0, if `zero`), unless JAX is tracing it."""
    if isinstance(value, jax.core.Tracer):
        return value
    accepted = "a finite number of at least 0" if zero else "a finite number above 0"
    accepted += ", or one for each dimension" if per_dimension else ""
    refusal = DriftpeakError(f"{name} must be {accepted}; got {value}")
    try:
        scale = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise refusal from None
    numbers = scale.dtype.kind in "iuf" and scale.size > 0 and scale.ndim <= per_dimension
    if not numbers or not (np.isfinite(scale) & ((scale >= 0) if zero else (scale > 0))).all():
        raise refusal
    return scale.astype(np.float64)


class Kernel(eqx.Module):
    """A covariance function. `+` and `*` of kernels, and `number * kernel`, return kernels."""

    @abstractmethod
    def __call__(self, x: Points, y: Others) -> Gram:
        """Return the covariance between the rows of `x` and the rows of `y`, shape `(n, m)`."""

    scales: ClassVar[tuple[str, ...]] = ()
    """Names of the numbers that may be one for each dimension."""

    def check(self, domain: Domain) -> None:
        """Raise DriftpeakError if the kernel cannot be evaluated on `domain`."""
        if not domain.has_coordinates:
            raise DriftpeakError(
                f"{type(self).__name__} requires arms with coordinates. For arms without, give the "
                "covariance as driftpeak.gp.kernels.Table(matrix)"
            )
        dimension = domain.points.shape[1]
        for name in self.scales:
            scale = getattr(self, name)
            if np.ndim(scale) == 1 and len(scale) not in (1, dimension):
                raise DriftpeakError(
                    f"{type(self).__name__} must have one {name} or {dimension}, one for each "
                    f"dimension of the domain; got {len(scale)}"
                )

    @double_precision
    def rows(self, domain: Domain, indices: Any = None) -> np.ndarray:
        """Return rows of the Gram matrix of `domain`, shape `(len(indices), n)`; all by default."""
        # indexed by NumPy, which raises for an index that JAX would clip
        chosen = domain.points if indices is None else domain.points[np.asarray(indices)]
        return np.asarray(_evaluate(self, jnp.asarray(chosen), jnp.asarray(domain.points)))

    @double_precision
    def diagonal(self, domain: Domain) -> np.ndarray:
        """Return the prior variance of each point of `domain`, shape `(n,)`."""
        return np.asarray(_evaluate_diagonal(self, jnp.asarray(domain.points)))

    @property
    def stationary(self) -> bool:
        """Whether the kernel is known to depend on \\(|x_j - y_j|\\) alone."""
        return False

    @property
    def pointwise(self) -> bool:
        """Whether compiled programs can evaluate the kernel from the coordinates of two points."""
        return True

    def separated(self, dimension: int) -> "tuple[Kernel, ...] | None":
        """Return one-dimensional kernels whose product is this kernel; None if none are known."""
        return None

    def frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> np.ndarray:
        """Draw from the normalised spectral density, shape `(count, dimension)`, in rad/unit.

        Raises:
            DriftpeakError: the kernel is not stationary or its density is not implemented.
        """
        raise DriftpeakError(f"{type(self).__name__} has no spectral density to draw from")

    def __add__(self, other: "Kernel") -> "Kernel":
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: int) -> "Kernel":
        # `sum` of a list of kernels starts from 0
        return self if other == 0 else NotImplemented

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__


@jax.jit
def _evaluate(kernel: Kernel, x: Points, y: Others) -> Gram:
    return kernel(x, y)


@jax.jit
def _evaluate_diagonal(kernel: Kernel, x: Points) -> Float[Array, " n"]:
    return jax.vmap(lambda point: kernel(point[None], point[None])[0, 0])(x)


class Stationary(Kernel):
    """A kernel that depends on the scaled distance alone, with variance 1. Base class."""

    scales: ClassVar[tuple[str, ...]] = ("lengthscale",)
    lengthscale: Scale

    @checked
    def __init__(self, lengthscale: Scale = 1.0) -> None:
        self.lengthscale = _checked("lengthscale", lengthscale)

    @property
    def stationary(self) -> bool:
        return True

    @abstractmethod
    def of_squared_distance(self, squared: Gram) -> Gram:
        """Return the covariance at squared scaled distance `squared`."""

    def __call__(self, x: Points, y: Others) -> Gram:
        return self.of_squared_distance(squared_distance(x, y, self.lengthscale))


class SE(Stationary):
    r"""Squared exponential, \(k = \exp(-r^2/2)\), at scaled distance r.

    Arguments:
        lengthscale: l, one number or one per dimension, in units of the coordinates; positive.

    Raises:
        DriftpeakError: a number that is not positive and finite.

    Example:
        >>> import driftpeak as dp
        >>> kernel = 2.0 * dp.SE(lengthscale=0.2) + dp.Periodic(period=24.0)

    Source: B16 (1); IT25 (2).
    """

    def of_squared_distance(self, squared: Gram) -> Gram:
        return jnp.exp(-0.5 * squared)

    def separated(self, dimension: int) -> tuple[Kernel, ...] | None:
        return tuple(map(SE, np.broadcast_to(self.lengthscale, (dimension,))))

    def frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> np.ndarray:
        return generator.standard_normal((count, dimension)) / np.asarray(self.lengthscale)


def bessel_correlation(order: float, z: np.ndarray) -> np.ndarray:
    r"""Return \(\frac{2^{1-\nu}}{\Gamma(\nu)} z^\nu K_\nu(z)\), `order` nu in (0, 100], z >= 0."""
    from scipy import special  # imported here: few kernels need it, and the import is slow

    bessel = special.kve(order, z)
    # near 0, where K_nu overflows, the series 1 - z^2 / (4 (nu - 1)) + ...; overflow is only
    # reached for nu > 1.8, and for nu <= 100 only where the series is exact to 1e-12
    overflown = np.isinf(bessel)
    logarithm = (
        (1 - order) * math.log(2)
        - special.gammaln(order)
        + special.xlogy(order, np.where(overflown, 1.0, z))
        + np.log(np.where(overflown, 1.0, bessel))
        - z
    )
    series = -(z**2) / (4 * max(order - 1, 0.5))
    return np.exp(np.minimum(np.where(overflown, series, logarithm), 0.0))


class Matern(Stationary):
    r"""Matern (B16 (2)).

    \(k = \frac{2^{1-\nu}}{\Gamma(\nu)} z^\nu K_\nu(z)\) with \(z = \sqrt{2\nu}\,r\).

    `nu` = 1/2, 3/2 and 5/2 have closed forms. Any other positive `nu` up to 100 is evaluated on the
    host with SciPy's Bessel function: on finite domains only, and not inside a JAX transformation.

    Arguments:
        nu: smoothness, in (0, 100].
        lengthscale: l, one number or one per dimension, in units of the coordinates; positive.

    Raises:
        DriftpeakError: nu outside (0, 100], a lengthscale that is not positive and finite.

    Example:
        >>> import driftpeak as dp
        >>> kernel = dp.Matern(2.5, lengthscale=0.2)

    Source: B16 (2); IT25 (3).
    """

    nu: float = eqx.field(static=True)

    @checked
    def __init__(self, nu: float, lengthscale: Scale = 1.0) -> None:
        super().__init__(lengthscale)
        self.nu = positive("nu", nu)
        if self.nu > 100:
            raise DriftpeakError(f"nu must be at most 100 (its limit at infinity is SE); got {nu}")

    def of_squared_distance(self, squared: Gram) -> Gram:
        # sqrt has no derivative at 0. A comparison with 0 would not work: in compiled programs,
        # one difference may be 0 in one place and 1e-17 in another, where operations are fused
        z = jnp.minimum(jnp.sqrt(2 * self.nu * jnp.maximum(squared, NEAR)), FAR)
        if self.nu == 0.5:
            return jnp.exp(-z)
        if self.nu == 1.5:
            return (1 + z) * jnp.exp(-z)
        if self.nu == 2.5:
            return (1 + z + z**2 / 3) * jnp.exp(-z)
        raise DriftpeakError(
            f"Matern with nu={self.nu} has no closed form. Use it on a finite domain, through "
            "`rows`, or set nu to 0.5, 1.5 or 2.5"
        )

    @property
    def pointwise(self) -> bool:
        return self.nu in (0.5, 1.5, 2.5)

    def rows(self, domain: Domain, indices: Any = None) -> np.ndarray:
        if self.pointwise:
            return super().rows(domain, indices)
        scaled = domain.points / np.asarray(self.lengthscale)
        chosen = scaled if indices is None else scaled[np.asarray(indices)]
        with np.errstate(over="ignore"):
            squared = sum(
                (chosen[:, None, j] - scaled[None, :, j]) ** 2 for j in range(scaled.shape[1])
            )
            z = np.minimum(np.sqrt(2 * self.nu * np.asarray(squared)), FAR)
        return bessel_correlation(self.nu, z)

    def diagonal(self, domain: Domain) -> np.ndarray:
        return np.ones(len(domain))

    def frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> np.ndarray:
        normal = generator.standard_normal((count, dimension)) / np.asarray(self.lengthscale)
        chi_squared = generator.chisquare(2 * self.nu, (count, 1))
        return normal * np.sqrt(2 * self.nu / chi_squared)


class RationalQuadratic(Stationary):
    r"""Rational quadratic, \(k = (1 + r^2 / (2a))^{-a}\): a mixture of SE over many lengthscales.

    Arguments:
        mixture: a; the smaller, the wider the range of lengthscales.
        lengthscale: l, one number or one per dimension, in units of the coordinates; positive.

    Raises:
        DriftpeakError: a number that is not positive and finite.
    """

    mixture: Scale

    @checked
    def __init__(self, mixture: float = 1.0, lengthscale: Scale = 1.0) -> None:
        super().__init__(lengthscale)
        self.mixture = _checked("mixture", mixture, per_dimension=False)

    def of_squared_distance(self, squared: Gram) -> Gram:
        return jnp.exp(-self.mixture * jnp.log1p(squared / (2 * self.mixture)))

    def frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> np.ndarray:
        mixture = float(np.asarray(self.mixture))
        precision = generator.gamma(mixture, 1 / mixture, (count, 1))
        normal = generator.standard_normal((count, dimension)) / np.asarray(self.lengthscale)
        return normal * np.sqrt(precision)


class Periodic(Kernel):
    r"""Periodic (MacKay), \(k = \exp(-2 \sum_j \sin^2(\pi (x_j - y_j)/p_j) / l_j^2)\).

    Arguments:
        period: p, one number or one per dimension, in units of the coordinates.
        lengthscale: l, one number or one per dimension, as a fraction of a period; positive.

    Raises:
        DriftpeakError: a number that is not positive and finite.
    """

    scales: ClassVar[tuple[str, ...]] = ("lengthscale", "period")
    period: Scale
    lengthscale: Scale

    @checked
    def __init__(self, period: Scale = 1.0, lengthscale: Scale = 1.0) -> None:
        self.period = _checked("period", period)
        self.lengthscale = _checked("lengthscale", lengthscale)

    def __call__(self, x: Points, y: Others) -> Gram:
        scales = jnp.broadcast_to(self.lengthscale, x.shape[1:])
        periods = jnp.broadcast_to(self.period, x.shape[1:])
        sines = (
            jnp.sin(jnp.pi * (x[:, None, j] - y[None, :, j]) / periods[j]) / scales[j]
            for j in range(x.shape[1])
        )
        return jnp.exp(-2 * sum(sine**2 for sine in sines))

    @property
    def stationary(self) -> bool:
        return True

    def separated(self, dimension: int) -> tuple[Kernel, ...] | None:
        each = (np.broadcast_to(x, (dimension,)) for x in (self.period, self.lengthscale))
        return tuple(map(Periodic, *each))


class Linear(Kernel):
    r"""Linear, \(k = c + \sum_j x_j y_j / l_j^2\) with `offset` c >= 0, the constant's variance.

    Arguments:
        offset: c, at least 0.
        lengthscale: l, one number or one per dimension, in units of the coordinates; positive.

    Raises:
        DriftpeakError: a number that is not positive and finite.
    """

    scales: ClassVar[tuple[str, ...]] = ("lengthscale",)
    offset: Scale
    lengthscale: Scale

    @checked
    def __init__(self, offset: float = 0.0, lengthscale: Scale = 1.0) -> None:
        self.offset = _checked("offset", offset, per_dimension=False, zero=True)
        self.lengthscale = _checked("lengthscale", lengthscale)

    def __call__(self, x: Points, y: Others) -> Gram:
        scales = jnp.broadcast_to(self.lengthscale, x.shape[1:])[None, :]
        return self.offset + (x / scales) @ (y / scales).T


class Table(Kernel):
    """A covariance matrix, for instance an empirical one: row i is arm i.

    Raises:
        DriftpeakError: the matrix is not square, finite, symmetric or positive semi-definite (both
            to 1e-8 of its largest entry: a covariance computed from data is symmetric to rounding).
    """

    matrix: Any

    @checked
    def __init__(self, matrix: Any) -> None:
        table = finite_array("covariance", matrix, 2)
        if table.shape[0] != table.shape[1] or table.size == 0:
            raise DriftpeakError(f"a covariance must be square; got shape {table.shape}")
        scale = float(np.abs(table).max(initial=0.0))
        gap = np.abs(table - table.T)
        if gap.max(initial=0.0) > 1e-8 * scale:
            i, j = np.unravel_index(int(gap.argmax()), gap.shape)
            raise DriftpeakError(
                f"a covariance must be symmetric; entries ({i}, {j}) and ({j}, {i}) are "
                f"{table[i, j]:g} and {table[j, i]:g}"
            )
        table = (table + table.T) / 2
        smallest = float(np.linalg.eigvalsh(table)[0])
        if smallest < -1e-8 * scale:
            raise DriftpeakError(
                "a covariance must be positive semi-definite (no eigenvalue below 0); "
                f"the smallest is {smallest:g}"
            )
        self.matrix = table

    def __call__(self, x: Points, y: Others) -> Gram:
        raise DriftpeakError("a covariance table has no values between arms: use `rows`")

    @property
    def pointwise(self) -> bool:
        return False

    def rows(self, domain: Domain, indices: Any = None) -> np.ndarray:
        matrix = np.asarray(self.matrix)
        return matrix if indices is None else matrix[np.asarray(indices)]

    def diagonal(self, domain: Domain) -> np.ndarray:
        return np.diagonal(np.asarray(self.matrix)).copy()

    def check(self, domain: Domain) -> None:
        if len(domain) != len(self.matrix):
            raise DriftpeakError(
                f"the domain must have {len(self.matrix)} arms, as the covariance table has; got "
                f"{len(domain)}"
            )


class Combined(Kernel):
    """Two kernels combined entry by entry. Base class of `Sum` and `Product`."""

    left: Kernel
    right: Kernel

    @abstractmethod
    def join(self, left: Any, right: Any) -> Any:
        """Return the covariance, given the covariances of the two kernels."""

    def __call__(self, x: Points, y: Others) -> Gram:
        return self.join(self.left(x, y), self.right(x, y))

    def rows(self, domain: Domain, indices: Any = None) -> np.ndarray:
        return self.join(self.left.rows(domain, indices), self.right.rows(domain, indices))

    def diagonal(self, domain: Domain) -> np.ndarray:
        return self.join(self.left.diagonal(domain), self.right.diagonal(domain))

    def check(self, domain: Domain) -> None:
        self.left.check(domain)
        self.right.check(domain)

    @property
    def stationary(self) -> bool:
        return self.left.stationary and self.right.stationary

    @property
    def pointwise(self) -> bool:
        return self.left.pointwise and self.right.pointwise


@checked
class Sum(Combined):
    """The sum k1 + k2: the covariance of the sum of two independent functions."""

    def join(self, left: Any, right: Any) -> Any:
        return left + right


@checked
class Product(Combined):
    """The product k1 k2: two points correlate only if they do under both kernels."""

    def join(self, left: Any, right: Any) -> Any:
        return left * right

    def separated(self, dimension: int) -> tuple[Kernel, ...] | None:
        left, right = self.left.separated(dimension), self.right.separated(dimension)
        return None if left is None or right is None else tuple(map(Product, left, right))

    def frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> np.ndarray:
        return self.left.frequencies(generator, count, dimension) + self.right.frequencies(
            generator, count, dimension
        )


class Scaled(Kernel):
    """A kernel multiplied by a variance."""

    kernel: Kernel
    variance: Scale

    @checked
    def __init__(self, kernel: Kernel, variance: float) -> None:
        self.kernel = kernel
        self.variance = _checked("a kernel's factor (its variance)", variance, per_dimension=False)

    def __call__(self, x: Points, y: Others) -> Gram:
        return self.variance * self.kernel(x, y)

    def rows(self, domain: Domain, indices: Any = None) -> np.ndarray:
        return np.asarray(self.variance) * self.kernel.rows(domain, indices)

    def diagonal(self, domain: Domain) -> np.ndarray:
        return np.asarray(self.variance) * self.kernel.diagonal(domain)

    @property
    def stationary(self) -> bool:
        return self.kernel.stationary

    @property
    def pointwise(self) -> bool:
        return self.kernel.pointwise

    def separated(self, dimension: int) -> tuple[Kernel, ...] | None:
        each = self.kernel.separated(dimension)
        return None if each is None else (Scaled(each[0], float(self.variance)), *each[1:])

    def check(self, domain: Domain) -> None:
        self.kernel.check(domain)

    def frequencies(self, generator: np.random.Generator, count: int, dimension: int) -> np.ndarray:
        return self.kernel.frequencies(generator, count, dimension)


def squared_distance(x: Points, y: Others, lengthscale: Scale) -> Gram:
    """Return the squared Euclidean distance with each dimension divided by its lengthscale."""
    # subtract before dividing: large coordinates (Unix seconds) lose digits in the division
    scales = jnp.broadcast_to(lengthscale, x.shape[1:])
    differences = (((x[:, None, j] - y[None, :, j]) / scales[j]) ** 2 for j in range(x.shape[1]))
    return sum(differences, jnp.zeros((len(x), len(y)), x.dtype))
