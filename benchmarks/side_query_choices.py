"""Regret of SparQ and W-SparQ on M25's synthetic functions: as published, and with other options.

The cases are the main cases of `driftpeak reproduce m25-fig2`: 20 centres, evenly spaced or drawn,
with the width (12) or sqrt(0.8 log 4t) for all policies. As published, SparQ and W-SparQ ask after
the reward and count a point as often as it was sampled. Figures are their regret per step, and the
paired reduction of regret by other options. Two more parameters that M25 leaves open are varied
with drawn centres: the rate c of side queries and the norm bound B. The figures are then the
reductions relative to the best policy without side queries, for unknown variation. All intervals
are 95 %.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.experiments.bootstrap import interval
from driftpeak.experiments.claims import difference
from driftpeak.experiments.papers import mauduit2025 as m25

TRIALS = 10
OPTIONS: dict[str, dict[str, Any]] = {
    "asked before": {"asks": "before", "multiplicity": True},
    "distinct points alike": {"asks": "after", "multiplicity": False},
    "both": {"asks": "before", "multiplicity": False},
}


def run() -> dict[str, Any]:
    """Return regrets, and paired differences with their intervals as text."""
    figures: dict[str, Any] = {}
    for choice in m25.MAIN:
        setup, width = m25.setup(choice), m25.WIDTHS[choice.width]
        published = {name: setup.policies[name] for name in m25.SIDES}
        others = {
            f"{name}, {label}": policy
            for label, option in OPTIONS.items()
            for name, policy in sides(setup, width, **option).items()
        }
        runs = play({**published, **others}, setup.environment)
        for name in m25.SIDES:
            figures[f"{choice}: {name} as published"] = mean(runs, name)
            for label in OPTIONS:
                figures[f"  {name}, {label}, saves ({choice})"] = saved(
                    runs, name, f"{name}, {label}"
                )
        if choice.placing == "random":
            figures |= varied(f"{choice}, c = 3", setup, width, rate=3.0)
            if choice.width == "width (12)":
                width = dp.widths.Heteroscedastic(1.0, m25.DELTA)
                figures |= varied(f"{choice}, B = 1", m25.setup(choice, width), width)
    return figures


def sides(setup: Any, width: Any, **options: Any) -> dict[str, Any]:
    """Return SparQ and W-SparQ with the alpha of the case."""
    sparq, w_sparq = m25.SIDES
    prior, exponent = setup.policies[sparq].acting.prior, setup.settings["exponent"]
    return {
        sparq: dp.SparQ(prior, width=width, **options),
        w_sparq: dp.WSparQ(prior, exponent=exponent, width=width, **options),
    }


def varied(label: str, setup: Any, width: Any, **options: Any) -> dict[str, Any]:
    """Return the reductions of regret relative to the best policy without side queries."""
    silent = {name: setup.policies[name] for name in m25.OTHERS}
    asking = sides(setup, width, **m25.AS_PUBLISHED, **options)
    runs = play({**silent, **asking}, setup.environment)
    best = min(m25.OTHERS, key=lambda name: mean(runs, name))
    figures: dict[str, Any] = {f"{label}: {best}": mean(runs, best)}
    return figures | {f"  {name} saves ({label})": saved(runs, best, name) for name in m25.SIDES}


def play(policies: Mapping[str, Any], world: Any) -> Any:
    """Run all policies on the same functions."""
    return dp.simulate(policies, world, steps=m25.STEPS, trials=TRIALS, seed=0, progress=False)


def mean(runs: Any, name: str) -> float:
    """Return the regret per step."""
    return float(runs["regret"].sel(policy=name).mean())


def saved(runs: Any, worse: str, better: str) -> str:
    """Return the reduction of regret per step by `better`, with its interval over trials."""
    columns = [runs["regret"].sel(policy=name).mean("step").values for name in (worse, better)]
    samples = np.stack(columns, axis=-1)
    low, high = interval(samples, difference)
    return f"{float(difference(samples)):.3f} [{low:.3f}, {high:.3f}]"
