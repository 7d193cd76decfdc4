"""Times, costs and limits at the ends of what is accepted."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import driftpeak as dp

BOX = dp.Box(x=dp.Float(0, 1))
LINE = dp.Grid([0, 1], size=8)
PRIOR = dp.Prior(LINE, dp.SE(0.3), 0.01)
POLICIES = {
    "learned": (BOX, None),
    "momentum": (BOX, dp.DriftingGP(forgetting="momentum", acquisition="influence")),
    "counts": (BOX, dp.DriftingGP(likelihood="poisson")),
    "drift": (LINE, dp.TVGPUCB(PRIOR, drift=0.02)),
    "auto": (LINE, dp.Auto(PRIOR, drifts=(0.0, 0.1), rates=(0.03,))),
}
EXPONENTS = [*range(-100, 101, 20), 99]


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n != "drift")) for n in POLICIES],
)
def test_steps_of_any_size(name):
    """Up to 1e100 itself; of a policy, a step is one unit of time, whatever that is."""
    space, policy = POLICIES[name]
    optimizer = dp.Optimizer(space, maximize=True, policy=policy, horizon=50)
    for exponent in EXPONENTS:
        optimizer.reset()
        unit = float(f"1e{exponent}") / (20 if exponent >= 99 else 1)
        for step in range(1, 13):
            suggestion = optimizer.ask(step * unit)
            assert all(np.isfinite(one) for one in suggestion.values())
            optimizer.tell(suggestion, float(step % 3))
        for time in (None, 13 * unit, 1e100):
            peak = optimizer.best(time)
            assert np.isfinite([peak.mean, peak.deviation, *peak.values()]).all(), (exponent, time)
        assert np.isfinite(optimizer.ask(1e100)[optimizer.coding.names[0]])


def test_search_in_single_precision_does_not_depend_on_the_unit_of_time():
    """Units that are powers of 2 give the same suggestions to the last bit."""
    found = []
    policy = dp.DriftingGP(forgetting="markov", learn=False)
    for unit in (1.0, 2.0**-120, 2.0**120):
        optimizer = dp.Optimizer(BOX, maximize=True, policy=policy)
        told = []
        for step in range(1, 11):
            suggestion = optimizer.ask(step * unit)
            told.append(suggestion["x"])
            optimizer.tell(suggestion, -((suggestion["x"] - 0.3) ** 2))
        found.append(told)
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "space",
    [
        dp.Box(x=dp.Float(0, 1)),
        dp.Box(x=dp.Integer(0, 9)),
        dp.Box(x=dp.Float(0, 1), y=dp.Categorical("a", "b")),
        dp.Grid([0, 1], size=8),
    ],
    ids=["float", "integer", "categorical", "grid"],
)
def test_a_cost_beyond_all_rewards_means_to_stay(space):
    for cost in (1e16, 1e200, 1.7e308):
        optimizer = dp.Optimizer(space, maximize=True, moving_cost=cost)
        first = optimizer.ask()
        optimizer.tell(first, 1e-9)
        for step in range(9):
            suggestion = optimizer.ask()
            optimizer.tell(suggestion, 1e-9 * (-1) ** step)
        last = optimizer.ask()
        assert last.hold
        assert dict(last) == dict(suggestion)


STEPS = st.sampled_from([0.1, 0.3, 1 / 3, 0.07, 0.01, 0.25])


@settings(max_examples=300, deadline=None)
@given(step=STEPS, low=st.sampled_from([0.0, -1.0, 1000.0, 0.1]), data=st.data())
def test_a_limit_in_steps_is_exact(step, low, data):
    """From a level, by the number of levels; from anywhere else, in decimals."""
    count = data.draw(st.integers(3, 30))
    high = float(Decimal(repr(low)) + count * Decimal(repr(step)))
    whole = data.draw(st.integers(1, count))
    limit = float(whole * Decimal(repr(step))) * data.draw(st.sampled_from([1, 1 - 1e-14, 1.5]))
    limit = max(limit, step)
    parameter = dp.Float(low, high, step=step, max_step=limit)
    levels = [parameter.decode(place) for place in np.linspace(0, 1, parameter.levels)]
    number = data.draw(st.integers(0, parameter.levels - 1))
    farthest = max(int(Decimal(repr(limit)) // Decimal(repr(step))), 1)
    ends = levels[max(number - farthest, 0)], levels[min(number + farthest, len(levels) - 1)]
    assert parameter.reach(levels[number], 1.0, np.inf) == ends
    between = data.draw(st.floats(low, high))
    if between not in levels:
        for end in parameter.reach(between, 1.0, np.inf):
            assert abs(Decimal(repr(end)) - Decimal(repr(between))) <= Decimal(repr(limit))


def test_a_factor_between_integers_is_exact():
    parameter = dp.Integer(1, 64, log=True, max_step=2.111111111)
    assert parameter.reach(9, 1.0, np.inf) == (5, 18)  # 19 misses it by 1e-10
    assert dp.Integer(1, 64, log=True, max_step=2.0).reach(8, 1.0, np.inf) == (4, 16)
