r"""Exploration widths: the multiplier of the posterior standard deviation in an upper bound.

The policies choose \(x_t = \arg\max_x \mu(x) + w_t\,\sigma(x)\), steps t counted from 1. The papers
call either \(w_t\) (ZS21, D22, M25) or its square (B16, IT25) beta; here `width` is the multiplier.
"""

import math
from abc import abstractmethod
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import (
    DriftpeakError,
    at_least,
    at_least_integer,
    positive,
    shown,
    unit_interval,
)
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.gp.sample_paths import Tail, check_tail, derivative_tail
from driftpeak.inference.beliefs import Posterior
from driftpeak.inference.information import Gain, RealisedGain

EliminationConstant = float | Literal["proved"]
PROVED_CONSTANT = math.sqrt(8)
r"""A constant C of IT25 (8) for which the confidence bounds (9) are proved.

For weights \(w\), values \(|f_s(x_m)| \le B\) and a uniform permutation \(\psi\), let
\(S = \sum_m w_m f_{\psi(m)}(x_m)\). If \(\psi\) is revealed in the order of decreasing
\(|w_m|\), step i changes the conditional mean of S within a range of \(4 B |w_i|\). By Azuma and
Hoeffding, \(\Pr(|S - ES| \ge \eta) \le 2 \exp(-\eta^2 / (8 B^2 \|w\|^2))\). A second proof, and
a bound from below, are on the page "Where the papers need care".
"""


class Width(eqx.Module):
    """An exploration width. Base class."""

    @abstractmethod
    def __call__(self, step: Scalar, posterior: Posterior) -> Float[Array, ""]:
        """Return the width at decision number `step` (from 1), given the posterior."""

    def check(self, prior: Prior, most: int) -> None:
        """Raise DriftpeakError unless the width is valid for `prior` and `most` observations."""


class ScaledLog(Width):
    r"""The width \(\sqrt{c_1 \log(c_2 t)}\), and 0 while \(c_2 t < 1\) (B16 section 5).

    B16 uses c1 = 0.8, c2 = 4 for synthetic data, 0.8, 0.4 for sensors and 0.2, 0.4 for traffic.

    Raises:
        DriftpeakError: c1 negative, or c2 not positive.

    Source: B16 section 5.
    """

    c1: Scalar
    c2: Scalar

    @checked
    def __init__(self, c1: float = 0.8, c2: float = 4.0) -> None:
        self.c1 = np.float64(at_least("c1", c1, 0))
        self.c2 = np.float64(positive("c2", c2))

    def __call__(self, step: Scalar, posterior: Posterior) -> Float[Array, ""]:
        return jnp.sqrt(self.c1 * jnp.log(jnp.maximum(self.c2 * step, 1.0)))


class Fixed(Width):
    """A width that is equal at every step. Base class."""

    value: eqx.AbstractVar[Scalar]

    def __call__(self, step: Scalar, posterior: Posterior) -> Float[Array, ""]:
        return jnp.asarray(self.value, dtype=float)


class Constant(Fixed):
    """A width that is equal at every step.

    Raises:
        DriftpeakError: a negative value.
    """

    value: Scalar

    @checked
    def __init__(self, value: float) -> None:
        self.value = np.float64(at_least("width", value, 0))


class FiniteDomain(Width):
    r"""The width \(\sqrt{2 \log(n \pi^2 t^2 / (6 \delta))}\) for n points
    (Srinivas et al. 2010, Theorem 1).

    Raises:
        DriftpeakError: points below 2, or delta outside (0, 1).

    Source: B16 footnote 1; Srinivas et al. 2010, Theorem 1.
    """

    points: Scalar
    delta: Scalar

    @checked
    def __init__(self, points: int, delta: float = 0.1) -> None:
        self.points = np.float64(at_least_integer("points", points, 2))
        self.delta = _failure_probability(delta)

    def __call__(self, step: Scalar, posterior: Posterior) -> Float[Array, ""]:
        return jnp.sqrt(2 * jnp.log(self.points * jnp.pi**2 * step**2 / (6 * self.delta)))


