"""Effect of down-weighting the exploration bonus near the boundary.

`DriftingGP(boundary_weighting=True)`, the default, is compared with `boundary_weighting=False`. The
functions are those of `live_motion`, whose peak may be in a corner, and the dynamic test functions
used for designing the optimiser, with 50 evaluations as in `field`, but other seeds. The default
was chosen on these test functions and others of their kind, not on the functions of `live_motion`.

Figures are regrets relative to `boundary_weighting=False`: geometric means with 95 % bootstrap
intervals over the functions of `live_motion`, over the seeds of one test function, and over all
test functions.
"""

from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks import live_motion
from benchmarks._moving import Moving
from benchmarks._paired import ratio
from benchmarks._settings import whole_number
from benchmarks._standings import UNSEEN
from benchmarks.rivals.driftpeak import Rival
from benchmarks.rivals.plays import Play, mean_regret
from driftpeak.environments.functions import FUNCTIONS

POLICIES = (dp.DriftingGP(), dp.DriftingGP(boundary_weighting=False))
SEEN = tuple(name for name in FUNCTIONS if name not in UNSEEN)
SEEDS = range(whole_number("SCOPE_SEEDS", 6))
EVALUATIONS = 50


def run() -> dict[str, Any]:
    """Return regret ratios."""
    worlds = [[live_motion.play(n, policy)[0] for policy in POLICIES] for n in live_motion.WORLDS]
    figures = {"worlds of live_motion": told(np.array(worlds)[:, None, :])}
    regrets = np.array(
        [[[play(name, seed, policy) for policy in POLICIES] for seed in SEEDS] for name in SEEN]
    )
    for name, own in zip(SEEN, regrets, strict=True):
        figures[name] = told(own[:, None])
    return figures | {"these functions": told(regrets)}


def play(name: str, seed: int, policy: dp.DriftingGP) -> float:
    """Return the regret on one function."""
    moving, held = Moving(FUNCTIONS[name], seed), Play()
    rival = Rival(moving.function.dimension, seed, 1.0, policy)
    for time in map(float, np.arange(EVALUATIONS) / EVALUATIONS):
        point = list(rival.ask(time))
        held.hold(point, time)
        rival.tell(point, moving.reward(point, time), time)
    return mean_regret(moving, held)


def told(regrets: Any) -> str:
    """Return the ratio, with its interval over the rows, of regrets `(rows, seeds, 2)`."""
    middle, low, high = ratio(regrets[..., 0], regrets[..., 1])
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"
