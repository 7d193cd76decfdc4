"""Where the tournament is played: moving functions at several rates of change, and recordings."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from driftpeak.data import RewardTable, read_table
from driftpeak.data.traffic import read_speeds
from driftpeak.domains import Grid, unit_sphere
from driftpeak.environments import (
    AbruptSwitches,
    Environment,
    MarkovDrift,
    MovingCoefficients,
    MovingCosine,
    RecordedRewards,
    SignSwitches,
    SlowChange,
)
from driftpeak.experiments.experiment import Setup
from driftpeak.experiments.papers.mauduit2025_maps import europe, iberia
from driftpeak.experiments.tournament.players import WorldKnowledge, players
from driftpeak.history import calendar_periods, learn
from driftpeak.information import greedy_gain
from driftpeak.kernels import SE, Kernel, Matern
from driftpeak.priors import Prior
from driftpeak.replay import prior_from_history
from driftpeak.simulation.simulator import true_functions
from driftpeak.theory.variation import estimate_drift, supremum_variation

STEPS, NOISE, POINTS, SUPPORTS = 500, 0.1, 100, 20
TRIALS, FEWER_TRIALS = 50, 20  # fewer where features are as many as points
TRAIN = 0.6
OTHERS, OTHERS_SEED = 20, 2025
"""Other worlds of the same kind, from which theory learns V_T and a drift."""
DRAWN = 4.0
"""B where functions are draws from a prior, whose norm has no bound: they stay within this many
deviations."""
RKHS_BOUND = 2 * math.sqrt(SUPPORTS / 3)  # twice the root mean square norm


@dataclass(frozen=True)
class World:
    """A kind of simulated world.

    Attributes:
        prior: makes domain, kernel and noise. environment: makes the function that moves.
        drift: B16's epsilon, where the world has one.
        norm_bound: B. trials: how many are played.
    """

    prior: Callable[[], Prior]
    environment: Callable[[Prior], Environment[Any]]
    drift: float | None = None
    norm_bound: float = DRAWN
    trials: int = TRIALS


def _line(kernel: Kernel = SE(0.2)) -> Prior:  # noqa: B008
    return Prior(Grid([0, 1], size=POINTS), kernel, NOISE**2)


def _square() -> Prior:
    """As many points, in two dimensions."""
    return Prior(Grid([0, 1], [0, 1], size=math.isqrt(POINTS)), SE(0.2), NOISE**2)


def _noisy() -> Prior:
    return _line().with_noise_variance((3 * NOISE) ** 2)


def _sphere() -> Prior:
    """H23's points with a kernel under which they resemble one another."""
    return Prior(unit_sphere(POINTS, 10), SE(1.0), NOISE**2)


def _bumps() -> Prior:
    """M25's kernel."""
    return Prior(Grid([-50, 50], size=POINTS), 0.5 * SE(3.0), NOISE**2)


def _evenly(changes: int) -> list[int]:
    return [round(STEPS * (number + 1) / (changes + 1)) for number in range(changes)]


def _cosine(turns: int) -> Callable[[Prior], Environment[Any]]:
    """H23's phase, 0 to pi, pi to 2 pi, with its pauses; `turns` times in the run."""
    shares = np.array([0.1, 0.3, 0.4, 0.6])
    times = np.concatenate([(turn + shares) * STEPS / turns for turn in range(turns)])
    phases = np.concatenate([(2 * turn + np.array([0, 1, 1, 2])) * np.pi for turn in range(turns)])
    return lambda prior: MovingCosine(prior, times=times, phases=phases)


WORLDS: dict[str, World] = {
    "static": World(_line, lambda prior: MarkovDrift(prior, drift=0.0), drift=0.0),
    "Markov 0.001": World(_line, lambda prior: MarkovDrift(prior, drift=0.001), drift=0.001),
    "Markov 0.01": World(_line, lambda prior: MarkovDrift(prior, drift=0.01), drift=0.01),
    "Markov 0.1": World(_line, lambda prior: MarkovDrift(prior, drift=0.1), drift=0.1),
    "Markov 0.01, Matern": World(
        lambda: _line(Matern(2.5, 0.2)), lambda prior: MarkovDrift(prior, drift=0.01),
        drift=0.01, trials=FEWER_TRIALS,
    ),
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
    "Markov 0.01, square": World(
        _square, lambda prior: MarkovDrift(prior, drift=0.01), drift=0.01, trials=FEWER_TRIALS
    ),
    "Markov 0.003, l = 0.05": World(
        lambda: _line(SE(0.05)), lambda prior: MarkovDrift(prior, drift=0.003),
        drift=0.003, trials=FEWER_TRIALS,
    ),
    "Markov 0.03, l = 0.5": World(
        lambda: _line(SE(0.5)), lambda prior: MarkovDrift(prior, drift=0.03),
        drift=0.03, trials=FEWER_TRIALS,
    ),
    "Markov 0.01, noise 0.3": World(
        _noisy, lambda prior: MarkovDrift(prior, drift=0.01), drift=0.01, trials=FEWER_TRIALS
    ),
}  # fmt: skip


