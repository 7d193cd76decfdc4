"""Policies for independent arms against programs written from the papers, in plain NumPy.

Deterministic policies must make the same decisions. For random policies the decisions are played
back into the program, which computes the distribution of each decision.
"""

import math

import jax
import numpy as np
import pytest

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision
from driftpeak.environments import RecordedRewards
from driftpeak.policies.discounted_thompson import ThompsonState
from driftpeak.policies.randomised import mixed
from driftpeak.policies.testing import check_policy

ARMS, STEPS, BOUND = 4, 160, 3.0
PRIOR = dp.Prior(dp.Arms(ARMS), dp.kernels.Table(np.eye(ARMS)), noise_variance=0.04)
FALSE_ALARM = 5.0
"""Standard deviations of a frequency that are allowed: a false alarm in 1.7 million."""


def table(seed, scale=1.0):
    """Rewards of arms whose means drift, and change halfway, within the bound."""
    generator = np.random.default_rng(seed)
    steps = np.arange(STEPS)[:, None]
    means = np.where(steps < STEPS // 2, [1.0, 0.5, -1.0, 0.8], [-1.0, 0.5, 1.5, 0.8])
    drift = 0.5 * np.sin(steps / 20 + np.arange(ARMS))
    return means + drift + scale * generator.uniform(-1, 1, (STEPS, ARMS))


def played(policy, rewards):
    runs = dp.simulate({"it": policy}, RecordedRewards(rewards), steps=STEPS, progress=False)
    return runs["action"].values[0, 0].tolist()


@double_precision
def replayed(policy, rewards):
    """The state before each decision, and the decisions, of one run."""
    player, states, actions = policy.prepare(STEPS), [], []
    state = player.init(jax.random.key(3))
    ask, tell = jax.jit(player.ask), jax.jit(player.tell)
    for step, row in enumerate(rewards):
        states.append(jax.tree.map(lambda leaf: leaf, state))
        state, query = ask(state, step + 1.0)
        actions.append(int(query))
        state = tell(state, query, row[int(query)], step + 1.0)
    return states, actions


def scaled(rewards):
    return (rewards + BOUND) / (2 * BOUND)


def first_or_best(counts, index):
    """An arm without observations, and otherwise the arm with the largest index."""
    return int(np.argmin(counts > 0)) if not all(counts) else int(np.argmax(index))


def ucb1(rewards, exploration):
    """Auer, Cesa-Bianchi and Fischer 2002, figure 1, for rewards in [0, 1]."""
    gains, actions = [[] for _ in range(ARMS)], []
    for n in range(STEPS):
        if n < ARMS:
            arm = n
        else:
            index = [np.mean(g) + math.sqrt(exploration * math.log(n) / len(g)) for g in gains]
            arm = int(np.argmax(index))
        actions.append(arm)
        gains[arm].append(scaled(rewards)[n, arm])
    return actions


def sw_ucb(rewards, window, exploration):
    """Garivier and Moulines 2011, section 3: every step sums over the window."""
    actions = []
    for t in range(STEPS):
        recent = range(max(t - window, 0), t)
        of = [[scaled(rewards)[s, i] for s in recent if actions[s] == i] for i in range(ARMS)]
        counts = np.array([len(one) for one in of])
        index = [
            np.mean(one) + math.sqrt(exploration * math.log(min(t, window)) / len(one))
            for one in of
            if one
        ]
        actions.append(first_or_best(counts, index))
    return actions


@pytest.mark.parametrize("exploration", [2.0, 0.05])
def test_ucb1_decides_as_the_paper_says(exploration):
    policy = dp.UCB1(PRIOR, exploration=exploration, reward_bound=BOUND)
    actions = played(policy, table(1))
    assert actions == ucb1(table(1), exploration)
    assert len(set(np.bincount(actions, minlength=ARMS))) > 1


@pytest.mark.parametrize(("window", "exploration"), [(30, 0.6), (30, 0.02), (3, 0.6), (80, 0.1)])
def test_sw_ucb_decides_as_the_paper_says(window, exploration):
    policy = dp.SWUCB(PRIOR, window=window, exploration=exploration, reward_bound=BOUND)
    assert played(policy, table(2)) == sw_ucb(table(2), window, exploration)


def test_ucb1_is_the_limit_of_a_long_window_and_of_discount_one():
    rewards = table(3)
    expected = played(dp.UCB1(PRIOR, exploration=0.1, reward_bound=BOUND), rewards)
    window = dp.SWUCB(PRIOR, window=STEPS, exploration=0.1, reward_bound=BOUND)
    assert played(window, rewards) == expected
    # D-UCB has twice the width: a quarter of the exploration
    discounted = dp.DUCB(PRIOR, discount=1.0, exploration=0.025, reward_bound=BOUND)
    assert played(discounted, rewards) == expected


def m_ucb(rewards, window, threshold, exploration, bonus):
    """Cao, Wen, Kveton and Xie 2019, algorithms 1 and 2: decisions and the number of restarts."""
    since, restarts, kept, actions = 0, 0, [[] for _ in range(ARMS)], []
    for t in range(1, STEPS + 1):
        forced = (t - since) % math.floor(ARMS / exploration)
        counts = np.array([len(one) for one in kept])
        if 1 <= forced <= ARMS:
            arm = forced - 1
        else:
            levels = [math.sqrt(bonus * math.log(t - since) / max(c, 1)) for c in counts]
            index = [np.mean(one or [0]) + u for one, u in zip(kept, levels, strict=True)]
            arm = first_or_best(counts, index)
        actions.append(arm)
        kept[arm].append(scaled(rewards)[t - 1, arm])
        if len(kept[arm]) >= window:
            half, last = window // 2, kept[arm][-window:]
            if abs(sum(last[half:]) - sum(last[:half])) > threshold:
                since, kept, restarts = t, [[] for _ in range(ARMS)], restarts + 1
    return actions, restarts


@pytest.mark.parametrize(("exploration", "bonus"), [(0.3, 2.0), (0.6, 0.02), (1.0, 0.02)])
def test_m_ucb_decides_as_the_paper_says(exploration, bonus):
    rewards = table(4)
    policy = dp.MUCB(
        PRIOR, horizon=STEPS, window=6, threshold=0.5, exploration=exploration, bonus=bonus,
        reward_bound=BOUND,
    )  # fmt: skip
    actions, restarts = m_ucb(rewards, 6, 0.5, exploration, bonus)
    assert restarts >= 2
    assert played(policy, rewards) == actions
    runs = dp.simulate({"it": policy}, RecordedRewards(rewards), steps=STEPS, progress=False)
    assert int(runs["restarts"].values.sum()) == restarts


def test_the_defaults_of_m_ucb_are_those_of_the_paper():
    policy = dp.MUCB(PRIOR, horizon=10_000, window=200, changes=5)
    b = math.sqrt(100 * math.log(2 * ARMS * 10_000**2))
    assert policy.threshold == pytest.approx(b)
    gamma = math.sqrt(5 * ARMS * (2 * b + 3 * math.sqrt(200)) / 20_000)
    assert policy.exploration == pytest.approx(gamma)


def contexts(period, harmonics):
    """Context vectors of all times."""
    if period is None:
        return np.ones((STEPS, 1))
    columns = [np.ones(STEPS)]
    for k in range(1, harmonics + 1):
        phase = 2 * np.pi * k * np.arange(1, STEPS + 1) / period
        columns += [np.cos(phase), np.sin(phase)]
    return np.stack(columns, axis=1)


def lin_ucb(rewards, alpha, period, harmonics):
    """Li et al. 2010, algorithm 1: every step solves the ridge regressions."""
    rows, actions = contexts(period, harmonics), []
    d = rows.shape[1]
    design, targets = [np.eye(d) for _ in range(ARMS)], [np.zeros(d) for _ in range(ARMS)]
    for t, x in enumerate(rows):
        index = [
            np.linalg.solve(a, b) @ x + alpha * math.sqrt(x @ np.linalg.solve(a, x))
            for a, b in zip(design, targets, strict=True)
        ]
        arm = int(np.argmax(np.round(index, 12)))  # exact ties take the first arm
        actions.append(arm)
        design[arm] += np.outer(x, x)
        targets[arm] += (scaled(rewards)[t, arm] - 0.5) * x
    return actions


@pytest.mark.parametrize(("period", "harmonics"), [(None, 1), (24.0, 1), (31.5, 2)])
@pytest.mark.parametrize("alpha", [0.3, 1.5])
def test_linucb_decides_as_the_paper_says(alpha, period, harmonics):
    rewards = table(5)
    policy = dp.LinUCB(PRIOR, alpha=alpha, period=period, harmonics=harmonics, reward_bound=BOUND)
    actions = played(policy, rewards)
    assert actions == lin_ucb(rewards, alpha, period, harmonics)
    assert len(set(actions)) == ARMS


def test_linucb_learns_a_periodic_best_arm():
    """Two arms alternate in a rhythm of 16 steps: with its period the regret is small."""
    wave = np.sin(2 * np.pi * np.arange(1, STEPS + 1) / 16)
    rewards = np.stack([wave, -wave, wave * 0 - 1, wave * 0 - 1], axis=1)
    regret = {}
    for period in (None, 16.0):
        actions = played(dp.LinUCB(PRIOR, alpha=0.3, period=period, reward_bound=BOUND), rewards)
        lost = rewards.max(axis=1) - rewards[np.arange(STEPS), actions]
        regret[period] = lost[STEPS // 2 :].mean()
    assert regret[16.0] < 0.05
    assert regret[None] > 0.2


@pytest.mark.parametrize("step_size", [None, 0.3, 1.0])
def test_epsilon_greedy_follows_its_estimates(step_size):
    """Sutton and Barto 2018, (2.3) and (2.5); the decisions with epsilon 0 and the estimates."""
    rewards = table(6)
    policy = dp.EpsilonGreedy(PRIOR, epsilon=0.2, step_size=step_size)
    states, actions = replayed(policy, rewards)
    values, counts, greedy = np.zeros(ARMS), np.zeros(ARMS), 0
    for state, arm, row in zip(states, actions, rewards, strict=True):
        np.testing.assert_allclose(state.means, values, atol=1e-12)
        greedy += arm == first_or_best(counts, values)
        counts[arm] += 1
        step = 1 / counts[arm] if step_size is None or counts[arm] == 1 else step_size
        values[arm] += step * (row[arm] - values[arm])
    # the best arm has probability 1 - 0.2 * 3/4 in every step
    share, deviation = 0.85, math.sqrt(0.85 * 0.15 / STEPS)
    assert abs(greedy / STEPS - share) < FALSE_ALARM * deviation
    never = dp.EpsilonGreedy(PRIOR, epsilon=0.0, step_size=step_size)
    states, actions = replayed(never, rewards)
    for state, arm in zip(states, actions, strict=True):
        assert arm == first_or_best(np.asarray(state.counts), np.asarray(state.means))


def test_epsilon_one_is_uniform():
    _, actions = replayed(dp.EpsilonGreedy(PRIOR, epsilon=1.0), table(6))
    frequencies = np.bincount(actions, minlength=ARMS) / STEPS
    assert np.abs(frequencies - 1 / ARMS).max() < FALSE_ALARM * math.sqrt(0.25 * 0.75 / STEPS)


@pytest.mark.parametrize(("discount", "deviation"), [(0.9, 1.0), (1.0, 0.1)])
def test_discounted_ts_samples_from_the_posteriors(discount, deviation):
    """Qi, Wang and Zhu 2023, algorithm 1: the moments in every step, and the drawn arms."""
    rewards = table(7)
    policy = dp.DiscountedTS(PRIOR, discount=discount, deviation=deviation, reward_bound=BOUND)
    states, actions = replayed(policy, rewards)
    for t in range(STEPS):
        weights = discount ** (t - 1 - np.arange(t))
        chosen = np.array(actions[:t], int)
        counts = np.array([weights[chosen == arm].sum() for arm in range(ARMS)])
        sums = [(weights * rewards[np.arange(t), chosen])[chosen == i].sum() for i in range(ARMS)]
        np.testing.assert_allclose(states[t].counts, counts, atol=1e-12)
        if all(counts):
            mean, spread = policy._posterior(states[t])
            np.testing.assert_allclose(mean + policy.low, np.array(sums) / counts, atol=1e-9)
            np.testing.assert_allclose(spread, 2 * BOUND * deviation / np.sqrt(counts), rtol=1e-12)
    assert actions[:ARMS] == list(range(ARMS))


@double_precision
def test_discounted_ts_draws_arms_with_their_probability_of_being_best():
    """Two arms: the first is larger with the normal probability of the difference."""
    prior = dp.Prior(dp.Arms(2), dp.kernels.Table(np.eye(2)), noise_variance=0.04)
    policy = dp.DiscountedTS(prior, discount=0.9, deviation=0.5, reward_bound=BOUND)
    state = policy.init(jax.random.key(0))._replace(
        counts=jax.numpy.array([4.0, 1.0]), sums=jax.numpy.array([12.0, 4.0])
    )
    draws, spread = 4000, 0.5 * 2 * BOUND
    drawn = jax.vmap(lambda number: policy.ask(_at(state, number), 1.0)[1])
    first = float((drawn(jax.numpy.arange(draws)) == 0).mean())
    z = (3.0 - 4.0) / (spread * math.sqrt(1 / 4 + 1))
    probability = 0.5 * math.erfc(-z / math.sqrt(2))
    deviation = math.sqrt(probability * (1 - probability) / draws)
    assert abs(first - probability) < FALSE_ALARM * deviation


def _at(state: ThompsonState, number) -> ThompsonState:
    return state._replace(asked=number)


@pytest.mark.parametrize(("exploration", "share"), [(0.2, 0.05), (0.05, 0.0), (1.0, 0.5)])
def test_exp3s_has_the_weights_of_the_paper(exploration, share):
    """Auer et al. 2002, section 8: the weights themselves, not their logarithms."""
    rewards = table(8)
    policy = dp.Exp3S(
        PRIOR, horizon=STEPS, exploration=exploration, share=share, reward_bound=BOUND
    )
    states, actions = replayed(policy, rewards)
    weights, expected, variance = np.ones(ARMS), np.zeros(ARMS), np.zeros(ARMS)
    for state, arm, row in zip(states, actions, rewards, strict=True):
        p = (1 - exploration) * weights / weights.sum() + exploration / ARMS
        found = double_precision(mixed)(state.log_weights, policy.exploration)
        np.testing.assert_allclose(found, p, atol=1e-10)
        expected, variance = expected + p, variance + p * (1 - p)
        estimate = np.zeros(ARMS)
        estimate[arm] = scaled(row)[arm] / p[arm]
        grown = weights * np.exp(exploration * estimate / ARMS)
        weights = grown + math.e * share / ARMS * weights.sum()
    # the numbers of draws minus the sums of their probabilities are a martingale
    numbers = np.bincount(actions, minlength=ARMS)
    assert (np.abs(numbers - expected) < FALSE_ALARM * np.sqrt(variance)).all()


def test_the_defaults_of_exp3s_are_those_of_the_paper():
    policy = dp.Exp3S(PRIOR, horizon=10_000, hardness=3)
    square = ARMS * (3 * math.log(ARMS * 10_000) + math.e) / ((math.e - 1) * 10_000)
    assert policy.exploration == pytest.approx(math.sqrt(square))
    assert policy.share == pytest.approx(1e-4)


def cusum(values, samples, tolerance, threshold):
    """Liu, Lee and Shroff 2018, algorithm 2: whether the test stops at the last of the values."""
    reference, rise, fall = np.mean(values[:samples]), 0.0, 0.0
    for value in values[samples:]:
        rise = max(0.0, rise + value - reference - tolerance)
        fall = max(0.0, fall + reference - value - tolerance)
    return len(values) > samples and max(rise, fall) >= threshold


@pytest.mark.parametrize("bonus", [1.0, 0.02])
def test_cusum_ucb_decides_as_the_paper_says(bonus):
    """Liu, Lee and Shroff 2018, algorithms 1 and 3, with the uniform draws of the policy."""
    rewards, exploration = table(9), 0.2
    settings = {"threshold": 0.4, "tolerance": 0.03, "samples": 4}
    for share in (0.0, exploration):
        policy = dp.CUSUMUCB(
            PRIOR, horizon=STEPS, exploration=share, bonus=bonus, reward_bound=BOUND, **settings
        )
        states, actions = replayed(policy, rewards)
        kept, restarts, greedy = [[] for _ in range(ARMS)], 0, 0
        for t, (state, arm) in enumerate(zip(states, actions, strict=True)):
            counts = np.array([len(one) for one in kept])
            np.testing.assert_allclose(state.counts, counts)
            assert int(state.restarts) == restarts
            total = max(counts.sum(), 1)
            index = [
                np.mean(one or [0]) + math.sqrt(bonus * math.log(total) / max(len(one), 1))
                for one in kept
            ]
            greedy += arm == first_or_best(counts, index)
            kept[arm].append(scaled(rewards)[t, arm])
            if cusum(kept[arm], **settings):
                kept[arm], restarts = [], restarts + 1
        assert restarts >= 2
        probability = 1 - share * (1 - 1 / ARMS)
        deviation = math.sqrt(probability * (1 - probability) / STEPS)
        assert abs(greedy / STEPS - probability) <= FALSE_ALARM * deviation


def test_the_defaults_of_cusum_ucb_are_those_of_the_paper():
    policy = dp.CUSUMUCB(PRIOR, horizon=10_000, changes=5)
    assert policy.threshold == pytest.approx(math.log(2000))
    assert policy.exploration == pytest.approx(math.sqrt(math.log(2000) / 2000))


POLICIES = {
    "averages": lambda: dp.EpsilonGreedy(PRIOR, epsilon=0.3),
    "steps": lambda: dp.EpsilonGreedy(PRIOR, epsilon=0.3, step_size=0.5),
    "ucb1": lambda: dp.UCB1(PRIOR),
    "window": lambda: dp.SWUCB(PRIOR, window=7),
    "thompson": lambda: dp.DiscountedTS(PRIOR, discount=0.9),
    "exp3": lambda: dp.Exp3S(PRIOR, horizon=30),
    "cusum": lambda: dp.CUSUMUCB(PRIOR, horizon=30, threshold=0.1, samples=1),
    "monitored": lambda: dp.MUCB(PRIOR, horizon=30, window=2, threshold=0.1),
    "linear": lambda: dp.LinUCB(PRIOR, period=7.0, harmonics=2),
    "constant": lambda: dp.LinUCB(PRIOR),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_conformance(name):
    check_policy(POLICIES[name]())


@pytest.mark.parametrize("horizon", [1, 2])
def test_the_shortest_horizons_have_defaults(horizon):
    for make in (dp.Exp3S, dp.CUSUMUCB, dp.MUCB):
        runs = dp.simulate(
            {"it": make(PRIOR, horizon=horizon)}, RecordedRewards(table(1)), steps=horizon,
            progress=False,
        )  # fmt: skip
        assert np.isfinite(runs["regret"].values).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dp.EpsilonGreedy(PRIOR, epsilon=1.1), r"epsilon must lie in \[0, 1\]; got 1.1"),
        (lambda: dp.EpsilonGreedy(PRIOR, epsilon=math.nan), "epsilon must lie in"),
        (lambda: dp.EpsilonGreedy(PRIOR, epsilon=0.1, step_size=0.0), r"step_size must lie in \("),
        (lambda: dp.UCB1(PRIOR, exploration=0.0), "exploration must be"),
        (lambda: dp.UCB1(PRIOR, reward_bound=-1.0), "reward_bound must be"),
        (lambda: dp.SWUCB(PRIOR, window=0), "window must be an integer of at least 1; got 0"),
        (lambda: dp.SWUCB(PRIOR, window=2, exploration=math.inf), "exploration must be"),
        (lambda: dp.DiscountedTS(PRIOR, discount=0.0), r"discount must lie in \(0, 1\]; got 0"),
        (lambda: dp.DiscountedTS(PRIOR, discount=0.9, deviation=0.0), "deviation must be"),
        (lambda: dp.Exp3S(PRIOR, horizon=0), "horizon must be"),
        (lambda: dp.Exp3S(PRIOR, horizon=9, hardness=0.5), "hardness must be"),
        (lambda: dp.Exp3S(PRIOR, horizon=9, exploration=0.0), "exploration must lie in"),
        (lambda: dp.Exp3S(PRIOR, horizon=9, share=-0.1), "share must lie in"),
        (lambda: dp.Exp3S(PRIOR, horizon=9).prepare(10), "horizon=9"),
        (lambda: dp.CUSUMUCB(PRIOR, horizon=9, threshold=0.0), "threshold must be"),
        (lambda: dp.CUSUMUCB(PRIOR, horizon=9, tolerance=-1.0), "tolerance must be"),
        (lambda: dp.CUSUMUCB(PRIOR, horizon=9, samples=0), "samples must be"),
        (lambda: dp.CUSUMUCB(PRIOR, horizon=9, changes=0.0), "changes must be"),
        (lambda: dp.CUSUMUCB(PRIOR, horizon=9, exploration=2.0), "exploration must lie in"),
        (lambda: dp.CUSUMUCB(PRIOR, horizon=9, bonus=0.0), "bonus must be"),
        (lambda: dp.MUCB(PRIOR, horizon=9, window=7), "window must be an even integer .* Use 8"),
        (lambda: dp.MUCB(PRIOR, horizon=9, window=0), "window must be"),
        (lambda: dp.MUCB(PRIOR, horizon=9, threshold=-1.0), "threshold must be"),
        (lambda: dp.MUCB(PRIOR, horizon=9, exploration=0.0), "exploration must lie in"),
        (lambda: dp.MUCB(PRIOR, horizon=9).prepare(10), "horizon=9"),
        (lambda: dp.LinUCB(PRIOR, alpha=0.0), "alpha must be"),
        (lambda: dp.LinUCB(PRIOR, period=math.nan), "period must be"),
        (lambda: dp.LinUCB(PRIOR, period=0.0), "period must be a finite number above 0"),
        (lambda: dp.LinUCB(PRIOR, period=5.0, harmonics=0), "harmonics must be"),
    ],
)
def test_bad_arguments(make, said):
    with pytest.raises(dp.DriftpeakError, match=said):
        make()
