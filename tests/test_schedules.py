"""Schedules against the balances they come from, found numerically."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from driftpeak import SE, DriftpeakError, Linear, Matern
from driftpeak.theory.schedules import elimination_period


def test_elimination_period_by_hand() -> None:
    """T = 5000, d = 2, V = 8: SE (5000/8)^(2/3) = 73.10, log(5000)^(4/3) = 17.394: 1271.5.

    Matern-5/2: a = 7/9.5, b = 12/19: 625^(7/9.5) = 114.85, log(5000)^(12/19) = 3.8686: 444.3.
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
    with pytest.raises(DriftpeakError, match=r"nu above 1/2; got 0.5"):
        elimination_period(Matern(0.5), horizon=100, dimension=1)
    with pytest.raises(DriftpeakError, match="nothing of Linear"):
        elimination_period(Linear(), horizon=100, dimension=1)
    with pytest.raises(DriftpeakError, match="variation must be a finite number of at least 0"):
        elimination_period(SE(), horizon=100, dimension=1, variation=-1.0)
