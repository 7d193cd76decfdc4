"""Time of the greedy information gain of 5,000 observations among 2,500 points.

The domain is a 50 x 50 grid, with lengthscale 0.2 and noise variance 0.01. The kernels are SE,
whose covariance has rank 219 to 1e-10, and Matern-5/2, which has nearly full rank.
"""

import time

import numpy as np

import driftpeak as dp

COUNT = 5000
KERNELS = {"SE": dp.SE(0.2), "Matern-5/2": dp.Matern(2.5, 0.2)}
TARGETS = {f"{name} (s)": "<= 20" for name in KERNELS}


def run() -> dict[str, float]:
    """Return seconds including the covariance, and gains with and without a discount."""
    figures = {}
    for name, kernel in KERNELS.items():
        prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=50), kernel, noise_variance=0.01)
        started = time.perf_counter()
        gains = dp.greedy_gain(prior, COUNT)
        figures[f"{name} (s)"] = time.perf_counter() - started
        figures[f"  gain of {COUNT:,} ({name}, nats)"] = float(gains[-1])
        started = time.perf_counter()
        weighted = dp.greedy_gain(prior, COUNT, weights=0.99 ** (2 * np.arange(COUNT)))
        figures[f"  double-weighted, discount 0.99 ({name}, s)"] = time.perf_counter() - started
        figures[f"  its gain ({name}, nats)"] = float(weighted[-1])
    return figures
