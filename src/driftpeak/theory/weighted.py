r"""D22's theorems on weighted regression: its error, its features, and sums of its deviations.

An observation of age a has weight \(u = w_{t-a}/w_t\), in (0, 1]; under a discount
\(u = \gamma^a\). `driftpeak.theory.budget_bounds.wgp_ucb_regret` combines the parts.

`gain` is always the single-weighted gain, \(\max \frac12 \log\det(I + \lambda^{-1} U^{1/2} K_A
U^{1/2})\), or an upper bound:
`greedy_gain(prior, T, weights=discount ** np.arange(T), upper=True)`.
"""

import bisect
import math
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    at_least,
    at_least_integer,
    finite_array,
    positive,
    shown,
    unit_interval,
)
from driftpeak._core.types import Vector
from driftpeak.gp.features import quadrature_fourier_bound
from driftpeak.gp.priors import Prior
from driftpeak.inference.information import check_arms
from driftpeak.theory.bound import Bound, bounded_kernel, conclude
from driftpeak.theory.gains import total_weight


@checked
def error_deviation(prior: Prior, arms: Any, weights: Any) -> Vector:
    r"""Compute \(\tilde\sigma\) of D22 Theorem 2 at each point, shape `(n,)`.

    \(\tilde\sigma^2 = \lambda \|\varphi(x)\|^2_{V^{-1} \tilde V V^{-1}}\) needs no feature map.
    With the coefficients \(a = (K + \lambda U^{-1})^{-1} k(x)\) of the weighted predictor it is
    \(k(x,x) - 2 a^\top k(x) + a^\top (K + \lambda I) a\), the mean square error of that predictor
    if all observations have equal noise. The posterior deviation \(\hat\sigma\) of (3) is the error
    if the old observations had the inflated noise. It is never smaller if no weight exceeds 1
    (Lemma 13); if weights decrease with time, it may be smaller. Theorem 2 is
    \(|f - \tilde\mu| \le \beta\,\tilde\sigma\) with the width `widths.Confidence`, for any weights.

    Arguments:
        arms: indices of the observed points.
        weights: weight \(u_s\) of each, above 0; above 1 if it counts more than the newest.

    Raises:
        DriftpeakError: not indices of points; weights that are not one positive number for each.

    Source: D22 Theorem 2, Lemma 13.
    """
    chosen = check_arms(prior, arms)
    inflation = _inflation(weights, len(chosen))
    cross, among = prior.gram[chosen], prior.gram[np.ix_(chosen, chosen)]
    noise = prior.noise_variance
    coefficients = np.linalg.solve(among + noise * np.diag(inflation), cross)
    posterior = prior.variance - (coefficients * cross).sum(axis=0)
    inflated = noise * ((inflation - 1)[:, None] * coefficients**2).sum(axis=0)
    # a difference of variances: below rounding it is 0
    return np.sqrt(np.maximum(posterior - inflated, 0.0))


@checked
def surrogate(prior: Prior, arms: Any, weights: Any, *, past: Any, present: Any) -> Vector:
    r"""Compute the surrogate \(m_t(x)\) of D22 section 4 at each point, shape `(n,)`.

    \(m_t(x) = \varphi(x)^\top V_{t-1}^{-1} [\sum_s w_s \varphi(x_s) f_s(x_s) + \lambda w_{t-1}
    \theta_t]\) with \(f_t = \varphi^\top \theta_t\). With the coefficients
    \(a = (K + \lambda U^{-1})^{-1} k(x)\) of the weighted predictor, without a feature map, it is
    \(f_t(x) + \sum_s a_s (f_s(x_s) - f_t(x_s))\), where the sum is the error due to the drift. It
    equals \(f_t\) if the function does not change.

    Theorem 3 bounds the other part: \(|m_t(x) - \tilde\mu_{t-1}(x)| \le
    \beta_{t-1} \hat\sigma_{t-1}(x)\) at all x with probability at least \(1 - \delta\) at each
    step t, with the width `widths.Confidence`.

    Arguments:
        arms: indices of the observed points.
        weights: weight \(u_s\) of each, above 0.
        past: \(f_s(x_s)\), the value without noise at each observation.
        present: \(f_t\) at every point, shape `(n,)`.

    Raises:
        DriftpeakError: as for `error_deviation`; values that are not finite or of another length.

    Source: D22 Theorem 3.
    """
    chosen = check_arms(prior, arms)
    inflation = _inflation(weights, len(chosen))
    values, function = finite_array("past", past, 1), finite_array("present", present, 1)
    for name, array, count in (("past", values, len(chosen)), ("present", function, len(prior))):
        if len(array) != count:
            raise DriftpeakError(f"{name} must be {count} numbers; got {len(array)}")
    noisy = prior.gram[np.ix_(chosen, chosen)] + prior.noise_variance * np.diag(inflation)
    moved = values - function[chosen]
    return np.asarray(function + prior.gram[:, chosen] @ np.linalg.solve(noisy, moved))


