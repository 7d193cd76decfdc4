"""Estimators of values from logs: the published formulas, another library, and their intervals."""

import numpy as np
import pytest
from scipy.stats import t as student

from driftpeak.offline.logs import ChoiceLog, _estimators as estimators
from driftpeak.offline.logs._alternatives import best_so_far
from driftpeak.offline.logs._arms import arms_of
from driftpeak.offline.logs._assignment import Assignment
from driftpeak.offline.logs._evaluation import evaluate, weights_of

STEPS, ARMS = 400, 4


def logged(seed, *, uniform, steps=STEPS, arms=ARMS):
    """Drifting values of all arms, and a log: uniform, or mostly the best arm so far."""
    random = np.random.default_rng(seed)
    phases = random.uniform(0, 2 * np.pi, arms)
    days = np.arange(steps)[:, None]
    values = 2.0 + np.arange(arms) / 4 + np.sin(days / 60 + phases)
    noise = random.normal(size=steps)
    chosen, probabilities = np.zeros(steps, int), np.zeros(steps)
    sums, counts = np.zeros(arms), np.full(arms, 1e-9)
    rewards = np.zeros(steps)
    for step in range(steps):
        greedy = np.eye(arms)[(sums / counts).argmax()]
        each = np.full(arms, 1 / arms) if uniform else 0.5 * greedy + 0.5 / arms
        chosen[step] = random.choice(arms, p=each)
        probabilities[step] = each[chosen[step]]
        rewards[step] = values[step, chosen[step]] + noise[step]
        sums[chosen[step]] += rewards[step]
        counts[chosen[step]] += 1
    names = [f"arm {number}" for number in chosen]
    return values, ChoiceLog(names, rewards, propensities=None if uniform else probabilities)


def recent_means(log, arms):
    """Forecasts by the mean of an arm's last 20 rewards, from earlier steps only."""
    means = np.zeros((len(log), len(arms)))
    for step in range(1, len(log)):
        for arm in range(len(arms)):
            seen = log.rewards[:step][arms.labels[:step] == arm][-20:]
            means[step, arm] = seen.mean() if len(seen) else log.rewards[:step].mean()
    return means


def policies_of(log, arms):
    policies = {f"always {arm}": np.full(len(log), arm) for arm in range(len(arms))}
    policies["best of the last 40 steps"] = best_so_far(
        arms, log.rewards, np.zeros(len(log), int), 40
    )
    return policies


@pytest.fixture(scope="module")
def case():
    _, log = logged(0, uniform=False)
    arms = arms_of(log)
    return log, arms, policies_of(log, arms)["best of the last 40 steps"], recent_means(log, arms)


def test_the_published_formulas(case):
    """Horvitz and Thompson; Swaminathan and Joachims; Dudik et al.; Li et al., step by step."""
    log, arms, policy, means = case
    weights = weights_of(policy, log, arms)
    total = weighed = robust = 0.0
    kept = []
    for step in range(len(log)):
        arm, reward = arms.labels[step], log.rewards[step]
        weight = (arm == policy[step]) / log.propensities[step]
        total += weight * reward
        weighed += weight
        robust += means[step, policy[step]] + weight * (reward - means[step, arm])
        if arm == policy[step]:
            kept.append(reward)
    expected = {
        "inverse_propensity": total / len(log),
        "self_normalised": total / weighed,
    }
    for name, value in expected.items():
        assert getattr(estimators, name)(log.rewards, weights)[0] == pytest.approx(value, rel=1e-12)
    of_choices, of_policy = (means[np.arange(len(log)), arm] for arm in (arms.labels, policy))
    value, _ = estimators.doubly_robust(log.rewards, weights, of_choices, of_policy)
    assert value == pytest.approx(robust / len(log), rel=1e-12)
    value, error = estimators.replay(log.rewards, arms.labels == policy)
    assert value == pytest.approx(np.mean(kept), rel=1e-12)
    assert error == pytest.approx(np.std(kept, ddof=1) / len(kept) ** 0.5, rel=1e-12)


