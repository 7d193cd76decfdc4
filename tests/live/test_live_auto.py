"""`Auto` behind an optimiser: its step is inferred, and what it does follows observations."""

from datetime import datetime, timedelta

import numpy as np
import pytest

import driftpeak as dp

LINE = dp.Grid([0, 1], size=8)
PRIOR = dp.Prior(LINE, dp.SE(0.3), 0.01)
POLICY = dp.Auto(PRIOR, drifts=(0.0, 0.1), rates=(), mix_every=2)
START = datetime(2026, 3, 1, 8)
CLOCKS = {
    "hours": lambda time: START + timedelta(hours=time),
    "large numbers": lambda time: 1e40 * time,
    "small numbers": lambda time: 2.0**-100 * time,
    "negative numbers": lambda time: 3600.0 * time - 1e6,
}


def make(policy=POLICY):
    return dp.Optimizer(LINE, maximize=True, policy=policy, horizon=200)


def play(optimizer, times, clock=lambda time: time):
    """The decisions, each answered at once."""
    actions = []
    for number, time in enumerate(times):
        suggestion = optimizer.ask(clock(float(time)))
        actions.append(suggestion.index)
        optimizer.tell(suggestion, float(np.cos(suggestion.index + number / 5)))
    return actions


@pytest.mark.slow
@pytest.mark.parametrize("policy", [POLICY, dp.RandomStart(POLICY, steps=2)], ids=["", "start"])
def test_the_unit_of_time_makes_no_difference(policy):
    times = np.arange(1, 25)
    steps = make(policy)
    expected = play(steps, times)
    mean, deviation = steps.belief(time=26)
    for clock in CLOCKS.values():
        other = make(policy)
        assert play(other, times, clock) == expected
        found = other.belief(time=clock(26.0))
        np.testing.assert_allclose(found[0], mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found[1], deviation, rtol=1e-9)


@pytest.mark.slow
def test_a_step_is_the_median_of_the_first_differences():
    times = np.cumsum(np.random.default_rng(0).exponential(1.0, 30))
    optimizer = make()
    assert optimizer.diagnostics().readings["time_step"] == 1.0
    play(optimizer, times, CLOCKS["hours"])
    gaps = np.diff(times)[:16] * 3600
    report = optimizer.diagnostics(CLOCKS["hours"](times[-1]))
    assert report.readings["time_step"] == pytest.approx(np.median(gaps), rel=1e-9)
    per_step = report.readings["believed_drift"]
    assert (1 - report.drift) ** np.median(gaps) == pytest.approx(1 - per_step)


def test_rewards_at_one_time_leave_the_step_as_it_is():
    one, other = make(), make()
    for time in range(1, 9):
        for optimizer, unit in ((one, 1.0), (other, 3600.0)):
            for number in range(3):
                optimizer.tell({"x1": float(LINE.points[number, 0])}, np.cos(time), unit * time)
    for found, expected in zip(other.belief(), one.belief(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_members_learn_from_rewards_that_nobody_asked_for():
    """The same rewards give the same posterior, with and without a question before each."""
    asked, told = make(), make()
    for time in range(1, 41):
        suggestion = asked.ask(time)
        reward = float(np.cos(time))
        asked.tell(suggestion, reward)
        told.tell(dict(suggestion), reward, time)
    for found, expected in zip(told.belief(), asked.belief(), strict=True):
        np.testing.assert_array_equal(found, expected)
    readings = told.diagnostics().readings
    assert readings == asked.diagnostics().readings
    assert readings["memory"] > 5


def test_a_snapshot_of_an_older_version_opens(monkeypatch):
    """It holds no differences between times: they are those to come."""
    whole = make()
    play(whole, range(1, 20))
    save = whole._engine.save

    def old():
        arrays, rest = save()
        return {k: v for k, v in arrays.items() if "gaps" not in k}, rest

    assert len(save()[0]) > len(old()[0])
    monkeypatch.setattr(whole._engine, "save", old)
    optimizer = make()
    optimizer.restore(whole.snapshot())
    for found, expected in zip(optimizer.belief(), whole.belief(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
