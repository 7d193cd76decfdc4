"""Speed on a GPU, if JAX finds one, compared with the processor, in double precision.

Each device has four figures: the bandwidth of a copy; a step of TV-GP-UCB (SE, l = 0.2, noise
variance 0.01) on square grids, in milliseconds and as a share of this bandwidth (one read of the
feature matrix divided by the time of the step); a step of 64 trials at once on 100 points, which
mostly processes small matrices; and trials per second of figure 2a of B16 (`figure_2a`) at drift
0.01, including the draws of functions but not compilation.

    DEVICE_SIDES=50,316,1000 DEVICE_TRIALS=10000 python -m benchmarks device

JAX finds a GPU if it is installed for it, as by `pip install "jax[cuda13]"`.
"""

import time
from typing import Any

import jax
import jax.numpy as jnp

import driftpeak as dp
from benchmarks._settings import whole_number, whole_numbers
from benchmarks._stepping import BLOCK, BLOCKS, seconds, step_seconds
from driftpeak._core.numerics.precision import double_precision
from driftpeak.gp.features import pivoted_cholesky

SIDES = whole_numbers("DEVICE_SIDES", (50, 316))
TRIALS = whole_number("DEVICE_TRIALS", 100)
DRIFT, PERIOD, STEPS, AT_ONCE = 0.01, 38, 200, 64


@double_precision
def run() -> dict[str, Any]:
    """Return figures by device and size, and a note if there is no GPU."""
    figures: dict[str, Any] = {}
    found = devices()
    for device in found:
        with jax.default_device(device):
            name = f"{device.platform} ({device.device_kind})"
            for side in SIDES:
                figures |= {f"{name}, {side**2:,} points: {k}": v for k, v in steps(side).items()}
            figures[f"{name}: {AT_ONCE} trials on 100 points, a step (ms)"] = small()
            figures[f"{name}: figure 2a, {TRIALS:,} trials: trials a second"] = figure()
    if len(found) == 1:
        figures["gpu"] = "JAX finds none"
    return figures


def devices() -> list[Any]:
    """Return the processor, and the GPU if there is one."""
    try:
        return [jax.devices("cpu")[0], jax.devices("gpu")[0]]
    except RuntimeError:  # raised by JAX for a missing platform
        return jax.devices("cpu")[:1]


def steps(side: int) -> dict[str, float]:
    """Return the figures of a step of one trial."""
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=side), dp.SE(lengthscale=0.2), 0.01)
    features = pivoted_cholesky(prior.kernel, prior.domain)  # expanded
    matrix = jnp.asarray(features.matrix)
    copy = jax.jit(lambda array: array + 1)
    jax.block_until_ready(copy(matrix))
    bandwidth = 2 * matrix.nbytes / min(seconds(lambda: copy(matrix)) for _ in range(10))
    policy = dp.TVGPUCB(prior, drift=DRIFT, features=features).prepare((BLOCKS + 1) * BLOCK)
    step = step_seconds(policy, prior)
    return {
        "bandwidth of a copy (GB/s)": bandwidth / 1e9,
        "a step (ms)": 1e3 * step,
        "share of the bandwidth": matrix.nbytes / step / bandwidth,
    }


def small() -> float:
    """Return the milliseconds of a step of WGP-UCB, which factorises a small matrix."""
    prior = dp.Prior(dp.Grid([0, 1], size=100), dp.SE(lengthscale=0.2), 0.01)
    world, policies = dp.MarkovDrift(prior, drift=DRIFT), {"W": dp.WGPUCB(prior, discount=0.98)}
    runs = [
        dp.simulate(policies, world, steps=STEPS, trials=AT_ONCE, seed=0, progress=False)
        for _ in range(2)
    ]
    return 1e3 * float(runs[1]["seconds"][0]) / STEPS


def figure() -> float:
    """Return the trials per second of both policies, after a first run that compiles."""
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=50), dp.SE(lengthscale=0.2), 0.01)
    policies = {"TV": dp.TVGPUCB(prior, drift=DRIFT), "R": dp.RGPUCB(prior, period=PERIOD)}
    world, spent = dp.MarkovDrift(prior, drift=DRIFT), 0.0
    for _ in range(2):
        started = time.perf_counter()
        dp.simulate(
            policies, world, steps=STEPS, trials=TRIALS, seed=0, keep="summaries", progress=False
        )
        spent = time.perf_counter() - started
    return TRIALS / spent
