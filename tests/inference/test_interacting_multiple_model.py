"""The bank of beliefs against dense Gaussian processes, enumeration and explicit mixtures."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compiled_beliefs import seen, told
from scipy import stats

import driftpeak as dp
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.numerics.precision import double_precision
from driftpeak.gp.dynamics import HORIZONS, DampedOscillator, MarkovMotion, Matern32, SumMotion
from driftpeak.gp.features import eigen
from driftpeak.inference.imm import (
    InteractingMultipleModel,
    Level,
    after_rows,
    level as level_module,
    scale as scale_module,
)
from driftpeak.inference.imm.scale import Scale

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


def make_bank(series=1):
    motions = (MarkovMotion(DRIFTS), Matern32(RATES))
    return InteractingMultipleModel(PRIOR, motions, PRIOR.features, series=series)


def learned(models, times, arms, rewards):
    update = eqx.filter_jit(models.update)
    state, before = models.init(), 0.0
    for time, arm, reward in zip(times, arms, rewards, strict=True):
        observed = jnp.array([reward, 1.0])[: models.series]
        state = update(state, jnp.asarray(arm), observed, PRIOR.noise_variance, time - before)
        before = time
    return state


@pytest.mark.slow
@double_precision
def test_every_member_is_a_gaussian_process_in_space_and_time():
    """Kalman filters against dense regression with the product kernel, at irregular times."""
    models, (times, arms, rewards) = make_bank(), history()
    state = learned(models, times, arms, rewards)
    forecast = models.posterior(state, 0.7)
    for member in range(models.count):
        mean, covariance, _ = dense(member, times, arms, rewards, times[-1] + 0.7)
        np.testing.assert_allclose(forecast.mean[member, 0], mean, atol=1e-7)
        np.testing.assert_allclose(forecast.variance[member], covariance.diagonal(), atol=1e-8)
        one = models.forecast(state, 5, 0.7)
        np.testing.assert_allclose(one.mean[member, 0], mean[5], atol=1e-7)


@pytest.mark.slow
@double_precision
def test_momentum_goes_on():
    """After a steady rise a member with momentum expects more of it, Markov drift does not."""
    models = make_bank()
    times, arms = np.arange(1.0, 31.0), np.full(30, 4)
    state = learned(models, times, arms, 0.05 * times)
    ahead = np.asarray(models.forecast(state, 4, 5.0).mean)[:, 0]
    now = np.asarray(models.forecast(state, 4, 0.0).mean)[:, 0]
    assert ahead[3] > now[3] + 0.1
    assert (ahead[:3] <= now[:3] + 1e-12).all()


@double_precision
def test_equal_forgetting_means_equal_half_lives():
    """`drift` of a momentum member: both correlations are 1/2 after the same time."""
    motion = Matern32(RATES)
    for rate, drift in zip(RATES, np.asarray(motion.drift), strict=True):
        half = np.log(0.5) / np.log(1 - drift) * 2
        assert (1 + rate * half) * np.exp(-rate * half) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.slow
@double_precision
def test_mixing_matches_the_moments_of_the_mixture():
    """Against explicit sums over components, function and derivative jointly, in the features."""
    models, amplitude, switching = make_bank(series=2), 2.5, 0.2
    shares = np.array([1.0, -0.7])  # given a level of 0.7
    state = learned(models, *history())
    weights = np.array([0.1, 0.4, 0.2, 0.25, 0.05])
    mixed, fresh = models.mix(
        state, jnp.asarray(weights), switching, amplitude, jnp.asarray(shares)
    )
    k, r = models.count, PRIOR.features.rank
    chance = np.where(np.eye(k, dtype=bool), 1 - switching, switching / (k - 1))
    source = chance * weights[:, None]
    source = source / source.sum(axis=0)
    np.testing.assert_allclose(fresh, 1 - source.diagonal())

    means = np.concatenate([shares @ np.asarray(kind.mean[0]) for kind in state])
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
                    both = [shares @ np.asarray(m)[own] for m in before.mean]
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
        found = np.concatenate([shares @ np.asarray(m)[own] for m in kind.mean])
        np.testing.assert_allclose(found, expected, atol=1e-10)
        blocks = [[np.asarray(x)[own] for x in row] for row in kind.covariance]
        if smooth >= 0:
            (a, b), (c,) = blocks
            whole = np.block([[a, b], [b.T, c]])
        else:
            [[whole]] = blocks
        np.testing.assert_allclose(amplitude * whole, second, atol=1e-9)
        values = PRIOR.features.matrix @ expected[:r]
        np.testing.assert_allclose(shares @ np.asarray(kind.values[0])[own], values, atol=1e-9)
        variances = ((PRIOR.features.matrix @ second[:r, :r]) * PRIOR.features.matrix).sum(axis=1)
        np.testing.assert_allclose(
            amplitude * np.asarray(kind.variances[0][0])[own], variances, atol=1e-7
        )


@pytest.mark.slow
@double_precision
def test_refresh_only_removes_rounding():
    models = make_bank()
    state = learned(models, *history())
    state, _ = models.mix(state, jnp.full(models.count, 0.2), 0.3, 1.0, jnp.ones(1))
    after = models.refresh(state)
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


PURE = {
    "learn_scale": False,
    "learn_level": False,
    "outlier": np.inf,
    "features": PRIOR.features,
}


@pytest.mark.slow
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


@pytest.mark.slow
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
            belief = told(alone.belief, belief, arm, reward, time)
        posterior = seen(alone.belief, belief, times[-1] + 1)
        np.testing.assert_allclose(forecast.mean[member, 0], posterior.mean, atol=1e-10)
        np.testing.assert_allclose(forecast.variance[member], posterior.variance, atol=1e-10)


@pytest.mark.slow
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


@pytest.mark.slow
@double_precision
def test_an_unknown_level_is_a_constant_with_a_wide_prior():
    """Under each deviation of the level: dense regression with that variance added to the kernel,
    and chances in proportion to its marginal likelihoods."""
    models, (times, arms, rewards) = make_bank(series=2), history(12)
    rewards = rewards + 7.0
    amplitude, level = 1.7, Level(float(PRIOR.variance.mean()))

    @eqx.filter_jit
    def hear(state, known, arm, reward, elapsed):
        forecast = models.forecast(state, arm, elapsed)
        known = level.update(
            known,
            reward - forecast.mean[:, 0],
            1 - forecast.mean[:, 1],
            forecast.variance + PRIOR.noise_variance,
        )
        observed = jnp.array([reward, 1.0])
        return models.update(state, arm, observed, PRIOR.noise_variance, elapsed), known

    state, known, before = models.init(), level.init(models.count), 0.0
    for time, arm, reward in zip(times, arms, rewards, strict=True):
        state, known = hear(state, known, jnp.asarray(arm), jnp.asarray(reward), time - before)
        before = time
    found, forecast = level.given(known, amplitude), models.posterior(state, 0.7)
    lift = 1 - forecast.mean[:, 1]
    for member in range(models.count):
        between = np.vectorize(lambda lag, member=member: correlation(member, lag))
        evidence = []
        for place, deviation in enumerate(level_module.DEVIATIONS):
            wide = deviation**2 * PRIOR.variance.mean()
            gram = PRIOR.gram[np.ix_(arms, arms)] * between(times[:, None] - times[None, :])
            gram = gram + PRIOR.noise_variance * np.eye(len(arms)) + wide
            cross = PRIOR.gram[:, arms] * between(times[-1] + 0.7 - times)[None, :] + wide
            mean = cross @ np.linalg.solve(gram, rewards)
            variance = PRIOR.variance + wide - (cross @ np.linalg.solve(gram, cross.T)).diagonal()
            own = forecast.mean[member, 0] + found.mean[member, place] * lift[member]
            np.testing.assert_allclose(own, mean, atol=1e-6)
            own = forecast.variance[member] + found.variance[member, place] * lift[member] ** 2
            np.testing.assert_allclose(own, variance, atol=1e-6)
            scaled = stats.multivariate_normal(np.zeros(len(arms)), amplitude * gram)
            evidence.append(np.log(level_module.CHANCES[place]) + scaled.logpdf(rewards))
        chance = np.exp(evidence - np.logaddexp.reduce(evidence))
        np.testing.assert_allclose(found.chance[member], chance, rtol=1e-5, atol=1e-9)


@pytest.mark.slow
@double_precision
def test_the_scale_is_bayes_rule_on_a_grid():
    """Gaussian within three deviations, a power law beyond, no surprise below the least noise, a
    chance of a new scale, and a mixture over two levels."""
    scale = Scale()
    state, posterior = scale.init(), scale.prior.copy()
    generator = np.random.default_rng(2)
    expected_amplitude = 1.0
    for surprise, variance in ((0.3, 0.2), (-0.1, 0.05), (0.0, 0.01), (40.0, 0.4)):
        surprises, variances = np.array([surprise, surprise - 1]), np.array([variance, 0.3])
        chance = generator.dirichlet(np.ones(2), len(scale.amplitudes))
        state = scale.update(state, *map(jnp.asarray, (surprises, variances, chance)), 0.1)
        likelihood = 0.0
        least = expected_amplitude * 0.1 * np.exp(scale.ratios[0])
        for place in range(2):
            spread = variances[place] + 0.1 * np.exp(scale.ratios)
            deviation = np.sqrt(np.exp(scale.amplitudes)[:, None] * spread)
            away = np.sqrt(surprises[place] ** 2 + least) / deviation
            gaussian = np.exp(-(np.minimum(away, scale_module.GAUSSIAN) ** 2) / 2) / deviation
            tail = np.maximum(away / scale_module.GAUSSIAN, 1) ** -9.0
            likelihood = likelihood + chance[:, place, None] * gaussian * tail
        change = scale_module.CHANGE
        posterior = ((1 - change) * posterior + change * scale.prior) * likelihood
        posterior = posterior / posterior.sum()
        expected_amplitude = np.exp(posterior.sum(axis=1) @ scale.amplitudes)
    np.testing.assert_allclose(state.posterior, posterior, rtol=1e-9, atol=1e-15)
    amplitudes, ratios = posterior.sum(axis=1), posterior.sum(axis=0)
    np.testing.assert_allclose(state.amplitude, np.exp(amplitudes @ scale.amplitudes), rtol=1e-9)
    np.testing.assert_allclose(state.ratio, np.exp(ratios @ scale.ratios), rtol=1e-9)
    beyond = amplitudes[np.exp(scale.amplitudes) > state.ceiling * (1 + 1e-9)].sum()
    assert beyond <= scale_module.UNLIKELY


SUM = SumMotion(
    [
        MarkovMotion([0.02, 0.3]),
        Matern32([0.1, 0.05]),
        DampedOscillator([7.0, 12.0], [40.0, np.inf]),
    ],
    [[0.3, 0.3, 0.4], [0.5, 0.0, 1.5]],
)


def of_sum(member, lag):
    """The weighted sum of the parts' correlations."""
    lag, weights = abs(lag), ([0.3, 0.3, 0.4], [0.25, 0.0, 0.75])[member]
    markov = (1 - [0.02, 0.3][member]) ** (lag / 2)
    moved = [0.1, 0.05][member] * lag
    life, period = [40.0, np.inf][member], [7.0, 12.0][member]
    parts = (
        markov,
        (1 + moved) * np.exp(-moved),
        np.exp(-lag / life) * np.cos(2 * np.pi * lag / period),
    )
    return float(np.dot(weights, parts))


