"""Warnings point to the user's line, whichever way leads to them."""

import warnings
from pathlib import Path

import pytest

import driftpeak as dp
from driftpeak._core import errors

LINE = dp.Grid([0, 1], size=8)
PRIOR = dp.Prior(LINE, dp.SE(0.2), 0.01)
HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def tests_check_types(monkeypatch):
    """Only in tests is there a frame of the type checker between this package's."""
    monkeypatch.setattr("driftpeak._core.errors.NOT_USERS", errors.NOT_USERS | {"typechecker"})


def line_of(action):
    """The file and the line to which the only warning of an action points."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    (one,) = [each for each in caught if issubclass(each.category, dp.DriftpeakWarning)]
    return Path(one.filename).name, one.lineno


def here(action):
    """Assert that it is the line of the action itself."""
    assert line_of(action) == (HERE, action.__code__.co_firstlineno)


@pytest.mark.parametrize("stored", [False, True])
def test_a_late_reward_is_the_callers(stored, tmp_path):
    storage = tmp_path / "study" if stored else None
    policy = dp.DriftingGP(learn=False)
    optimizer = dp.Optimizer(
        dp.Box(x=dp.Float(0, 1)), maximize=True, policy=policy, storage=storage
    )
    optimizer.tell({"x": 0.5}, 1.0, 5)
    optimizer.forget()
    here(lambda: optimizer.tell({"x": 0.5}, 1.0, 3))


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    "policy", [dp.GPUCB(PRIOR), dp.RandomStart(dp.GPUCB(PRIOR))], ids=["alone", "random start"]
)
def test_a_surprise_is_told_by_every_policy_without_a_check_for_outliers(policy, stored, tmp_path):
    storage = tmp_path / "study" if stored else None
    optimizer = dp.Optimizer(LINE, maximize=True, policy=policy, horizon=20, storage=storage)
    here(lambda: optimizer.tell({"x1": 0.0}, 1e6))


def test_policies_say_whether_they_reject_outliers():
    assert not dp.GPUCB(PRIOR).rejects_outliers
    assert not dp.SparQ(PRIOR, rate=0.5).rejects_outliers
    assert dp.RandomStart(dp.Auto(PRIOR)).rejects_outliers
    assert not dp.Auto(PRIOR, outlier=float("inf")).rejects_outliers


def test_an_unusable_snapshot_points_to_the_line_that_opens_the_study(tmp_path):
    def study():
        return dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, storage=tmp_path / "study")

    optimizer = study()
    optimizer._study._keep_snapshot()
    store = optimizer._study.store
    store.keep(store.snapshot() + b"more")
    name, line = line_of(study)
    assert (name, line) == (HERE, study.__code__.co_firstlineno + 1)


def test_a_warning_inside_the_users_function_points_there():
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
    optimizer.tell({"x": 0.5}, 1.0, 5)
    optimizer.forget()

    def function(suggestion):
        optimizer.tell({"x": 0.5}, 1.0, 3)
        return 0.0

    found = line_of(lambda: dp.optimize(function, optimizer, steps=1, time=lambda: 6))
    assert found == (HERE, function.__code__.co_firstlineno + 1)
