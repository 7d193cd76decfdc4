"""What is said of regrets paired by function and seed: a ratio and how sure it is."""

from typing import Any

import numpy as np

DRAWS = 10_000


def ratio(regrets: Any, others: Any) -> tuple[float, float, float]:
    """The geometric mean of one's regret as a multiple of another's, and its 95 % interval.

    Arguments:
        regrets, others: positive, shape `(functions, seeds)`.
    """
    logarithms = np.log(np.asarray(regrets) / np.asarray(others))
    middle, low, high = np.exp([logarithms.mean(), *interval(logarithms)])
    return float(middle), float(low), float(high)


def interval(values: Any) -> Any:
    """The 95 % bootstrap interval of a mean over functions and, within them, over seeds."""
    generator, (functions, seeds) = np.random.default_rng(0), values.shape
    chosen = generator.integers(functions, size=(DRAWS, functions, 1))
    within = generator.integers(seeds, size=(DRAWS, functions, seeds))
    return np.quantile(values[chosen, within].mean(axis=(1, 2)), [0.025, 0.975])