@pytest.mark.slow
@double_precision
def test_sums_of_motions_are_gaussian_processes():
    """Five components as a Kalman filter, against dense regression with the summed correlation:
    posterior, and covariance of the function with itself later."""
    models, (times, arms, rewards) = (
        InteractingMultipleModel(PRIOR, (SUM,), PRIOR.features),
        history(),
    )
    state, horizons = learned(models, times, arms, rewards), [3.0, 10.0]
    forecast = models.posterior(state, 0.7)
    later = models.persistence(state, 0.7, horizons)
    now = times[-1] + 0.7
    for member in range(2):
        between = np.vectorize(lambda lag, member=member: of_sum(member, lag))
        gram = PRIOR.gram[np.ix_(arms, arms)] * between(times[:, None] - times[None, :])
        gram = gram + PRIOR.noise_variance * np.eye(len(arms))

        def cross(at, between=between):
            return PRIOR.gram[:, arms] * between(at - times)[None, :]

        solved = np.linalg.solve(gram, cross(now).T)
        np.testing.assert_allclose(forecast.mean[member, 0], rewards @ solved, atol=1e-7)
        variance = PRIOR.variance - (cross(now) * solved.T).sum(axis=1)
        np.testing.assert_allclose(forecast.variance[member], variance, atol=1e-7)
        each = [
            PRIOR.variance * of_sum(member, h) - (cross(now + h) * solved.T).sum(axis=1)
            for h in horizons
        ]
        np.testing.assert_allclose(later[member], np.abs(each).mean(axis=0), atol=1e-7)


