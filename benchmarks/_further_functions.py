r"""Twelve further dynamic functions for `field`, on which no optimiser was tuned.

They were defined before any optimiser was run on them. No result on them has changed driftpeak.

| function | inputs without time | contents | minimum |
| --- | --- | --- | --- |
| Levy | 4 | the classical function; the last input is time | stays |
| Griewank | 3 | the classical function; the last input is time | moves |
| Dixon-Price | 6 | the classical function; the last input is time | moves |
| Michalewicz | 3 | the classical function; it does not change | stays |
| Moving Branin | 2 | Branin-Hoo, shifted along a circle | moves |
| Three wells | 2 | three wells that travel, and whose depths change | moves |
| Quasi-periodic bowl | 5 | a quadratic function; its centre has one period per input | moves |
| Jumping bowl | 3 | a quadratic function with ripples; its centre jumps twice | moves |
| Controller | 2 | a proportional-integral controller; the plant slows down | moves |
| Catalyst | 3 | yield of a reactor; the catalyst loses activity | moves |
| Phased array | 4 | four phases; the source moves | moves |
| Gaussian process | 3 | a draw: squared exponential in space and time | moves |

The classical formulas are those of Surjanovic and Bingham's library of simulation experiments.
"""

import math
from typing import Any

import numpy as np

from driftpeak.environments.functions import FUNCTIONS, DynamicFunction


def levy(x: Any) -> Any:
    """Compute Levy, whose minimum is at 1 in all inputs."""
    w = 1 + (x - 1) / 4
    inner = (w[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:, :-1] + 1) ** 2)
    last = (w[:, -1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[:, -1]) ** 2)
    return np.sin(np.pi * w[:, 0]) ** 2 + inner.sum(axis=1) + last


def griewank(x: Any) -> Any:
    """Compute Griewank: a bowl with a product of cosines."""
    roots = np.sqrt(np.arange(1, x.shape[1] + 1))
    return (x**2).sum(axis=1) / 4000 - np.cos(x / roots).prod(axis=1) + 1


def dixon_price(x: Any) -> Any:
    """Compute Dixon-Price, a curved valley."""
    weights = np.arange(2, x.shape[1] + 1)
    valley = weights * (2 * x[:, 1:] ** 2 - x[:, :-1]) ** 2
    return (x[:, 0] - 1) ** 2 + valley.sum(axis=1)


def michalewicz(x: Any) -> Any:
    """Compute Michalewicz of all inputs but time, which has no effect."""
    place = x[:, :-1]
    order = np.arange(1, place.shape[1] + 1)
    return -(np.sin(place) * np.sin(order * place**2 / np.pi) ** 20).sum(axis=1)


def moving_branin(x: Any) -> Any:
    """Compute Branin-Hoo of two inputs that are shifted along three quarters of a circle."""
    angle = 1.5 * np.pi * x[:, 2]
    a = 15 * (x[:, 0] + 0.15 * np.cos(angle)) - 5
    b = 15 * (x[:, 1] + 0.15 * np.sin(angle))
    valley = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
    return valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10


def three_wells(x: Any) -> Any:
    """Compute the lowest of three wells that travel and whose depths change."""
    time = x[:, 2]
    values = []
    for k, (depth, width) in enumerate([(1.0, 0.15), (0.9, 0.25), (1.1, 0.1)]):
        angle = 2 * np.pi * (k / 3 + 0.5 * time)
        centre = 0.5 + 0.3 * np.column_stack([np.cos(angle), np.sin((1 + k % 2) * angle)])
        now = depth * (0.7 + 0.3 * np.sin(2 * np.pi * (time + k / 3)))
        values.append(-now * np.exp(-((x[:, :2] - centre) ** 2).sum(axis=1) / (2 * width**2)))
    return np.min(values, axis=0)


def quasi_periodic_bowl(x: Any) -> Any:
    """Compute the squared distance to a centre that swings with one period for each input."""
    periods = 0.4 + 0.13 * np.arange(x.shape[1] - 1)
    centre = 0.5 + 0.3 * np.sin(2 * np.pi * x[:, -1:] / periods + np.arange(len(periods)))
    return ((x[:, :-1] - centre) ** 2).sum(axis=1)


JUMPS = np.array([[0.2, 0.7, 0.4], [0.8, 0.3, 0.6], [0.3, 0.2, 0.85]])
"""The centres of the jumping bowl in the three thirds of the time."""


def jumping_bowl(x: Any) -> Any:
    """Compute the squared distance to a centre that jumps twice, with ripples."""
    third = np.minimum((3 * x[:, 3]).astype(int), 2)
    gaps = x[:, :3] - JUMPS[third]
    return (gaps**2 - 0.02 * np.cos(6 * np.pi * gaps)).sum(axis=1)


