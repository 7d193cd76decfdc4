"""Dynamic test functions against their known minima."""

import numpy as np
import pytest
from scipy.optimize import differential_evolution

import driftpeak as dp
from driftpeak.environments.functions import (
    FUNCTIONS,
    eggholder,
    hartmann,
    least,
    rosenbrock,
    shekel,
    time_weighted_regret,
)

# of all inputs, time among them (Surjanovic and Bingham): where, and how much
KNOWN = {
    "Schwefel": (np.full(4, 420.968746), 0.0),
    "Ackley": (np.zeros(4), 0.0),
    "Rastrigin": (np.zeros(5), 0.0),
    "Styblinski-Tang": (np.full(4, -2.903534), -39.16616570 * 4),
    "Rosenbrock": (np.ones(3), 0.0),
    "Powell": (np.zeros(4), 0.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_minima(name):
    function, (place, value) = FUNCTIONS[name], KNOWN[name]
    time = (place[-1] - function.low) / (function.high - function.low)
    assert len(place) == function.dimension + 1
    np.testing.assert_allclose(function(place[None, :-1], time), value, atol=1e-4)
    found, where = function.minimum(time)
    np.testing.assert_allclose(found, value, atol=1e-4)
    if name != "Powell":  # a flat valley
        np.testing.assert_allclose(where, place[:-1], atol=1e-3 * (function.high - function.low))


def test_known_minima_of_the_others():
    np.testing.assert_allclose(eggholder(np.array([[512, 404.2319]])), -959.6407, atol=1e-3)
    place = np.array([[0.114614, 0.555649, 0.852547]])
    np.testing.assert_allclose(hartmann(place), -3.86278, atol=1e-4)
    place = np.array([[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]])
    np.testing.assert_allclose(hartmann(place), -3.32237, atol=1e-4)
    np.testing.assert_allclose(shekel(np.full((1, 4), 4.0)), -10.5363, atol=1e-3)
    np.testing.assert_allclose(rosenbrock(np.zeros((1, 3))), 2.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_minimum_is_that_of_another_search_and_moves_or_stays(name):
    function, places = FUNCTIONS[name], []
    for time in (0.13, 0.71):
        value, place = function.minimum(time)
        other = differential_evolution(
            lambda x, time=time: float(function(x[None], time)[0]),
            [(function.low, function.high)] * function.dimension,
            rng=np.random.default_rng(0),
            tol=1e-8,
        )
        assert value <= other.fun + 1e-6 * max(1.0, abs(other.fun))
        np.testing.assert_allclose(function(place[None], time), value)
        places.append(place)
    gap = np.abs(places[0] - places[1]).max() / (function.high - function.low)
    assert (gap > 1e-3) == (function.stays_at is None)


def test_time_weighted_regret():
    function = FUNCTIONS["Rosenbrock"]
    times, points = np.array([0.0, 0.25]), np.array([[0.0, 0.0], [1.0, 1.0]])
    found = time_weighted_regret(function, times, points, between=2)
    moments, held = np.array([0.0625, 0.1875, 0.4375, 0.8125]), [0, 0, 1, 1]
    gaps = [
        function(points[i : i + 1], t)[0] - function.minimum(t)[0]
        for t, i in zip(moments, held, strict=True)
    ]
    expected = 0.25 * np.mean(gaps[:2]) + 0.75 * np.mean(gaps[2:])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert least(function, 0.5) == function.minimum(0.5)[0]


def test_what_is_refused():
    with pytest.raises(dp.DriftpeakError, match="must have 2 inputs, without time; got 3"):
        FUNCTIONS["Rosenbrock"](np.zeros((1, 3)), 0.5)
    with pytest.raises(dp.DriftpeakError, match="time must lie in"):
        FUNCTIONS["Rosenbrock"](np.zeros((1, 2)), 1.5)
    with pytest.raises(dp.DriftpeakError, match="times must increase"):
        time_weighted_regret(FUNCTIONS["Rosenbrock"], [0.2, 0.1], np.zeros((2, 2)))