@double_precision
def test_persistence_of_a_rhythm_does_not_cancel():
    """Before any observation the covariance h steps ahead is the prior variance times
    cos(2 pi h / P): at P = 24 the horizons 24, 36, ..., 96 alternate between 1 and -1."""
    periods = np.array([12.0, 24.0, 48.0, 31.0])
    models = InteractingMultipleModel(
        PRIOR, (DampedOscillator(periods, np.full(4, np.inf)),), PRIOR.features
    )
    expected = np.abs(np.cos(2 * np.pi * np.outer(HORIZONS, 1 / periods))).mean(axis=0)
    np.testing.assert_allclose(expected[:2], 1.0)
    found = models.persistence(models.init(), 0.0, HORIZONS)
    np.testing.assert_allclose(found, expected[:, None] * PRIOR.variance, rtol=1e-9)


@pytest.mark.slow
@double_precision
def test_mixing_sums_mixes_the_function():
    """What is seen of a sum after mixing has the moments of the mixture of what the members saw."""
    models = InteractingMultipleModel(PRIOR, (MarkovMotion(DRIFTS), SUM), PRIOR.features)
    state = learned(models, *history())
    weights = np.array([0.1, 0.4, 0.2, 0.25, 0.05])
    before = models.posterior(state, 0.0)
    mixed, _ = models.mix(state, jnp.asarray(weights), 0.2, 1.0, jnp.ones(1))
    found = models.posterior(mixed, 0.0)
    chance = np.where(np.eye(5, dtype=bool), 0.8, 0.05) * weights[:, None]
    source = (chance / chance.sum(axis=0)).T
    means, variances = np.asarray(before.mean)[:, 0], np.asarray(before.variance)
    expected = source @ means
    spread = source @ (variances + means**2) - expected**2
    np.testing.assert_allclose(found.mean[:, 0], expected, atol=1e-9)
    np.testing.assert_allclose(found.variance, spread, atol=1e-7)
    again = models.posterior(models.refresh(mixed), 0.0)
    np.testing.assert_allclose(again.variance, found.variance, atol=1e-7)