def simulated(name: str) -> Setup:
    """One of `WORLDS`, with everybody who plays."""
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
    return Setup(environment, players(known), STEPS, _settings(known))


def _likely_drift(prior: Prior, functions: Any) -> float:
    """The median over functions of the drift of highest likelihood, were they seen everywhere."""
    noise = NOISE * np.random.default_rng(OTHERS_SEED).normal(size=functions.shape)
    found = [estimate_drift(values, prior=prior).drift for values in (functions + noise)[:5]]
    return float(np.median(found))


def _others(columns: int, table: RewardTable) -> RewardTable:
    """The columns halfway between those of `_every`."""
    return table.columns(np.arange(columns // 2, len(table.arms), columns))


def _every(columns: int, table: RewardTable) -> RewardTable:
    return table.columns(np.arange(0, len(table.arms), columns))


def _motorways(path: Path) -> RewardTable:
    """50 stations, drawn once."""
    table = read_speeds(path)
    return table.columns(np.sort(_drawn(table)[:50]))


def _other_motorways(path: Path) -> RewardTable:
    """50 others."""
    table = read_speeds(path)
    left = np.setdiff1d(np.arange(len(table.arms)), _drawn(table)[:50])
    return table.columns(left[:: len(left) // 50][:50])


def _drawn(table: RewardTable) -> Any:
    return np.random.default_rng(0).choice(len(table.arms), 50, replace=False)


@dataclass(frozen=True)
class Recording:
    """A recorded table.

    Attributes:
        data: name of the data set. read: the table from its file. unit: of the rewards.
        period: steps in a day, or of monthly data in a year; 1 if neither means anything.
    """

    data: str
    read: Callable[[Path], RewardTable]
    unit: str
    period: int = 1


RECORDINGS: dict[str, Recording] = {
    "Intel lab": Recording("intel-lab-table", read_table, "degrees C", 144),
    "PeMSD7": Recording("pems-speed", _motorways, "mph", 288),
    "US-101": Recording("us101-speed", lambda path: _every(3, read_speeds(path)), "mph", 288),
    "stocks": Recording("stocks", read_table, "dollars"),
    "Europe": Recording("europe-anomalies", europe, "degrees C", 12),
    "Iberia": Recording(
        "iberia-temperature", lambda path: _every(4, iberia(path)), "degrees C", 12
    ),
    "PeMSD7, others": Recording("pems-speed", _other_motorways, "mph", 288),
    "US-101, others": Recording(
        "us101-speed", lambda path: _others(3, read_speeds(path)), "mph", 288
    ),
}

UNSEEN = (
    "Markov 0.01, square", "Markov 0.003, l = 0.05", "Markov 0.03, l = 0.5",
    "Markov 0.01, noise 0.3", "PeMSD7, others", "US-101, others",
)  # fmt: skip
"""Cases that were named before auto had played them, and that had no say in anything."""
CHOSEN_ON = (
    "static", "Markov 0.001", "Markov 0.01", "Markov 0.1",
    "abrupt, 2 changes", "abrupt, 6 changes", "slow, 1 segment", "slow, 4 segments",
    "Intel lab", "PeMSD7", "US-101", "stocks",
)  # fmt: skip
"""Worlds on which auto's defaults were chosen, and recordings on which drafts of it were tried."""


def recorded(name: str, path: Path) -> Setup:
    """One of `RECORDINGS`: the first 60 % to learn the prior from, the rest to play.

    Rewards are in deviations of the prior, root mean square over the arms.
    """
    recording = RECORDINGS[name]
    table = recording.read(path)
    first = math.floor(TRAIN * len(table.values))
    deviation = float(np.sqrt(table.values[:first].var(axis=0, ddof=1).mean()))
    values = table.values / deviation
    history, rest = values[:first], values[first:]
    prior = prior_from_history(history, table.arms)
    farthest = np.abs(history - prior.mean).max(axis=0) / np.sqrt(prior.variance)
    known = WorldKnowledge(
        prior,
        len(rest),
        variation=None,
        drift=estimate_drift(history).cautious,
        markov=False,
        norm_bound=float(farthest.max()),
        gain=float(greedy_gain(prior, len(rest))[-1]),
        learned=learn(history, table.arms, likely=calendar_periods(table.times)),
        period=recording.period,
    )
    settings = {"one deviation": f"{deviation:.4g} {recording.unit}"} | _settings(known)
    return Setup(RecordedRewards(rest), players(known, random_start=True), len(rest), settings)


def _settings(known: WorldKnowledge) -> dict[str, Any]:
    return {
        "variation": known.variation, "drift": known.drift, "norm_bound": known.norm_bound,
        "gain": known.gain, "period and window": known.memory, "discount": known.discount,
        "period under Markov drift": known.markov_memory,
        "elimination_period": known.elimination_period, "reward_bound": known.reward_bound,
    }  # fmt: skip
