r"""The error of treating a drifting function as constant (B16 Lemma D.1).

R-GP-UCB computes its posterior inside a block of N steps as if the function did not move. The
functions here bound the errors of its mean and standard deviation, at every point, relative to the
posterior with the drift and equal observations. The regret bound is
`driftpeak.theory.bounds.r_gp_ucb_regret`.
"""

import math

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least, at_least_integer, positive, unit_interval
from driftpeak.theory.bound import Bound, Condition, bounded_kernel, conclude


@checked
def deviation_mismatch(
    *, block: int, drift: float, noise_variance: float, variance: float = 1.0
) -> Bound:
    r"""Bound the error of the standard deviation.

    \(\sup_x |\tilde\sigma(x) - \sigma(x)| \le \sqrt{(3\sigma^{-2} + \sigma^{-4}) N^3 \epsilon}\).
    The proof assumes in (78) that \(\tilde K - K\) is positive definite, which is wrong, but the
    identity \(A^{-1} - B^{-1} = A^{-1} (B - A) B^{-1}\) gives this bound too. Lemma D.1 prints it
    without the root, and times \(\tilde L_t\).

    Arguments:
        block: N; there are at most N observations, of age at most N.
        drift: \(\epsilon\).
        variance: the largest prior variance.

    Raises:
        DriftpeakError: a number out of range.

    Source: B16 Lemma D.1, (67), (82).
    """
    changed, precision = _changed(block, drift), 1 / positive("noise_variance", noise_variance)
    return conclude(
        "B16 (82)",
        [bounded_kernel(positive("variance", variance))],
        lambda: math.sqrt((3 * precision + precision**2) * changed),
    )


@checked
def mean_mismatch(
    *, block: int, drift: float, noise_variance: float, largest: float, variance: float = 1.0
) -> Bound:
    r"""Bound the error of the mean.

    \(\sup_x |\tilde\mu(x) - \mu(x)| \le (\sigma^{-2} + \sigma^{-4}) N^3 \epsilon \tilde L\).
    B16's (83) prints squares of the means, and (85) and (86) are interchanged.

    Arguments:
        block, drift, variance: as for `deviation_mismatch`.
        largest: \(\tilde L\), the largest absolute reward; with high probability `largest_reward`.

    Raises:
        DriftpeakError: a number out of range.

    Source: B16 Lemma D.1, (66), (87).
    """
    changed, precision = _changed(block, drift), 1 / positive("noise_variance", noise_variance)
    largest = at_least("largest", largest, 0)
    return conclude(
        "B16 (87)",
        [bounded_kernel(positive("variance", variance))],
        lambda: (precision + precision**2) * changed * largest,
    )


@checked
def largest_reward(
    *, step: int, delta: float, a0: float, b0: float, noise_variance: float
) -> Bound:
    r"""Bound the rewards up to step t.

    \(\tilde L_t = (2 + b_0) \sqrt{\log \frac{2 (1 + a_0) \pi^2 t^2}{3 \delta}}\). No reward up to
    any step t is larger than \(\tilde L_t\) in absolute value, with probability at least
    \(1 - \delta/4\). B16's proof halves the threshold twice and assumes a noise variance of 1. But
    \(|f| \le b_0 s\) and \(|z| \le \sqrt 2 \sigma s\), s the root, each fail with at most the
    required probability, so (65) holds as printed for \(\sigma^2 \le 2\) and any b0.

    Arguments:
        step: t.
        delta: failure probability of the width, which this bound shares.
        a0, b0: constants of (9), \(\Pr(\sup |f| > L) \le a_0 e^{-(L/b_0)^2}\). On n points of
            variance at most 1: a0 = n, b0 = \(\sqrt 2\).

    Raises:
        DriftpeakError: a number out of range.

    Source: B16 (65).
    """
    step = at_least_integer("step", step, 1)
    delta = unit_interval("delta", delta, low_open=True, high_open=True)
    a0, b0 = at_least("a0", a0, 0), positive("b0", b0)
    noise_variance = positive("noise_variance", noise_variance)
    return conclude(
        "B16 (65)",
        [Condition("sigma^2 <= 2", noise_variance <= 2, f"sigma^2 = {noise_variance:g}")],
        lambda: (2 + b0) * math.sqrt(math.log(2 * (1 + a0) * math.pi**2 * step**2 / (3 * delta))),
    )


def _changed(block: int, drift: float) -> float:
    """Return N^3 epsilon as a float, so a long block does not overflow."""
    return float(at_least_integer("block", block, 1)) ** 3 * unit_interval("drift", drift)
