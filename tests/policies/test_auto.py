"""`Auto`: calibration, what it infers, and rewards that nobody expects."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import driftpeak as dp
from driftpeak.environments import Environment, RecordedRewards
from driftpeak.gp.kernels import Table

PRIOR = dp.Prior(dp.Grid([0, 1], size=50), dp.SE(0.2), noise_variance=0.01)
STEPS = 500


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.001, 0.01, 0.1])
def test_predictive_intervals_are_calibrated(drift):
    """90 % one-step intervals of the mixture cover 90 +- 3 % of 20 x 300 rewards.

    The probability integral transform of each reward is taken before it is told. Were the coverage
    90 %, and rewards independent, the standard error would be 0.4 %: a false alarm below 1e-10."""
    world = dp.MarkovDrift(PRIOR, drift=drift)
    steps, trials = 300, 20
    functions = jnp.asarray(dp.true_functions(world, steps=steps, trials=trials, seed=3))
    policy = dp.Auto(PRIOR).prepare(steps)
    noise = 0.1 * jax.random.normal(jax.random.key(8), (trials, steps), dtype=float)

    @jax.jit
    def play(functions, noise):
        def step(state, inputs):
            values, error, time = inputs
            state, query = policy.ask(state, time)
            reward = values[query] + error
            expected = policy.predictive(state, query, time)
            standard = (reward - expected.means) / jnp.sqrt(expected.variances)
            share = expected.weights @ jax.scipy.stats.norm.cdf(standard)
            return policy.tell(state, query, reward, time), share

        times = jnp.arange(1.0, steps + 1)
        return jax.lax.scan(step, policy.init(jax.random.key(0)), (functions, noise, times))[1]

    shares = np.asarray(jax.vmap(play)(functions, noise))
    coverage = ((shares > 0.05) & (shares < 0.95)).mean()
    assert 0.87 <= coverage <= 0.93


@pytest.mark.parametrize(
    "drift",
    [
        pytest.param(0.001, marks=pytest.mark.long),
        pytest.param(0.01, marks=pytest.mark.slow),
        pytest.param(0.1, marks=pytest.mark.slow),
    ],
)
def test_the_believed_drift_is_near_the_truth(drift):
    """After 500 steps within a factor of three in 70 % of trials, and in the geometric mean.

    If it is 70 % in truth, fewer than 15 of 30 come up once in 150 times.
    """
    world = dp.MarkovDrift(PRIOR, drift=drift)
    runs = dp.simulate({"auto": dp.Auto(PRIOR)}, world, steps=STEPS, trials=30, readings=True)
    ratio = runs["believed_drift"].isel(policy=0, step=-1).values / drift
    assert 1 / 3 < np.exp(np.log(ratio).mean()) < 3
    assert ((ratio > 1 / 3) & (ratio < 3)).sum() >= 15


@pytest.mark.slow
def test_a_change_is_noticed():
    """D22's abrupt changes: the probability of a recent one is low before and high after."""
    world = dp.AbruptSwitches(PRIOR, changes=[200, 350])
    runs = dp.simulate({"auto": dp.Auto(PRIOR)}, world, steps=STEPS, trials=20, readings=True)
    said = runs["change_probability"].isel(policy=0).mean("trial").values
    assert said[[100, 198, 349]].max() < 0.15
    assert said[202:215].mean() > 0.4
    assert said[352:365].mean() > 0.4


@pytest.mark.slow
def test_rewards_without_noise_do_not_end_the_search():
    """The corners of a grid about a symmetric peak contradict no level that explains them all."""
    grid = dp.Grid([0, 1], [0, 1], size=9)
    optimizer = dp.Optimizer(
        grid, policy=dp.Auto(dp.Prior(grid, dp.SE(0.3), noise_variance=0.01)), seed=3, maximize=True
    )
    for _ in range(30):
        suggestion = optimizer.ask()
        distance = float(np.sum((np.array(list(suggestion.values())) - 0.4) ** 2))
        optimizer.tell(suggestion, -distance)
    assert distance < 0.06  # the best point: 0.0013, the corner 0.32


