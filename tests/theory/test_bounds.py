"""Explicit regret bounds: by hand, and above the regret of simulations."""

import math

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.policies import widths
from driftpeak.policies.elimination import batch_sizes
from driftpeak.theory.bounds import (
    r_gp_ucb_regret,
    r_perp_regret,
    tv_gp_ucb_regret,
    ui_gp_ucb_regret,
)

UNIT_NOISE = 1 / (math.exp(8) - 1)  # C_1 = 8 / log(1 + 1/noise) = 1


def test_tv_gp_ucb_by_hand():
    """C_1 = 1, T = 16, beta = 9, gain = 4: sqrt(16 * 9 * 4) + 2 = 26.

    Source: B16 (20).
    """
    found = tv_gp_ucb_regret(width=3.0, gain=4.0, horizon=16, noise_variance=UNIT_NOISE)
    assert found.value == pytest.approx(26.0)


def test_r_gp_ucb_by_hand():
    """sigma^2 = 1, N = 2, epsilon = 1/8 (N^3 epsilon = 1), T = 4, width 1, gain 0, b0 = 1:
    psi = sqrt(4) + 2 * 3 sqrt(log(2 (1 + a0) pi^2 16 / (3 delta))); with a0 = 1, delta = 0.1:
    log(2105.5) = 7.6523, root 2.76628; psi = 18.5977, bound 2 + 8 psi = 150.78.

    Source: B16 (17)-(18).
    """
    options = {"width": 1.0, "gain": 0.0, "period": 2, "drift": 0.125, "delta": 0.1, "a0": 1.0}
    found = r_gp_ucb_regret(horizon=4, noise_variance=1.0, b0=1.0, **options)
    assert found.value == pytest.approx(150.78, abs=0.01)
    # the proof asks nothing of b0: by hand 8 (2 + 2 (2 + b0) 2.76628) + 2
    for b0, expected in ((0.5, 128.65), (2.5, 217.17)):
        found = r_gp_ucb_regret(horizon=4, noise_variance=1.0, b0=b0, **options)
        assert found.value == pytest.approx(expected, abs=0.01)
    noisy = r_gp_ucb_regret(horizon=4, noise_variance=2.5, b0=1.0, **options)
    assert [c.statement for c in noisy.failed] == ["sigma^2 <= 2"]
    learning = r_gp_ucb_regret(
        width=2.0, gain=3.0, period=4, drift=0.0, horizon=8, noise_variance=UNIT_NOISE,
        delta=0.1, a0=1.0, b0=1.0,
    )  # fmt: skip
    assert learning.value == pytest.approx(math.sqrt(8 * 4 * 3 * 3) + 2)


def test_r_perp_by_hand():
    """H = 16: log2 log2 H = 2, root + 1 = 5; T = 40: 3 intervals; C_1 = 1, gain 4, width 2, B = 1:
    9 * 0.5 * 16 + 3 (2 * 5 + 4 * 3 * 5 * sqrt(4) * 2) = 72 + 750.

    Source: IT25 (101).
    """
    found = r_perp_regret(
        width=2.0, gain=4.0, period=16, variation=0.5, horizon=40, norm_bound=1.0,
        noise_variance=UNIT_NOISE,
    )  # fmt: skip
    assert found.value == pytest.approx(72 + 750)
    for period in (1, 41):
        failed = r_perp_regret(
            width=2.0, gain=4.0, period=period, variation=0.5, horizon=40, norm_bound=1.0,
            noise_variance=UNIT_NOISE,
        )  # fmt: skip
        assert [c.statement for c in failed.failed] == ["H in 2..T"]


def test_ui_gp_ucb_by_hand():
    """T = 5, alpha = 1/2, sigma^2 = 2: 1 + 2 (1 + 4^(1/2)) = 7; 6 sqrt(2 * 5 * 7 * 0.7) = 42.

    Source: M25 (15).
    """
    found = ui_gp_ucb_regret(width=3.0, gain=0.7, exponent=0.5, horizon=5, noise_variance=2.0)
    assert found.value == pytest.approx(42.0)


@pytest.mark.parametrize(
    "bound",
    [
        lambda v: tv_gp_ucb_regret(width=1.0, gain=1.0, horizon=4, noise_variance=1.0, variance=v),
        lambda v: ui_gp_ucb_regret(
            width=1.0, gain=1.0, exponent=1.0, horizon=4, noise_variance=1.0, variance=v
        ),
    ],
)
def test_prior_variance_above_one_is_outside_every_theorem(bound):
    assert bound(1.0).value is not None
    assert [c.statement for c in bound(1.5).failed] == ["k(x, x) <= 1"]


GRID = dp.Grid([0, 1], size=40)
STEPS = 150


