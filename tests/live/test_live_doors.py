"""What an optimiser does not take, it refuses by name, and is as it was before."""

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import live_worker
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.live._study.clock import read_time, show_time

HUGE = 10**400
DIGITS = 10**5000  # more than Python writes out


@pytest.mark.parametrize(
    "time",
    [
        datetime.max,
        datetime.min,
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5))),
        np.datetime64("10000-01-01"),
        np.datetime64("-0044-03-15"),
        np.datetime64(10**18, "s"),
        np.datetime64("NaT", "s"),
        1e308,
        -1e308,
        2e100,
        float("nan"),
        float("inf"),
        HUGE,
        -DIGITS,
        Fraction(HUGE),
        np.timedelta64(5, "s"),
        timedelta(5),
        date(2026, 1, 1),
        Decimal(3),
        True,
        "tomorrow",
        [1],
    ],
    ids=lambda one: type(one).__name__,
)
def test_times_out_of_range_are_refused(time):
    with pytest.raises(dp.DriftpeakError, match=r"time must|dates must"):
        read_time(time, None)
    optimizer = dp.Optimizer(dp.Arms(2), maximize=True)
    before = optimizer.snapshot()
    for call in (
        lambda: optimizer.ask(time),
        lambda: optimizer.tell({"arm": 0}, 1.0, time),
        lambda: optimizer.forget(time),
        lambda: optimizer.peaks([time]),
    ):
        with pytest.raises(dp.DriftpeakError):
            call()
    assert optimizer.snapshot() == before


@pytest.mark.parametrize(
    "time",
    [
        datetime(9999, 12, 30, 23, 59, 59, 999999),
        datetime(1, 1, 3, tzinfo=UTC),
        np.datetime64("2026-03-01T08:00:00.123456789"),
        np.datetime64("2026"),
        1e100,
        -(2**53),
        Fraction(1, 3),
        np.int8(4),
    ],
    ids=str,
)
def test_times_within_range_come_back(time):
    number, kind = read_time(time, None)
    again, same = read_time(show_time(number, kind), kind)
    assert (again, same) == (number, kind)


def test_steps_end_where_floats_skip():
    optimizer = dp.Optimizer(dp.Arms(2), maximize=True)
    optimizer.tell(optimizer.ask(), 1.0, 2.0**53)
    with pytest.raises(dp.DriftpeakError, match=r"2\*\*53"):
        optimizer.ask()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.Float(-1e308, 1e308), "1e150"),
        (lambda: dp.Float(0, 1e-200), "1e-150 wide"),
        (lambda: dp.Float(1e-300, 1e300, log=True), "1e150"),
        (lambda: dp.Float(1e-200, 1, log=True), "1e-150"),
        (lambda: dp.Float(0, DIGITS), "finite number"),
        (lambda: dp.Integer(0, 2**53 + 3), r"2\*\*53"),
        (lambda: dp.Integer(-(2**53), 2**53), r"at most 2\*\*53"),
        (lambda: dp.Integer(0, HUGE), r"2\*\*53"),
        (lambda: dp.Integer(0, DIGITS), r"2\*\*53"),
        (lambda: dp.Categorical("a", float("nan")), "finite number"),
        (lambda: dp.Categorical(1, DIGITS), "finite number"),
        (lambda: dp.Categorical("a", "b\0"), "without NUL"),
        (lambda: dp.Categorical("a", "\ud800"), "surrogates"),
        (lambda: dp.Box({"\ud800": dp.Float(0, 1)}), "surrogates"),
        (lambda: dp.Arms(10**12), "at most 10,000,000"),
        (lambda: dp.Grid([0, 1], [0, 1], size=10**9), "at most 10,000,000"),
        (
            lambda: dp.Optimizer(dp.Arms(2), maximize=True, seed=2**64),
            "at most 9,223,372,036,854,775,807",
        ),
    ],
)
def test_spaces_out_of_range_are_refused(make, words):
    with pytest.raises(dp.DriftpeakError, match=words):
        make()


def test_a_range_of_ratios_takes_nothing_beyond_it():
    wide = dp.Float(1e-12, 1e12, log=True)
    for value in (-500, 0, 1e-13, 9.9e-13, 1.1e12):
        with pytest.raises(dp.DriftpeakError, match="must lie in"):
            wide.clean("x", value)
    assert wide.clean("x", 1e-12 * (1 - 1e-10)) == 1e-12
    assert wide.clean("x", 1e12) == 1e12
    with pytest.raises(dp.DriftpeakError, match="must lie in"):
        dp.Float(1e-10, 1, log=True).clean("x", 0)
    largest = dp.Float(1e-150, 1e150, log=True)
    for place in (0.0, 0.3, 1.0):
        assert largest.encode("x", largest.decode(place)) == pytest.approx(place, abs=1e-12)
    whole = dp.Integer(0, 2**53 - 1)
    assert [whole.decode(0.0), whole.decode(1.0)] == [0, 2**53 - 1]


def test_a_snapshot_of_something_else_is_refused():
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
    optimizer.tell(optimizer.ask(), 0.3)
    before = optimizer.snapshot()
    others = [
        dp.Optimizer(dp.Box(x=dp.Float(0, 2)), maximize=True),
        dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=False),
        dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, seed=1),
    ]
    for other in others:
        with pytest.raises(dp.DriftpeakError, match="equal arguments"):
            optimizer.restore(other.snapshot())
    for bad in (b"x", b"", before[:100], before[: len(before) // 2]):
        with pytest.raises(dp.DriftpeakError, match="snapshot"):
            optimizer.restore(bad)
    assert optimizer.snapshot() == before


# any argument anywhere: in a process of its own, since here types are checked before we can


def fuzz(cases, seed, script="live_fuzzer"):
    script = Path(__file__).parents[1] / "helpers" / f"{script}.py"
    command = [sys.executable, str(script), str(cases), str(seed)]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=500, env=live_worker.environment()
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    return int(ran.stdout)


def test_programs_of_the_tests_import_the_driftpeak_under_test():
    command = [sys.executable, "-c", "import driftpeak; print(driftpeak.__file__)"]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=100, env=live_worker.environment()
    )
    assert ran.stdout.strip() == dp.__file__


@pytest.mark.slow
def test_no_argument_raises_anything_else():
    assert fuzz(120, seed=0) > 50


@pytest.mark.slow
def test_no_argument_raises_anything_else_at_length():
    assert fuzz(721, seed=1) > 300


@pytest.mark.parametrize(
    "cases", [pytest.param(30, marks=pytest.mark.slow), pytest.param(150, marks=pytest.mark.long)]
)
def test_no_stored_event_or_snapshot_brings_a_traceback_at_length(cases):
    assert fuzz(cases, seed=1, script="live_stored_fuzzer") > cases / 3