@checked
def deviation_error(
    *, feature_error: float, total_weight: float, noise_variance: float, variance: float = 1.0
) -> Bound:
    r"""Bound the effect of features on a weighted deviation.

    For any weights,
    \(\sup_x |\hat\sigma(x) - \check\sigma(x)| \le \sqrt\varepsilon
    (1 + \frac12 \sqrt{W/\lambda})\). A posterior variance is the minimum of a
    quadratic form in the coefficients a. The features change the form by at most
    \(\varepsilon (1 + \|a\|_1)^2\), and \(\|a\|_1 \le \frac12 \sqrt{W/\lambda}\) at either
    minimum. D22 states \(O(\sqrt\varepsilon W)\); the norms of the kernel vector and matrix in its
    proof contain a wrong factor \(\lambda\).

    Arguments:
        feature_error: \(\varepsilon\), the largest error of a covariance; for quadrature features
            `features.quadrature_fourier_bound`. The features' own variances must not exceed 1.
        total_weight: W, the sum of the weights: at most \(1/(1-\gamma)\) under a discount.

    Raises:
        DriftpeakError: a number out of range.

    Source: D22 Lemma 15, corrected.
    """
    feature_error = at_least("feature_error", feature_error, 0)
    ratio = at_least("total_weight", total_weight, 0) / positive("noise_variance", noise_variance)
    return conclude(
        "D22 Lemma 15, corrected",
        [bounded_kernel(positive("variance", variance))],
        lambda: math.sqrt(feature_error) * (1 + math.sqrt(ratio) / 2),
    )


@checked
def sum_of_deviations(
    *,
    gain: float,
    horizon: int,
    discount: float,
    features: int,
    noise_variance: float,
    feature_error: float = 0.0,
    variance: float = 1.0,
) -> Bound:
    r"""Bound \(\sum_{t \le T} \hat\sigma_{t-1}(x_t)\).

    \(\sqrt{C T (2 \check\gamma + p T \log(1/\gamma))} + T e\) with
    \(C = 1/\log(1 + 1/\lambda)\), p features and e of `deviation_error`. D22 has \(2\lambda\) for
    C, which requires \(\lambda \ge 0.4\), and \(m = p/2\) for p: there are as many sines as
    cosines. The gain \(\check\gamma\) of the features' kernel may exceed the kernel's gain, unlike
    in Lemma 25, by at most \(\sqrt T \varepsilon W / (2 \lambda)\), which is added here.

    Arguments:
        features: p, \(2 \bar m^d\) for quadrature features; or the rank of the covariance on a
            finite domain, with feature_error 0.
        feature_error: \(\varepsilon\).

    Raises:
        DriftpeakError: a number out of range.

    Source: D22 Lemmas 16-17, corrected.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    discount = unit_interval("discount", discount, low_open=True, high_open=True)
    features = at_least_integer("features", features, 1)
    gain, noise = at_least("gain", gain, 0), positive("noise_variance", noise_variance)
    error = at_least("feature_error", feature_error, 0)
    weight = total_weight(horizon, discount, "single")
    gain += math.sqrt(horizon) * error * weight / (2 * noise)
    missed = deviation_error(
        feature_error=error, total_weight=weight, noise_variance=noise, variance=variance
    )
    inside = 2 * gain - features * horizon * math.log(discount)
    return conclude(
        "D22 Lemma 17, corrected",
        missed.conditions,
        lambda: math.sqrt(horizon * inside / math.log1p(1 / noise)) + horizon * missed.number,
    )


@checked
def recent_deviations(*, gain: float, memory: int, discount: float, noise_variance: float) -> Bound:
    r"""Bound the deviations at the c newest observations (in place of D22 Lemmas 18 and 19).

    \(\sum_{s=t-c}^{t-1} \gamma^{t-1-s} \hat\sigma_{t-1}(x_s) \le \sqrt{2\lambda W \tilde\gamma}\)
    for any t, with \(W = (1-\gamma^c)/(1-\gamma)\). Lemma 18
    bounds the sum without the weights, but its proof uses \(\sigma_{t-1}(x_s)\) for
    \(\sigma_{s-1}(x_s)\), which may be smaller after forgetting. Lemma 21 has the weights before it
    drops them. With the weights, the sum of the squares is
    \(\lambda \sum_i \frac{\mu_i}{\mu_i+\lambda}\) over the eigenvalues of the weighted Gram matrix,
    at most \(2 \lambda \tilde\gamma\), and no features are needed.

    Arguments:
        memory: c, the number of steps back.

    Raises:
        DriftpeakError: a number out of range.

    Source: D22 Lemmas 18-19, Lemma 21, corrected.
    """
    gain, noise = at_least("gain", gain, 0), positive("noise_variance", noise_variance)
    discount = unit_interval("discount", discount, low_open=True, high_open=True)
    weight = total_weight(at_least_integer("memory", memory, 1), discount, "single")
    return Bound(math.sqrt(2 * noise * weight * gain), "D22 Lemma 19, corrected")


@checked
def weighted_regret(
    *,
    width: float,
    deviations: float,
    recent: float,
    memory: int,
    discount: float,
    variation: float,
    norm_bound: float,
    horizon: int,
    noise_variance: float,
) -> Bound:
    r"""Bound the regret of WGP-UCB by its deviations.

    \(2 \beta_T S + \frac2\lambda c B_T R + \frac{4 B \gamma^c}{\lambda (1-\gamma)} T\). D22 takes
    R at the last step alone; it must hold at every step.

    Arguments:
        width: the largest \(\beta_t\); see `driftpeak.theory.budget_bounds.wgp_ucb_regret`.
        deviations: S, as from `sum_of_deviations`.
        recent: R, as from `recent_deviations`.
        memory: c, any number of steps; D22's choice is `memory_length`.
        variation: \(B_T\), in the RKHS norm.
        norm_bound: B.

    Raises:
        DriftpeakError: a number out of range.

    Source: D22 Lemma 20.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    memory = at_least_integer("memory", memory, 1)
    noise = positive("noise_variance", noise_variance)
    kept = unit_interval("discount", discount, low_open=True, high_open=True)
    learning = 2 * at_least("width", width, 0) * at_least("deviations", deviations, 0)
    drifting = 2 / noise * memory * at_least("variation", variation, 0)
    stale = 4 * at_least("norm_bound", norm_bound, 0) * kept**memory / (noise * (1 - kept))
    total = learning + drifting * at_least("recent", recent, 0) + stale * horizon
    return Bound(total, "D22 Lemma 20")


