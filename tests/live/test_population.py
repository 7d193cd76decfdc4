"""Population based bandits: which member copies which, and what the optimiser observes."""

import copy
import math

import numpy as np
import pytest
import scipy.stats

import driftpeak as dp
from driftpeak import DriftpeakError, StudyMismatchError

SPACE = dp.Box(rate=dp.Float(0.01, 1, log=True), width=dp.Integer(1, 9))
SETTING = {"rate": 0.1, "width": 3}


def population(members: str = "abcd", **options: object) -> dp.PopulationBasedBandit:
    options = {"space": SPACE, "maximize": True, "policy": dp.DriftingGP(learn=False)} | options
    made = dp.PopulationBasedBandit(**options)  # type: ignore[arg-type]
    for member in members:
        made.add(member, SETTING, metric=0.0)
    return made


def reported(metrics: dict[str, float], **options: object) -> dp.PopulationBasedBandit:
    made = population("".join(metrics), **options)
    for member, metric in metrics.items():
        made.report(member, metric, time=1.0)
    return made


def test_observations_are_improvements_per_time_at_the_start_of_the_interval() -> None:
    made = population("a")
    made.report("a", 3.0, time=2.0)  # 1.5 per unit: the first scale
    made.report("a", 4.0, time=2.5)  # 2 per unit, divided by 1.5
    first, second = made.optimizer.history()
    assert (first.parameters, first.number, first.reward) == (SETTING, 0.0, 1.0)
    assert (second.number, second.reward) == (2.0, pytest.approx(2 / 1.5))


def test_rewards_are_divided_by_the_scale_of_recent_improvements() -> None:
    made = population("ab")
    metric = {"a": 0.0, "b": 0.0}
    improvements = []
    for step in range(1, 12):
        for member in "ab":
            gain = (3.0 if member == "a" else -1.0) / step
            metric[member] += gain
            made.report(member, metric[member], time=float(step))
            improvements.append(gain)
    recent = improvements[-7:-1]  # three for each of two members
    expected = improvements[-1] / np.mean(np.abs(recent))
    assert made.optimizer.history()[-1].reward == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "count"), [(2, 1), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_the_lowest_quantile_copies_the_highest(size: int, count: int) -> None:
    names = "abcdefghi"[:size]
    made = reported({name: float(number) for number, name in enumerate(names)})
    moves = {name: made.exploit(name) for name in names}
    count = min(count, size // 2)
    assert [name for name, move in moves.items() if move] == list(names[:count])
    assert {move.source for move in moves.values() if move} <= set(names[-count:])


def test_minimising_copies_the_lowest_metric() -> None:
    made = reported({"a": 3.0, "b": 1.0, "c": 2.0, "d": 2.5}, maximize=None, minimize=True)
    assert made.exploit("b") is None
    move = made.exploit("a")
    assert move is not None
    assert move.source == "b"


def test_a_copy_starts_from_the_metric_and_time_of_its_source() -> None:
    made = reported({"a": 1.0, "b": 5.0})
    move = made.exploit("a")
    assert move is not None
    made.report("a", 9.0, time=3.0)  # (9 - 5) / (3 - 1), after improvements of 1 and 5
    last = made.optimizer.history()[-1]
    assert (last.parameters, last.number) == (move.setting, 1.0)
    assert last.reward == pytest.approx(2.0 / np.mean([1.0, 5.0]))


def test_one_exploit_per_report() -> None:
    made = reported({"a": 1.0, "b": 5.0, "c": 3.0})
    assert made.exploit("a") is not None
    assert made.exploit("a") is None
    assert made.exploit("c") is None  # the order of calls does not matter


def test_hyperparameters_in_training_are_pending() -> None:
    made = reported({"a": 1.0, "b": 5.0, "c": 6.0, "d": 7.0}, quantile=0.5)
    moves = [made.exploit("a"), made.exploit("b")]
    pending = made.optimizer.pending()
    assert [dict(suggestion) for suggestion in pending] == [move.setting for move in moves if move]
    assert dict(pending[0]) != dict(pending[1])
    made.remove("a")
    assert len(made.optimizer.pending()) == 1
    made.report("b", 8.0, time=2.0)
    assert made.optimizer.pending() == []


@pytest.mark.slow
def test_members_with_equal_hyperparameters_each_have_their_observation() -> None:
    made = population("", space=dp.Box(width=dp.Integer(1, 2)))
    for member in "abcd":
        made.add(member, metric=0.0)
    for step in range(1, 6):
        for number, member in enumerate("dcba"):  # a is the weakest, and reports last
            made.report(member, float(-step * number), time=float(step))
        assert made.exploit("a") is not None
    assert len(made.optimizer.history()) == 20
    made.remove("a")
    assert made.optimizer.pending() == []


def test_a_diverged_member_is_replaced_and_its_setting_gets_the_lowest_improvement() -> None:
    made = reported({"a": 4.0, "b": 5.0, "c": -1.0, "d": 7.0})
    made.report("a", 9.0, time=2.0)
    made.fail("a")
    made.fail("d")
    assert made.optimizer.history()[-1].reward < 0
    assert made.exploit("b") is None
    assert made.exploit("a") is not None
    made.report("a", 3.0, time=2.5)  # continues from its source


def test_a_member_without_metric_only_starts_at_its_first_report() -> None:
    made = population("")
    made.add("a")
    made.report("a", 2.0, time=1.0)
    assert made.optimizer.history() == []
    made.report("a", 3.0, time=2.0)
    assert len(made.optimizer.history()) == 1


def test_the_state_of_a_member_is_the_context() -> None:
    made = dp.PopulationBasedBandit(
        SPACE.context(loss=dp.Float(0, 9)), maximize=True, policy=dp.DriftingGP(learn=False)
    )
    for member in "ab":
        made.add(member, metric=0.0, context={"loss": 9})
    made.report("a", 1.0, time=1.0, context={"loss": 5})
    made.report("b", 2.0, time=1.0, context={"loss": 4})
    assert made.exploit("a") is not None
    assert made.optimizer.pending()[-1].context == {"loss": 4}
    assert made.optimizer.history()[0].context == {"loss": 9}
    with pytest.raises(DriftpeakError, match="context"):
        made.report("b", 3.0, time=2.0)


def test_a_stored_population_keeps_its_observations(tmp_path: object) -> None:
    made = reported({"a": 1.0, "b": 5.0}, storage=f"{tmp_path}/study")
    made.exploit("a")
    again = population("", storage=f"{tmp_path}/study")
    assert len(again.optimizer.history()) == 2
    assert again.optimizer.pending() == []
    with pytest.raises(StudyMismatchError):
        population("", storage=f"{tmp_path}/study", space=dp.Box(rate=dp.Float(0, 2)))


def test_equal_seeds_give_equal_decisions() -> None:
    scores = {"a": 1.0, "b": 5.0, "c": 4.0, "d": 6.0, "e": 2.0, "f": 7.0, "g": 8.0, "h": 0.0}
    moves = [[reported(scores, seed=3).exploit(name) for name in "ah"] for _ in range(2)]
    assert moves[0] == moves[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda made: made.report("x", 1.0, time=2.0), "member must be one of 'a', 'b'"),
        (lambda made: made.exploit("x"), "member must be one of"),
        (lambda made: made.add("a"), "member must be new"),
        (lambda made: made.report("a", math.nan, time=2.0), "metric must be.*fail"),
        (lambda made: made.report("a", -math.inf, time=2.0), "metric must be.*fail"),
        (lambda made: made.report("a", np.float32("nan"), time=2.0), "metric must be.*fail"),
        (lambda made: made.report("a", 1.0, time=1.0), "time must be after"),
        (lambda made: made.report("a", 1.0, time=math.inf), "time must be"),
        (lambda made: made.add("c", {"rate": 2.0, "width": 3}), "rate"),
        (lambda made: made.add("c", {"rate": 0.1}), "'width' is missing"),
        (lambda made: made.explore("a", "x"), "member must be one of"),
    ],
)
def test_invalid_calls_change_nothing(call: object, message: str) -> None:
    made = reported({"a": 1.0, "b": 5.0})
    before = made.optimizer.snapshot(), copy.deepcopy(made.members)
    with pytest.raises(DriftpeakError, match=message):
        call(made)  # type: ignore[operator]
    assert (made.optimizer.snapshot(), made.members) == before


