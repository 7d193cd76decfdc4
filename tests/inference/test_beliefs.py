"""Every belief equals the dense textbook formula, in both forms, at irregular times."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from dense import posterior as dense_posterior
from hypothesis import given, settings, strategies as st

import driftpeak as dp
from driftpeak.gp import forgetting as fg
from driftpeak.inference.beliefs import Dense

STEPS = 20
TOLERANCE = 1e-13  # of the features, where the comparison is to 1e-8

kernels = st.sampled_from(
    [
        dp.SE(0.3),
        dp.SE([0.2, 0.7]),
        dp.Matern(0.5, 0.5),
        dp.Matern(1.5, [0.4, 0.9]),
        dp.Matern(2.5, 0.3),
        2.0 * dp.SE(0.4) + dp.Linear(0.1),
        dp.RationalQuadratic(0.7, 0.3) * dp.Periodic(0.6, 1.3),
    ]
)
rules = st.one_of(
    st.just(("keep", None, fg.Keep())),
    st.floats(1, 30).map(lambda p: ("restart", p, fg.Restart(p))),
    st.sampled_from([1, 3, 12]).map(lambda w: ("window", w, fg.Window(w))),
    st.floats(0.3, 1).map(lambda g: ("discount", g, fg.Discount(g))),
    st.floats(0.1, 2).map(lambda a: ("injection", a, fg.Injection(a))),
    st.floats(0, 1).map(lambda e: ("drift", e, fg.Drift(e))),
    st.lists(st.floats(0, 3), min_size=40, max_size=40).map(
        lambda steps: ("weights", w := np.exp(np.cumsum(steps) / 2), fg.Weights(w))
    ),
)


@jax.jit
def follow(belief, arms, rewards, times, later):
    """The posterior just before each later time, and after a refresh at the end.

    Compiled, so that examples of one structure share a program.
    """

    def step(state, observation):
        arm, reward, time, now = observation
        state = belief.update(state, arm, reward, time)
        return state, belief.posterior(state, now)

    state, posteriors = jax.lax.scan(step, belief.init(), (arms, rewards, times, later))
    return posteriors, belief.posterior(belief.refresh(state), later[-1])


def exact_features(prior):
    """Features to rounding, padded with zeros to n columns so that examples share a program."""
    found = dp.features.pivoted_cholesky(prior.kernel, prior.domain, tolerance=TOLERANCE)
    padding = np.zeros((len(prior), len(prior) - found.rank))
    return replace(found, matrix=np.hstack([found.matrix, padding]))


def forms(prior, rule, times):
    """The rule's beliefs in feature space and in every function-space form that has it."""
    in_features = dp.make_belief(prior, rule, times, features=exact_features(prior))
    in_functions = dp.make_belief(prior, rule, times, form="function-space")
    dense = Dense(prior, rule, rule.memory(times))
    window = isinstance(rule, fg.Window)
    return [in_features, in_functions] if window else [in_features, in_functions, dense]


@pytest.mark.slow
@given(kernel=kernels, rule=rules, seed=st.integers(0, 2**32 - 1))
def test_every_belief_equals_the_dense_formula(kernel, rule, seed):
    """In feature space and in function space.

    Source: B16 (5)-(8); ZS21 (1)-(2); D22 Lemma 9, Lemma 12, (1)-(3); IT25 (4)-(5); M25 (9)-(10).
    """
    compare_with_the_dense_formula(kernel, rule, seed)


@pytest.mark.slow
@settings(max_examples=100)
@given(kernel=kernels, rule=rules, seed=st.integers(0, 2**32 - 1))
def test_every_belief_equals_the_dense_formula_often(kernel, rule, seed):
    compare_with_the_dense_formula(kernel, rule, seed)


def compare_with_the_dense_formula(kernel, rule, seed):
    """After each of 20 observations at irregular times, at an irregular time later."""
    name, parameter, rule = rule
    random = np.random.default_rng(seed)
    points = random.uniform(0, 1, (9, 2))
    noise_variance = float(10 ** random.uniform(-2, 0.5))
    prior = dp.Prior(dp.Arms(points), kernel, noise_variance, random.normal(size=9))
    arms = random.integers(0, 9, STEPS)
    rewards = random.normal(size=STEPS)
    times = 1 + np.cumsum(random.exponential(1.5, STEPS))
    later = times + np.diff(times, append=times[-1] + 2) * random.uniform(0, 1, STEPS)
    expected = [
        dense_posterior(
            kernel.rows(prior.domain), noise_variance, prior.mean, name, parameter,
            arms[:t], rewards[:t], times[:t], later[t - 1],
        )
        for t in range(1, STEPS + 1)
    ]  # fmt: skip
    mean, variance, information = map(np.array, zip(*expected, strict=True))
    for belief in forms(prior, rule, times):
        found, refreshed = follow(belief, arms, rewards, times, later)
        np.testing.assert_allclose(found.mean, mean, atol=1e-8, err_msg=str(belief))
        np.testing.assert_allclose(found.variance, variance, atol=1e-8)
        np.testing.assert_allclose(found.information, information, atol=1e-8)
        for before, after in zip(found, refreshed, strict=True):
            np.testing.assert_allclose(before[-1], after, atol=1e-10)
