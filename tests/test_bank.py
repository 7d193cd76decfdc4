"""The bank of beliefs against dense Gaussian processes, enumeration and explicit mixtures."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import driftpeak as dp
from driftpeak.bank import Bank, MarkovMotion, SmoothMotion
from driftpeak.bank import scale as scale_module
from driftpeak.bank.scale import Scale
from driftpeak.errors import DriftpeakError
from driftpeak.numerics.precision import double_precision

POINTS = np.random.default_rng(1).uniform(0, 1, (12, 2))
PRIOR = dp.Prior(dp.Arms(POINTS), dp.SE(0.4), noise_variance=0.05)
DRIFTS = (0.0, 0.03, 0.4)
RATES = (0.02, 0.3)


def correlation(member, lag):
    """In time, of the members in the bank's order: Markov drift, then Matern-3/2."""
    if member < len(DRIFTS):
        return (1 - DRIFTS[member]) ** (abs(lag) / 2)
    moved = RATES[member - len(DRIFTS)] * abs(lag)
    return (1 + moved) * np.exp(-moved)


def history(steps=25, seed=0):
    generator = np.random.default_rng(seed)
    times = np.cumsum(generator.exponential(1.0, steps))
    arms = generator.integers(0, len(PRIOR), steps)
    return (
        times,
        arms,
        np.sin(5 * POINTS[arms, 0] + 0.1 * times) + 0.2 * generator.normal(size=steps),
    )


def dense(member, times, arms, rewards, at):
    """Posterior mean and covariance of all points at time `at`, and log marginal likelihood."""
    between = np.vectorize(lambda lag: correlation(member, lag))
    gram = PRIOR.gram[np.ix_(arms, arms)] * between(times[:, None] - times[None, :])
    gram = gram + PRIOR.noise_variance * np.eye(len(arms))
    cross = PRIOR.gram[:, arms] * between(at - times)[None, :]
    mean = cross @ np.linalg.solve(gram, rewards)
    covariance = PRIOR.gram - cross @ np.linalg.solve(gram, cross.T)
    likelihood = stats.multivariate_normal(np.zeros(len(arms)), gram).logpdf(rewards)
    return mean, covariance, likelihood


def make_bank():
    return Bank(PRIOR, (MarkovMotion(DRIFTS), SmoothMotion(RATES)), PRIOR.features)


def learned(bank, times, arms, rewards):
    update = eqx.filter_jit(bank.update)
    state, before = bank.init(), 0.0
    for time, arm, reward in zip(times, arms, rewards, strict=True):
        state = update(state, jnp.asarray(arm), reward, PRIOR.noise_variance, time - before)
        before = time
    return state


@double_precision
def test_every_member_is_a_gaussian_process_in_space_and_time():
    """Kalman filters against dense regression with the product kernel, at irregular times."""
    bank, (times, arms, rewards) = make_bank(), history()
    state = learned(bank, times, arms, rewards)
    forecast = bank.posterior(state, 0.7)
    for member in range(bank.count):
        mean, covariance, _ = dense(member, times, arms, rewards, times[-1] + 0.7)
        np.testing.assert_allclose(forecast.mean[member], mean, atol=1e-7)
        np.testing.assert_allclose(forecast.variance[member], covariance.diagonal(), atol=1e-8)
        one = bank.forecast(state, 5, 0.7)
        np.testing.assert_allclose(one.mean[member], mean[5], atol=1e-7)


@double_precision
def test_momentum_goes_on():
    """After a steady rise a member with momentum expects more of it, Markov drift does not."""
    bank = make_bank()
    times, arms = np.arange(1.0, 31.0), np.full(30, 4)
    state = learned(bank, times, arms, 0.05 * times)
    ahead = np.asarray(bank.forecast(state, 4, 5.0).mean)
    now = np.asarray(bank.forecast(state, 4, 0.0).mean)
    assert ahead[3] > now[3] + 0.1
    assert (ahead[:3] <= now[:3] + 1e-12).all()


@double_precision
def test_equal_forgetting_means_equal_half_lives():
    """`drift` of a momentum member: both correlations are 1/2 after the same time."""
    motion = SmoothMotion(RATES)
    for rate, drift in zip(RATES, np.asarray(motion.drift), strict=True):
        half = np.log(0.5) / np.log(1 - drift) * 2
        assert (1 + rate * half) * np.exp(-rate * half) == pytest.approx(0.5, abs=1e-12)


