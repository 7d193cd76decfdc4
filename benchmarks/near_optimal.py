"""ADA-OPKB on H23's benchmark, R-PERP and OPKB with restarts on IT25's 900 points.

Seconds per trial include the construction of the policy and compilation. H23's published program
takes 44 to 52 s for a trial of ADA-OPKB. IT25 omits OPKB as infeasible on 900 points.
"""

import os
import time
from typing import Any

import numpy as np

import driftpeak as dp

os.environ["DRIFTPEAK_CACHE"] = "off"  # figures include compilation

HORIZON, TRIALS = 10_000, 25  # H23
STEPS, REPEATS = 5_000, 5  # IT25
TARGETS = {
    "ADA-OPKB, n = 100, T = 10,000 (s per trial)": "<= 1",
    **{
        f"{name}, n = 900, T = 5,000, {kernel} (s per trial)": "<= 30"
        for name in ("R-PERP", "OPKB with restarts")
        for kernel in ("SE", "Matern-5/2")
    },
}


def run() -> dict[str, Any]:
    """Return seconds per trial, regrets and restarts."""
    figures: dict[str, Any] = {}
    for name, changes in (("no switch", []), ("a switch at 3000", [3000])):
        prior = dp.Prior(dp.unit_sphere(100, 10), dp.SE(0.2), noise_variance=0.01)
        started = time.perf_counter()
        policy = dp.ADAOPKB(prior, horizon=HORIZON, reward_bound=1.0)
        world = dp.SignSwitches(prior, changes=changes or [HORIZON + 1], reward_limit=1.0)
        runs = dp.simulate({"it": policy}, world, steps=HORIZON, trials=TRIALS)
        if not changes:  # programs are cached in the second run
            seconds = (time.perf_counter() - started) / TRIALS
            figures["ADA-OPKB, n = 100, T = 10,000 (s per trial)"] = seconds
        restarts = runs["restarts"].values[0]
        figures[f"  regret of ADA-OPKB, {name}"] = float(runs["regret"].sum("step").mean())
        figures[f"  trials of {TRIALS} that restart, {name}"] = int(restarts.any(axis=1).sum())
        soon = restarts[:, 3000 : 127 * policy.block_length].any(axis=1)
        figures[f"  trials that restart after step 3000 in block 6, {name}"] = int(soon.sum())
        delays = [np.flatnonzero(trial[3000:]) for trial in restarts]
        first = [delay[0] + 1 for delay in delays if len(delay)]
        figures[f"  steps from 3000 to the next restart, {name}"] = _spread(first)
        others = {
            "random": dp.UniformRandom(prior),
            "OPKB": dp.OPKB(prior, horizon=HORIZON, reward_bound=1.0),
        }
        runs = dp.simulate(others, world, steps=HORIZON, trials=TRIALS)
        for other in others:
            regret = float(runs["regret"].sel(policy=other).sum("step").mean())
            figures[f"  regret of {other}, {name}"] = regret
    for kernel, label in ((dp.SE(0.5), "SE"), (dp.Matern(2.5, 0.5), "Matern-5/2")):
        prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=30), kernel, noise_variance=0.01)
        world = dp.AbruptSwitches(prior, changes=[STEPS / 5, 2 * STEPS / 5], supports=10)
        for name, make in (
            ("R-PERP", lambda p: dp.RPERP(p, horizon=STEPS, variation=5.0, norm_bound=4.0)),
            (
                "OPKB with restarts",
                lambda p: dp.ROPKB(p, horizon=STEPS, variation=5.0, reward_bound=10.0),
            ),
        ):
            started = time.perf_counter()
            dp.simulate({"it": make(prior)}, world, steps=STEPS, trials=REPEATS)
            seconds = (time.perf_counter() - started) / REPEATS
            figures[f"{name}, n = 900, T = 5,000, {label} (s per trial)"] = seconds
    return figures


def _spread(numbers: list[int]) -> str:
    return f"{min(numbers)} to {max(numbers)}" if numbers else "none"
