"""Where rules meet: limits in which they coincide, and how far the forms of a belief agree."""

from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dense import joint_posterior
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor, kernels as sk

import driftpeak as dp
from driftpeak.gp import forgetting as fg
from driftpeak.inference.beliefs import Dense, Kalman, Remembering, Scaling, Sliding, Triangular

STEPS = 25
POINTS = np.random.default_rng(0).uniform(0, 1, (12, 2))
PRIOR = dp.Prior(dp.Arms(POINTS), dp.Matern(1.5, 0.5), 0.05, np.linspace(-1, 1, 12))
FORMS = ("feature-space", "function-space")


def observe(belief, arms, rewards, times):
    """The state after all observations."""

    def step(state, observation):
        return belief.update(state, *observation), None

    return jax.lax.scan(step, belief.init(), (arms, rewards, times))[0]


@jax.jit
def history(belief, arms, rewards, times, later):
    """The posterior after each observation, at a later time."""

    def step(state, observation):
        *made, now = observation
        state = belief.update(state, *made)
        return state, belief.posterior(state, now)

    return jax.lax.scan(step, belief.init(), (arms, rewards, times, later))[1]


@jax.jit
def finally_(belief, arms, rewards, times, later):
    """The posterior after all observations."""
    return belief.posterior(observe(belief, arms, rewards, times), later)


@partial(jax.jit, static_argnums=5)
def draws(belief, arms, rewards, times, later, count):
    """Functions drawn from the posterior after all observations, and the posterior."""
    state = observe(belief, arms, rewards, times)
    keys = jax.random.split(jax.random.key(1), count)
    samples = jax.vmap(lambda key: belief.sample(state, later, key))(keys)
    return samples, belief.posterior(state, later)


def run(steps=STEPS, points=12, seed=0):
    """Arms, rewards, irregular times, and times of decision between them."""
    random = np.random.default_rng(seed)
    times = 1 + np.cumsum(random.exponential(1.0, steps))
    later = times + 0.5 * np.diff(times, append=times[-1] + 1)
    return random.integers(0, points, steps), random.normal(size=steps), times, later


def assert_equal_posteriors(found, expected, tolerance):
    for name, a, b in zip(found._fields, found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance, err_msg=name)


# Limits in which a rule keeps everything


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "rule",
    [
        fg.Window(STEPS + 1),
        fg.Discount(1.0),
        fg.Weights(np.full(STEPS, 3.0)),
        fg.Drift(0.0),
        fg.Restart(1000.0),
        fg.Injection(2.0, slope=0.0),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_rules_that_forget_nothing_equal_keep(rule, form):
    """At every step, to 1e-9: mean, variance, information and the count of observations."""
    arms, rewards, times, later = run()
    kept, other = (
        history(dp.make_belief(PRIOR, r, times, form=form), arms, rewards, times, later)
        for r in (fg.Keep(), rule)
    )
    assert_equal_posteriors(other, kept, 1e-9)
    np.testing.assert_array_equal(kept.observations, np.arange(1, STEPS + 1))


@pytest.mark.parametrize("form", FORMS)
def test_injection_of_exponent_zero_doubles_the_noise(form):
    """M25's h = 1 + a^0 = 2 at every age, 0 included."""
    arms, rewards, times, later = run()
    injected = dp.make_belief(PRIOR, fg.Injection(0.0), times, form=form)
    noisier = dp.make_belief(PRIOR.with_noise_variance(0.1), fg.Keep(), times, form=form)
    found, expected = (history(b, arms, rewards, times, later) for b in (injected, noisier))
    assert_equal_posteriors(found, expected, 1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_complete_drift_forgets_everything_at_once(form):
    """Drift(1): at the time of an observation only it counts; a moment later nothing does."""
    arms, rewards, times, later = run()
    belief = dp.make_belief(PRIOR, fg.Drift(1.0), times, form=form)
    before = history(belief, arms, rewards, times, later)
    np.testing.assert_allclose(before.mean, np.tile(PRIOR.mean, (STEPS, 1)), atol=1e-12)
    np.testing.assert_allclose(before.variance, np.tile(PRIOR.variance, (STEPS, 1)), atol=1e-12)
    at_once = history(belief, arms, rewards, times, times)
    gain = PRIOR.gram[arms] / (PRIOR.variance[arms] + 0.05)[:, None]
    surprise = rewards - PRIOR.mean[arms]
    np.testing.assert_allclose(at_once.mean, PRIOR.mean + gain * surprise[:, None], atol=1e-9)
    explained = gain * PRIOR.gram[arms]
    np.testing.assert_allclose(at_once.variance, PRIOR.variance - explained, atol=1e-9)


# Against scikit-learn


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (dp.SE([0.3, 0.6]), sk.RBF([0.3, 0.6])),
        (2.0 * dp.Matern(2.5, 0.4), sk.ConstantKernel(2.0) * sk.Matern(0.4, nu=2.5)),
    ],
    ids=["SE", "Matern"],
)
def test_keep_equals_scikit_learn(kernel, reference, form):
    """Mean and standard deviation of a GaussianProcessRegressor with fixed hyperparameters."""
    arms, rewards, times, later = run()
    prior = dp.Prior(dp.Arms(POINTS), kernel, 0.05, PRIOR.mean)
    features = dp.features.pivoted_cholesky(kernel, prior.domain, tolerance=1e-13)
    chosen = {"features": features} if form == "feature-space" else {"form": form}
    belief = dp.make_belief(prior, fg.Keep(), times, **chosen)
    posterior = finally_(belief, arms, rewards, times, later[-1])
    regressor = GaussianProcessRegressor(reference, alpha=0.05, optimizer=None)
    regressor.fit(POINTS[arms], rewards - prior.mean[arms])
    mean, deviation = regressor.predict(POINTS, return_std=True)
    np.testing.assert_allclose(posterior.mean, prior.mean + mean, atol=1e-8)
    np.testing.assert_allclose(posterior.deviation, deviation, atol=1e-8)