class Bayesian(Width):
    r"""The width \(\sqrt{\beta_t}\) with B16 (16) for resetting or (19) for drift, on \([0, r]^d\).

    \(\beta = 2\log\frac{u}{\delta} + 2 d \log(r d b t^2 \sqrt{\log\frac{v}{\delta}})\); (16), for
    R-GP-UCB, has \(u = 2\pi^2t^2/3\) and \(v = 2 d a \pi^2 t^2/3\); (19), for TV-GP-UCB,
    \(u = \pi^2t^2/2\) and \(v = d a \pi^2 t^2/2\). The constants a and b bound the derivatives of
    the sample paths, \(\Pr(\sup_x |\partial f/\partial x_j| > L) \le a e^{-(L/b)^2}\) (B16 (10)).
    `Bayesian.of(prior)` computes constants that hold for the prior; a policy raises an error for
    constants that its prior contradicts (`driftpeak.gp.sample_paths`).

    Arguments:
        dimension: d.
        extent: side r of the domain.
        a, b: constants of B16 (10).
        resetting: (16) if true, (19) if false.
        delta: failure probability.
        horizon: T, for the constant width of the theorems; by default t.

    Raises:
        DriftpeakError: a constant that is not positive, or delta outside (0, 1).

    Source: B16 (16), (19).
    """

    dimension: Scalar
    extent: Scalar
    a: Scalar
    b: Scalar
    delta: Scalar
    horizon: Scalar | None
    resetting: bool = eqx.field(static=True)

    @checked
    def __init__(
        self,
        dimension: int,
        *,
        resetting: bool,
        a: float,
        b: float,
        extent: float = 1.0,
        delta: float = 0.1,
        horizon: int | None = None,
    ) -> None:
        self.dimension = np.float64(at_least_integer("dimension", dimension, 1))
        self.extent = np.float64(positive("extent", extent))
        self.a, self.b = np.float64(positive("a", a)), np.float64(positive("b", b))
        self.delta = _failure_probability(delta)
        self.horizon = (
            None if horizon is None else np.float64(at_least_integer("horizon", horizon, 1))
        )
        self.resetting = resetting

    @classmethod
    def of(
        cls, prior: Prior, *, resetting: bool, delta: float = 0.1, horizon: int | None = None
    ) -> "Bayesian":
        """Return the width for the domain of a prior, with constants that hold for its kernel.

        Raises:
            DriftpeakError: a kernel whose sample paths have no derivative, arms without
                coordinates, or delta or horizon out of range.
        """
        sides = _extents(prior)
        a, b = derivative_tail(prior.kernel, sides)
        return cls(
            len(sides),
            resetting=resetting,
            a=a,
            b=b,
            extent=float(sides.max()),
            delta=delta,
            horizon=horizon,
        )

    def check(self, prior: Prior, most: int) -> None:
        sides = _extents(prior)
        if len(sides) != self.dimension or sides.max() > self.extent * (1 + 1e-9):
            raise DriftpeakError(
                f"the width must be for {len(sides)} dimensions of side {sides.max():g}, the "
                f"domain; got {self.dimension:g} of side {self.extent:g}. Use "
                "widths.Bayesian.of(prior)"
            )
        check_tail(Tail(float(self.a), float(self.b)), prior.kernel, len(sides))

    def __call__(self, step: Scalar, posterior: Posterior) -> Float[Array, ""]:
        t, d = jnp.asarray(step if self.horizon is None else self.horizon, float), self.dimension
        u = (2 / 3 if self.resetting else 1 / 2) * jnp.pi**2 * t**2
        # b t^2 may be small enough for the logarithm to be negative: the bound is trivial then
        inner = jnp.log(jnp.maximum(d * self.a * u / self.delta, 1.0))
        spread = self.extent * d * self.b * t**2 * jnp.sqrt(inner)
        beta = 2 * jnp.log(u / self.delta) + 2 * d * jnp.log(jnp.maximum(spread, 1.0))
        return jnp.sqrt(jnp.maximum(beta, 0.0))


class FrequentistWidth(Width):
    """A width from an RKHS norm bound and an information gain. Base class.

    Arguments:
        norm_bound: B, a bound of the RKHS norm of each f_t.
        noise_scale: R, the sub-Gaussian constant of the noise.
        delta: failure probability.
        gain: the information gain; the realised gain by default.

    Raises:
        DriftpeakError: norm_bound or noise_scale negative, or delta outside (0, 1).
    """

    norm_bound: Scalar
    noise_scale: Scalar
    delta: Scalar
    gain: Gain

    @checked
    def __init__(
        self,
        norm_bound: float = 1.0,
        noise_scale: float = 1.0,
        delta: float = 0.1,
        gain: Gain | None = None,
    ) -> None:
        self.norm_bound = np.float64(at_least("norm_bound", norm_bound, 0))
        self.noise_scale = np.float64(at_least("noise_scale", noise_scale, 0))
        self.delta = _failure_probability(delta)
        self.gain = RealisedGain() if gain is None else gain

    def check(self, prior: Prior, most: int) -> None:
        self.gain.check(most)


