"""D22: Deng, Zhou, Kim, Tewari, Gupta and Shroff, Weighted Gaussian process bandits (2022).

Norms in closed form: f = sum_i alpha_i k(., x_i) with M coefficients uniform on [-1, 1] has
E |f|^2 = M/3 where k(x, x) = 1, and the difference of two such functions twice that.
"""

import math
from functools import partial

from driftpeak.domains import Grid
from driftpeak.environments import AbruptSwitches, SlowChange
from driftpeak.experiments.claims import Claim, lowest
from driftpeak.experiments.experiment import Case, Experiment, Setup
from driftpeak.experiments.figures import regret_panels
from driftpeak.information import TabulatedGain, greedy_gain
from driftpeak.kernels import SE
from driftpeak.policies import IGPUCB, RGPUCB, SWGPUCB, WGPUCB
from driftpeak.priors import Prior
from driftpeak.theory.schedules import discount_factor, restart_period, window_length
from driftpeak.widths import IGP, Confidence, SlidingConfidence

STEPS, TRIALS, DELTA = 500, 10, 0.1
OTHERS = ["R-GP-UCB", "SW-GP-UCB", "IGP-UCB"]


def setup(
    change: str,
    *,
    supports: int = 20,
    segments: int = 1,
    known: bool = True,
    norms: float = 2.0,
    noise: float = 0.1,
) -> Setup:
    """D22's policies with periods, window and discount from theory.

    Arguments:
        change: "abrupt" or "slow". known: whether the policies know the variation.
        norms: B, in root mean square norms of the functions. noise: its standard deviation, R.
    """
    kernel = SE(0.2)
    prior = Prior(Grid([0, 1], size=100), kernel, noise**2)
    jump = math.sqrt(2 * supports / 3)
    variation = (2 if change == "abrupt" else segments) * jump if known else None
    bound = norms * math.sqrt(supports / 3)
    scale = {"horizon": STEPS, "dimension": 1, "variation": variation}
    period = restart_period(kernel, **scale)  # type: ignore[arg-type]
    window = window_length(kernel, **scale)  # type: ignore[arg-type]
    discount = discount_factor(kernel, **scale)  # type: ignore[arg-type]
    gain = TabulatedGain(greedy_gain(prior, STEPS, upper=True))
    worth = [max(discount ** (2 * age), 1e-300) for age in range(STEPS)]
    weighted = TabulatedGain(greedy_gain(prior, STEPS, worth=worth, upper=True))
    common = (bound, noise, DELTA)
    policies = {
        "WGP-UCB": WGPUCB(prior, discount=discount,
                          width=Confidence(*common, weighted, noise_variance=noise**2)),
        "R-GP-UCB": RGPUCB(prior, period=period,
                           width=Confidence(*common, gain, noise_variance=noise**2)),
        "SW-GP-UCB": SWGPUCB(prior, window=window, width=SlidingConfidence(
            *common, gain, noise_variance=noise**2, horizon=STEPS)),
        "IGP-UCB": IGPUCB(prior, horizon=STEPS, width=IGP(*common, gain)),
    }  # fmt: skip
    world = (
        AbruptSwitches(prior, changes=[100, 200], supports=supports)
        if change == "abrupt"
        else SlowChange(prior, horizon=STEPS, segments=segments, supports=supports)
    )
    settings = {
        "change": change, "supports": supports, "segments": segments, "variation": variation,
        "norm_bound": bound, "noise_scale": noise, "delta": DELTA, "period": period,
        "window": window, "discount": discount,
    }  # fmt: skip
    return Setup(world, policies, STEPS, settings)


def _experiment(id: str, change: str, title: str, **appendix: int) -> Experiment:
    variants = {
        change: {},
        f"{change}, Appendix E": appendix,
        f"{change}, variation unknown": {"known": False},
        f"{change}, B halved": {"norms": 1.0},
        f"{change}, noise sd 0.3": {"noise": 0.3},
    }
    trials = {f"{change}, Appendix E": 100}
    main = f"{change}, Appendix E"
    return Experiment(
        id,
        title,
        f"D22 figure 1 ({id[-1]}) and Appendix E",
        tuple(
            Case(name, partial(setup, change, **given), trials.get(name, TRIALS))  # type: ignore[arg-type]
            for name, given in variants.items()
        ),
        tuple(
            Claim(f"WGP-UCB has the lowest regret: {name}", lowest(name, "WGP-UCB", OTHERS),
                  check=name not in (change, main))
            for name in variants
        ),
        partial(regret_panels, cases=(change, main)),
        choices=(
            "D22 states neither noise nor R, B, lambda and delta: here noise sd 0.1 = R, lambda = "
            "0.01, B twice the root mean square norm sqrt(M/3), delta = 0.1.",
            "The policies know the variation: its root mean square, sqrt(2M/3) for each change.",
            "Gains in the widths are greedy upper bounds; WGP-UCB's is the double-weighted one.",
            "Appendix E: M = 100, 100 trials" + (", f4 to f5 to f6." if change == "slow" else "."),
        ),
    )  # fmt: skip


EXPERIMENTS = (
    _experiment("d22-fig1a", "abrupt", "Changes after steps 100 and 200", supports=100),
    _experiment("d22-fig1b", "slow", "Slow change", supports=100, segments=2),
)
