"""An event that is rejected changes nothing: neither the ledger nor the engine."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import driftpeak as dp
from driftpeak.live._study import events

ARMS = dp.Arms(3)
PRIOR = dp.Prior(ARMS, dp.kernels.Table(np.eye(3)), 0.01)
MAKERS = {
    "policy": lambda: dp.Optimizer(ARMS, maximize=True, policy=dp.GPUCB(PRIOR), horizon=50),
    "gaussian process": lambda: dp.Optimizer(ARMS, maximize=True),
    "counts": lambda: dp.Optimizer(ARMS, maximize=True, policy=dp.DriftingGP(likelihood="poisson")),
    "limits": lambda: dp.Optimizer(ARMS, maximize=True, constraints={"heat": dp.Limit(at_most=1)}),
}
MADE = {name: make() for name, make in MAKERS.items()}  # compiled once
ARM = st.sampled_from([{"arm": 0}, {"arm": 2}, {"arm": 7}, {"leg": 1}])
NUMBER = st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.5, 1e101, 1e308])
TIME = st.sampled_from([0.0, 1.0, 2.5, 5.0])
KIND = st.sampled_from(["steps", "steps", "numbers"])
LESSON = {"motions": {}, "pace": 1.0, "centre": 0.0, "scale": 1.0}


def made(kind, /, **fields):
    """A kind of event and its fields; it is made in the test, since checks of types draw lots."""
    return st.tuples(st.just(kind), st.fixed_dictionaries(fields))


NUMBERED = {"id": st.integers(1, 6), "time": TIME, "kind": KIND, "parameters": ARM}
EVENTS = st.one_of(
    made(events.Asked, **NUMBERED),
    made(
        events.Told,
        **NUMBERED | {"id": st.one_of(st.none(), st.integers(1, 6))},
        reward=NUMBER,
        noise=st.sampled_from([None, None, 0.5, 1e-300]),
        constraints=st.sampled_from([{}, {"heat": 0.5}, {"flow": 0.5}]),
        trials=st.sampled_from([None, None, 2]),
    ),
    made(events.Cancelled, id=st.integers(1, 6)),
    made(events.Forgot, before=st.one_of(st.none(), TIME)),
    made(
        events.Answered,
        time=TIME,
        kind=KIND,
        queries=st.lists(ARM, max_size=2),
        answers=st.just([1.0, None]),
    ),
    made(
        events.Learned,
        values=st.sampled_from([{}, LESSON, {"reward": LESSON, "quantities": {}}]),
    ),
    made(events.Reset),
)


def state(optimizer):
    arrays, rest = optimizer._engine.save()
    kept = {name: (one.dtype, one.tobytes()) for name, one in arrays.items()}
    return optimizer._state.save(), kept, rest, optimizer._fits


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=60, deadline=None)
@given(happened=st.lists(EVENTS, min_size=1, max_size=8))
def test_a_rejected_event_changes_nothing(name, happened):
    happened = [kind(**fields) for kind, fields in happened]
    optimizer = MADE[name]
    optimizer.begin()
    for event in happened:
        before = state(optimizer)
        try:
            optimizer.apply(event)
        except Exception:
            assert state(optimizer) == before
    before = state(optimizer)
    try:
        optimizer.replay(happened)
    except Exception:
        assert state(optimizer) == before


def test_noise_that_a_policy_cannot_use_leaves_the_suggestion_pending():
    optimizer = MAKERS["policy"]()
    asked = optimizer.ask()
    told = events.Told(asked.id, 1.0, "steps", dict(asked), 1.0, noise=0.5)
    with pytest.raises(dp.DriftpeakError, match="noise must be None"):
        optimizer.apply(told)
    assert [one.id for one in optimizer.pending()] == [asked.id]
    assert optimizer.history() == []
    assert optimizer.diagnostics().told == 0
    with pytest.raises(dp.DriftpeakError, match="noise must be None"):
        optimizer.replay([events.Told(None, 1.0, "steps", {"arm": 1}, 1.0), told])
    assert optimizer.history() == []
