"""The doubling trick, RExp3, and H23's environments."""

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.environments import MovingCosine, RecordedRewards, SignSwitches
from driftpeak.gp.domains import unit_sphere
from driftpeak.policies.randomised import mixed
from driftpeak.theory.schedules import rexp3_batch_length

PRIOR = dp.Prior(dp.Arms(np.linspace(0, 1, 8)[:, None]), dp.SE(0.3), noise_variance=0.01)


@pytest.mark.slow
def test_doubling_is_one_policy_after_another():
    """Stage i of horizon 5 * 2^i, on its own part of the run: PE is deterministic, so exactly."""
    policy = dp.Doubling(lambda horizon: dp.PE(PRIOR, horizon=horizon, norm_bound=3.0), first=5)
    assert policy.deterministic
    rewards = np.random.default_rng(0).normal(size=(60, 8)) / 3
    actions = dp.simulate({"it": policy}, RecordedRewards(rewards), steps=60)["action"].values[0, 0]
    begin, horizon = 0, 5
    while begin < 60:
        part = rewards[begin : begin + horizon]
        alone = dp.PE(PRIOR, horizon=horizon, norm_bound=3.0)
        expected = dp.simulate({"it": alone}, RecordedRewards(part), steps=len(part))[
            "action"
        ].values[0, 0]
        np.testing.assert_array_equal(actions[begin : begin + horizon], expected)
        begin, horizon = begin + horizon, 2 * horizon


@pytest.mark.slow
def test_doubling_counts_the_restarts_of_all_stages():
    policy = dp.Doubling(
        lambda horizon: dp.ADAOPKB(
            PRIOR, horizon=horizon, c3=1e-3, c0=1e-9, first_index=0, reward_bound=1.5
        ),
        first=20,
    )
    runs = dp.simulate({"it": policy}, SignSwitches(PRIOR, changes=[50]), steps=140)
    restarts = runs["restarts"].values[0, 0]
    for stage in (slice(0, 20), slice(20, 60), slice(60, 140)):
        assert restarts[stage].any()


@pytest.mark.slow
def test_doubling_warns_for_the_policy_it_wraps():
    policy = dp.Doubling(lambda horizon: dp.OPKB(PRIOR, horizon=horizon, reward_bound=0.1))
    with pytest.warns(dp.DriftpeakWarning, match=r"reward_bound=0\.1"):
        dp.simulate({"it": policy}, SignSwitches(PRIOR, changes=[50]), steps=20)


def test_rexp3_is_besbes_exp3():
    """Weights from the recorded run, by the formulas written plainly."""
    horizon, low, high = 90, -1.5, 1.5
    policy = dp.RExp3(PRIOR, horizon=horizon, variation=30.0, reward_bound=1.5)
    length = int(np.ceil((8 * np.log(8)) ** (1 / 3) * (horizon / (30.0 / 3.0)) ** (2 / 3)))
    assert policy.batch_length == length < horizon
    exploration = min(1.0, np.sqrt(8 * np.log(8) / ((np.e - 1) * length)))
    import jax

    state, weights = policy.init(jax.random.key(0)), np.ones(8)
    generator = np.random.default_rng(0)
    for step in range(horizon):
        if step % length == 0:
            weights = np.ones(8)
        state, query = policy.ask(state, step + 1.0)
        probabilities = (1 - exploration) * weights / weights.sum() + exploration / 8
        found = mixed(state.log_weights, policy.exploration)
        np.testing.assert_allclose(found, probabilities, rtol=1e-9)
        reward = generator.uniform(low, high)
        state = policy.tell(state, query, reward, step + 1.0)
        scaled = (reward - low) / (high - low)
        weights[query] *= np.exp(exploration * scaled / probabilities[query] / 8)


@pytest.mark.slow
def test_rexp3_finds_a_good_arm_and_beats_random():
    rewards = np.full((4000, 8), -0.8)
    rewards[:2000, 2] = 0.8
    rewards[2000:, 5] = 0.8
    policies = {
        "rexp3": dp.RExp3(PRIOR, horizon=4000, variation=1.6, reward_bound=1.0),
        "random": dp.UniformRandom(PRIOR),
    }
    runs = dp.simulate(policies, RecordedRewards(rewards), steps=4000, trials=5)
    total = runs["regret"].sum("step").mean("trial")
    assert total.sel(policy="rexp3") < 0.6 * total.sel(policy="random")


def test_rexp3_s_batches():
    """n = 4, T = 1000, V = 2: (4 log 4)^{1/3} 500^{2/3} = 1.7698 * 62.996 = 111.49."""
    assert rexp3_batch_length(4, horizon=1000, variation=2.0) == 112
    assert rexp3_batch_length(4, horizon=10, variation=1e-9) == 10


