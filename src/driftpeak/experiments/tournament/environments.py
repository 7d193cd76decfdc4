"""Simulated environments of the tournament: several kinds of drift at several rates."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpeak.environments import (
    AbruptSwitches,
    Bursts,
    Environment,
    MarkovDrift,
    Moving,
    MovingCoefficients,
    MovingCosine,
    SignSwitches,
    SlowChange,
)
from driftpeak.experiments.experiment import Setup
from driftpeak.experiments.tournament.players import WorldKnowledge, players
from driftpeak.gp.domains import Arms, Grid, unit_sphere
from driftpeak.gp.dynamics import DampedOscillator, MarkovMotion, Matern32, SumMotion
from driftpeak.gp.kernels import SE, Kernel, Matern, Table
from driftpeak.gp.priors import Prior
from driftpeak.inference.information import greedy_gain
from driftpeak.simulation._simulator import true_functions
from driftpeak.theory.variation import estimate_drift, supremum_variation

STEPS, NOISE, POINTS, SUPPORTS = 500, 0.1, 100, 20
TRIALS, FEWER_TRIALS = 50, 20  # fewer for as many features as points, and for later environments
OTHERS, OTHERS_SEED = 20, 2025
"""Number and seed of other trials of an environment, from which V_T and a drift are estimated."""
DRAWN = 4.0
"""B in standard deviations for functions drawn from a prior, whose norm has no bound."""
RKHS_BOUND = 2 * math.sqrt(SUPPORTS / 3)  # twice the root mean square norm
COMMON, BURSTINESS = 3.6, 0.7  # 93 % of the variance is shared by all points


@dataclass(frozen=True)
class World:
    """A kind of simulated environment.

    Attributes:
        prior: creates domain, kernel and noise. environment: creates the moving function.
        drift: B16's epsilon, if the environment has Markov drift.
        norm_bound: B. trials: number of trials.
    """

    prior: Callable[[], Prior]
    environment: Callable[[Prior], Environment[Any]]
    drift: float | None = None
    norm_bound: float = DRAWN
    trials: int = TRIALS


def _line(kernel: Kernel = SE(0.2)) -> Prior:  # noqa: B008
    return Prior(Grid([0, 1], size=POINTS), kernel, NOISE**2)


def _square() -> Prior:
    """Return a prior with as many points in two dimensions."""
    return Prior(Grid([0, 1], [0, 1], size=math.isqrt(POINTS)), SE(0.2), NOISE**2)


def _noisy() -> Prior:
    return _line().with_noise_variance((3 * NOISE) ** 2)


def _common() -> Prior:
    """Return a prior of a function of position plus a larger part that all points share."""
    return Prior(Grid([0, 1], size=POINTS), SE(0.2) + COMMON**2 * SE(1000.0), NOISE**2)


def _unrelated() -> Prior:
    """Return a prior of independent arms."""
    return Prior(Arms(30), Table(np.eye(30)), NOISE**2)


def _sphere() -> Prior:
    """Return a prior on H23's points with a kernel under which they are correlated."""
    return Prior(unit_sphere(POINTS, 10), SE(1.0), NOISE**2)


def _bumps() -> Prior:
    """Return a prior with M25's kernel."""
    return Prior(Grid([-50, 50], size=POINTS), 0.5 * SE(3.0), NOISE**2)


def _evenly(changes: int) -> list[int]:
    return [round(STEPS * (number + 1) / (changes + 1)) for number in range(changes)]


def _cosine(turns: int) -> Callable[[Prior], Environment[Any]]:
    """Return H23's moving cosine with `turns` full turns, each with its two pauses."""
    shares = np.array([0.1, 0.3, 0.4, 0.6])
    times = np.concatenate([(turn + shares) * STEPS / turns for turn in range(turns)])
    phases = np.concatenate([(2 * turn + np.array([0, 1, 1, 2])) * np.pi for turn in range(turns)])
    return lambda prior: MovingCosine(prior, times=times, phases=phases)


def _rhythm(prior: Prior, *, changes: Sequence[float] = ()) -> Moving:
    """Return an environment whose variance is half an oscillation of 50 steps, half drift."""
    parts = [DampedOscillator([50.0], [1000.0]), MarkovMotion([0.003])]
    return Moving(prior, SumMotion(parts, [1.0, 1.0]), changes=changes)


def _two_speeds(prior: Prior) -> Moving:
    return Moving(prior, SumMotion([MarkovMotion([0.001]), MarkovMotion([0.2])], [2.0, 1.0]))


def _bursts(prior: Prior) -> Bursts:
    size = COMMON * math.exp(-(BURSTINESS**2))
    return Bursts(MarkovDrift(_line(), drift=0.01), size=size, burstiness=BURSTINESS)