@checked
def memory_length(*, discount: float, horizon: int) -> int:
    r"""Return \(c = \lceil \log T / (1-\gamma) \rceil\), when \(\gamma^c \le 1/T\).

    Raises:
        DriftpeakError: discount outside (0, 1), horizon below 2.

    Source: D22 Lemma 22.
    """
    kept = unit_interval("discount", discount, low_open=True, high_open=True)
    return math.ceil(math.log(at_least_integer("horizon", horizon, 2)) / (1 - kept))


@checked
def feature_degree(
    *, gain: float, horizon: int, dimension: int, lengthscale: float, extent: float = 1.0
) -> int:
    r"""Return D22's \(\bar m\), the least with \(\varepsilon \le T^{-3} \dot\gamma^{-3/2}\).

    D22 gives \(\log_{4/e}(T^3 \dot\gamma_T^{3/2})\), which requires that \((e/4)^{\bar m}\)
    bounds the error. This holds only for \(\bar m \ge (r/l)^2\), a condition that its O() hides.
    Here \(\varepsilon\) is `features.quadrature_fourier_bound` on \([0, r]^d\). There are
    \(2 \bar m^d\) features.

    Arguments:
        lengthscale: l, of the SE kernel.
        extent: r.

    Raises:
        DriftpeakError: a number out of range.

    Source: D22 Lemma 22.
    """
    dimension = at_least_integer("dimension", dimension, 1)
    target = at_least_integer("horizon", horizon, 1) ** -3.0 * positive("gain", gain) ** -1.5
    sides = [positive("extent", extent)] * dimension

    def enough(degree: int) -> bool:
        return quadrature_fourier_bound(lengthscale, sides, degree=degree) <= target

    most = 1
    while not enough(most):
        most *= 2
    return 1 + bisect.bisect_left(range(1, most), True, key=enough)


def _inflation(weights: Any, count: int) -> Vector:
    """Return the factor 1/u of the noise of each observation."""
    weights = np.ones(count) if weights is None else finite_array("weights", weights, 1)
    if len(weights) != count or not (weights > 0).all():
        raise DriftpeakError(
            f"weights must be {count} positive numbers, one for each observation; got "
            f"{shown(weights)}"
        )
    return 1 / weights