def test_signs_switch_and_the_peak_is_as_stated():
    """Source: H23 section 6."""
    world = SignSwitches(PRIOR, changes=[3, 5], peak=0.7)
    values = dp.true_functions(world, steps=8, trials=4)
    np.testing.assert_allclose(np.abs(values).max(axis=(1, 2)), 0.7)
    signs = np.array([1, 1, 1, -1, -1, 1, 1, 1])
    np.testing.assert_allclose(values, values[:, :1] * signs[None, :, None])
    assert len(np.unique(values[:, 0, 0])) == 4


def test_sign_switches_draw_from_the_prior():
    """Ratios of values at two points, before scaling cancels: correlation of the prior.

    2,000 draws of jointly normal pairs; sign agreement has probability 1/2 + asin(rho)/pi
    (Sheppard), here within 4 standard errors.
    """
    values = dp.true_functions(SignSwitches(PRIOR, changes=[1.0]), steps=1, trials=2000)[:, 0]
    for other in (1, 3, 7):
        rho = PRIOR.gram[0, other]
        expected = 0.5 + np.arcsin(rho) / np.pi
        found = (values[:, 0] * values[:, other] > 0).mean()
        assert abs(found - expected) < 4 * np.sqrt(expected * (1 - expected) / 2000)


def test_the_cosine_moves_as_stated():
    """Source: H23 section 6."""
    prior = dp.Prior(unit_sphere(30, 4, seed=2), dp.SE(1.0), noise_variance=0.01)
    times = [1.0, 1000.0, 2000.0, 3500.0, 5000.0, 6000.0, 9000.0]
    phases = np.array([0, 0, 0.5, 1, 1.5, 2, 2]) * np.pi
    values = dp.true_functions(MovingCosine(prior), times=times, trials=3)
    # at phases 0 and pi, and pi/2 and 3 pi/2, the functions are opposite; at 2 pi the first again
    np.testing.assert_allclose(values[:, 3], -values[:, 0], atol=1e-12)
    np.testing.assert_allclose(values[:, 4], -values[:, 2], atol=1e-12)
    np.testing.assert_allclose(values[:, 5], values[:, 0], atol=1e-12)
    np.testing.assert_allclose(values[:, 0] ** 2 + values[:, 2] ** 2, 0.64, atol=1e-12)
    # arccos gives 3 x'theta back up to sign: theta by least squares has length one
    angles = np.arctan2(-values[0, 2], values[0, 0])
    assert phases[2] == np.pi / 2
    inside = np.abs(angles) < np.pi - 1e-9
    theta = np.linalg.lstsq(prior.domain.points[inside], angles[inside] / 3, rcond=None)[0]
    assert np.linalg.norm(theta) == pytest.approx(1, abs=0.05)


def test_the_unit_sphere():
    """Length one, and directions that average to zero within 4 standard errors."""
    points = unit_sphere(4000, 3, seed=1).points
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1)
    assert np.abs(points.mean(axis=0)).max() < 4 * np.sqrt(1 / 3 / 4000)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: dp.Doubling(lambda h: dp.PE(PRIOR, horizon=h), first=1),
            "first must be .*2; got 1",
        ),
        (
            lambda: dp.Doubling(lambda h: dp.Clairvoyant(PRIOR)),
            "must not return a policy that sees the true",
        ),
        (lambda: dp.RExp3(PRIOR, horizon=0), "horizon must be an integer of at least 1; got 0"),
        (lambda: dp.RExp3(PRIOR, horizon=9, variation=0), "variation must be .*above 0; got 0"),
        (lambda: dp.RExp3(PRIOR, horizon=9, reward_bound=-1), "reward_bound must be .*above 0"),
        (lambda: dp.RExp3(PRIOR, horizon=9).prepare(10), "at most horizon=9 steps; got 10"),
        (lambda: SignSwitches(PRIOR, changes=[3, 3]), "changes must increase"),
        (lambda: SignSwitches(PRIOR, changes=[3], peak=0), "peak must be .*above 0; got 0"),
        (lambda: MovingCosine(PRIOR, times=[2, 1], phases=[0, 1]), "times must increase"),
        (lambda: MovingCosine(PRIOR, times=[1, 2], phases=[0]), "phases must be one for each time"),
        (
            lambda: MovingCosine(dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3)), 0.1)),
            "must have coordinates",
        ),
        (lambda: unit_sphere(1, 3), "count must be an integer of at least 2; got 1"),
        (lambda: unit_sphere(3, 1), "dimension must be an integer of at least 2; got 1"),
    ],
)
def test_bad_input(make, message, without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=message):
        make()