@double_precision
def test_a_sum_forgets_as_fast_as_its_half_life():
    motion = SumMotion([MarkovMotion([0.001]), MarkovMotion([0.2])], [0.6, 0.4])
    drift = float(motion.drift[0])
    half = 2 * np.log(0.5) / np.log1p(-drift)
    np.testing.assert_allclose(motion.correlation(half), 0.5, atol=1e-9)


@pytest.mark.slow
def test_bad_motions():
    for make, message in (
        (lambda: DampedOscillator([0.0], [1.0]), "periods must be .* above 0"),
        (lambda: DampedOscillator([5.0], [-1.0]), "lifetimes must be 1 numbers above 0"),
        (lambda: SumMotion([], []), "motions must have at least one part"),
        (lambda: SumMotion([MarkovMotion([0.1])], [1.0, 2.0]), "weights must be 1 numbers"),
        (
            lambda: SumMotion([MarkovMotion([0.1]), MarkovMotion([0.1, 0.2])], [1, 1]),
            "equal numbers",
        ),
    ):
        with pytest.raises(DriftpeakError, match=message):
            make()
    with pytest.raises(DriftpeakError, match=r"drifts must be .* in \[0, 1\]"):
        MarkovMotion([0.1, 1.2])
    with pytest.raises(DriftpeakError, match=r"rates must be .* above 0"):
        Matern32([0.0])


@pytest.mark.slow
def test_complete_rows_give_the_posterior_of_a_dense_gaussian_process():
    """Rows of all points, for a kind of motion with one component and a kind with three."""
    motions = (
        MarkovMotion(DRIFTS),
        SumMotion([MarkovMotion([0.02]), DampedOscillator([6.0], [20.0])], [0.7, 0.3]),
    )
    features = eigen(PRIOR.kernel, PRIOR.domain)
    bank = InteractingMultipleModel(PRIOR, motions, features, series=2)
    steps, n = 6, len(PRIOR)
    rows = np.random.default_rng(4).normal(size=(steps, n))
    noise = PRIOR.noise_variance
    starts = [after_rows(motion, np.asarray(features.matrix), rows, noise) for motion in motions]
    forecast = bank.posterior(bank.resume(starts), 2.0)

    def within(lag):
        return [*((1 - np.array(DRIFTS)) ** (abs(lag) / 2)),
                0.7 * 0.98 ** (abs(lag) / 2)
                + 0.3 * np.cos(2 * np.pi * lag / 6) * np.exp(-abs(lag) / 20)]  # fmt: skip

    for member in range(len(DRIFTS) + 1):
        lags = np.subtract.outer(np.arange(steps), np.arange(steps))
        between = np.vectorize(lambda lag, member=member: within(lag)[member])(lags)
        gram = np.kron(between, PRIOR.gram) + noise * np.eye(steps * n)
        ahead = np.array([within(steps + 1 - t)[member] for t in range(steps)])
        cross = np.kron(ahead, PRIOR.gram)
        mean = cross @ np.linalg.solve(gram, rows.ravel())
        variance = (PRIOR.gram - cross @ np.linalg.solve(gram, cross.T)).diagonal()
        np.testing.assert_allclose(forecast.mean[member, 0], mean, atol=1e-8)
        np.testing.assert_allclose(forecast.variance[member], variance, atol=1e-8)
    np.testing.assert_array_equal(forecast.mean[:, 1], 0)  # no response to a constant yet
