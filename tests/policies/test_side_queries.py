"""Side queries: who asks when, what is answered, what is believed, and what it is compared with."""

import re
from functools import partial

import dense
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compiled_beliefs import seen

import driftpeak as dp
from driftpeak.policies import Prediction
from driftpeak.theory.side_queries import (
    side_query_budget,
    side_query_windows,
    w_sparq_regret_order,
)

PRIOR = dp.Prior(dp.Grid([0, 1], size=30), dp.SE(0.15), noise_variance=0.04, mean=0.2)
WORLD = dp.MarkovDrift(PRIOR, drift=0.05)


@pytest.mark.parametrize("exponent", [0.3, 1.0, 2.5])
def test_windows_grow_as_in_the_paper(exponent):
    """M25 (32): t_j^{a/alpha} < t_{j+1} - t_j <= t_j^{a/alpha} + 1, from t_1 = 1.

    Source: M25 (32).
    """
    starts = np.flatnonzero(side_query_windows(5_000, exponent=exponent, a=0.3)) + 1
    assert starts[0] == 1
    power = starts[:-1] ** (0.3 / exponent)
    lengths = np.diff(starts)
    assert (power < lengths).all()
    assert (lengths <= power + 1).all()
    assert len(starts) > 5


def test_windows_count_from_the_first_time_and_wait_for_the_next():
    regular = side_query_windows(50, exponent=1.0)
    np.testing.assert_array_equal(side_query_windows(np.arange(1e9, 1e9 + 50), exponent=1), regular)
    # from t = 1 the next window is due at 3, then at 40 + floor(40^(1/4)) + 1 = 43
    starts = side_query_windows([5, 6, 44, 46, 47], exponent=1.0)
    np.testing.assert_array_equal(starts, [True, False, True, False, True])


def test_the_budget_is_that_of_the_paper():
    """Source: M25 Theorem 3.3, Theorem 3.10."""
    budget = side_query_budget(1000, rate=1.5, dimension=2)
    assert budget[0] == 1
    t = np.arange(2, 1001)
    np.testing.assert_array_equal(budget[1:], np.ceil(1.5 * np.log(t) ** 2))


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_side_queries_per_step_vanish_at_the_rate_of_the_paper(exponent):
    """The number of windows n(T) grows as T^{1 - a/alpha} and N_T / (T log T) falls as
    T^{-a/alpha} (M25 Thm 3.10). On a log-log scale over T in 10^5..10^6 the slope of n(T) / T lies
    within 0.015 above -a/alpha (what remains is the rounding of the lengths), that of
    N_T / (T log T) within 0.03 above (and terms of order 1 / log T).

    Source: M25 Theorem 3.10.
    """
    horizons = np.geomspace(1e5, 1e6, 9).astype(int)
    last = int(horizons[-1])
    starts = side_query_windows(last, exponent=exponent)
    windows = np.cumsum(starts)[horizons - 1]
    asked = np.cumsum(starts * side_query_budget(last))[horizons - 1]
    for count, slack in ((windows, 0.015), (asked / np.log(horizons), 0.03)):
        slope = np.polyfit(np.log(horizons), np.log(count / horizons), 1)[0]
        assert -0.25 / exponent < slope < -0.25 / exponent + slack
    assert asked[-1] / horizons[-1] < asked[0] / horizons[0]


