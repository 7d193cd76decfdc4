"""The estimated duration of a long task without a progress bar."""

import pytest

from driftpeak._core import progress


@pytest.fixture
def clock(set_clock):
    return set_clock(progress)


def run(clock, *, parts, seconds, show=False):
    with progress.progress_bar("simulating", show=show) as bar:
        bar.expect(parts)
        for _ in range(parts):
            clock[0] += seconds
            bar.done()


def test_a_long_task_prints_its_estimate_once(clock, capsys):
    """Three parts of 30 s are done after 90 s; the other 37 take 18.5 minutes."""
    run(clock, parts=40, seconds=30.0)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "driftpeak: simulating: 3 of 40 parts took 1.5 minutes; about 18.5 minutes left\n"
    )


@pytest.mark.parametrize(("parts", "seconds"), [(40, 1.0), (3, 100.0), (5, 20.0)])
def test_a_short_task_prints_nothing(clock, capsys, parts, seconds):
    run(clock, parts=parts, seconds=seconds)
    assert capsys.readouterr() == ("", "")


def test_a_task_of_unknown_length_prints_nothing(clock, capsys):
    with progress.progress_bar("simulating", show=False) as bar:
        for _ in range(50):
            clock[0] += 60
            bar.done()
    assert capsys.readouterr().err == ""
