"""Synthetic settings by name, for `driftpeak compare`."""

import math
from typing import Any

from driftpeak._core.errors import DriftpeakError, at_least_integer, nearest, positive, shown
from driftpeak.environments import (
    AbruptSwitches,
    Environment,
    MarkovDrift,
    MovingCosine,
    SignSwitches,
    SlowChange,
)
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE, Kernel, Matern
from driftpeak.gp.priors import Prior
from driftpeak.theory.schedules import markov_restart_period

ENVIRONMENTS = ("markov", "abrupt", "slow", "sign", "cosine")
KERNELS = ("se", "matern")
MOST_POINTS = 10_000


def make_prior(kernel: Kernel, dimension: int, size: int, noise_variance: float) -> Prior:
    """A prior on a grid over the unit cube.

    Raises:
        DriftpeakError: a number out of range, more than 10,000 points.
    """
    dimension = at_least_integer("dimension", dimension, 1)
    size = at_least_integer("size", size, 2)
    if dimension * math.log(size) > math.log(MOST_POINTS) + 1e-9:  # the power may be huge
        raise DriftpeakError(
            f"size {shown(size)} in {shown(dimension)} dimensions makes too many points; at most "
            f"{MOST_POINTS:,}"
        )
    return Prior(Grid(*[[0, 1]] * dimension, size=size), kernel, noise_variance)


def make_kernel(kernel: str, nu: float, lengthscale: float) -> Kernel:
    """SE or Matern, by name.

    Raises:
        DriftpeakError: an unknown kernel, a number out of range.
    """
    if kernel not in KERNELS:
        raise DriftpeakError(
            f"kernel must be one of {', '.join(KERNELS)}; got {kernel!r}.{nearest(kernel, KERNELS)}"
        )
    nu = positive("nu", nu)  # checked even where it is not used
    return SE(lengthscale) if kernel == "se" else Matern(nu, lengthscale)


def make_environment(name: str, prior: Prior, drift: float, steps: int) -> Environment[Any]:
    """Markov drift; D22's switches, after 1/5 and 2/5 of the steps; D22's slow change; H23's switch
    of sign, after 3/10 of the steps; or H23's cosine, its corners at the same shares of the run.

    Raises:
        DriftpeakError: an unknown name, drift outside [0, 1].
    """
    if name == "markov":
        return MarkovDrift(prior, drift=drift)
    if name == "abrupt":
        return AbruptSwitches(prior, changes=[steps / 5, 2 * steps / 5])
    if name == "slow":
        return SlowChange(prior, horizon=steps)
    if name == "sign":
        return SignSwitches(prior, changes=[0.3 * steps])
    if name == "cosine":
        return MovingCosine(prior, times=[share * steps for share in (0.1, 0.3, 0.4, 0.6)])
    raise DriftpeakError(
        f"environment must be one of {', '.join(ENVIRONMENTS)}; got {name!r}."
        + nearest(name, ENVIRONMENTS)
    )


def default_policies(prior: Prior, drift: float, steps: int) -> list[str]:
    """The GP-UCB family with the same memory: B16's restart period N for the drift.

    A window of N observations and a discount of 1 - 1/N forget about as fast.
    """
    dimension = prior.domain.points.shape[1]
    period = markov_restart_period(prior.kernel, drift=drift, horizon=steps, dimension=dimension)
    return [
        "auto",
        "random",
        "gp-ucb",
        f"r-gp-ucb:period={period}",
        f"sw-gp-ucb:window={period}",
        f"tv-gp-ucb:drift={drift:g}",
        f"w-gp-ucb:discount={1 - 1 / max(period, 2):.4g}",
    ]