def controller(x: Any) -> Any:
    r"""Compute the logarithm of the cost of a proportional-integral controller.

    The plant is \(\tau \dot y = u - y\). Its time constant \(\tau\) grows from 0.5 to 3. The input
    is \(u = K e + z\) with the error \(e = 1 - y\) and \(\dot z = I e\). The two parameters are the
    logarithms of K, from 0.1 to 10, and of I, from 0.03 to 10. The cost is the integral of
    \(e^2 + 0.1 (u - 1)^2\) after a unit step. The state \((e, z - 1)\) obeys a linear law, so the
    cost is a quadratic form, whose matrix solves a Lyapunov equation.
    """
    gain, integral, weight = 10 ** (2 * x[:, 0] - 1), 10 ** (2.5 * x[:, 1] - 1.5), 0.1
    tau = 0.5 * 6 ** x[:, 2]
    a, b, c = -(1 + gain) / tau, -1 / tau, integral  # the law has the rows (a, b) and (c, 0)
    cross = -weight / (2 * b)
    first = (-(1 + weight * gain**2) / 2 - c * cross) / a
    second = (-weight * gain - a * cross - b * first) / c
    return np.log(first - 2 * cross + second)


def catalyst(x: Any) -> Any:
    """Compute minus the profit of a reactor whose catalyst loses activity.

    Inputs are temperature (500 to 700 K), the logarithm of the residence time (0.1 to 10 s) and
    concentration (0.2 to 1, relative to the largest). The product of the first reaction, an
    Arrhenius law, is consumed by a second one with a higher activation energy. The activity of the
    catalyst halves in 0.35 of the time.
    """
    kelvin, seconds = 500 + 200 * x[:, 0], 10 ** (2 * x[:, 1] - 1)
    feed = 0.2 + 0.8 * x[:, 2]
    activity = 0.5 ** (x[:, 3] / 0.35)
    first = activity * 2.0 * np.exp(-9000 * (1 / kelvin - 1 / 600))
    second = 0.2 * np.exp(-16000 * (1 / kelvin - 1 / 600)) * feed
    product = (
        first / (second - first + 1e-9) * (np.exp(-first * seconds) - np.exp(-second * seconds))
    )
    return -(product * feed - 0.25 * feed**2 - 0.02 * seconds)


def phased_array(x: Any) -> Any:
    """Compute minus the power that an array receives from a source which moves.

    The four inputs are phases, in turns. Antenna 0 has the phase 0, and the best phase of antenna k
    is k sin(angle) / 2. The angle of the source moves from -40 to 40 degrees.
    """
    angle = np.radians(-40 + 80 * x[:, 4])
    order = np.arange(1, 5)
    shift = 2 * np.pi * (x[:, :4] - 0.5 * order * np.sin(angle)[:, None])
    return -(np.abs(1 + np.exp(1j * shift).sum(axis=1)) ** 2) / 25


FEATURES = 400


def gaussian_process(x: Any) -> Any:
    """Compute a draw with lengthscale 0.3 in space and 0.4 in time, by random Fourier features."""
    random = np.random.default_rng(2026)
    frequencies = random.normal(size=(FEATURES, x.shape[1])) / [0.3, 0.3, 0.3, 0.4]
    phases = random.uniform(0, 2 * math.pi, FEATURES)
    weights = random.normal(size=FEATURES) * math.sqrt(2 / FEATURES)
    return np.cos(x @ frequencies.T + phases) @ weights


FURTHER = {
    function.name: function
    for function in (
        DynamicFunction("Levy", 4, -10.0, 10.0, 1.0, levy),
        DynamicFunction("Griewank", 3, -20.0, 20.0, None, griewank),
        DynamicFunction("Dixon-Price", 6, -2.0, 2.0, None, dixon_price),
        DynamicFunction("Michalewicz", 3, 0.0, math.pi, None, michalewicz),
        DynamicFunction("Moving Branin", 2, 0.0, 1.0, None, moving_branin),
        DynamicFunction("Three wells", 2, 0.0, 1.0, None, three_wells),
        DynamicFunction("Quasi-periodic bowl", 5, 0.0, 1.0, None, quasi_periodic_bowl),
        DynamicFunction("Jumping bowl", 3, 0.0, 1.0, None, jumping_bowl),
        DynamicFunction("Controller", 2, 0.0, 1.0, None, controller),
        DynamicFunction("Catalyst", 3, 0.0, 1.0, None, catalyst),
        DynamicFunction("Phased array", 4, 0.0, 1.0, None, phased_array),
        DynamicFunction("Gaussian process", 3, 0.0, 1.0, None, gaussian_process),
    )
}
"""The functions by name."""

ALL = FUNCTIONS | FURTHER
"""These functions and those of `driftpeak.environments.functions`."""
