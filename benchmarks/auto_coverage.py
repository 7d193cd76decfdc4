"""Coverage of auto's one-step 90 % predictive intervals in every case of the tournament.

The tournament's environments have 10 trials each, and its recordings one. The interval lies between
the 5 % and the 95 % quantile of auto's forecast mixture for the chosen point, before its reward is
observed. Figures are the shares of rewards within the interval over all steps. Recordings without
data are skipped.
"""

from typing import Any

import jax.numpy as jnp
import jax.scipy.stats as stats
import numpy as np

import driftpeak as dp
from driftpeak.experiments.tournament.environments import WORLDS, simulated
from driftpeak.experiments.tournament.players import AUTO
from driftpeak.experiments.tournament.recordings import RECORDINGS, recorded
from driftpeak.offline.data import data_path
from driftpeak.policies import Policy, RandomStart
from driftpeak.policies.player import Reading
from driftpeak.policies.wrappers import WrappedState, Wrapping

TRIALS, TAIL = 10, 0.05
TARGETS = {
    "worlds: lowest share": ">= 0.87", "worlds: highest share": "<= 0.93",
    "recordings: lowest share": ">= 0.85", "recordings: highest share": "<= 0.95",
}  # fmt: skip


class Foretold(Policy):
    """Auto with a reading of the quantile of each reward in its forecast."""

    auto: dp.Auto

    @property
    def points(self) -> int:
        return self.auto.points

    def prepare(self, times: Any) -> "ForetoldPlayer":
        return ForetoldPlayer(self.auto.prepare(times))


class ForetoldPlayer(Wrapping):
    """Player of `Foretold`; its own state is the forecast probability below the last reward."""

    def init(self, key: Any) -> WrappedState:
        return WrappedState(self.player.init(key), jnp.full((), 0.5))

    def tell(self, state: WrappedState, query: Any, reward: Any, time: Any) -> WrappedState:
        weights, means, variances = self.player.predictive(state.own, query, time)
        level = weights @ stats.norm.cdf((reward - means) / jnp.sqrt(variances))
        return WrappedState(self.player.tell(state.own, query, reward, time), level)

    @property
    def readings(self) -> dict[str, Reading]:
        return {"level": Reading("forecast probability of values below the reward")}

    def read(self, state: WrappedState) -> dict[str, Any]:
        return {"level": state.more}


def share(setup: Any, trials: int) -> float:
    """Return the share of rewards within the interval."""
    auto = setup.policies[AUTO]
    if isinstance(auto, RandomStart):
        auto = auto.policy
    runs = dp.simulate(
        {AUTO: Foretold(auto)}, setup.environment, steps=setup.steps, trials=trials,
        readings=True, progress=False,
    )  # fmt: skip
    level = runs["level"].values
    return float(((level >= TAIL) & (level <= 1 - TAIL)).mean())


def run() -> dict[str, float]:
    """Return shares by case, and their smallest and largest values."""
    figures: dict[str, float] = {}
    kinds: dict[str, dict[str, float]] = {
        "worlds": {name: share(simulated(name), TRIALS) for name in WORLDS},
        "recordings": {
            name: share(recorded(name, data_path(recording.data)), 1)
            for name, recording in RECORDINGS.items()
            if data_path(recording.data).exists()
        },
    }
    for kind, shares in kinds.items():
        figures |= {f"  {name}": share for name, share in shares.items()}
        if shares:
            figures[f"{kind}: lowest share"] = float(np.min(list(shares.values())))
            figures[f"{kind}: highest share"] = float(np.max(list(shares.values())))
    return figures
