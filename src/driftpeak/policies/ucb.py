r"""The GP-UCB family: each policy is a forgetting rule and a width.

All accept these options:

- `width`: the exploration width, `widths.ScaledLog(0.8, 4)` by default (B16 section 5);
- `acquisition`: "ucb", "influence", or "thompson" for a draw from the posterior;
- `form`: "auto", "feature-space" or "function-space" (see `driftpeak.inference.beliefs.choice`);
- `features`: a factor of the covariance to use instead of pivoted Cholesky.

All raise DriftpeakError for a parameter outside its range.
"""

import math
from typing import Any, Literal, TypedDict, Unpack

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, one_of
from driftpeak.gp.features import Features
from driftpeak.gp.forgetting import (
    Discount,
    Drift,
    Injection,
    Keep,
    Restart,
    SpaceTime,
    Weights,
    Window,
)
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs import Form
from driftpeak.inference.information import RealisedGain
from driftpeak.policies.belief_policy import AcquisitionName, BeliefPolicy
from driftpeak.policies.catalogue import DISCOUNTS, MEMORIES, WIDE, Family, policy, tuned
from driftpeak.policies.weighted_error import WeightedErrorPolicy
from driftpeak.policies.widths import IGP, FiniteDomain, ScaledLog, Width

Deviation = Literal["posterior", "error"]
DEVIATIONS: tuple[Deviation, ...] = ("posterior", "error")


class Options(TypedDict, total=False):
    """Options of every policy of the family."""

    width: Width | None
    acquisition: AcquisitionName
    form: Form
    features: Features | None


@policy(
    "gp-ucb",
    memory="``Keep``",
    width="``ScaledLog``, ``FiniteDomain``",
    family=lambda make: Family(
        "GP-UCB",
        lambda known: make(known.prior, width=FiniteDomain(len(known.prior))),
        "c1",
        (0.05, 0.2, 0.8),
        lambda known, c1, width: make(known.prior, width=ScaledLog(c1, 4.0)),
        wide_only=True,
    ),
)
@checked
def GPUCB(prior: Prior, **options: Unpack[Options]) -> BeliefPolicy:
    """GP-UCB: forget nothing (Srinivas et al. 2010; B16 section 2). The static baseline.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        options: `width`, `acquisition`, `form` and `features`, as for `BeliefPolicy`.

    Raises:
        DriftpeakError: an option that is unknown or does not match the prior.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> dp.GPUCB(prior).points
        20

    Source: B16 section 2, (5)-(6); D22 (1); IT25 (4)-(5).
    """
    return BeliefPolicy(prior, Keep(), **options)


@policy(
    "igp-ucb",
    memory="``Keep``",
    width="``IGP`` (its default)",
    schedule=r":math:`\lambda = 1 + 2/T`, with ``horizon=``",
    own_width=True,
    family=lambda make: Family(
        "IGP-UCB",
        lambda known: make(known.prior, norm_bound=known.norm_bound, horizon=known.horizon),
        "B",
        (0.3, 1.0, 3.0),
        lambda known, bound, width: make(known.prior, norm_bound=bound),
        wide_only=True,
    ),
)
@checked
def IGPUCB(
    prior: Prior,
    *,
    norm_bound: float = 1.0,
    noise_scale: float | None = None,
    delta: float = 0.1,
    horizon: int | None = None,
    **options: Unpack[Options],
) -> BeliefPolicy:
    r"""IGP-UCB: forget nothing, with the width of Chowdhury and Gopalan 2017.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        norm_bound: B, a bound of the RKHS norm.
        noise_scale: R, sub-Gaussian constant of the noise; by default the prior's noise standard
            deviation.
        delta: failure probability.
        horizon: T. If given, the regulariser is \(\lambda = 1 + 2/T\), as the analysis requires;
            otherwise it is the prior's noise variance.
        options: `width`, `acquisition`, `form` and `features`, as for `BeliefPolicy`.

    Raises:
        DriftpeakError: a bound, scale or horizon that is not positive, or delta outside (0, 1).
    """
    scale = math.sqrt(prior.noise_variance) if noise_scale is None else noise_scale
    options.setdefault("width", IGP(norm_bound, scale, delta, RealisedGain()))
    if horizon is not None:
        prior = prior.with_noise_variance(1 + 2 / at_least_integer("horizon", horizon, 1))
    return BeliefPolicy(prior, Keep(), **options)


