"""TV.EXP3.M: probabilities, weights and regret, against enumeration and formulas."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.optimize

from driftpeak.live._search import exp3

WEIGHTS = [
    [1, 1, 1, 1, 1],
    [8, 1, 1, 1, 1],
    [50, 40, 1, 1, 1],
    [1e9, 1e9, 1, 1, 1e-9],
    [5, 4, 3, 2, 1],
]


class Script(np.random.Generator):
    """A generator whose comparisons have prescribed results; `chance` is their probability."""

    def __init__(self, answers: list[bool]) -> None:
        super().__init__(np.random.PCG64(0))
        self.answers, self.used, self.chance = answers, 0, 1.0

    def random(self) -> "Script":  # type: ignore[override]
        return self

    def __lt__(self, probability: float) -> bool:
        answer = self.answers[self.used]
        self.used += 1
        self.chance *= probability if answer else 1 - probability
        return answer


def subsets(probabilities: list[float]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Enumerate all results of dependent rounding with their probabilities."""
    size = len(probabilities)
    for code in range(2 ** (size - 1)):
        answers = [bool(code >> bit & 1) for bit in range(size - 1)]
        script = Script(answers)
        chosen = exp3.dependent_rounding(np.array(probabilities), script)
        yield tuple(chosen), script.chance / 2 ** (size - 1 - script.used)


