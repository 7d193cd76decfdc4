"""B16's lower bound against functions whose derivatives are known exactly."""

import math
from functools import cache

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.theory.lower_bounds import (
    budget_lower_bound,
    hard_gap,
    identification_error,
    markov_lower_bound,
    moved_peak_regret,
    price_of_change,
)
from driftpeak.theory.measured_bounds import measured_lower_bound
from driftpeak.theory.rates import rates
from driftpeak.theory.setting import Setting

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


def test_gaps_by_hand():
    """SE, d = 2, H = 55: 3 sqrt(log 55 / 55). Matern 3/2, d = 1, H = 16: 3 * 16^(-3/8).

    Source: IT25 Lemma 2.
    """
    assert hard_gap(dp.SE(), steps=55, dimension=2, constant=3.0) == pytest.approx(
        3 * math.sqrt(math.log(55) / 55)
    )
    assert hard_gap(2.0 * dp.Matern(1.5), steps=16, dimension=1, constant=3.0) == pytest.approx(
        3 * 2**-1.5
    )


@pytest.mark.parametrize("kernel", [dp.SE(), dp.Matern(0.7), dp.Matern(2.5)])
@pytest.mark.parametrize("dimension", [1, 3])
def test_the_construction_stays_within_the_budget(kernel, dimension):
    """For the interval of every variation: 4 gap (m - 1) <= V_T, and the value is m H gap.

    The interval is found again from the value. The closed forms are below it where the last
    interval is complete or T is large: (32), and (23) with 2^(-7/6).

    Source: IT25 Lemma 2, (12)-(32).
    """
    horizon, constant, d = 10**6, 0.5, dimension
    checked = 0
    for variation in np.geomspace(1e-4, 1e6, 41):
        bound = budget_lower_bound(
            kernel, variation=variation, horizon=horizon, dimension=d, constant=constant
        )
        if bound.value is None:
            continue
        if isinstance(kernel, dp.SE):
            root = 4 * constant * math.log(horizon) ** (d / 4)
            unrounded = (root * horizon / variation) ** (2 / 3)
        else:
            nu = kernel.nu
            unrounded = (4 * constant * horizon / variation) ** ((2 * nu + d) / (3 * nu + d))
        interval = math.ceil(unrounded)
        gap = hard_gap(kernel, steps=interval, dimension=d, constant=constant)
        complete = horizon // interval
        assert bound.value == pytest.approx(complete * interval * gap)
        assert 4 * gap * (complete - 1) <= variation * (1 + 1e-9)
        share = complete * interval / horizon
        if isinstance(kernel, dp.SE):
            closed = 2 ** (-7 / 6) * constant ** (2 / 3) * horizon ** (2 / 3) * variation ** (1 / 3)
            closed *= math.log(interval) ** (d / 4) * math.log(horizon) ** (-d / 12)
        else:
            closed = 2 ** (-2 - (3 * nu + d) / (2 * nu + d)) * variation * unrounded
        assert bound.value >= closed * share * (1 - 1e-9)
        checked += 1
    assert checked > 10


def test_the_printed_constant_of_the_se_bound_is_too_large():
    """Where H rounds up to nearly twice the unrounded value, (19) is below 2^(-5/6) of (22).

    Source: IT25 (19)-(22).
    """
    horizon, constant = 10**6, 1.0
    scale = 4 * constant * math.log(horizon) ** 0.25 * horizon
    variation = scale / 1.001**1.5  # the unrounded interval is 1.001, the interval 2
    bound = budget_lower_bound(dp.SE(), variation=variation, horizon=horizon, dimension=1)
    order = constant ** (2 / 3) * horizon ** (2 / 3) * variation ** (1 / 3)
    order *= math.log(2) ** 0.25 * math.log(horizon) ** (-1 / 12)
    assert 2 ** (-7 / 6) * order <= bound.number < 2 ** (-5 / 6) * order


