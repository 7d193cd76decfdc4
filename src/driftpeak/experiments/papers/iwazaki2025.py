"""IT25: Iwazaki and Takeno, Near-optimal algorithm for non-stationary kernelized bandits (2025)."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from driftpeak.environments import AbruptSwitches, Environment
from driftpeak.experiments.claims import Claim, Column, Comparison, lower
from driftpeak.experiments.experiment import Case, Setup, described
from driftpeak.experiments.figures import regret_panels
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE, Kernel, Matern
from driftpeak.gp.priors import Prior
from driftpeak.inference.information import TabulatedGain, greedy_gain
from driftpeak.policies import ADAOPKB, RGPUCB, ROPKB, RPERP, SWGPUCB, Policy, UniformRandom
from driftpeak.policies.widths import Confidence, SlidingConfidence
from driftpeak.simulation._simulator import true_functions
from driftpeak.theory.schedules import elimination_period, restart_period
from driftpeak.theory.variation import supremum_variation

STEPS, TRIALS, SUPPORTS, DELTA = 5000, 25, 10, 0.1
QUICK_STEPS = 300
NOISES = (0.1, 0.3)
CHANGES = (STEPS // 5, 2 * STEPS // 5)
SMALLER = 0.03
PERP, SMALL, RESTARTED, ADA = (
    "R-PERP",
    f"R-PERP, C = {SMALLER:g}",
    "OPKB with restarts",
    "ADA-OPKB",
)
UCB = ("R-GP-UCB", "SW-GP-UCB")
WORLDS, WORLDS_SEED = 200, 2025  # trials from which V_T is estimated


def setup(
    kernel: Kernel,
    noise: float,
    steps: int = STEPS,
    *,
    world: Callable[..., Environment[Any]] = AbruptSwitches,
    omitted: Sequence[str] = (),
) -> Setup:
    """Return the setup with IT25's policies, and the policies that it omits as too costly.

    Arguments:
        world: class of the environment. omitted: names of policies that do not run.
    """
    prior = Prior(Grid([0, 1], [0, 1], size=30), kernel, noise**2)
    functions = world(prior, changes=CHANGES, supports=SUPPORTS)
    pieces = true_functions(
        functions, times=[1, *(change + 1 for change in CHANGES)], trials=WORLDS, seed=WORLDS_SEED
    )
    variation = float(np.mean([supremum_variation(piece) for piece in pieces]))
    bound = 2 * math.sqrt(SUPPORTS / 3)
    memory = restart_period(kernel, horizon=STEPS, dimension=2, variation=variation)
    gain = TabulatedGain(greedy_gain(prior, memory, upper=True))
    common = (bound, noise, DELTA, gain)
    elimination = {
        "horizon": STEPS, "variation": variation, "norm_bound": bound, "noise_scale": noise,
        "delta": DELTA,
    }  # fmt: skip
    policies: dict[str, Policy] = {
        "random": UniformRandom(prior),
        "R-GP-UCB": RGPUCB(prior, period=memory,
                           width=Confidence(*common, noise_variance=noise**2)),
        "SW-GP-UCB": SWGPUCB(prior, window=memory, width=SlidingConfidence(
            *common, noise_variance=noise**2, horizon=STEPS)),
        PERP: RPERP(prior, **elimination),  # type: ignore[arg-type]
        SMALL: RPERP(prior, constant=SMALLER, **elimination),  # type: ignore[arg-type]
        RESTARTED: ROPKB(prior, horizon=STEPS, variation=variation,
                                    reward_bound=bound + 5 * noise),
        ADA: ADAOPKB(prior, horizon=STEPS, reward_bound=bound + 5 * noise),
    }  # fmt: skip
    settings = {
        "kernel": str(kernel), "variation": variation, "norm_bound": bound, "noise_scale": noise,
        "delta": DELTA, "supports": SUPPORTS, "period and window": memory, "elimination_period":
        elimination_period(kernel, horizon=STEPS, dimension=2, variation=variation),
        "C": [1.0, SMALLER], "opkb": "published",
    }  # fmt: skip
    played = {name: policy for name, policy in policies.items() if name not in omitted}
    return Setup(functions, played, steps, settings)


def _sublinear(case: str, policy: str) -> Comparison:
    """Compare the regret per step of steps 2001-3500 and 3501-5000, which have no change."""
    columns = (Column(case, policy, first=2001, last=3500), Column(case, policy, first=3501))
    return Comparison(f"{policy}: steps 2001-3500 minus 3501-5000, regret per step", columns)


KERNELS = {"SE": SE(0.5), "Matern-5/2": Matern(2.5, 0.5)}


def _name(kernel: str, noise: float) -> str:
    return f"{kernel}, noise sd {noise:g}"


def paper_claims(kernel: str, noises: Sequence[float] = NOISES) -> tuple[Claim, ...]:
    """Return IT25's claims for two values of the open C, and for these values of the noise."""
    cases = {noise: _name(kernel, noise) for noise in noises}
    left_open = {
        f"C = {constant}, noise sd {noise:g}": (case, policy)
        for noise, case in cases.items()
        for constant, policy in (("1", PERP), (f"{SMALLER:g}", SMALL))
    }
    return (
        Claim(f"{kernel}: R-PERP is superior to random sampling", {
            name: (lower((case, policy), (case, "random")),)
            for name, (case, policy) in left_open.items()}),
        Claim(f"{kernel}: R-PERP is worse than R- and SW-GP-UCB", {
            name: tuple(lower((case, other), (case, policy)) for other in UCB)
            for name, (case, policy) in left_open.items()}),
        Claim(f"{kernel}: the regret of R-PERP grows sublinearly between 2000 and 5000 steps", {
            name: (_sublinear(case, policy),) for name, (case, policy) in left_open.items()}),
    )  # fmt: skip


def _claims(kernel: str) -> tuple[Claim, ...]:
    """Return IT25's claims and additional checks."""
    cases = {noise: _name(kernel, noise) for noise in NOISES}
    beyond = {
        RESTARTED: ("random", PERP),
        ADA: ("random", PERP, *UCB),
    }
    ours = tuple(
        Claim(f"{kernel}: {policy} has less regret than {other} (not in the paper)", {
            f"noise sd {noise:g}": (lower((case, policy), (case, other)),)
            for noise, case in cases.items()}, whose="ours")
        for policy, others in beyond.items()
        for other in others
    )  # fmt: skip
    return (*paper_claims(kernel), *ours)


EXPERIMENTS = (
    described(
        "it25-fig2",
        tuple(
            Case(
                _name(name, noise),
                partial(setup, kernel, noise),
                TRIALS,
                quick=partial(setup, kernel, noise, steps=QUICK_STEPS),
            )
            for noise in NOISES
            for name, kernel in KERNELS.items()
        ),
        tuple(claim for kernel in KERNELS for claim in _claims(kernel)),
        partial(regret_panels, cases=[_name(kernel, NOISES[0]) for kernel in KERNELS]),
        values={"SMALLER": SMALLER, "TRIALS": TRIALS, "WORLDS": WORLDS},
    ),
)
