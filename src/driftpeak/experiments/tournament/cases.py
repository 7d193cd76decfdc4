"""All cases of the tournament, and their use for choosing auto's defaults."""

from collections.abc import Mapping
from functools import partial

from driftpeak.experiments.experiment import Case
from driftpeak.experiments.tournament.environments import WORLDS, simulated
from driftpeak.experiments.tournament.recordings import RECORDINGS, STARTS, recorded

CASES = (*WORLDS, *RECORDINGS)
OTHER_UNIT = "Markov 0.01, other unit"
KINDS: Mapping[str, tuple[str, ...]] = {
    "simulated environments": tuple(case for case in WORLDS if case != OTHER_UNIT),
    "simulated, rewards in another unit": (OTHER_UNIT,),
    "recordings": tuple(RECORDINGS),
}
"""Main results are reported by kind. In another unit only `auto` can learn the unit. On recordings
`auto` starts from a prior fitted to the training rows."""
UNSEEN = (
    "Markov 0.01, square", "Markov 0.003, l = 0.05", "Markov 0.03, l = 0.5",
    "Markov 0.01, noise 0.3", "rhythm", "rhythm, 2 changes", "two speeds", "momentum",
    "common bursts", "unrelated arms", "Markov 0.01, other unit", "PeMSD7, others",
    "US-101, others", "Intel lab, 3 weeks", "PeMSD7, whole", "France",
)  # fmt: skip
"""Held-out cases: fixed before auto had run on them, and not used for any choice."""
CHOSEN_ON = (
    "static", "Markov 0.001", "Markov 0.01", "Markov 0.1",
    "abrupt, 2 changes", "abrupt, 6 changes", "slow, 1 segment", "slow, 4 segments",
    "Intel lab", "PeMSD7", "US-101", "stocks",
)  # fmt: skip
"""Environments used to choose auto's defaults, and recordings used to test its drafts."""


def all_cases(against: str) -> tuple[Case, ...]:
    """Return every case with `auto` and its rivals, by their key in `RIVALS`."""
    return (
        *(Case(name, partial(simulated, name, against), world.trials, totals_only=True)
          for name, world in WORLDS.items()),
        *(Case(name, partial(recorded, name, against=against), STARTS, data=recording.data)
          for name, recording in RECORDINGS.items()),
    )  # fmt: skip
