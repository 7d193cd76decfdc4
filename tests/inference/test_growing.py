"""The belief of space-time rules, against dense regression on all observations that are kept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dense import joint_posterior, posterior

import driftpeak as dp
from driftpeak._core.numerics.conditionals import in_room
from driftpeak._core.numerics.precision import double_precision
from driftpeak.gp import forgetting as fg

STEPS, LENGTHSCALE = 60, 4.0


@jax.jit
def learned(belief, arms, rewards, times):
    """The state after all observations; beliefs of one structure share a program."""

    def step(state, observation):
        return belief.update(state, *observation), None

    return jax.lax.scan(step, belief.init(), (arms, rewards, times))[0]


def history(prior, steps=STEPS, seed=0):
    """Random points, rewards of the prior's size, irregular times."""
    random = np.random.default_rng(seed)
    arms = random.integers(0, len(prior), steps)
    return arms, random.normal(size=steps), np.cumsum(random.exponential(1.0, steps))


def prior_of(noise, kernel=dp.SE(0.2)):  # noqa: B008
    return dp.Prior(dp.Grid([0, 1], size=25), kernel, noise, mean=0.3)


@pytest.mark.parametrize("form", ["auto", "function-space"])
@pytest.mark.parametrize("noise", [1e-1, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("memory", [None, 20])
@double_precision
def test_posterior_equals_dense_regression(memory, noise, form):
    """A process smooth in time, observed at 60 times within 15 lengthscales: those that are many
    lengthscales old matter at low noise. Draws of the process, whose means are of the prior's size.
    """
    prior = prior_of(noise)
    arms, rewards, times = history(prior)
    process = prior.gram[np.ix_(arms, arms)] * np.exp(
        -((times[:, None] - times) ** 2) / (2 * LENGTHSCALE**2)
    )
    random = np.random.default_rng(1)
    rewards = prior.mean[0] + np.linalg.cholesky(process + noise * np.eye(STEPS)) @ random.normal(
        size=STEPS
    )
    policy = dp.ABO(prior, lengthscale=LENGTHSCALE, memory=memory, form=form)
    belief = policy.prepare(times).belief
    now = times[-1] + 0.7
    found = belief.posterior(learned(belief, arms, rewards, times), now)
    kept = slice(STEPS - (memory or STEPS), None)
    mean, variance, information = posterior(
        prior.gram, noise, prior.mean, "space-time", LENGTHSCALE,
        arms[kept], rewards[kept], times[kept], now,
    )  # fmt: skip
    np.testing.assert_allclose(found.mean, mean, atol=2e-6)
    np.testing.assert_allclose(found.variance, variance, atol=1e-8)
    np.testing.assert_allclose(found.information, information, rtol=1e-8)
    assert found.observations == (memory or STEPS)


@pytest.mark.parametrize(
    ("memory", "times", "capacity"),
    [(None, 60, 60), (60, 60, 60), (25, 60, 25), (None, 900, 500), (700, 900, 700)],
)
def test_memory_is_what_it_says(memory, times, capacity):
    policy = dp.ABO(prior_of(0.01), lengthscale=LENGTHSCALE, memory=memory)
    assert policy.prepare(times).belief.capacity == capacity


@pytest.mark.parametrize("form", ["auto", "function-space"])
@double_precision
def test_draws_have_the_moments_of_dense_regression(form):
    """4,000 draws: means and covariances within 5 of their standard errors, false alarm 4e-4."""
    prior = prior_of(0.01)
    arms, rewards, times = history(prior, 12)
    policy = dp.ABO(prior, lengthscale=LENGTHSCALE, form=form)
    belief = policy.prepare(times).belief
    state, now = learned(belief, arms, rewards, times), times[-1] + 0.7
    keys = jax.random.split(jax.random.key(0), 4000)
    draws = jax.jit(jax.vmap(lambda key: belief.sample(state, now, key)))(keys)
    mean, covariance, _ = joint_posterior(
        prior.gram, 0.01, prior.mean, "space-time", LENGTHSCALE, arms, rewards, times, now
    )
    spread = np.sqrt(covariance.diagonal() / 4000)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * spread).all()
    error = np.sqrt((np.outer(*[covariance.diagonal()] * 2) + covariance**2) / 4000)
    assert (np.abs(np.cov(draws.T) - covariance) < 5 * error).all()


@double_precision
def test_trials_with_different_counts_share_a_size():
    """The smallest size that holds the largest count; alone, the smallest for each."""

    def total(size, x):
        return x[:size].sum(), jnp.asarray(size)

    x, counts, sizes = jnp.arange(24.0).reshape(3, 8), jnp.array([1, 5, 3]), (2, 4, 6, 8)
    for count, size in ((1, 2), (2, 2), (3, 4), (8, 8)):
        assert in_room(jnp.asarray(count), sizes, total, x[0])[1] == size
    found = jax.jit(jax.vmap(lambda count, row: in_room(count, sizes, total, row)))(counts, x)
    np.testing.assert_array_equal(found[1], [6, 6, 6])
    np.testing.assert_array_equal(found[0], x[:, :6].sum(axis=1))
    shared = jax.vmap(lambda count: in_room(count, sizes, total, x[0]))(counts)
    np.testing.assert_array_equal(shared[1], [6, 6, 6])


def test_feature_space_is_refused():
    with pytest.raises(dp.DriftpeakError, match="SpaceTime requires function space"):
        dp.make_belief(prior_of(0.01), fg.SpaceTime(3.0), 9, form="feature-space")
