"""`forget` drops what was observed before a time, and nothing else, at any length."""

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.live._study.storage import open_store, rewards
from driftpeak.service._rewards import rewards_to_data
from driftpeak.service._study_index import StudyIndex

LINE = dp.Grid([0, 1], size=12)
PRIOR = dp.Prior(LINE, dp.SE(0.2), 0.01)
BOX = dp.Box(x=dp.Float(0, 1))
OPTIMIZERS = {
    "policy": lambda **options: dp.Optimizer(LINE, policy=dp.GPUCB(PRIOR), horizon=1000, **options),
    "gaussian process": lambda **options: dp.Optimizer(BOX, policy=PLAIN, **options),
}
PLAIN = dp.DriftingGP(learn=False)


def observe(optimizer, times):
    """Tell made-up rewards, equal ones at equal times."""
    name = optimizer.coding.names[0]
    for time in times:
        number = int(7 * time) % 12
        optimizer.tell({name: float(LINE.points[number, 0])}, float(np.cos(time)), float(time))


def points(optimizer):
    return [{optimizer.coding.names[0]: float(x)} for x in LINE.points[:, 0]]


@pytest.mark.slow
@pytest.mark.parametrize("restored", [False, True])
def test_a_long_history_is_forgotten_up_to_the_time_and_no_farther(restored):
    optimizer = OPTIMIZERS["policy"](maximize=True)
    observe(optimizer, range(300))
    if restored:
        whole, optimizer = optimizer, OPTIMIZERS["policy"](maximize=True)
        optimizer.restore(whole.snapshot())
    optimizer.forget(before=99)
    new = OPTIMIZERS["policy"](maximize=True)
    observe(new, range(99, 300))
    assert optimizer.diagnostics(300).held == new.diagnostics(300).held == 201
    for one, other in zip(optimizer.belief(time=300), new.belief(time=300), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_a_snapshot_without_older_steps_warns_of_what_forget_drops(monkeypatch):
    whole = OPTIMIZERS["policy"](maximize=True)
    observe(whole, range(300))
    save = whole._engine.save

    def old():
        arrays, rest = save()
        return arrays, {k: v for k, v in rest.items() if k not in ("older", "missing")}

    monkeypatch.setattr(whole._engine, "save", old)
    optimizer = OPTIMIZERS["policy"](maximize=True)
    optimizer.restore(whole.snapshot())
    for one, other in zip(optimizer.belief(time=300), whole.belief(time=300), strict=True):
        np.testing.assert_array_equal(one, other)
    again = OPTIMIZERS["policy"](maximize=True)
    again.restore(optimizer.snapshot())  # it stays known that something is missing
    for one in (optimizer, again):
        with pytest.warns(dp.DriftpeakWarning, match="snapshot of an older version"):
            one.forget(before=10)
    optimizer.reset()
    observe(optimizer, range(40))
    optimizer.forget(before=10)
    assert optimizer.diagnostics(40).held == 30


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("before", [None, 20, 1000])
def test_a_reward_dated_before_forget_is_in_the_history_only(kind, before):
    optimizer = OPTIMIZERS[kind](maximize=True)
    events = []
    optimizer.on_event = events.append
    observe(optimizer, range(30))
    early, late = optimizer.ask(15), optimizer.ask(30)
    optimizer.forget(before)
    first = 20 if before == 20 else 30  # a time in the future drops all that is there
    with pytest.warns(dp.DriftpeakWarning, match="dated before forget"):
        optimizer.tell(early, 5.0)
    with pytest.warns(dp.DriftpeakWarning, match="kept in the history"):
        optimizer.tell(points(optimizer)[3], 5.0, first - 0.5)
    optimizer.tell(late, 0.5)
    optimizer.tell(points(optimizer)[5], 0.25, 31)
    used = [one.used for one in optimizer.history()]
    assert used == [True] * 30 + [False, False, True, True]
    frame = optimizer.to_dataframe()
    assert (frame["status"] == "not used").sum() == 2
    new = OPTIMIZERS[kind](maximize=True)
    observe(new, range(first, 30))
    new.tell(dict(late), 0.5, 30)
    new.tell(points(optimizer)[5], 0.25, 31)
    replayed, restored = OPTIMIZERS[kind](maximize=True), OPTIMIZERS[kind](maximize=True)
    replayed.replay(events)
    restored.restore(optimizer.snapshot())
    where = points(optimizer)
    expected = optimizer.belief(where, 31)
    for other, exact in ((new, False), (replayed, True), (restored, True)):
        for one, two in zip(expected, other.belief(where, 31), strict=True):
            np.testing.assert_allclose(one, two, rtol=0 if exact else 1e-7, atol=1e-8 * (not exact))
    assert replayed.history() == restored.history() == optimizer.history()
    with pytest.warns(dp.DriftpeakWarning, match="dated before forget"):
        restored.tell(where[3], 5.0, first - 0.5)


def test_after_a_reset_all_times_count():
    optimizer = OPTIMIZERS["gaussian process"](maximize=True)
    observe(optimizer, range(10))
    optimizer.forget()
    optimizer.reset()
    observe(optimizer, range(5))
    assert optimizer.diagnostics().held == 5


def test_a_reward_that_is_not_used_teaches_nothing():
    """With nothing in memory there is nothing to learn from."""
    optimizer = dp.Optimizer(BOX, maximize=True)
    first, second = optimizer.ask(count=2)
    optimizer.ask()
    optimizer.forget()
    with pytest.warns(dp.DriftpeakWarning, match="dated before forget"):
        optimizer.tell(first, 1.0)
    assert optimizer.history()[0].expected is None
    assert optimizer.diagnostics().held == 0
    optimizer.tell(dict(second), 1.0, 9)
    assert optimizer.diagnostics().held == 1


def test_stored_rewards_say_which_are_not_used(tmp_path):
    """Read without a policy, by `live export` and by the service, they equal the history."""
    address = str(tmp_path / "study.jsonl")
    optimizer = OPTIMIZERS["gaussian process"](maximize=True, storage=address)
    observe(optimizer, range(5))
    early = optimizer.ask(3)
    optimizer.forget()
    with pytest.warns(dp.DriftpeakWarning, match="dated before forget"):
        optimizer.tell(early, 1.0)
    observe(optimizer, [6])
    store = open_store(address)
    stored, served = rewards(store), rewards_to_data(StudyIndex(store).history(0, 100)[0], None)
    assert stored == optimizer.history()
    assert [one.used for one in stored] == [True] * 5 + [False, True]
    assert [one["used"] for one in served] == [True] * 5 + [False, True]
    optimizer.reset()
    observe(optimizer, [1])  # a reset takes the `forget` back
    assert rewards(store) == optimizer.history()
    assert rewards(store)[0].used
