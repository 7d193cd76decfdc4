"""Influence on what will still be true, against the deviation, in every case of the tournament.

`auto` with acquisition="influence" and with "ucb", all else equal: 20 trials in each world, 5 first
points on each recording. Figures: the regret of "influence" as a multiple of that of "ucb", with
95 % bootstrap intervals over trials (worlds) or blocks of about sqrt(T) steps (recordings), and the
geometric means over the cases. Recordings whose data are not there are left out.
"""

import math
from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.arguments import arguments_of, parameters_of
from driftpeak.data import data_path
from driftpeak.experiments.tournament.players import AUTO
from driftpeak.experiments.tournament.recordings import RECORDINGS, recorded
from driftpeak.experiments.tournament.worlds import WORLDS, simulated

TRIALS, STARTS, DRAWS = 20, 5, 4000


def run() -> dict[str, Any]:
    """Ratios by case, and in the mean."""
    cases = {name: regrets(simulated(name), TRIALS, blocks=False) for name in WORLDS}
    for name, recording in RECORDINGS.items():
        if data_path(recording.data).exists():
            cases[name] = regrets(recorded(name, data_path(recording.data)), STARTS, blocks=True)
    figures: dict[str, Any] = {}
    for kind, names in (("worlds", WORLDS), ("recordings", RECORDINGS)):
        logs = []
        for name in names:
            if name in cases:
                ratio, low, high = compared(*cases[name])
                figures[f"  {name}"] = f"{ratio:.2f} ({low:.2f} to {high:.2f})"
                logs.append(math.log(ratio))
        if logs:
            figures[f"{kind}: influence / ucb"] = float(np.exp(np.mean(logs)))
    return figures


def regrets(setup: Any, trials: int, *, blocks: bool) -> tuple[Any, Any]:
    """Of influence and of ucb, by trial or by block."""
    auto = setup.policies[AUTO]
    random_start = isinstance(auto, dp.RandomStart)
    own = arguments_of(auto.policy if random_start else auto, parameters_of(dp.Auto))
    assert own is not None
    both = {name: dp.Auto(**(own | {"acquisition": name})) for name in ("influence", "ucb")}
    policies = {n: dp.RandomStart(one) if random_start else one for n, one in both.items()}
    runs = dp.simulate(
        policies, setup.environment, steps=setup.steps, trials=trials, progress=False
    )
    lost = runs["regret"].transpose("policy", "trial", "step").values
    if not blocks:
        return tuple(lost.mean(axis=2))
    parts = np.array_split(lost.mean(axis=1), math.isqrt(setup.steps), axis=1)
    return tuple(np.stack([part.sum(axis=1) for part in parts], axis=1))


def compared(influence: Any, ucb: Any) -> tuple[float, float, float]:
    """The ratio of means, with its interval."""
    draws = np.random.default_rng(0).integers(len(ucb), size=(DRAWS, len(ucb)))
    ratios = influence[draws].mean(axis=1) / np.maximum(ucb[draws].mean(axis=1), 1e-12)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(influence.mean() / ucb.mean()), float(low), float(high)