class Expert:
    """Drives a policy by hand, keeps what it should know, and compares with a dense computation."""

    def __init__(self, policy, rule, parameter, steps=40):
        self.player = policy.prepare(steps)
        self.consult = jax.jit(lambda s, t: self.player.consult(s, t))
        self.hear = jax.jit(lambda s, *given: self.player.hear(s, *given))
        self.ask = jax.jit(lambda s, t: self.player.ask(s, t))
        self.tell = jax.jit(lambda s, *given: self.player.tell(s, *given))
        self.believe = jax.jit(lambda s, t: self.player.actor.belief.posterior(s.acting.belief, t))
        self.rule, self.parameter, self.steps = rule, parameter, steps
        self.known = np.zeros((0, 3))  # arm, reward, time
        self.generator = np.random.default_rng(0)
        self.asked = np.zeros(steps, int)
        self.sampled = []

    def function(self, arm, time):
        return np.sin(6 * PRIOR.domain.points[arm, 0] + 0.2 * time)

    def run(self, answers=lambda time, wanted: wanted, memory=1_000):
        """Play; `answers` says what is answered, `memory` how many observations are remembered."""
        state = self.player.init(jax.random.key(5))
        for time in range(1, self.steps + 1):
            if self.player.consults == "before":
                state = self.consulted(state, time, answers)
            self.known = self.known[-memory:]
            if len(self.known):
                self.compare(state, time)
            state, arm = self.ask(state, float(time))
            reward = self.function(int(arm), time) + 0.2 * self.generator.normal()
            state = self.tell(state, arm, reward, float(time))
            self.sampled.append(int(arm))
            self.known = np.concatenate([self.known, [[int(arm), reward, time]]])
            if self.player.consults == "after":
                state = self.consulted(state, time, answers)

    def consulted(self, state, time, answers):
        state, arms, wanted = self.consult(state, float(time))
        arms, wanted = np.asarray(arms), np.asarray(wanted)
        answered = answers(time, wanted)
        values = self.function(arms, time) + 0.2 * self.generator.normal(size=len(arms))
        state = self.hear(state, arms, values, answered, float(time))
        if answered.any():
            rows = [arms[answered], values[answered], np.full(answered.sum(), time)]
            self.known = np.stack(rows, axis=1)
        self.asked[time - 1] = wanted.sum()
        return state

    def compare(self, state, time):
        arms, rewards, times = self.known[:, 0].astype(int), self.known[:, 1], self.known[:, 2]
        expected = dense.posterior(
            PRIOR.gram, 0.04, PRIOR.mean, self.rule, self.parameter, arms, rewards, times, time
        )
        posterior = self.believe(state, float(time))
        for ours, theirs in zip(posterior, expected, strict=False):
            np.testing.assert_allclose(ours, theirs, atol=1e-7)


AS_PUBLISHED = {"asks": "after", "multiplicity": True}
ROWS = {
    "sparq": (dp.SparQ(PRIOR), "keep", None),
    "w-sparq": (dp.WSparQ(PRIOR, exponent=0.7), "injection", 0.7),
    "w-sparq in feature space": (
        dp.WSparQ(PRIOR, exponent=0.7, form="feature-space"),
        "injection",
        0.7,
    ),
    "adaptive": (dp.AdaptiveSparQ(PRIOR), "keep", None),
    "sparq as published": (dp.SparQ(PRIOR, **AS_PUBLISHED), "keep", None),
    "w-sparq as published": (dp.WSparQ(PRIOR, exponent=0.7, **AS_PUBLISHED), "injection", 0.7),
}


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_beliefs_equal_a_dense_regression_on_the_answers_and_what_came_since(row):
    """SparQ: on the expert's answers alone (M25 (20)-(21)), from step 2 on; as published, those
    about the function of the step before, which then have the noise of the newest (age 0).

    Source: M25 Algorithms 1-2, (20)-(21).
    """
    expert = Expert(*ROWS[row])
    expert.run()
    if row == "sparq as published":
        np.testing.assert_array_equal(expert.asked > 0, True)
        return
    if row == "w-sparq as published":
        np.testing.assert_array_equal(
            expert.asked > 0, side_query_windows(expert.steps, exponent=0.7)
        )
        return
    assert expert.asked[0] == 0  # nothing sampled yet
    if row == "sparq":
        assert expert.asked[1] == 1
        assert (expert.asked[1:] > 0).all()
    elif row != "adaptive":
        windows = side_query_windows(expert.steps, exponent=0.7)
        np.testing.assert_array_equal(expert.asked > 0, windows & (np.arange(expert.steps) > 0))
    else:
        assert 2 < (expert.asked > 0).sum() < 40


class Virtual(Expert):
    """Compares the side queries with all samples so far, in their order."""

    def consulted(self, state, time, answers):
        _, arms, wanted = self.consult(state, float(time))
        assert np.asarray(arms)[np.asarray(wanted)].tolist() == self.sampled
        return super().consulted(state, time, answers)