def _other_unit(prior: Prior) -> MarkovDrift:
    """Return an environment with rewards three times as large as the prior's, with mean 15."""
    scaled = Prior(prior.domain, 9.0 * prior.kernel, 9.0 * prior.noise_variance, mean=15.0)
    return MarkovDrift(scaled, drift=0.01)


def _markov(drift: float, prior: Callable[[], Prior] = _line, trials: int = TRIALS) -> World:
    """Return an environment with Markov drift at a known rate."""
    return World(prior, lambda own: MarkovDrift(own, drift=drift), drift=drift, trials=trials)


WORLDS: dict[str, World] = {
    "static": _markov(0.0),
    "Markov 0.001": _markov(0.001),
    "Markov 0.01": _markov(0.01),
    "Markov 0.1": _markov(0.1),
    "Markov 0.01, Matern": _markov(0.01, lambda: _line(Matern(2.5, 0.2)), FEWER_TRIALS),
    "abrupt, 2 changes": World(
        _line, lambda prior: AbruptSwitches(prior, changes=[100, 200], supports=SUPPORTS),
        norm_bound=RKHS_BOUND,
    ),
    "abrupt, 6 changes": World(
        _line, lambda prior: AbruptSwitches(prior, changes=_evenly(6), supports=SUPPORTS),
        norm_bound=RKHS_BOUND,
    ),
    "slow, 1 segment": World(
        _line, lambda prior: SlowChange(prior, horizon=STEPS, supports=SUPPORTS),
        norm_bound=RKHS_BOUND,
    ),
    "slow, 4 segments": World(
        _line, lambda prior: SlowChange(prior, horizon=STEPS, segments=4, supports=SUPPORTS),
        norm_bound=RKHS_BOUND,
    ),
    "sign, 1 switch": World(
        _sphere, lambda prior: SignSwitches(prior, changes=[150]), trials=FEWER_TRIALS
    ),
    "sign, 4 switches": World(
        _sphere, lambda prior: SignSwitches(prior, changes=_evenly(4)), trials=FEWER_TRIALS
    ),
    "cosine, 1 turn": World(_sphere, _cosine(1), trials=FEWER_TRIALS),
    "cosine, 3 turns": World(_sphere, _cosine(3), trials=FEWER_TRIALS),
    "bumps, speed 0.03": World(
        _bumps, lambda prior: MovingCoefficients(prior, speed=0.03), norm_bound=5.0,
        trials=FEWER_TRIALS,
    ),
    "bumps, speed 0.3": World(
        _bumps, lambda prior: MovingCoefficients(prior, speed=0.3), norm_bound=5.0,
        trials=FEWER_TRIALS,
    ),
    "Markov 0.01, square": _markov(0.01, _square, FEWER_TRIALS),
    "Markov 0.003, l = 0.05": _markov(0.003, lambda: _line(SE(0.05)), FEWER_TRIALS),
    "Markov 0.03, l = 0.5": _markov(0.03, lambda: _line(SE(0.5)), FEWER_TRIALS),
    "Markov 0.01, noise 0.3": _markov(0.01, _noisy, FEWER_TRIALS),
    "rhythm": World(_line, _rhythm, trials=FEWER_TRIALS),
    "rhythm, 2 changes": World(
        _line, lambda prior: _rhythm(prior, changes=[150, 300]), trials=FEWER_TRIALS
    ),
    "two speeds": World(_line, _two_speeds, trials=FEWER_TRIALS),
    "momentum": World(
        _line, lambda prior: Moving(prior, Matern32([0.03])), trials=FEWER_TRIALS
    ),
    "common bursts": World(_common, _bursts, trials=FEWER_TRIALS),
    "unrelated arms": _markov(0.003, _unrelated, FEWER_TRIALS),
    "Markov 0.01, other unit": World(_line, _other_unit, drift=0.01, trials=FEWER_TRIALS),
}  # fmt: skip


def simulated(name: str, against: str = "published") -> Setup:
    """Return the setup of one of `WORLDS` with `auto` and its rivals, by their key in `RIVALS`."""
    world = WORLDS[name]
    prior = world.prior()
    environment = world.environment(prior)
    others = true_functions(environment, steps=STEPS, trials=OTHERS, seed=OTHERS_SEED)
    variation = float(np.mean([supremum_variation(functions) for functions in others]))
    known = WorldKnowledge(
        prior,
        STEPS,
        variation,
        drift=_likely_drift(prior, others) if world.drift is None else world.drift,
        markov=world.drift is not None,
        norm_bound=world.norm_bound,
        gain=float(greedy_gain(prior, STEPS)[-1]),
    )
    return Setup(environment, players(known, against), STEPS, known.settings)


def _likely_drift(prior: Prior, functions: Any) -> float:
    """Return the median over functions of the drift of highest likelihood at full observation."""
    noise = NOISE * np.random.default_rng(OTHERS_SEED).normal(size=functions.shape)
    drifts = [estimate_drift(values, prior=prior).drift for values in (functions + noise)[:5]]
    return float(np.median(drifts))
