"""Every policy keeps the contract, and decides as an independent dense computation says."""

from typing import Any

import dense
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision
from driftpeak.offline._policy_specs.policies import HISTORIC, POLICIES, make_policy
from driftpeak.policies import belief_policy
from driftpeak.policies.testing import check_policy

POINTS = np.random.default_rng(3).uniform(0, 1, (40, 2))
PRIOR = dp.Prior(dp.Arms(POINTS), dp.SE(0.3), noise_variance=0.05, mean=0.1)
WEIGHTS = np.cumsum(np.random.default_rng(5).uniform(0, 1, 200)) + 0.1

# one row gives a policy all checks: its arguments, and its forgetting rule in dense.py
ROWS = {
    "gp-ucb": (dp.GPUCB, {}, "keep", None),
    "r-gp-ucb": (dp.RGPUCB, {"period": 7}, "restart", 7),
    "sw-gp-ucb": (dp.SWGPUCB, {"window": 9}, "window", 9),
    "tv-gp-ucb": (dp.TVGPUCB, {"drift": 0.05}, "drift", 0.05),
    "w-gp-ucb": (dp.WGPUCB, {"discount": 0.8}, "discount", 0.8),
    "w-gp-ucb, weights": (dp.WGPUCB, {"weights": WEIGHTS}, "weights", WEIGHTS),
    "ui-gp-ucb": (dp.UIGPUCB, {"exponent": 0.7}, "injection", 0.7),
    "abo": (dp.ABO, {"lengthscale": 8.0}, "space-time", 8.0),
}
FORMS = ("feature-space", "function-space")
ONLY_FUNCTION_SPACE = ("abo",)


def form_of(row, form):
    return "function-space" if row in ONLY_FUNCTION_SPACE else form


@pytest.mark.parametrize(
    ("form", "acquisition"),
    [
        ("feature-space", "ucb"),
        pytest.param("feature-space", "thompson", marks=pytest.mark.slow),
        pytest.param("function-space", "ucb", marks=pytest.mark.slow),
        pytest.param("function-space", "thompson", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("row", ROWS)
def test_gp_policies_conform(row, form, acquisition):
    make, parameters, _, _ = ROWS[row]
    form = form_of(row, form)
    check_policy(make(PRIOR, **parameters, form=form, acquisition=acquisition), wrapped=False)


OTHERS = {
    "random": dp.UniformRandom(PRIOR),
    "auto": dp.Auto(PRIOR),
    "clairvoyant": dp.Clairvoyant(PRIOR),
    "best-fixed-arm": dp.BestFixedArm(PRIOR),
    "igp-ucb": dp.IGPUCB(PRIOR),
    "sparq": dp.SparQ(PRIOR),
    "w-sparq": dp.WSparQ(PRIOR, exponent=0.5, acquisition="thompson"),
    "adaptive-sparq": dp.AdaptiveSparQ(PRIOR),
    "et-gp-ucb": dp.ETGPUCB(PRIOR, acquisition="thompson"),
    "w-sparq as published": dp.WSparQ(PRIOR, exponent=0.5, asks="after", multiplicity=True),
    "transformed": dp.Transformed(dp.TVGPUCB(PRIOR, drift=0.1), "log", least=0.1),
    "random start": dp.RandomStart(dp.WSparQ(PRIOR, exponent=0.5), steps=3),
}


# some families compile for ten seconds: their most general member stands for all in quick runs
SLOW = {
    *("pe", "opkb", "opkb, restarts"),
    *("sparq", "w-sparq", "w-sparq as published", "adaptive-sparq", "random start"),
}


def quick(rows):
    return [pytest.param(row, marks=pytest.mark.slow if row in SLOW else ()) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("name", quick(OTHERS))
def test_other_policies_conform(name):
    check_policy(OTHERS[name], wrapped=False)


# planned for a horizon; short blocks, so that 24 steps see several
PLANNED = {
    "pe": (dp.PE, {}),
    "r-perp": (dp.RPERP, {"period": 9, "constant": 0.0, "norm_bound": 0.1}),
    "adaptive-r-perp": (
        dp.AdaptiveRPERP,
        {"constant": 0.0, "norm_bound": 0.1, "noise_scale": 0.01},
    ),
    "opkb": (dp.OPKB, {"c3": 1e-3}),
    "opkb, restarts": (dp.OPKB, {"period": 9, "c3": 1e-3}),
    "ada-opkb": (dp.ADAOPKB, {"c3": 1e-3, "c0": 1e-9, "first_index": 0}),
    "rexp3": (dp.RExp3, {"variation": 90.0}),
}


TESTED = {*ROWS, *OTHERS, *PLANNED}


@pytest.mark.parametrize("name", sorted(set(POLICIES) - TESTED))
def test_every_other_policy_conforms(name):
    """A policy of the catalogue needs no row here unless its options need one."""
    check_policy(make_policy(name, PRIOR, steps=24), wrapped=False)


@pytest.mark.parametrize("row", quick(PLANNED))
def test_planned_policies_conform(row):
    make, parameters = PLANNED[row]
    check_policy(make(PRIOR, horizon=24, **parameters), wrapped=False)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param("pe", marks=pytest.mark.long),
        pytest.param("r-perp", marks=pytest.mark.long),
        pytest.param("adaptive-r-perp", marks=pytest.mark.long),
        pytest.param("rexp3", marks=pytest.mark.long),
    ],
)
def test_planned_policies_conform_under_the_doubling_trick(row):
    make, parameters = PLANNED[row]
    if row == "r-perp":
        parameters = parameters | {"period": 3}
    policy = dp.Doubling(lambda horizon: make(PRIOR, horizon=horizon, **parameters), first=4)
    check_policy(policy, wrapped=False)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(dp.RGPUCB(PRIOR, period=5), id="restarts", marks=pytest.mark.slow),
        pytest.param(dp.Auto(PRIOR), id="readings", marks=pytest.mark.long),
        pytest.param(dp.SparQ(PRIOR), id="side queries", marks=pytest.mark.long),
        pytest.param(dp.RPERP(PRIOR, horizon=24, period=8), id="planned", marks=pytest.mark.long),
    ],
)
def test_wrappers_lose_nothing(policy):
    check_policy(policy)