@double_precision
def test_mixing_matches_the_moments_of_the_mixture():
    """Against explicit sums over components, function and derivative jointly, in the features."""
    bank, amplitude, switching = make_bank(), 2.5, 0.2
    state = learned(bank, *history())
    weights = np.array([0.1, 0.4, 0.2, 0.25, 0.05])
    mixed, fresh = bank.mix(state, jnp.asarray(weights), switching, amplitude)
    k, r = bank.count, PRIOR.features.rank
    chance = np.where(np.eye(k, dtype=bool), 1 - switching, switching / (k - 1))
    source = chance * weights[:, None]
    source = source / source.sum(axis=0)
    np.testing.assert_allclose(fresh, 1 - source.diagonal())

    means = np.concatenate([np.asarray(kind.mean[0]) for kind in state])
    covariances = np.concatenate([np.asarray(kind.covariance[0][0]) for kind in state])
    for j in range(k):
        smooth = j - len(DRIFTS)
        kind = mixed[int(smooth >= 0)]
        own = smooth if smooth >= 0 else j
        components = []
        for i in range(k):
            mean, covariance = means[i], covariances[i]
            if smooth >= 0:  # the derivative: its own, or the prior's
                before = state[1]
                if i == j:
                    both = [np.asarray(m)[own] for m in before.mean]
                    (a, b), (c,) = (
                        tuple(np.asarray(x)[own] for x in row) for row in before.covariance
                    )
                    mean, covariance = np.concatenate(both), np.block([[a, b], [b.T, c]])
                else:
                    mean = np.concatenate([mean, np.zeros(r)])
                    covariance = np.block(
                        [[covariance, np.zeros((r, r))], [np.zeros((r, r)), np.eye(r)]]
                    )
            components.append((source[i, j], mean, amplitude * covariance))
        expected = sum(w * m for w, m, _ in components)
        second = sum(w * (c + np.outer(m - expected, m - expected)) for w, m, c in components)
        found = np.concatenate([np.asarray(m)[own] for m in kind.mean])
        np.testing.assert_allclose(found, expected, atol=1e-10)
        blocks = [[np.asarray(x)[own] for x in row] for row in kind.covariance]
        if smooth >= 0:
            (a, b), (c,) = blocks
            whole = np.block([[a, b], [b.T, c]])
        else:
            [[whole]] = blocks
        np.testing.assert_allclose(amplitude * whole, second, atol=1e-9)
        values = PRIOR.features.matrix @ expected[:r]
        np.testing.assert_allclose(np.asarray(kind.values[0])[own], values, atol=1e-9)
        variances = ((PRIOR.features.matrix @ second[:r, :r]) * PRIOR.features.matrix).sum(axis=1)
        np.testing.assert_allclose(
            amplitude * np.asarray(kind.variances[0][0])[own], variances, atol=1e-7
        )


@double_precision
def test_refresh_only_removes_rounding():
    bank = make_bank()
    state = learned(bank, *history())
    state, _ = bank.mix(state, jnp.full(bank.count, 0.2), 0.3, 1.0)
    after = bank.refresh(state)
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)


def run(policy, times, arms, rewards):
    """The state of a policy that was told a history that is not of its choosing."""
    policy = policy.prepare(times)
    ask, tell = eqx.filter_jit(policy.ask), eqx.filter_jit(policy.tell)
    state = policy.init(jax.random.key(0))
    for time, arm, reward in zip(times, arms, rewards, strict=True):
        state, _ = ask(state, time)
        state = tell(state, jnp.asarray(arm), reward, time)
    return state


PURE = {"learn_scale": False, "outlier": np.inf, "features": PRIOR.features}


@double_precision
def test_weights_are_the_marginal_likelihoods():
    """No leak, no switching: Bayes' rule over the members, from dense marginal likelihoods."""
    times, arms, rewards = history()
    times = np.arange(1.0, len(times) + 1)
    policy = dp.Auto(PRIOR, drifts=DRIFTS, rates=RATES, leak=0.0, switching=0.0, **PURE)
    weights = run(policy, times, arms, rewards).weights
    logs = [dense(member, times, arms, rewards, times[-1])[2] for member in range(5)]
    expected = np.exp(logs - np.logaddexp.reduce(logs))
    np.testing.assert_allclose(weights, expected, rtol=1e-6)


