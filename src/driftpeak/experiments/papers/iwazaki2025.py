"""IT25: Iwazaki and Takeno, Near-optimal algorithm for non-stationary kernelized bandits (2025)."""

import math
from functools import partial

import numpy as np

from driftpeak.domains import Grid
from driftpeak.environments import AbruptSwitches
from driftpeak.experiments.claims import Claim, Column, Comparison, lower
from driftpeak.experiments.experiment import Case, Experiment, Setup
from driftpeak.experiments.figures import regret_panels
from driftpeak.information import TabulatedGain, greedy_gain
from driftpeak.kernels import SE, Kernel, Matern
from driftpeak.policies import ADAOPKB, RGPUCB, ROPKB, RPERP, SWGPUCB, Policy, UniformRandom
from driftpeak.priors import Prior
from driftpeak.simulation.simulator import true_functions
from driftpeak.theory.schedules import elimination_period, restart_period
from driftpeak.theory.variation import supremum_variation
from driftpeak.widths import Confidence, SlidingConfidence

STEPS, TRIALS, SUPPORTS, DELTA, NOISE = 5000, 5, 10, 0.1, 0.1
CHANGES = (STEPS // 5, 2 * STEPS // 5)
SMALLER = 0.03
WORLDS, WORLDS_SEED = 200, 2025  # from which V_T is estimated


def setup(kernel: Kernel) -> Setup:
    """IT25's policies, and those that it left out as too costly."""
    prior = Prior(Grid([0, 1], [0, 1], size=30), kernel, NOISE**2)
    world = AbruptSwitches(prior, changes=CHANGES, supports=SUPPORTS)
    pieces = true_functions(
        world, times=[1, *(change + 1 for change in CHANGES)], trials=WORLDS, seed=WORLDS_SEED
    )
    variation = float(np.mean([supremum_variation(functions) for functions in pieces]))
    bound = 2 * math.sqrt(SUPPORTS / 3)
    memory = restart_period(kernel, horizon=STEPS, dimension=2, variation=variation)
    gain = TabulatedGain(greedy_gain(prior, memory, upper=True))
    common = (bound, NOISE, DELTA, gain)
    elimination = {
        "horizon": STEPS, "variation": variation, "norm_bound": bound, "noise_scale": NOISE,
        "delta": DELTA,
    }  # fmt: skip
    policies: dict[str, Policy] = {
        "random": UniformRandom(prior),
        "R-GP-UCB": RGPUCB(prior, period=memory,
                           width=Confidence(*common, noise_variance=NOISE**2)),
        "SW-GP-UCB": SWGPUCB(prior, window=memory, width=SlidingConfidence(
            *common, noise_variance=NOISE**2, horizon=STEPS)),
        "R-PERP": RPERP(prior, **elimination),  # type: ignore[arg-type]
        f"R-PERP, C = {SMALLER:g}": RPERP(prior, constant=SMALLER, **elimination),  # type: ignore[arg-type]
        "OPKB with restarts": ROPKB(prior, horizon=STEPS, variation=variation,
                                    reward_bound=bound + 5 * NOISE),
        "ADA-OPKB": ADAOPKB(prior, horizon=STEPS, reward_bound=bound + 5 * NOISE),
    }  # fmt: skip
    settings = {
        "kernel": str(kernel), "variation": variation, "norm_bound": bound, "noise_scale": NOISE,
        "delta": DELTA, "supports": SUPPORTS, "period and window": memory, "elimination_period":
        elimination_period(kernel, horizon=STEPS, dimension=2, variation=variation),
        "C": [1.0, SMALLER], "opkb": "tuned",
    }  # fmt: skip
    return Setup(world, policies, STEPS, settings)


def _sublinear(case: str, policy: str) -> Comparison:
    """Regret per step falls from the steps 2001-3500 to 3501-5000, in which nothing changes."""
    columns = (Column(case, policy, first=2001, last=3500), Column(case, policy, first=3501))
    return Comparison(f"{policy}: steps 2001-3500 minus 3501-5000, regret per step", columns)


CASES = {"SE": SE(0.5), "Matern-5/2": Matern(2.5, 0.5)}


def _claims(case: str) -> tuple[Claim, ...]:
    perp, small = "R-PERP", f"R-PERP, C = {SMALLER:g}"
    ucb = ("R-GP-UCB", "SW-GP-UCB")
    others = ("R-GP-UCB", "SW-GP-UCB", perp)
    return (
        Claim(f"{case}: R-PERP beats random", (lower((case, perp), (case, "random")),)),
        Claim(f"{case}: R-PERP loses to R- and SW-GP-UCB",
              tuple(lower((case, name), (case, perp)) for name in ucb)),
        Claim(f"{case}: R-PERP is sublinear between 2000 and 5000", (_sublinear(case, perp),)),
        Claim(f"{case}: R-PERP with C = {SMALLER:g} beats random",
              (lower((case, small), (case, "random")),), whose="ours"),
        Claim(f"{case}: R-PERP with C = {SMALLER:g} loses to R- and SW-GP-UCB",
              tuple(lower((case, name), (case, small)) for name in ucb), whose="ours"),
        Claim(f"{case}: R-PERP with C = {SMALLER:g} is sublinear between 2000 and 5000",
              (_sublinear(case, small),), whose="ours"),
        Claim(f"{case}: OPKB with restarts beats random (not in the paper)",
              (lower((case, "OPKB with restarts"), (case, "random")),), whose="ours"),
        Claim(f"{case}: ADA-OPKB beats R-GP-UCB, SW-GP-UCB and R-PERP (not in the paper)",
              tuple(lower((case, "ADA-OPKB"), (case, name)) for name in others), whose="ours"),
    )  # fmt: skip


EXPERIMENTS = (
    Experiment(
        "it25-fig2",
        "Changes after T/5 and 2T/5, 30 x 30 grid",
        "IT25 figure 2",
        tuple(Case(name, partial(setup, kernel), TRIALS) for name, kernel in CASES.items()),
        tuple(claim for case in CASES for claim in _claims(case)),
        regret_panels,
        choices=(
            "IT25 states no noise: sd 0.1 = rho, lambda = 0.01; B is twice the root mean square "
            "norm sqrt(U/3).",
            f"V_T is the mean over {WORLDS} other worlds, in the supremum norm.",
            "Centres are drawn from the grid's points instead of anywhere in the square.",
            "OPKB and ADA-OPKB, left out of the paper as too costly, have H23's tuned constants.",
        ),
        notes=(
            "R-PERP's width has an unnamed absolute constant C. With C = 1 it is so wide that no "
            f"point is ever eliminated at this T; with C = {SMALLER:g}, for which nothing is "
            "proved, points are.",
        ),
    ),
)
