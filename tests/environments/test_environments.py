"""Environments are what the papers say: covariances, switches, straight lines, rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.gp import dynamics as motions, priors
from driftpeak.gp.gram import Gram, ToeplitzGram
from driftpeak.simulation._programs import advance, random_keys, start

PRIOR = dp.Prior(dp.Grid([0, 1], size=6), 2.0 * dp.SE(0.3), noise_variance=0.04, mean=1.5)


def test_markov_drift_has_the_stated_covariance_in_space_and_time():
    """cov(f_s(x), f_t(x')) = k(x, x') (1-e)^(|t-s|/2), mean m, from 20,000 independent worlds.

    An entry's standard error is at most sqrt(2) * 2 / sqrt(20,000) = 0.02; 0.1 is five of them:
    over the 18 x 18 entries a false alarm has a chance of 2e-4.

    Source: B16 section 2, (3)-(4), (22).
    """
    times, drift = np.array([1.0, 2.5, 6.0]), 0.2
    world = dp.MarkovDrift(PRIOR, drift=drift)
    draws = dp.true_functions(world, times=times, trials=20_000, seed=1).reshape(20_000, -1)
    in_time = (1 - drift) ** (np.abs(times[:, None] - times[None, :]) / 2)
    np.testing.assert_allclose(draws.mean(axis=0), 1.5, atol=0.07)
    np.testing.assert_allclose(np.cov(draws.T), np.kron(in_time, PRIOR.gram), atol=0.1)


@pytest.mark.parametrize(("trials", "steps"), [(2, 7), (100, 7), (300, 3)])
def test_functions_of_several_steps_at_once_are_those_of_step_after_step(trials, steps):
    """2 trials: all steps together; 100: two and two, and one that is left; 300: one by one."""
    world = jax.tree.map(jnp.asarray, dp.MarkovDrift(PRIOR, drift=0.2))
    times = jnp.arange(1.0, steps + 1)
    keys = random_keys(0, np.arange(trials)).world
    after, values, best = advance(world, start(world, keys), times)

    def alone(state, time):
        return jax.vmap(world.step, in_axes=(0, None))(state, time)

    end, expected = jax.jit(lambda state: jax.lax.scan(alone, state, times))(start(world, keys))
    np.testing.assert_allclose(values, expected, atol=1e-13)
    np.testing.assert_array_equal(best, values.max(axis=-1))
    np.testing.assert_allclose(after.components, end.components, atol=1e-13)


SUM = motions.SumMotion(
    [motions.MarkovMotion([0.3]), motions.DampedOscillator([4.0], [30.0]), motions.Matern32([0.5])],
    [1.0, 2.0, 1.0],
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "motion",
    [motions.Matern32([0.4]), motions.DampedOscillator([7.0], [np.inf]), SUM],
    ids=["momentum", "a lasting rhythm", "a sum"],
)
def test_a_moving_world_has_the_correlation_of_its_motion(motion):
    """cov(f_s(x), f_t(x')) = k(x, x') c(|t-s|), as above, at as many standard errors."""
    times = np.array([1.0, 2.5, 6.0])
    world = dp.environments.Moving(PRIOR, motion)
    draws = dp.true_functions(world, times=times, trials=20_000, seed=1).reshape(20_000, -1)
    elapsed = np.abs(times[:, None] - times[None, :])
    in_time = [[float(motion.correlation(v)[0]) for v in row] for row in elapsed]
    np.testing.assert_allclose(draws.mean(axis=0), 1.5, atol=0.07)
    np.testing.assert_allclose(np.cov(draws.T), np.kron(in_time, PRIOR.gram), atol=0.1)


def test_a_moving_world_is_drawn_anew_after_its_changes():
    still = motions.DampedOscillator([1e9], [np.inf])
    world = dp.environments.Moving(PRIOR, still, changes=[3, 5.5])
    functions = dp.true_functions(world, steps=8, seed=3)[0]
    moved = np.flatnonzero(np.abs(np.diff(functions, axis=0)).max(axis=1) > 1e-6) + 1
    np.testing.assert_array_equal(moved, [3, 5])


def test_what_all_points_share_makes_no_difference_between_them():
    """Differences are those of the world beneath; the mode has variance a^2 E exp(2bv), and, after
    a time, the correlation exp(-b^2 (1 - c_v)) c_u, c_u and c_v those of Markov drift."""
    beneath = dp.MarkovDrift(PRIOR, drift=0.2)
    size, b, times = 2.0, 0.3, np.array([1.0, 3.0])
    world = dp.environments.Bursts(beneath, size=size, burstiness=b, drift=0.4, burst_drift=0.1)
    draws = dp.true_functions(world, times=times, trials=20_000, seed=1)
    own = draws - draws[:, :, :1]
    shape = np.eye(6) - np.eye(6)[[0] * 6]
    np.testing.assert_allclose(
        np.cov(own[:, 0, 1:].T), (shape @ PRIOR.gram @ shape.T)[1:, 1:], atol=0.1
    )
    shared = np.cov(draws[:, :, 0].T) - 2.0 * np.array([[1, 0.8], [0.8, 1]])
    variance = size**2 * np.exp(2 * b**2)
    across = variance * 0.6 * np.exp(-(b**2) * (1 - 0.9))
    np.testing.assert_allclose(shared, [[variance, across], [across, variance]], atol=0.35)
    assert float(world.noise_variance) == 0.04


DRAWN = {
    "Moving": lambda **o: dp.environments.Moving(PRIOR, motions.Matern32([0.4]), **o),
    "MarkovDrift": lambda **o: dp.MarkovDrift(PRIOR, drift=0.3, **o),
    "InjectedDrift": lambda **o: dp.InjectedDrift(PRIOR, **o),
    "SignSwitches": lambda **o: dp.environments.SignSwitches(PRIOR, changes=[2], **o),
}


@pytest.mark.parametrize("name", DRAWN)
def test_functions_are_drawn_through_the_features_that_are_given(name):
    """Of one feature, which no draw from the whole prior follows, all functions are multiples."""
    one = dp.features.pivoted_cholesky(PRIOR.kernel, PRIOR.domain, rank=1)
    mean = 0.0 if name == "SignSwitches" else 1.5
    for features, follows in ((one, True), (None, False)):
        draws = dp.true_functions(DRAWN[name](features=features), times=4, trials=3, seed=1) - mean
        sizes = draws @ one.matrix / (one.matrix**2).sum()
        assert np.abs(sizes).min() > 1e-3
        assert np.allclose(draws, sizes @ one.matrix.T, atol=1e-12) == follows
    others = dp.features.eigen(PRIOR.kernel, dp.Grid([0, 1], size=7))
    with pytest.raises(
        dp.DriftpeakError,
        match="features must be for the 6 points of the prior; got features for 7",
    ):
        DRAWN[name](features=others)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("wrong", [np.eye(6), 3, "eigen"], ids=["array", "number", "text"])
@pytest.mark.usefixtures("without_type_checks")
def test_worlds_refuse_what_are_no_features(name, wrong):
    with pytest.raises(dp.DriftpeakError, match=r"features must be .*pivoted_cholesky"):
        DRAWN[name](features=wrong)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: dp.environments.Moving(PRIOR, motions.MarkovMotion([0.1, 0.2])),
            "a single motion; got 2",
        ),
        (lambda: dp.environments.Moving(PRIOR, SUM, changes=[3, 3]), "changes must increase"),
        (lambda: dp.environments.Bursts(dp.MarkovDrift(PRIOR, drift=0), size=-1), "size must be"),
        (lambda: dp.environments.Bursts(dp.MarkovDrift(PRIOR, drift=0), size=1, drift=2), "drift"),
    ],
)
def test_moving_worlds_refuse(make, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        make()


@pytest.mark.parametrize(("drift", "same"), [(0.0, True), (1.0, False)])
def test_markov_drift_extremes(drift, same):
    functions = dp.true_functions(dp.MarkovDrift(PRIOR, drift=drift), steps=3)[0]
    assert np.allclose(functions[0], functions[2]) == same


def test_abrupt_switches_happen_after_the_stated_times():
    """f_1 holds for t <= 100, f_2 for t <= 200, f_3 from then on (D22 section 7).

    Source: D22 section 7; IT25 section 6.
    """
    world = dp.AbruptSwitches(PRIOR, changes=[100, 200])
    functions = dp.true_functions(world, steps=300, seed=2)[0]
    changed = np.flatnonzero(np.abs(np.diff(functions, axis=0)).max(axis=1) > 0) + 1
    np.testing.assert_array_equal(changed, [100, 200])


def test_rkhs_functions_are_sums_of_kernels_with_uniform_coefficients():
    """Each is mean + K a: a has the chosen number of entries at most, each within [-1, 1] a draw;
    over many worlds the function at x has variance M/3 mean_i k(x, x_i)^2."""
    world = dp.AbruptSwitches(PRIOR, changes=[5], supports=4)
    values = dp.true_functions(world, steps=1, trials=20_000, seed=3)[:, 0]
    np.testing.assert_allclose(values.mean(axis=0), 1.5, atol=0.1)
    expected = 4 / 3 * (PRIOR.gram**2).mean(axis=0)
    np.testing.assert_allclose(values.var(axis=0), expected, rtol=0.06)


@pytest.mark.parametrize("segments", [1, 2])
def test_slow_change_moves_in_straight_lines(segments):
    """f_t = f_a + (f_b - f_a) t/T on each segment; it stands still after the horizon.

    Source: D22 section 7.
    """
    world = dp.SlowChange(PRIOR, horizon=40, segments=segments)
    functions = dp.true_functions(world, steps=50, seed=4)[0]
    bends = np.abs(np.diff(functions, n=2, axis=0)).max(axis=1)
    corners = np.flatnonzero(bends > 1e-12) + 2  # the step at which the direction changes
    np.testing.assert_array_equal(corners, [20, 40] if segments == 2 else [40])
    np.testing.assert_allclose(functions[39:], functions[39] * np.ones((11, 1)))


def test_a_table_is_read_row_by_row_without_noise():
    rewards = np.arange(12.0).reshape(4, 3)
    prior = dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3)), 0.1)
    world = dp.environments.RecordedRewards(rewards)
    runs = dp.simulate({"random": dp.UniformRandom(prior)}, world, steps=4, trials=2)
    chosen = runs["action"].values[0]
    np.testing.assert_array_equal(runs["reward"].values[0], rewards[np.arange(4), chosen])
    np.testing.assert_array_equal(runs["regret"].values[0], 2 - chosen)


def test_moving_coefficients_are_those_of_the_paper():
    """a(t) = 5 / lambda_max u / ||u||, u_i = sin(0.3 t + i): M25 section 4.1, written out.

    Source: M25 section 4.1.
    """
    centres = np.array([0, 2, 5])
    world = dp.MovingCoefficients(PRIOR, centres=centres)
    functions = dp.true_functions(world, steps=7, trials=2)
    among = PRIOR.gram[np.ix_(centres, centres)]
    for t in range(1, 8):
        u = np.sin(0.3 * t + np.array([1, 2, 3]))
        a = 5 / np.linalg.eigvalsh(among).max() * u / np.sqrt(np.sum(u**2))
        expected = 1.5 + sum(a[i] * PRIOR.gram[centres[i]] for i in range(3))
        np.testing.assert_allclose(functions[:, t - 1], [expected, expected])
        assert a @ among @ a <= 25  # the largest eigenvalue is above 1


def test_moving_coefficients_have_distinct_centres_of_their_own_in_every_trial():
    """With as many centres as points, every trial has all of them, in another order."""
    world = dp.MovingCoefficients(PRIOR, centres=6)
    functions = dp.true_functions(world, steps=1, trials=50)[:, 0]
    a = np.linalg.solve(PRIOR.gram, (functions - 1.5).T).T
    u = np.sin(0.3 + np.arange(1, 7))
    length = 5 / np.linalg.eigvalsh(PRIOR.gram).max()
    expected = np.sort(length * u / np.linalg.norm(u))
    np.testing.assert_allclose(np.sort(a, axis=1), np.tile(expected, (50, 1)), atol=1e-6)
    assert len({tuple(row) for row in a.round(3).tolist()}) > 40


PLANE = dp.Prior(dp.Grid([0, 1], [0, 1], size=[6, 7]), dp.Matern(1.5, 0.4), 0.01, mean=0.5)
OF_ROWS = {
    "AbruptSwitches": lambda prior: dp.AbruptSwitches(prior, changes=[2]),
    "SlowChange": lambda prior: dp.SlowChange(prior, horizon=3),
    "MovingCoefficients": lambda prior: dp.MovingCoefficients(prior, centres=5),
}


@pytest.mark.parametrize("name", OF_ROWS)
def test_on_many_points_functions_are_made_of_rows_as_they_are_asked_for(name, monkeypatch):
    """Beyond `MOST_PAIRED` points alike to rounding; up to there, bit by bit those of the matrix,
    also where policies would take rows already."""

    def drawn(many, most_paired):
        monkeypatch.setattr(priors, "MANY", many)
        monkeypatch.setattr(priors, "MOST_PAIRED", most_paired)
        prior = dp.Prior(PLANE.domain, PLANE.kernel, 0.01, mean=0.5)
        world = OF_ROWS[name](prior)
        return world, dp.true_functions(world, steps=4, trials=3, seed=6)

    matrix, expected = drawn(100, 100)
    listed, same = drawn(20, 42)
    rows, close = drawn(20, 41)
    assert isinstance(matrix.pairs, Gram)
    assert isinstance(listed.pairs, Gram)
    assert isinstance(rows.pairs, ToeplitzGram)
    np.testing.assert_array_equal(same, expected)
    np.testing.assert_allclose(close, expected, atol=1e-12)


def test_moving_coefficients_on_a_hundred_thousand_points():
    """Whose covariance would take 74 GiB; against the formula at some of the points."""
    grid, centres = dp.Grid([0, 1], [0, 1], size=316), np.array([7, 50_000, 99_000])
    world = dp.MovingCoefficients(dp.Prior(grid, dp.SE(0.2), 0.01), centres=centres)
    found = dp.true_functions(world, steps=1)[0, 0]
    some = np.array([0, 7, 31_234, 99_855])
    gaps = grid.points[centres][:, None] - grid.points[np.concatenate([centres, some])]
    kernel = np.exp(-(gaps**2).sum(axis=-1) / (2 * 0.2**2))
    u = np.sin(0.3 + np.array([1, 2, 3]))
    a = 5 / np.linalg.eigvalsh(kernel[:, :3]).max() * u / np.sqrt(np.sum(u**2))
    np.testing.assert_allclose(found[some], a @ kernel[:, 3:], atol=1e-12)


def test_many_points_without_a_closed_form_are_refused_for_worlds_too():
    scattered = dp.Arms(np.random.default_rng(0).random((50_001, 2)))
    prior = dp.Prior(scattered, dp.Matern(4.0, 0.3), 0.01)
    with pytest.raises(
        dp.DriftpeakError, match=r"environments do not need it if the kernel has a closed form"
    ):
        dp.AbruptSwitches(prior, changes=[2])


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_injected_drift_satisfies_assumption_2(exponent):
    """Var(f_s(x) - f_t(x)) = 0.04 * 3 |s - t|^alpha with the kernel's correlation between points,
    and f at the first time from the prior: 8,000 worlds. A variance's relative standard error is
    sqrt(2 / 8,000) = 0.016; 0.09 is more than five of them.

    Source: M25 Assumption 2, (7).
    """
    times = np.array([3.0, 4.0, 4.5, 9.0, 9.0])
    world = dp.InjectedDrift(PRIOR, exponent=exponent, slope=3.0)
    draws = dp.true_functions(world, times=times, trials=8_000, seed=2)
    np.testing.assert_allclose(np.cov(draws[:, 0].T), PRIOR.gram, atol=0.18)
    for s in range(5):
        for t in range(s):
            gaps = draws[:, s] - draws[:, t]
            expected = 0.12 * (times[s] - times[t]) ** exponent
            np.testing.assert_allclose(gaps.var(axis=0), expected, rtol=0.09, atol=1e-12)
    correlation = PRIOR.gram / 2.0
    np.testing.assert_allclose(np.corrcoef((draws[:, 3] - draws[:, 0]).T), correlation, atol=0.06)


def test_injected_drift_is_a_straight_line_at_the_limit():
    draws = dp.true_functions(dp.InjectedDrift(PRIOR, exponent=2.0), steps=9)[0]
    assert np.abs(np.diff(draws, n=2, axis=0)).max() < 1e-6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dp.MarkovDrift(PRIOR, drift=-0.1), r"drift must lie in \[0, 1\]; got -0.1"),
        (lambda: dp.AbruptSwitches(PRIOR, changes=[5, 5]), "changes must increase"),
        (lambda: dp.AbruptSwitches(PRIOR, changes=[5], supports=0), "supports must be"),
        (
            lambda: dp.SlowChange(PRIOR, horizon=0),
            "horizon must be a finite number of at least 1; got 0",
        ),
        (lambda: dp.InjectedDrift(PRIOR, exponent=2.1), r"exponent must lie in \(0, 2\]; got 2.1"),
        (lambda: dp.InjectedDrift(PRIOR, exponent=0.0), r"exponent must lie in \(0, 2\]; got 0.0"),
        (lambda: dp.InjectedDrift(PRIOR, slope=-1.0), "slope must be .*at least 0; got -1.0"),
        (lambda: dp.MovingCoefficients(PRIOR, centres=7), "centres must be at most 6, .*got 7"),
        (lambda: dp.MovingCoefficients(PRIOR, centres=0), "centres must be .*at least 1; got 0"),
        (lambda: dp.MovingCoefficients(PRIOR, centres=[1, 6]), r"indices of points in 0\.\.5"),
        (lambda: dp.MovingCoefficients(PRIOR, norm=0.0), "norm must be .*above 0; got 0.0"),
        (lambda: dp.environments.RecordedRewards(np.ones((3, 1))), "at least 1 step and 2 arms"),
        (
            lambda: dp.environments.RecordedRewards([[1.0, np.nan]]),
            "rewards must be .*nan at index",
        ),
        (lambda: dp.environments.RecordedRewards(np.eye(2), noise_variance=-1), "noise_variance"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        make()