def regrets(policies, world, trials=8):
    runs = dp.simulate(policies, world, steps=STEPS, trials=trials, seed=1, progress=False)
    return runs["regret"].sum("step")


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.003, 0.1])
def test_b16_bounds_dominate_simulated_regret(drift):
    """40 points, delta = 0.1, eight trials: (20), (21) corrected and (17)-(18) corrected.

    Source: B16 Theorems 4.2-4.3, (17)-(18), (20)-(21).
    """
    noise, points = 0.1, len(GRID)
    prior = dp.Prior(GRID, dp.SE(0.2), noise)
    width = widths.FiniteDomain(points)
    at_horizon = math.sqrt(2 * math.log(points * math.pi**2 * STEPS**2 / 0.6))
    period = 10
    found = regrets(
        {
            "TV": dp.TVGPUCB(prior, drift=drift, width=width),
            "R": dp.RGPUCB(prior, period=period, width=width),
        },
        dp.MarkovDrift(prior, drift=drift),
    )
    common = {"width": at_horizon, "horizon": STEPS, "noise_variance": noise}
    drifting = dp.greedy_gain(prior, STEPS, drift=drift, upper=True)[-1]
    block = float(dp.greedy_gain(prior, period, upper=True)[-1])
    tv = tv_gp_ucb_regret(gain=float(drifting), **common).number
    # R-GP-UCB's (16) asks for the four events of the proof: a width at least as large
    restarting = r_gp_ucb_regret(
        gain=block, period=period, drift=drift, delta=0.1, a0=points, b0=math.sqrt(2), **common
    ).number
    assert float(found.sel(policy="TV").max()) < tv
    assert float(found.sel(policy="R").max()) < restarting
    assert tv < restarting  # B16: the smooth way of forgetting has the better guarantee


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [0.2, 1.0])
def test_m25_15_dominates_simulated_regret(exponent):
    """On a function that stays, the easiest that Assumption 2 allows.

    Source: M25 (15).
    """
    noise = 0.2
    prior = dp.Prior(GRID, dp.SE(0.2), noise)
    norm = 2.0
    policy = dp.UIGPUCB(prior, exponent=exponent, width=widths.Heteroscedastic(norm, 0.1))
    world = dp.MovingBump(prior, period=STEPS, cells=2, norm=norm)
    found = regrets({"UI": policy}, world)
    worth = 1 / (1 + np.arange(STEPS, dtype=float) ** exponent)
    gain = float(dp.greedy_gain(prior, STEPS, weights=worth, upper=True)[-1])
    # the realised information never exceeds the maximum: a bound of the largest width
    width = norm + math.sqrt(2 * (math.log(2 / 0.1) + gain))
    bound = ui_gp_ucb_regret(
        width=width, gain=gain, exponent=exponent, horizon=STEPS, noise_variance=noise
    ).number
    assert float(found.max()) < bound


def test_injected_gains_never_exceed_the_static_one():
    """Noise that grows with age only takes information away: M25's gain of order d T^alpha log T in
    (16) is an upper estimate, whatever alpha.

    Source: M25 (16).
    """
    prior = dp.Prior(GRID, dp.SE(0.2), 0.2)
    static = dp.greedy_gain(prior, STEPS)
    previous = static
    for exponent in (0.1, 0.5, 1.0, 2.0):
        gains = dp.greedy_gain(
            prior, STEPS, weights=1 / (1 + np.arange(STEPS, dtype=float) ** exponent)
        )
        assert (gains <= previous + 1e-9).all()
        previous = gains


@pytest.mark.slow
def test_it25_101_dominates_simulated_regret():
    """R-PERP on abrupt switches: every trial's regret is below (101) with its own V_T and B.

    Source: IT25 (101).
    """
    prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(0.3), noise_variance=0.05)
    steps, period, trials = 300, 60, 10
    world = dp.AbruptSwitches(prior, changes=[100, 200], supports=5)
    functions = dp.true_functions(world, times=[1.0, 150.0, 300.0], trials=trials, seed=1)
    weights = np.linalg.lstsq(prior.features.matrix, functions.reshape(-1, 20).T, rcond=None)[0]
    norm = float(np.sqrt((weights**2).sum(axis=0)).max())
    policy = dp.RPERP(prior, horizon=steps, period=period, norm_bound=norm)
    runs = dp.simulate({"it": policy}, world, steps=steps, trials=trials, seed=1)
    variation = np.abs(np.diff(functions, axis=1)).max(axis=2).sum(axis=1)
    for regret, moved in zip(runs["regret"].values[0].sum(axis=1), variation, strict=True):
        bound = r_perp_regret(
            width=float(policy.width),
            gain=float(dp.greedy_gain(prior, period, upper=True)[-1]),
            period=period,
            variation=float(moved),
            horizon=steps,
            norm_bound=norm,
            noise_variance=0.05,
        )
        assert regret < bound.number


@pytest.mark.parametrize("horizon", [50, 777, 10_000])
def test_the_number_of_batches_is_below_that_of_the_width(horizon):
    """The intervals of R-PERP with a last batch that is not used, for periods from 2 to T.

    The number in (53) is at most ceil(T/H) (1 + log2 log2 H), the number in (8).

    Source: IT25 (8).
    """
    for period in sorted({2, 3, 5, 16, 17, 100, 256, 257, horizon // 3, horizon}):
        if period > horizon:
            continue
        intervals = [period] * (horizon // period) + [horizon % period] * (horizon % period > 0)
        exact = sum(len(batch_sizes(interval)) - 1 for interval in intervals)
        assert exact <= len(intervals) * (1 + math.log2(math.log2(period)))
