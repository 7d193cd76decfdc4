"""Regret of the adaptive policy and W-SparQ at equal side-query budgets.

In each environment the adaptive policy runs first. Then W-SparQ runs on the same functions and
noise, with the alpha that gives as many side queries. The figure is the paired difference of their
regrets per step, positive if the adaptive policy has the lower regret. The width is
sqrt(0.8 log 4t), c = 1, a = 1/4, and there are 500 steps.

The two policies differ in the times of their queries and in their posteriors in between: W-SparQ
injects noise, and the adaptive policy keeps all information. A third run, W-SparQ without injection
(slope 0) at the same windows, separates the two effects.
"""

import math
from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.theory.side_queries import side_query_budget, side_query_windows

STEPS, TRIALS = 500, 40
ALPHAS = np.geomspace(0.1, 30, 300)


def run() -> dict[str, Any]:
    """Return side queries, matched alpha, regrets and paired differences by environment."""
    line = dp.Prior(dp.Grid([0, 1], size=100), dp.SE(lengthscale=0.2), noise_variance=0.01)
    wide = dp.Prior(dp.Grid([-50, 50], size=400), 0.5 * dp.SE(lengthscale=3.0), noise_variance=0.01)
    environments = {
        "M25, 20 centres": (wide, dp.MovingCoefficients(wide)),
        "injection 0.5": (line, dp.InjectedDrift(line, exponent=0.5)),
        "injection 1": (line, dp.InjectedDrift(line, exponent=1.0)),
        "injection 1.5": (line, dp.InjectedDrift(line, exponent=1.5)),
        "Markov drift 0.001": (line, dp.MarkovDrift(line, drift=0.001)),
        "Markov drift 0.01": (line, dp.MarkovDrift(line, drift=0.01)),
        "Markov drift 0.1": (line, dp.MarkovDrift(line, drift=0.1)),
        "switches at 100, 200": (line, dp.AbruptSwitches(line, changes=[100, 200])),
        "no change": (line, dp.MarkovDrift(line, drift=0.0)),
    }
    figures: dict[str, Any] = {}
    for name, (prior, world) in environments.items():
        adaptive = play(dp.AdaptiveSparQ(prior), world)
        queries = float(adaptive["side_queries"].sum("step").mean())
        alpha = alpha_for(queries)
        scheduled = play(dp.WSparQ(prior, exponent=alpha), world)
        keeping = play(dp.WSparQ(prior, exponent=alpha, slope=0.0), world)
        own, other, kept = (
            runs["regret"].mean("step").values[0] for runs in (adaptive, scheduled, keeping)
        )
        figures |= {
            f"{name}: side queries, adaptive": queries,
            f"  side queries, W-SparQ ({name})": float(
                scheduled["side_queries"].sum("step").mean()
            ),
            f"  W-SparQ's alpha ({name})": float(alpha),
            f"  regret, adaptive ({name})": float(own.mean()),
            f"  regret, W-SparQ ({name})": float(other.mean()),
            f"  W-SparQ minus adaptive ({name})": float((other - own).mean()),
            f"  standard error ({name})": float((other - own).std(ddof=1)) / math.sqrt(TRIALS),
            f"  W-SparQ, slope 0, minus adaptive ({name})": float((kept - own).mean()),
            f"  its standard error ({name})": float((kept - own).std(ddof=1)) / math.sqrt(TRIALS),
        }
    return figures


def play(policy: dp.Policy, world: Any) -> Any:
    """Run one policy on the functions that all policies share."""
    return dp.simulate({"it": policy}, world, steps=STEPS, trials=TRIALS, seed=0, progress=False)


def alpha_for(queries: float) -> float:
    """Return the alpha at which W-SparQ may make this many side queries."""
    budget = np.minimum(side_query_budget(STEPS), np.arange(STEPS))
    made = [budget[side_query_windows(STEPS, exponent=alpha)].sum() for alpha in ALPHAS]
    return float(ALPHAS[np.argmin(np.abs(np.array(made) - queries))])
