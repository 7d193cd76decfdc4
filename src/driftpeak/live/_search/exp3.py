r"""TV.EXP3.M: a bandit over unordered choices whose rewards change, with several plays per round.

With C arms, B plays, weights \(w_c\) and an exploration rate \(\gamma\), round t plays arm c

    p_c = B ((1 - gamma) w_c / sum(w) + gamma / C)

times in expectation. If B < C, each arm is played at most once, so that \(p_c\) is a probability.
Weights that would give more than 1 are first reduced to their largest valid value. Gains in
\([0, 1]\) of the plays of arm c, summed to \(g_c\), then change the weights to

    w_c exp(B gamma g_c / (p_c C)) + e share sum(w) / C,

where reduced weights are not multiplied. The second term is a minimum for every arm, so that an arm
that becomes the best one is found again.

The algorithm is Exp3.M (Uchiya, Nakamura and Kudo 2010) with the minimum of Exp3.S (Auer,
Cesa-Bianchi, Freund and Schapire 2002). B arms are drawn by dependent rounding (Gandhi, Khuller,
Parthasarathy and Srinivasan 2006). Four points are open or differ between the sources:

- Exp3.M keeps weights that were reduced for a round. TV.EXP3.M replaces them, as here.
- The authors' program adds the minimum only to arms that were played, and within the product. Here
  each arm gets it, as in Exp3.S.
- For B >= C the formula of the rate is not defined. As in the authors' program, the rate is then
  0.2, and plays are independent draws with probabilities \(p_c / B\).
- Rate and share (1 / T) need the number of rounds T in advance. Here T is the number of rounds so
  far. As in the authors' program, the rate is that of T / 10 rounds, and the share is 1 / (10 T):
  with few rounds, the values of the theory learn slowly.

Source: TV.EXP3.M (Parker-Holder, Nguyen, Desai and Roberts 2021), and its authors' program.
"""

import math

import numpy as np

MANY_PLAYS_RATE = 0.2
"""Exploration rate if there are as many plays as arms."""
FASTER = 10
"""Factor by which the authors' program divides T in the rate, and divides the share."""
ROUNDING = 1e-12


def exploration_rate(arms: int, plays: int, rounds: float) -> float:
    """Return the exploration rate of a number of rounds, in (0, 1]."""
    if plays >= arms:
        return MANY_PLAYS_RATE
    return min(1.0, math.sqrt(arms * math.log(arms / plays) / ((math.e - 1) * plays * rounds)))


def capped(weights: np.ndarray, plays: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights with which no arm is played more than once, and which were reduced."""
    arms = len(weights)
    reduced = np.zeros(arms, bool)
    if plays >= arms or rate >= 1:
        return weights, reduced
    largest = (1 / plays - rate / arms) / (1 - rate)  # share of the sum
    if weights.max() < largest * weights.sum():
        return weights, reduced
    order = np.argsort(-weights, kind="stable")
    for count in range(1, plays + 1):  # the limit is the valid share of the sum with the limit
        limit = largest * weights[order[count:]].sum() / (1 - count * largest)
        if weights[order[count]] < limit:
            break
    reduced[order[:count]] = True
    return np.where(reduced, limit, weights), reduced


def expected_plays(weights: np.ndarray, plays: int, rate: float) -> np.ndarray:
    """Return how often each arm is played in a round, shape `(C,)`; the sum is `plays`."""
    return plays * ((1 - rate) * weights / weights.sum() + rate / len(weights))


def updated(
    weights: np.ndarray, gains: np.ndarray, plays: int, rate: float, share: float
) -> np.ndarray:
    """Return the weights after a round, whose sum is 1.

    Arguments:
        weights: positive weights before the round, shape `(C,)`.
        gains: for each arm, the sum of the gains of its plays, each in [0, 1].
        plays: number of plays in a round.
        rate, share: exploration rate, and share of the minimum.
    """
    weights, reduced = capped(weights, plays, rate)
    arms, counts = len(weights), expected_plays(weights, plays, rate)
    grown = np.where(reduced, weights, weights * np.exp(plays * rate * gains / (counts * arms)))
    grown = grown + math.e * share * weights.sum() / arms
    return grown / grown.sum()


def learned(arms: int, chosen: np.ndarray, gains: np.ndarray, plays: int) -> np.ndarray:
    """Return how often each arm is played in the next round, shape `(C,)`.

    Arguments:
        arms: number C of arms.
        chosen: the arms that were played, in order; each `plays` of them are a round.
        gains: their gains, in [0, 1].
        plays: number B of plays in a round.
    """
    rounds = max(1, math.ceil(len(chosen) / plays))
    rate, weights = exploration_rate(arms, plays, rounds / FASTER), np.ones(arms)
    for start in range(0, len(chosen), plays):
        part = slice(start, start + plays)
        totals = np.bincount(chosen[part], gains[part], minlength=arms)
        weights = updated(weights, totals, plays, rate, 1 / (FASTER * rounds))
    return expected_plays(capped(weights, plays, rate)[0], plays, rate)


def drawn(counts: np.ndarray, plays: int, random: np.random.Generator) -> list[int]:
    """Return the arms of a round in random order, of which `counts` are played in expectation."""
    if plays >= len(counts):
        return [int(arm) for arm in random.choice(len(counts), plays, p=counts / plays)]
    return [int(arm) for arm in random.permutation(dependent_rounding(counts, random))]


def dependent_rounding(probabilities: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return the numbers of a random subset that has each member with its probability.

    Arguments:
        probabilities: numbers in [0, 1], whose sum is a whole number: the size of the subset.
        random: the generator.
    """
    rounded = np.array(probabilities, float)
    while True:
        unsettled = np.flatnonzero((rounded > ROUNDING) & (rounded < 1 - ROUNDING))
        if len(unsettled) < 2:
            return np.flatnonzero(rounded > 0.5)
        one, other = unsettled[:2]
        up = min(1 - rounded[one], rounded[other])
        down = min(rounded[one], 1 - rounded[other])
        move = up if random.random() < down / (up + down) else -down
        rounded[one] += move
        rounded[other] -= move