class IGP(FrequentistWidth):
    r"""The width \(B + R \sqrt{2(\gamma_{t-1} + 1 + \log(1/\delta))}\), for \(\lambda = 1 + 2/T\).

    Source: Chowdhury and Gopalan 2017, Theorem 2; ZS21 Algorithms 1-2; D22 Remark 2.
    """

    def __call__(self, step: Scalar, posterior: Posterior) -> Float[Array, ""]:
        inside = self.gain(posterior) + 1 - jnp.log(self.delta)
        return jnp.asarray(self.norm_bound + self.noise_scale * jnp.sqrt(2 * inside))


class Confidence(FrequentistWidth):
    r"""The width \(B + \frac{R}{\sqrt\lambda} \sqrt{2\gamma + 2\log(1/\delta)}\)
    (ZS21 Lemma 1; D22 Theorem 2).

    For ZS21's R-GP-UCB the gain is that of the current block.
    For D22's WGP-UCB it is the double-weighted gain (D22 (5); Algorithm 1 prints the plain gain),
    given as a `TabulatedGain`. The realised single-weighted gain of the posterior is an upper
    bound, since weights are at most one, so the default is valid too, and slightly wider.

    ZS21's \(\delta\) is that of one block, D22's that of one step (see the page on theory):
    for a whole run divide it by the number of blocks or of steps.

    `noise_variance` is lambda, the prior's noise variance.

    Source: ZS21 Lemma 1; D22 Theorem 2, Lemma 11, (8).
    """

    noise_variance: Scalar

    @checked
    def __init__(
        self,
        norm_bound: float = 1.0,
        noise_scale: float = 1.0,
        delta: float = 0.1,
        gain: Gain | None = None,
        *,
        noise_variance: float,
    ) -> None:
        super().__init__(norm_bound, noise_scale, delta, gain)
        self.noise_variance = np.float64(positive("noise_variance", noise_variance))

    def __call__(self, step: Scalar, posterior: Posterior) -> Float[Array, ""]:
        inside = 2 * self.gain(posterior) + self._log_failure()
        root = jnp.sqrt(inside / self.noise_variance)
        return jnp.asarray(self.norm_bound + self.noise_scale * root)

    def _log_failure(self) -> Float[Array, ""]:
        """Return twice the logarithm of the inverse failure probability."""
        return -2 * jnp.log(self.delta)


class SlidingConfidence(Confidence):
    r"""The width \(B + \frac{R}{\sqrt\lambda} \sqrt{2\gamma_{\min(t-1,w)} + 2\log(T/\delta)}\)
    (ZS21 Lemma 2).

    The gain is that of the observations in memory, \(\min(t-1, w)\) when the
    t-th point is chosen, over which the lemma's proof sums. The lemma prints \(\min(t, w)\), which
    is one more until the window is full, and is not needed.

    `horizon` is T: observations that leave the window cause the factor T in the logarithm.

    Source: ZS21 Lemma 2.
    """

    horizon: Scalar

    @checked
    def __init__(
        self,
        norm_bound: float = 1.0,
        noise_scale: float = 1.0,
        delta: float = 0.1,
        gain: Gain | None = None,
        *,
        noise_variance: float,
        horizon: int,
    ) -> None:
        super().__init__(norm_bound, noise_scale, delta, gain, noise_variance=noise_variance)
        self.horizon = np.float64(at_least_integer("horizon", horizon, 1))

    def _log_failure(self) -> Float[Array, ""]:
        return 2 * jnp.log(self.horizon / self.delta)


class Heteroscedastic(Width):
    r"""The width \(B + \sqrt{2 \log(2 |S + K|^{1/2} / (\delta |S|^{1/2}))}\) (M25 (12)).

    After Kirschner and Krause 2018. The ratio of determinants is the exponential of the realised
    information gain of the posterior, \(\frac12 \log |S + K| / |S|\).

    Raises:
        DriftpeakError: norm_bound negative, or delta outside (0, 1).

    Source: M25 Lemma 2.3, (12); Kirschner and Krause 2018, Lemma 7.
    """

    norm_bound: Scalar
    delta: Scalar

    @checked
    def __init__(self, norm_bound: float = 1.0, delta: float = 0.1) -> None:
        self.norm_bound = np.float64(at_least("norm_bound", norm_bound, 0))
        self.delta = _failure_probability(delta)

    def __call__(self, step: Scalar, posterior: Posterior) -> Float[Array, ""]:
        inside = jnp.log(2 / self.delta) + posterior.information
        return jnp.asarray(self.norm_bound + jnp.sqrt(2 * inside))


