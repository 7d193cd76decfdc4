"""Categories of a population that a bandit chooses (PB2-Mix)."""

import inspect
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import driftpeak as dp
from driftpeak import DriftpeakError
from driftpeak.live._category_bandit import CategoryBandit, make_bandit
from driftpeak.live._search.exp3 import learned
from driftpeak.live._space.encoding import make_coding
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._study.suggestion import Observation

SPACE = dp.Box(
    kind=dp.Categorical(*"abcdef"),
    rate=dp.Float(0.01, 1, log=True),
    size=dp.Integer(1, 3),
    sure=dp.Boolean(),
    momentum=dp.Float(0, 1, when={"kind": "a"}),
    inner=dp.Categorical("x", "y", when={"kind": ["a", "b"]}),
    deep=dp.Categorical("u", "v", when={"size": 3}),
)
ALWAYS: ParameterValues = {"rate": 0.1, "size": 1, "sure": True}
SETTINGS: list[ParameterValues] = [
    ALWAYS | {"kind": "a", "momentum": 0.5, "inner": "x"},
    ALWAYS | {"kind": "b", "inner": "y"},
    ALWAYS | {"kind": "c"},
    ALWAYS | {"kind": "b", "inner": "y"},
]
GAINS = [1.0, 3.0, 1.2, 2.9]


def empty(**options: object) -> dp.PopulationBasedBandit:
    options = {"space": SPACE, "maximize": True, "resample_probability": 0} | options
    options = {"policy": dp.DriftingGP(learn=False), "categories": "exp3"} | options
    return dp.PopulationBasedBandit(**options)  # type: ignore[arg-type]


def trained(steps: int, **options: object) -> dp.PopulationBasedBandit:
    """Return a population in which members of kind "b" improve most."""
    made = empty(**options)
    for member, setting in enumerate(SETTINGS):
        made.add(member, setting, metric=0.0)
    for step in range(1, steps + 1):
        for member, gain in enumerate(GAINS):
            made.report(member, gain * step, time=float(step))
    return made


def observations(rewards: list[float]) -> list[Observation]:
    """Return rewards of the four members in turn."""
    return [
        Observation(None, SETTINGS[number % 4], reward, float(number // 4), "numbers", None)
        for number, reward in enumerate(rewards)
    ]


def choices(rewards: list[float], *, maximize: bool = True) -> list[ParameterValues]:
    """Return the categories for 300 seeds."""
    coding, history = make_coding(SPACE), observations(rewards)
    return [
        CategoryBandit(coding, seed).choose(history, 4, seed, maximize=maximize)
        for seed in range(300)
    ]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_categories_are_drawn_with_the_probabilities_of_exp3(sign: float) -> None:
    rewards = np.tile(GAINS, 10) + np.random.default_rng(0).normal(size=40)
    drawn = choices(list(sign * rewards), maximize=sign > 0)
    gains = (rewards - rewards.min()) / np.ptp(rewards)
    expected = learned(6, np.tile([0, 1, 2, 1], 10), gains, 4) / 4
    count = Counter(values["kind"] for values in drawn)
    assert [count[kind] / 300 for kind in "abcdef"] == pytest.approx(expected, abs=0.09)
    assert expected.argmax() == 1
    active = np.tile([True, True, False, True], 10)  # of the conditional category
    inner = learned(2, np.tile([0, 1, 1], 10), gains[active], 4) / 4
    count = Counter(values.get("inner") for values in drawn)
    share = count["y"] / (count["x"] + count["y"])
    assert share == pytest.approx(inner[1], abs=0.09)


def test_inactive_categories_and_those_below_a_number_are_not_chosen() -> None:
    for values in choices([1.0, 2.0, 3.0, 4.0, 5.0]):
        inner = {"inner"} if values["kind"] in ("a", "b") else set()
        assert values.keys() == {"kind", "sure"} | inner
        assert isinstance(values["sure"], bool)


def test_the_plays_of_a_round_are_different_categories() -> None:
    bandit = CategoryBandit(make_coding(SPACE), 0)
    history = observations([1.0, 2.0, 3.0])
    rows = [bandit.choose(history, 4, number, maximize=True) for number in range(5)]
    assert len({row["kind"] for row in rows[:4]}) == 4
    assert rows[4] == rows[0]  # more members are replaced than train


@pytest.mark.parametrize("probability", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_new_settings_have_the_bandit_s_categories(probability: float) -> None:
    made = trained(4, resample_probability=probability)
    bandit, optimizer = made._bandit, made.optimizer
    assert bandit is not None
    chosen = bandit.choose(optimizer.history(), 4, 0, maximize=True)
    setting = made.explore(0, 1)
    assert setting == setting | chosen
    assert optimizer.coding.clean(setting) == setting
    assert ("deep" in setting) == (setting["size"] == 3)


@pytest.mark.slow
def test_members_that_are_replaced_together_get_different_categories() -> None:
    made = trained(4, quantile=0.5)
    kinds = [move.setting["kind"] for member in range(4) if (move := made.exploit(member))]
    assert len(set(kinds)) == len(kinds) == 2


@pytest.mark.slow
def test_a_resumed_population_gets_the_same_suggestion(tmp_path: Path) -> None:
    made = trained(4)
    trained(4, storage=str(tmp_path / "study"))
    again = empty(storage=str(tmp_path / "study"))
    for member, state in made.members.items():
        again.add(member, state.setting, time=state.time, metric=state.metric)
    assert again.explore(0, 1) == made.explore(0, 1)


def test_diverged_and_removed_members() -> None:
    made = trained(3)
    made.fail(2)
    made.remove(1)
    move = made.exploit(2)
    assert move is not None
    assert move.source == 3
    made.remove(0)
    made.remove(3)
    assert made.explore(2, 2).keys() >= {"kind", "rate"}  # a population of one


def test_the_first_report_may_come_after_an_exploit() -> None:
    made = empty()
    for member in range(3):
        made.add(member)
        made.report(member, float(member), time=1.0)
    assert made.optimizer.history() == []
    assert made.exploit(0) is not None


@pytest.mark.slow
def test_categories_of_a_space_with_a_context() -> None:
    made = empty(space=SPACE.context(loss=dp.Float(0, 9)))
    for member, setting in enumerate(SETTINGS):
        made.add(member, setting, metric=0.0, context={"loss": 9})
        made.report(member, GAINS[member], time=1.0, context={"loss": 5})
    assert made.explore(0, 1).keys() >= {"kind", "sure"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": "ucb"}, "categories must be"),
        ({"categories": None}, "categories must be"),
        ({"space": dp.Box(x=dp.Float(0, 1))}, "unordered.*Boolean; got parameters x"),
        ({"space": dp.Box(x=dp.Categorical(1, 2, ordered=True))}, 'Use categories="gp"'),
        ({"space": dp.Arms(3)}, "must be used with a Box"),
    ],
)
def test_invalid_arguments(options: dict[str, object], message: str) -> None:
    with pytest.raises(DriftpeakError, match=message):
        empty(**options)


def test_the_scheduler_of_ray_rejects_other_words() -> None:
    unchecked = inspect.unwrap(make_bandit)  # without the checks of types in tests
    with pytest.raises(DriftpeakError, match="categories must be one of gp, exp3; got 'ucb'"):
        unchecked("ucb", make_coding(SPACE), 0)