def test_conditions_and_growth_of_the_budget_bound():
    """Failing conditions by name; the powers of T and V_T are those of the row in `RATES`.

    Source: IT25 Theorem 1, section 3.
    """
    common = {"horizon": 10**4, "dimension": 1}
    for kernel, low, high in ((dp.SE(), 1e-3, 1e6), (dp.Matern(1.5), 1e-3, 1e6)):
        assert budget_lower_bound(kernel, variation=0.0, **common).value is None
        small = budget_lower_bound(kernel, variation=low, **common)
        assert [c.statement[:6] for c in small.failed] == ["V_T >="]
        large = budget_lower_bound(kernel, variation=high, **common)
        assert [c.statement[:6] for c in large.failed] == ["V_T <="]
    kernel, base = dp.Matern(1.5), {"horizon": 10**9, "dimension": 1}
    (rate,) = (one for one in rates("any", "variation", known=True) if one.kernel == "Matern")
    setting = Setting(kernel, 1, 10**9, variation=1.0)
    a, b = (one.at(setting) for one in rate.terms[0])
    one = budget_lower_bound(kernel, variation=1.0, **base).number
    more = budget_lower_bound(kernel, variation=100.0, **base).number
    assert math.log(more / one) / math.log(100) == pytest.approx(b, abs=0.01)
    longer = budget_lower_bound(kernel, variation=1.0, horizon=10**11, dimension=1).number
    assert math.log(longer / one) / math.log(100) == pytest.approx(a, abs=0.01)
    stationary = (1.5 + 1) / (2 * 1.5 + 1)  # Scarlett et al. 2017
    assert price_of_change(kernel, dimension=1) == pytest.approx(a - stationary)
    assert price_of_change(dp.SE(), dimension=3) == pytest.approx(2 / 3 - 1 / 2)


