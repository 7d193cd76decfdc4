r"""Regret bounds with all their constants.

Each function takes the quantities of its theorem: the exploration width
(`driftpeak.policies.widths`, the multiplier of the posterior standard deviation, at step T) and an
upper bound of the information gain (`greedy_gain(..., upper=True)` or `driftpeak.theory.gains`).
The bounds hold with probability at least \(1 - \delta\) for the width's \(\delta\). Bounds for a
budget of variation in the RKHS norm (ZS21, D22) are in `driftpeak.theory.budget_bounds`; growth
rates of the regret are in `driftpeak.theory.rates`.
"""

import math

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least, at_least_integer, positive, unit_interval
from driftpeak.theory.bound import Bound, Condition, bounded_kernel, conclude, power
from driftpeak.theory.mismatch import deviation_mismatch, largest_reward, mean_mismatch


@checked
def tv_gp_ucb_regret(
    *,
    width: float,
    gain: float,
    horizon: int,
    noise_variance: float,
    variance: float = 1.0,
) -> Bound:
    r"""Bound the regret of TV-GP-UCB under Markov drift.

    The bound is \(\sqrt{C_1 T \beta_T \tilde\gamma_T} + 2\) with
    \(C_1 = 8/\log(1 + \sigma^{-2})\). For (21) take `gain` from
    `driftpeak.theory.gains.drifting_gain`, which corrects B16 (46); otherwise
    `greedy_gain(prior, T, drift=..., upper=True)`.

    Arguments:
        width: \(\sqrt{\beta_T}\), from (19), `widths.Bayesian(..., resetting=False)`; on n points
            the width of `widths.FiniteDomain(n)` at T, for which the term 2 (the error of a
            lattice) is not needed.
        gain: \(\tilde\gamma_T\) of (15), or an upper bound.
        variance: the largest prior variance.

    Raises:
        DriftpeakError: a number out of range.

    Source: B16 Theorem 4.3, (20)-(21).
    """
    horizon = at_least_integer("horizon", horizon, 1)
    width, gain = at_least("width", width, 0), at_least("gain", gain, 0)
    learning = _c1(noise_variance) * horizon * width**2 * gain
    conditions = [bounded_kernel(positive("variance", variance))]
    return conclude("B16 (20)", conditions, lambda: math.sqrt(learning) + 2)


