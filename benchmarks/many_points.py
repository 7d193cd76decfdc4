"""10^5 and 10^6 points in two to four dimensions: seconds and memory of every policy.

Grids on the unit cube, ten steps of each policy in a process of its own, noise variance 0.01; SE,
l = 0.2. Memory is the most that the process held, less what it held after importing, so that
programs and what compiling takes are in it, 0.2 GiB. Beside it what the feature matrix would take
(8 bytes x points x features), which is not made on so many points, and what ten observations take
in function space (8 bytes x points x 10). Matern, nu = 3/2, has too many features in the plane.

Thompson's rule draws from the features: in four dimensions, with 19,346 and more, a draw is a
factorisation of that size, and is left out, as is adaptive R-PERP, which factorises as large a
matrix for a band.

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
    """Per grid: features, and of every policy seconds of a step and memory."""
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
            found = measured("TV-GP-UCB", shape, steps=STEPS, kernel="Matern")
            figures |= _figures(f"{text}: TV-GP-UCB, Matern", found)
    return figures


def _figures(label: str, found: dict[str, Any]) -> dict[str, Any]:
    if "failed" in found:
        return {f"{label}: failed": found["failed"]}
    return {
        f"{label}: seconds a step": found["seconds"],
        f"{label}: memory (GiB)": found["memory"],
    }
