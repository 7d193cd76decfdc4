"""The restricted likelihood against dense matrices; the drift's intervals against known worlds."""

import math

import numpy as np
import pytest
from benchmarks.drift_coverage import WORLDS, covered, world
from scipy.fft import dct
from scipy.linalg import expm, toeplitz

from driftpeak.inference.fitting.recorded_drift import recorded_drift
from driftpeak.inference.fitting.restricted import (
    RowModel,
    _Columns,
    _slopes,
    correlate,
    cost,
    maximise,
    transform,
)

STEPS, ARMS, LEADING = 13, 5, 3
TABLE = np.random.default_rng(0).normal(size=(STEPS, ARMS))
ROOT = np.random.default_rng(1).normal(size=(LEADING, LEADING))


def rows_of(table, leading):
    rows = transform(table - table.mean(axis=0))
    return rows._replace(leading=rows.rest[:, :leading], rest=rows.rest[:, leading:])


def model_of(covariance, drift):
    variances, axes = np.linalg.eigh(covariance)
    return RowModel(variances, axes, 0.4, 0.2, drift)


def dense(covariance, drift):
    """-2 log restricted likelihood of all cells at once: |C| |X'C^-1 X|, y'Py."""
    whole = np.zeros((ARMS, ARMS))
    whole[:LEADING, :LEADING] = covariance
    whole[LEADING:, LEADING:] = 0.4 * np.eye(ARMS - LEADING)
    correlation = toeplitz((1 - drift) ** (np.arange(STEPS) / 2))
    inverse = np.linalg.inv(np.kron(correlation, whole) + 0.2 * np.eye(STEPS * ARMS))
    means = np.kron(np.ones((STEPS, 1)), np.eye(ARMS))
    within = means.T @ inverse @ means
    project = inverse - inverse @ means @ np.linalg.solve(within, means.T @ inverse)
    y = TABLE.ravel()
    determinants = np.linalg.slogdet(within)[1] - np.linalg.slogdet(inverse)[1]
    return determinants + y @ project @ y - ARMS * math.log(STEPS)


@pytest.mark.parametrize("drift", [0.9, 0.3, 0.01, 1e-6])
def test_likelihood_and_its_slopes(drift):
    """To the last digits, and the slope by every entry of M in K^(1/2) e^M K^(1/2)."""
    covariance = ROOT @ ROOT.T + 0.1 * np.eye(LEADING)
    model, rows = model_of(covariance, drift), rows_of(TABLE, LEADING)
    assert cost(model, rows) == pytest.approx(dense(covariance, drift), rel=1e-9)
    root = model.axes * np.sqrt(model.variances)
    turns = _slopes(model, rows, np.ones(3)).turns
    for i, k in ((0, 0), (0, 1), (1, 2)):
        bent = np.zeros((LEADING, LEADING))
        bent[i, k] = bent[k, i] = 1e-4
        ahead, behind = (dense(root @ expm(sign * bent) @ root.T, drift) for sign in (1, -1))
        expected = (ahead - behind) / 2e-4 / (1 if i == k else 2)
        assert turns[i, k] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_solved_and_correlated():
    drift, rows = 0.3, rows_of(TABLE, ARMS)
    correlation = toeplitz((1 - drift) ** (np.arange(STEPS) / 2))
    inverse = np.linalg.inv(1.7 * correlation + 0.2 * np.eye(STEPS))
    ones = np.ones(STEPS)
    project = inverse - np.outer(inverse @ ones, inverse @ ones) / (ones @ inverse @ ones)
    centred = TABLE - TABLE.mean(axis=0)
    columns = _Columns(np.full(ARMS, 1.7), 0.2, drift, rows)
    expected = dct(project @ centred, axis=0, norm="ortho")
    np.testing.assert_allclose(columns.solved(rows.leading), expected, atol=1e-12)
    expected = dct(correlation @ centred, axis=0, norm="ortho")
    np.testing.assert_allclose(correlate(rows.leading, drift, rows), expected, atol=1e-12)


def test_the_maximum_is_one():
    """From two starts far apart the same value; every nudge of a number raises the cost."""
    table = world(5, 300, 0.3, 0.05, 0.1, seed=0)
    table /= table.std()
    rows = rows_of(table, 5)
    fits = [
        maximise(model_of(scale * np.eye(5), drift), rows, noise=True, drift=True)
        for scale, drift in ((1.0, 0.2), (0.1, 0.01))
    ]
    assert fits[0].cost == pytest.approx(fits[1].cost, abs=0.02)
    best = min(fits, key=lambda one: one.cost)
    for change in (
        {"noise": best.model.noise * 1.2}, {"noise": best.model.noise / 1.2},
        {"variances": best.model.variances * 1.5}, {"drift": best.model.drift * 1.3},
    ):  # fmt: skip
        assert cost(best.model._replace(**change), rows) > best.cost


def test_units_and_offsets_do_not_matter():
    table = world(5, 200, 0.3, 0.05, 0.1, seed=1)
    found, scaled = recorded_drift(table), recorded_drift(1e6 * table + 1e7)
    assert scaled.drift == pytest.approx(found.drift, rel=1e-3)
    assert scaled.low == pytest.approx(found.low, rel=0.05)
    assert scaled.noise_variance == pytest.approx(1e12 * found.noise_variance, rel=1e-3)


def test_noise_is_not_taken_for_drift():
    """30 % noise, drift 0.01, 1,500 rows: once 0.83."""
    found = recorded_drift(world(6, 1500, 0.3, 0.01, 0.3, seed=0))
    assert found.low < 0.01 < found.high < 0.05
    assert found.noise_variance == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize(
    ("seeds", "least"),
    [pytest.param(1, 20, marks=pytest.mark.slow), pytest.param(5, 108, marks=pytest.mark.long)],
)
def test_intervals_cover(seeds, least):
    """Noise 1 to 30 %, drifts 0.001 to 0.3, two numbers of arms: at least 90 % of 120 intervals
    that are meant to cover in 95 %, which would fail by chance once in 100 times; or 20 of 24,
    once in 170 times."""
    hits = [covered(world(*one, seed=seed), one[3]) for one in WORLDS for seed in range(seeds)]
    assert len(hits) == 24 * seeds
    assert sum(hits) >= least
