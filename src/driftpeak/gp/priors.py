"""A prior: what is believed of the function before the first observation."""

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
from driftpeak.gp.gram import Computed, Gram, Lags, Pairs
from driftpeak.gp.kernels import Kernel

SOME = 4_000
"""Of many points, those that are tried before all."""
MOST_PAIRED = 50_000
"""Points whose covariances with one another, 19 GiB, are kept at most."""


@frozen(eq=False, init=False)
class Prior:
    """A Gaussian process on a finite domain, seen through independent Gaussian noise.

    Arguments:
        domain: the candidate points, n of them.
        kernel: their covariance.
        noise_variance: variance of the noise on one observation, in squared units of the reward;
            lambda in the frequentist papers, sigma^2 in the Bayesian ones. Positive.
        mean: the prior mean, one number or one per point.

    Raises:
        DriftpeakError: a space in a context, a noise variance that is not positive, a mean of the
            wrong length, or a kernel that cannot be evaluated on the domain.

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
                "a prior is of what can be chosen, and knows no context: give the space alone, or "
                "take a DriftingGP"
            )
        kernel.check(domain)
        single = np.isscalar(mean) or getattr(mean, "shape", None) == ()
        vector = finite_array("mean", np.full(len(domain), mean) if single else mean, 1)
        if len(vector) != len(domain):
            raise DriftpeakError(
                f"mean must be one number or {len(domain)}, one per point; got {len(vector)}"
            )
        noise = positive("noise_variance", noise_variance)
        self.__attrs_init__(domain, kernel, noise, vector.copy(), Covariance(domain, kernel))

    def __len__(self) -> int:
        return len(self.domain)

    @property
    def variance(self) -> Vector:
        """Prior variance of every point, shape `(n,)`."""
        return self._covariance.variance

    @property
    def gram(self) -> Matrix:
        """Covariance of every pair of points, shape `(n, n)`.

        Raises:
            DriftpeakError: more points than `MOST_PAIRED`.
        """
        return self._covariance.gram

    @property
    def pairs(self) -> Pairs:
        """The same for compiled programs: of more than `MANY` points, a row at a time.

        Raises:
            DriftpeakError: more points than `MOST_PAIRED` under a kernel that only its `rows` can
                evaluate (`kernels.Table`, Matern without a closed form), other than a stationary
                one on a grid.
        """
        return self._covariance.pairs

    @property
    def listed_pairs(self) -> Pairs:
        """`pairs`, but the matrix on up to `MOST_PAIRED` points: what worlds draw functions from.

        A row made as it is asked for is rounded otherwise, and functions keep their bits.
        """
        return Gram(self.gram) if len(self) <= MOST_PAIRED else self.pairs

    @property
    def by_row(self) -> bool:
        """Whether `pairs` takes little room however many points there are."""
        return self._covariance.by_row

    @property
    def features(self) -> Features:
        r"""A factor of the covariance, to \(10^{-10}\) of the largest prior variance.

        Or to \(10^{-6}\) of the noise variance, if that is less: means are off by about the error
        of the features over the noise variance. Rounding sets the limit, \(10^{-16}\).
        """
        return self._covariance.features(self._tolerance)

    def features_within(self, rank: int) -> Features | None:
        """`features`, unless they need more than `rank` columns; then None, found out cheaply."""
        return self._covariance.features_within(rank, self._tolerance)

    def features_or(self, features: Features | None, *, tolerance: float | None = None) -> Features:
        """These features, for as many points as there are; the prior's own if there are none.

        Arguments:
            features: a factor of the covariance, or None.
            tolerance: instead of the prior's own make such as miss at most this share of the
                largest prior variance.

        Raises:
            DriftpeakError: no `Features`, or for another number of points; with a tolerance, where
                they would take too long to make (`affordable`).
        """
        if features is None:
            if tolerance is None:
                return self.features
            return affordable(self.kernel, self.domain, tolerance=tolerance)
        if not isinstance(features, Features):
            raise DriftpeakError(
                "features must be made by a function of driftpeak.gp.features, such as "
                f"pivoted_cholesky(prior.kernel, prior.domain), or be None; got {shown(features)}"
            )
        features.check(len(self))
        return features

    def with_noise_variance(self, noise_variance: float) -> "Prior":
        """The same prior seen through another noise."""
        prior = object.__new__(Prior)
        noise = positive("noise_variance", noise_variance)
        prior.__attrs_init__(self.domain, self.kernel, noise, self.mean, self._covariance)
        return prior

    @property
    def _tolerance(self) -> float:
        """Of the features, in units of the largest prior variance."""
        ratio = self.noise_variance / max(float(self.variance.max()), 1e-300)
        return min(TOLERANCE, max(1e-6 * ratio, 1e-16))


class Covariance:
    """The covariance of a domain's points, computed when it is first asked for, and kept."""

    def __init__(self, domain: Domain, kernel: Kernel) -> None:
        self.domain, self.kernel = domain, kernel
        self._found: dict[float, Features] = {}  # by tolerance

    def __getstate__(self) -> dict[str, Any]:
        """Sent to another process without what is large and soon made again."""
        return {name: value for name, value in vars(self).items() if name not in ("gram", "pairs")}

    @cached_property
    def variance(self) -> Vector:
        """Of every point, shape `(n,)`."""
        return self.kernel.diagonal(self.domain)

    @cached_property
    def gram(self) -> Matrix:
        """Of every pair of points, shape `(n, n)`; for at most `MOST_PAIRED` points."""
        count = len(self.domain)
        if count > MOST_PAIRED:
            raise DriftpeakError(
                f"the covariance of all pairs of {count:,} points would take "
                f"{8 * count**2 / 2**30:,.0f} GiB, and at most {MOST_PAIRED:,} points are "
                "accepted; policies and worlds do without it where the kernel has a closed form, "
                "such as SE or Matern with nu = 0.5, 1.5 or 2.5, or is stationary on a Grid, and "
                "those of the GP-UCB family also in feature space (form='feature-space')"
            )
        return self.kernel.rows(self.domain)

    @cached_property
    def pairs(self) -> Pairs:
        """The same for compiled programs."""
        if not self.by_row:
            return Gram(self.gram)
        if isinstance(self.domain, Grid) and self.kernel.stationary:
            return Lags(self.kernel, self.domain)
        return Computed(self.kernel, self.domain)

    @property
    def by_row(self) -> bool:
        """Whether these are many points, of which `pairs` has a row at a time."""
        in_lags = isinstance(self.domain, Grid) and self.kernel.stationary
        return len(self.domain) > MANY and (in_lags or self.kernel.pointwise)

    def features(self, tolerance: float) -> Features:
        """A factor that misses at most `tolerance` of the largest variance."""
        if tolerance not in self._found:
            self._found[tolerance] = factored(self.kernel, self.domain, tolerance=tolerance)
        return self._found[tolerance]

    def features_within(self, rank: int, tolerance: float) -> Features | None:
        """The same, unless it needs more than `rank` columns: then None, found out cheaply."""
        if tolerance not in self._found:
            most = max(rank, 1)
            cheap = not self.by_row or separated(self.kernel, self.domain) is not None
            if not cheap and most < SOME and self._some_need_more(most, tolerance):
                return None
            attempt = factored(self.kernel, self.domain, tolerance=tolerance, rank=most)
            if attempt.error is None or attempt.error > tolerance * self.variance.max():
                return None
            self._found[tolerance] = attempt
        found = self._found[tolerance]
        return found if found.rank <= rank else None

    def _some_need_more(self, rank: int, tolerance: float) -> bool:
        """Whether some of many points need more columns already: then all of them do."""
        few = np.random.default_rng(0).choice(len(self.domain), SOME, replace=False)
        points = Arms(self.domain.points[few])
        some = factored(self.kernel, points, tolerance=tolerance, rank=rank)
        assert some.error is not None
        return some.error > tolerance * float(self.variance.max())
