"""Tuning of M25's two parameters, TV-GP-UCB's drift and W-SparQ's alpha, on training runs.

M25 states that they are tuned on training data, and for recorded data that hyperparameters
maximise the marginal likelihood. They are chosen in two ways here: by likelihood, and by the
lowest regret. Both use the 500 steps before the run. If centres are drawn, the training runs have
other centres.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from driftpeak._core.numerics.threads import single_threaded_lapack
from driftpeak.environments import Environment
from driftpeak.gp.priors import Prior
from driftpeak.inference.fitting import Observations, fit
from driftpeak.policies import Policy, UniformRandom
from driftpeak.simulation._simulator import simulate

SEED = 2025
SAMPLES, RUNS = 100, 3
"""For the likelihood: random samples in a training run (the newest of the 500 steps), and runs."""
TRIALS = 5
"""Training runs of 500 steps for the lowest regret."""
EXPONENTS = (*np.arange(0.25, 3.01, 0.25).tolist(), 4.0, 6.0, 8.0)
"""From 2.5 on all windows of W-SparQ have two steps, and all exponents give the same policy."""


def least_regret(policies: Mapping[float, Policy], world: Environment[Any], steps: int) -> float:
    """Return the number whose policy has the lowest regret in training, the first of equals."""
    named = {f"{number}": policy for number, policy in policies.items()}
    regret = simulate(
        named, world, times=np.arange(1.0 - steps, 1.0), trials=TRIALS, seed=SEED, progress=False
    )["regret"]
    return float(str(regret.mean(("trial", "step")).idxmin("policy").item()))


def most_likely(prior: Prior, world: Environment[Any]) -> tuple[float, float]:
    """Return the drift and alpha of highest likelihood on random samples of training runs."""
    times = np.arange(1.0 - SAMPLES, 1.0)
    runs = simulate(
        {"random": UniformRandom(prior)}, world, times=times, trials=RUNS, seed=SEED, progress=False
    )
    samples = list(zip(runs["action"].values[0], runs["reward"].values[0], strict=True))
    data = [Observations(arms, times, rewards) for arms, rewards in samples]
    drift = fit(data, prior, learn="drift").drift
    with single_threaded_lapack():
        return drift, max(EXPONENTS, key=lambda alpha: injected(prior, samples, alpha))


def injected(prior: Prior, samples: Sequence[tuple[Any, Any]], exponent: float) -> float:
    """Return the sum of one-step log predictive densities at regular times, up to a constant.

    An observation of age a has the noise variance lambda (1 + a^alpha). The age is the time to the
    predicted reward. Noise inflation is not a joint model of all rewards. Its predictions are
    therefore scored by this sum, not by a marginal likelihood.
    """
    total = 0.0
    for arms, rewards in samples:
        among, noise = prior.gram[np.ix_(arms, arms)], prior.noise_variance
        for t in range(1, len(arms)):
            age = np.arange(t, 0, -1.0)
            factor = cho_factor(among[:t, :t] + noise * np.diag(1 + age**exponent))
            weights = cho_solve(factor, among[:t, t])
            variance = among[t, t] - among[:t, t] @ weights + noise
            error = rewards[t] - weights @ rewards[:t]
            total -= 0.5 * (error**2 / variance + np.log(variance))
    return float(total)