# The forms of a belief

RULES = {
    "keep": (None, fg.Keep()),
    "restart": (60.0, fg.Restart(60.0)),
    "window": (80, fg.Window(80)),
    "drift": (0.01, fg.Drift(0.01)),
    "discount": (0.98, fg.Discount(0.98)),
    "weights": (np.exp(np.arange(200) / 50), fg.Weights(np.exp(np.arange(200) / 50))),
    "injection": (0.5, fg.Injection(0.5)),
}


@cache
def square(noise_variance):
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=20), dp.SE(0.2), noise_variance)
    assert prior.features.error < 1e-10
    return prior


@pytest.mark.parametrize("rule", RULES)
def test_default_features_are_as_good_as_function_space(rule):
    """SE on 20 x 20 points, 200 observations of size 1, features exact to e = 1e-10.

    An error of e in the covariance changes (K + S)^-1 y, of the order of y / lambda, and the mean
    by about e / lambda (10 e / lambda allowed). A variance solves max_w 2 w'k - w'(K + S)w, so that
    it changes by at most e (2 s + s^2) with s = |w|_1 (w are interpolation weights: s of the order
    of 10, 1000 e allowed). Information changes by at most 1/2 tr((K + S)^-1 E) <= n e / (2 lambda).
    """
    arms, rewards, _, _ = run(200, 400)
    times = np.arange(1.0, 201)
    for noise in (1e-2, 1e-4):
        a, b = (
            finally_(
                dp.make_belief(square(noise), RULES[rule][1], times, form=form),
                arms, rewards, times, 200.5,
            )
            for form in FORMS
        )  # fmt: skip
        np.testing.assert_allclose(a.mean, b.mean, rtol=0, atol=10e-10 / noise)
        np.testing.assert_allclose(a.variance, b.variance, rtol=0, atol=1000e-10)
        np.testing.assert_allclose(a.information, b.information, rtol=0, atol=100e-10 / noise)
        np.testing.assert_array_equal(a.observations, b.observations)


def test_the_count_of_observations_does_not_depend_on_the_form():
    """A width that looks up the gain of `observations` must not depend on the form either.

    In function space, Discount(0.3) has a ring of 31 places for its 100 observations.
    """
    arms, rewards, _, _ = run(100)
    times = np.arange(1.0, 101)
    beliefs = [dp.make_belief(PRIOR, fg.Discount(0.3), times, form=form) for form in FORMS]
    assert beliefs[1].capacity == 31
    for belief in beliefs:
        found = history(belief, arms, rewards, times, times)
        np.testing.assert_array_equal(found.observations, np.arange(1, 101))


BELIEFS = [
    ("window", Sliding),
    ("drift", Kalman),
    ("restart", Kalman),
    ("drift", Triangular),
    ("restart", Triangular),
    ("discount", Scaling),
    ("injection", Remembering),
    ("window", Dense),
    ("injection", Dense),
]
SMALL = {
    "restart": (7.0, fg.Restart(7.0)),
    "window": (6, fg.Window(6)),
    "drift": (0.1, fg.Drift(0.1)),
    "discount": (0.8, fg.Discount(0.8)),
    "injection": (1.5, fg.Injection(1.5)),
}


def name_of(case):
    return f"{case[0]}-{case[1].__name__}"


