"""B16's lower bound against functions whose derivatives are known exactly."""

from functools import cache

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.theory.lower_bounds import markov_lower_bound, moved_peak_regret

LINE = np.linspace(0, 1, 2001)
LENGTHSCALE = 0.3


@cache
def draws(seed, count):
    """f, f', f'' on LINE: 12 cosines of random frequency and phase, each array (count, 2001)."""
    generator = np.random.default_rng(seed)
    frequency = generator.normal(size=(count, 12)) / LENGTHSCALE
    start = generator.uniform(0, 2 * np.pi, (count, 12))
    size = generator.normal(size=(count, 12)) * np.sqrt(2 / 12)
    f, f1, f2 = np.zeros((3, count, len(LINE)))
    for w, b, a in zip(frequency.T, start.T, size.T, strict=True):
        phase = np.outer(w, LINE) + b[:, None]
        wave = a[:, None] * np.cos(phase)
        f += wave
        f1 -= (a * w)[:, None] * np.sin(phase)
        f2 -= (w**2)[:, None] * wave
    return f, f1, f2


def pairs(count):
    """f, f'', g, g', g'' of so many independent pairs."""
    (f, _, f2), g = draws(1, count), draws(2, count)
    return zip(f, f2, *g, strict=True)


def test_by_hand():
    """epsilon = 0.04, |grad| = 3, L = 0.5, d = 2: 0.04 * 9 / 4 = 0.09, a stride of 0.2 * 3 / 2.

    Source: B16 (100).
    """
    common = {"gradient": 3.0, "curvature": 0.5, "drift": 0.04, "dimension": 2}
    assert moved_peak_regret(**common).value == pytest.approx(0.09)
    assert moved_peak_regret(**common, distance=0.31).value == pytest.approx(0.09)
    for distance in (0.0, 0.29):
        assert moved_peak_regret(**common, distance=distance).value is None
    total = markov_lower_bound(
        horizon=11, drift=0.04, dimension=2, curvature=0.5, squared_gradient=9.0, probability=0.5
    )
    assert total.value == pytest.approx(10 * 0.5 * 0.09)


@pytest.mark.parametrize("drift", [1e-4, 0.01, 0.3])
def test_the_peak_of_yesterday_costs_at_least_as_much(drift):
    """(100) draw by draw, with each draw's own L, where the peak is off the boundary.

    Source: B16 (100).
    """
    applied = 0
    for f, f2, g, g1, g2 in pairs(100):
        peak = int(f.argmax())
        bound = moved_peak_regret(
            gradient=abs(float(g1[peak])),
            curvature=float(max(np.abs(f2).max(), np.abs(g2).max())),
            drift=drift,
            dimension=1,
            distance=float(min(LINE[peak], 1 - LINE[peak])),
        )
        if bound.value is None:
            continue
        applied += 1
        moved = np.sqrt(1 - drift) * f + np.sqrt(drift) * g
        # the peak lies between points of LINE: f'(peak) is not 0 but at most L times their spacing
        assert moved.max() - moved[peak] >= bound.value - 1e-5
    assert applied > 30


@pytest.mark.slow
def test_simulated_regret_is_above_the_expected_bound():
    """P(A) and E[|grad g|^2 | A] measured at the L that makes the bound largest; 60 points stand
    for the interval, on which even a policy that knows the drift regrets more.

    Source: B16 Theorem 4.1, (90)-(93), (102).
    """
    drift, steps = 0.02, 200
    found = []
    for f, f2, _, g1, g2 in pairs(400):
        peak = int(f.argmax())
        largest = max(np.abs(f2).max(), np.abs(g2).max())
        found.append((largest, abs(g1[peak]), min(LINE[peak], 1 - LINE[peak])))
    largest, gradient, distance = np.array(found).T
    bounds = []
    for level in np.quantile(largest, [0.1, 0.3, 0.5, 0.7, 0.9]):
        event = (largest <= level) & (np.sqrt(drift) * gradient / (2 * level) <= distance)
        event &= distance > 0
        bounds.append(
            markov_lower_bound(
                horizon=steps,
                drift=drift,
                dimension=1,
                curvature=float(level),
                squared_gradient=float((gradient[event] ** 2).mean()),
                probability=float(event.mean()),
            ).number
        )
    prior = dp.Prior(dp.Grid([0, 1], size=60), dp.SE(LENGTHSCALE), 0.01)
    runs = dp.simulate(
        {"TV": dp.TVGPUCB(prior, drift=drift)}, dp.MarkovDrift(prior, drift=drift),
        steps=steps, trials=20, seed=0, progress=False,
    )  # fmt: skip
    assert 0 < max(bounds) < float(runs["regret"].sum("step").mean())
