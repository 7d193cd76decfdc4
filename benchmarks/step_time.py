"""Time of a step in feature space at t = 100,000 relative to t = 1,000.

One compiled block of steps runs from the state at each of the two times, alternately. The figure is
the median ratio of their times over the pairs. The domain is a 20 x 20 grid. `discount`, which
factorises an r x r matrix at every step, runs on a line of 100 points, to limit the duration.
"""

from functools import partial
from typing import Any

import jax
import numpy as np

import driftpeak as dp
from benchmarks._stepping import play, seconds
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.numerics.threads import single_threaded_lapack

EARLY, LATE, BLOCK, PAIRS, REFRESH = 1_000, 100_000, 500, 25, 4_000
RULES = ("keep", "restart", "window", "drift", "discount")
TARGETS = {f"{rule}: late / early": "<= 1.1" for rule in RULES}


@double_precision
def run() -> dict[str, Any]:
    """Return microseconds per step at the early time, and the ratio of late to early, by rule."""
    grid = dp.Prior(dp.Grid([0, 1], [0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
    line = dp.Prior(dp.Grid([0, 1], size=100), dp.SE(lengthscale=0.2), noise_variance=0.01)
    policies = {
        "keep": dp.GPUCB(grid, form="feature-space"),
        "restart": dp.RGPUCB(grid, period=50, form="feature-space"),
        "window": dp.SWGPUCB(grid, window=50, form="feature-space"),
        "drift": dp.TVGPUCB(grid, drift=0.01, form="feature-space"),
        "discount": dp.WGPUCB(line, discount=0.98, form="feature-space"),
    }
    figures: dict[str, Any] = {
        "features (grid)": grid.features.rank,
        "features (line)": line.features.rank,
    }
    for name, policy in policies.items():
        with single_threaded_lapack():
            early, late = _ages(policy.prepare(LATE + BLOCK), policy.prior)
            spent = np.array([[seconds(early), seconds(late)] for _ in range(PAIRS)])
        ratios = spent[:, 1] / spent[:, 0]
        figures[f"{name}: early (us per step)"] = 1e6 * float(np.median(spent[:, 0])) / BLOCK
        figures[f"{name}: late / early"] = float(np.median(ratios))
        low, high = np.quantile(ratios, [0.25, 0.75])
        figures[f"  middle half of these ratios ({name})"] = f"{low:.3f} to {high:.3f}"
    return figures


def _ages(policy: Any, prior: dp.Prior) -> list[Any]:
    """Return a block of steps from t = EARLY, and one from t = LATE."""
    policy = jax.device_put(policy)
    generator = np.random.default_rng(0)
    values = prior.features.matrix @ generator.normal(size=prior.features.rank)
    noise = 0.1 * generator.normal(size=BLOCK)
    refresh = jax.jit(type(policy).refresh)
    state, blocks = policy.init(jax.random.key(0)), []
    for start in range(0, LATE + 1, BLOCK):
        block = partial(play, policy, state, values, noise, np.arange(1.0, BLOCK + 1) + start)
        if start in (EARLY, LATE):
            blocks.append(block)
        state = block()
        if start % REFRESH == 0:
            state = refresh(policy, state)
    return blocks