@pytest.mark.parametrize(
    "options", [{}, {"asks": "after"}, {"form": "function-space"}], ids=lambda one: str(one)
)
def test_in_the_virtual_setting_every_past_sample_is_asked_again(options):
    """The posterior of a dense regression on one answer for each past sample.

    Source: M25 section 3.1.
    """
    expert = Virtual(dp.VirtualGPUCB(PRIOR, **options), "keep", None, steps=25)
    expert.run()
    assert len(set(expert.sampled)) < len(expert.sampled)  # a point is asked as often as sampled
    after = options.get("asks") == "after"
    np.testing.assert_array_equal(expert.asked, np.arange(25) + after)


def test_without_answers_the_virtual_policy_is_gp_ucb():
    expert = Virtual(dp.VirtualGPUCB(PRIOR), "keep", None, steps=15)
    expert.run(lambda time, wanted: wanted & False)
    assert len(expert.known) == 15


@pytest.mark.slow
def test_an_expert_may_answer_some_questions_and_ignore_others():
    """The belief starts again from what was answered; it goes on where nothing was."""
    expert = Expert(dp.WSparQ(PRIOR, exponent=0.7, rate=3.0), "injection", 0.7)

    def every_other(time, wanted):
        return wanted & (np.arange(len(wanted)) % 2 == 1) & (time % 3 > 0)

    expert.run(every_other, memory=expert.player.actor.belief.capacity)


@pytest.mark.parametrize("row", ["sparq", "w-sparq"])
def test_an_expert_who_never_answers_leaves_the_newest_observations(row):
    make, _, _ = ROWS[row]
    expert = Expert(make, "injection", 1.0 if row == "sparq" else 0.7)
    expert.run(lambda time, wanted: wanted & False, memory=expert.player.actor.belief.capacity)


@pytest.mark.slow
def test_all_points_are_asked_about_where_fewer_were_sampled_than_the_budget_says():
    policy = dp.SparQ(PRIOR, rate=50.0)
    with pytest.warns(UserWarning, match="of 30 points: all points sampled before"):
        player = policy.prepare(20)
    assert player.side_capacity == 19
    with pytest.warns(UserWarning, match="all points"):
        runs = dp.simulate({"all": policy}, WORLD, steps=20, trials=2)
    actions, asked = runs["action"].values[0], runs["side_queries"].values[0]
    distinct = [[len(set(row[:t].tolist())) for t in range(20)] for row in actions]
    np.testing.assert_array_equal(asked, distinct)


@pytest.mark.slow
def test_the_simulator_counts_answers_and_leaves_the_others_alone():
    policies = {"TV": dp.TVGPUCB(PRIOR, drift=0.05), "W": dp.WSparQ(PRIOR, exponent=1.0)}
    runs = dp.simulate(policies, WORLD, steps=60, trials=2, seed=1, predictions=True)
    alone = dp.simulate({"TV": policies["TV"]}, WORLD, steps=60, trials=2, seed=1)
    np.testing.assert_array_equal(runs["reward"].sel(policy="TV"), alone["reward"][0])
    assert (runs["side_queries"].sel(policy="TV") == 0).all()
    asked = runs["side_queries"].sel(policy="W").values
    starts = side_query_windows(60, exponent=1.0)
    assert (asked[:, ~starts] == 0).all()
    assert (asked <= side_query_budget(60)).all()
    assert (asked[:, starts][:, 1:] > 0).all()


@pytest.mark.slow
def test_prediction_errors_are_those_of_the_belief_before_the_decision():
    policies = {"TV": dp.TVGPUCB(PRIOR, drift=0.05), "random": dp.UniformRandom(PRIOR)}
    runs = dp.simulate(policies, WORLD, steps=12, seed=2, predictions=True)
    functions, run = dp.true_functions(WORLD, steps=12, seed=2)[0], runs.isel(policy=0, trial=0)
    errors = []
    for t in range(12):
        seen = run["action"].values[:t], run["reward"].values[:t], np.arange(1.0, t + 1)
        mean, _, _ = dense.posterior(PRIOR.gram, 0.04, PRIOR.mean, "drift", 0.05, *seen, t + 1.0)
        error = np.mean((mean - functions[t]) ** 2)
        np.testing.assert_allclose(run["squared_error"][t], error, atol=1e-7)
        errors.append((mean - functions[t]) ** 2)
    np.testing.assert_allclose(run["point_error"], np.mean(errors, axis=0), atol=1e-7)
    assert runs["point_error"].sel(policy="random").isnull().all()
    assert runs["squared_error"].sel(policy="random").isnull().all()