@checked
def r_gp_ucb_regret(
    *,
    width: float,
    gain: float,
    period: int,
    drift: float,
    horizon: int,
    noise_variance: float,
    delta: float,
    a0: float,
    b0: float,
    variance: float = 1.0,
) -> Bound:
    r"""Bound the regret of R-GP-UCB under Markov drift.

    \(\sqrt{C_1 T \beta_T (T/N + 1) \gamma_N} + 2 + 2 T \psi\) with
    \(\psi = \sqrt{\beta_T (3\sigma^{-2} + \sigma^{-4}) N^3 \epsilon} + (\sigma^{-2} + \sigma^{-4})
    N^3 \epsilon (2 + b_0) \sqrt{\log \frac{2 (1 + a_0) \pi^2 T^2}{3 \delta}}\). B16 prints
    \(T\psi\); its proof, (72), has \(2 T\psi\). The parts of \(\psi\) are Lemma D.1, in
    `driftpeak.theory.mismatch`.

    Arguments:
        width: \(\sqrt{\beta_T}\), from (16), `widths.Bayesian(..., resetting=True)`.
        gain: \(\gamma_N\) of one block, or an upper bound.
        period: N.
        delta: the failure probability of the width.
        a0, b0: constants of (9), \(\Pr(\sup |f| > L) \le a_0 e^{-(L/b_0)^2}\). On n points of
            variance at most 1: a0 = n, b0 = \(\sqrt 2\).
        variance: the largest prior variance.

    Raises:
        DriftpeakError: a number out of range.

    Source: B16 Theorem 4.2, (17)-(18), corrected.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    period = at_least_integer("period", period, 1)
    width, gain = at_least("width", width, 0), at_least("gain", gain, 0)
    largest = largest_reward(step=horizon, delta=delta, a0=a0, b0=b0, noise_variance=noise_variance)
    deviation = deviation_mismatch(
        block=period, drift=drift, noise_variance=noise_variance, variance=variance
    )

    def compute() -> float:
        mean = mean_mismatch(
            block=period,
            drift=drift,
            noise_variance=noise_variance,
            largest=largest.number,
            variance=variance,
        )
        learning = _c1(noise_variance) * horizon * width**2 * (horizon / period + 1) * gain
        mismatch = width * deviation.number + mean.number
        return math.sqrt(learning) + 2 + 2 * horizon * mismatch

    return conclude(
        "B16 (17)-(18), corrected",
        [
            *deviation.conditions,
            *largest.conditions,
            Condition("N in 1..T", period <= horizon, f"N = {period}, T = {horizon}"),
        ],
        compute,
    )


@checked
def r_perp_regret(
    *,
    width: float,
    gain: float,
    period: int,
    variation: float,
    horizon: int,
    norm_bound: float,
    noise_variance: float,
    variance: float = 1.0,
) -> Bound:
    r"""Bound the regret of R-PERP for any restart interval H.

    \((7 + \ell) V_T H + \lceil T/H \rceil (2B(\sqrt H + 1) + 4(\ell + 1)(\sqrt H + 1)
    \sqrt{C_1 \gamma_H \beta_T})\) with \(\ell = \log_2\log_2 H\), \(C_1 = 8/\log(1 + 1/\lambda)\).

    The bound holds only if the constant C of the width, which the paper does not give, is large
    enough: C = sqrt(8) is (`widths.PROVED_CONSTANT`).

    Arguments:
        width: \(\sqrt{\beta_T}\) of IT25 (8), `widths.Elimination(...).value`.
        gain: \(\gamma_H\), or an upper bound.
        period: H.
        variation: V_T in the supremum norm, at least 0.
        norm_bound: B.
        noise_variance: \(\lambda\).
        variance: the largest prior variance.

    Raises:
        DriftpeakError: a number out of range.

    Source: IT25 (100)-(101).
    """
    horizon = at_least_integer("horizon", horizon, 2)
    period = at_least_integer("period", period, 1)
    width, gain = at_least("width", width, 0), at_least("gain", gain, 0)
    variation, norm_bound = (
        at_least("variation", variation, 0),
        at_least("norm_bound", norm_bound, 0),
    )
    c1 = _c1(noise_variance)

    def compute() -> float:
        batches = math.log2(math.log2(period))
        root = math.sqrt(period) + 1
        learning = 4 * (batches + 1) * root * math.sqrt(c1 * gain) * width
        drifting = (7 + batches) * variation * period
        return drifting + math.ceil(horizon / period) * (2 * norm_bound * root + learning)

    return conclude(
        "IT25 (101)",
        [
            bounded_kernel(positive("variance", variance)),
            Condition("H in 2..T", 2 <= period <= horizon, f"H = {period}, T = {horizon}"),
        ],
        compute,
    )


@checked
def ui_gp_ucb_regret(
    *,
    width: float,
    gain: float,
    exponent: float,
    horizon: int,
    noise_variance: float,
    variance: float = 1.0,
) -> Bound:
    r"""Bound the regret of UI-GP-UCB under uncertainty injection.

    \(2 \beta_T \sqrt{2 T (1 + \sigma^2 (1 + (T-1)^\alpha)) \gamma_T}\). As everywhere in this
    package, the gain is 1/2 log det. M25 prints
    \(\beta_T \sqrt{2 T (1 + \sigma^2 T^\alpha) \gamma_T}\) with a gain without the 1/2. A factor
    \(\sqrt 2\) is lost between \(R_T \le 2\beta_T \sum_t \sigma_{t-1}(x_t)\) and (15), and
    \(1 + (T-1)^\alpha \le T^\alpha\) holds for \(\alpha \ge 1\) only.

    Arguments:
        width: the largest \(\beta_t\) of the run, M25 (12), `widths.Heteroscedastic`.
        gain: gain of T observations whose noise grows with age,
            `greedy_gain(prior, T, weights=1 / (1 + np.arange(T) ** exponent), upper=True)`.
        exponent: \(\alpha\).
        variance: the largest prior variance.

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 (15), corrected.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    width, gain = at_least("width", width, 0), at_least("gain", gain, 0)
    exponent = at_least("exponent", exponent, 0)
    oldest = positive("noise_variance", noise_variance) * (1 + power(horizon - 1, exponent))
    return noisy_regret(
        width=width, gain=gain, horizon=horizon, largest_noise=oldest, variance=variance
    )


@checked
def noisy_regret(
    *, width: float, gain: float, horizon: int, largest_noise: float, variance: float = 1.0
) -> Bound:
    r"""Bound the regret of an upper confidence bound policy under unequal noise.

    \(2 \beta_T \sqrt{2 T (1 + v) \gamma_T}\) if the noise variance of no observation exceeds v, at
    the time when it is used. M25 Remark 2.5 states that (15) needs only such a bound.

    Arguments:
        width: the largest \(\beta_t\) of the run, `widths.Heteroscedastic`.
        gain: gain of T observations with their noise variances, or an upper bound.
        largest_noise: v, above 0.
        variance: the largest prior variance.

    Raises:
        DriftpeakError: a number out of range.

    Source: M25 Remark 2.5.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    width, gain = at_least("width", width, 0), at_least("gain", gain, 0)
    # the noise of the injection may overflow
    infinite = isinstance(largest_noise, float) and largest_noise == math.inf
    noise = math.inf if infinite else positive("largest_noise", largest_noise)
    return conclude(
        "M25 (15), corrected",
        [bounded_kernel(positive("variance", variance))],
        lambda: 2 * width * math.sqrt(2 * horizon * (1 + noise) * gain),
    )


@checked
def expected_regret(regret: float, *, delta: float, horizon: int, norm_bound: float) -> Bound:
    r"""Bound the expected regret by a bound that holds with probability \(1 - \delta\).

    \(R + 2 B T \delta\), since \(k(x, x) \le 1\) and a norm of at most B give a regret of at most
    2B in a step. At \(\delta = 1/T\) the second term is 2B.

    Arguments:
        regret: R, the bound at \(\delta\).
        delta: failure probability, in (0, 1).
        horizon: T.
        norm_bound: B.

    Raises:
        DriftpeakError: a number out of range.

    Source: IT25 Remark 1.
    """
    delta = unit_interval("delta", delta, low_open=True, high_open=True)
    rest = 2 * at_least("norm_bound", norm_bound, 0) * at_least_integer("horizon", horizon, 1)
    return Bound(at_least("regret", regret, 0) + rest * delta, "IT25 Remark 1")


def _c1(noise_variance: float) -> float:
    return 8 / math.log1p(1 / positive("noise_variance", noise_variance))