@pytest.mark.slow
@pytest.mark.parametrize("probability", [0.0, 0.5, 1.0])
def test_a_share_of_the_hyperparameters_is_random(probability: float) -> None:
    """The optimiser's suggestions are near 0.1, where the reward is; random ones are log-uniform.

    With a fixed seed; a correct program fails for one seed in a thousand.
    """
    made = reported({"a": 1.0, "b": 5.0}, resample_probability=probability)
    for number in range(40):
        rate = 0.1 * 10 ** (number % 5 / 10 - 0.2)
        made.optimizer.tell({"rate": rate, "width": 3}, -100 * np.log10(10 * rate) ** 2, number)
    rates = []
    for _ in range(60):
        rates.append(made.explore("a", "b")["rate"])
        made._cancel(made.members["a"])
    far = sum(not 0.05 < rate < 0.2 for rate in rates)
    share = probability * (1 - np.log(4) / np.log(100))
    low, high = scipy.stats.binom.ppf([0.0005, 0.9995], 60, share)
    assert low <= far <= high


def test_random_hyperparameters_meet_conditions() -> None:
    space = dp.Box(
        optimizer=dp.Categorical("sgd", "adam"),
        momentum=dp.Float(0, 1, when={"optimizer": "sgd"}),
    )
    made = dp.PopulationBasedBandit(
        space, maximize=True, policy=dp.DriftingGP(learn=False), resample_probability=1
    )
    for number, member in enumerate("abcd"):
        made.add(member, metric=0.0)
        made.report(member, float(number), time=1.0)
    for _ in range(12):
        setting = made.explore("a", "d")
        assert ("momentum" in setting) == (setting["optimizer"] == "sgd")


@pytest.mark.parametrize("probability", [-0.1, 1.5, math.nan])
def test_the_probability_of_random_hyperparameters_is_one(probability: object) -> None:
    with pytest.raises(DriftpeakError, match="resample_probability"):
        population("", resample_probability=probability)


@pytest.mark.parametrize("quantile", [0, 0.6, -1, math.nan, 7])
def test_the_quantile_is_at_most_a_half(quantile: object) -> None:
    with pytest.raises(DriftpeakError, match="quantile"):
        population("", quantile=quantile)


def test_a_population_of_one_is_never_replaced() -> None:
    assert reported({"a": 1.0}).exploit("a") is None
