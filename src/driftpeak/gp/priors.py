"""Priors: Gaussian processes before the first observation."""

from functools import cached_property
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
    _covariance: "Covariance" = field(repr=False)

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
        self.__attrs_init__(domain, kernel, noise, vector.copy(), Covariance(domain, kernel))

    def __len__(self) -> int:
        return len(self.domain)

    @property
    def variance(self) -> Vector:
        """Prior variance of each point, shape `(n,)`."""
        return self._covariance.variance

    @property
    def gram(self) -> Matrix:
        """Covariance of all pairs of points, shape `(n, n)`.

        Raises:
            DriftpeakError: more points than `MOST_PAIRED`.
        """
        return self._covariance.gram

    @property
    def pairs(self) -> Pairs:
        """The covariances for compiled programs: above `MANY` points, one row at a time.

        Raises:
            DriftpeakError: more points than `MOST_PAIRED` with a kernel that only `rows` can
                evaluate (`kernels.Table`, Matern without a closed form), unless it is stationary
                and the domain is a grid.
        """
        return self._covariance.pairs

    @property
    def listed_pairs(self) -> Pairs:
        """`pairs`, but with the whole matrix up to `MOST_PAIRED` points, as simulations use it.

        Rows on request are rounded differently; the whole matrix keeps drawn functions
        bit-identical.
        """
        return Gram(self.gram) if len(self) <= MOST_PAIRED else self.pairs

    @property
    def by_row(self) -> bool:
        """Whether `pairs` needs little memory at any number of points."""
        return self._covariance.by_row

    @property
    def features(self) -> Features:
        r"""A factor of the covariance, to \(10^{-10}\) of the largest prior variance.

        The tolerance is \(10^{-6}\) of the noise variance if that is smaller: the error of the mean
        is about the error of the features divided by the noise variance. It is at least
        \(10^{-16}\), the limit of rounding.
        """
        return self._covariance.features(self._tolerance)

    def features_within(self, rank: int) -> Features | None:
        """Return `features`, or None, determined cheaply, if they need more than `rank` columns."""
        return self._covariance.features_within(rank, self._tolerance)

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
        prior.__attrs_init__(self.domain, self.kernel, noise, self.mean, self._covariance)
        return prior

    @property
    def _tolerance(self) -> float:
        """Error of the features, in units of the largest prior variance."""
        ratio = self.noise_variance / max(float(self.variance.max()), 1e-300)
        return min(TOLERANCE, max(1e-6 * ratio, 1e-16))


class Covariance:
    """The covariance of the points of a domain, computed on first use and kept."""

    def __init__(self, domain: Domain, kernel: Kernel) -> None:
        self.domain, self.kernel = domain, kernel
        self._found: dict[float, Features] = {}  # by tolerance

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the large arrays, which another process recomputes quickly."""
        return {name: value for name, value in vars(self).items() if name not in ("gram", "pairs")}

    @cached_property
    def variance(self) -> Vector:
        """Prior variance of each point, shape `(n,)`."""
        return self.kernel.diagonal(self.domain)

    @cached_property
    def gram(self) -> Matrix:
        """Covariance of all pairs of points, shape `(n, n)`; for at most `MOST_PAIRED` points."""
        count = len(self.domain)
        if count > MOST_PAIRED:
            raise DriftpeakError(
                "the number of points whose pairwise covariances are kept must be at most "
                f"{MOST_PAIRED:,}; got {count:,}, {8 * count**2 / 2**30:,.0f} GiB. Policies and "
                "environments do not need it if the kernel has a closed form, such as SE or Matern "
                "with nu = 0.5, 1.5 or 2.5, or is stationary on a Grid. Policies of the GP-UCB "
                "family also run in feature space (form='feature-space')"
            )
        return self.kernel.rows(self.domain)

    @cached_property
    def pairs(self) -> Pairs:
        """The covariances for compiled programs."""
        if not self.by_row:
            return Gram(self.gram)
        if isinstance(self.domain, Grid) and self.kernel.stationary:
            return ToeplitzGram(self.kernel, self.domain)
        return LazyGram(self.kernel, self.domain)

    @property
    def by_row(self) -> bool:
        """Whether the domain is large and `pairs` gives one row at a time."""
        in_lags = isinstance(self.domain, Grid) and self.kernel.stationary
        return len(self.domain) > MANY and (in_lags or self.kernel.pointwise)

    def features(self, tolerance: float) -> Features:
        """Return a factor whose error is at most `tolerance` of the largest variance."""
        if tolerance not in self._found:
            self._found[tolerance] = factored(self.kernel, self.domain, tolerance=tolerance)
        return self._found[tolerance]

    def features_within(self, rank: int, tolerance: float) -> Features | None:
        """Return that factor, or None, determined cheaply, if it needs more than `rank` columns."""
        if tolerance not in self._found:
            most = max(rank, 1)
            cheap = not self.by_row or separated(self.kernel, self.domain) is not None
            if not cheap and most < SOME and self._some_need_more(most, tolerance):
                return None
            attempt = factored(self.kernel, self.domain, tolerance=tolerance, rank=most)
            if attempt.error is None or attempt.error > tolerance * self.variance.max():
                return None
            self._found[tolerance] = attempt
        features = self._found[tolerance]
        return features if features.rank <= rank else None

    def _some_need_more(self, rank: int, tolerance: float) -> bool:
        """Return whether a subset of the points needs more columns; if so, all points do."""
        few = np.random.default_rng(0).choice(len(self.domain), SOME, replace=False)
        points = Arms(self.domain.points[few])
        some = factored(self.kernel, points, tolerance=tolerance, rank=rank)
        assert some.error is not None
        return some.error > tolerance * float(self.variance.max())
