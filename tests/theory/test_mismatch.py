"""B16 Lemma D.1 against the two posteriors that it compares, and the largest reward of (65)."""

import dense
import numpy as np
import pytest
from scipy import stats

import driftpeak as dp
from driftpeak.theory.mismatch import deviation_mismatch, largest_reward, mean_mismatch

PRIOR = dp.Prior(dp.Grid([0, 1], size=30), dp.SE(0.2), 0.3)


def test_by_hand():
    """sigma^2 = 1/2, N = 2, epsilon = 1/8: N^3 epsilon = 1; sqrt(3 * 2 + 4); (2 + 4) * 3.

    Source: B16 (82), (87).
    """
    options = {"block": 2, "drift": 0.125, "noise_variance": 0.5}
    assert deviation_mismatch(**options).value == pytest.approx(np.sqrt(10))
    assert mean_mismatch(**options, largest=3.0).value == pytest.approx(18)
    # a0 = 1/2, t = 1 and delta = pi^2 / (e^4): log e^4 = 4; (2 + 1) * 2
    delta = float(np.pi**2 / np.exp(4))
    found = largest_reward(step=1, delta=delta, a0=0.5, b0=1.0, noise_variance=1.0)
    assert found.value == pytest.approx(6)
    assert largest_reward(step=1, delta=0.1, a0=1.0, b0=9.0, noise_variance=2.0).value is not None
    noisy = largest_reward(step=1, delta=0.1, a0=1.0, b0=1.0, noise_variance=2.1)
    assert [c.statement for c in noisy.failed] == ["sigma^2 <= 2"]


@pytest.mark.parametrize("noise_variance", [0.02, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("drift", [0.0, 1e-4, 0.03, 1.0])
def test_the_posteriors_differ_by_no_more(drift, noise_variance):
    """Every length of block, points at random and points all alike (the worst case), dense.

    Source: B16 Lemma D.1, (66)-(67), (82), (87).
    """
    generator = np.random.default_rng(0)
    for block in (1, 2, 5, 12):
        for arms in (generator.integers(0, 30, block), np.full(block, 4)):
            rewards = generator.normal(size=block) * 2
            times = np.arange(1.0, block + 1)
            found = [
                dense.posterior(
                    PRIOR.gram, noise_variance, np.zeros(30), *rule, arms, rewards, times, block + 1
                )
                for rule in (("keep", None), ("drift", drift))
            ]
            (mean, variance, _), (true_mean, true_variance, _) = found
            common = {"block": block, "drift": drift, "noise_variance": noise_variance}
            deviation = np.abs(np.sqrt(variance) - np.sqrt(true_variance)).max()
            assert deviation <= deviation_mismatch(**common).number + 1e-7
            largest = float(np.abs(rewards).max())
            assert (
                np.abs(mean - true_mean).max()
                <= mean_mismatch(**common, largest=largest).number + 1e-9
            )


def test_the_bounds_grow_as_slowly_as_the_drift_for_one_observation():
    """N = 1, k = 1: sigma~^2 - sigma^2 = epsilon / (1 + s^2) exactly, below (3/s^2 + 1/s^4) eps."""
    point = dp.Prior(dp.Grid([0, 1], size=2), dp.SE(1.0), 1.0)
    arms, rewards, times = np.array([0]), np.array([1.0]), np.array([1.0])
    for drift in (1e-6, 1e-3, 0.5):
        variance = dense.posterior(
            point.gram, 1.0, np.zeros(2), "drift", drift, arms, rewards, times, 2.0
        )[1][0]
        assert variance - 0.5 == pytest.approx(drift / 2, rel=1e-6)
        assert drift / 2 <= deviation_mismatch(block=1, drift=drift, noise_variance=1.0).number ** 2


@pytest.mark.parametrize("b0", [0.3, np.sqrt(2), 6.0])
@pytest.mark.parametrize("noise_variance", [0.1, 1.0, 2.0])
def test_rewards_exceed_their_bound_as_rarely_as_stated(b0, noise_variance):
    """With P(|f| > L) = min(1, a0 exp(-(L/b0)^2)) exactly, whatever the noise's law says of b0:
    P(|f| + |z| > L~_t) <= 3 delta / (2 pi^2 t^2), by numerical integration over f.

    Source: B16 (65).
    """
    a0, delta = 2.0, 0.1
    for step in (1, 100):
        bound = largest_reward(
            step=step, delta=delta, a0=a0, b0=b0, noise_variance=noise_variance
        ).number
        # the quantile function of |f|, on a fine grid of probabilities
        tail = np.exp(-np.linspace(0, 60, 400_001))
        size = b0 * np.sqrt(np.maximum(np.log(a0 / tail), 0))
        exceeded = 2 * stats.norm.sf(np.maximum(bound - size, 0) / np.sqrt(noise_variance))
        probability = float(np.trapezoid(exceeded[::-1], tail[::-1]))
        assert probability <= 3 * delta / (2 * np.pi**2 * step**2)