def belief_of(case):
    name, form = case
    parameter, rule = SMALL[name]
    in_functions = form in (Triangular, Dense)
    belief = dp.make_belief(PRIOR, rule, run()[2], form=FORMS[in_functions])
    assert type(belief) is form
    return belief, name, parameter


@pytest.mark.parametrize("case", BELIEFS, ids=name_of)
def test_thompson_samples_have_the_joint_posterior(case):
    """20,000 draws, whitened with the dense joint posterior (jax.vmap over keys).

    Whitened, they are 12 independent standard normals: N |mean|^2 is chi-squared of 12 degrees
    (false alarm 1e-6), and the 78 entries of the covariance are within 6 standard deviations of
    the identity, sqrt(2/N) on the diagonal and sqrt(1/N) off it (false alarm 2e-7). Fixed keys.
    """
    belief, name, parameter = belief_of(case)
    arms, rewards, times, later = run()
    count = 20_000
    samples, _ = draws(belief, arms, rewards, times, later[-1], count)
    mean, covariance, _ = joint_posterior(
        PRIOR.gram, 0.05, PRIOR.mean, name, parameter, arms, rewards, times, later[-1]
    )
    white = np.linalg.solve(np.linalg.cholesky(covariance), (np.asarray(samples) - mean).T)
    assert count * (white.mean(axis=1) ** 2).sum() < stats.chi2.isf(1e-6, df=12)
    deviation = np.where(np.eye(12, dtype=bool), np.sqrt(2 / count), np.sqrt(1 / count))
    assert (np.abs(white @ white.T / count - np.eye(12)) < 6 * deviation).all()


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        ("feature-space", fg.Keep()),
        ("feature-space", fg.Discount(0.98)),
        ("function-space", fg.Keep()),
        ("function-space", fg.Drift(1e-6)),
        ("function-space", fg.Window(80)),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_samples_exist_where_almost_everything_is_known(form, rule):
    """A smooth kernel and little noise: the posterior covariance is singular to rounding.

    Every draw is finite and within 6 posterior deviations (plus the jitter's, 1e-5) of the mean;
    over 60 points and 50 draws, false alarm 6e-6.
    """
    prior = dp.Prior(dp.Grid([0, 1], size=60), dp.SE(0.2), 1e-6)
    arms, rewards, _, _ = run(300, 60)
    rewards = np.sin(6 * prior.domain.points[arms, 0]) + 1e-3 * rewards
    times = np.arange(1.0, 301)
    belief = dp.make_belief(prior, rule, times, form=form)
    samples, posterior = draws(belief, arms, rewards, times, 300.5, 50)
    assert posterior.deviation.max() < 0.01
    assert np.isfinite(samples).all()
    assert (np.abs(samples - posterior.mean[None]) < 6 * (posterior.deviation + 1e-5)[None]).all()


