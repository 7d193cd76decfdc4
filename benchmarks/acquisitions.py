"""Influence on what will still be true, against the deviation, in every case of the tournament.

`auto` with acquisition="influence" and with "ucb", all else equal: 20 trials in each world, 5 first
points on each recording. Figures: the regret of "influence" as a multiple of that of "ucb", with
95 % bootstrap intervals over trials (worlds) or blocks of about sqrt(T) steps (recordings), and the
geometric means over the cases. Recordings whose data are not there are left out.
"""

from typing import Any

import driftpeak as dp
from benchmarks._cases import ratios
from driftpeak._core.arguments import arguments_of, parameters_of
from driftpeak.experiments.experiment import Setup
from driftpeak.experiments.tournament.players import AUTO


def run() -> dict[str, Any]:
    """Ratios by case, and in the mean."""
    return ratios(both, "ucb")


def both(setup: Setup) -> dict[str, Any]:
    """`auto` as the case has it, either way."""
    auto: Any = setup.policies[AUTO]
    random_start = isinstance(auto, dp.RandomStart)
    own = arguments_of(auto.policy if random_start else auto, parameters_of(dp.Auto))
    assert own is not None
    made = {name: dp.Auto(**(own | {"acquisition": name})) for name in ("influence", "ucb")}
    return {n: {AUTO: dp.RandomStart(one) if random_start else one} for n, one in made.items()}