@pytest.mark.parametrize(
    "probabilities",
    [
        [0.5, 0.5],
        [1.0, 0.3, 0.7],
        [0.2, 0.3, 0.5],
        [0.9, 0.6, 0.5, 0.7, 0.3],
        [1, 0, 1, 0],
        [0.4] * 5,
    ],
)
def test_each_arm_is_in_the_subset_with_its_probability(probabilities: list[float]) -> None:
    marginal, total = np.zeros(len(probabilities)), 0.0
    for chosen, chance in subsets(probabilities):
        if chance:
            assert len(chosen) == round(sum(probabilities))
        marginal[list(chosen)] += chance
        total += chance
    assert total == pytest.approx(1)
    assert marginal == pytest.approx(probabilities)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("plays", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("rate", [0.01, 0.2, 0.9, 1.0])
def test_expected_plays_are_probabilities_whose_sum_is_the_number_of_plays(
    weights: list[float], plays: int, rate: float
) -> None:
    values, reduced = exp3.capped(np.array(weights, float), plays, rate)
    counts = exp3.expected_plays(values, plays, rate)
    assert counts.sum() == pytest.approx(plays)
    assert (counts >= plays * rate / 5 * (1 - 1e-9)).all()
    assert values[~reduced].tolist() == np.array(weights)[~reduced].tolist()
    if plays < 5:
        assert counts.max() <= 1 + 1e-9
        assert counts[reduced] == pytest.approx(1)


@pytest.mark.parametrize("weights", WEIGHTS[1:4])
@pytest.mark.parametrize("plays", [2, 3, 4])
def test_the_limit_solves_its_equation(weights: list[float], plays: int) -> None:
    """The equation of Exp3.M: limit / (sum of weights with the limit) = the largest share."""
    rate, given = 0.1, np.array(weights, float)
    share = (1 / plays - rate / 5) / (1 - rate)
    values, reduced = exp3.capped(given, plays, rate)
    assert reduced.any() == (given.max() >= share * given.sum())
    if reduced.any():
        limit = scipy.optimize.brentq(
            lambda log: math.exp(log) / np.minimum(given, math.exp(log)).sum() - share,
            math.log(given.min()), math.log(given.max()), xtol=1e-14,
        )  # fmt: skip
        assert values == pytest.approx(np.minimum(given, math.exp(limit)), rel=1e-6)


def test_one_round_by_hand() -> None:
    """Two of three arms, none reduced: p = 2 (0.8 w / 4 + 0.2 / 3)."""
    weights, gains = np.array([1.2, 1.3, 1.5]), np.array([0.5, 0.0, 1.0])
    counts = [2 * (0.8 * w / 4 + 0.2 / 3) for w in weights]
    grown = [
        w * math.exp(2 * 0.2 * g / (p * 3)) for w, g, p in zip(weights, gains, counts, strict=True)
    ]
    expected = np.array(grown) + math.e * 0.1 * 4 / 3
    new = exp3.updated(weights, gains, 2, 0.2, 0.1)
    assert new == pytest.approx(expected / expected.sum())
    assert exp3.updated(1e100 * weights, gains, 2, 0.2, 0.1) == pytest.approx(new)


def test_a_reduced_weight_does_not_grow() -> None:
    weights = np.array([100.0, 1.0, 1.0])
    rows = [exp3.updated(weights, np.array([gain, 0, 0]), 2, 0.2, 0.0) for gain in (0.0, 1.0)]
    assert rows[0] == pytest.approx(rows[1])


def test_the_order_of_the_draws_is_random() -> None:
    counts, random = np.array([1.0, 0.6, 0.4]), np.random.default_rng(0)
    first = Counter(exp3.drawn(counts, 2, random)[0] for _ in range(1000))
    assert [first[arm] / 1000 for arm in range(3)] == pytest.approx(counts / 2, abs=0.05)


def test_as_many_plays_as_arms_are_independent_draws() -> None:
    counts, random = np.array([2.5, 1.0, 0.5]), np.random.default_rng(0)
    rows = [np.bincount(exp3.drawn(counts, 4, random), minlength=3) for _ in range(1000)]
    assert np.sum(rows, axis=1).tolist() == [4] * 1000
    assert np.mean(rows, axis=0) == pytest.approx(counts, abs=0.1)
    variance = counts * (1 - counts / 4)  # of a multinomial distribution
    assert np.var(rows, axis=0) == pytest.approx(variance, rel=0.2)


def test_the_rate_of_the_paper_and_with_many_plays() -> None:
    expected = math.sqrt(5 * math.log(5 / 2) / ((math.e - 1) * 2 * 50))
    assert exp3.exploration_rate(5, 2, 50) == pytest.approx(expected)
    assert exp3.exploration_rate(50, 2, 1) == 1
    assert exp3.exploration_rate(3, 4, 50) == exp3.exploration_rate(4, 4, 1) == 0.2


def play(means: np.ndarray, plays: int, share: float, seed: int) -> float:
    """Return the regret of plays against the arm that is best in each round."""
    rounds, arms = means.shape
    random, weights = np.random.default_rng(seed), np.ones(arms)
    rate, regret = exp3.exploration_rate(arms, plays, rounds), 0.0
    for row in means:
        counts = exp3.expected_plays(exp3.capped(weights, plays, rate)[0], plays, rate)
        chosen = exp3.drawn(counts, plays, random)
        regret += plays * row.max() - row[chosen].sum()
        gains = np.bincount(chosen, random.random(plays) < row[chosen], minlength=arms)
        weights = exp3.updated(weights, gains, plays, rate, share)
    return regret


@pytest.mark.slow
def test_the_regret_with_two_arms_is_below_the_bound() -> None:
    """(1 + e + V) sqrt((e - 1) C T / B log(C T / B)) with V changes; with one, Exp3.M has more."""
    rounds = 600
    means = np.tile([0.2, 0.8], (rounds, 1))
    changed = means.copy()
    changed[rounds // 2 :] = [0.8, 0.2]
    for table, changes in ((means, 0), (changed, 1)):
        regret = np.mean([play(table, 1, 1 / rounds, seed) for seed in range(6)])
        per = 2 * rounds
        bound = (1 + math.e + changes) * math.sqrt((math.e - 1) * per * math.log(per))
        assert regret < bound
        assert regret < 0.8 * rounds * 0.3  # of uniform random arms: 0.3 a round
    static = np.mean([play(changed, 1, 0.0, seed) for seed in range(6)])
    assert regret < static


def test_learned_plays_follow_the_gains() -> None:
    chosen = np.tile([0, 1, 2, 2], 15)
    counts = exp3.learned(3, chosen, (chosen == 1).astype(float), 4)
    assert counts.sum() == pytest.approx(4)
    assert counts.argmax() == 1
    assert exp3.learned(3, np.zeros(0, int), np.zeros(0), 2) == pytest.approx([2 / 3] * 3)
    again = np.tile([0, 1, 2, 2], 30)  # the best arm changes
    gains = np.where(np.arange(120) < 60, again == 1, again == 0).astype(float)
    assert exp3.learned(3, again, gains, 4).argmax() == 0
