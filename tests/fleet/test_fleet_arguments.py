"""Invalid input is rejected as a whole, by name and row, and nothing is lost."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import driftpeak as dp

PRIOR = dp.Prior(dp.Arms(np.linspace(0, 1, 4)), dp.SE(lengthscale=0.3), noise_variance=0.1)
POLICY = dp.TVGPUCB(PRIOR, drift=0.05)


def make(members=5, **options):
    return dp.Fleet(PRIOR.domain, members, policy=POLICY, **options)


def state_of(fleet):
    engine, pending = fleet._engine, fleet._pending
    arrays = (engine.now, engine.steps.counts, engine.steps.rewards, pending._number, engine.tells)
    return [array.copy() for array in arrays]


CASES = {
    "unknown id": (lambda ids, r: (ids + 100, r), r"must be ids that ask\(\) returned"),
    "never used": (lambda ids, r: (ids + (99 << 32), r), r"must be ids that ask\(\) returned"),
    "negative": (lambda ids, r: (-ids - 1, r), r"must be ids that ask\(\) returned"),
    "twice": (lambda ids, r: (ids[[0, 1, 1, 2, 3]], r), "at row 2 for the second time"),
    "shorter": (
        lambda ids, r: (ids, r[:-1]),
        "rewards must have 5 entries, one for each row; got 4",
    ),
    "nan": (
        lambda ids, r: (ids, r + np.array([0, 0, np.nan, 0, 0])),
        r"got nan at row 2 \(1 of 5 rows\)",
    ),
    "infinite": (lambda ids, r: (ids, r - np.array([0, np.inf, 0, 0, 0])), "got -inf at row 1"),
    "huge": (lambda ids, r: (ids, r + 1e101), "got 1e.101 at row 0"),
    "floats": (lambda ids, r: (ids + 0.5, r), "ids must be integers; got elements of type float64"),
    "text": (lambda ids, r: (ids, ["1"] * 5), "rewards must be numbers"),
    "booleans": (lambda ids, r: (ids, r > 0), "rewards must be numbers"),
    "matrix": (lambda ids, r: (ids, r[:, None]), "rewards must be one-dimensional"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_invalid_row_rejects_the_call_and_changes_nothing(case):
    change, message = CASES[case]
    fleet = make()
    asked = fleet.ask()
    before = state_of(fleet)
    with pytest.raises(dp.DriftpeakError, match=message):
        fleet.tell(*change(asked.ids, np.arange(5.0)))
    for x, y in zip(before, state_of(fleet), strict=True):
        np.testing.assert_array_equal(x, y)
    assert fleet.tell(asked.ids, np.arange(5.0)).all()
    with pytest.raises(dp.UnknownSuggestionError, match="which is already answered"):
        fleet.tell(asked.ids, np.arange(5.0))


def test_invalid_rows_can_be_skipped():
    fleet = make()
    asked = fleet.ask()
    ids = np.concatenate([asked.ids, asked.ids[:1], [7]])
    rewards = [1.0, np.nan, 3.0, None, 5.0, 6.0, 7.0]
    used = fleet.tell(ids, rewards, invalid="skip")
    assert used.tolist() == [True, False, True, False, True, False, False]
    assert fleet.observations.tolist() == [1, 0, 1, 0, 1]
    assert fleet.tell(asked.ids, np.ones(5), invalid="skip").tolist() == [0, 1, 0, 1, 0]


def test_only_the_newest_suggestions_stay_pending():
    fleet = make(1)
    ids = np.concatenate([fleet.ask().ids for _ in range(20)])
    assert fleet.tell(ids, np.zeros(20), invalid="skip").tolist() == [False] * 4 + [True] * 16


REFUSED = {
    "member twice": (lambda fleet: fleet.ask([1, 1]), "must be distinct; got 1 more than once"),
    "text for integers": (lambda fleet: fleet.ask(["1"]), "got '1'"),
    "fractions": (lambda fleet: fleet.ask([0.5]), "members must be integers or strings"),
    "times": (lambda fleet: fleet.ask(time=[1.0, 2.0]), "time must have 5 entries"),
    "late nan": (lambda fleet: fleet.ask(time=np.nan), "time must be finite numbers"),
    "context": (lambda fleet: fleet.ask(context=1), "this fleet has no contexts"),
    "existing": (lambda fleet: fleet.add([4]), "members must be new; got 4, which exists"),
    "another kind": (lambda fleet: fleet.add(["a"]), "all integers or all strings"),
    "arm": (lambda fleet: fleet.observe([1], [4], [0.0], time=1), r"in 0\.\.3; got 4"),
    "no column": (lambda fleet: fleet.tell({"id": [1]}), "must have a column 'reward'"),
    "mask": (lambda fleet: fleet.add([9], arms=[[True]]), r"of shape \(1, 4\)"),
    "no arms": (lambda fleet: fleet.add([9], arms=[[False] * 4]), "at least one arm"),
    "huge id": (lambda fleet: fleet.tell(np.array([2**64 - 1], np.uint64), [1.0]), "below 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_requests_name_the_remedy(case):
    act, message = REFUSED[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        act(make())


def test_constructors_refuse_what_does_not_fit():
    with pytest.raises(dp.DriftpeakError, match="as many points as the space, 3; got 4"):
        dp.Fleet(dp.Arms(3), 2, policy=POLICY)
    with pytest.raises(dp.DriftpeakError, match="distinct; got 'a' more than once"):
        make(["a", "b", "a"])
    with pytest.raises(dp.UnsupportedError, match="DUCB supports no sets of arms"):
        dp.Fleet(
            dp.Arms(3),
            2,
            policy=dp.DUCB(
                dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3)), 0.1),
                discount=0.9,
                reward_bound=1.0,
            ),
            arms=np.ones((2, 3), bool),
        )
    fleet = make(2, horizon=2)
    fleet.ask()
    fleet.ask()
    with pytest.raises(dp.DriftpeakError, match=r"horizon=2 decisions; got one more for 0"):
        fleet.ask()


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.integers(), st.floats(), st.text(max_size=2)
)
COLUMN = st.one_of(ANYTHING, st.lists(ANYTHING, max_size=6))


@settings(max_examples=150)
@given(st.sampled_from(["ask", "tell", "observe", "add", "remove", "reset"]), st.data())
def test_any_argument_is_accepted_or_refused_without_a_change(name, data):
    """Whatever a call is given, it works, or raises DriftpeakError and changes nothing."""
    fleet = FLEET
    before, members = state_of(fleet), fleet.members.tolist()
    given_ids = st.sampled_from(fleet.ask().ids.tolist()) | ANYTHING
    before = state_of(fleet)
    column = st.one_of(COLUMN, st.lists(given_ids, max_size=5))
    calls = {
        "ask": lambda: fleet.ask(data.draw(COLUMN), time=data.draw(COLUMN)),
        "tell": lambda: fleet.tell(data.draw(column), data.draw(COLUMN), time=data.draw(COLUMN)),
        "observe": lambda: fleet.observe(
            *(data.draw(COLUMN) for _ in range(3)), time=data.draw(COLUMN)
        ),
        "add": lambda: fleet.add(data.draw(COLUMN)),
        "remove": lambda: fleet.remove(data.draw(st.lists(ANYTHING, max_size=2))),
        "reset": lambda: fleet.reset(data.draw(COLUMN)),
    }
    try:
        calls[name]()
    except dp.DriftpeakError:
        assert fleet.members.tolist() == members
        for x, y in zip(before, state_of(fleet), strict=True):
            np.testing.assert_array_equal(x, y)
    assert len(fleet) == len(set(fleet.members.tolist()))


FLEET = make(6)


def test_one_missing_reward_among_thousands():
    """The call is rejected as a whole, or the other rows are accepted."""
    fleet = make(10_000)
    asked = fleet.ask()
    rewards = np.ones(10_000)
    rewards[7_777] = np.nan
    with pytest.raises(dp.DriftpeakError, match=r"nan at row 7777 \(1 of 10,000 rows\)"):
        fleet.tell(asked.ids, rewards)
    assert fleet.observations.sum() == 0
    used = fleet.tell(asked.ids, rewards, invalid="skip")
    assert np.flatnonzero(~used).tolist() == [7_777]
    assert fleet.observations.sum() == 9_999


def test_observations_of_removed_members_are_refused():
    fleet = make(3)
    fleet.remove([1])
    with pytest.raises(dp.DriftpeakError, match=r"members of the fleet; got 1 \(1 of 2"):
        fleet.observe([0, 1], [0, 0], [1.0, 1.0], time=1.0)
    assert fleet.observations.tolist() == [0, 0]
