"""Time and memory of every policy on 10^5 and 10^6 points in two to four dimensions.

Each policy runs ten steps on grids on the unit cube in a separate process, with SE, l = 0.2, and
noise variance 0.01. Memory is the peak memory of the process minus its memory after importing, so
it includes programs and compilation, 0.2 GiB. For comparison, two sizes are reported: the feature
matrix (8 bytes x points x features), which is not built for so many points, and ten observations in
function space (8 bytes x points x 10). Matern, nu = 3/2, has too many features in the plane.

Thompson sampling draws from the features. In four dimensions there are 19,346 features or more. A
draw needs a factorisation of this size and is omitted, as is adaptive R-PERP, which factorises an
equally large matrix for its band.

    MANY_POINTS=47x47x47 MANY_POINTS_POLICIES="TV-GP-UCB;PE" python -m benchmarks many_points
"""

import os
import time
from typing import Any

import driftpeak as dp
from benchmarks._playing import LENGTHSCALE, NOISE, POLICIES, measured

STEPS = 10
SHAPES = os.environ.get(
    "MANY_POINTS", "316x316,47x47x47,18x18x18x18,1000x1000,100x100x100,32x32x32x32"
)
CHOSEN = os.environ.get("MANY_POINTS_POLICIES", ";".join(POLICIES)).split(";")
LEFT_OUT = {("GP-UCB, Thompson", 4), ("adaptive R-PERP", 4)}
TARGETS = {
    f"316x316: {name}: memory (GiB)": "<= 0.73"
    for name in POLICIES  # 0.4 and two feature matrices
}


def run() -> dict[str, Any]:
    """Return the features of each grid, and seconds per step and memory of every policy."""
    figures: dict[str, Any] = {}
    for text in SHAPES.split(","):
        shape = tuple(map(int, text.split("x")))
        prior = dp.Prior(dp.Grid(*[[0, 1]] * len(shape), size=shape), dp.SE(LENGTHSCALE), NOISE)
        started = time.perf_counter()
        figures[f"{text}: features"] = prior.features.rank
        figures[f"{text}: seconds for them"] = time.perf_counter() - started
        figures[f"{text}: points x features (GiB)"] = 8 * len(prior) * prior.features.rank / 2**30
        figures[f"{text}: points x steps (GiB)"] = 8 * len(prior) * STEPS / 2**30
        for name in CHOSEN:
            if (name, len(shape)) not in LEFT_OUT:
                figures |= _figures(f"{text}: {name}", measured(name, shape, steps=STEPS))
        if len(shape) == 2 and "TV-GP-UCB" in CHOSEN:
            outcome = measured("TV-GP-UCB", shape, steps=STEPS, kernel="Matern")
            figures |= _figures(f"{text}: TV-GP-UCB, Matern", outcome)
    return figures


def _figures(label: str, outcome: dict[str, Any]) -> dict[str, Any]:
    if "failed" in outcome:
        return {f"{label}: failed": outcome["failed"]}
    return {
        f"{label}: seconds a step": outcome["seconds"],
        f"{label}: memory (GiB)": outcome["memory"],
    }
