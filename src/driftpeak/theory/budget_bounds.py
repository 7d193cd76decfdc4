r"""Regret bounds for functions of bounded RKHS norm and variation, with all their constants.

ZS21 and D22 state the bounds up to constants. The constants here are those of the proofs, corrected
where necessary (see the page on theory). `width` is the largest exploration width of the run,
`variation` the budget \(P_T \ge \sum_t \|f_{t+1} - f_t\|_{\mathcal H}\) in the RKHS norm.
"""

import math

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least, at_least_integer, positive
from driftpeak.theory.bound import Bound, Condition, bounded_kernel, conclude
from driftpeak.theory.weighted import recent_deviations, sum_of_deviations, weighted_regret


@checked
def r_gp_ucb_budget_regret(
    *,
    width: float,
    gain: float,
    period: int,
    variation: float,
    horizon: int,
    noise_variance: float,
    variance: float = 1.0,
) -> Bound:
    r"""Bound the regret of R-GP-UCB under a budget of variation.

    \(2 \xi_H H P_T + 2 \beta \lceil T/H \rceil \sqrt{2(1+\lambda) H \gamma_H}\) with
    \(\xi_H = \frac1\lambda \sqrt{2 H (1+\lambda) \gamma_H}\). ZS21 prints the first term without
    \(\frac1\lambda \sqrt{2(1+\lambda)}\) and the second without the factor 2, and bounds the sum of
    deviations by \(\sqrt{4(H+2)\gamma_H}\), which belongs to \(\lambda = 1 + 2/H\).

    Arguments:
        width: \(\beta\), `widths.Confidence`. Its \(\delta\) is that of one block (Lemma 1). For
            all blocks together use \(\delta / \lceil T/H \rceil\), which ZS21 does not.
        gain: \(\gamma_H\), or an upper bound.
        period: H.
        noise_variance: \(\lambda\).
        variance: the largest prior variance.

    Raises:
        DriftpeakError: a number out of range.

    Source: ZS21 Theorem 1, Claim 2, corrected.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    conditions = [_within("H", at_least_integer("period", period, 1), horizon)]
    return _forgetful("ZS21 Theorem 1, with constants", conditions, width, gain, period, variation,
                      horizon, noise_variance, variance)  # fmt: skip


@checked
def sw_gp_ucb_regret(
    *,
    width: float,
    gain: float,
    window: int,
    variation: float,
    horizon: int,
    noise_variance: float,
    variance: float = 1.0,
) -> Bound:
    r"""Bound the regret of SW-GP-UCB under a budget of variation.

    \(2 \xi_w w P_T + 2 \beta \lceil T/w \rceil \sqrt{2(1+\lambda) w \gamma_w}\) with
    \(\xi_w = \frac1\lambda \sqrt{2 w (1+\lambda) \gamma_w}\). Theorem 2 has the factor
    \(\sqrt{\gamma_w} w^{1/2}\) of \(\xi_w\). ZS21's Lemma 2 and the last lines of its proof lack
    it: there the drift term is \(w P_T\) alone, as if the operator norm of Claim 2 were at most 1.

    Arguments:
        width: \(\beta_T\), `widths.SlidingConfidence`, whose \(\log(T/\delta)\) covers all steps.
        gain: \(\gamma_w\), or an upper bound.
        window: w.
        noise_variance: \(\lambda\).
        variance: the largest prior variance.

    Raises:
        DriftpeakError: a number out of range.

    Source: ZS21 Theorem 2, corrected.
    """
    horizon = at_least_integer("horizon", horizon, 1)
    conditions = [_within("w", at_least_integer("window", window, 1), horizon)]
    return _forgetful("ZS21 Theorem 2, with constants", conditions, width, gain, window, variation,
                      horizon, noise_variance, variance)  # fmt: skip


@checked
def wgp_ucb_regret(
    *,
    width: float,
    gain: float,
    discount: float,
    memory: int,
    features: int,
    variation: float,
    norm_bound: float,
    horizon: int,
    noise_variance: float,
    feature_error: float = 0.0,
    variance: float = 1.0,
) -> Bound:
    r"""Bound the regret of WGP-UCB, with the constants of D22 C.5.

    \(2\beta_T (\sqrt{C T (2\check\gamma + p T \log(1/\gamma))} + T e) +
    2 c B_T \sqrt{2 W \tilde\gamma / \lambda} + \frac{4 B \gamma^c}{\lambda(1-\gamma)} T\): Lemma 20
    with `sum_of_deviations` and `recent_deviations` of `driftpeak.theory.weighted`, which define p,
    e, C and W and describe the corrections.

    Arguments:
        width: \(\beta_T\), `widths.Confidence` with D22's double-weighted gain, at
            \(\delta / T\). D22's Lemma 10 holds at each step with probability \(1 - \delta\), not
            at all steps together, since under a discount the noise is forgotten and renewed.
        gain: single-weighted gain, or an upper bound.
        memory: c, any number; `memory_length` is D22's choice.
        features: p.
        feature_error: \(\varepsilon\).
        variation: \(B_T\).
        norm_bound: B.

    Raises:
        DriftpeakError: a number out of range.

    Source: D22 Theorem 4, corrected.
    """
    deviations = sum_of_deviations(
        gain=gain,
        horizon=horizon,
        discount=discount,
        features=features,
        noise_variance=noise_variance,
        feature_error=feature_error,
        variance=variance,
    )
    recent = recent_deviations(
        gain=gain, memory=memory, discount=discount, noise_variance=noise_variance
    )
    return conclude(
        "D22 Theorem 4, corrected",
        deviations.conditions,
        lambda: (
            weighted_regret(
                width=width,
                deviations=deviations.number,
                recent=recent.number,
                memory=memory,
                discount=discount,
                variation=variation,
                norm_bound=norm_bound,
                horizon=horizon,
                noise_variance=noise_variance,
            ).number
        ),
    )


@checked
def drift_bias(
    *, gain: float, memory: int, variation: float, noise_variance: float, variance: float = 1.0
) -> Bound:
    r"""Bound the error of the posterior mean due to the drift (ZS21 Lemma 1, its Claim 2).

    With this bias b and the width \(\beta\) of a constant function,
    \(|\mu_{t-1}(x) - f_t(x)| \le b + \beta \sigma_{t-1}(x)\) at every x, where
    \(b = \xi_H \sum_s \|f_s - f_{s+1}\|_{\mathcal H}\) and
    \(\xi_H = \frac1\lambda \sqrt{2 H (1+\lambda) \gamma_H}\). The sum is over the steps from the
    oldest observation in memory to t. Lemma 2, for a sliding window, prints the sum without
    \(\xi_w\), which requires an operator norm of at most 1 that may be exceeded; Claim 2 gives
    \(\xi_w\) for a window too.

    Arguments:
        gain: \(\gamma_H\), or an upper bound.
        memory: H or w, the largest number of observations in memory.
        variation: \(\sum_s \|f_s - f_{s+1}\|\) in the RKHS norm, within the memory.
        noise_variance: \(\lambda\).
        variance: the largest prior variance.

    Raises:
        DriftpeakError: a number out of range.

    Source: ZS21 Lemmas 1-2, Claim 2, corrected.
    """
    noise, gain = positive("noise_variance", noise_variance), at_least("gain", gain, 0)
    memory = at_least_integer("memory", memory, 1)
    moved = at_least("variation", variation, 0)
    conditions = [bounded_kernel(positive("variance", variance))]
    return conclude(
        "ZS21 Lemma 1, Claim 2",
        conditions,
        lambda: moved * math.sqrt(2 * memory * (1 + noise) * gain) / noise,
    )


def _within(name: str, memory: int, horizon: int) -> Condition:
    return Condition(f"{name} in 1..T", memory <= horizon, f"{name} = {memory}, T = {horizon}")


def _forgetful(
    source: str,
    conditions: list[Condition],
    width: float,
    gain: float,
    memory: int,
    variation: float,
    horizon: int,
    noise_variance: float,
    variance: float,
) -> Bound:
    """Return ZS21's bound for a policy whose observations are at most `memory` steps old."""
    bias = drift_bias(
        gain=gain,
        memory=memory,
        variation=variation,
        noise_variance=noise_variance,
        variance=variance,
    )
    # the sum of the deviations of one block: sum of sigma^2 <= 2 (1 + lambda) gamma
    block = math.sqrt(2 * memory * (1 + noise_variance) * gain)
    learning = 2 * at_least("width", width, 0) * math.ceil(horizon / memory) * block
    return conclude(
        source,
        [*bias.conditions, *conditions],
        lambda: 2 * memory * bias.number + learning,
    )
