"""Decisions of every policy in a small run; `python tests/helpers/golden_decisions.py` saves them.

Only when other decisions are meant, and then the record's difference shows whose they are.

Rounding, which differs between machines and versions of JAX, must not matter. The points lie
irregularly: no two are alike by symmetry. The rewards are a formula, not drawn from a prior, whose
features rounding can turn. OPKB is left out: its strategies solve a program up to a tolerance. All
others decide the same with rewards changed by 1e-9, and compiled without optimisation
(XLA_FLAGS=--xla_backend_optimization_level=0).
"""

import json
from pathlib import Path

import numpy as np

import driftpeak as dp
from driftpeak.environments import RecordedRewards
from driftpeak.offline._policy_specs.policies import POLICIES, make_policy, make_width

FILE = Path(__file__).parents[1] / "golden" / "decisions.json"
STEPS, POINTS = 60, 25
TOLD = {"r-gp-ucb": "period=15", "sw-gp-ucb": "window=10", "r-perp": "period=30"}
"""Memories that matter in so few steps."""
FORMS = (
    "gp-ucb:acquisition=thompson",
    "sw-gp-ucb:window=10,form=function-space",
    "tv-gp-ucb:acquisition=thompson",
    "tv-gp-ucb:form=function-space",
    "w-gp-ucb:deviation=error",
)
NAMES = [name for name in POLICIES if "opkb" not in name]
TEXTS = (*(f"{name}:{TOLD[name]}" if name in TOLD else name for name in NAMES), *FORMS)


def arms() -> np.ndarray:
    """Coordinates in the unit square."""
    return np.random.default_rng(1).random((POINTS, 2))


def rewards() -> np.ndarray:
    """Two hills, one of which moves, shape `(STEPS, POINTS)`."""
    x, y = arms().T
    time = np.arange(1.0, STEPS + 1)[:, None]
    still = 0.8 * np.exp(-((x - 0.3) ** 2 + (y - 0.6) ** 2) / 0.08)
    return still + np.exp(-((x - 0.5 - 0.4 * np.cos(time / 15)) ** 2 + (y - 0.3) ** 2) / 0.08) - 0.5


def decisions(text: str) -> list[int]:
    """The points that a policy samples, one after another."""
    prior = dp.Prior(dp.Arms(arms()), dp.Matern(nu=2.5, lengthscale=0.3), noise_variance=0.01)
    policy = make_policy(text, prior, make_width("scaled-log", prior, STEPS), STEPS)
    world = RecordedRewards(rewards(), noise_variance=0.01)
    runs = dp.simulate({"it": policy}, world, steps=STEPS, seed=3, progress=False)
    return [int(point) for point in runs["action"].values[0, 0]]


if __name__ == "__main__":
    lines = ",\n".join(f"  {json.dumps(text)}: {json.dumps(decisions(text))}" for text in TEXTS)
    FILE.write_text(f"{{\n{lines}\n}}\n")
