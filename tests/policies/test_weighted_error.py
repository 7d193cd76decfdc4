"""WGPUCB on the deviation of its error: D22 Theorem 2 in dense NumPy, and D-LinUCB."""

import json

import numpy as np
import pytest
from compiled_beliefs import seen, told

import driftpeak as dp
from driftpeak.environments import RecordedRewards
from driftpeak.inference.beliefs import EstimationError
from driftpeak.live._study.policy_data import policy_from_data, policy_to_data
from driftpeak.policies.testing import check_policy
from driftpeak.policies.widths import Confidence, Constant

POINTS = np.random.default_rng(4).uniform(0, 1, (25, 2))
PRIOR = dp.Prior(dp.Arms(POINTS), dp.SE(0.3), noise_variance=0.1, mean=0.2)
TABLE = np.random.default_rng(5).normal(0.3, 1.0, (40, 25))


def theorem_2(prior, worth, arms, rewards):
    """Mean, sigma~ and double-weighted gain from the feature map, the Cholesky factor of K."""
    noise, n = prior.noise_variance, len(prior)
    phi = np.linalg.cholesky(prior.gram + 1e-13 * np.eye(n))
    past = phi[arms]
    v = past.T @ (worth[:, None] * past) + noise * np.eye(n)
    v_twice = past.T @ (worth[:, None] ** 2 * past) + noise * np.eye(n)
    half = np.linalg.solve(v, phi.T)
    mean = prior.mean + half.T @ past.T @ (worth * (rewards - prior.mean[arms]))
    deviation = np.sqrt(noise * (half * (v_twice @ half)).sum(axis=0))
    gain = 0.5 * (np.linalg.slogdet(v_twice)[1] - n * np.log(noise))
    return mean, deviation, gain


RULES = {
    "discount": ({"discount": 0.8}, lambda age, t: 0.8**age),
    "no discount": ({"discount": 1.0}, lambda age, t: 1.0 + 0 * age),
    "weights": ({"weights": np.arange(1.0, 41)}, lambda age, t: (t - age) / t),
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_moments_and_decisions_are_those_of_theorem_2(rule):
    """By dense linear algebra in feature space, at every step.

    Source: D22 Theorem 2, (5).
    """
    options, worth = RULES[rule]
    width = Confidence(1.5, 0.3, 0.1, noise_variance=0.1)
    policy = dp.WGPUCB(PRIOR, deviation="error", width=width, **options)
    player = policy.prepare(40)
    runs = dp.simulate({"it": policy}, RecordedRewards(TABLE), steps=40)
    actions, state = runs["action"].values[0, 0], player.belief.init()
    for t in range(40):
        arms = actions[:t]
        rewards = TABLE[np.arange(t), arms]
        weights = worth(np.arange(t - 1.0, -1, -1), float(t))
        mean, deviation, gain = theorem_2(PRIOR, weights, arms, rewards)
        found = seen(player.belief, state, t + 1.0)
        np.testing.assert_allclose(found.mean, mean, atol=1e-6)
        np.testing.assert_allclose(found.deviation, deviation, atol=1e-6)
        np.testing.assert_allclose(found.information, gain, atol=1e-6)
        beta = 1.5 + 0.3 / np.sqrt(0.1) * np.sqrt(2 * gain + 2 * np.log(10))
        scores = mean + beta * deviation
        assert scores[actions[t]] >= scores.max() - 1e-6
        state = told(player.belief, state, int(actions[t]), TABLE[t, actions[t]], t + 1.0)


@pytest.mark.slow
def test_a_linear_kernel_is_d_linucb():
    """The published program in three dimensions: every action of 60 steps.

    Source: D22 Remark 1; Russac, Vernade and Cappe 2019, Algorithm 1.
    """
    generator, discount, noise, beta = np.random.default_rng(6), 0.9, 0.5, 1.7
    actions = generator.normal(size=(20, 3))
    table = actions @ generator.normal(size=(3, 60)) + 0.3 * generator.normal(size=(20, 60))
    prior = dp.Prior(dp.Arms(actions), dp.Linear(), noise_variance=noise)
    scale = prior.gram[0, 0] / (actions[0] @ actions[0])
    policy = dp.WGPUCB(prior, discount=discount, deviation="error", width=Constant(beta))
    runs = dp.simulate({"it": policy}, RecordedRewards(table.T), steps=60)
    a = actions * np.sqrt(scale)
    v, v_twice, b = noise * np.eye(3), noise * np.eye(3), np.zeros(3)
    for t, chosen in enumerate(runs["action"].values[0, 0]):
        inverse = np.linalg.inv(v)
        spread = np.sqrt(np.einsum("ni,ij,nj->n", a, inverse @ v_twice @ inverse, a))
        scores = a @ inverse @ b + beta * np.sqrt(noise) * spread
        assert scores[chosen] >= scores.max() - 1e-6
        x = a[chosen]
        v = discount * v + np.outer(x, x) + (1 - discount) * noise * np.eye(3)
        v_twice = discount**2 * v_twice + np.outer(x, x) + (1 - discount**2) * noise * np.eye(3)
        b = discount * b + table[chosen, t] * x


@pytest.mark.slow
def test_the_error_is_smaller_than_the_posterior_deviation_and_decisions_differ():
    policies = {
        deviation: dp.WGPUCB(PRIOR, discount=0.7, deviation=deviation, width=Constant(2.0))
        for deviation in ("posterior", "error")
    }
    runs = dp.simulate(policies, RecordedRewards(TABLE), steps=40)
    assert (runs["action"][0] != runs["action"][1]).any()
    belief = policies["error"].prepare(40).belief
    other = policies["posterior"].prepare(40).belief
    state, plain = belief.init(), other.init()
    for t in range(20):
        state = told(belief, state, t % 7, 1.0, t + 1.0)
        plain = told(other, plain, t % 7, 1.0, t + 1.0)
    error, posterior = seen(belief, state, 21.0).variance, seen(other, plain, 21.0).variance
    assert (error <= posterior + 1e-9).all()
    assert (error < posterior - 1e-3).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deviation": "both"}, "deviation must be one of posterior, error; got 'both'"),
        (
            {"deviation": "error", "acquisition": "thompson"},
            'acquisition must be ucb with deviation="error"; got thompson',
        ),
        (
            {"deviation": "error", "form": "function-space"},
            'form must be auto or feature-space with deviation="error"; got function-space',
        ),
    ],
)
def test_bad_input(options, message, without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=message):
        dp.WGPUCB(PRIOR, discount=0.9, **options)


def test_other_forgetting_rules_are_rejected():
    with pytest.raises(dp.DriftpeakError, match=r"must be Discount or Weights .* got Window"):
        EstimationError(PRIOR, dp.forgetting.Window(5), PRIOR.features)


def test_stored_studies_keep_the_deviation():
    policy = dp.WGPUCB(PRIOR, discount=0.9, deviation="error", width=Constant(2.0))
    stored = policy_from_data(json.loads(json.dumps(policy_to_data(policy))))
    assert type(stored) is type(policy)
    assert stored.forgetting.discount == 0.9
    assert "deviation" not in json.dumps(policy_to_data(dp.WGPUCB(PRIOR, discount=0.9)))


@pytest.mark.slow
def test_the_policy_conforms():
    check_policy(dp.WGPUCB(PRIOR, discount=0.9, deviation="error"), wrapped=False)