@pytest.mark.parametrize("case", BELIEFS[:5], ids=name_of)
def test_refreshing_changes_no_posterior(case):
    """Only rounding errors: the posterior at once, and after one more observation.

    (The other forms keep the observations alone and have nothing to refresh.)
    """
    belief, _, _ = belief_of(case)
    arms, rewards, times, later = run()

    @jax.jit
    def continued(belief):
        state = observe(belief, arms[:-1], rewards[:-1], times[:-1])
        return [
            (belief.posterior(s, times[-2]), belief.posterior(more, later[-1]))
            for s in (state, belief.refresh(state))
            for more in [belief.update(s, arms[-1], rewards[-1], times[-1])]
        ]

    plain, refreshed = continued(belief)
    for before, after in zip(plain, refreshed, strict=True):
        assert_equal_posteriors(after, before, 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_window_that_ran_for_long_is_as_good_as_new(form):
    """20,000 observations through a window of 20, against a belief told only the last 20."""
    arms, rewards, _, _ = run(20_000)
    times = np.arange(1.0, 20_001)
    belief = dp.make_belief(PRIOR, fg.Window(20), times, form=form)
    expected = finally_(belief, arms[-20:], rewards[-20:], times[-20:], 20_001.0)
    assert_equal_posteriors(finally_(belief, arms, rewards, times, 20_001.0), expected, 1e-12)


def test_a_refresh_repairs_what_is_wrong():
    """The values of a state spoilt, as rounding does in the very long run."""
    arms, rewards, times, later = run()
    belief = dp.make_belief(PRIOR, fg.Drift(0.1), times, form="feature-space")

    @jax.jit
    def repaired(belief):
        state = observe(belief, arms, rewards, times)
        spoilt = state._replace(mean=state.mean - 0.1, variance=state.variance + 0.1)
        return belief.posterior(belief.refresh(spoilt), later[-1])

    expected = finally_(belief, arms, rewards, times, later[-1])
    assert_equal_posteriors(repaired(belief), expected, 1e-11)


# A posterior of its own


def test_coarse_features_leave_what_they_miss_in_the_variance():
    """With 3 of 12 features: at a point never seen the variance stays that of the whole prior.

    Against the dense posterior of a prior whose covariance is the features' plus, on the diagonal
    of the function only, what they miss.
    """
    coarse = dp.features.pivoted_cholesky(PRIOR.kernel, PRIOR.domain, rank=3)
    arms, rewards, times, later = run()
    approximate = coarse.matrix @ coarse.matrix.T
    mean, covariance, information = joint_posterior(
        approximate, 0.05, PRIOR.mean, "keep", None, arms, rewards, times, later[-1]
    )
    missed = PRIOR.variance - approximate.diagonal()
    assert missed.max() > 0.01
    for rule in (fg.Keep(), fg.Discount(1.0)):
        belief = dp.make_belief(PRIOR, rule, times, features=coarse)
        found = finally_(belief, arms, rewards, times, later[-1])
        np.testing.assert_allclose(found.mean, mean, atol=1e-9)
        np.testing.assert_allclose(found.variance, covariance.diagonal() + missed, atol=1e-9)
        np.testing.assert_allclose(found.information, information, atol=1e-9)


# Precision


@pytest.mark.parametrize("case", BELIEFS, ids=name_of)
def test_single_precision_is_refused(case):
    """Outside `enable_x64` a belief does not start, rather than go wrong silently."""
    belief, _, _ = belief_of(case)
    with (
        jax.enable_x64(False),
        pytest.raises(RuntimeError, match=r"double precision\. .*jax\.enable_x64\(True\)"),
    ):
        belief.init()
    assert all(
        leaf.dtype in (jnp.float64, jnp.int64, jnp.bool_) for leaf in jax.tree.leaves(belief.init())
    )


def test_policies_refuse_single_precision_too():
    policy = dp.TVGPUCB(PRIOR, drift=0.1).prepare(5)
    with jax.enable_x64(False), pytest.raises(RuntimeError, match="double precision"):
        policy.init(jax.random.key(0))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_bank_of_drifts_equals_as_many_beliefs(form):
    """One program vmapped over the drift, against each belief on its own."""
    prior = dp.Prior(dp.Grid([0, 1], size=12), dp.SE(0.3), noise_variance=0.1)
    drifts = np.array([0.0, 0.01, 0.3, 1.0])
    template = dp.make_belief(prior, fg.Drift(0.5), 10, form=form)
    observations = (np.arange(6) % 12, np.linspace(-1, 1, 6), np.arange(1.0, 7.0))

    def follow_one(drift):
        belief = eqx.tree_at(lambda b: b.forgetting, template, fg.Drift(drift))
        state = belief.init()
        for arm, reward, time in zip(*observations, strict=True):
            state = belief.update(state, arm, reward, time)
        return belief.posterior(state, 8.0)

    bank = jax.vmap(follow_one)(drifts)
    for index, drift in enumerate(drifts):
        alone = follow_one(drift)
        np.testing.assert_allclose(bank.mean[index], alone.mean, atol=1e-12)
        np.testing.assert_allclose(bank.variance[index], alone.variance, atol=1e-12)


@pytest.mark.slow
def test_the_posterior_has_a_gradient_in_the_drift():
    """Against central differences: what learning the drift by its likelihood will need."""
    prior = dp.Prior(dp.Grid([0, 1], size=12), dp.SE(0.3), noise_variance=0.1)

    def information(drift):
        belief = dp.make_belief(prior, fg.Drift(0.5), 10, form="feature-space")
        belief = eqx.tree_at(lambda b: b.forgetting, belief, fg.Drift(drift))
        state = belief.init()
        for step in range(1, 6):
            state = belief.update(state, step, 1.0, float(step))
        return belief.posterior(state, 6.0).information

    gradient = jax.grad(information)(0.2)
    central = (information(0.2 + 1e-5) - information(0.2 - 1e-5)) / 2e-5
    np.testing.assert_allclose(gradient, central, rtol=1e-6)


@pytest.mark.slow
def test_windows_of_any_length_share_a_program():
    """Compiling takes longer than most runs: a sweep over windows compiles once."""
    prior = dp.Prior(dp.Grid([0, 1], size=23), dp.SE(0.31), noise_variance=0.07)
    windows = {f"{length}": dp.SWGPUCB(prior, window=length) for length in (20, 40, 64)}
    runs = dp.simulate(windows, dp.MarkovDrift(prior, drift=0.05), steps=80, trials=2)
    seconds = runs["compile_seconds"].values
    assert seconds[0] > 0
    assert (seconds[1:] == 0).all()
    assert len(np.unique(runs["action"].sum(["trial", "step"]))) > 1