@policy(
    "r-gp-ucb",
    memory="``Restart``",
    width="``ScaledLog``, ``Bayesian(resetting=True)``; frequentist: ``Confidence``",
    schedule=":func:`~driftpeak.theory.schedules.markov_restart_period`, "
    ":func:`~driftpeak.theory.schedules.restart_period`",
    defaults={"period": 15.0},  # B16's for its sensors
    family=tuned("R-GP-UCB", "period", MEMORIES, lambda known: known.markov_memory),
)
@checked
def RGPUCB(prior: Prior, *, period: float, **options: Unpack[Options]) -> BeliefPolicy:
    """R-GP-UCB: restart every `period` steps.

    The Bayesian version (B16 Alg. 1) uses the default width; the frequentist version (ZS21 Alg. 1)
    uses `widths.Confidence(...)`. Both restart before steps 1, 1 + period, ...

    Arguments:
        prior: domain, kernel, mean and noise variance.
        period: H, the time between two restarts, at least 1, in units of time. Values from theory
            are `theory.schedules.markov_restart_period` and `restart_period`.
        options: `width`, `acquisition`, `form` and `features`, as for `BeliefPolicy`.

    Raises:
        DriftpeakError: period below 1.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.RGPUCB(prior, period=38)

    Source: B16 Algorithm 1; ZS21 Algorithm 1, (1)-(2).
    """
    return BeliefPolicy(prior, Restart(period), **options)


@policy(
    "sw-gp-ucb",
    memory="``Window``",
    width="``SlidingConfidence``",
    schedule=":func:`~driftpeak.theory.schedules.window_length`",
    defaults={"window": 50},
    family=tuned("SW-GP-UCB", "window", MEMORIES, lambda known: known.memory),
)
@checked
def SWGPUCB(prior: Prior, *, window: int, **options: Unpack[Options]) -> BeliefPolicy:
    """SW-GP-UCB: keep the `window` newest observations (ZS21 Alg. 2).

    ZS21's width is `widths.SlidingConfidence(...)`.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        window: W, the number of observations that count, at least 1. The value from theory is
            `theory.schedules.window_length`.
        options: `width`, `acquisition`, `form` and `features`, as for `BeliefPolicy`.

    Raises:
        DriftpeakError: a window that is not an integer or below 1.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.SWGPUCB(prior, window=40)

    Source: ZS21 Algorithm 2, (1)-(2).
    """
    return BeliefPolicy(prior, Window(window), **options)


@policy(
    "tv-gp-ucb",
    memory="``Drift``",
    width="``ScaledLog``, ``Bayesian(resetting=False)``",
    defaults={"drift": 0.03},  # B16's for its sensors
    family=tuned(
        "TV-GP-UCB", "drift", (0.001, 0.003, 0.01, 0.03, 0.1, 0.3), lambda known: known.drift
    ),
)
@checked
def TVGPUCB(prior: Prior, *, drift: float, **options: Unpack[Options]) -> BeliefPolicy:
    """TV-GP-UCB: the prior drifts, by `drift` in [0, 1] per unit of time (B16 Alg. 2).

    Arguments:
        prior: domain, kernel, mean and noise variance.
        drift: epsilon, the share of the function that is new after one unit of time.
        options: `width`, `acquisition`, `form` and `features`, as for `BeliefPolicy`.

    Raises:
        DriftpeakError: drift outside [0, 1].

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.TVGPUCB(prior, drift=0.01)

    Source: B16 Algorithm 2, (7)-(8).
    """
    return BeliefPolicy(prior, Drift(drift), **options)