def test_open_bandit_pipeline(case):
    """The estimators of obp 0.4.1 give equal values."""
    ope = pytest.importorskip("obp.ope")
    log, arms, policy, means = case
    weights = weights_of(policy, log, arms)
    actions = np.eye(len(arms))[policy][:, :, None]
    feedback = {
        "reward": log.rewards, "action": arms.labels, "action_dist": actions,
        "position": np.zeros(len(log), int),
    }  # fmt: skip
    scored = feedback | {"pscore": log.propensities}
    rows = np.arange(len(log))
    modelled = scored | {"estimated_rewards_by_reg_model": means[:, :, None]}
    pairs = [
        (ope.ReplayMethod().estimate_policy_value(**feedback),
         estimators.replay(log.rewards, arms.labels == policy)),
        (ope.InverseProbabilityWeighting().estimate_policy_value(**scored),
         estimators.inverse_propensity(log.rewards, weights)),
        (ope.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**scored),
         estimators.self_normalised(log.rewards, weights)),
        (ope.DoublyRobust().estimate_policy_value(**modelled),
         estimators.doubly_robust(log.rewards, weights, means[rows, arms.labels],
                                  means[rows, policy])),
    ]  # fmt: skip
    for theirs, (ours, _) in pairs:
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_relations_between_estimators(case):
    log, arms, policy, _ = case
    weights, matches = weights_of(policy, log, arms), arms.labels == policy
    zero = np.zeros(len(log))
    assert estimators.doubly_robust(log.rewards, weights, zero, zero) == pytest.approx(
        estimators.inverse_propensity(log.rewards, weights)
    )
    value, _ = estimators.self_normalised(log.rewards, 3.0 * matches)
    assert value == pytest.approx(estimators.replay(log.rewards, matches)[0])
    shifted, error = estimators.self_normalised(log.rewards + 100, weights)
    assert (shifted - 100, error) == pytest.approx(estimators.self_normalised(log.rewards, weights))
    assert estimators.effective_number(matches * 2.0) == pytest.approx(matches.sum())
    assert estimators.effective_number(zero) == 0.0


def coverage(logs, *, uniform):
    """Share of the intervals that contain the true value, of each policy and estimator."""
    hits, errors = {}, {}
    for seed in range(logs):
        values, log = logged(seed, uniform=uniform)
        arms = arms_of(log)
        assignment = Assignment("uniform" if uniform else "propensities", "")
        means = recent_means(log, arms)
        for name, policy in policies_of(log, arms).items():
            truth = values[np.arange(STEPS), policy].mean()
            made = evaluate(name, policy, log, arms, assignment, means)
            assert made.estimated
            hits.setdefault(name, []).append(made.low <= truth <= made.high)
            errors.setdefault(name, []).append((made.value - truth) / (made.high - made.low))
            if not uniform:
                weights = weights_of(policy, log, arms)
                value, error = estimators.self_normalised(log.rewards, weights)
                reach = error * student.ppf(0.975, made.effective - 1)
                hits.setdefault(f"self-normalised, {name}", []).append(abs(value - truth) <= reach)
    return {name: np.mean(hit) for name, hit in hits.items()}, errors


@pytest.mark.slow
@pytest.mark.parametrize("uniform", [True, False], ids=["replay", "doubly robust"])
def test_intervals_of_a_few_logs(uniform):
    """30 logs, 5 policies: below 85 % by chance has probability 1e-5 at a coverage of 95 %."""
    covered, errors = coverage(30, uniform=uniform)
    assert np.mean(list(covered.values())) > 0.85
    for error in errors.values():  # unbiased: 4.5 standard errors, of 1/3.9 of an interval each
        assert abs(np.mean(error)) < 4.5 / 3.9 / 30**0.5


@pytest.mark.slow
@pytest.mark.parametrize("uniform", [True, False], ids=["replay", "doubly robust"])
def test_intervals_of_200_logs(uniform):
    """95 % intervals cover 90 to 98 % of the true values, for every policy and estimator."""
    covered, _ = coverage(200, uniform=uniform)
    print(covered)
    assert all(0.9 <= share <= 0.98 for share in covered.values()), covered
