"""H23: Hong, Li and Tewari, An optimization-based algorithm for non-stationary kernel bandits.

On the unit sphere of R^10 points are about 1.4 apart: with l = 0.2 their Gram matrix is nearly the
identity, and the problem nearly a bandit with 100 unrelated arms. Hence l = 1 as well.
"""

from functools import partial
from typing import Any

import numpy as np

from driftpeak.domains import unit_sphere
from driftpeak.environments import Environment, MovingCosine, SignSwitches
from driftpeak.experiments.claims import Claim, lowest
from driftpeak.experiments.experiment import Case, Experiment, Setup
from driftpeak.experiments.figures import regret_panels
from driftpeak.information import greedy_gain
from driftpeak.kernels import SE
from driftpeak.policies import ADAOPKB, SWGPUCB, WGPUCB, Policy
from driftpeak.priors import Prior
from driftpeak.theory.schedules import discount_factor, window_length

STEPS, TRIALS, PEAK, NOISE = 10_000, 25, 0.8, 0.1
RIVALS = ["SW-GP-UCB", "WGP-UCB"]
LENGTHSCALES = {0.2: TRIALS, 1.0: 10}  # H23's own, and one with structure: trials


def setup(changes: tuple[int, ...] | None, lengthscale: float) -> Setup:
    """Sign switches after `changes`, or the moving cosine; nobody is told how much it moves."""
    kernel = SE(lengthscale)
    prior = Prior(unit_sphere(100, 10), kernel, NOISE**2)
    gain = float(greedy_gain(prior, STEPS)[-1])
    window = window_length(kernel, horizon=STEPS, dimension=10, gain=gain)
    discount = discount_factor(kernel, horizon=STEPS, dimension=10, gain=gain)
    policies: dict[str, Policy] = {
        "SW-GP-UCB": SWGPUCB(prior, window=window),
        "WGP-UCB": WGPUCB(prior, discount=discount),
        "ADA-OPKB": ADAOPKB(prior, horizon=STEPS, reward_bound=PEAK + 5 * NOISE),
    }
    world: Environment[Any] = (
        MovingCosine(prior, peak=PEAK)
        if changes is None
        else SignSwitches(prior, changes=changes, peak=PEAK)
    )
    settings = {
        "lengthscale": lengthscale, "changes": changes, "gain": gain, "window": window,
        "discount": discount, "width": "0.8, 4", "opkb": "tuned",
        "largest correlation": float(np.triu(prior.gram, 1).max()),
    }  # fmt: skip
    return Setup(world, policies, STEPS, settings)


def _experiment(id: str, title: str, changes: tuple[int, ...] | None) -> Experiment:
    names = {f"l = {lengthscale:g}": lengthscale for lengthscale in LENGTHSCALES}
    return Experiment(
        id,
        title + ", 100 points on the sphere of R^10",
        f"H23 figure {id[-2:]}",
        tuple(
            Case(name, partial(setup, changes, length), LENGTHSCALES[length], chunk=13)
            for name, length in names.items()
        ),
        tuple(
            Claim(f"ADA-OPKB has the lowest regret: {name}", lowest(name, "ADA-OPKB", RIVALS),
                  whose="paper" if name == "l = 0.2" else "ours")
            for name in names
        ),
        regret_panels,
        choices=(
            "Nobody knows how much the function moves: window and discount are those of theory "
            "for an unknown variation, with the greedy gain of 10,000 observations.",
            "Width of SW- and WGP-UCB: B16's sqrt(0.8 log(4 t)); ADA-OPKB has H23's tuned "
            "constants.",
        ),
        notes=(
            "With l = 0.2 the Gram matrix is nearly the identity: this benchmark is close to an "
            "unstructured bandit with 100 arms. The panel with l = 1 has structure to learn.",
        ),
    )  # fmt: skip


EXPERIMENTS = (
    _experiment("h23-fig1a", "The sign switches after 3000", (3000,)),
    _experiment("h23-fig1b", "The sign switches after 1500 and 5000", (1500, 5000)),
    _experiment("h23-fig2b", "A cosine that moves", None),
)
