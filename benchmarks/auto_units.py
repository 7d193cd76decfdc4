"""Effect of units and offsets of rewards on auto's regret after the first 30 steps, at most 10 %.

Rewards in other units and with an offset (in standard deviations of the prior) are compared with
unchanged rewards on the same functions: Markov drift 0.01 and two abrupt changes on 50 points of
[0, 1], 250 steps, 60 trials each. Figures are the regret per step after the first 30 steps relative
to the unchanged rewards, with the 95 % bootstrap interval over the trials. Rewards with three times
the prior's noise are compared, by environment, with TV-GP-UCB with the true noise and the drift of
the first environment. In addition, the absolute regret is given for the 50 steps before and after
the unit shrinks to a thousandth.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

import driftpeak as dp
from driftpeak.environments import Environment
from driftpeak.experiments.bootstrap import interval
from driftpeak.experiments.tournament.scores import ratio

PRIOR = dp.Prior(dp.Grid([0, 1], size=50), dp.SE(0.2), noise_variance=0.01)
DRIFT = 0.01
WORLDS: tuple[Environment[Any], ...] = (
    dp.MarkovDrift(PRIOR, drift=DRIFT),
    dp.AbruptSwitches(PRIOR, changes=[75, 150]),
)
UNITS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6)
OFFSETS = (-1000.0, -100.0, -10.0, -3.0, 3.0, 10.0, 100.0, 1000.0)
STEPS, TRIALS, BEGIN, JUMP = 250, 60, 30, 125
TARGETS = {"all units": "<= 1.1", "all offsets": "<= 1.1"}


class Moved(Environment[Any]):
    """An environment with the rewards of another times `unit` plus `offset`, and more noise."""

    world: Environment[Any]
    unit: Any
    offset: Any
    loudness: Any  # factor of the noise
    jump: Any  # time after which the unit is a thousandth

    @property
    def noise_variance(self) -> Any:
        return self.world.noise_variance * (self.unit * self.loudness) ** 2

    def init(self, key: Any) -> Any:
        return self.world.init(key)

    def step(self, state: Any, time: Any) -> Any:
        state, values = self.world.step(state, time)
        unit = jnp.where(time > self.jump, 1e-3, 1.0) * self.unit
        return state, unit * (values + self.offset)


def run() -> dict[str, float]:
    """Return relative regrets and their intervals."""
    usual, figures = late({}), {}
    for kind, moves in (("unit", UNITS), ("offset", OFFSETS)):
        each = [late({kind: move}) for move in moves]
        for move, regret in zip(moves, each, strict=True):
            figures |= compared(f"{kind} {move:g}", regret, usual)
        figures |= compared(f"all {kind}s", np.mean(each, axis=0), usual)
    informed = dp.TVGPUCB(PRIOR.with_noise_variance(9 * PRIOR.noise_variance), drift=DRIFT)
    noisy, against = late({"loudness": 3.0}), late({"loudness": 3.0}, informed)
    for number, world in enumerate(WORLDS):
        own = slice(number * TRIALS, (number + 1) * TRIALS)
        figures |= compared(f"noise 3, {type(world).__name__}", noisy[own], against[own])
    jumped = played({"jump": float(JUMP)}, dp.Auto(PRIOR))
    figures["regret, 50 steps before the jump of the unit"] = jumped[:, JUMP - 50 : JUMP].mean()
    figures["regret, 50 steps after the jump"] = 1e3 * jumped[:, JUMP : JUMP + 50].mean()
    figures["regret, the next 50 steps"] = 1e3 * jumped[:, JUMP + 50 : JUMP + 100].mean()
    return figures


def late(moved: dict[str, float], policy: dp.Policy | None = None) -> np.ndarray:
    """Return the regret per step after the first steps, in the unit of the rewards, by trial."""
    regret = played(moved, policy or dp.Auto(PRIOR))[:, BEGIN:].mean(axis=1)
    return regret / moved.get("unit", 1.0)


def played(moved: dict[str, float], policy: dp.Policy) -> np.ndarray:
    """Return the regret, shape `(trial, step)`."""
    usual = {"unit": 1.0, "offset": 0.0, "loudness": 1.0, "jump": np.inf}
    numbers = {name: np.float64(value) for name, value in (usual | moved).items()}
    return np.concatenate(
        [
            dp.simulate({"it": policy}, Moved(world, **numbers), steps=STEPS, trials=TRIALS)[
                "regret"
            ].values[0]
            for world in WORLDS
        ]
    )


def compared(name: str, regret: np.ndarray, usual: np.ndarray) -> dict[str, float]:
    """Return the ratio of the means and its interval."""
    samples = np.stack([regret, usual], axis=-1)
    low, high = interval(samples, ratio)
    return {name: float(ratio(samples)), f"  {name}, from": low, f"  {name}, to": high}
