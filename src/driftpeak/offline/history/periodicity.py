r"""A period that recorded rows repeat, found and not assumed.

If rows repeat after P steps, they resemble those of P, 2P, ... steps before more than those of half
a period less or more. The contrast

\[C(P) = \overline{r(mP) - \tfrac12 (r((m - \tfrac12) P) + r((m + \tfrac12) P))},\]

a mean over m = 1, 2, ... of the autocorrelation r, is large at the period. Slow variation makes
contrasts by chance, larger ones at longer periods. Each is therefore compared with its mean and
deviation over series drawn from a law without a period that is fitted to the autocorrelation, and
the largest standardised contrast with the largest of these series. A significant period must also
differ from an oscillation of the same period whose correlation falls to 1/e within one cycle at
most: it must forecast held-out cycles better than series of this law do. The profile is then fitted
by harmonics; their number is chosen by held-out cycles.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftpeak.gp.means import Profile
from driftpeak.offline.history.correlation import Array, Law, autocorrelation, fitted_law

SURROGATES = 199
LEVEL = 0.01
"""Chance of a period where there is none."""
COMPONENTS = 8
HARMONICS = (1, 2, 3, 5, 8, 12, 20)
LEAST_SKILL = 0.02
"""Share of the variance of held-out cycles that a profile must explain."""
LEAST_GAIN = 0.002
"""In skill, for which more harmonics are worth having."""
SHORTEST = 4
SAME = 0.8
"""A period whose part has this share of its standardised contrast is a multiple of that part."""
NEAR = 0.05
"""Relative difference of periods that are not told apart."""
DAMPED = (0.25, 0.5, 1.0)
"""Lifetimes, in periods, of oscillations that are not taken for a lasting period."""
FOLDS = 10


class Rhythm(NamedTuple):
    """A period, its profile, and the share of the variance of held-out cycles that it explained."""

    period: float
    profile: Profile
    skill: float


def contrasts(correlations: Array, periods: Any, steps: int) -> Array:
    """C(P) for every period; the last axis of `correlations` is the lag."""
    found = []
    most = correlations.shape[-1] - 1
    for period in periods:
        tops = np.arange(period, most + 1, period)
        half = period / 2
        before, behind = np.rint(tops - half).astype(int), np.rint(tops + half).astype(int)
        fits = behind <= most
        around = correlations[..., before].copy()
        later = correlations[..., behind[fits]]
        around[..., fits] = 0.5 * (around[..., fits] + later)
        weights = (steps - tops) / (steps - tops).sum()
        found.append((correlations[..., tops] - around) @ weights)
    return np.stack(found, axis=-1)


class Cycle(NamedTuple):
    """A period that no decaying law explains, and whether a damped oscillation does not either."""

    period: float
    lasting: bool


def find_period(
    rows: Array, *, known: float | None = None, likely: Sequence[float] = (), seed: int = 0
) -> Cycle | None:
    """Find the period of the rows, between 4 steps and half their number.

    Periods that are `likely` are tested first, on their own, and each of the two tests then has
    half of the level.

    Arguments:
        rows: shape `(steps, arms)`, means removed.
        known: a period in steps whose profile is removed; oscillations that keep it for some
            cycles only are part of the law that the rows are compared with.
        likely: periods in steps, such as a day. They are lasting by assumption.
        seed: of the series that have no period.

    Returns:
        The shortest likely period that is significant, otherwise the most significant period,
        otherwise None.
    """
    steps = len(rows)
    periods = np.arange(SHORTEST, steps // 2 + 1)
    if len(periods) == 0 or not rows.any():
        return None
    scores, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    scores = (scores * sizes)[:, :COMPONENTS]
    own = autocorrelation(scores, 3 * steps // 4)
    generator = np.random.default_rng(seed)
    law = fitted_law(own[: steps // 2], steps, known)
    found, chance = _standardised(own, _drawn(law, scores, generator), periods, steps)
    likely = sorted(one for one in likely if SHORTEST <= round(one) <= periods[-1])
    level = LEVEL
    if likely:
        level = LEVEL / 2
        places = np.rint(likely).astype(int) - SHORTEST
        bound = _bound(chance[:, places], level)
        for one, place in zip(likely, places, strict=True):
            if found[place] > bound:
                return Cycle(one, True)
    if found.max() <= _bound(chance, level):
        return None
    period = _shortest(periods, found)
    law = fitted_law(own[: steps // 2], steps, period, DAMPED)
    times = np.arange(1.0 - steps, 1.0)
    skill, chance = (
        _held_out(one, times, period).skill
        for one in (scores[None], _drawn(law, scores, generator))
    )
    return Cycle(period, bool(skill[0] > _bound(chance[:, None], level)))


def _drawn(law: Law, scores: Array, generator: Any) -> Array:
    """Surrogates of the law without their means, with the scores' deviations."""
    drawn = law.draw(generator, (SURROGATES, *scores.shape))
    return np.asarray((drawn - drawn.mean(axis=1, keepdims=True)) * scores.std(axis=0))