class FixedDesign(RecordsArguments, Fixed):
    r"""The width for points chosen without rewards, equal at every step.

    \(B + \frac{\rho}{\sqrt\lambda} \sqrt{2 \log(2 n b / \delta)}\) for n points and b batches, with
    2 for the two sides of the bound: Vakili et al. 2021, Theorem 1, as in Li and Scarlett 2022. The
    function must be constant.

    Arguments:
        points, batches: n, and the number of times that a bound for all points is used.
        noise_variance: lambda.
        norm_bound: B.
        noise_scale: rho, the sub-Gaussian constant.

    Raises:
        DriftpeakError: a number out of range.
    """

    value: Scalar

    @checked
    def __init__(
        self,
        points: int,
        *,
        batches: int,
        noise_variance: float,
        norm_bound: float = 1.0,
        noise_scale: float = 1.0,
        delta: float = 0.1,
    ) -> None:
        bounds = at_least_integer("points", points, 2) * at_least_integer("batches", batches, 1)
        logarithm = math.log(2 * bounds / _failure_probability(delta))
        root = math.sqrt(2 * logarithm / positive("noise_variance", noise_variance))
        self.value = np.float64(
            at_least("norm_bound", norm_bound, 0) + at_least("noise_scale", noise_scale, 0) * root
        )


class Elimination(RecordsArguments, Fixed):
    r"""The width of phased elimination with restarts, equal at every step.

    \(B (\frac{C}{\sqrt\lambda} \sqrt{L} + 1) + \frac{\rho}{\sqrt\lambda} \sqrt{2 L}\) with
    \(L = \log(4 n Q / \delta)\) for n points and \(Q = \lceil T/H \rceil (1 + \log_2 \log_2 H)\).

    Arguments:
        points: n.
        horizon, period: T and the restart interval H in [2, T].
        noise_variance: lambda.
        norm_bound: B.
        noise_scale: rho, the sub-Gaussian constant.
        constant: C, an absolute constant that the paper does not give; "proved" for
            `PROVED_CONSTANT`, with which (9) holds.

    Raises:
        DriftpeakError: a number out of range, or another word.

    Source: IT25 Theorem 4, (8), Assumption 1.
    """

    value: Scalar

    @checked
    def __init__(
        self,
        points: int,
        *,
        horizon: int,
        period: int,
        noise_variance: float,
        norm_bound: float = 1.0,
        noise_scale: float = 1.0,
        delta: float = 0.1,
        constant: EliminationConstant = 1.0,
    ) -> None:
        factor = _elimination_constant(constant)
        points = at_least_integer("points", points, 2)
        horizon = at_least_integer("horizon", horizon, 2)
        period = at_least_integer("period", period, 2)
        if period > horizon:
            raise DriftpeakError(
                f"period must lie in [2, {horizon}], up to the horizon; got {period}"
            )
        batches = math.ceil(horizon / period) * (1 + math.log2(math.log2(period)))
        logarithm = math.log(4 * points * batches / _failure_probability(delta))
        root = math.sqrt(logarithm / positive("noise_variance", noise_variance))
        bias = at_least("norm_bound", norm_bound, 0) * (factor * root + 1)
        self.value = np.float64(
            bias + at_least("noise_scale", noise_scale, 0) * math.sqrt(2) * root
        )


def _extents(prior: Prior) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not prior.domain.has_coordinates:
        raise DriftpeakError(
            "B16's width requires arms with coordinates. For arms without, use widths.FiniteDomain"
        )
    return np.ptp(prior.domain.points, axis=0)


def _elimination_constant(constant: EliminationConstant) -> float:
    if isinstance(constant, str):
        if constant == "proved":
            return PROVED_CONSTANT
        raise DriftpeakError(
            f'constant must be a number of at least 0 or "proved"; got {shown(constant)}'
        )
    return at_least("constant", constant, 0)


def _failure_probability(delta: float) -> np.float64:
    return np.float64(unit_interval("delta", delta, low_open=True, high_open=True))
