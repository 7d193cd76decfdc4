r"""Closed-form bounds of the maximum information gain, which `greedy_gain` measures.

`gain_rate` is the growth rate of the gain, without constants; the other functions are bounds with
all constants. Under a discount \(\gamma\) the number of observations is replaced by the sum of
their weights: \(1/(1-\gamma^2)\) for the double-weighted gain of D22 (5), \(1/(1-\gamma)\) for the
single-weighted gain. (D22 states the reverse in the line after Corollary 8; its proofs are right.)
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    at_least,
    at_least_integer,
    finite_array,
    positive,
    unit_interval,
)
from driftpeak._core.types import Vector
from driftpeak.gp.kernels import Kernel
from driftpeak.gp.priors import Prior
from driftpeak.theory.bound import Bound, Condition, bounded_kernel, conclude, power
from driftpeak.theory.smoothness import family, smoothness

Weighting = Literal["single", "double"]


@checked
def gain_rate(
    kernel: Kernel, *, count: int, dimension: int, of: Literal["vakili", "srinivas"] = "vakili"
) -> Bound:
    r"""Return the growth rate of the gain with the number n of observations, all constants 1.

    SE: \(\log^{d+1} n\). Linear: \(d \log n\). Matern: \(n^{d/(2\nu+d)} \log^{2\nu/(2\nu+d)} n\)
    for \(\nu > 1/2\) (Vakili et al. 2021, the rate that IT25 and D22 use); or
    \(n^{c} \log n\), \(c = d(d+1)/(2\nu + d(d+1))\) for \(\nu > 1\) (Srinivas et al. 2010, the
    weaker rate of B16 and ZS21).

    Raises:
        DriftpeakError: count or dimension below 1, another kernel, or an unknown `of`.

    Source: ZS21 section II; IT25 section 2; D22 Remark 5.
    """
    if of not in ("vakili", "srinivas"):
        raise DriftpeakError(f"of must be 'vakili' or 'srinivas'; got {of!r}")
    count = at_least_integer("count", count, 1)
    d = at_least_integer("dimension", dimension, 1)
    log = math.log(count)
    if family(kernel) == "linear":
        return conclude("ZS21 section II", (), lambda: d * log)
    nu = smoothness(kernel)
    if math.isinf(nu):
        return conclude(
            "IT25 section 2; ZS21 section II; D22 Remark 5", (), lambda: power(log, d + 1)
        )
    if of == "srinivas":
        square = d * (d + 1)
        return conclude(
            "Srinivas et al. 2010, Theorem 5; ZS21 section II",
            [Condition("nu > 1", nu > 1, f"nu = {nu:g}")],
            lambda: count ** (square / (2 * nu + square)) * log,
        )
    return conclude(
        "Vakili et al. 2021; IT25 section 2",
        [Condition("nu > 1/2", nu > 1 / 2, f"nu = {nu:g}")],
        lambda: count ** (d / (2 * nu + d)) * log ** (2 * nu / (2 * nu + d)),
    )


@checked
def spectral_tail(prior: Prior) -> Vector:
    r"""Return \(\delta_N\), N = 0, ..., n: the largest variance that the best N features omit.

    The features are the eigenvectors of the Gram matrix, largest eigenvalue first. The result is a
    tail as in D22 section 6, measured on the domain instead of bounded by
    \(\psi^2 \sum_{m > N} c_m\).

    Source: D22 Assumption 1.
    """
    values, vectors = np.linalg.eigh(prior.gram)
    shares = np.maximum(values[::-1], 0.0)[:, None] * vectors.T[::-1] ** 2
    left_out = np.cumsum(shares[::-1], axis=0)[::-1].max(axis=1)
    return np.append(left_out, 0.0)


@dataclass(frozen=True)
class Eigendecay:
    r"""Constants of the decay of the eigenvalues of a prior on its domain.

    Attributes:
        scale: \(C_p\) or \(C_{e,1}\).
        decay: \(\beta_p\) or \(C_{e,2}\).
        bound: \(\psi\), the largest absolute value of an eigenfunction.
    """

    scale: float
    decay: float
    bound: float


@checked
def eigendecay(
    prior: Prior,
    *,
    kind: Literal["polynomial", "exponential"] = "polynomial",
    decay: float | None = None,
) -> Eigendecay:
    r"""Compute constants of D22's eigendecay conditions that hold for a prior on its domain.

    With the uniform distribution on the n points, the eigenvalues \(c_m\) are those of K/n, and the
    eigenfunctions are the eigenvectors times \(\sqrt n\). The scale is the least with
    \(c_m \le C_p m^{-\beta_p}\), or \(c_m \le C_{e,1} e^{-C_{e,2} m}\), for the eigenvalues above
    1e-10 of the largest; smaller ones are mostly rounding. The results are arguments of
    `polynomial_gain` and `exponential_gain`.

    Arguments:
        kind: "polynomial" or "exponential".
        decay: \(\beta_p\) or \(C_{e,2}\); by default the least-squares slope of \(\log c_m\) over
            these eigenvalues.

    Raises:
        DriftpeakError: a decay that is not positive, or too few eigenvalues to estimate one.

    Source: D22 Corollary 8, Assumption 1.
    """
    values, vectors = np.linalg.eigh(prior.gram)
    spectrum = np.maximum(values[::-1], 0.0) / len(prior)
    kept = spectrum > 1e-10 * spectrum[0]
    bound = math.sqrt(len(prior)) * float(np.abs(vectors[:, ::-1][:, kept]).max())
    ranks = np.arange(1.0, len(spectrum) + 1)
    slow = np.log(ranks) if kind == "polynomial" else ranks
    if decay is None:
        if kept.sum() < 3:
            raise DriftpeakError(
                "decay must be given: fewer than 3 eigenvalues are above 1e-10 of the largest"
            )
        decay = -float(np.polyfit(slow[kept], np.log(spectrum[kept]), 1)[0])
    decay = positive("decay", decay)
    scale = float(np.exp(np.log(spectrum[kept]) + decay * slow[kept]).max())
    return Eigendecay(scale, decay, bound)


@checked
def projection_gain(
    tail: Any,
    *,
    noise_variance: float,
    count: int | None = None,
    discount: float | None = None,
    weighting: Weighting = "double",
    variance: float = 1.0,
) -> Bound:
    r"""Bound the gain by D22 Theorem 6, or 7 under a discount: the minimum over N of two terms.

    \(\frac{N}{2}\log(1 + \frac{\bar k W}{\lambda N}) + \frac{W}{2\lambda}\delta_N\), where
    the total weight W is the number T of observations (any weights, Theorem 6), or
    \(\frac{1}{1-\gamma^2}\) (Theorem 7, any T; single-weighted \(\frac{1}{1-\gamma}\)). If both
    count and discount are given, W is \(\frac{1-\gamma^{2T}}{1-\gamma^2}\), as in the proof.

    Arguments:
        tail: \(\delta_0, \delta_1, ...\), as from `spectral_tail`.
        noise_variance: \(\lambda\).
        count: T; optional with a discount.
        discount: \(\gamma\) in (0, 1).
        weighting: "double" for D22 (5), "single" for the information of a posterior under the rule.
        variance: \(\bar k\), the largest prior variance.

    Raises:
        DriftpeakError: a number out of range, neither count nor discount, or a negative tail.

    Source: D22 Theorems 6-7, Lemmas 24-25.
    """
    tail = finite_array("tail", tail, 1)
    if len(tail) == 0 or (tail < 0).any():
        raise DriftpeakError("tail must be one or more numbers of at least 0")
    noise_variance = positive("noise_variance", noise_variance)
    variance = positive("variance", variance)
    weight = total_weight(count, discount, weighting)
    sizes = np.maximum(np.arange(len(tail)), 1)  # N = 0 contributes N log(...) = 0
    head = np.arange(len(tail)) / 2 * np.log1p(variance * weight / (noise_variance * sizes))
    source = "D22 Theorem 6" if discount is None else "D22 Theorem 7"
    return Bound(float((head + weight / (2 * noise_variance) * tail).min()), source)


@checked
def polynomial_gain(
    *,
    scale: float,
    decay: float,
    bound: float = 1.0,
    discount: float,
    noise_variance: float,
    weighting: Weighting = "double",
    variance: float = 1.0,
) -> Bound:
    r"""Bound the weighted gain at any T, eigenvalues \(c_m \le C_p m^{-\beta_p}\).

    \((x + 1) \log(1 + \frac{\bar k W}{\lambda})\) with \(W = 1/(1-\gamma^2)\), or
    \(1/(1-\gamma)\) for the single-weighted gain, and
    \(x = (C_p \psi^2 W / \lambda)^{1/\beta_p} \log^{-1/\beta_p}(1 + \bar k W / \lambda)\).

    The proof bounds the tail by \(C_p N^{1-\beta_p}\psi^2\), which drops a factor
    \(1/(\beta_p - 1)\). This is right only for \(\beta_p \ge 2\), which is the condition. A Matern
    kernel has \(\beta_p = (2\nu + d)/d\).

    Arguments:
        scale: \(C_p\).
        decay: \(\beta_p\).
        bound: \(\psi\), of the eigenfunctions.
        weighting: "double" (5) or "single".

    Raises:
        DriftpeakError: a number that is not positive, discount outside (0, 1), an unknown
            weighting.

    Source: D22 Corollary 8.
    """
    weight = total_weight(None, discount, weighting)
    noise = positive("noise_variance", noise_variance)
    logarithm = math.log1p(positive("variance", variance) * weight / noise)
    decay = positive("decay", decay)
    mass = positive("scale", scale) * positive("bound", bound) ** 2 * weight / noise
    return conclude(
        "D22 Corollary 8.1",
        [Condition("beta_p >= 2", decay >= 2, f"beta_p = {decay:g}")],
        lambda: ((mass / logarithm) ** (1 / decay) + 1) * logarithm,
    )


@checked
def exponential_gain(
    *,
    scale: float,
    decay: float,
    bound: float = 1.0,
    discount: float,
    noise_variance: float,
    weighting: Weighting = "double",
    variance: float = 1.0,
) -> Bound:
    r"""Bound the weighted gain at any T, eigenvalues \(c_m \le C_1 e^{-C_2 m}\).

    \((x + 1) \log(1 + \frac{\bar k W}{\lambda})\) with \(W = 1/(1-\gamma^2)\), or
    \(1/(1-\gamma)\) for the single-weighted gain, and
    \(x = \frac{1}{C_2} (\log W + \log\frac{C_1\psi^2}{\lambda C_2})\). The proof keeps
    \(N = \lceil x \rceil\) features and bounds the omitted part by 1/2. Therefore x must not be
    negative, and the bound is at least 1.

    Arguments:
        scale: \(C_{e,1}\).
        decay: \(C_{e,2}\).
        bound: \(\psi\), of the eigenfunctions.
        weighting: "double" (5) or "single".

    Raises:
        DriftpeakError: a number that is not positive, discount outside (0, 1), an unknown
            weighting.

    Source: D22 Corollary 8.
    """
    weight = total_weight(None, discount, weighting)
    noise, decay = positive("noise_variance", noise_variance), positive("decay", decay)
    logarithm = math.log1p(positive("variance", variance) * weight / noise)
    mass = positive("scale", scale) * positive("bound", bound) ** 2 * weight / (noise * decay)
    kept = math.log(mass) / decay
    value = (kept + 1) * logarithm
    return conclude(
        "D22 Corollary 8.2",
        [
            Condition("log W + C_beta >= 0", kept >= 0, f"{kept * decay:.4g}"),
            Condition("a bound of at least 1", value >= 1, f"{value:.4g}"),
        ],
        lambda: value,
    )


@checked
def linear_gain(
    *, count: int, dimension: int, noise_variance: float, variance: float = 1.0
) -> Bound:
    r"""Bound the gain of a linear kernel by D22 Theorem 6 at N = d.

    \(\frac d2 \log(1 + \frac{\bar k T}{\lambda d})\)

    Raises:
        DriftpeakError: count or dimension below 1, a variance that is not positive.

    Source: D22 Theorem 6.
    """
    d = at_least_integer("dimension", dimension, 1)
    spread = positive("variance", variance) * at_least_integer("count", count, 1)
    noise_variance = positive("noise_variance", noise_variance)
    return Bound(d / 2 * math.log1p(spread / (noise_variance * d)), "D22 Theorem 6 with N = d")


@checked
def drifting_gain(
    gain: float,
    *,
    block: int,
    drift: float,
    horizon: int,
    noise_variance: float,
    variance: float = 1.0,
) -> Bound:
    r"""Bound the gain under Markov drift by that of N steps without drift.

    \((\frac TN + 1)(\gamma_N + \frac N2 \log(1 + \sigma^{-2} N^{3/2} \epsilon))\) for any block
    length N in 1..T.

    B16 prints \((\frac TN + 1)(\gamma_N + N^3\epsilon)\). Its (56)-(60) drop the 1/2 and the
    \(\sigma^{-2}\) of (12), so the printed form fails at small noise: at
    \(\sigma^2 = 10^{-6}\), \(\epsilon = 0.01\), N = 2, T = 200 it is below the true gain. The
    constraint \(\sum \Delta_i^2 \le N^4 \epsilon^2\) of (61) gives \(\Delta_i = N^{3/2} \epsilon\),
    not \(N^2\epsilon\), for equal \(\Delta_i\).

    Arguments:
        gain: \(\gamma_N\), or an upper bound, as from `greedy_gain(prior, block, upper=True)`.
        block: N.

    Raises:
        DriftpeakError: a number out of range.

    Source: B16 (46), corrected.
    """
    horizon, block = at_least_integer("horizon", horizon, 1), at_least_integer("block", block, 1)
    gain, drift = at_least("gain", gain, 0), unit_interval("drift", drift)
    noise_variance = positive("noise_variance", noise_variance)
    return conclude(
        "B16 (46), corrected",
        [
            bounded_kernel(positive("variance", variance)),
            Condition("N in 1..T", block <= horizon, f"N = {block}, T = {horizon}"),
        ],
        lambda: (
            (horizon / block + 1)
            * (gain + block / 2 * math.log1p(block**1.5 * drift / noise_variance))
        ),
    )


@checked
def best_block(
    gains: Any, *, drift: float, horizon: int, noise_variance: float, variance: float = 1.0
) -> tuple[int, Bound]:
    r"""Return the block length \(\tilde N\) that minimises B16 (21), and the bound with it.

    The minimum of `drifting_gain` over the block lengths for which a gain is given. Without
    constants, B16 Appendix E takes \(\tilde N = \epsilon^{-1/3}\) for SE and
    \(\epsilon^{-1/(3-c)}\) for Matern, \(c = d(d+1)/(2\nu+d(d+1))\). It writes the gain of the SE
    kernel as \(O(d \log N)\), which is that of a linear kernel; for SE it is
    \(O(\log^{d+1} N)\) (`gain_rate`). Both are hidden in its \(\tilde O\).

    Arguments:
        gains: \(\gamma_0 = 0, \gamma_1, ...\), or upper bounds, as from
            `greedy_gain(prior, count, upper=True)`; those beyond T are not used.
        drift, horizon, noise_variance, variance: as for `drifting_gain`.

    Raises:
        DriftpeakError: a number out of range, or gains that are negative or fewer than 2.

    Source: B16 (21), (88)-(89), corrected.
    """
    table = finite_array("gains", gains, 1)
    if len(table) < 2 or (table < 0).any():
        raise DriftpeakError(
            "gains must be at least 2 numbers of at least 0: gamma_0, gamma_1, ..."
        )
    horizon = at_least_integer("horizon", horizon, 1)
    bounds = [
        drifting_gain(
            gain,
            block=block,
            drift=drift,
            horizon=horizon,
            noise_variance=noise_variance,
            variance=variance,
        )
        for block, gain in enumerate(table[1 : horizon + 1].tolist(), start=1)
    ]
    values = [math.inf if bound.value is None else bound.value for bound in bounds]
    best = int(np.argmin(values))
    return best + 1, bounds[best]


def total_weight(count: int | None, discount: float | None, weighting: str) -> float:
    """Return the sum of the weights of `count` observations, or of any number if None."""
    if weighting not in ("single", "double"):
        raise DriftpeakError(f"weighting must be 'single' or 'double'; got {weighting!r}")
    if discount is None:
        if count is None:
            raise DriftpeakError("at least one of count and discount must be given; got neither")
        return float(at_least_integer("count", count, 1))
    gamma = unit_interval("discount", discount, low_open=True, high_open=True)
    ratio = gamma**2 if weighting == "double" else gamma
    if count is None:
        return 1 / (1 - ratio)
    return (1 - ratio ** at_least_integer("count", count, 1)) / (1 - ratio)