@pytest.mark.slow
def test_readings_are_recorded_for_those_who_think():
    world = dp.MarkovDrift(PRIOR, drift=0.01)
    policies = {"auto": dp.Auto(PRIOR), "tv": dp.TVGPUCB(PRIOR, drift=0.01)}
    runs = dp.simulate(policies, world, steps=20, trials=2, readings=True)
    weights = runs["member_weight"]
    assert list(weights["member_weight_of"].values[:2]) == ["drift 0", "drift 0.001"]
    np.testing.assert_allclose(weights.sel(policy="auto").sum("member_weight_of"), 1, rtol=1e-5)
    assert weights.sel(policy="tv").isnull().all()
    unread = dp.simulate({"tv": policies["tv"]}, world, steps=20, trials=2)
    assert "believed_drift" not in unread


def played(environment, steps=STEPS, trials=10, **options):
    policies = {"auto": dp.Auto(PRIOR, **options), "random": dp.UniformRandom(PRIOR)}
    return dp.simulate(policies, environment, steps=steps, trials=trials, readings=True)


def late_regret(runs, last=100):
    """Mean regret of the last steps as a share of random's."""
    late = runs["regret"].isel(step=slice(-last, None)).mean(["step", "trial"])
    return float(late.sel(policy="auto") / late.sel(policy="random"))


def check_sane(runs):
    auto = runs.sel(policy="auto")
    for name in ("believed_drift", "memory", "believed_amplitude", "believed_noise"):
        assert np.isfinite(auto[name]).all()
        assert (auto[name] > 0).all()
    assert np.isfinite(auto["member_weight"]).all()


class Moved(Environment):
    """A world whose rewards, noise included, are in another unit and have an offset."""

    world: Environment
    unit: float
    offset: float = 0.0

    @property
    def noise_variance(self):
        return self.world.noise_variance * self.unit**2

    def init(self, key):
        return self.world.init(key)

    def step(self, state, time):
        state, values = self.world.step(state, time)
        return state, self.unit * (values + self.offset)


MOVES = [(1e-6, 0.0), (1e-3, 0.0), (1e5, 0.0), (1.0, -1000.0), (1.0, 10.0), (1e3, 300.0)]


@pytest.mark.long
def test_units_and_offsets_do_not_matter():
    """Regret after 30 steps, in the same 60 worlds: at most 10 % more, the six moves together.

    Each move costs at most 25 %; the means of 60 trials differ by 7 % by chance."""
    world = dp.MarkovDrift(PRIOR, drift=0.01)

    def late(environment, unit):
        runs = dp.simulate({"auto": dp.Auto(PRIOR)}, environment, steps=200, trials=60)
        return float(runs["regret"].isel(step=slice(30, None)).mean()) / unit

    unmoved = late(world, 1.0)
    cost = [late(Moved(world, unit, offset), unit) / unmoved - 1 for unit, offset in MOVES]
    assert np.mean(cost) < 0.1
    assert max(cost) < 0.25


@pytest.mark.slow
def test_unit_and_offset_are_found():
    """Both at once: the amplitude within a factor of 2 after 60 steps, the offset in `predict`."""
    world = Moved(dp.MarkovDrift(PRIOR, drift=0.01), 1e-4, 500.0)
    functions = dp.true_functions(world, steps=60, trials=1, seed=4)[0]
    policy = dp.Auto(PRIOR).prepare(60)
    ask, tell = eqx.filter_jit(policy.ask), eqx.filter_jit(policy.tell)
    state, generator = policy.init(jax.random.key(0)), np.random.default_rng(1)
    for step, values in enumerate(functions):
        time = jnp.asarray(step + 1.0)
        state, query = ask(state, time)
        reward = values[query] + 1e-5 * generator.normal()
        state = tell(state, query, jnp.asarray(reward), time)
    assert 0.5e-4 < policy.read(state)["believed_amplitude"] < 2e-4
    np.testing.assert_allclose(policy.predict(state, 60.0).mean, functions[-1], atol=4e-4)


