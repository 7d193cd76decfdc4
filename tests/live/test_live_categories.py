"""Choices: their prior similarity, their candidates, and whether the better one is found."""

import warnings

import numpy as np
import pytest
from benchmarks import categories, safe_categories

import driftpeak as dp
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.drift_models import MOTIONS
from driftpeak.live._model.hyperparameters import default_model, ranges
from driftpeak.live._search.maximization import Searcher
from driftpeak.live._space.encoding import make_coding

SPACE = dp.Box(
    x=dp.Float(0, 1),
    stages=dp.Integer(1, 6),
    coolant=dp.Categorical("water", "oil", "air"),
    grade=dp.Categorical("low", "medium", "high", ordered=True),
    hot=dp.Boolean(),
)

Z = 5**0.5 / 1.2
PRIOR = (1 + Z + Z**2 / 3) * np.exp(-Z)  # the correlation of choices without observations


def test_gaps_are_distances_between_neighbouring_choices():
    assert make_coding(SPACE).gaps.tolist() == [0.0, 0.0, 1.0, 0.5, 1.0]
    assert make_coding(SPACE).categorical.tolist() == [False, False, True, False, True]
    assert make_coding(dp.Arms(3)).gaps.tolist() == [1.0]
    assert make_coding(dp.Grid([0, 1], size=3)).gaps.tolist() == [0.0]
    context = make_coding(dp.Box(x=dp.Float(0, 1)).context(day=dp.Categorical("Mo", "Tu")))
    assert context.all_gaps.tolist() == [0.0, 1.0]


def test_neighbouring_choices_are_similar_before_any_reward():
    """Matern 5/2 at 1 / 1.2 lengthscales, ordered or not; numbers are as without choices."""
    model: Model = default_model(make_coding(SPACE).gaps, 1.0, MOTIONS["markov"])
    row = np.full((1, 5), 0.5)
    for column, other in ((2, 1.0), (3, 1.0), (3, 0.0), (4, 1.0)):
        changed = row.copy()
        changed[0, column] = other
        np.testing.assert_allclose(model.covariance(row, 3.0, changed, 3.0), [[PRIOR]])
    np.testing.assert_allclose(model.lengthscale[:2], 0.12 * 5**0.5)
    many = dp.Box(grade=dp.Categorical(*range(41), ordered=True))
    assert ranges(make_coding(many).gaps)[0].median == pytest.approx(0.12)


def test_effect_of_choices_has_a_larger_share_with_measured_limits():
    """Equal choices with distant numbers have the effect alone in common."""

    def share(model: Model) -> float:
        covariance = model.covariance(np.zeros((1, 2)), 3.0, np.array([[1.0, 0.0]]), 3.0)
        return covariance.item() / model.variance

    box = dp.Box(x=dp.Float(0, 1), hot=dp.Boolean())
    plain = dp.Optimizer(box, maximize=True)._engine
    limited = dp.Optimizer(box, maximize=True, constraints={"heat": dp.Limit(at_most=1)})._engine
    assert share(plain.model) == pytest.approx(0.03, abs=1e-3)
    assert share(limited.model) == pytest.approx(0.1, abs=1e-3)
    assert share(limited.quantities["heat"].model) == pytest.approx(0.0, abs=1e-3)


def test_some_candidates_change_only_choices():
    searcher = Searcher(make_coding(SPACE), 0)
    for number in range(1, 6):
        steps = searcher.trials(number).steps
        assert (steps[::4, :2] == 0).all()
        assert (steps[::4, 2:] != 0).any(axis=1).mean() > 0.3
        assert (steps[1::4, :2] != 0).any()


def similarity(told, count=40):
    """The correlation of two choices after rewards `told(x, kind)` at random settings."""
    generator = np.random.default_rng(3)
    box = dp.Box(x=dp.Float(0, 1), kind=dp.Categorical("a", "b"))
    optimizer = dp.Optimizer(box, maximize=True, seed=0)
    for t in range(count):
        setting = {"x": float(generator.uniform()), "kind": "ab"[t % 2]}
        reward = told(setting["x"], setting["kind"])
        if reward is not None:
            optimizer.tell(setting, reward + 0.05 * generator.normal(), time=t)
    z = 5**0.5 / optimizer.diagnostics().lengthscales["kind"]
    return optimizer, (1 + z + z**2 / 3) * np.exp(-z)


@pytest.mark.slow
def test_the_similarity_of_choices_is_learned():
    alike = similarity(lambda x, kind: np.sin(8 * x))[1]
    apart = similarity(lambda x, kind: np.sin(8 * x) if kind == "a" else np.cos(11 * x))[1]
    assert alike > 0.9
    assert apart < 0.4


