"""D-UCB and GLR-klUCB against programs written from the papers, step by step, in plain Python."""

import math

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.environments import RecordedRewards

ARMS, STEPS, BOUND = 4, 160, 3.0
PRIOR = dp.Prior(dp.Arms(ARMS), dp.kernels.Table(np.eye(ARMS)), noise_variance=0.04)


def table(seed):
    """Rewards of arms whose means change halfway, within the bound."""
    generator = np.random.default_rng(seed)
    means = np.where(np.arange(STEPS)[:, None] < STEPS // 2, [2.0, 0.0, -2.0, 1.0], [-2.0, 0, 2, 1])
    return means + 0.2 * generator.uniform(-1, 1, (STEPS, ARMS))


def played(policy, rewards):
    runs = dp.simulate({"it": policy}, RecordedRewards(rewards), steps=STEPS, progress=False)
    return runs["action"].values[0, 0].tolist()


def d_ucb(rewards, discount, exploration):
    """Garivier and Moulines 2011, section 3: every step sums over the whole past."""
    actions = []
    for t in range(STEPS):
        ages = t - 1 - np.arange(t)
        weights = discount**ages
        numbers = np.array([weights[np.array(actions, int) == arm].sum() for arm in range(ARMS)])
        if not all(numbers):
            actions.append(int(np.argmin(numbers > 0)))
            continue
        gains = [rewards[s, actions[s]] + BOUND for s in range(t)]
        totals = np.array(
            [sum(w * g for w, g, a in zip(weights, gains, actions, strict=True) if a == arm)
             for arm in range(ARMS)]
        )  # fmt: skip
        padding = 2 * (2 * BOUND) * np.sqrt(exploration * np.log(numbers.sum()) / numbers)
        actions.append(int(np.argmax(totals / numbers + padding)))
    return actions


@pytest.mark.parametrize(("discount", "exploration"), [(0.9, 0.6), (1.0, 0.02), (0.95, 0.005)])
def test_d_ucb_decides_as_the_paper_says(discount, exploration):
    rewards = table(1)
    policy = dp.DUCB(PRIOR, discount=discount, exploration=exploration, reward_bound=BOUND)
    expected = d_ucb(rewards, discount, exploration)
    assert played(policy, rewards) == expected
    assert len(set(expected)) == ARMS
    counts = np.bincount(expected, minlength=ARMS)
    assert counts.max() > counts.min()


def divergence(p, q):
    first = 0.0 if p <= 0 else p * math.log(p / q)
    return first + (0.0 if p >= 1 else (1 - p) * math.log((1 - p) / (1 - q)))


def upper(mean, level):
    """The largest q with kl(mean, q) at most the level, on a fine grid and then by bisection."""
    low, high = mean, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle < 1 and divergence(mean, middle) <= level:
            low = middle
        else:
            high = middle
    return low


def changed(values, delta):
    """Besson et al. 2022, definition of the Bernoulli GLR test."""
    count = len(values)
    mean = np.mean(values)
    statistics = [
        s * divergence(np.mean(values[:s]), mean)
        + (count - s) * divergence(np.mean(values[s:]), mean)
        for s in range(1, count)
    ]
    return bool(statistics) and max(statistics) >= math.log(count**1.5 / delta)


def glr_klucb(rewards, exploration, delta, restart):
    """Besson et al. 2022, Algorithm 2: decisions and the number of restarts."""
    scaled = np.clip((rewards + BOUND) / (2 * BOUND), 0, 1)
    since, kept, restarts, actions = [0] * ARMS, [[] for _ in range(ARMS)], 0, []
    for t in range(1, STEPS + 1):
        alpha = min(1.0, exploration * math.sqrt(restarts + 1))
        forced = t % math.floor(ARMS / alpha)
        if 1 <= forced <= ARMS:
            arm = forced - 1
        elif not all(kept):
            arm = next(i for i in range(ARMS) if not kept[i])
        else:
            levels = [math.log(max(t - 1 - since[i], 1)) / len(kept[i]) for i in range(ARMS)]
            arm = int(np.argmax([upper(np.mean(kept[i]), levels[i]) for i in range(ARMS)]))
        actions.append(arm)
        kept[arm].append(scaled[t - 1, arm])
        if changed(kept[arm], delta):
            restarts += 1
            for i in range(ARMS) if restart == "global" else [arm]:
                kept[i], since[i] = [], t
    return actions, restarts


@pytest.mark.parametrize("restart", ["local", "global"])
@pytest.mark.parametrize("exploration", [0.5, 0.7])
def test_glr_klucb_decides_as_the_paper_says(restart, exploration):
    rewards = table(2)
    policy = dp.GLRKLUCB(
        PRIOR, horizon=STEPS, exploration=exploration, restart=restart, reward_bound=BOUND
    )
    actions, restarts = glr_klucb(rewards, exploration, 1 / math.sqrt(STEPS), restart)
    assert restarts >= 1
    assert played(policy, rewards) == actions


@pytest.mark.slow
def test_glr_klucb_seldom_restarts_without_a_change():
    """On unchanging Bernoulli arms. The test's false-alarm probability is delta for each arm.

    With delta = 0.05 and 4 arms, at most 0.2 of the runs restart in expectation; 40 runs have more
    than 16 with probability below 0.003.
    """
    generator = np.random.default_rng(5)
    alarms = 0
    for _ in range(40):
        rewards = np.where(generator.random((STEPS, ARMS)) < [0.2, 0.4, 0.5, 0.6], BOUND, -BOUND)
        policy = dp.GLRKLUCB(PRIOR, horizon=STEPS, delta=0.05, reward_bound=BOUND)
        alarms += restarts_of(policy, rewards) > 0
    assert alarms <= 16


def restarts_of(policy, rewards):
    runs = dp.simulate({"it": policy}, RecordedRewards(rewards), steps=STEPS, progress=False)
    return int(runs["restarts"].values.sum())


def test_glr_klucb_finds_the_change():
    assert restarts_of(dp.GLRKLUCB(PRIOR, horizon=STEPS, reward_bound=BOUND), table(3)) >= 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dp.DUCB(PRIOR, discount=0.0), "discount must lie in"),
        (lambda: dp.DUCB(PRIOR, discount=0.9, exploration=0.0), "exploration must be"),
        (lambda: dp.DUCB(PRIOR, discount=0.9, reward_bound=-1.0), "reward_bound must be"),
        (lambda: dp.GLRKLUCB(PRIOR, horizon=0), "horizon must be"),
        (lambda: dp.GLRKLUCB(PRIOR, horizon=9, delta=1.0), "delta must lie in"),
        (lambda: dp.GLRKLUCB(PRIOR, horizon=9, exploration=2.0), "exploration must lie in"),
        (lambda: dp.GLRKLUCB(PRIOR, horizon=9, restart="some"), "restart must be one of"),
        (lambda: dp.GLRKLUCB(PRIOR, horizon=9).prepare(10), "horizon=9"),
    ],
)
def test_bad_arguments(make, said):
    with pytest.raises(dp.DriftpeakError, match=said):
        make()
