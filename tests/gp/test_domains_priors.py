"""Domains and priors: what they hold, in which order, and what they refuse."""

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.gp.kernels import Table

# Arms


def test_arms_keep_their_coordinates_in_order():
    arms = dp.Arms([[0.5, 2], [-1, 0], [0.5, 2]])
    assert len(arms) == 3
    assert arms.has_coordinates
    assert arms.names == ("0", "1", "2")
    assert arms.points.dtype == np.float64
    np.testing.assert_array_equal(arms.points, [[0.5, 2], [-1, 0], [0.5, 2]])
    assert repr(arms) == "Arms(3, dimension=2)"


@pytest.mark.parametrize("points", [[3, 1, 2], (3.0, 1.0, 2.0), np.array([3, 1, 2], np.float32)])
def test_a_list_of_numbers_is_one_dimension(points):
    np.testing.assert_array_equal(dp.Arms(points).points, [[3], [1], [2]])


@pytest.mark.parametrize("count", [4, np.int64(4)])
def test_arms_without_coordinates(count):
    """Only a number of them: a kernel of distances has nothing to go by."""
    arms = dp.Arms(count, names=["a", "b", "c", "d"])
    assert (len(arms), arms.has_coordinates, arms.names) == (4, False, ("a", "b", "c", "d"))
    assert repr(arms) == "Arms(4)"


REFUSED_ARMS = {
    "one": (lambda: dp.Arms(1), "number of arms must be an integer of at least 2; got 1"),
    "a truth value": (lambda: dp.Arms(True), "number of arms must be an integer .*; got True"),
    "one point": (lambda: dp.Arms([[0.0, 1.0]]), "must have at least 2 arms; got 1"),
    "no points": (lambda: dp.Arms([]), "must have at least 2 arms; got 0"),
    "no coordinates": (lambda: dp.Arms(np.zeros((3, 0))), "at least 1 coordinate; got none"),
    "nan": (
        lambda: dp.Arms([[0.0, 1.0], [np.nan, 1.0]]),
        r"points must be a 2-dimensional array of finite numbers; got nan at index \[1, 0\]",
    ),
    "infinity": (lambda: dp.Arms([0.0, np.inf]), r"finite numbers; got inf at index \[1, 0\]"),
    "three dimensions": (lambda: dp.Arms(np.zeros((2, 2, 2))), r"points .* shape \(2, 2, 2\)"),
    "ragged": (lambda: dp.Arms([[1, 2], [3]]), "points must all have the same number"),
    "text": (lambda: dp.Arms(["a", "b"]), "points must be .* finite numbers; got elements of type"),
    "numbers as text": (lambda: dp.Arms([["1"], ["2"]]), "points must be .* finite numbers"),
    "too few names": (
        lambda: dp.Arms(3, names=["a", "b"]),
        "names must be 3, one for each arm; got 2",
    ),
    "names twice": (
        lambda: dp.Arms([0, 1, 2], names=["a", "b", "a"]),
        "names must be distinct; 'a' occurs more than once",
    ),
}


