"""What ADA-OPKB's rivals in H23's worlds are tuned to: their memory, in worlds of another seed.

SW-, WGP- and TV-GP-UCB in the worlds of figures 1a, 1b and 2b, with l = 0.2 and l = 1: T = 10,000,
2 trials for every setting. `experiments.papers.hong2023.TUNED` holds the best.

    WORLDS="h23-fig1a, l = 0.2" python -m benchmarks hong_rivals    # some of them
"""

import os
import sys
from typing import Any

import driftpeak as dp
from driftpeak.experiments.papers.hong2023 import (
    FIGURES,
    GRIDS,
    STEPS,
    TUNED,
    prior_with,
    tuned_policy,
    world_of,
)

TRIALS, SEED = 2, 2025


def run() -> dict[str, Any]:
    """The best setting of every family, and the regret of all of them."""
    figures: dict[str, Any] = {}
    wanted = os.environ.get("WORLDS")
    for id in FIGURES:
        for length in (0.2, 1.0):
            name = f"{id}, l = {length:g}"
            if wanted and name not in wanted.split(";"):
                continue
            prior = prior_with(length)
            for family, grid in GRIDS.items():
                policies = {f"{x:g}": tuned_policy(prior, family, x) for x in grid}
                runs = dp.simulate(
                    policies, world_of(id, prior), steps=STEPS, trials=TRIALS, seed=SEED,
                    progress=False,
                )  # fmt: skip
                regret = runs["regret"].sum("step").mean("trial").to_series().round(1)
                best = str(regret.idxmin())
                figures[f"{name}: {family}, best"] = best
                figures["  chosen"] = str(TUNED.get((id, length), {}).get(family))
                figures[f"  regret ({name}, {family})"] = regret.to_dict()
                print(name, family, best, regret.to_dict(), file=sys.stderr, flush=True)
    return figures