def test_fano_is_below_the_error_of_the_best_choice():
    """Eight normal means, 20,000 draws, maximum likelihood; and by hand.

    Two hypotheses never give a positive bound: log 2 / log 2 = 1.

    Source: M25 (37).
    """
    generator = np.random.default_rng(0)
    for spread in (0.1, 0.5, 1.0):
        means = spread * generator.normal(size=(8, 3))
        divergences = ((means[:, None] - means) ** 2).sum(axis=2) / 2
        truth = generator.integers(0, 8, 20_000)
        seen = means[truth] + generator.normal(size=(20_000, 3))
        chosen = ((seen[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
        bound = identification_error(divergences)
        assert bound <= (chosen != truth).mean() + 0.015
        assert bound > 0.4 or spread > 0.1
    assert identification_error(np.full((4, 4), 0.4)) == pytest.approx(
        1 - (0.4 * 12 / 16 + math.log(2)) / math.log(4)
    )
    assert identification_error(np.zeros((2, 2))) == 0
    for wrong in ([[0.0]], [[0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]]):
        with pytest.raises(dp.DriftpeakError, match="divergences must be a square table"):
            identification_error(wrong)


def test_bad_input_of_the_budget_bound():
    common = {"variation": 1.0, "horizon": 100, "dimension": 1, "constant": 1.0}
    for name, wrong in (("variation", -1.0), ("horizon", 1), ("dimension", 0), ("constant", 0.0)):
        with pytest.raises(dp.DriftpeakError, match=f"{name} must be"):
            budget_lower_bound(dp.SE(), **common | {name: wrong})
    with pytest.raises(dp.DriftpeakError, match="steps must be"):
        hard_gap(dp.SE(), steps=0, dimension=1)
    with pytest.raises(dp.DriftpeakError, match="kernel must be SE or Matern"):
        price_of_change(dp.Periodic(), dimension=1)


def joint_draws(generator, count, size):
    """f, f' and f'' of an SE kernel at points of [0, 1], from their joint covariance."""
    line = np.linspace(0, 1, size)
    h, square = line[:, None] - line, LENGTHSCALE**2
    k, x = np.exp(-(h**2) / (2 * square)), h / LENGTHSCALE
    # derivatives of k in h, by Hermite polynomials; a derivative at the second point changes sign
    d = [k, -x * k, (x**2 - 1) * k, -(x**3 - 3 * x) * k, (x**4 - 6 * x**2 + 3) * k]
    d = [one / LENGTHSCALE**order for order, one in enumerate(d)]
    blocks = [[(-1) ** j * d[i + j] for j in range(3)] for i in range(3)]
    values, vectors = np.linalg.eigh(np.block(blocks))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.split(generator.standard_normal((count, 3 * size)) @ root.T, 3, axis=1)


@pytest.mark.slow
def test_the_measured_bound_is_that_of_exact_draws_and_below_the_genie_s_regret():
    """3,000 pairs from the joint covariance, at the level L that is best for them.

    The measured bound is a lower confidence limit: between 0.3 and 1.05 of the exact draws'. The
    regret is that of the peak of the last function, which no policy can improve on.

    Source: B16 (90)-(93), (102).
    """
    drift, steps = 0.02, 200
    generator = np.random.default_rng(0)
    f, _, f2 = joint_draws(generator, 3000, 100)
    g, g1, g2 = joint_draws(generator, 3000, 100)
    peak = f.argmax(axis=1)
    rows, line = np.arange(3000), np.linspace(0, 1, 100)
    slope, inside = g1[rows, peak] ** 2, np.minimum(line[peak], 1 - line[peak])
    largest = np.maximum(np.abs(f2).max(axis=1), np.abs(g2).max(axis=1))
    exact = max(
        ((largest <= level) & (inside > 0) & (np.sqrt(drift * slope) / (2 * level) <= inside))
        @ slope / (4 * level) / 3000
        for level in np.quantile(largest, np.linspace(0.05, 1, 20))
    ) * drift * (steps - 1)  # fmt: skip
    moved = np.sqrt(1 - drift) * f + np.sqrt(drift) * g
    regret = (steps - 1) * (moved.max(axis=1) - moved[rows, peak]).mean()
    kernel, options = dp.SE(LENGTHSCALE), {"drift": drift, "horizon": steps}
    found = measured_lower_bound(kernel, [1.0], **options, count=1000).number
    assert 0.3 * exact < found < 1.05 * exact
    assert found < regret


def test_units_of_the_measured_bound():
    """Twice as many pairs of steps: twice the bound. A box and a lengthscale twice as large, and a
    reward three times as large: three times the bound."""
    options = {"drift": 0.3, "count": 100, "size": 50}
    found = measured_lower_bound(dp.SE(0.15), [1.0], horizon=100, **options).number
    assert found > 0
    longer = measured_lower_bound(dp.SE(0.15), [1.0], horizon=199, **options).number
    assert longer == pytest.approx(2 * found)
    scaled = measured_lower_bound(9.0 * dp.SE(0.3), [2.0], horizon=100, **options)
    assert scaled.number == pytest.approx(3 * found)


def test_the_measured_bound_in_two_dimensions_and_bad_input():
    plane = measured_lower_bound(
        dp.Matern(3.5, 0.3), [1.0, 1.0], drift=0.1, horizon=100, count=60, size=15
    )
    assert plane.value is not None
    assert 0 <= plane.value < 99
    assert measured_lower_bound(dp.SE(0.3), [1.0], drift=0.0, horizon=9, count=20).value == 0
    slowest = measured_lower_bound(dp.SE(50.0), [1.0], drift=0.1, horizon=9, count=20, size=3)
    assert slowest.value is None or slowest.value == 0  # the peak of a monotonic function
    common = {"drift": 0.1, "horizon": 10}
    for wrong, message in (
        ({"drift": 2.0}, "drift must"), ({"horizon": 0}, "horizon must"), ({"count": 5}, "count"),
        ({"seed": -1}, "seed must be"), ({"size": 2}, "size must be"),
        ({"size": 6000}, "size must give at most 5,000 points"),
    ):  # fmt: skip
        with pytest.raises(dp.DriftpeakError, match=message):
            measured_lower_bound(dp.SE(0.3), [1.0], **common | wrong)
    with pytest.raises(dp.DriftpeakError, match="has no spectral density"):
        measured_lower_bound(dp.Periodic(), [1.0], **common)
