"""Time and memory of a step by points, observations and trials: the curves of the scaling page.

The kernel is SE, l = 0.2, with noise variance 0.01, on grids on the unit square. Each figure is
from a separate process. The curves are seconds per step by number of points, 2,500 to a million,
and by number of trials simulated together, 1 to 256 on 2,500 points. Further curves are the memory
of a trial by number of observations, 16 to 1,024, on 10,000 points, in feature and in function
space, computed from its arrays. Each point of a curve is a line of
`benchmarks/measured/scaling.jsonl`, from which `python scripts/pictures.py` draws. Stored points
are not measured again; remove the file to repeat the measurement.

    SCALING_SIDES=50,100,316 python -m benchmarks scaling    # without the million points
"""

import math
from pathlib import Path
from typing import Any

import jax

import driftpeak as dp
from benchmarks._kept import Kept
from benchmarks._playing import LENGTHSCALE, NOISE, measured
from benchmarks._settings import whole_numbers

FILE = Path(__file__).parent / "measured" / "scaling.jsonl"
SIDES = whole_numbers("SCALING_SIDES", (50, 100, 178, 316, 562, 1000))
NAMES = ("TV-GP-UCB", "SW-GP-UCB", "WGP-UCB", "auto")
STEPS = 64  # fills SW-GP-UCB's window, and includes a recomputation of the mean
TRIALS = (1, 4, 16, 64, 256)
OBSERVATIONS = (16, 64, 256, 1024)


def run() -> dict[str, Any]:
    """Return all points of all curves, and the log-log slopes between their ends."""
    kept = Kept(FILE)
    figures: dict[str, Any] = {}
    for name in NAMES:
        curves = {
            "points": [(side**2, _seconds(kept, name, side, 1)) for side in SIDES],
            "trials": [(trials, _seconds(kept, name, 50, trials)) for trials in TRIALS],
        }
        for against, curve in curves.items():
            for count, seconds in curve:
                figures[f"{name}: seconds a step, {count:,} {against}"] = seconds
            figures[f"{name}: slope against {against}"] = _slope(curve)
    for form in ("feature-space", "function-space"):
        curve = [(count, _held(kept, form, count)) for count in OBSERVATIONS]
        for count, memory in curve:
            figures[f"TV-GP-UCB, {form}: MiB a trial, {count} observations"] = memory / 2**20
        figures[f"TV-GP-UCB, {form}: slope against observations"] = _slope(curve)
    return figures


def _seconds(kept: Kept, name: str, side: int, trials: int) -> float:
    """Return the seconds of a step of all trials."""
    key = ("seconds", name, side**2, trials)
    row = kept.get(key)
    if row is None:
        outcome = measured(name, (side, side), steps=STEPS, trials=trials)
        if "failed" in outcome:
            raise RuntimeError(f"{name} on {side} x {side} points: {outcome['failed']}")
        row = kept.keep(key, {"seconds": outcome["seconds"], "memory": outcome["memory"]})
    return float(row["seconds"])


def _held(kept: Kept, form: str, observations: int) -> float:
    """Return the bytes of a trial's state."""
    key = ("bytes", form, observations)
    row = kept.get(key)
    if row is None:
        grid = dp.Grid([0, 1], [0, 1], size=100)
        prior = dp.Prior(grid, dp.SE(LENGTHSCALE), NOISE)
        player = dp.TVGPUCB(prior, drift=0.01, form=form).prepare(observations)
        with jax.enable_x64(True):
            state = jax.eval_shape(lambda: player.init(jax.random.key(0)))
        row = kept.keep(key, {"bytes": 8 * sum(x.size for x in jax.tree.leaves(state))})
    return float(row["bytes"])


def _slope(curve: list[tuple[int, float]]) -> float:
    (first, low), (last, high) = curve[0], curve[-1]
    return math.log(high / low) / math.log(last / first)