@pytest.mark.slow
def test_errors_by_point_and_by_step_are_of_the_same_errors():
    """However trials and steps are cut into groups and blocks, padded ones do not count."""
    policy = {"TV": dp.TVGPUCB(PRIOR, drift=0.05)}
    options = {"steps": 49, "trials": 5, "predictions": True}
    whole = dp.simulate(policy, WORLD, **options)
    np.testing.assert_allclose(
        whole["point_error"].mean("point"), whole["squared_error"].mean("step"), rtol=1e-12
    )
    least = int(re.search(r"least ([\d,]+) bytes", refusal(policy, options))[1].replace(",", ""))
    tight = dp.simulate(policy, WORLD, **options, memory_budget=2 * least)
    np.testing.assert_allclose(tight["point_error"], whole["point_error"], rtol=1e-9)


def refusal(policy, options):
    with pytest.raises(dp.DriftpeakError) as caught:
        dp.simulate(policy, WORLD, **options, memory_budget=1)
    return str(caught.value)


class AsksAboutEverything(dp.ActingPolicy):
    """Predicts what the expert answered, so that its squared error is that of the answers."""

    @property
    def points(self):
        return 30

    @property
    def side_capacity(self):
        return 30

    def init(self, key):
        return jnp.zeros(30)

    def consult(self, state, time):
        return state, jnp.arange(30), jnp.ones(30, bool)

    def hear(self, state, arms, answers, answered, time):
        return answers

    def ask(self, state, time):
        return state, jnp.zeros((), int)

    def tell(self, state, query, reward, time):
        return state

    def predict(self, state, time):
        return Prediction(state, jnp.zeros(30), 1.0)


def test_answers_are_the_function_of_the_step_with_noise_of_its_own():
    """3,000 squared errors of variance 0.04: their mean is within 0.04 +- 0.006 but once in 10^7
    seeds; and the noise is not that of the rewards."""
    runs = dp.simulate(
        {"it": AsksAboutEverything(), "again": AsksAboutEverything()},
        WORLD,
        steps=50,
        trials=2,
        predictions=True,
    )
    np.testing.assert_allclose(runs["squared_error"].sel(policy="it").mean(), 0.04, atol=0.006)
    assert (runs["side_queries"] == 30).all()
    functions = dp.true_functions(WORLD, steps=50, trials=2)
    noise = runs["reward"].values[0] - functions[:, :, 0]
    assert abs(np.corrcoef(noise.ravel(), runs["squared_error"].values[0].ravel())[0, 1]) < 0.4


class AsksAfterwards(AsksAboutEverything):
    @property
    def consults(self):
        return "after"


def test_answers_after_the_reward_are_the_function_of_that_step_and_one_step_old_at_the_next():
    """Without noise, what they are off by at the next decision is how far the function moved."""
    exact = dp.MarkovDrift(PRIOR.with_noise_variance(1e-18), drift=0.2)
    runs = dp.simulate({"it": AsksAfterwards()}, exact, steps=20, trials=2, predictions=True)
    functions = dp.true_functions(exact, steps=20, trials=2)
    moved = np.mean(np.diff(functions, axis=1) ** 2, axis=-1)
    np.testing.assert_allclose(runs["squared_error"].values[0][:, 1:], moved, atol=1e-7)
    assert (runs["side_queries"] == 30).all()