@pytest.mark.slow
def test_constant_rewards_and_then_sense():
    """The amplitude shrinks while nothing varies, and is there again as soon as something does."""
    values = dp.true_functions(dp.MarkovDrift(PRIOR, drift=0.01), steps=STEPS, seed=5)[0].copy()
    values[:200] = 3.0
    policies = {"auto": dp.Auto(PRIOR), "random": dp.UniformRandom(PRIOR)}
    runs = dp.simulate(policies, RecordedRewards(values), steps=STEPS, readings=True)
    check_sane(runs)
    amplitude = runs["believed_amplitude"].sel(policy="auto").isel(trial=0).values
    assert amplitude[199] < 0.05
    assert amplitude[220] > 0.2
    assert late_regret(runs) < 0.2


@pytest.mark.slow
def test_heavy_tailed_noise():
    """Student's t with one and a half degrees of freedom, which has no variance."""
    world = dp.AbruptSwitches(PRIOR, changes=[1000])
    functions = jnp.asarray(dp.true_functions(world, steps=STEPS, trials=10, seed=1))
    noise = jnp.asarray(stats.t(1.5, scale=0.1).rvs((10, STEPS), random_state=4))
    policy = dp.Auto(PRIOR).prepare(STEPS)

    @jax.jit
    def play(functions, noise):
        def step(state, inputs):
            values, error, time = inputs
            state, query = policy.ask(state, time)
            state = policy.tell(state, query, values[query] + error, time)
            return state, (values.max() - values[query], values.max() - values.mean())

        times = jnp.arange(1.0, STEPS + 1)
        return jax.lax.scan(step, policy.init(jax.random.key(0)), (functions, noise, times))[1]

    regret, of_random = map(np.asarray, jax.vmap(play)(functions, noise))
    assert abs(np.asarray(noise)).max() > 20  # two hundred times its scale
    assert regret[:, -200:].mean() < 0.25 * of_random[:, -200:].mean()


@pytest.mark.slow
def test_one_wild_outlier_is_forgotten():
    """A reward of a million: the decisions of the last steps are good all the same."""
    values = np.sin(6 * PRIOR.domain.points[:, 0])
    policy = dp.Auto(PRIOR).prepare(STEPS)
    ask, tell = eqx.filter_jit(policy.ask), eqx.filter_jit(policy.tell)
    state, regret = policy.init(jax.random.key(0)), []
    noise = np.random.default_rng(0).normal(0, 0.1, STEPS)
    for step in range(200):
        time = jnp.asarray(step + 1.0)  # a Python number would be compiled in
        state, query = ask(state, time)
        wild = 1e6 if step == 100 else 0.0
        state = tell(state, query, jnp.asarray(values[query] + noise[step] + wild), time)
        regret.append(values.max() - values[query])
    assert np.mean(regret[-50:]) < 0.1
    assert np.isfinite(state.weights).all()


@pytest.mark.slow
def test_long_gaps_in_time():
    """Ten thousand steps without a visit: everything is forgotten, and learned again."""
    times = np.concatenate([np.arange(200.0), 1e4 + np.arange(200.0), 1e8 + np.arange(200.0)])
    world = dp.MarkovDrift(PRIOR, drift=0.01)
    policies = {"auto": dp.Auto(PRIOR), "random": dp.UniformRandom(PRIOR)}
    runs = dp.simulate(policies, world, times=times, trials=10, readings=True)
    check_sane(runs)
    assert late_regret(runs) < 0.35


@pytest.mark.slow
def test_the_unit_of_time_does_not_matter():
    """Times in steps, and in seconds of an hour each since 1970."""
    world = dp.MarkovDrift(PRIOR, drift=0.01)
    values = dp.true_functions(world, steps=100, seed=2)[0]
    steps = np.arange(1.0, 101.0)
    runs = [
        dp.simulate({"auto": dp.Auto(PRIOR)}, RecordedRewards(values), times=times)
        for times in (steps, 1.7e9 + 3600 * steps)
    ]
    np.testing.assert_array_equal(runs[0]["action"], runs[1]["action"])


