"""Acquisition function "influence" compared with "ucb" in every case of the tournament.

`auto` runs with acquisition="influence" and with "ucb", with 20 trials in each environment and 5
first points on each recording. Figures are the regret of "influence" relative to "ucb", with 95 %
bootstrap intervals over trials (environments) or blocks of about sqrt(T) steps (recordings), and
geometric means over the cases. Recordings without data are skipped.
"""

from typing import Any

import driftpeak as dp
from benchmarks._cases import ratios
from driftpeak._core.arguments import arguments_of, parameters_of
from driftpeak.experiments.experiment import Setup
from driftpeak.experiments.tournament.players import AUTO


def run() -> dict[str, Any]:
    """Return ratios by case and their means."""
    return ratios(both, "ucb")


def both(setup: Setup) -> dict[str, Any]:
    """Return the case's `auto` with both acquisition functions."""
    auto: Any = setup.policies[AUTO]
    random_start = isinstance(auto, dp.RandomStart)
    own = arguments_of(auto.policy if random_start else auto, parameters_of(dp.Auto))
    assert own is not None
    made = {name: dp.Auto(**(own | {"acquisition": name})) for name in ("influence", "ucb")}
    return {n: {AUTO: dp.RandomStart(one) if random_start else one} for n, one in made.items()}