@double_precision
def test_leaking_weights_sum_over_all_sequences_of_members():
    """With a leak, the weights are those of a hidden member that is drawn anew with probability s:
    all 3^6 sequences are enumerated."""
    steps, leak = 6, 0.2
    _, arms, rewards = history(steps)
    times = np.arange(1.0, steps + 1)
    policy = dp.Auto(PRIOR, drifts=DRIFTS, rates=(), leak=leak, switching=0.0, **PURE)
    found = run(policy, times, arms, rewards).weights
    predictive = np.zeros((steps, 3))
    for member in range(3):
        logs = [0.0] + [
            dense(member, times[:t], arms[:t], rewards[:t], times[-1])[2]
            for t in range(1, steps + 1)
        ]
        predictive[:, member] = np.diff(logs)
    totals = np.zeros(3)
    for path in itertools.product(range(3), repeat=steps + 1):
        chance = 1 / 3
        for t in range(steps):
            chance *= np.exp(predictive[t, path[t]])
            chance *= (1 - leak) * (path[t] == path[t + 1]) + leak / 3
        totals[path[-1]] += chance
    np.testing.assert_allclose(found, totals / totals.sum(), rtol=1e-6)


@double_precision
def test_without_switching_members_are_independent_tv_gp_ucb_beliefs():
    times, arms, rewards = history()
    times = np.arange(1.0, len(times) + 1)
    policy = dp.Auto(PRIOR, drifts=DRIFTS, rates=(), switching=0.0, **PURE)
    state = run(policy, times, arms, rewards)
    forecast = policy.banks[0].posterior(state.banks[0], 1.0)
    for member, drift in enumerate(DRIFTS):
        alone = dp.TVGPUCB(PRIOR, drift=drift, form="feature-space").prepare(times)
        belief = alone.belief.init()
        for time, arm, reward in zip(times, arms, rewards, strict=True):
            belief = alone.belief.update(belief, jnp.asarray(arm), reward, time)
        posterior = alone.belief.posterior(belief, times[-1] + 1)
        np.testing.assert_allclose(forecast.mean[member], posterior.mean, atol=1e-10)
        np.testing.assert_allclose(forecast.variance[member], posterior.variance, atol=1e-10)


def test_one_member_is_tv_gp_ucb():
    """Same decisions and rewards, step by step, while 0.8 log 4t is below the cap on the width."""
    world = dp.MarkovDrift(PRIOR, drift=0.001)
    one = dp.Auto(PRIOR, drifts=(0.001,), rates=(), **PURE)
    tv = dp.TVGPUCB(PRIOR, drift=0.001, form="feature-space")
    runs = dp.simulate({"auto": one, "tv": tv}, world, steps=90, trials=10)
    np.testing.assert_array_equal(
        runs["action"].sel(policy="auto"), runs["action"].sel(policy="tv")
    )
    assert len(np.unique(runs["action"])) > 5


@double_precision
def test_the_scale_is_bayes_rule_on_a_grid():
    """Gaussian within three deviations, a power law beyond, and a chance of a new scale."""
    scale = Scale()
    state = scale.init()
    log_posterior = scale.log_prior.copy()
    for surprise, variance in ((0.3, 0.2), (-0.1, 0.05), (0.2, 0.4)):
        state = scale.update(state, surprise, variance, 0.1)
        deviation = np.sqrt(np.exp(scale.amplitudes) * (variance + 0.1 * np.exp(scale.ratios)))
        share = scale_module.CHANGE
        posterior = (1 - share) * np.exp(log_posterior) + share * np.exp(scale.log_prior)
        within = np.abs(surprise) / deviation < scale_module.GAUSSIAN
        gaussian = stats.norm(0, deviation).logpdf(surprise)
        tail = stats.norm(0, deviation).logpdf(3 * deviation) - 9 * np.log(
            np.abs(surprise) / deviation / 3
        )
        log_posterior = np.log(posterior) + np.where(within, gaussian, tail)
        log_posterior -= np.logaddexp.reduce(log_posterior)
    posterior = np.exp(log_posterior)
    np.testing.assert_allclose(state.amplitude, np.exp(posterior @ scale.amplitudes), rtol=1e-9)
    np.testing.assert_allclose(state.ratio, np.exp(posterior @ scale.ratios), rtol=1e-9)


def test_bad_motions():
    with pytest.raises(DriftpeakError, match=r"drifts must be .* in \[0, 1\]"):
        MarkovMotion([0.1, 1.2])
    with pytest.raises(DriftpeakError, match=r"rates must be .* above 0"):
        SmoothMotion([0.0])