@pytest.mark.long
def test_a_wrong_lengthscale_is_found_out():
    """The prior's lengthscale is three times too long: members with a third of it take
    over in at least 16 of 20 trials, and there is less regret."""
    wrong = dp.Prior(PRIOR.domain, dp.SE(0.6), PRIOR.noise_variance)
    policies = {
        "given": dp.Auto(wrong),
        "learned": dp.Auto(wrong, lengthscales=(1 / 3, 1.0)),
    }
    runs = dp.simulate(
        policies, dp.MarkovDrift(PRIOR, drift=0.01), steps=300, trials=20, readings=True
    )
    weight = runs["member_weight"].sel(policy="learned").isel(step=-1)
    short = [name for name in weight["member_weight_of"].values if "x 0.333" in name]
    assert len(short) == 8
    found_out = weight.sel(member_weight_of=short).sum("member_weight_of").values > 0.5
    assert found_out.mean() >= 0.8
    regret = runs["regret"].mean("step")
    gain = (regret.sel(policy="given") - regret.sel(policy="learned")).values
    assert stats.ttest_1samp(gain, 0.0, alternative="greater").pvalue < 1e-3


def test_bad_arguments(without_type_checks):
    for options, message in (
        ({"drifts": (), "rates": ()}, "at least one of motions, drifts and rates"),
        ({"drifts": (1.5,)}, r"drifts must be .* in \[0, 1\]"),
        ({"rates": (0.0,)}, "rates must be .* above 0"),
        ({"switching": 1.5}, r"switching must lie in \[0, 1\]"),
        ({"leak": -0.1}, r"leak must lie in \[0, 1\]"),
        ({"outlier": 0}, "outlier must be a finite number above 0"),
        ({"mix_every": 0}, "mix_every must be an integer of at least 1"),
        ({"lengthscales": (0.0,)}, "lengthscales must be .* above 0"),
        (
            {"lengthscales": (0.5, 1), "features": PRIOR.features},
            "require a kernel of coordinates and default features",
        ),
    ):
        with pytest.raises(dp.DriftpeakError, match=message):
            dp.Auto(PRIOR, **options)
    table = dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3)), 0.1)
    with pytest.raises(dp.DriftpeakError, match="kernel of coordinates"):
        dp.Auto(table, lengthscales=(0.5, 1.0))


@pytest.mark.slow
def test_recorded_rows_give_the_state_at_the_start():
    """The prior mean favours point 0; the last rows, of a random walk, favour point 2."""
    prior = dp.Prior(dp.Arms(3), Table(np.eye(3)), 0.01, [0.5, 0.0, 0.0])
    rows = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.5], [0.0, 0.0, 1.5]])

    def first(recorded):
        policy = dp.Auto(prior, drifts=[0.01], rates=(), exploration=0.0, recorded=recorded)
        player = policy.prepare(10)
        return int(player.ask(player.init(jax.random.key(0)), 1.0)[1])

    assert first(None) == 0
    assert first(rows) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recorded": np.zeros((4, 3))}, "column for each of the 50 points; got 3"),
        ({"recorded": np.zeros((4, 50)), "lengthscales": (0.5, 1.0)}, "recorded must be None"),
        ({"exploration": -1.0}, "exploration must be"),
    ],
)
def test_bad_recorded_rows_and_exploration_are_refused(options, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        dp.Auto(PRIOR, **options)


def test_members_have_names():
    policy = dp.Auto(PRIOR, drifts=(0.01, 0.02), rates=(0.1,))
    assert policy.labels == ("drift 0.01", "drift 0.02", "momentum 0.1")
    scaled = dp.Auto(PRIOR, drifts=(0.01,), rates=(0.1,), lengthscales=(1.0, 2.0))
    assert scaled.labels == (
        "drift 0.01, lengthscale x 1",
        "momentum 0.1, lengthscale x 1",
        "drift 0.01, lengthscale x 2",
        "momentum 0.1, lengthscale x 2",
    )
