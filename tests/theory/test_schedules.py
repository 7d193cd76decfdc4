"""Schedules against the balances they come from, found numerically."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from driftpeak import SE, DriftpeakError, Grid, Linear, Matern, Periodic, Prior, greedy_gain
from driftpeak.theory.schedules import (
    combined_gain,
    discount_factor,
    elimination_period,
    grid_size,
    markov_restart_period,
    restart_period,
    window_length,
)


def test_elimination_period_by_hand() -> None:
    """T = 5000, d = 2, V = 8: SE (5000/8)^(2/3) = 73.10, log(5000)^(4/3) = 17.394: 1271.5.

    Matern-5/2: a = 7/9.5, b = 12/19: 625^(7/9.5) = 114.85, log(5000)^(12/19) = 3.8686: 444.3.

    Source: IT25 Theorem 3, Theorem 5.
    """
    for kernel, period in ((SE(0.5), 1272), (2.0 * SE(0.5), 1272), (Matern(2.5, 0.5), 445)):
        assert elimination_period(kernel, horizon=5000, dimension=2, variation=8.0) == period


@pytest.mark.parametrize("kernel", [SE(), Matern(0.75), Matern(2.5)])
@pytest.mark.parametrize("variation", [None, 1.0, 30.0])
def test_elimination_period_balances_drift_and_learning(
    kernel: SE | Matern, variation: float | None
) -> None:
    """IT25 (101)-(116): V H and T sqrt(log T gain / H) are equal at H, with log T for log H.

    The minimum of their sum is then within the factor that an optimum moves when its two power
    laws have different exponents.

    Source: IT25 (101)-(116), (126), Appendix D.
    """
    horizon, dimension = 10**6, 1
    nu = getattr(kernel, "nu", math.inf)
    v, log = variation or 1.0, math.log(horizon)

    def drift(period: float) -> float:
        return v * period

    def learning(period: float) -> float:
        gain = (
            log ** (dimension + 1)
            if math.isinf(nu)
            else period ** (dimension / (2 * nu + dimension))
            * log ** (2 * nu / (2 * nu + dimension))
        )
        return horizon * math.sqrt(log * gain / period)

    found = elimination_period(kernel, horizon=horizon, dimension=dimension, variation=variation)
    assert drift(found) == pytest.approx(learning(found), rel=1e-3)
    best = minimize_scalar(
        lambda x: drift(math.exp(x)) + learning(math.exp(x)),
        bounds=(math.log(2), math.log(horizon)),
        method="bounded",
    )
    assert drift(found) + learning(found) < 1.2 * best.fun


def test_elimination_period_is_clipped() -> None:
    assert elimination_period(SE(), horizon=100, dimension=1, variation=1e-300) == 100
    assert elimination_period(SE(), horizon=100, dimension=1, variation=1e300) == 2
    assert elimination_period(SE(), horizon=2, dimension=3) == 2


def test_elimination_period_falls_with_variation() -> None:
    periods = [
        elimination_period(Matern(1.5), horizon=3000, dimension=2, variation=v)
        for v in np.geomspace(1e-3, 1e3, 30)
    ]
    assert (np.diff(periods) <= 0).all()
    assert periods[0] > periods[-1]


def test_elimination_period_refuses() -> None:
    with pytest.raises(DriftpeakError, match=r"nu must be above 1/2 .*; got 0.5"):
        elimination_period(Matern(0.5), horizon=100, dimension=1)
    with pytest.raises(DriftpeakError, match=r"SE, Matern or Linear.*got Periodic"):
        elimination_period(Periodic(), horizon=100, dimension=1)
    with pytest.raises(DriftpeakError, match="variation must be a finite number of at least 0"):
        elimination_period(SE(), horizon=100, dimension=1, variation=-1.0)


# ZS21's and D22's schedules


def test_restart_and_window_by_hand() -> None:
    """T = 10^4, gain 16, P = 4: 16^(1/4) (10^4 / 4)^(1/2) = 2 * 50 = 100; unknown: 2 * 100.

    Source: ZS21 Remarks 2-3.
    """
    for schedule in (restart_period, window_length):
        options = {"horizon": 10_000, "dimension": 1, "gain": 16.0}
        assert schedule(SE(), variation=4.0, **options) == 100
        assert schedule(SE(), **options) == 200
        assert schedule(SE(), variation=0.0, **options) == 10_000
        assert schedule(SE(), variation=1e12, **options) == 1


def test_restart_period_takes_the_rate_of_the_gain_like_it25() -> None:
    """IT25 section 6 at T = 5000, d = 2, V = 10: log^3 T = 617.86; Matern-5/2:
    T^(2/7) log^(5/7) T = 11.398 * 4.6196 = 52.65; H = gain^(1/4) 500^(1/2)."""
    options = {"horizon": 5000, "dimension": 2, "variation": 10.0}
    assert restart_period(SE(0.5), **options) == math.ceil(617.86**0.25 * 500**0.5)
    assert restart_period(Matern(2.5, 0.5), **options) == math.ceil(52.65**0.25 * 500**0.5)
    assert restart_period(Linear(), **options) == math.ceil((2 * math.log(5000)) ** 0.25 * 500**0.5)


@pytest.mark.parametrize("variation", [0.5, 4.0])
def test_restart_period_balances_theorem_1_of_zs21(variation: float) -> None:
    """sqrt(g) H^(3/2) P + g T H^(-1/2): the two are equal at H, and their sum is least at a
    constant times H: d/dH = 0 at H^2 = sqrt(g) T / (3 P).

    Source: ZS21 Theorem 1, Remark 2.
    """
    horizon, gain = 10**7, 50.0
    found = restart_period(SE(), horizon=horizon, dimension=1, variation=variation, gain=gain)
    drift, learning = gain**0.5 * found**1.5 * variation, gain * horizon * found**-0.5
    assert drift == pytest.approx(learning, rel=1e-3)
    best = minimize_scalar(
        lambda x: gain**0.5 * math.exp(1.5 * x) * variation + gain * horizon * math.exp(-x / 2),
        bounds=(0, math.log(horizon)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert found / math.exp(best.x) == pytest.approx(math.sqrt(3), rel=1e-3)


def test_discount_by_hand() -> None:
    """T = 10^4, gain 16, B = 4: 1 - 16^(-1/4) (4 / 10^4)^(1/2) = 1 - 0.02 / 2; unknown: 0.995.

    Source: D22 Corollary 5, Lemma 23.
    """
    options = {"horizon": 10_000, "dimension": 1, "gain": 16.0}
    assert discount_factor(SE(), variation=4.0, **options) == pytest.approx(0.99)
    assert discount_factor(SE(), **options) == pytest.approx(0.995)
    assert discount_factor(SE(), variation=0.0, **options) == 1.0


def test_discount_forgets_as_fast_as_the_window() -> None:
    """1 / (1 - discount) is ZS21's H: both come from the same balance (D22 remark 4).

    Source: D22 Remark 4.
    """
    options = {"horizon": 3000, "dimension": 2, "variation": 7.0}
    discount = discount_factor(Matern(1.5), **options)
    assert restart_period(Matern(1.5), **options) == math.ceil(1 / (1 - discount))


def test_schedules_refuse() -> None:
    with pytest.raises(DriftpeakError, match=r"variation must be below sqrt\(gain\) T = 400"):
        discount_factor(SE(), horizon=100, dimension=1, gain=16.0, variation=400.0)
    with pytest.raises(DriftpeakError, match=r"requires nu > 1/2 \(here nu = 0.5\)"):
        restart_period(Matern(0.5), horizon=100, dimension=1)
    with pytest.raises(DriftpeakError, match=r"SE, Matern or Linear.*got Periodic"):
        window_length(Periodic(), horizon=100, dimension=1)


def test_markov_restart_period_of_b16() -> None:
    """12 * 0.01^(-1/4) = 37.95; Matern-5/2, d = 2: c = 6/11, 24 * 0.01^(-11/38) = 91.01.

    Source: B16 section 5.1.
    """
    options = {"drift": 0.01, "dimension": 2}
    assert markov_restart_period(SE(0.2), horizon=200, **options) == 38
    assert markov_restart_period(Matern(2.5), horizon=200, **options) == 92
    assert markov_restart_period(Matern(2.5), horizon=50, **options) == 50
    assert markov_restart_period(SE(), drift=0.0, horizon=70, dimension=1) == 70


@pytest.mark.parametrize("variation", [None, 0.5, 8.0])
def test_combined_gain_is_a_fixed_point(variation) -> None:
    """The gain of its own discount, and the discount of its own gain; below the gain without one.

    Source: D22 Corollary 5, section 5.
    """
    prior = Prior(Grid([0, 1], size=60), Matern(1.5, 0.2), 0.1)
    found = combined_gain(prior, horizon=300, variation=variation)
    gain, discount = found.gain, found.discount
    moved = 1.0 if variation is None else variation
    assert discount == pytest.approx(1 - gain**-0.25 * math.sqrt(moved / 300), rel=1e-6)
    most = greedy_gain(prior, 300, upper=True)[-1]
    own = greedy_gain(prior, 300, weights=discount ** np.arange(300.0), upper=True)[-1]
    assert gain == pytest.approx(min(own, most), rel=1e-5)
    double = greedy_gain(prior, 300, weights=discount ** (2 * np.arange(300.0)), upper=True)[-1]
    assert double <= gain


def test_combined_gain_in_its_limits() -> None:
    prior = Prior(Grid([0, 1], size=60), Matern(1.5, 0.2), 0.1)
    still = combined_gain(prior, horizon=100, variation=0.0)
    assert still.discount == 1
    assert still.gain == pytest.approx(greedy_gain(prior, 100, upper=True)[-1])
    found = [combined_gain(prior, horizon=100, variation=v).gain for v in (0.1, 1.0, 10.0)]
    assert found == sorted(found, reverse=True)
    with pytest.raises(DriftpeakError, match="variation must be below"):
        combined_gain(prior, horizon=100, variation=1e6)
    with pytest.raises(DriftpeakError, match="horizon must be"):
        combined_gain(prior, horizon=1)


@pytest.mark.parametrize("kernel", [SE(0.2), 4.0 * Matern(0.7, 0.5), Matern(2.5, [0.2, 0.6])])
def test_grids_are_as_fine_as_needed(kernel) -> None:
    """Functions of norm B that change most between a grid point and the centre of a cell.

    k(x, .) - k(y, .), scaled to norm B, changes by B sqrt(2 (k(0) - k(h))) between x and y.

    Source: IT25 section 5.
    """
    sides, norm_bound, error = np.array([1.0, 2.0]), 3.0, 0.3
    size = grid_size(kernel, sides, norm_bound=norm_bound, error=error)

    def changes(points):
        from driftpeak import Arms

        lag = np.array([[0.0, 0.0], sides / (points - 1) / 2])
        gram = kernel.rows(Arms(lag))
        weights = np.array([1.0, -1.0])
        weights *= norm_bound / math.sqrt(weights @ gram @ weights)
        return abs(np.subtract(*(gram @ weights)))

    assert changes(size) <= error
    assert size == 2 or changes(size - 1) > error


def test_grids_in_their_limits() -> None:
    """SE: sqrt(2 (1 - exp(-h^2/2))) is about h, h = r / (2 (n - 1)): n = 1 + B r / (2 error)."""
    found = grid_size(SE(1.0), [1.0], norm_bound=1.0, error=1e-3)
    assert found == pytest.approx(501, abs=1)
    assert grid_size(SE(1.0), [1.0], norm_bound=0.0, error=1e-3) == 2
    with pytest.raises(DriftpeakError, match="kernel must be SE, Matern or RationalQuadratic"):
        grid_size(Periodic(), [1.0], norm_bound=1.0, error=0.1)
    with pytest.raises(DriftpeakError, match="error must allow at most 1,000,000 points"):
        grid_size(Matern(0.5, 0.1), [1.0], norm_bound=1.0, error=1e-6)
    for name, wrong in (("extents", [0.0]), ("norm_bound", -1.0), ("error", 0.0)):
        options = {"extents": [1.0], "norm_bound": 1.0, "error": 0.1} | {name: wrong}
        with pytest.raises(DriftpeakError, match=f"{name} must be"):
            grid_size(SE(), **options)
