"""A damaged snapshot is refused by name, whatever field is damaged, and nothing changes."""

import io
import json
import random

import numpy as np
import pytest

import driftpeak as dp

ARMS = dp.Arms(3)
PRIOR = dp.Prior(ARMS, dp.kernels.Table(np.eye(3)), 0.01)
LIMITS = {"heat": dp.Limit(at_most=1)}
MAKERS = {
    "policy": lambda: dp.Optimizer(ARMS, maximize=True, policy=dp.GPUCB(PRIOR), horizon=50),
    "gaussian process": lambda: dp.Optimizer(ARMS, maximize=True),
    "limits": lambda: dp.Optimizer(ARMS, maximize=True, constraints=LIMITS),
}
ODD = [float("inf"), float("-inf"), float("nan"), 1e400, -1, 0.5, 10**30, 1e300]
ODD += [None, True, "x", [], {}, [1], [[]], {"x": 1}]
CASES = 60


def used(name):
    optimizer = MAKERS[name]()
    for step in range(6):
        measured = {"heat": 0.5} if name == "limits" else None
        optimizer.tell(optimizer.ask(), float(step % 2), constraints=measured)
    optimizer.ask()
    optimizer.forget(2)
    return optimizer


def shell_of(snapshot):
    with np.load(io.BytesIO(snapshot)) as stored:
        arrays = dict(stored)
    return json.loads(arrays.pop("shell").tobytes()), arrays


def packed(shell, arrays):
    target = io.BytesIO()
    np.savez(target, shell=np.frombuffer(json.dumps(shell).encode(), np.uint8), **arrays)
    return target.getvalue()


def places(thing, path=()):
    """All fields, at any depth."""
    keys = thing.keys() if isinstance(thing, dict) else range(len(thing))
    for key in keys:
        yield (*path, key)
        if isinstance(thing[key], dict | list):
            yield from places(thing[key], (*path, key))


def changed(shell, path, value):
    copied = json.loads(json.dumps(shell))
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copied


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_any_field_may_be_damaged(name):
    generator = random.Random(5)
    snapshot = used(name).snapshot()
    shell, arrays = shell_of(snapshot)
    found = [path for path in places(shell) if path != ("of",)]
    refused = 0
    optimizer = MAKERS[name]()
    for _ in range(CASES):
        path, value = generator.choice(found), generator.choice(ODD)
        optimizer.restore(snapshot)
        before = optimizer._state.save()
        try:
            optimizer.restore(packed(changed(shell, path, value), arrays))
        except dp.StorageCorruptError:
            refused += 1
            assert optimizer._state.save() == before
        try:  # whatever was taken over can be used
            optimizer.diagnostics()
            optimizer.history()
            optimizer.pending()
        except dp.DriftpeakError:
            pass
    assert CASES / 3 < refused < CASES


@pytest.mark.parametrize("field", ["since", "base", "tells"])
def test_infinite_counts_are_refused(field):
    snapshot = used("gaussian process").snapshot()
    shell, arrays = shell_of(snapshot)
    optimizer = MAKERS["gaussian process"]()
    for value in (float("inf"), float("nan"), 1.5, -1):
        with pytest.raises(dp.StorageCorruptError, match="the snapshot is damaged"):
            optimizer.restore(packed(changed(shell, ("engine", field), value), arrays))
    assert optimizer.history() == []
    optimizer.restore(snapshot)
    assert len(optimizer.history()) == 6


def test_what_is_no_snapshot_and_that_of_another_study_are_told_apart():
    optimizer = MAKERS["policy"]()
    with pytest.raises(dp.StorageCorruptError, match="snapshot must be from"):
        optimizer.restore(b"something")
    with pytest.raises(dp.StudyMismatchError, match="with the same space"):
        optimizer.restore(used("gaussian process").snapshot())
