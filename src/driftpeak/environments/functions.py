r"""Dynamic test functions: classical functions whose last input is time.

Source: Bardou et al. 2024, W-DBO.

The functions are minimised over a box that is equal for all inputs. While time runs from 0 to 1,
the last input runs through its range. In four functions the minimiser does not move, only the value
of the minimum.

| function | inputs without time | box | minimum |
| --- | --- | --- | --- |
| Schwefel | 3 | [-500, 500] | stays |
| Eggholder | 1 | [-512, 512] | moves |
| Ackley | 3 | [-32, 32] | stays |
| Rastrigin | 4 | [-4, 4] | stays |
| Styblinski-Tang | 3 | [-5, 5] | stays |
| Rosenbrock | 2 | [-1, 1.5] | moves |
| Shekel | 3 | [0, 10] | moves |
| Hartmann-3 | 2 | [0, 1] | moves |
| Hartmann-6 | 5 | [0, 1] | moves |
| Powell | 3 | [-4, 5] | moves |

The formulas are those of Surjanovic and Bingham's library of simulation experiments.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from driftpeak._core.errors import DriftpeakError, finite_array, unit_interval
from driftpeak._core.types import Points

SEARCH = 4096  # random points; local searches start from the lowest of them
IMPROVED = 12


@dataclass(frozen=True)
class DynamicFunction:
    """A function of `dimension` inputs and of time.

    Attributes:
        name: name in the table.
        dimension: number of inputs without time.
        low, high: bounds of each input.
        stays_at: value of each input of the minimiser, if it does not move.
        formula: function of points, shape `(n, dimension + 1)`, whose last column is time.
    """

    name: str
    dimension: int
    low: float
    high: float
    stays_at: float | None
    formula: Callable[[Points], Points]

    def __call__(self, points: Any, time: float) -> Points:
        """Return the values at some points, shape `(n, dimension)`, at `time` in [0, 1].

        Raises:
            DriftpeakError: points of another dimension, or a time outside [0, 1].
        """
        rows = finite_array("points", points, 2)
        if rows.shape[1] != self.dimension:
            raise DriftpeakError(
                f"points of {self.name} must have {self.dimension} inputs, without time; got "
                f"{rows.shape[1]}"
            )
        last = self.low + unit_interval("time", time) * (self.high - self.low)
        return self.formula(np.column_stack([rows, np.full(len(rows), last)]))

    def minimum(self, time: float) -> tuple[float, Points]:
        """Return the minimum at `time` and the minimiser.

        If the minimiser moves, it is the best of several local searches, which start from the
        lowest of 4,096 points: a regular grid in one dimension, a Sobol sequence in more.
        """
        if self.stays_at is not None:
            place = np.full(self.dimension, self.stays_at)
            return float(self(place[None], time)[0]), place
        if self.dimension == 1:
            uniform = np.linspace(0, 1, SEARCH)[:, None]
        else:
            from scipy.stats import qmc  # slow to import

            uniform = qmc.Sobol(self.dimension, rng=np.random.default_rng(0)).random(SEARCH)
        points = self.low + uniform * (self.high - self.low)
        starts = points[np.argsort(self(points, time))[:IMPROVED]]
        searches = [
            minimize(
                lambda x: float(self(np.clip(x, self.low, self.high)[None], time)[0]),
                start,
                method="L-BFGS-B",
                bounds=[(self.low, self.high)] * self.dimension,
            )
            for start in starts
        ]
        best = min(searches, key=lambda search: search.fun)
        return float(best.fun), np.asarray(best.x)


def schwefel(x: Points) -> Points:
    r"""Compute \(418.9829 d - \sum_i x_i \sin\sqrt{|x_i|}\)."""
    return 418.9828872724338 * x.shape[1] - (x * np.sin(np.sqrt(np.abs(x)))).sum(axis=1)


def eggholder(x: Points) -> Points:
    """Compute Eggholder, a rugged function of two inputs."""
    a, b = x[:, 0], x[:, 1] + 47
    return -b * np.sin(np.sqrt(np.abs(b + a / 2))) - a * np.sin(np.sqrt(np.abs(a - b)))


def ackley(x: Points) -> Points:
    """Compute Ackley, a funnel with ripples that is flat far out."""
    radius = np.sqrt((x**2).mean(axis=1))
    ripples = np.cos(2 * np.pi * x).mean(axis=1)
    return -20 * np.exp(-0.2 * radius) - np.exp(ripples) + 20 + math.e


def rastrigin(x: Points) -> Points:
    r"""Compute \(10 d + \sum_i (x_i^2 - 10 \cos 2 \pi x_i)\)."""
    return 10 * x.shape[1] + (x**2 - 10 * np.cos(2 * np.pi * x)).sum(axis=1)


def styblinski_tang(x: Points) -> Points:
    r"""Compute \(\frac12 \sum_i (x_i^4 - 16 x_i^2 + 5 x_i)\)."""
    return 0.5 * (x**4 - 16 * x**2 + 5 * x).sum(axis=1)


def rosenbrock(x: Points) -> Points:
    r"""Compute \(\sum_i 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2\)."""
    before, after = x[:, :-1], x[:, 1:]
    return (100 * (after - before**2) ** 2 + (1 - before) ** 2).sum(axis=1)


def shekel(x: Points) -> Points:
    """Compute Shekel, a function of four inputs with ten minima."""
    depth = np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10
    odd = np.array([4.0, 1, 8, 6, 3, 2, 5, 8, 6, 7])
    even = np.array([4.0, 1, 8, 6, 7, 9, 3, 1, 2, 3.6])
    holes = np.stack([odd, even, odd, even], axis=1)
    squared = ((x[:, None, :] - holes[None]) ** 2).sum(axis=2)
    return -(1 / (squared + depth)).sum(axis=1)


HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
STEEP_3 = np.array([[3.0, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
PLACES_3 = 1e-4 * np.array(
    [[3689.0, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)
STEEP_6 = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
PLACES_6 = 1e-4 * np.array(
    [
        [1312.0, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(x: Points) -> Points:
    """Compute Hartmann, a function of three or six inputs with four minima."""
    steep, places = (STEEP_3, PLACES_3) if x.shape[1] == 3 else (STEEP_6, PLACES_6)
    exponent = (steep * (x[:, None, :] - places[None]) ** 2).sum(axis=2)
    return -(HEIGHTS * np.exp(-exponent)).sum(axis=1)


def powell(x: Points) -> Points:
    """Compute Powell, a function of four inputs with a flat valley."""
    a, b, c, d = x.T
    return (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4


FUNCTIONS = {
    function.name: function
    for function in (
        DynamicFunction("Schwefel", 3, -500.0, 500.0, 420.96874636, schwefel),
        DynamicFunction("Eggholder", 1, -512.0, 512.0, None, eggholder),
        DynamicFunction("Ackley", 3, -32.0, 32.0, 0.0, ackley),
        DynamicFunction("Rastrigin", 4, -4.0, 4.0, 0.0, rastrigin),
        DynamicFunction("Styblinski-Tang", 3, -5.0, 5.0, -2.90353403, styblinski_tang),
        DynamicFunction("Rosenbrock", 2, -1.0, 1.5, None, rosenbrock),
        DynamicFunction("Shekel", 3, 0.0, 10.0, None, shekel),
        DynamicFunction("Hartmann-3", 2, 0.0, 1.0, None, hartmann),
        DynamicFunction("Hartmann-6", 5, 0.0, 1.0, None, hartmann),
        DynamicFunction("Powell", 3, -4.0, 5.0, None, powell),
    )
}
"""The functions by name."""


def time_weighted_regret(
    function: DynamicFunction, times: Any, points: Any, *, horizon: float = 1.0, between: int = 4
) -> float:
    """Return the regret of holding each point from its time to the next, averaged over time.

    Regret summed over query times alone would favour rare queries. The integral is taken by the
    midpoint rule.

    Arguments:
        function: the function, which is minimised.
        times: times of the queries, increasing, in [0, 1]; shape `(n,)`.
        points: points of the queries, shape `(n, dimension)`.
        horizon: the end time; the average is from the first time to the horizon.
        between: number of midpoints between consecutive queries.

    Raises:
        DriftpeakError: times that do not increase, or not one time for each point.
    """
    starts, held = finite_array("times", times, 1), finite_array("points", points, 2)
    ends = np.append(starts[1:], horizon)
    if len(starts) != len(held) or not (ends > starts).all():
        raise DriftpeakError("times must increase up to the horizon and must be one for each point")
    total = 0.0
    for start, end, point in zip(starts, ends, held, strict=True):
        moments = start + (np.arange(between) + 0.5) / between * (end - start)
        gaps = [function(point[None], t)[0] - least(function, t) for t in moments]
        total += float(np.mean(gaps)) * (end - start)
    return total / (horizon - float(starts[0]))


_least: dict[tuple[str, float], float] = {}


def least(function: DynamicFunction, time: float) -> float:
    """Return the minimum at `time`, from a cache: the search takes about 50 ms."""
    key = function.name, float(time)
    if key not in _least:
        _least[key] = function.minimum(float(time))[0]
    return _least[key]
