"""`optimize`: a plain loop; errors and Ctrl-C lose nothing that was learned."""

import os
import pty
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.live._study.interrupts import interrupts

SPACE = dp.Box(x=dp.Float(0, 1))


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C is what it is in a terminal: the background job of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def value(setting):
    return -((setting["x"] - 0.3) ** 2)


def by_hand(steps, **options):
    """The same loop, written out."""
    optimizer = dp.Optimizer(SPACE, **({"maximize": True} | options))
    for _ in range(steps):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, value(suggestion))
    return optimizer


def rows(optimizer):
    return [(one.time, one.parameters["x"], one.reward) for one in optimizer.history()]


def test_it_is_the_loop_written_out():
    found = dp.optimize(value, SPACE, steps=5, maximize=True, seed=3)
    assert rows(found) == rows(by_hand(5, seed=3))
    assert len(rows(found)) == len(found.to_dataframe()) == 5
    assert not found.pending()


def test_costs_are_minimised():
    found = dp.optimize(lambda s: -value(s), SPACE, steps=4, minimize=True)
    assert [x for _, x, _ in rows(found)] == [x for _, x, _ in rows(by_hand(4))]
    assert not found.maximize
    assert dp.optimize(value, SPACE, steps=0, minimize=False).maximize


def test_times_are_those_of_a_source():
    times = (10.0 * number for number in count(1))
    seen = []
    found = dp.optimize(
        lambda s: seen.append(s.time) or 0.0, SPACE, steps=3, maximize=True, time=times.__next__
    )
    assert seen == [10.0, 20.0, 30.0] == [one.time for one in found.history()]
    now = dp.optimize(value, SPACE, steps=1, maximize=True, time="now").history()[0].time
    assert now.tzinfo is not None


def test_callbacks_see_everything_and_may_stop_it():
    seen, calls = [], []

    def look(suggestion, reward, optimizer):
        seen.append((suggestion.id, reward, len(optimizer.history())))
        return 1  # a file's write says how much it wrote: nobody asks to stop

    def stop(suggestion, reward, optimizer):
        calls.append(suggestion.id)
        return np.bool_(suggestion.id == 3)

    found = dp.optimize(value, SPACE, steps=None, maximize=True, callbacks=[stop, look])
    assert calls == [1, 2, 3]
    assert seen == [(n, reward, n) for n, (_, _, reward) in enumerate(rows(found), 1)]
    assert len(dp.optimize(value, SPACE, steps=2, maximize=True, callbacks=look).history()) == 2


def test_an_optimiser_goes_on():
    optimizer = dp.Optimizer(SPACE, maximize=True, start={"x": 0.9})
    assert dp.optimize(value, optimizer, steps=2) is optimizer
    dp.optimize(value, optimizer, steps=1)
    assert [one.time for one in optimizer.history()] == [1, 2, 3]
    assert rows(optimizer)[0][1] == 0.9


def test_a_stored_study_goes_on(tmp_path):
    storage = f"{tmp_path}/study.jsonl"
    for _ in range(2):
        found = dp.optimize(
            value, SPACE, steps=2, maximize=True, seed=1, storage=storage, name="press"
        )
    assert found.name == "press"
    assert rows(found) == rows(by_hand(4, seed=1))


@pytest.mark.parametrize("outcome", [ZeroDivisionError("broken"), None, float("nan"), "much"])
def test_an_error_is_raised_and_what_was_learned_kept(outcome, without_type_checks, tmp_path):
    def fails_third(setting):
        if setting.id < 3:
            return value(setting)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    storage = f"{tmp_path}/study.jsonl"
    expected = type(outcome) if isinstance(outcome, Exception) else dp.DriftpeakError
    with pytest.raises(expected) as caught:
        dp.optimize(fails_third, SPACE, steps=9, maximize=True, storage=storage)
    assert any("in step 3" in note for note in caught.value.__notes__)
    for kept in (caught.value.optimizer, dp.Optimizer.load(storage)):
        assert len(kept.history()) == 2
        assert not kept.pending()


