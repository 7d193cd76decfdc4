"""H23: Hong, Li and Tewari, An optimization-based algorithm for non-stationary kernel bandits.

Played as in the authors' program (github.com/kihyukh/aistats2023) and the configurations beside it.
Its GP-UCB starts from the inverse 20 I where the ridge 20 that it names would give I / 20: a ridge
of 1/20, and deviations 20 times those of the posterior, which is how it is played here. Its sliding
window takes old observations out with the wrong sign (`program.SlippedWindow`); the panels have
both that and the window proper.

On the unit sphere of R^10 points are about 1.4 apart: with l = 0.2 their Gram matrix is nearly the
identity, and the problem nearly a bandit with 100 unrelated arms. Hence l = 1 as well.
"""

from functools import partial
from typing import Any

import numpy as np

from driftpeak.domains import unit_sphere
from driftpeak.environments import Environment, MovingCosine, SignSwitches
from driftpeak.experiments.claims import Claim, Column, Comparison, lower, lowest
from driftpeak.experiments.experiment import Case, Experiment, Results, Setup, Table
from driftpeak.experiments.figures import regret_panels
from driftpeak.experiments.papers.hong2023_program import SlippedWindow
from driftpeak.information import TabulatedGain, fractional_gain
from driftpeak.kernels import SE
from driftpeak.policies import (
    ADAOPKB,
    GPUCB,
    OPKB,
    SWGPUCB,
    TVGPUCB,
    WGPUCB,
    Auto,
    BeliefPolicy,
    Policy,
)
from driftpeak.priors import Prior
from driftpeak.widths import IGP, Confidence

STEPS, PEAK, LIMIT, NOISE, DELTA = 10_000, 0.8, 1.0, 0.1, 1e-4
RIDGE, SCALE = 20.0, 0.01  # of H23's GP-UCB
WEIGHTED_RIDGE, DISCOUNT, WEIGHTED_SCALE = 0.01, 0.9996, 0.5  # of its WGP-UCB
GAIN_TOLERANCE = 1e-4  # nats


def program_gain(prior: Prior, ridge: float, most: int, steps: int = STEPS) -> Any:
    """H23's gain at every step t: half the log det for min(t, `most`) observations.

    Straight lines between powers of two, as in its program. Entry i serves step i + 1, which has i
    observations behind it.
    """
    places = sorted({*(2**k for k in range(int(np.log2(steps)) + 1)), steps})
    values = [fractional_gain(prior, t / ridge, tolerance=GAIN_TOLERANCE) / 2 for t in places]
    return np.interp(np.minimum(np.arange(1, steps + 2), most), places, values)


def gpucb(prior: Prior, window: int | None) -> BeliefPolicy:
    """H23's GP-UCB, or SW-GP-UCB with old observations taken out as they must be.

    Its width is 0.01 (1 + sqrt(2 (g / 2 + 1 + log 1/delta))), times the 20 of its deviations.
    """
    gain = program_gain(prior, RIDGE, STEPS if window is None else window)
    width = IGP(RIDGE * SCALE, RIDGE * SCALE, DELTA, TabulatedGain(gain / 2))
    seen = prior.with_noise_variance(1 / RIDGE)
    return GPUCB(seen, width=width) if window is None else SWGPUCB(seen, window=window, width=width)


def slipped(prior: Prior, window: int) -> SlippedWindow:
    """SW-GP-UCB as in H23's program."""
    gain = program_gain(prior, RIDGE, window)
    widths = SCALE * (1 + np.sqrt(2 * (gain / 2 + 1 - np.log(DELTA))))
    return SlippedWindow(prior, window=window, ridge=RIDGE, widths=widths)


def weighted(prior: Prior) -> BeliefPolicy:
    """H23's WGP-UCB: width 0.5 (0.8 + 0.1 sqrt(2 (g + log 1/delta))); the newest has age 1."""
    gain = TabulatedGain(program_gain(prior, WEIGHTED_RIDGE, STEPS))
    scales = WEIGHTED_SCALE * PEAK, WEIGHTED_SCALE * NOISE
    width = Confidence(*scales, DELTA, gain, noise_variance=1.0)  # no 1 / sqrt(lambda), as there
    seen = prior.with_noise_variance(WEIGHTED_RIDGE / DISCOUNT)
    return WGPUCB(seen, discount=DISCOUNT, width=width)
