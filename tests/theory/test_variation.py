"""Variation budgets against sums written out, and drift estimates against known drift."""

import math
from pathlib import Path

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.theory.variation import (
    estimate_drift,
    rkhs_norm,
    rkhs_variation,
    supremum_variation,
)

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
PRIOR = dp.Prior(dp.Grid([0, 1], size=25), dp.Matern(1.5, 0.3), 0.01)


def test_supremum_variation_by_hand():
    """|2 - 0| then |3 - 1|, |-1 - 1| = 2 and max(3, 2) = 3: steps (0, 1), (2, 1), (3, -1).

    Source: IT25 Assumption 3.
    """
    assert supremum_variation([[0, 1], [2, 1], [3, -1]]) == 2 + 2
    assert supremum_variation([[4, 5]]) == 0.0


@pytest.mark.parametrize("kernel", [dp.Matern(1.5, 0.3), dp.SE(0.3), 4.0 * dp.SE(0.1)])
def test_norm_of_a_kernel_expansion(kernel):
    """f = sum_i a_i k(., x_i) has the norm sqrt(a' K a), also where K is singular to rounding.

    Source: IT25 Assumption 2; M25 Assumption 1, (6).
    """
    prior = dp.Prior(dp.Grid([0, 1], size=25), kernel, 0.01)
    coefficients = np.random.default_rng(0).uniform(-1, 1, (3, 25))
    expected = np.sqrt(np.einsum("fi,ij,fj->f", coefficients, prior.gram, coefficients))
    np.testing.assert_allclose(rkhs_norm(prior, coefficients @ prior.gram), expected, rtol=1e-4)


def test_noise_is_in_no_smooth_space():
    """White noise has a component beyond every eigenvector that counts: its norm is infinite."""
    prior = dp.Prior(dp.Grid([0, 1], size=60), dp.SE(0.3), 0.01)
    noise = np.random.default_rng(0).normal(size=(2, 60))
    assert np.isinf(rkhs_norm(prior, noise)).all()
    assert rkhs_norm(prior, np.zeros((1, 60))) == 0.0


def test_rkhs_variation_of_abrupt_and_slow_change():
    """A straight line from f to g varies by |g - f| in all, in either norm, and so does a jump.

    Source: ZS21 section II.
    """
    f, g = np.random.default_rng(1).uniform(-1, 1, (2, 25)) @ PRIOR.gram
    jump = np.stack([f, f, g, g])
    line = f + (g - f) * np.linspace(0, 1, 9)[:, None]
    expected = float(rkhs_norm(PRIOR, (g - f)[None])[0])
    for steps in (jump, line):
        assert rkhs_variation(PRIOR, steps) == pytest.approx(expected)
        assert supremum_variation(steps) == pytest.approx(np.abs(g - f).max())
    assert rkhs_variation(PRIOR, jump[:1]) == 0.0


def test_supremum_variation_never_exceeds_that_in_the_rkhs():
    """|h(x)| <= |h| sqrt k(x, x): of the environments' own functions."""
    world = dp.MarkovDrift(PRIOR, drift=0.1)
    values = dp.true_functions(world, steps=30, trials=4, seed=0)
    for functions in values:
        assert supremum_variation(functions) <= rkhs_variation(PRIOR, functions)


def dense_likelihood(values, prior, drift):
    """B16 (24) with the covariance of all cells, constants left out."""
    steps, arms = values.shape
    times = np.repeat(np.arange(steps), arms)
    correlation = (1 - drift) ** (np.abs(times[:, None] - times[None, :]) / 2)
    gram = np.tile(prior.gram, (steps, steps)) * correlation
    covariance = gram + prior.noise_variance * np.eye(len(gram))
    flat = (values - prior.mean).ravel()
    return 0.5 * (flat @ np.linalg.solve(covariance, flat) + np.linalg.slogdet(covariance)[1])


def test_the_estimate_maximises_the_dense_likelihood():
    """Its interval too: where twice the log-likelihood has fallen by 3.841.

    Source: B16 (24).
    """
    prior = dp.Prior(dp.Grid([0, 1], size=6), dp.Matern(1.5, 0.5), 0.2, mean=np.arange(6.0))
    values = dp.true_functions(dp.MarkovDrift(prior, drift=0.2), steps=25, seed=3)[0]
    values = values + math.sqrt(0.2) * np.random.default_rng(3).normal(size=values.shape)
    found = estimate_drift(values, prior=prior)
    best = dense_likelihood(values, prior, found.drift)
    for factor in (0.97, 1.03):
        assert dense_likelihood(values, prior, found.drift * factor) > best
    for end in (found.low, found.high):
        rise = 2 * (dense_likelihood(values, prior, end) - best)
        assert rise == pytest.approx(3.841, abs=0.02)
    assert found.noise_variance == 0.2