def _standardised(own: Array, drawn: Array, periods: Any, steps: int) -> tuple[Array, Array]:
    """Contrasts of the rows and of surrogates, less the surrogates' mean, over their deviation."""
    chance = contrasts(autocorrelation(drawn, own.shape[-1] - 1), periods, steps)
    mean, deviation = chance.mean(axis=0), chance.std(axis=0)
    return (contrasts(own, periods, steps) - mean) / deviation, (chance - mean) / deviation


def _bound(chance: Array, level: float) -> float:
    """What the largest of each surrogate exceeds with this probability."""
    largest = np.sort(chance.max(axis=1))[::-1]
    return float(largest[max(round(level * (len(largest) + 1)) - 1, 0)])


def _shortest(periods: Any, found: Array) -> int:
    """The best period, or that of which it is a multiple: after three days rows are alike too."""
    best = int(periods[found.argmax()])
    for count in range(best // SHORTEST, 1, -1):
        near = np.abs(periods - best / count) <= max(1, NEAR * best / count)
        if near.any() and found[near].max() >= SAME * found.max():
            return int(periods[near][found[near].argmax()])
    return best


def refined(rows: Array, times: Array, period: float) -> Rhythm | None:
    """The profile at the period near this one, within 2 %, that forecasts held-out cycles best."""
    near = max(1, round(0.02 * period))
    each = [fit_profile(rows, times, period + away) for away in range(-near, near + 1)]
    fitted = [one for one in each if one is not None]
    return max(fitted, key=lambda one: one.skill, default=None)


def fit_profile(rows: Array, times: Array, period: float) -> Rhythm | None:
    """The profile of the rows at a period, or None if it does not forecast held-out cycles.

    As many harmonics as forecast best, and shrunk as much: the profile of all cycles but one is
    held against that one, and the same for every cycle.
    """
    found = _held_out(rows[None], times, period)
    skill, count, shrink = found.skill[0], int(found.harmonics[0]), found.shrink[0]
    if skill < LEAST_SKILL:
        return None
    basis = _basis(times, period, count)
    weights = shrink * _solved(basis.T @ basis, basis.T @ rows)
    profile = Profile(period / np.arange(1, count + 1), weights[1::2], weights[2::2])
    return Rhythm(period, profile, float(skill))


class _HeldOut(NamedTuple):
    """Share of held-out variance explained, with how many harmonics, and shrunk by what factor."""

    skill: Array
    harmonics: Array
    shrink: Array


def _held_out(records: Array, times: Array, period: float) -> _HeldOut:
    """Cross-validate profiles of records of shape `(records, steps, arms)`; 0 if not possible."""
    number, steps, arms = records.shape
    best = _HeldOut(*np.zeros((3, number)))
    cycle = np.floor((times - times[-1] - 0.5) / period).astype(int)
    groups = np.array_split(np.unique(cycle), min(FOLDS, len(np.unique(cycle))))
    most = int(max((period - 1) // 2, 0))
    if len(groups) < 2 or most < 1:
        return best
    rows = records.transpose(1, 0, 2).reshape(steps, number * arms)
    total = np.maximum((records**2).sum(axis=(1, 2)), 1e-300)
    basis = _basis(times, period, min(most, HARMONICS[-1]))
    held = [np.isin(cycle, group) for group in groups]
    grams = np.stack([basis[out].T @ basis[out] for out in held])
    products = np.stack([basis[out].T @ rows[out] for out in held])

    def summed(values: Array) -> Array:
        return np.asarray(values.sum(axis=(0, 1)).reshape(number, arms).sum(axis=1))

    for count in HARMONICS:
        if count > most:
            break
        first = slice(1 + 2 * count)
        gram, product = grams[:, first, first], products[:, first]
        each = _solved(gram.sum(axis=0) - gram, product.sum(axis=0) - product)
        along = summed(each * product)  # expectations times rows
        squared = summed((gram @ each) * each)
        shrink = np.clip(along / np.maximum(squared, 1e-300), 0, 1)
        skill = (2 * shrink * along - shrink**2 * squared) / total
        better = skill > best.skill + LEAST_GAIN
        new = skill, np.full(number, count), shrink
        best = _HeldOut(*(np.where(better, *pair) for pair in zip(new, best, strict=True)))
    return best


def _basis(times: Array, period: float, count: int) -> Array:
    """1, and cosine and sine of every harmonic in turn."""
    angle = 2 * np.pi * times[:, None] / period * np.arange(1, count + 1)
    waves = np.stack([np.cos(angle), np.sin(angle)], axis=-1).reshape(len(times), -1)
    return np.concatenate([np.ones((len(times), 1)), waves], axis=1)


def _solved(gram: Array, product: Array) -> Array:
    ridge = 1e-9 * np.trace(gram, axis1=-2, axis2=-1)[..., None, None] * np.eye(gram.shape[-1])
    return np.asarray(np.linalg.solve(gram + ridge, product))