class Forgetful(dp.ActingPolicy):
    """Draws at random by a counter, which it sets back when a reward surprises it."""

    size: int = 12

    @property
    def points(self):
        return self.size

    def init(self, key):
        return jnp.zeros((), int), jnp.zeros((), int), jnp.zeros(()), key

    def ask(self, state, time):
        step, restarts, last, key = state
        drawn = jax.random.randint(jax.random.fold_in(key, step), (), 0, self.size)
        return (step + 1, restarts, last, key), drawn

    def tell(self, state, query, reward, time):
        step, restarts, last, key = state
        jumped = jnp.isfinite(reward) & (jnp.abs(reward - last) > 10)
        moved = jnp.where(jumped, 0, step), restarts + jumped, jnp.asarray(reward, float), key
        return jax.tree.map(
            lambda new, old: jnp.where(jnp.isfinite(reward), new, old), moved, state
        )

    def restarts(self, state):
        return state[1]


def test_draws_that_come_again_are_noticed():
    with pytest.raises(AssertionError, match="draws must not be repeated"):
        check_policy(Forgetful(), wrapped=False)


class Reporting(Forgetful):
    """Reports something other than it announces."""

    told: Any = None

    @property
    def readings(self):
        return {"shares": dp.Reading("of two kinds", ("one", "other"))}

    def read(self, state):
        return self.told


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({}, r"names of readings, \{'shares'\}; got set\(\)"),
        ({"shares": np.zeros(3)}, r"'shares' must have shape \(2,\)"),
    ],
)
def test_readings_are_as_announced(told, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_policy(Reporting(told=told), wrapped=False)


INFLUENTIAL = {
    "keep": (lambda **options: dp.GPUCB(PRIOR, **options), lambda lag: 1.0 + 0 * lag),
    "drift": (lambda **options: dp.TVGPUCB(PRIOR, drift=0.03, **options),
              lambda lag: 0.97 ** (np.abs(lag) / 2)),
    "smooth": (lambda **options: dp.ABO(PRIOR, lengthscale=40.0, **options),
               lambda lag: np.exp(-(lag**2) / 3200)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("form", ["auto", "function-space"])
@pytest.mark.parametrize("kind", INFLUENTIAL)
@double_precision
def test_influence_is_how_much_a_look_moves_later_forecasts(kind, form):
    """Against dense regression, the mean over h of |Cov(f_{t+h}(x), f_t(x) | data)| / sqrt(Var(y)).
    Under a process smooth in time this is not the correlation times the variance."""
    make, correlation = INFLUENTIAL[kind]
    noise, now = PRIOR.noise_variance, 6.0
    times, arms = np.arange(1.0, 6.0), np.array([0, 3, 3, 7, 1])
    rewards = np.sin(arms + times)
    player = make(acquisition="influence", form=form).prepare(10)
    belief = player.belief.init()
    for time, arm, reward in zip(times, arms, rewards, strict=True):
        belief = player.belief.update(belief, jnp.asarray(arm), reward, time)
    posterior = player.belief.posterior(belief, now)
    key = jax.random.key(0)
    scores = player.acquisition(player.belief, belief, now, jnp.asarray(6), key)
    found = (scores - posterior.mean) / np.sqrt(0.8 * np.log(24.0))

    def kernel(one, other):
        lag = one[1][:, None] - other[1][None, :]
        return PRIOR.gram[np.ix_(one[0], other[0])] * correlation(lag)

    points, seen = np.arange(len(PRIOR)), (arms, times)
    gram = kernel(seen, seen) + noise * np.eye(5)
    present = (points, np.full(len(points), now))

    def covariance(later):
        at = (points, np.full(len(points), later))
        both = kernel(at, present) - kernel(at, seen) @ np.linalg.solve(gram, kernel(seen, present))
        return both.diagonal()

    later = np.mean([np.abs(covariance(now + h)) for h in belief_policy.HORIZONS], axis=0)
    np.testing.assert_allclose(found, later / np.sqrt(covariance(now) + noise), rtol=1e-5)


@double_precision
def test_what_a_window_will_have_dropped_is_worth_nothing():
    """A window of 20 observations holds none of today's at the first horizon, 24 steps ahead."""
    key = jax.random.key(0)
    short = dp.SWGPUCB(PRIOR, window=20, acquisition="influence").prepare(10)
    scores = short.acquisition(short.belief, short.belief.init(), 1.0, jnp.asarray(1), key)
    np.testing.assert_allclose(scores, PRIOR.mean, atol=1e-12)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_has_a_name_on_the_command_line(name):
    learned = dp.fit_history(np.random.default_rng(0).normal(size=(9, len(PRIOR))))
    assert make_policy(name, PRIOR, steps=50, learned=learned).points == len(PRIOR)


@pytest.mark.parametrize("name", POLICIES)
def test_numbers_are_no_part_of_the_structure(name):
    """Compiled programs are found by it: policies for other data need no other program."""

    def structure(seed):
        rows = np.random.default_rng(seed).normal(size=(40, 30))
        prior = dp.Prior(dp.Grid([0, 1], size=30), dp.SE(0.2), noise_variance=0.01 * seed)
        policy = make_policy(name, prior, steps=50, learned=dp.fit_history(rows))
        return jax.tree.structure(policy.prepare(50))

    assert structure(1) == structure(2)


@pytest.mark.parametrize("name", HISTORIC)
def test_yardsticks_need_recorded_rows(name):
    with pytest.raises(dp.DriftpeakError, match=f"{name} needs recorded rows"):
        make_policy(name, PRIOR, steps=50)


def test_a_planned_policy_needs_a_horizon():
    assert make_policy("ada-opkb:horizon=70", PRIOR).horizon == 70
    with pytest.raises(dp.DriftpeakError, match=r"ada-opkb: .*give horizon="):
        make_policy("ada-opkb", PRIOR)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("row", ROWS)
def test_decisions_equal_a_dense_computation(row, form):
    """From the recorded actions and rewards alone, the dense upper bound peaks where they say.

    Ties aside: the chosen point's dense upper bound is within 1e-7 of the largest, which leaves no
    room for a wrong rule (asserted: at most of the steps the runner-up is further off).

    Source: B16 Algorithms 1-2, (5)-(8); ZS21 Algorithms 1-2, (1)-(2); D22 Algorithm 1, (2)-(4); M25
    (8)-(11).
    """
    make, parameters, rule, parameter = ROWS[row]
    form, steps = form_of(row, form), 60
    world = dp.MarkovDrift(PRIOR, drift=0.03)
    runs = dp.simulate({"it": make(PRIOR, **parameters, form=form)}, world, steps=steps, trials=2)
    gram, times, margins = PRIOR.gram, np.arange(1.0, steps + 1), []
    for trial in range(2):
        arms = runs["action"].values[0, trial]
        rewards = runs["reward"].values[0, trial]
        for t in range(1, steps):
            mean, variance, _ = dense.posterior(
                gram, 0.05, PRIOR.mean, rule, parameter, arms[:t], rewards[:t], times[:t], t + 1.0
            )
            width = np.sqrt(0.8 * np.log(4 * (t + 1)))
            bounds = mean + width * np.sqrt(np.maximum(variance, 0))
            assert bounds[arms[t]] >= bounds.max() - 1e-7, (trial, t)
            margins.append(bounds.max() - np.sort(bounds)[-2])
    assert np.mean(np.array(margins) > 1e-6) > 0.8


def test_the_first_decision_is_the_first_of_the_tied_points():
    runs = dp.simulate({"it": dp.GPUCB(PRIOR)}, dp.MarkovDrift(PRIOR, drift=0.0), steps=1)
    assert runs["action"].item() == 0


def test_igp_ucb_takes_its_own_regulariser_and_width():
    policy = dp.IGPUCB(PRIOR, norm_bound=2.0, noise_scale=0.3, delta=0.05, horizon=40)
    assert policy.prior.noise_variance == 1 + 2 / 40
    posterior = policy.prepare(40).belief.posterior(policy.prepare(40).belief.init(), 1.0)
    expected = 2.0 + 0.3 * np.sqrt(2 * (0 + 1 + np.log(1 / 0.05)))
    np.testing.assert_allclose(policy.width(1, posterior), expected)


@pytest.mark.slow
def test_random_is_uniform():
    """Chi-squared over 40 arms; a sound generator fails once in 1,000 seeds."""
    runs = dp.simulate(
        {"random": dp.UniformRandom(PRIOR)}, dp.MarkovDrift(PRIOR, drift=0), steps=400, trials=50
    )
    counts = np.bincount(runs["action"].values.ravel(), minlength=40)
    expected = 400 * 50 / 40
    assert ((counts - expected) ** 2 / expected).sum() < 72.06  # 99.9 % quantile, 39 degrees


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -float("inf")])
def test_a_reward_that_is_not_finite_never_touches_the_belief(reward):
    player = dp.TVGPUCB(PRIOR, drift=0.1).prepare(10)
    state, query = player.ask(player.init(jax.random.key(0)), 1.0)
    with pytest.raises(dp.DriftpeakError, match="finite number"):
        player.tell(state, query, reward, 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dp.TVGPUCB(PRIOR, drift=1.2), r"drift must lie in \[0, 1\]; got 1.2"),
        (lambda: dp.WGPUCB(PRIOR, discount=0), r"discount must lie in \(0, 1\]; got 0"),
        (lambda: dp.RGPUCB(PRIOR, period=0.5), "period must be .*at least 1; got 0.5"),
        (lambda: dp.SWGPUCB(PRIOR, window=0), "window must be an integer of at least 1; got 0"),
        (lambda: dp.UIGPUCB(PRIOR, exponent=-1), "exponent must be .*at least 0; got -1"),
        (lambda: dp.WGPUCB(PRIOR), "exactly one of discount, weights and log_weights"),
        (lambda: dp.WGPUCB(PRIOR, weights=[1, 2]).prepare(3), "weights must be at least 3"),
        (lambda: dp.GPUCB(PRIOR, acquisition="ubc"), "acquisition must be .*ucb"),
        (lambda: dp.GPUCB(PRIOR, form="features"), "form must be one of"),
        (lambda: dp.GPUCB(PRIOR).prepare([3.0, 2.0]), "times must not decrease"),
        (lambda: dp.ABO(PRIOR, lengthscale=0), "lengthscale must be .*0"),
        (
            lambda: dp.ABO(PRIOR, lengthscale=1, form="feature-space").prepare(9),
            "SpaceTime requires function space",
        ),
        (lambda: dp.ETGPUCB(PRIOR, delta=1), r"delta must lie in \(0, 1\)"),
    ],
)
def test_bad_parameters_are_named(make, message, without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=message):
        make()