@pytest.mark.parametrize(
    ("multiplicity", "share"), [pytest.param(True, 9 / 10, marks=pytest.mark.slow), (False, 1 / 2)]
)
def test_points_count_as_often_as_they_were_sampled_where_multiplicity_counts(multiplicity, share):
    """Of two points of equal variance, one sampled nine times and one once, one is asked about.

    1,000 draws: 0.06 is over six standard errors at 9/10 and nearly four at 1/2.
    """
    with jax.enable_x64(True):
        policy = dp.SparQ(PRIOR, rate=1e-9, multiplicity=multiplicity, asks="after")
        player = policy.prepare(11)
        assert player.side_capacity == 1
        state = player.init(jax.random.key(0))
        for time, arm in enumerate([3] * 9 + [25], start=1):
            state, _ = player.ask(state, float(time))
            state = player.tell(state, jnp.asarray(arm), 0.0, float(time))

        @jax.jit
        def asked(player, state, keys):
            consult = jax.vmap(lambda key: player.consult(state._replace(key=key), 10.0)[1:])
            arms, wanted = consult(keys)
            return jnp.where(wanted[:, 0], arms[:, 0], -1)

        arms = np.asarray(asked(player, state, jax.random.split(jax.random.key(1), 1_000)))
    assert set(arms.tolist()) == {3, 25}
    np.testing.assert_allclose((arms == 3).mean(), share, atol=0.06)


def test_the_order_of_the_regret_is_that_of_the_theorem():
    """(34) with its root, at T = e^2, d = 1, a = 1/4, delta = e^-3, by hand: log^2 T = 4, so
    sqrt(e^3 * 4 * (3 + 4 sqrt(e))); without logarithms it grows as T^((3a + 1) / 2) (Table 2).

    Source: M25 (34).
    """
    found = w_sparq_regret_order(np.exp(2), delta=np.exp(-3))
    np.testing.assert_allclose(found, np.sqrt(np.exp(3) * 4 * (3 + 4 * np.exp(0.5))))
    horizons = np.array([1e40, 1e44])
    for dimension in (1, 3):
        order = w_sparq_regret_order(horizons, dimension=dimension, a=0.3)
        slope = np.diff(np.log(order / np.log(horizons) ** (dimension + 1))) / np.log(1e4)
        np.testing.assert_allclose(slope, (3 * 0.3 + 1) / 2, atol=1e-4)
    np.testing.assert_array_equal(w_sparq_regret_order([1, 10]).shape, [2])


@pytest.mark.slow
def test_feedback_lengthens_windows_where_nothing_moves_and_asks_always_where_all_does():
    """Static: the windows double, up to chance. Independent functions at every step: always, up
    to chance."""
    still = dp.MarkovDrift(PRIOR, drift=0.0)
    wild = dp.MarkovDrift(PRIOR, drift=1.0)
    policy = {"it": dp.AdaptiveSparQ(PRIOR)}
    rare, often = (
        (dp.simulate(policy, world, steps=150, trials=4)["side_queries"] > 0).mean()
        for world in (still, wild)
    )
    assert rare < 0.15
    assert often > 0.7


def test_answers_that_are_not_finite_are_refused():
    player = dp.SparQ(PRIOR).prepare(10)
    state = player.init(jax.random.key(0))
    arms, answered = jnp.zeros(player.side_capacity, int), jnp.arange(player.side_capacity) == 0
    answers = jnp.full(player.side_capacity, jnp.nan)
    with pytest.raises(dp.DriftpeakError, match="answers must be finite"):
        player.hear(state, arms, answers, answered, 2.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dp.WSparQ(PRIOR, exponent=1.0, a=1 / 3), r"a must lie in \(0, 1/3\); got 0.333"),
        (lambda: dp.WSparQ(PRIOR, exponent=1.0, a=0.0), r"a must lie in \(0, 1/3\); got 0.0"),
        (lambda: dp.AdaptiveSparQ(PRIOR, a=0.4), r"a must lie in \(0, 1/3\); got 0.4"),
        (lambda: dp.WSparQ(PRIOR, exponent=0.0), "exponent must be .*above 0; got 0.0"),
        (lambda: dp.WSparQ(PRIOR, exponent=-1.0), "exponent must be .* got -1.0"),
        (lambda: dp.WSparQ(PRIOR, exponent=1.0, slope=-1.0), "slope must be .* got -1.0"),
        (lambda: dp.SparQ(PRIOR, rate=0.0), "rate must be .*above 0; got 0.0"),
        (lambda: dp.SparQ(PRIOR, dimension=0), "dimension must be .*at least 1; got 0"),
        (lambda: dp.SparQ(PRIOR, mixing=-1), "mixing must be .*at least 0; got -1"),
        (lambda: dp.VirtualGPUCB(PRIOR, asks="later"), "asks must be one of before, after"),
        (lambda: dp.SparQ(PRIOR, asks="later"), "asks must be one of before, after; got 'later'"),
        (lambda: w_sparq_regret_order(0), "horizons must be finite and at least 1; got 0"),
        (lambda: w_sparq_regret_order(9, a=0.5), r"a must lie in \(0, 1/3\); got 0.5"),
        (lambda: w_sparq_regret_order(9, delta=0), "delta must"),
        (lambda: side_query_budget(0), "steps must be .*at least 1; got 0"),
    ],
)
def test_bad_parameters_are_named(make, message, without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=message):
        make()


