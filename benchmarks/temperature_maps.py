"""Figures 3 and 4 of Mauduit, Berthier, Simonetto 2025: monthly temperature anomalies over a map.

Regret per month and squared prediction error over the whole map, for the seven policies and the
adaptive one, on the recorded maps found beside the project (`shared/data`). The prior is the
empirical covariance and mean of the first half of the months, in which alpha and epsilon are
chosen, too, by the squared prediction error of W-SparQ and TV-GP-UCB; the second half is played,
10 trials for the policies that act at random. Width sqrt(0.8 log 4t); period, window and discount
as in `figure_m25`. The paper claims that W-SparQ has the lowest error.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.data import read_monthly
from driftpeak.environments import Table
from driftpeak.replay import prior_from_history

FOLDER = Path(__file__).parents[2] / "shared" / "data"
MAPS = {
    "Europe": "europe_berkeley_anomalies.csv.gz",
    "France": "france_temperature.csv.gz",
}
TRIALS = 10
EXPONENTS = (0.5, 1.0, 1.5, 2.0, 3.0)
DRIFTS = (0.03, 0.1, 0.2, 0.4, 0.7)
TARGETS: dict[str, str] = {}


def run() -> dict[str, Any]:
    """Per map and policy: regret, squared error and side queries."""
    figures: dict[str, Any] = {}
    for place, name in MAPS.items():
        if not (FOLDER / name).exists():
            figures[f"{place}: no file"] = name
            continue
        values = read_monthly(FOLDER / name, since="1975-01").values
        half = len(values) // 2
        prior = prior_from_history(values[:half], [str(i) for i in range(values.shape[1])])
        alpha = min(EXPONENTS, key=lambda a: error(prior, values[:half], exponent=a))
        drift = min(DRIFTS, key=lambda e: error(prior, values[:half], drift=e))
        figures |= {f"{place}: points": values.shape[1], f"{place}: months played": half}
        figures |= {f"{place}: alpha": alpha, f"{place}: epsilon": drift}
        runs = play(prior, make_policies(prior, half, alpha, drift), values[half:])
        for policy in map(str, runs["policy"].values):
            own = runs.sel(policy=policy)
            figures[f"{place}, {policy}: regret per month"] = float(own["regret"].mean())
            figures[f"{place}, {policy}: squared error"] = float(own["squared_error"].mean())
            queries = float(own["side_queries"].sum("step").mean())
            if queries:
                figures[f"{place}, {policy}: side queries"] = queries
    return figures


def make_policies(prior: dp.Prior, steps: int, alpha: float, drift: float) -> dict[str, Any]:
    """The paper's seven and the adaptive one, with the default width."""
    period = max(2, round(dp.greedy_gain(prior, steps)[-1] ** 0.25 * math.sqrt(steps)))
    return {
        "GP-UCB": dp.GPUCB(prior),
        "R-GP-UCB": dp.RGPUCB(prior, period=period),
        "SW-GP-UCB": dp.SWGPUCB(prior, window=period),
        "TV-GP-UCB": dp.TVGPUCB(prior, drift=drift),
        "W-GP-UCB": dp.WGPUCB(prior, discount=1 - 1 / period),
        "SparQ": dp.SparQ(prior),
        "W-SparQ": dp.WSparQ(prior, exponent=alpha),
        "adaptive": dp.AdaptiveSparQ(prior),
    }


def play(prior: dp.Prior, policies: dict[str, Any], values: Any, trials: int = TRIALS) -> Any:
    """The policies on the recorded months; the expert's answers are noisy, as the prior says."""
    world = Table(values, noise_variance=prior.noise_variance)
    settings: dict[str, Any] = {"steps": len(values), "trials": trials, "predictions": True}
    return dp.simulate(policies, world, progress=False, **settings)


def error(prior: dp.Prior, values: Any, **given: float) -> float:
    """Squared error of W-SparQ (exponent) or TV-GP-UCB (drift) on the training months."""
    make: Any = dp.WSparQ if "exponent" in given else dp.TVGPUCB
    runs = play(prior, {"it": make(prior, **given)}, values, trials=3)
    return float(np.mean(runs["squared_error"].values))