@pytest.mark.slow
def test_the_interval_covers_the_drift():
    """Nominally 95 % of 20 tables: fewer than 15 would happen once in 3,000 times."""
    prior = dp.Prior(dp.Grid([0, 1], size=8), dp.SE(0.3), 0.05)
    worlds = dp.true_functions(dp.MarkovDrift(prior, drift=0.05), steps=80, trials=20, seed=0)
    noise = math.sqrt(0.05) * np.random.default_rng(0).normal(size=worlds.shape)
    found = [estimate_drift(values, prior=prior) for values in worlds + noise]
    assert sum(one.low <= 0.05 <= one.high for one in found) >= 15
    assert np.median([one.drift for one in found]) == pytest.approx(0.05, rel=0.15)


@pytest.mark.slow
def test_without_a_prior_the_data_are_their_own():
    """Two tables, in other units: within a third, and inside the interval."""
    prior = dp.Prior(dp.Grid([0, 1], size=12), dp.SE(0.3), 0.05, mean=10.0)
    for drift in (0.1, 0.4):
        values = dp.true_functions(dp.MarkovDrift(prior, drift=drift), steps=600, seed=1)[0]
        values = values + math.sqrt(0.05) * np.random.default_rng(1).normal(size=values.shape)
        found = estimate_drift(100 * values)
        assert found.drift == pytest.approx(drift, rel=1 / 3)
        assert found.low < drift < found.high
        assert found.noise_variance == pytest.approx(500, rel=0.1)


def test_extreme_drifts():
    """Independent rows: drift near 1; rows that hardly change, with a prior: near 0."""
    random = np.random.default_rng(2)
    independent = estimate_drift(random.normal(size=(300, 5)), noise_variance=1e-6)
    assert independent.high == 1.0
    assert independent.drift > 0.8
    assert str(independent).startswith("at least")
    still = np.tile(PRIOR.gram[3], (50, 1)) + 0.1 * random.normal(size=(50, 25))
    found = estimate_drift(still, prior=PRIOR)
    assert found.drift < 1e-3
    assert found.low == 0.0


@pytest.mark.slow
def test_what_cannot_be_told_is_said():
    """White noise may be any drift; a short walk may stand still but for its noise."""
    random = np.random.default_rng(3)
    noise = estimate_drift(random.normal(size=(40, 3)))
    assert (noise.low, noise.high) == (0.0, 1.0)
    assert "do not determine the drift" in str(noise)
    walk = estimate_drift(np.cumsum(random.normal(size=(60, 3)), axis=0))
    assert walk.low == 0.0
    assert str(walk).startswith("at most")
    assert walk.cautious == walk.high < 1


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="data beside the project")
def test_drift_of_the_intel_sensors():
    """First three days: with B16's noise variance 0.5 their 0.03 lies inside the interval; with the
    noise learned it is 0.06, at hardly any noise. docs/fit.md says more."""
    from driftpeak.offline.data import read_table

    table = read_table(SHARED / "intel_lab_temperature.csv.gz").values[:432]
    given = estimate_drift(table, noise_variance=0.5)
    assert given.low < 0.03 < given.high
    learned = estimate_drift(table)
    assert given.drift < learned.drift < 0.1
    assert learned.noise_variance < 0.01


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: supremum_variation([1.0]), "values must be a 2-dimensional array"),
        (lambda: rkhs_norm(PRIOR, np.ones((1, 3))), "one column for each of 25 points; got 3"),
        (lambda: estimate_drift(np.ones((2, 3))), r"at least 3 rows and 1 arm; .* \(2, 3\)"),
        (lambda: estimate_drift(np.ones((5, 3))), "values must vary"),
        (lambda: estimate_drift(np.eye(5), prior=PRIOR), "values must have 25 columns, .*; got 5"),
        (lambda: estimate_drift(np.eye(5), noise_variance=0.0), "noise_variance must be"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        call()
