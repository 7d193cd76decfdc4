"""Priors: Gaussian processes before the first observation."""

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import field, frozen

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite_array, positive, shown
from driftpeak._core.types import Matrix, Vector
from driftpeak.gp.affordable import affordable
from driftpeak.gp.contexts import Contextual
from driftpeak.gp.domains import Arms, Domain, Grid
from driftpeak.gp.features import MANY, TOLERANCE, Features, factored, separated
from driftpeak.gp.gram import Gram, LazyGram, Pairs, ToeplitzGram
from driftpeak.gp.kernels import Kernel

SOME = 4_000
"""Number of random points on which the rank is estimated first, for large domains."""
MOST_PAIRED = 50_000
"""Largest number of points for which all pairwise covariances, 19 GiB, are kept."""


@frozen(eq=False, init=False)
class Prior:
    """A Gaussian process on a finite domain, observed with independent Gaussian noise.

    Arguments:
        domain: the candidate points, n of them.
        kernel: their covariance.
        noise_variance: variance of the noise on one observation, in squared units of the reward;
            lambda in the frequentist papers, sigma^2 in the Bayesian ones. Positive.
        mean: the prior mean, one number or one per point.

    Raises:
        DriftpeakError: a space with context variables, a noise variance that is not positive, a
            mean of the wrong length, or a kernel that cannot be evaluated on the domain.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> prior.gram.shape
        (20, 20)
    """

    domain: Domain
    kernel: Kernel
    noise_variance: float
    mean: Vector = field(repr=False)
    _cache: "Cache" = field(repr=False)

    @checked
    def __init__(
        self, domain: Domain, kernel: Kernel, noise_variance: float, mean: Any = 0.0
    ) -> None:
        if isinstance(domain, Contextual):
            raise DriftpeakError(
                "domain must be a space without context variables. Give the space alone, or use a "
                "DriftingGP"
            )
        kernel.check(domain)
        single = np.isscalar(mean) or getattr(mean, "shape", None) == ()
        vector = finite_array("mean", np.full(len(domain), mean) if single else mean, 1)
        if len(vector) != len(domain):
            raise DriftpeakError(
                f"mean must be one number or {len(domain)}, one for each point; got {len(vector)}"
            )
        noise = positive("noise_variance", noise_variance)
        self.__attrs_init__(domain, kernel, noise, vector.copy(), Cache())

    def __len__(self) -> int:
        return len(self.domain)

    @property
    def variance(self) -> Vector:
        """Prior variance of each point, shape `(n,)`."""
        return self._cached("variance", lambda: self.kernel.diagonal(self.domain))

    @property
    def gram(self) -> Matrix:
        """Covariance of all pairs of points, shape `(n, n)`.

        Raises:
            DriftpeakError: more points than `MOST_PAIRED`.
        """
        count = len(self)
        if count > MOST_PAIRED:
            raise DriftpeakError(
                "the number of points whose pairwise covariances are kept must be at most "
                f"{MOST_PAIRED:,}; got {count:,}, {8 * count**2 / 2**30:,.0f} GiB. Policies and "
                "environments do not need it if the kernel has a closed form, such as SE or Matern "
                "with nu = 0.5, 1.5 or 2.5, or is stationary on a Grid. Policies of the GP-UCB "
                "family also run in feature space (form='feature-space')"
            )
        return self._cached("gram", lambda: self.kernel.rows(self.domain))

    @property
    def pairs(self) -> Pairs:
        """The covariances for compiled programs: above `MANY` points, one row at a time.

        Raises:
            DriftpeakError: more points than `MOST_PAIRED` with a kernel that only `rows` can
                evaluate (`kernels.Table`, Matern without a closed form), unless it is stationary
                and the domain is a grid.
        """
        if not self.by_row:
            return Gram(self.gram)
        if isinstance(self.domain, Grid) and self.kernel.stationary:
            grid = self.domain
            return self._cached("pairs", lambda: ToeplitzGram(self.kernel, grid))
        return self._cached("pairs", lambda: LazyGram(self.kernel, self.domain))

    @property
    def listed_pairs(self) -> Pairs:
        """`pairs`, but with the whole matrix up to `MOST_PAIRED` points, as simulations use it.

        Rows on request are rounded differently; the whole matrix keeps drawn functions
        bit-identical.
        """
        return Gram(self.gram) if len(self) <= MOST_PAIRED else self.pairs

    @property
    def by_row(self) -> bool:
        """Whether the domain is large and `pairs` gives one row at a time, in little memory."""
        in_lags = isinstance(self.domain, Grid) and self.kernel.stationary
        return len(self) > MANY and (in_lags or self.kernel.pointwise)

    @property
    def features(self) -> Features:
        r"""A factor of the covariance, to \(10^{-10}\) of the largest prior variance.

        The tolerance is \(10^{-6}\) of the noise variance if that is smaller: the error of the mean
        is about the error of the features divided by the noise variance. It is at least
        \(10^{-16}\), the limit of rounding.
        """
        tolerance = self._tolerance
        return self._cached(
            tolerance, lambda: factored(self.kernel, self.domain, tolerance=tolerance)
        )

    def features_within(self, rank: int) -> Features | None:
        """Return `features`, or None, determined cheaply, if they need more than `rank` columns."""
        tolerance, most = self._tolerance, max(rank, 1)
        if tolerance not in self._cache:
            cheap = not self.by_row or separated(self.kernel, self.domain) is not None
            if not cheap and most < SOME and self._some_need_more(most):
                return None
            attempt = factored(self.kernel, self.domain, tolerance=tolerance, rank=most)
            if attempt.error is None or attempt.error > tolerance * self.variance.max():
                return None
            self._cache[tolerance] = attempt
        return self.features if self.features.rank <= rank else None

    def features_or(self, features: Features | None, *, tolerance: float | None = None) -> Features:
        """Return `features` after a check of their size, or the features of the prior if None.

        Arguments:
            features: a factor of the covariance, or None.
            tolerance: largest error of the features computed in place of None, as a share of the
                largest prior variance; by default that of the prior's `features`.

        Raises:
            DriftpeakError: not `Features`, or features for another number of points; with a
                tolerance, features that would take too long to compute (`affordable`).
        """
        if features is None:
            if tolerance is None:
                return self.features
            return affordable(self.kernel, self.domain, tolerance=tolerance)
        if not isinstance(features, Features):
            raise DriftpeakError(
                "features must be None or the result of a function of driftpeak.gp.features, such "
                f"as pivoted_cholesky(prior.kernel, prior.domain); got {shown(features)}"
            )
        features.check(len(self))
        return features

    def with_noise_variance(self, noise_variance: float) -> "Prior":
        """Return this prior with another noise variance."""
        prior = object.__new__(Prior)
        noise = positive("noise_variance", noise_variance)
        prior.__attrs_init__(self.domain, self.kernel, noise, self.mean, self._cache)
        return prior

    @property
    def _tolerance(self) -> float:
        """Error of the features, in units of the largest prior variance."""
        ratio = self.noise_variance / max(float(self.variance.max()), 1e-300)
        return min(TOLERANCE, max(1e-6 * ratio, 1e-16))

    def _some_need_more(self, rank: int) -> bool:
        """Return whether a subset of the points needs more columns; if so, all points do."""
        few = np.random.default_rng(0).choice(len(self.domain), SOME, replace=False)
        points = Arms(self.domain.points[few])
        some = factored(self.kernel, points, tolerance=self._tolerance, rank=rank)
        assert some.error is not None
        return some.error > self._tolerance * float(self.variance.max())

    def _cached(self, key: str | float, compute: Callable[[], Any]) -> Any:
        """Return a property of the covariance, computed on first use."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]


class Cache(dict[str | float, Any]):
    """Properties of a covariance by name, and features by tolerance."""

    def __reduce__(self) -> tuple[type["Cache"], tuple[dict[str | float, Any]]]:
        """Leave out the large arrays, which another process recomputes quickly."""
        return Cache, ({key: self[key] for key in self if key not in ("gram", "pairs")},)
