"""Durations and rates with units of time."""

from datetime import datetime, timedelta

import numpy as np
import pytest

import driftpeak as dp
from driftpeak._core.durations import duration_text, rate, seconds

pytestmark = pytest.mark.usefixtures("without_type_checks")
WHEN = datetime(2026, 3, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (90, 90.0),
        ("90 s", 90.0),
        ("1 second", 1.0),
        ("1.5min", 90.0),
        ("2 h", 7_200.0),
        ("1 Day", 86_400.0),
        ("14 days", 1_209_600.0),
        ("2 weeks", 1_209_600.0),
        ("1e1 hours", 36_000.0),
    ],
)
def test_durations(text, expected):
    assert seconds("period", text) == expected


@pytest.mark.parametrize(
    ("text", "per_second"),
    [(3, 3.0), ("8/h", 8 / 3_600), ("0.5 per minute", 0.5 / 60), ("3 / day", 3 / 86_400)],
)
def test_rates(text, per_second):
    number, time = rate("max_rate", text)
    assert number / time == pytest.approx(per_second, rel=1e-12)


@pytest.mark.parametrize("text", ["", "day", "3", "3 months", "h", "8/h", "1 2 h", "five days"])
def test_invalid_durations(text):
    with pytest.raises(
        dp.DriftpeakError, match='period must be a number, or a text such as "30 s"'
    ):
        seconds("period", text)


@pytest.mark.parametrize("text", ["", "8", "8/x", "/h", "8 h", "8/h/h"])
def test_invalid_rates(text):
    with pytest.raises(
        dp.DriftpeakError, match='max_rate must be a number, or a text such as "8/h"'
    ):
        dp.Float(0, 1, max_rate=text)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (90, "1.5 minutes"),
        (86_400, "1 day"),
        (1_187_469, "13.7 days"),
    ],
)
def test_durations_are_shown_with_their_unit(length, text):
    assert duration_text(length) == text
    assert seconds("period", text) == pytest.approx(length, rel=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("make", [dp.Float, dp.Integer])
def test_a_rate_per_hour_limits_moves_between_dates(make, tmp_path):
    """At most 8 per hour: 4 in half an hour; a number is per second."""
    space = dp.Box(x=make(0, 100, max_rate="8/h"))
    optimizer = dp.Optimizer(space, maximize=True, start={"x": 50}, storage=tmp_path / "study")
    optimizer.tell(optimizer.ask(WHEN), 1.0)
    again = dp.Optimizer.load(tmp_path / "study")
    places = [again.ask(WHEN + timedelta(minutes=30 * n))["x"] for n in range(1, 9)]
    moves = np.abs(np.diff([50, *places]))
    assert moves.max() <= 4
    assert moves.max() > 3.9
    number = dp.Float(0, 100, max_rate=8 / 3_600)
    assert number.reach(50.0, 1_800.0, np.inf) == pytest.approx(
        dp.Float(0, 100, max_rate="8/h").reach(50.0, 1_800.0, np.inf)
    )
    factor = dp.Float(1, 100, log=True, max_rate="2/h")
    assert factor.reach(10.0, 7_200.0, np.inf) == pytest.approx((2.5, 40.0))


def test_a_rate_per_hour_needs_dates():
    optimizer = dp.Optimizer(
        dp.Box(x=dp.Float(0, 1, max_rate="8/h")), maximize=True, start={"x": 0.5}
    )
    with pytest.raises(dp.DriftpeakError, match="times must be dates, as max_rate of 'x' is '8/h'"):
        optimizer.ask()
    with pytest.raises(dp.DriftpeakError, match="max_rate must be a factor above 1"):
        dp.Float(1, 2, log=True, max_rate="0.5/h")


def test_periods_and_diagnostics_have_units():
    assert dp.DriftingGP(periods=["12 h", "1 day"]).periods == (43_200.0, 86_400.0)
    with pytest.raises(dp.DriftpeakError, match="a period must be a number, or a text such as"):
        dp.DriftingGP(periods=["12 x"])
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
    for hour in range(6):
        optimizer.tell(optimizer.ask(WHEN + timedelta(hours=hour)), float(hour))
    found = optimizer.diagnostics()
    assert found.durations["oldest_age"] == "5 hours"
    assert seconds("", found.durations["half_life"]) == pytest.approx(found.half_life, rel=0.005)
    plain = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
    plain.tell(plain.ask(), 1.0)
    assert plain.diagnostics().durations is None