@policy(
    "abo",
    memory="``SpaceTime``: smooth in time as in space (Nyikosa et al. 2018)",
    defaults={"lengthscale": 30.0},
    family=lambda make: Family(
        "ABO",
        lambda known: _longest_abo(known, known.smooth_memory, WIDE),
        "lengthscale",
        (10, 30, 100, 250, 500),
        lambda known, lengthscale, width: _longest_abo(known, lengthscale, width),
    ),
)
@checked
def ABO(
    prior: Prior, *, lengthscale: float, memory: int | None = None, **options: Unpack[Options]
) -> BeliefPolicy:
    """ABO: the function is smooth in time as it is in space (Nyikosa et al. 2018, section 3).

    The published policy also chooses when to sample; here the times are given. It runs in function
    space only.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        lengthscale: lengthscale of the squared exponential in time, in units of time.
        memory: number of newest observations that are kept; by default
            `forgetting.SpaceTime.MOST`, 500.
        options: `width`, `acquisition`, `form` and `features`, as for `BeliefPolicy`.

    Raises:
        DriftpeakError: a lengthscale that is not positive, or memory below 1.
    """
    return BeliefPolicy(prior, SpaceTime(lengthscale, memory), **options)


@policy(
    "w-gp-ucb",
    memory="``Discount``, ``Weights``",
    width="``Confidence``",
    schedule=":func:`~driftpeak.theory.schedules.discount_factor`",
    defaults={"discount": 0.9},
    family=tuned("WGP-UCB", "discount", DISCOUNTS, lambda known: known.discount),
)
@checked
def WGPUCB(
    prior: Prior,
    *,
    discount: float | None = None,
    weights: Any = None,
    log_weights: Any = None,
    deviation: Deviation = "posterior",
    **options: Unpack[Options],
) -> BeliefPolicy:
    r"""WGP-UCB: old observations have smaller weights (D22 Alg. 1).

    D22's width is `widths.Confidence(...)`. With `deviation="error"` the policy acts on the
    \(\tilde\sigma\) of D22 Theorem 2 in place of the posterior deviation. With the kernel `Linear`
    this is D-LinUCB (Russac, Vernade and Cappe 2019; D22 Remark 1).

    Arguments:
        prior: domain, kernel, mean and noise variance.
        discount: in (0, 1]; an observation of age a, in units of time, has weight `discount ** a`.
            The value from theory is `theory.schedules.discount_factor`.
        weights, log_weights: instead, any non-decreasing weights, one for each future observation.
        deviation: "posterior", as if old observations had more noise; or "error", the smaller
            deviation of the estimate if all observations have equal noise. The gain of a width is
            then the double-weighted gain. "error" requires `acquisition="ucb"` and feature space.
        options: `width`, `acquisition`, `form` and `features`, as for `BeliefPolicy`.

    Raises:
        DriftpeakError: discount outside (0, 1], not exactly one of the three given, weights that
            decrease, an unknown deviation, or options that do not match it.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.WGPUCB(prior, discount=0.97)

    Source: D22 Algorithm 1, (2)-(4), Theorem 2, Remark 1.
    """
    if sum(given is not None for given in (discount, weights, log_weights)) != 1:
        raise DriftpeakError("exactly one of discount, weights and log_weights must be given")
    rule = Weights(weights, log_weights=log_weights) if discount is None else Discount(discount)
    by_error = one_of("deviation", deviation, DEVIATIONS) == "error"
    make: type[BeliefPolicy] = WeightedErrorPolicy if by_error else BeliefPolicy
    return make(prior, rule, **options)


@policy(
    "ui-gp-ucb",
    memory="``Injection``",
    width="``Heteroscedastic``",
    defaults={"exponent": 1.0},
    family=tuned("UI-GP-UCB", "exponent", (0.25, 0.5, 1.0, 2.0), lambda known: 1.0),
)
@checked
def UIGPUCB(
    prior: Prior, *, exponent: float, slope: float = 1.0, **options: Unpack[Options]
) -> BeliefPolicy:
    """UI-GP-UCB: the noise of an observation of age a grows as 1 + slope a^exponent (M25 (8)).

    M25's width is `widths.Heteroscedastic(...)`.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        exponent: alpha, at least 0.
        slope: c, at least 0; ages are in units of time.
        options: `width`, `acquisition`, `form` and `features`, as for `BeliefPolicy`.

    Raises:
        DriftpeakError: exponent or slope negative.

    Source: M25 (8)-(11).
    """
    return BeliefPolicy(prior, Injection(exponent, slope), **options)


def _longest_abo(known: Any, lengthscale: float, width: Width) -> BeliefPolicy:
    """Return ABO with all observations of the run."""
    return ABO(known.prior, lengthscale=lengthscale, memory=known.horizon, width=width)
