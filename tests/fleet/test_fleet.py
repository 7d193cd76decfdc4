"""A fleet decides as single players do, whatever the batches, the order and the times."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dense import posterior
from hypothesis import given, settings, strategies as st

import driftpeak as dp
from driftpeak._core.numerics import lowered
from driftpeak._core.times import Horizon
from driftpeak.fleet import _programs as programs
from driftpeak.simulation._programs import random_keys

HORIZON, NOISE = 50, 0.1
PLACES = np.array([0.0, 0.17, 0.38, 0.71, 1.0])  # without symmetry, no two scores are equal
PRIOR = dp.Prior(dp.Arms(PLACES), dp.SE(lengthscale=0.3), noise_variance=NOISE)
POLICIES = {
    "TV": dp.TVGPUCB(PRIOR, drift=0.05),
    "R": dp.RGPUCB(PRIOR, period=3),
    "SW": dp.SWGPUCB(PRIOR, window=4),
    "Thompson": dp.TVGPUCB(PRIOR, drift=0.05, acquisition="thompson"),
    "D-UCB": dp.DUCB(PRIOR, discount=0.9, reward_bound=4.0),
    "auto": dp.Auto(PRIOR, drifts=(0.0, 0.1), rates=(0.05,)),
}


@jax.jit
def ask_player(player, state, time):
    return player.ask(state, time)


@jax.jit
def tell_player(player, state, arm, reward, time):
    return player.tell(state, arm, reward, time)


class Single:
    """One player, advanced from its first state over all its steps in the order of time."""

    def __init__(self, policy, trial, seed=0):
        self.player = jax.tree.map(jnp.asarray, policy.prepare(Horizon(HORIZON)))
        self.first = self.player.init(random_keys(seed, np.array([trial])).policy[0])
        self.steps = []

    @property
    def state(self):
        state = self.first
        for kind, time, arm, reward in sorted(self.steps, key=lambda step: step[1]):
            if kind == "ask":
                state = ask_player(self.player, state, time)[0]
            else:
                state = tell_player(self.player, state, arm, reward, time)
        return state

    def ask(self, time, expected=()):
        """Ask after the rewards that are expected at pending points."""
        state, latest = self.state, max((step[1] for step in self.steps), default=-np.inf)
        for point, when in sorted(expected, key=lambda one: one[1]):
            when = max(when, latest)
            prediction = self.player.predict(state, when)
            if prediction is not None:
                state = tell_player(self.player, state, point, prediction.mean[point], when)
        arm = int(ask_player(self.player, state, time)[1])
        self.steps.append(("ask", time, 0, 0.0))
        return arm

    def tell(self, arm, reward, time):
        self.steps.append(("tell", time, arm, reward))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "auto")) for n in POLICIES]
)
def test_any_subset_in_any_batch_decides_as_single_players(name):
    """Members have seen different numbers of observations at different times."""
    policy, generator = POLICIES[name], np.random.default_rng(1)
    fleet = dp.Fleet(PRIOR.domain, 6, policy=policy, horizon=HORIZON)
    singles = [Single(policy, trial) for trial in range(6)]
    time = np.zeros(6)
    for _ in range(14):
        some = np.flatnonzero(generator.random(6) < 0.6)
        time[some] += generator.exponential(size=len(some))
        asked = fleet.ask(some, time=time[some])
        wanted = [singles[i].ask(time[i]) for i in some]
        assert asked.choices.tolist() == wanted
        rewards = np.cos(3 * PLACES[asked.choices] + time[some]) + generator.normal(size=len(some))
        order = generator.permutation(len(some))
        assert fleet.tell(asked.ids[order], rewards[order]).all()
        for i, arm, reward in zip(some, wanted, rewards, strict=True):
            singles[i].tell(arm, reward, time[i])
    if singles[0].player.predict(singles[0].first, 1.0) is None:
        return
    mean, variance, noise = fleet.predict(time=time + 1)
    for i, single in enumerate(singles):
        expected = single.player.predict(single.state, time[i] + 1)
        np.testing.assert_allclose(mean[i], expected.mean, atol=1e-9)
        np.testing.assert_allclose(variance[i], expected.variance, atol=1e-9)
        np.testing.assert_allclose(noise[i], expected.noise_variance)


SLOW_AUTO = [pytest.param("auto", late, marks=pytest.mark.slow) for late in (2, 5, 16)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "late"), [("TV", 2), ("TV", 5), ("TV", 16), *SLOW_AUTO])
def test_late_rewards_are_inserted_at_their_time(name, late):
    """Rewards of up to four pending suggestions arrive in random order."""
    policy, generator = POLICIES[name], np.random.default_rng(late)
    fleet = dp.Fleet(PRIOR.domain, 3, policy=policy, horizon=HORIZON, late=late)
    singles, open_ids, refused = [Single(policy, i) for i in range(3)], [], 0
    for step in range(1, 19):
        asked = fleet.ask(time=float(step))
        for i in range(3):
            expected = [(arm, when) for _, member, arm, when in open_ids if member == i]
            assert singles[i].ask(float(step), expected) == asked.choices[i]
            open_ids.append((asked.ids[i], i, int(asked.choices[i]), float(step)))
        while len(open_ids) > generator.integers(13):
            number, i, arm, when = open_ids.pop(generator.integers(len(open_ids)))
            reward = float(np.sin(arm) + 0.3 * generator.normal())
            if fleet.tell([number], [reward])[0]:
                singles[i].tell(arm, reward, when)
            else:
                refused += 1
    assert refused == 0 if late == 16 else refused > 0 or name == "auto"


def test_late_observations_give_the_dense_posterior():
    generator = np.random.default_rng(3)
    fleet = dp.Fleet(PRIOR.domain, 40, policy=POLICIES["TV"], late=16)
    seen = [([], [], []) for _ in range(40)]
    for _ in range(12):
        members = generator.integers(40, size=30)
        arms, times = generator.integers(5, size=30), generator.uniform(0, 20, size=30)
        rewards = generator.normal(size=30)
        assert fleet.observe(members, arms, rewards, time=times).all()
        for member, *entry in zip(members, arms, rewards, times, strict=True):
            for column, value in zip(seen[member], entry, strict=True):
                column.append(value)
    mean, variance, _ = fleet.predict(time=21.0)
    for i, (arms, rewards, times) in enumerate(seen):
        order = np.argsort(times)
        columns = (np.array(x)[order] for x in (arms, rewards, times))
        expected = posterior(PRIOR.gram, NOISE, np.zeros(5), "drift", 0.05, *columns, 21.0)
        np.testing.assert_allclose(mean[i], expected[0], atol=1e-7)
        np.testing.assert_allclose(variance[i], expected[1], atol=1e-7)


def test_a_member_alone_is_an_optimizer():
    """The optimiser inserts late rewards and fantasises pending suggestions by its own code."""
    generator = np.random.default_rng(5)
    policy = POLICIES["TV"]
    fleet = dp.Fleet(PRIOR.domain, 1, policy=policy, seed=3)
    single = dp.Optimizer(PRIOR.domain, maximize=True, policy=policy, seed=3)
    pending = []
    for step in range(1, 30):
        asked, one = fleet.ask(time=float(step)), single.ask(time=float(step))
        assert list(one.values()) == asked.names
        pending.append((asked.ids, one))
        while len(pending) > generator.integers(5):
            ids, one = pending.pop(generator.integers(len(pending)))
            reward = float(generator.normal())
            fleet.tell(ids, [reward])
            single.tell(one, reward, time=one.time)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.data())
def test_the_batches_do_not_matter(data):
    """One call for all members gives what one call for each gives, in any order."""
    arms = np.random.default_rng(0).random((7, 5)) < 0.6
    arms[:, 0] |= ~arms.any(axis=1)
    whole, parts = (
        dp.Fleet(PRIOR.domain, 7, arms=arms, policy=POLICIES["TV"], late=3) for _ in range(2)
    )
    for step in range(4):
        some = data.draw(st.lists(st.integers(0, 6), unique=True, min_size=1))
        times = np.array(
            data.draw(st.lists(st.floats(0, 9), min_size=len(some), max_size=len(some)))
        )
        asked = whole.ask(some, time=times)
        each = [
            parts.ask([i], time=when) for i, when in reversed(list(zip(some, times, strict=True)))
        ]
        assert [one.choices[0] for one in reversed(each)] == asked.choices.tolist()
        assert arms[some, asked.choices].all()
        rewards = np.arange(len(some)) + step
        used = whole.tell(asked.ids, rewards)
        alone = [
            parts.tell(one.ids, [r])[0] for one, r in zip(reversed(each), rewards, strict=True)
        ]
        assert used.tolist() == alone
    for x, y in zip(whole.predict(time=10.0), parts.predict(time=10.0), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)


def test_a_step_of_any_subset_runs_few_programs(monkeypatch):
    made, compile_lowered = [], lowered.compile_lowered
    monkeypatch.setattr(
        lowered, "compile_lowered", lambda *words: made.append(words) or compile_lowered(*words)
    )
    lowered.forget_programs()  # those of earlier tests
    policy = dp.TVGPUCB(PRIOR, drift=0.07)
    fleet = dp.Fleet(PRIOR.domain, 1200, policy=policy, late=7)
    with jax.numpy_rank_promotion("allow"):  # as in the threads for several batches
        for count in (1, 2, 15, 16, 17, 90, 128, 129, 1000, 1024, 1025, 1200):
            asked = fleet.ask(np.arange(count))
            fleet.tell(asked.ids, np.zeros(count))
    assert 0 < len(made) <= 3 * len(programs.SIZES)  # to start, ask and tell


@pytest.mark.slow
def test_sets_of_arms_restrict_the_choice():
    generator = np.random.default_rng(2)
    arms = generator.random((30, 5)) < 0.5
    arms[:, 2] |= ~arms.any(axis=1)
    fleet = dp.Fleet(PRIOR.domain, 30, arms=arms, policy=POLICIES["TV"])
    player = POLICIES["TV"].prepare(Horizon(HORIZON))
    states = [player.init(key) for key in random_keys(0, np.arange(30)).policy]
    for step in range(1, 5):
        asked = fleet.ask()
        rewards = generator.normal(size=30)
        fleet.tell(asked.ids, rewards)
        for i in range(30):
            states[i], arm = player.ask_among(states[i], step, jnp.asarray(arms[i]))
            assert arm == asked.choices[i]
            states[i] = player.tell(states[i], arm, rewards[i], step)


def test_contexts_restrict_the_choice_to_their_cells():
    contexts = dp.Contexts(["weekday", "weekend"])
    cells = contexts.cells(PRIOR.domain)
    prior = dp.Prior(cells, dp.SE(lengthscale=[0.3, 0.5, 0.5]), noise_variance=NOISE)
    policy = dp.TVGPUCB(prior, drift=0.05)
    fleet = dp.Fleet(PRIOR.domain, 2, policy=policy, contexts=contexts)
    for step in range(1, 9):
        asked = fleet.ask(context=["weekday", "weekend"], time=float(step))
        fleet.tell(asked.ids, [1.0 - PLACES[asked.choices[0]], PLACES[asked.choices[1]]])
    mean = fleet.predict(time=9.0)[0].reshape(2, 2, 5)
    assert mean[0, 0].argmax() == 0
    assert mean[1, 1].argmax() == 4
    with pytest.raises(dp.DriftpeakError, match="context must be given"):
        fleet.ask()
    with pytest.raises(dp.DriftpeakError, match=r"one of the fleet's contexts.*got 'holiday'"):
        fleet.ask(context="holiday")


def test_members_are_added_removed_and_reset():
    """A member that is added later, or reset, starts from its first state."""
    fleet = dp.Fleet(PRIOR.domain, ["a", "b", "c"], policy=POLICIES["TV"])
    for _ in range(3):
        asked = fleet.ask()
        fleet.tell(asked.ids, [1.0, 2.0, 3.0])
    old = fleet.ask(["b"]).ids
    fleet.remove("b")
    fleet.add(["d", "e"])
    assert fleet.members.tolist() == ["a", "c", "d", "e"]
    assert fleet.observations.tolist() == [3, 3, 0, 0]
    with pytest.raises(dp.UnknownSuggestionError, match="member was removed"):
        fleet.tell(old, [1.0])
    with pytest.raises(dp.DriftpeakError, match="got 'b' \\(1 of 1 are unknown\\)"):
        fleet.ask("b")
    fleet.reset(["a"])
    mean, variance, _ = fleet.predict(time=5.0)
    np.testing.assert_array_equal(mean[[0, 2, 3]], 0.0)
    np.testing.assert_array_equal(variance[[0, 2, 3]], 1.0)
    assert mean[1].max() > 1


def test_tables_of_pandas_and_arrow():
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    table = pd.DataFrame({"member": ["x", "y"], "weight": [1, 2]})
    fleets = [
        dp.Fleet(PRIOR.domain, members, policy=POLICIES["TV"])
        for members in (table, pa.table({"member": ["x", "y"]}), pd.Series(["x", "y"]), ["x", "y"])
    ]
    for fleet in fleets:
        asked = fleet.ask()
        assert asked.to_arrow().to_pandas().equals(asked.to_pandas())
        frame = asked.to_pandas().assign(reward=[1.0, 2.0])[["id", "reward"]]
        for _ in range(3):
            assert fleet.tell(frame).all()
            frame = fleet.ask(pd.Series(["y", "x"])).to_pandas().assign(reward=[1, 2])
            assert fleet.tell(pa.Table.from_pandas(frame)).all()
            asked = fleet.ask(pa.array(["x"]))
            assert fleet.tell(
                pa.array(asked.ids), pa.chunked_array([[3.0]]), time=pa.array([9])
            ).all()
            frame = fleet.ask().to_pandas().assign(reward=[1.0, 2.0], time=10.0)
    first = fleets[0].predict(time=11.0)
    for other in fleets[1:]:
        np.testing.assert_array_equal(other.predict(time=11.0)[0], first[0])
