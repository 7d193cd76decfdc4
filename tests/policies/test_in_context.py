"""Policies and worlds in contexts, against dense formulas of all cells."""

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.environments import RecordedRewards

STEPS = 40
LINE = dp.Grid([0, 1], size=6)
KERNEL = dp.SE(lengthscale=[0.3, 0.7, 0.7, 0.7])
GENERATOR = np.random.default_rng(3)
SAID = [str(one) for one in GENERATOR.choice(["rain", "sun", "snow"], STEPS)]
CONTEXTS = dp.Contexts(SAID)
CELLS = dp.Prior(CONTEXTS.cells(LINE), KERNEL, noise_variance=0.05, mean=0.2)
ROWS = GENERATOR.normal(size=(STEPS, 6))


def dense_posterior(cells, rewards, drift):
    """B16 (8), (9) at the step after these observations, of every cell."""
    age = np.arange(len(cells), 0, -1)
    between = np.abs(age[:, None] - age[None]) / 2
    gram = CELLS.gram[np.ix_(cells, cells)] * (1 - drift) ** between
    weights = (1 - drift) ** (age / 2)
    cross = CELLS.gram[:, cells] * weights
    solved = np.linalg.solve(gram + 0.05 * np.eye(len(cells)), cross.T).T
    mean = 0.2 + solved @ (np.array(rewards) - 0.2)
    return mean, CELLS.gram.diagonal() - (solved * cross).sum(axis=1)


def width(step):
    return np.sqrt(0.8 * np.log(4.0 * step))


@pytest.mark.parametrize("form", ["feature-space", "function-space"])
def test_every_decision_and_expectation_is_that_of_the_dense_formula(form):
    policy = dp.InContext(dp.TVGPUCB(CELLS, drift=0.05, form=form), CONTEXTS)
    runs = dp.simulate(
        {"it": policy}, RecordedRewards(ROWS), steps=STEPS, predictions=True, forecast=True
    ).isel(policy=0, trial=0)
    cells, rewards = [], []
    for step in range(STEPS):
        block = 6 * CONTEXTS.numbers[step] + np.arange(6)
        if cells:
            mean, variance = dense_posterior(cells, rewards, 0.05)
        else:
            mean, variance = np.full(18, 0.2), CELLS.gram.diagonal()
        scores = (mean + width(step + 1) * np.sqrt(variance))[block]
        action = int(runs["action"][step])
        assert scores[action] >= scores.max() - 1e-7
        assert runs["squared_error"][step] == pytest.approx(
            ((mean[block] - ROWS[step]) ** 2).mean()
        )
        cells.append(block[action])
        rewards.append(ROWS[step, action])
    # after the last step the context is not known: the mixture over those that came
    mean, variance = (x.reshape(3, 6) for x in dense_posterior(cells, rewards, 0.05))
    shares = np.bincount(CONTEXTS.numbers) / STEPS
    mixed = shares @ mean
    spread = shares @ (variance + mean**2) - mixed**2
    np.testing.assert_allclose(runs["expected_mean"], mixed, atol=1e-7)
    np.testing.assert_allclose(runs["expected_deviation"], np.sqrt(spread), atol=1e-7)