@pytest.mark.parametrize("case", REFUSED_ARMS)
@pytest.mark.usefixtures("without_type_checks")
def test_arms_refuse(case):
    make, message = REFUSED_ARMS[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        make()


# Grid


def test_a_grid_counts_like_a_clock():
    """The last dimension varies fastest; both ends of every range are points."""
    grid = dp.Grid([0, 1], [-2, 2], size=[2, 3])
    assert grid.shape == (2, 3)
    assert grid.has_coordinates
    assert grid.ranges == ((0.0, 1.0), (-2.0, 2.0))
    expected = [[0, -2], [0, 0], [0, 2], [1, -2], [1, 0], [1, 2]]
    np.testing.assert_array_equal(grid.points, expected)
    assert grid.names[1:3] == ("0, 0", "0, 2")


def test_the_grid_of_b16():
    """50 x 50 points of the unit square, 1/49 apart: reshaping to `shape` gives the lattice.

    Source: B16 section 5.1.
    """
    grid = dp.Grid([0, 1], [0, 1], size=50)
    assert len(grid) == len(grid.points) == len(grid.names) == 2500
    lattice = grid.points.reshape(*grid.shape, 2)
    np.testing.assert_allclose(lattice[:, 17, 0], np.arange(50) / 49, atol=1e-15)
    np.testing.assert_allclose(lattice[17, :, 1], np.arange(50) / 49, atol=1e-15)
    assert lattice[0, 0].tolist() == [0, 0]
    assert lattice[-1, -1].tolist() == [1, 1]


def test_a_grid_on_the_line():
    np.testing.assert_allclose(dp.Grid((0, 3), size=4).points, [[0], [1], [2], [3]])


REFUSED_GRIDS = {
    "no range": (lambda: dp.Grid(size=3), r"must have a \(low, high\) range for each"),
    "one point": (lambda: dp.Grid([0, 1], size=1), "size must be an integer of at least 2; got 1"),
    "half a point": (lambda: dp.Grid([0, 1], size=2.5), "size must be an integer .*; got 2.5"),
    "sizes": (lambda: dp.Grid([0, 1], size=[3, 3]), "size must be one integer or 1, .*; got 2"),
    "empty": (lambda: dp.Grid([1, 1], size=3), r"low < high; got \[1, 1\]"),
    "reversed": (lambda: dp.Grid([0, 1], [2, -2], size=3), r"low < high; got \[2, -2\]"),
    "three ends": (lambda: dp.Grid([0, 1, 2], size=3), r"\(low, high\).*; got \[0, 1, 2\]"),
    "endless": (lambda: dp.Grid([0, np.inf], size=3), r"\(low, high\).*; got \[0, inf\]"),
    "nan": (lambda: dp.Grid([np.nan, 1], size=3), r"\(low, high\).*; got \[nan, 1\]"),
    "not in brackets": (lambda: dp.Grid(0, 1, size=3), r"\(low, high\) with low < high; got 0"),
    "text": (
        lambda: dp.Grid(["a", "b"], size=3),
        r"\(low, high\) with low < high; got \['a', 'b'\]",
    ),
}


@pytest.mark.parametrize("case", REFUSED_GRIDS)
@pytest.mark.usefixtures("without_type_checks")
def test_grids_refuse(case):
    make, message = REFUSED_GRIDS[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        make()


# Prior

LINE = dp.Grid([0, 1], size=6)


@pytest.mark.parametrize("mean", [2, -0.5, np.float32(1.5), np.array(3.0)])
def test_one_mean_for_all_points(mean):
    np.testing.assert_array_equal(dp.Prior(LINE, dp.SE(0.2), 0.1, mean).mean, [float(mean)] * 6)


def test_a_mean_for_every_point():
    prior = dp.Prior(LINE, dp.SE(0.2), 0.1, [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(prior.mean, [1, 2, 3, 4, 5, 6])
    assert prior.mean.dtype == np.float64


def test_the_mean_is_zero_unless_given():
    np.testing.assert_array_equal(dp.Prior(LINE, dp.SE(0.2), 0.1).mean, np.zeros(6))


def test_covariances_of_the_prior():
    """The kernel's matrix, its diagonal, and a factor of it, all over the domain's points."""
    prior = dp.Prior(LINE, 2.0 * dp.SE(0.2) + dp.Linear(), 0.1)
    x = LINE.points
    gram = 2 * np.exp(-((x - x.T) ** 2) / 0.08) + x @ x.T
    np.testing.assert_allclose(prior.gram, gram, atol=1e-14)
    np.testing.assert_allclose(prior.variance, 2 + x[:, 0] ** 2, atol=1e-14)
    factor = prior.features.matrix
    np.testing.assert_allclose(factor @ factor.T, gram, atol=1e-9)
    assert len(prior) == 6


REFUSED_PRIORS = {
    "no noise": (0.0, 0.0, "noise_variance must be a finite number above 0; got 0"),
    "negative noise": (-0.1, 0.0, "noise_variance must be a finite number above 0; got -0.1"),
    "nan noise": (np.nan, 0.0, "noise_variance must be a finite number above 0; got nan"),
    "endless noise": (np.inf, 0.0, "noise_variance must be a finite number above 0; got inf"),
    "noise as text": ("0.1", 0.0, "noise_variance must be a finite number above 0; got '0.1'"),
    "short mean": (0.1, [1, 2, 3], "mean must be one number or 6, one for each point; got 3"),
    "mean of a grid": (0.1, np.zeros((2, 3)), r"mean must be a 1-dimensional.*shape \(2, 3\)"),
    "nan mean": (0.1, [0, 0, np.nan, 0, 0, 0], r"mean must be .* finite .* nan at index \[2\]"),
    "mean nan": (0.1, np.nan, "mean must be .* finite numbers; got nan"),
    "mean as text": (0.1, "zero", "mean must be .* finite numbers; got elements of type"),
}


@pytest.mark.parametrize("case", REFUSED_PRIORS)
@pytest.mark.usefixtures("without_type_checks")
def test_priors_refuse(case):
    noise_variance, mean, message = REFUSED_PRIORS[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        dp.Prior(LINE, dp.SE(0.2), noise_variance, mean)


def test_the_same_prior_through_another_noise():
    prior = dp.Prior(LINE, dp.SE(0.2), 0.1, 3.0)
    other = prior.with_noise_variance(0.7)
    assert (prior.noise_variance, other.noise_variance) == (0.1, 0.7)
    assert other.domain is LINE
    assert other.kernel is prior.kernel
    np.testing.assert_array_equal(other.mean, prior.mean)
    with pytest.raises(dp.DriftpeakError, match=r"noise_variance must be .* above 0; got 0"):
        prior.with_noise_variance(0.0)


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [dp.SE(0.5), dp.Matern(0.5, 0.2), dp.Linear(), Table(np.zeros((30, 30)))],
    ids=["se", "full rank", "rank 1", "nothing"],
)
def test_features_within_a_rank(kernel, asked_before):
    """All of the features if their rank allows, else none; whether they were known or not."""
    domain = dp.Grid([0.5, 1], size=30)
    full = dp.Prior(domain, kernel, 0.1).features
    prior = dp.Prior(domain, kernel, 0.1)
    if asked_before:
        assert prior.features.rank == full.rank
    assert prior.features_within(0) is None
    assert prior.features_within(full.rank - 1) is None
    for rank in (full.rank, full.rank + 1, 1000):
        found = prior.features_within(rank)
        assert found.error <= 1e-10 * max(prior.variance.max(), 0)
        np.testing.assert_array_equal(found.matrix, full.matrix)
    assert prior.features is prior.features_within(full.rank)


def test_another_noise_variance_keeps_what_was_computed():
    prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(0.3), noise_variance=0.1)
    features = prior.features
    assert prior.with_noise_variance(0.5).features is features


def test_later_changes_to_the_callers_arrays_change_nothing():
    points, mean = np.random.default_rng(0).uniform(size=(4, 2)), np.zeros(4)
    prior = dp.Prior(dp.Arms(points), dp.SE(0.3), noise_variance=0.1, mean=mean)
    points[:], mean[:] = 7.0, 7.0
    assert (prior.domain.points < 1).all()
    assert (prior.mean == 0).all()
