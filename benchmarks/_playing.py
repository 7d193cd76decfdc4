"""Time and memory of some steps of a policy on a grid, in a separate process.

    python -m benchmarks._playing TV-GP-UCB 316x316 --steps 10

prints them as JSON. Memory is the peak memory of the process minus its memory after importing.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import driftpeak as dp
from driftpeak.environments import Environment

LENGTHSCALE, NOISE, WINDOW = 0.2, 0.01, 50
KERNELS: dict[str, Callable[[float], dp.kernels.Kernel]] = {
    "SE": dp.SE,
    "Matern": lambda lengthscale: dp.Matern(1.5, lengthscale),
}
POLICIES: dict[str, Callable[[dp.Prior, int], Any]] = {
    "GP-UCB": lambda prior, _: dp.GPUCB(prior),
    "GP-UCB, Thompson": lambda prior, _: dp.GPUCB(prior, acquisition="thompson"),
    "IGP-UCB": lambda prior, _: dp.IGPUCB(prior),
    "R-GP-UCB": lambda prior, _: dp.RGPUCB(prior, period=WINDOW),
    "ET-GP-UCB": lambda prior, _: dp.ETGPUCB(prior),
    "SW-GP-UCB": lambda prior, _: dp.SWGPUCB(prior, window=WINDOW),
    "TV-GP-UCB": lambda prior, _: dp.TVGPUCB(prior, drift=0.01),
    "WGP-UCB": lambda prior, _: dp.WGPUCB(prior, discount=0.9),
    "UI-GP-UCB": lambda prior, _: dp.UIGPUCB(prior, exponent=1.0),
    "ABO": lambda prior, _: dp.ABO(prior, lengthscale=5.0),
    "auto": lambda prior, _: dp.Auto(prior),
    "SparQ": lambda prior, _: dp.SparQ(prior),
    "W-SparQ": lambda prior, _: dp.WSparQ(prior, exponent=1.0),
    "AdaptiveSparQ": lambda prior, _: dp.AdaptiveSparQ(prior),
    "PE": lambda prior, steps: dp.PE(prior, horizon=steps),
    "R-PERP": lambda prior, steps: dp.RPERP(prior, horizon=steps, period=max(2, steps // 2)),
    "adaptive R-PERP": lambda prior, steps: dp.AdaptiveRPERP(prior, horizon=steps),
    # blocks of 1, 2, 4, ... steps: most of the time is planning
    "OPKB": lambda prior, steps: dp.OPKB(prior, horizon=steps, c3=1e-6),
    "ADA-OPKB": lambda prior, steps: dp.ADAOPKB(prior, horizon=steps, c3=1e-6),
    "RExp3": lambda prior, steps: dp.RExp3(prior, horizon=steps, variation=1.0),
}


class Hills(Environment[Any]):
    """Moving waves from n numbers, without a factor of a covariance."""

    phase: Any
    noise_variance: Any

    def __init__(self, prior: dp.Prior) -> None:
        self.phase = prior.domain.points @ np.array([5.0, 3.0, 2.0, 1.0])[: _dimension(prior)]
        self.noise_variance = np.float64(prior.noise_variance)

    def init(self, key: Any) -> Any:
        return jnp.zeros(())

    def step(self, state: Any, time: Any) -> tuple[Any, Any]:
        return state, 0.5 * jnp.cos(jnp.asarray(self.phase) - 0.05 * time)


def _dimension(prior: dp.Prior) -> int:
    return prior.domain.points.shape[1]


def measured(
    policy: str,
    shape: tuple[int, ...],
    *,
    steps: int = 10,
    trials: int = 1,
    kernel: str = "SE",
    lengthscale: float = LENGTHSCALE,
) -> dict[str, Any]:
    """Return the output of `main` in a separate process, or the error as "failed"."""
    command = [
        sys.executable, "-m", "benchmarks._playing", policy, "x".join(map(str, shape)), "--steps",
        f"{steps}", "--trials", f"{trials}", "--kernel", kernel, "--lengthscale", f"{lengthscale}",
    ]  # fmt: skip
    ran = subprocess.run(
        command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        return {"failed": (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]}
    figures: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Run a policy, and print points, seconds per step and memory in GiB."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks._playing")
    parser.add_argument("policy", choices=POLICIES)
    parser.add_argument("shape", help="points of each dimension, such as 316x316")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--kernel", choices=KERNELS, default="SE")
    parser.add_argument("--lengthscale", type=float, default=LENGTHSCALE)
    options = parser.parse_args()
    before = _peak()
    shape = tuple(map(int, options.shape.split("x")))
    grid = dp.Grid(*[[0, 1]] * len(shape), size=shape)
    prior = dp.Prior(grid, KERNELS[options.kernel](options.lengthscale), NOISE)
    policy = POLICIES[options.policy](prior, options.steps)
    runs = dp.simulate(
        {"it": policy}, Hills(prior), steps=options.steps, trials=options.trials,
        progress=False, memory_budget=2**35, keep="summaries",
    )  # fmt: skip
    seconds = float(runs["seconds"].sum()) / options.steps
    print(json.dumps({"points": len(grid), "seconds": seconds, "memory": _peak() - before}))


def _peak() -> float:
    unit = 2**-30 if sys.platform == "darwin" else 2**-20  # Linux counts in KiB
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
