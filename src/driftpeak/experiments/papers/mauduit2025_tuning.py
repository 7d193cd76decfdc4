"""M25's two tuned numbers, TV-GP-UCB's drift and W-SparQ's alpha, from training runs.

M25 says that they are tuned on training data, and of its recorded data that hyperparameters have
the largest marginal likelihood. So they are chosen in two ways here: by likelihood, and by what one
would wish for, the least regret. Both learn from the 500 steps before those that are played; where
centres are drawn, with other centres.
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
from driftpeak.simulation.simulator import simulate

SEED = 2025
SAMPLES, RUNS = 100, 3
"""Random samples in a training run, the newest of the 500 steps, and runs, for the likelihood."""
TRIALS = 5
"""Training runs of 500 steps for the least regret."""
EXPONENTS = (*np.arange(0.25, 3.01, 0.25).tolist(), 4.0, 6.0, 8.0)
"""From 2.5 on W-SparQ's windows are all of two steps, and all exponents make the same policy."""


def least_regret(policies: Mapping[float, Policy], world: Environment[Any], steps: int) -> float:
    """The number whose policy has the least regret in training; of equal ones the first."""
    named = {f"{number}": policy for number, policy in policies.items()}
    regret = simulate(
        named, world, times=np.arange(1.0 - steps, 1.0), trials=TRIALS, seed=SEED, progress=False
    )["regret"]
    return float(str(regret.mean(("trial", "step")).idxmin("policy").item()))


def most_likely(prior: Prior, world: Environment[Any]) -> tuple[float, float]:
    """Drift and alpha of largest likelihood on random samples of training runs."""
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
    """Sum of the log densities of every reward given those before, at regular times, up to a
    constant, if an observation of age a has the noise variance lambda (1 + a^alpha).

    Ages count to the reward that is foretold. Noise inflation is no joint model of all rewards, so
    that this, and no marginal likelihood, tells how well it predicts.
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
