"""The newest items of a series behave as a deque and a dictionary, copies included."""

from collections import deque

import pytest
from hypothesis import given, strategies as st

from driftpeak.live._study import newest
from driftpeak.live._study.newest import Newest, NewestByKey

LIMITS = st.integers(1, 12)
# each item is added to the newest copy (-1) or to an earlier one, from which a new copy is made
STEPS = st.lists(st.integers(-1, 5), max_size=60)


@pytest.fixture(autouse=True)
def _few_recent_items(monkeypatch):
    monkeypatch.setattr(newest, "RECENT", 3)


@given(LIMITS, st.integers(0, 15), STEPS)
def test_a_sequence_is_a_deque(limit, count, steps):
    copies = [(Newest(limit, range(count)), deque(range(count), limit))]
    for item, which in enumerate(steps, 100):
        ours, theirs = copies[which % len(copies)] if which >= 0 else copies[-1]
        copies.append((ours.copy(), theirs.copy()))
        for each in copies[-1]:
            each.append(item)
    for ours, theirs in copies:
        expected = list(theirs)
        assert list(ours) == expected
        assert [ours[i] for i in range(-len(expected), len(expected))] == expected * 2
        assert ours[1:4] == tuple(expected[1:4])
        assert ours[-2:] == tuple(expected[-2:])
        assert len(ours) == len(expected)
        for outside in (len(expected), -len(expected) - 1):
            with pytest.raises(IndexError):
                ours[outside]


@given(LIMITS, st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 30)), max_size=60))
def test_a_mapping_is_a_dictionary(limit, steps):
    copies = [(NewestByKey(limit), {})]
    for item, (which, number) in enumerate(steps):
        ours, theirs = copies[which % len(copies)] if which >= 0 else copies[-1]
        ours, theirs, key = ours.copy(), theirs.copy(), f"key {number}"
        assert (key in ours) == (key in theirs)
        if key not in theirs:
            ours.add(key, item)
            theirs[key] = item
            if len(theirs) > limit:
                del theirs[next(iter(theirs))]
        copies.append((ours, theirs))
    for ours, theirs in copies:
        assert list(ours.items()) == list(theirs.items())
        assert len(ours) == len(theirs)
        for number in range(31):
            assert ours.get(f"key {number}") == theirs.get(f"key {number}")
