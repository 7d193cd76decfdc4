"""Kernels, priors and environments by name, for `driftpeak compare`."""

import math
from typing import Any

from driftpeak._core.errors import DriftpeakError, at_least_integer, one_of, positive, shown
from driftpeak.environments import Environment
from driftpeak.environments.catalogue import Entry, entries
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE, Kernel, Matern
from driftpeak.gp.priors import Prior
from driftpeak.theory.schedules import markov_restart_period

ENVIRONMENTS: dict[str, Entry] = dict(
    sorted((entry.name, entry) for entry in entries() if entry.name)
)
KERNELS = ("se", "matern")
MOST_POINTS = 10_000


def make_prior(kernel: Kernel, dimension: int, size: int, noise_variance: float) -> Prior:
    """Return a prior on a grid over the unit cube.

    Raises:
        DriftpeakError: a number is out of range, or there are more than 10,000 points.
    """
    dimension = at_least_integer("dimension", dimension, 1)
    size = at_least_integer("size", size, 2)
    if dimension * math.log(size) > math.log(MOST_POINTS) + 1e-9:  # the power may be huge
        raise DriftpeakError(
            f"size to the power of dimension must be at most {MOST_POINTS:,} points; got size "
            f"{shown(size)} and dimension {shown(dimension)}"
        )
    return Prior(Grid(*[[0, 1]] * dimension, size=size), kernel, noise_variance)


def make_kernel(kernel: str, nu: float, lengthscale: float) -> Kernel:
    """Return an SE or Matern kernel by name.

    Raises:
        DriftpeakError: the kernel is unknown, or a number is out of range.
    """
    kernel = one_of("kernel", kernel, KERNELS)
    nu = positive("nu", nu)  # checked even if it is not used
    return SE(lengthscale) if kernel == "se" else Matern(nu, lengthscale)


def make_environment(name: str, prior: Prior, drift: float, steps: int) -> Environment[Any]:
    """Return an environment of the catalogue, by name.

    Raises:
        DriftpeakError: the name is unknown, or the drift is outside [0, 1].
    """
    entry = ENVIRONMENTS[one_of("environment", name, tuple(ENVIRONMENTS))]
    assert entry.build is not None  # it has a name
    return entry.build(prior, drift, steps)


def default_policies(prior: Prior, drift: float, steps: int) -> list[str]:
    """Return policies with equal memory, which is B16's restart period N for the drift.

    A window of N observations and a discount of 1 - 1/N give about the same memory.
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
