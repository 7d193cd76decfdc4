"""H23's rivals, gain and worlds against its published program, transcribed here in plain NumPy."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import driftpeak as dp
from driftpeak.environments.noise import Noise
from driftpeak.experiments.papers import hong2023
from driftpeak.experiments.papers.hong2023_program import SlippedWindow

PRIOR = dp.Prior(dp.unit_sphere(12, 3), dp.SE(0.7), noise_variance=0.01)
WORLD = dp.SignSwitches(PRIOR, changes=[90], reward_limit=1.0)
STEPS, WINDOW = 220, 60


def program_gain(gram, ridge, steps, most):
    """`InformationGain.get` of the program: designs at powers of two, straight lines between."""
    features = np.linalg.cholesky(gram)

    def at(t):
        design = dp.optimal_design(features, ridge / t, tolerance=1e-6).weights
        inside = np.eye(len(gram)) + (features.T * design) @ features * t / ridge
        return np.linalg.slogdet(inside)[1] / 2

    gains = []
    for step in range(1, steps + 1):
        t = min(step, most)
        left = 2 ** int(math.log2(t))
        right = min(steps, 2 * left)
        share = 0 if t == left else (t - left) / (right - left)
        gains.append(at(left) if t == left else (1 - share) * at(left) + share * at(right))
    return np.array(gains)


@pytest.mark.parametrize("most", [WINDOW, STEPS])
def test_the_gain_is_that_of_the_program(most):
    """To the tolerance of the designs; entry i serves step i + 1."""
    found = hong2023.program_gain(PRIOR, 20.0, most, STEPS)
    np.testing.assert_allclose(
        found[:STEPS], program_gain(PRIOR.gram, 20.0, STEPS, most), atol=2e-4
    )


class Program:
    """The two GP-UCBs of the program, in its own feature space, step by step."""

    def __init__(self, gram, widths):
        self.phi, self.widths = np.linalg.cholesky(gram), widths
        self.history, self.z = [], np.zeros(len(gram))

    def scores(self, inverse, scale, width):
        mean = self.phi @ inverse @ self.phi.T @ self.z
        deviation = np.sqrt(scale * np.einsum("ij,jk,ik->i", self.phi, inverse, self.phi))
        return mean + width * deviation


def play_windowed(program, rewards_of, window, sign, steps=STEPS):
    """GPUCB of the program: A starts as 20 I; what leaves enters with 1 + `sign` v'Av."""
    inverse, actions, rewards = 20.0 * np.eye(len(program.phi)), [], []
    for t in range(1, steps + 1):
        scores = program.scores(inverse, 20.0, program.widths[t - 1])
        arm = int(np.argmax(scores)) if t > 1 else 0
        reward = rewards_of(t, arm)
        u = program.phi[arm]
        inverse = inverse - np.outer(inverse @ u, inverse @ u) / (1 + u @ inverse @ u)
        program.z[arm] += reward
        actions.append(arm)
        rewards.append(reward)
        if t > window:
            past = actions[t - 1 - window]
            v = program.phi[past]
            inverse = inverse + np.outer(inverse @ v, inverse @ v) / (1 + sign * (v @ inverse @ v))
            program.z[past] -= rewards[t - 1 - window]
    return actions


def play_weighted(program, rewards_of, discount, ridge, steps=STEPS):
    """The program's discounted GP-UCB, weights eta^-t and all."""
    n = len(program.phi)
    information, actions = np.zeros((n, n)), []
    for t in range(1, steps + 1):
        weight = discount**-t
        inverse = np.linalg.inv(information + ridge * weight * np.eye(n))
        arm = int(np.argmax(program.scores(inverse, ridge * weight, program.widths[t - 1])))
        u = program.phi[arm]
        information += weight * np.outer(u, u)
        program.z[arm] += weight * rewards_of(t, arm)
        actions.append(arm)
    return actions


def seen(runs):
    """The rewards that a recorded trial got: valid as long as the same arms are asked for."""
    actions, rewards = runs["action"].values[0, 0], runs["reward"].values[0, 0]

    def reward(t, arm):
        assert arm == actions[t - 1], f"another choice at step {t}"
        return rewards[t - 1]

    return reward


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_the_sliding_window_is_that_of_the_program(sign, monkeypatch):
    """With its slip (1), and with the right sign (-1) as a policy of the library, too."""
    monkeypatch.setattr(hong2023, "STEPS", STEPS)
    gain = program_gain(PRIOR.gram, 20.0, STEPS, WINDOW)
    widths = 0.01 * (1 + np.sqrt(2 * (gain / 2 + 1 + np.log(1e4))))
    policies = {"it": SlippedWindow(PRIOR, window=WINDOW, ridge=20.0, widths=widths, sign=sign)}
    monkeypatch.setattr(hong2023, "program_gain", lambda *_: np.append(gain, gain[-1]))
    policies["ours"] = (
        hong2023.slipped(PRIOR, WINDOW) if sign == 1 else hong2023.gpucb(PRIOR, WINDOW)
    )
    for policy in policies.values():
        runs = dp.simulate({"it": policy}, WORLD, steps=STEPS)
        actions = play_windowed(Program(PRIOR.gram, widths), seen(runs), WINDOW, sign)
        assert len(set(actions)) > 3


