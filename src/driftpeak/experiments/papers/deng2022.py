"""D22: Deng, Zhou, Kim, Tewari, Gupta and Shroff, Weighted Gaussian process bandits (2022).

Synthetic functions. Norms have a closed form: f = sum_i alpha_i k(., x_i) with M coefficients
uniform on [-1, 1] has E |f|^2 = M/3 if k(x, x) = 1. The difference of two such functions has twice
this value.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from driftpeak.environments import AbruptSwitches, SlowChange
from driftpeak.experiments.claims import Claim, Comparisons, lower, lowest_by_setting
from driftpeak.experiments.experiment import Case, Experiment, Setup, described
from driftpeak.experiments.figures import regret_panels
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE
from driftpeak.gp.priors import Prior
from driftpeak.inference.information import TabulatedGain, greedy_gain
from driftpeak.policies import IGPUCB, RGPUCB, SWGPUCB, WGPUCB, Policy
from driftpeak.policies.widths import IGP, Confidence, SlidingConfidence
from driftpeak.theory.schedules import discount_factor, restart_period, window_length

STEPS, CHANGES = 500, (99, 199)  # f_2 holds from t = 100 on, f_3 from t = 200
WGP, R, SW, STATIC = "WGP-UCB", "R-GP-UCB", "SW-GP-UCB", "IGP-UCB"
FIRST = "as first chosen"
OPEN: Mapping[str, Mapping[str, Any]] = {
    FIRST: {},
    "B halved": {"norms": 1.0},
    "R = 0.3, noise as loud": {"noise": 0.3},
    "delta = 0.01": {"delta": 0.01},
    "lambda = 1 + 2/T for all": {"regularised": True},
    "variation unknown": {"known": False},
    "H and w halved, 1 - gamma doubled": {"memory": 0.5},
    "H and w doubled, 1 - gamma halved": {"memory": 2.0},
    "greedy gain in H, w and gamma": {"greedy": True},
}
"""Choices that D22 leaves open, each changed separately."""


def widths_and_policies(
    prior: Prior,
    steps: int,
    *,
    norm_bound: float,
    noise_scale: float,
    delta: float,
    period: int,
    window: int,
    discount: float,
    unit: float = 1.0,
) -> dict[str, Policy]:
    """Return D22's four policies with the widths of their theorems.

    Gains are greedy upper bounds. `prior` has the lambda of R-, SW- and WGP-UCB. IGP-UCB has its
    own lambda, 1 + 2/T, in its prior and in the gain of its width. The gain is stated for
    k(x, x) <= 1; `unit` is the variance that counts as 1.
    """
    common = (norm_bound, noise_scale, delta)
    variance = prior.noise_variance
    gain = TabulatedGain(greedy_gain(prior, steps, upper=True))
    weights = [max(discount ** (2 * age), 1e-300) for age in range(steps)]
    weighted = TabulatedGain(greedy_gain(prior, steps, weights=weights, upper=True))
    theirs = prior.with_noise_variance((1 + 2 / steps) * unit)
    own = TabulatedGain(greedy_gain(theirs, steps, upper=True))
    static = IGP(norm_bound, noise_scale / math.sqrt(unit), delta, own)
    return {
        WGP: WGPUCB(prior, discount=discount,
                    width=Confidence(*common, weighted, noise_variance=variance)),
        R: RGPUCB(prior, period=period, width=Confidence(*common, gain, noise_variance=variance)),
        SW: SWGPUCB(prior, window=window, width=SlidingConfidence(
            *common, gain, noise_variance=variance, horizon=steps)),
        STATIC: IGPUCB(theirs, width=static),
    }  # fmt: skip


def scaled(length: int, factor: float, steps: int) -> int:
    """Return a length in steps times a factor, in 1..T."""
    return min(max(round(factor * length), 1), steps)


def setup(
    change: str,
    *,
    supports: int = 20,
    segments: int = 1,
    known: bool = True,
    norms: float = 2.0,
    noise: float = 0.1,
    delta: float = 0.1,
    regularised: bool = False,
    memory: float = 1.0,
    greedy: bool = False,
) -> Setup:
    """Return D22's policies with periods, window and discount from theory.

    Arguments:
        change: "abrupt" or "slow". known: whether the policies know the variation.
        norms: B, in root mean square norms of the functions. noise: standard deviation R of noise.
        regularised: whether lambda is IGP-UCB's 1 + 2/T for all policies, or R^2 for the others.
        memory: factor of H, w and 1 / (1 - gamma). greedy: whether their formulas have the greedy
            gain, or the rate of the kernel.
    """
    kernel = SE(0.2)
    world = Prior(Grid([0, 1], size=100), kernel, noise**2)
    prior = world.with_noise_variance(1 + 2 / STEPS) if regularised else world
    jump = math.sqrt(2 * supports / 3)
    variation = (len(CHANGES) if change == "abrupt" else segments) * jump if known else None
    bound = norms * math.sqrt(supports / 3)
    gain = float(greedy_gain(prior, STEPS)[-1]) if greedy else None
    scale: dict[str, Any] = {
        "horizon": STEPS, "dimension": 1, "variation": variation, "gain": gain
    }  # fmt: skip
    numbers = {
        "norm_bound": bound, "noise_scale": noise, "delta": delta,
        "period": scaled(restart_period(kernel, **scale), memory, STEPS),
        "window": scaled(window_length(kernel, **scale), memory, STEPS),
        "discount": 1 - (1 - discount_factor(kernel, **scale)) / memory,
    }  # fmt: skip
    environment: AbruptSwitches | SlowChange = (
        AbruptSwitches(world, changes=CHANGES, supports=supports)
        if change == "abrupt"
        else SlowChange(world, horizon=STEPS, segments=segments, supports=supports)
    )
    settings = {
        "change": change, "supports": supports, "segments": segments, "variation": variation,
        "lambda": prior.noise_variance, **numbers,
    }  # fmt: skip
    policies = widths_and_policies(prior, STEPS, **numbers)  # type: ignore[arg-type]
    return Setup(environment, policies, STEPS, settings)


TIMES = tuple(range(100, STEPS + 1, 100))


def _at_every(case: str, others: Sequence[str]) -> Comparisons:
    """Return the comparisons that WGP-UCB has less cumulative regret at every hundredth step."""
    return tuple(
        replace(compared, label=f"{compared.label}, up to step {time}")
        for time in TIMES
        for other in others
        for compared in [lower((case, WGP), (case, other), last=time)]
    )


def _experiment(id: str, change: str, **appendix: int) -> Experiment:
    figures = {"M = 20": {}, "Appendix E": appendix}
    cases = {figure: {setting: f"{figure}, {setting}" for setting in OPEN} for figure in figures}
    build: Callable[..., Setup] = partial(setup, change)
    return described(
        id,
        tuple(
            Case(cases[figure][setting], partial(build, **given, **chosen),
                 100 if setting == FIRST else 50)
            for figure, given in figures.items()
            for setting, chosen in OPEN.items()
        ),
        (
            Claim("WGP-UCB has less regret than R-GP-UCB and SW-GP-UCB, M = 20",
                  lowest_by_setting(cases["M = 20"], WGP, (R, SW))),
            Claim("WGP-UCB has less regret than R-GP-UCB, SW-GP-UCB and IGP-UCB, Appendix E",
                  lowest_by_setting(cases["Appendix E"], WGP, (R, SW, STATIC))),
            Claim("WGP-UCB outperforms R-GP-UCB and SW-GP-UCB uniformly, read as: at every "
                  "hundredth step", {
                figure: _at_every(cases[figure][FIRST], (R, SW)) for figure in figures},
                  whose="ours"),
            *(Claim(f"IGP-UCB has less regret than {other}, Appendix E (D22: R-GP-UCB and "
                    "SW-GP-UCB may be worse than IGP-UCB in some cases)",
                    lowest_by_setting(cases["Appendix E"], STATIC, (other,)), whose="ours")
              for other in (R, SW)),
        ),
        partial(regret_panels, cases=(cases["M = 20"][FIRST], cases["Appendix E"][FIRST])),
    )  # fmt: skip


EXPERIMENTS = (
    _experiment("d22-fig1a", "abrupt", supports=100),
    _experiment("d22-fig1b", "slow", supports=100, segments=2),
)