PLAIN = dp.Prior(LINE, dp.SE(0.3), noise_variance=0.05)
POLICIES = {
    "tv-gp-ucb": dp.TVGPUCB(PLAIN, drift=0.05),
    "thompson": dp.WGPUCB(PLAIN, discount=0.9, acquisition="thompson"),
    "influence": dp.SWGPUCB(PLAIN, window=10, acquisition="influence"),
    "et-gp-ucb": dp.ETGPUCB(PLAIN),
    "auto": dp.Auto(PLAIN),
    "transformed": dp.Transformed(dp.Auto(PLAIN), "root", least=0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_a_single_context_changes_nothing(name):
    policies = {
        "alone": POLICIES[name],
        "told": dp.InContext(POLICIES[name], dp.Contexts([7] * STEPS)),
    }
    runs = dp.simulate(policies, RecordedRewards(ROWS), steps=STEPS, trials=2, forecast=True)
    alone, told = (runs.sel(policy=name) for name in policies)
    np.testing.assert_array_equal(alone["action"], told["action"])
    np.testing.assert_allclose(alone["expected_mean"], told["expected_mean"], rtol=1e-12)
    np.testing.assert_allclose(alone["expected_deviation"], told["expected_deviation"], rtol=1e-9)
    assert dp.InContext(POLICIES[name], dp.Contexts([7])).deterministic == (name != "thompson")


@pytest.mark.slow
def test_contexts_that_have_nothing_in_common_are_so_many_runs_of_their_own():
    """With covariance 0 between kinds, one run in two contexts is two runs taken in turns."""
    contexts = dp.Contexts(["a", "b"] * (STEPS // 2))
    apart = dp.kernels.Table(np.kron(np.eye(2), PLAIN.gram))
    both = dp.Prior(contexts.cells(dp.Arms(6)), apart, noise_variance=0.05)
    given = {"drift": 0.05, "width": dp.widths.Constant(1.0)}
    told = {"it": dp.InContext(dp.TVGPUCB(both, **given), contexts)}
    together = dp.simulate(told, RecordedRewards(ROWS), steps=STEPS, predictions=True)
    times = np.arange(1.0, STEPS + 1)
    for first in (0, 1):
        mine = slice(first, None, 2)
        alone = dp.simulate(
            {"it": dp.TVGPUCB(PLAIN, **given)},
            RecordedRewards(ROWS[mine]),
            times=times[mine],
            predictions=True,
        )
        np.testing.assert_array_equal(together["action"][..., mine], alone["action"])
        np.testing.assert_allclose(
            together["squared_error"][..., mine], alone["squared_error"], rtol=1e-9
        )


def test_a_world_shows_the_cells_of_the_context():
    world = dp.MarkovDrift(CELLS, drift=0.1)
    all_cells = dp.true_functions(world, steps=STEPS, trials=2)
    seen = dp.true_functions(dp.ContextualEnvironment(world, CONTEXTS), steps=STEPS, trials=2)
    kinds = all_cells.reshape(2, STEPS, 3, 6)
    expected = kinds[:, np.arange(STEPS), CONTEXTS.numbers]
    np.testing.assert_allclose(seen, expected, atol=1e-13)  # made one by one, and several at once


@pytest.mark.slow
def test_who_is_told_the_context_follows_better():
    """Paired over 30 worlds: t above 3.4 by chance in fewer than 1 of 1,000 tests."""
    contexts = dp.Contexts([{"load": float(one)} for one in GENERATOR.integers(0, 4, 120)])
    prior = dp.Prior(contexts.cells(LINE), dp.SE([0.3, 1.0]), noise_variance=0.01)
    plain = dp.Prior(LINE, dp.SE(0.3), noise_variance=0.01)
    policies = {
        "told": dp.InContext(dp.TVGPUCB(prior, drift=0.01), contexts),
        "not told": dp.TVGPUCB(plain, drift=0.01),
        "auto, told": dp.InContext(dp.Auto(prior), contexts),
        "auto, not told": dp.Auto(plain),
    }
    world = dp.ContextualEnvironment(dp.MarkovDrift(prior, drift=0.01), contexts)
    runs = dp.simulate(policies, world, steps=120, trials=30)
    regret = runs["regret"].mean("step")
    for name in ("", "auto, "):
        gain = (regret.sel(policy=f"{name}not told") - regret.sel(policy=f"{name}told")).values
        assert gain.mean() > 3.4 * gain.std(ddof=1) / np.sqrt(30)


@pytest.mark.slow
def test_padding_beyond_the_run_and_chunks_change_nothing():
    policy = {"it": dp.InContext(dp.TVGPUCB(CELLS, drift=0.05), CONTEXTS)}
    world = dp.ContextualEnvironment(dp.MarkovDrift(CELLS, drift=0.1), CONTEXTS)
    whole = dp.simulate(policy, world, steps=STEPS - 3, trials=5)
    parts = dp.simulate(policy, world, steps=STEPS - 3, trials=5, chunk=2)
    np.testing.assert_array_equal(whole["action"], parts["action"])


def test_random_first_queries_go_in_front():
    inside = dp.InContext(dp.TVGPUCB(CELLS, drift=0.05), CONTEXTS)
    policy = dp.RandomStart(inside, steps=10)
    assert policy.points == 6
    runs = dp.simulate({"it": policy}, RecordedRewards(ROWS), steps=STEPS, trials=3)
    assert set(runs["action"].values.ravel()) <= set(range(6))


def test_contexts_are_listed_once_and_keep_their_order():
    contexts = dp.Contexts(
        [{"day": "Mo", "wet": True, "load": 2}, {"load": -0.0, "day": "Tu", "wet": True}] * 2
        + [{"day": "Mo", "wet": False, "load": np.float32(0.5)}]
    )
    assert len(contexts) == 5
    assert contexts.numbers.tolist() == [0, 1, 0, 1, 2]
    assert contexts.labels[2] == "day=Mo, wet=False, load=0.5"
    day, wet, load = contexts.coordinates[:, :2], contexts.coordinates[:, 2:4], 4
    assert np.linalg.norm(day[0] - day[1]) == pytest.approx(1)
    assert np.linalg.norm(wet[0] - wet[2]) == pytest.approx(1)
    assert (wet[0] == wet[1]).all()
    assert contexts.coordinates[:, load].tolist() == [2.0, 0.0, 0.5]
    cells = contexts.cells(dp.Arms(2, ["a", "b"]))
    assert not cells.has_coordinates
    assert cells.names[3] == "b (day=Tu, wet=True, load=0)"
    placed = contexts.cells(dp.Grid([0, 1], size=3))
    assert placed.points.shape == (9, 6)
    np.testing.assert_array_equal(placed.points[3:6, 0], [0, 0.5, 1])
    np.testing.assert_array_equal(placed.points[4, 1:], contexts.coordinates[1])
    assert dp.Contexts(np.array([3, 4, 3])).labels == ("3", "4")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([], "at least one step"),
        ("rain", "a list with one context for each step; got 'rain'"),
        ({"load": [1, 2]}, "a list with one context for each step"),
        ([1, "rain"], "'context' of the contexts .* got 1.0 at step 1 and 'rain' at step 2"),
        ([True, 1], "got True at step 1 and 1.0 at step 2"),
        ([{"a": 1}, {"b": 1}], "got b at step 2 and a at step 1"),
        ([{}], "must have at least one name"),
        ([{"a": None}], "'a' of the context at step 1 must be a number, a string"),
        ([{1: 2}], "with a name that is a string"),
        ([1.0, float("nan")], "at step 2 must be a finite number"),
        ([10**400], "must be a finite number of at most 1e100"),
        ([[1, 2]], "must be a number, a string"),
    ],
)
def test_what_is_no_context_is_refused_by_step_and_name(without_type_checks, said, words):
    with pytest.raises(dp.DriftpeakError, match=words):
        dp.Contexts(said)


@pytest.mark.slow
def test_misuse_is_named():
    policy = dp.TVGPUCB(CELLS, drift=0.05)
    with pytest.raises(dp.DriftpeakError, match="policy must support contexts; got UniformRandom"):
        dp.InContext(dp.UniformRandom(CELLS), CONTEXTS)
    with pytest.raises(dp.DriftpeakError, match="put InContext inside"):
        dp.InContext(dp.RandomStart(policy), CONTEXTS)
    with pytest.raises(dp.DriftpeakError, match=r"must be cells of 4 contexts, .* got 18 points"):
        dp.InContext(policy, dp.Contexts([1, 2, 3, 4]))
    with pytest.raises(dp.DriftpeakError, match=r"must have at most 40 steps, .* got 41"):
        dp.InContext(policy, CONTEXTS).prepare(41)
    with pytest.raises(dp.DriftpeakError, match=r"space.context\(...\)"):
        dp.Optimizer(LINE, maximize=True, policy=dp.InContext(policy, CONTEXTS))
    world = dp.ContextualEnvironment(dp.MarkovDrift(CELLS, drift=0.1), CONTEXTS)
    with pytest.raises(dp.DriftpeakError, match=r"must have at most 40 steps, .* got 41"):
        dp.true_functions(world, steps=41)
    other = dp.ContextualEnvironment(dp.MarkovDrift(CELLS, drift=0.1), dp.Contexts([1, 2, 3, 4]))
    with pytest.raises(dp.DriftpeakError, match=r"must be cells of 4 contexts, .* got 18 points"):
        dp.true_functions(other, steps=4)
    bigger = dp.MarkovDrift(dp.Prior(dp.Arms(7), dp.kernels.Table(np.eye(7)), 0.1), drift=0.1)
    with pytest.raises(dp.DriftpeakError, match="as many points as the environment, 7; got 6"):
        dp.simulate({"it": dp.InContext(policy, CONTEXTS)}, bigger, steps=4)
    with pytest.raises(dp.DriftpeakError, match="must be at most 100,000 cells"):
        dp.Contexts(list(range(60))).cells(dp.Grid([0, 1], size=2000))