@pytest.mark.slow
def test_the_discount_is_that_of_the_program(monkeypatch):
    """The newest observation has age 1, the width no 1 / sqrt(lambda)."""
    monkeypatch.setattr(hong2023, "STEPS", STEPS)
    monkeypatch.setattr(hong2023, "DISCOUNT", 0.98)
    gain = program_gain(PRIOR.gram, 0.01, STEPS, STEPS)
    monkeypatch.setattr(hong2023, "program_gain", lambda *_: np.append(gain, gain[-1]))
    runs = dp.simulate({"it": hong2023.weighted(PRIOR)}, WORLD, steps=STEPS)
    widths = 0.5 * (0.8 + 0.1 * np.sqrt(2 * (gain + np.log(1e4))))
    actions = play_weighted(Program(PRIOR.gram, widths), seen(runs), 0.98, 0.01)
    assert len(set(actions)) > 3


@pytest.mark.slow
def test_the_window_s_slip_keeps_what_has_left_certain():
    """One point, seen once, then forgotten: its variance does not come back."""
    prior = dp.Prior(dp.Arms(np.array([[0.0], [9.0]])), dp.SE(1.0), noise_variance=0.01)
    policy = SlippedWindow(prior, window=1, ridge=20.0, widths=np.ones(4))
    right = SlippedWindow(prior, window=1, ridge=20.0, widths=np.ones(4), sign=-1)
    variances = []
    with jax.enable_x64():
        for one in (policy, right):
            state = one.init(jax.random.key(0))
            for arm in (0, 1):
                state = one.tell(state, jnp.asarray(arm), 0.3, 1.0)
            variances.append(float(state.inverse[0, 0]))
    seen_once = 20 / 21
    np.testing.assert_allclose(
        variances, [seen_once * (1 + seen_once / (1 + seen_once)), 20.0], rtol=1e-6
    )


@pytest.mark.slow
def test_noise_is_truncated_symmetrically():
    """Against SciPy's truncated normal: quantile by quantile, at values up to the limit."""
    with jax.enable_x64():
        noise = Noise(jnp.asarray(0.01), jnp.asarray(1.0))
        levels = np.array([1e-6, 1e-3, 0.1, 0.5, 0.77, 0.999, 1 - 1e-6])
        for value in (0.0, 0.8, -0.8, 0.95, -0.999):
            room = (1 - abs(value)) / 0.1
            found = jax.vmap(noise, in_axes=(None, 0))(value, jnp.asarray(stats.norm.ppf(levels)))
            expected = stats.truncnorm(-room, room, scale=0.1).ppf(levels)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        far = jax.vmap(noise, in_axes=(None, 0))(0.8, jnp.asarray([-40.0, -9.0, 9.0, 40.0]))
        np.testing.assert_allclose(far, [-0.2, -0.2, 0.2, 0.2], rtol=1e-9)


@pytest.mark.slow
def test_rewards_stay_within_the_limit():
    runs = dp.simulate({"it": dp.UniformRandom(PRIOR)}, WORLD, steps=300, trials=20)
    functions = dp.true_functions(WORLD, steps=300, trials=20)
    assert np.abs(runs["reward"]).max() <= 1
    assert np.abs(functions).max() == pytest.approx(0.8)
    plain = dp.simulate(
        {"it": dp.UniformRandom(PRIOR)}, dp.SignSwitches(PRIOR, changes=[90]), steps=300, trials=20
    )
    assert np.abs(plain["reward"]).max() > 1


def test_a_limit_leaves_room_for_noise():
    for limit in (0.8, 0.0):
        with pytest.raises(dp.DriftpeakError, match=r"reward_limit must be above peak=0\.8"):
            dp.SignSwitches(PRIOR, changes=[3], reward_limit=limit)
        with pytest.raises(dp.DriftpeakError, match=r"reward_limit must be above peak=0\.8"):
            dp.MovingCosine(PRIOR, reward_limit=limit)


def test_a_cosine_with_a_random_phase():
    """Uniform on the circle: cosines of it have mean 0 and variance 1/2; 4,000 worlds, 4.5 s.e."""
    point = dp.Prior(dp.Arms(np.zeros((2, 3))), dp.SE(1.0), noise_variance=0.01)
    world = dp.MovingCosine(point, times=[0.0], phases=[0.0], random_phase=True, peak=1.0)
    values = dp.true_functions(world, steps=2, trials=4000)
    np.testing.assert_array_equal(values[:, 0], values[:, 1])
    assert abs(values[:, 0, 0].mean()) < 4.5 * np.sqrt(0.5 / 4000)
    assert abs((values[:, 0, 0] ** 2).mean() - 0.5) < 4.5 * np.sqrt(0.125 / 4000)


@pytest.mark.slow
def test_tuning_finds_the_memory_of_least_regret(monkeypatch):
    """In the training world itself: no other value of the grid does better there."""
    monkeypatch.setattr(hong2023, "STEPS", 80)
    monkeypatch.setattr(hong2023, "GRIDS", {"TV-GP-UCB": (1e-4, 1e-2, 0.3)})
    monkeypatch.setattr(hong2023, "world_of", lambda _, prior: WORLD)
    [chosen] = hong2023.tuned("h23-fig1a", PRIOR).values()
    runs = dp.simulate(
        {str(drift): dp.TVGPUCB(PRIOR, drift=drift) for drift in (1e-4, 1e-2, 0.3)},
        WORLD, steps=80, seed=hong2023.TRAINING_SEED,
    )  # fmt: skip
    total = runs["regret"].sum("step").values[:, 0]
    assert chosen == (1e-4, 1e-2, 0.3)[int(total.argmin())]
    assert total.min() < total.max()
