"""D22: Deng, Zhou, Kim, Tewari, Gupta and Shroff, Weighted Gaussian process bandits (2022).

Norms in closed form: f = sum_i alpha_i k(., x_i) with M coefficients uniform on [-1, 1] has
E |f|^2 = M/3 where k(x, x) = 1, and the difference of two such functions twice that.
"""

import math
from functools import partial
from pathlib import Path

from driftpeak.data import read_table
from driftpeak.domains import Grid
from driftpeak.environments import AbruptSwitches, SlowChange, Table
from driftpeak.experiments.claims import Claim, lowest
from driftpeak.experiments.experiment import Case, Experiment, Setup
from driftpeak.experiments.figures import regret_panels
from driftpeak.information import TabulatedGain, greedy_gain
from driftpeak.kernels import SE
from driftpeak.policies import GPUCB, IGPUCB, RGPUCB, SWGPUCB, WGPUCB
from driftpeak.priors import Prior
from driftpeak.replay import prior_from_history
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


def stocks(path: Path) -> Setup:
    """Figure 1c: every day one of 29 stocks; the reward is its price."""
    table = read_table(path)
    prior = prior_from_history(table.values, table.arms, mean="common")
    steps = len(table.values)
    gain = float(greedy_gain(prior, steps)[-1])
    scale = {"horizon": steps, "dimension": 1, "gain": gain}
    period = restart_period(prior.kernel, **scale)  # type: ignore[arg-type]
    window = window_length(prior.kernel, **scale)  # type: ignore[arg-type]
    discount = discount_factor(prior.kernel, **scale)  # type: ignore[arg-type]
    policies = {
        "WGP-UCB": WGPUCB(prior, discount=discount),
        "R-GP-UCB": RGPUCB(prior, period=period),
        "SW-GP-UCB": SWGPUCB(prior, window=window),
        "IGP-UCB": GPUCB(prior),
    }
    settings = {
        "noise_variance": prior.noise_variance, "gain": gain, "period": period, "window": window,
        "discount": discount, "width": "0.8, 4",
    }  # fmt: skip
    return Setup(Table(table.values), policies, steps, settings)


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
                  whose="paper" if name in (change, main) else "ours")
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
    Experiment(
        "d22-fig1c",
        "29 stocks, 823 days",
        "D22 figure 1 (c)",
        (Case("stocks", stocks, 1, data="stocks"),),
        (Claim("WGP-UCB has the lowest regret", lowest("stocks", "WGP-UCB", OTHERS)),),
        regret_panels,
        choices=(
            "The covariance and the common mean are of all days, as D22 seems to have done; so "
            "every policy knows more than it could have.",
            "No norm bound is known for prices: width sqrt(0.8 log(4 t)) for all four; IGP-UCB is "
            "then GP-UCB. Noise variance 5 % of the stocks' mean variance.",
            "The variation is taken as unknown; the gain is the greedy one.",
        ),
        notes=("One history: intervals are over blocks of steps.",),
    ),
)
