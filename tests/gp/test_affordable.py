"""Features that would take too long to make are refused in seconds, and others are made as ever."""

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.gp import affordable as module
from driftpeak.gp.affordable import affordable
from driftpeak.gp.features import factored

PLANE = dp.Grid([0, 1], [0, 1], size=20)
ROUGH, SMOOTH = dp.Matern(0.5, 0.2), dp.SE(0.5)
POLICIES = {
    "auto": dp.Auto,
    "auto, closer together": lambda prior: dp.Auto(prior, lengthscales=(0.5,)),
    "PE": lambda prior: dp.PE(prior, horizon=30),
    "R-PERP": lambda prior: dp.RPERP(prior, horizon=30, period=10),
    "adaptive R-PERP": lambda prior: dp.AdaptiveRPERP(prior, horizon=30),
    "OPKB": lambda prior: dp.OPKB(prior, horizon=30),
    "ADA-OPKB": lambda prior: dp.ADAOPKB(prior, horizon=30),
}


@pytest.fixture
def few_are_made(monkeypatch):
    """A hundred features at most, as if the 400 points were a large grid."""
    monkeypatch.setattr(module, "MOST_MADE", 100)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.usefixtures("few_are_made")
def test_policies_that_know_features_only_refuse_rough_kernels_on_large_grids(name):
    message = (
        r"at most 100 features can be computed on 400 points, .* \(Matern\) needs 200 or more .*"
        r"GiB.* Use a longer lengthscale, a smoother kernel, fewer points, or .* TVGPUCB"
    )
    with pytest.raises(dp.DriftpeakError, match=message):
        POLICIES[name](dp.Prior(PLANE, ROUGH, 0.01))
    POLICIES[name](dp.Prior(PLANE, SMOOTH, 0.1))


def test_a_million_points_are_refused_at_once():
    """Which took hours and did not end: 632 of at least 1,264 features."""
    grid = dp.Grid([0, 1], [0, 1], size=1000)
    with pytest.raises(dp.DriftpeakError, match=r"on 1,000,000 points, .* needs 1,\d\d\d or more"):
        dp.Auto(dp.Prior(grid, dp.Matern(1.5, 0.2), 0.01))


def test_up_to_5_000_points_may_have_as_many_features(monkeypatch):
    """The full rank of a small domain is made, whatever the kernel, without counting."""
    monkeypatch.setattr(module, "_needed_by_some", None)
    monkeypatch.setattr(module, "MOST_MADE", 400)
    assert affordable(ROUGH, PLANE, tolerance=1e-4).rank == 400
    monkeypatch.undo()
    assert module.MOST_MADE == 5_000
    assert module.MOST_WORK >= 5_000**3


@pytest.mark.usefixtures("few_are_made")
def test_what_is_made_is_what_priors_use():
    made = affordable(SMOOTH, PLANE, tolerance=1e-4)
    assert made.error <= 1e-4
    np.testing.assert_array_equal(made.matrix, factored(SMOOTH, PLANE, tolerance=1e-4).matrix)


@pytest.mark.parametrize("most", [40, 41])
def test_the_limit_is_the_rank_that_is_needed(most, monkeypatch):
    """A covariance of rank 41, of which nothing is known but from all points."""
    basis = np.random.default_rng(0).normal(size=(60, 41))
    table, arms = dp.kernels.Table(basis @ basis.T), dp.Arms(60)
    monkeypatch.setattr(module, "MOST_MADE", most)
    if most == 41:
        assert affordable(table, arms, tolerance=1e-9).rank == 41
        return
    with pytest.raises(dp.DriftpeakError, match=r"on 60 points, .* needs 41 or more"):
        affordable(table, arms, tolerance=1e-9)


@pytest.mark.parametrize("kernel", [ROUGH, dp.Matern(2.5, 0.2), dp.Matern(4.0, 0.3), SMOOTH])
def test_what_some_points_need_is_about_what_all_do_at_most(kernel):
    """And no less than any factor of the covariance of these must have, by its eigenvalues.

    What a factor of rank r leaves has a trace of at most m times the target, and at least the sum
    of the eigenvalues beyond the first r.
    """
    target, size = 1e-4, 150
    needed = module._needed_by_some(kernel, PLANE, target, size)
    assert needed <= 1.1 * factored(kernel, PLANE, tolerance=target).rank
    few = np.random.default_rng(0).choice(400, size, replace=False)
    values = np.linalg.eigvalsh(kernel.rows(PLANE)[np.ix_(few, few)])
    beyond = np.cumsum(np.maximum(values, 0))  # of the 1, 2, ... smallest
    assert needed >= size - np.searchsorted(beyond, size * target, side="right")


def test_products_along_axes_have_no_limit(monkeypatch):
    """Of 10,404 points: making them costs little however many there are."""
    grid = dp.Grid([0, 1], [0, 1], size=102)
    monkeypatch.setattr(module, "MOST_MADE", 10)
    assert affordable(dp.SE(0.2), grid, tolerance=1e-4).rank > 80
