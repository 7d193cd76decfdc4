"""What the paper leaves open in its Figure 2: does the order of the policies hinge on it?

The same run as `figure_m25` with 10 trials, varying one choice at a time: the width, the number of
centres, the noise variance, and the rate c of side queries. Per variation, the regret of the best
policy that asks nobody, and what SparQ, W-SparQ and the adaptive policy save against it (paired,
with the standard error beside it).
"""

from typing import Any

import driftpeak as dp
from benchmarks.figure_m25 import STEPS, fit, make_policies, make_prior, report
from driftpeak.numerics.threads import single_threaded_lapack

TRIALS = 10
PAPER = dp.widths.Heteroscedastic(5.0, 0.1)
CHOICES: dict[str, dict[str, Any]] = {
    "as figure_m25": {},
    "width sqrt(0.8 log 4t)": {"width": dp.widths.ScaledLog()},
    "width (12), B = 1": {"width": dp.widths.Heteroscedastic(1.0, 0.1)},
    "10 centres": {"centres": 10},
    "50 centres": {"centres": 50},
    "noise variance 0.1": {"noise_variance": 0.1},
    "noise variance 0.001": {"noise_variance": 0.001},
    "c = 3": {"rate": 3.0},
    "c = 3, width sqrt(0.8 log 4t)": {"rate": 3.0, "width": dp.widths.ScaledLog()},
}


def run() -> dict[str, Any]:
    """Per choice: the best of the others, the paired savings, and side queries."""
    figures: dict[str, Any] = {}
    for name, choice in CHOICES.items():
        prior = make_prior(choice.get("noise_variance", 0.01))
        world = dp.MovingCoefficients(prior, centres=choice.get("centres", 20))
        with single_threaded_lapack():
            alpha, drift = fit(prior, world)
        policies = make_policies(
            prior, choice.get("width", PAPER), alpha, drift, choice.get("rate", 1.0)
        )
        runs = dp.simulate(policies, world, steps=STEPS, trials=TRIALS, seed=0, progress=False)
        found = report(runs)
        gaps = {key: value for key, value in found.items() if " minus " in key}
        best = next(iter(gaps)).split(" minus ")[0]
        figures[f"{name}: alpha"] = alpha
        figures[f"  {best} ({name})"] = found[f"{best}: regret per step"]
        figures |= {f"  {key.strip()} ({name})": value for key, value in gaps.items()}
        for policy in ("SparQ", "W-SparQ", "adaptive"):
            figures[f"  side queries, {policy} ({name})"] = found[f"  side queries ({policy})"]
    return figures
