"""A clock that is set back: time does not go back with it."""

from datetime import UTC, datetime, timedelta

import pytest

import driftpeak as dp

BOX = dp.Box(x=dp.Float(0, 1))
NOON = datetime(2026, 10, 25, 12, tzinfo=UTC)


class Clock:
    """A clock that can be set."""

    moment = NOON


@pytest.fixture
def hands(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(
        "driftpeak.live._study.clock._now",
        lambda kind: clock.moment.replace(tzinfo=None) if kind == "dates" else clock.moment,
    )
    return clock


@pytest.mark.parametrize("stored", [False, True])
def test_now_is_never_before_the_latest_reward(hands, tmp_path, stored):
    storage = tmp_path / "study" if stored else None
    optimizer = dp.Optimizer(BOX, maximize=True, storage=storage)
    optimizer.tell(optimizer.ask("now"), 1.0)
    hands.moment = NOON - timedelta(hours=1)
    with pytest.warns(dp.DriftpeakWarning, match="11:00.*before the latest reward of .* 12:00"):
        suggestion = optimizer.ask("now")
    assert suggestion.time == NOON
    with pytest.warns(dp.DriftpeakWarning, match="clock was set back"):
        optimizer.tell(suggestion, 2.0, "now")
    with pytest.warns(dp.DriftpeakWarning, match="clock was set back"):
        assert optimizer.best("now").time == NOON
    assert [one.time for one in optimizer.history()] == [NOON, NOON]
    hands.moment = NOON + timedelta(seconds=1)
    assert optimizer.ask("now").time == hands.moment  # without a warning
    earlier = NOON - timedelta(hours=2)
    optimizer.tell({"x": 0.5}, 1.0, earlier)  # a time that is given is taken as it is
    assert optimizer.history()[-1].time == earlier


def test_dates_without_a_zone_go_back_when_summer_time_ends(hands):
    optimizer = dp.Optimizer(BOX, maximize=True)
    noon = NOON.replace(tzinfo=None)
    optimizer.tell({"x": 0.5}, 1.0, noon)
    hands.moment = NOON - timedelta(hours=1)
    with pytest.warns(dp.DriftpeakWarning, match="summer time ends"):
        assert optimizer.ask("now").time == noon


def test_a_suggestion_for_a_later_time_moves_no_clock(hands):
    optimizer = dp.Optimizer(BOX, maximize=True)
    later = optimizer.ask(NOON + timedelta(hours=5))
    optimizer.tell(later, 1.0, "now")
    assert optimizer.history()[0].time == NOON