@pytest.mark.slow
def test_an_unobserved_choice_stays_uncertain():
    """Its correlation is the prior one, 0.62: it keeps 78 % of the function's deviation."""
    optimizer, alike = similarity(lambda x, kind: np.sin(8 * x) if kind == "a" else None, 80)
    assert alike == pytest.approx(PRIOR, abs=0.02)
    deviation = optimizer.belief([{"x": 0.5, "kind": "b"}], 80)[1][0]
    assert deviation > 0.9 * (1 - PRIOR**2) ** 0.5 * optimizer.diagnostics().amplitude


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_better_of_two_choices_is_found(seed):
    """Under the earlier prior, the worse choice was the best one at step 40 for all three seeds."""
    generator = np.random.default_rng(seed)
    optimizer = dp.Optimizer(
        dp.Box(speed=dp.Float(0, 10), stages=dp.Integer(1, 6),
               coolant=dp.Categorical("water", "oil")),
        maximize=True, seed=seed,
    )  # fmt: skip
    for t in range(40):
        s = optimizer.ask(t)
        reward = 10 - (s["speed"] - 5 - 3 * np.sin(t / 15)) ** 2 - 0.3 * (s["stages"] - 3) ** 2
        reward -= s["coolant"] == "oil"
        optimizer.tell(s, reward + 0.1 * generator.uniform(-0.5, 0.5))
    assert optimizer.best()["coolant"] == "water"


def play_cooler(hotter, steps):
    """A plant with two modes; the second is hotter by some degrees, and better."""
    optimizer = dp.Optimizer(
        dp.Box(x=dp.Float(0, 1), mode=dp.Categorical("a", "b")), maximize=True, seed=0,
        constraints={"heat": dp.Limit(at_most=70)}, safe_start=[{"x": 0.2, "mode": "a"}],
    )  # fmt: skip
    modes, heats = [], []
    generator = np.random.default_rng(0)
    for _ in range(steps):
        one = optimizer.ask()
        heats.append(40 + 40 * one["x"] + hotter * (one["mode"] == "b") + generator.normal())
        optimizer.tell(one, one["x"] + 0.5 * (one["mode"] == "b"), constraints={"heat": heats[-1]})
        modes.append(one["mode"])
    return modes, np.array(heats)


@pytest.mark.slow
def test_a_safe_start_reaches_another_choice():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modes, heats = play_cooler(-5, 40)
    assert modes.count("b") >= 10
    assert (heats > 70).mean() <= 0.05


@pytest.mark.slow
def test_a_safe_start_warns_of_choices_that_it_does_not_reach():
    optimizer = dp.Optimizer(
        dp.Box(x=dp.Float(0, 1), mode=dp.Categorical("a", "b", "c")), maximize=True, seed=0,
        constraints={"heat": dp.Limit(at_most=70)},
        safe_start=[{"x": 0.2, "mode": "a"}, {"x": 0.1, "mode": "c"}],
    )  # fmt: skip
    for _ in range(2):
        one = optimizer.ask()
        optimizer.tell(one, 0.0, constraints={"heat": 69.9 + 0.1 * one["x"]})
    with pytest.warns(UserWarning, match="no setting with mode='b' is predicted to meet") as all_:
        assert optimizer.ask()["mode"] != "b"
    assert len([one for one in all_ if "is predicted to meet" in str(one.message)]) == 1


def test_benchmarks_play():
    """Their plants and functions; the studies themselves take minutes."""
    for name, (count, dimension) in categories.ENVIRONMENTS.items():
        value = categories.environment(name, np.random.default_rng(0))
        values = value(categories.GRID[dimension], count - 1, 3)
        assert values.shape == (len(categories.GRID[dimension]),)
        assert np.isfinite(values).all()
    for name in safe_categories.PLANTS:
        start = {"x": 0.05, "y": 0.2, "mode": "a"}
        assert safe_categories.response(name, start, 0)[0] < safe_categories.LIMIT


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_second_of_two_initial_suggestions_differs_only_in_its_choices(count):
    """All choices are among the first suggestions."""
    box = dp.Box(x=dp.Float(0, 1), stages=dp.Integer(1, 6), kind=dp.Categorical(*range(count)))
    for seed in range(10):
        searcher = Searcher(make_coding(box), seed)
        rows = np.array([searcher.first(number, None) for number in range(1, 13)])
        assert (rows[::2, :2] == rows[1::2, :2]).all()
        assert (rows[::2, 2] != rows[1::2, 2]).all()
        assert len(np.unique(rows[:, 0])) == 6
        assert len(np.unique(rows[:, 2])) == count