MANY_POINTS = {
    "sparq": (dp.SparQ, "keep", None),
    "w-sparq": (lambda prior, **o: dp.WSparQ(prior, exponent=0.7, **o), "injection", 0.7),
    "adaptive": (dp.AdaptiveSparQ, "keep", None),
}


@pytest.mark.parametrize("row", MANY_POINTS)
@pytest.mark.slow
@pytest.mark.parametrize("side", [105, 316])
def test_on_many_points_as_on_few(row, side):
    """11,025 and 99,856, whose covariance would take 74 GiB, at those points that play a part.

    Without swaps the expert is asked about a greedy subset of what was sampled, here by the dense
    covariance of these points; the belief is that of a dense regression.
    """
    make, rule, parameter = MANY_POINTS[row]
    grid = dp.Grid([0, 1], [0, 1], size=side)
    prior = dp.Prior(grid, dp.SE([0.2, 0.3]), noise_variance=0.04)
    player = make(prior, mixing=0, dimension=1).prepare(16)

    def covariance(numbers):
        scaled = grid.points[numbers] / [0.2, 0.3]
        return np.exp(-((scaled[:, None] - scaled) ** 2).sum(axis=2) / 2)

    def greedy(numbers, first, size):
        among, places = covariance(numbers), [first]  # all are of variance 1: any may be the first
        while len(places) < size:
            given = among[:, places] @ np.linalg.inv(among[np.ix_(places, places)])
            places.append(int(np.argmax(1 - (given * among[:, places]).sum(axis=1))))
        return {numbers[place] for place in places}

    def compiled(name):
        return partial(jax.jit(lambda player, *given: getattr(player, name)(*given)), player)

    consult, hear, ask, tell = map(compiled, ("consult", "hear", "ask", "tell"))
    generator, state = np.random.default_rng(0), player.init(jax.random.key(5))
    somewhere = generator.integers(len(grid), size=50)
    sampled, known, asked = [], np.zeros((0, 3)), 0
    for time in range(1, 17):
        state, arms, wanted = consult(state, float(time))
        arms = np.asarray(arms)
        if wanted.any():
            values = generator.normal(size=len(arms))
            state = hear(state, arms, values, wanted, float(time))
            if wanted.all():  # no place is left, in which a swap would be made
                subsets = [greedy(sampled, first, len(arms)) for first in range(len(sampled))]
                assert set(arms.tolist()) in subsets
                asked += 1
            known = np.stack([arms, values, np.full(len(arms), time)], axis=1)[wanted]
        points = np.unique(np.concatenate([somewhere, known[:, 0].astype(int)]))
        gram = covariance(points)
        if len(known):
            places, rewards, times = np.searchsorted(points, known[:, 0]), *known[:, 1:].T
            given = (gram, 0.04, prior.mean[points], rule, parameter, places, rewards, times, time)
            posterior = seen(player.actor.belief, state.acting.belief, float(time))
            for ours, theirs in zip(posterior[:2], dense.posterior(*given)[:2], strict=True):
                np.testing.assert_allclose(ours[points], theirs, atol=1e-7)
        state, arm = ask(state, float(time))
        reward = generator.normal()
        state = tell(state, arm, reward, float(time))
        sampled += [] if int(arm) in sampled else [int(arm)]
        known = np.concatenate([known, [[int(arm), reward, time]]])
    assert asked > 0