def test_ctrl_c_while_the_function_runs():
    def interrupted(setting):
        if setting.id == 3:
            signal.raise_signal(signal.SIGINT)
        return value(setting)

    with pytest.warns(dp.DriftpeakWarning, match="interrupted in step 3 of 9"):
        found = dp.optimize(interrupted, SPACE, steps=9, maximize=True)
    assert rows(found) == rows(by_hand(2))
    assert not found.pending()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(("event", "told"), [("Asked", 1), ("Told", 2)])
def test_ctrl_c_while_the_optimiser_thinks(event, told):
    """It waits until the optimiser has finished; nothing is half told."""
    optimizer = dp.Optimizer(SPACE, maximize=True)

    def press(happening):
        if type(happening).__name__ == event and happening.id == 2:
            signal.raise_signal(signal.SIGINT)

    optimizer.on_event = press
    with pytest.warns(dp.DriftpeakWarning, match="interrupted in step 2;"):
        dp.optimize(value, optimizer, steps=None)
    assert len(optimizer.history()) == told
    assert not optimizer.pending()
    other = by_hand(told)
    if event == "Asked":
        other.cancel(other.ask())
    assert optimizer.snapshot() == other.snapshot()


def test_the_handlers_of_others_stay():
    pressed = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        with interrupts() as waiting, waiting.delayed():
            signal.raise_signal(signal.SIGINT)
        assert pressed == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_threads_may_share_an_optimiser():
    """No signals there; each takes its steps."""
    optimizer = dp.Optimizer(SPACE, maximize=True)
    work = [
        threading.Thread(target=dp.optimize, args=(value, optimizer), kwargs={"steps": 2})
        for _ in range(2)
    ]
    for one in work:
        one.start()
    for one in work:
        one.join()
    assert sorted(one.id for one in optimizer.history()) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": 3}, "function must be a function; got 3"),
        ({"steps": -1}, "steps must be an integer of at least 0; got -1"),
        ({"maximize": None}, "exactly one of maximize and minimize must be given; got neither"),
        ({"minimize": True}, "got maximize and minimize"),
        ({"maximize": None, "minimize": 1}, "minimize must be True, False, or None; got 1"),
        ({"maximize": 1}, "maximize must be True, False, or None; got 1"),
        ({"time": 3.0}, "time must be a function, a string, or None"),
        ({"time": "today"}, "or \"now\"; got 'today'"),
        (
            {"callbacks": 3},
            "callbacks must be a function or a sequence in which each is a function",
        ),
        ({"callbacks": [print, 3]}, "callbacks must be one callable or several"),
        ({"name": "press"}, "name must be given with storage"),
        (
            {"space": dp.Optimizer(SPACE, maximize=True), "seed": 1},
            "maximize, seed must be left out",
        ),
    ],
)
def test_what_is_refused(arguments, message, without_type_checks):
    given = {"function": value, "space": SPACE, "steps": 1, "maximize": True} | arguments
    with pytest.raises(dp.DriftpeakError, match=message):
        dp.optimize(**given)


SCRIPT = """
import driftpeak as dp
def value(setting):
    print("measured", setting.id)
    return 0.0
dp.optimize(value, dp.Box(x=dp.Float(0, 1)), steps=2, maximize=True)
"""


@pytest.mark.slow
def test_what_a_function_prints_stays_in_the_output():
    """The bar is on the error output, here a terminal."""
    terminal, inside = pty.openpty()
    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(read_all, terminal)
        made = subprocess.run(
            [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=inside, text=True
        )
        os.close(inside)
    os.close(terminal)
    assert made.returncode == 0
    assert made.stdout == "measured 1\nmeasured 2\n"
    assert "optimising" in shown.result()


def read_all(terminal):
    text = b""
    try:
        while piece := os.read(terminal, 4096):
            text += piece
    except OSError:  # nobody writes any more
        pass
    return text.decode()
