r"""A statistical test for a period in recorded rows, and its profile.

If rows have period P, their autocorrelation r is larger at the lags P, 2P, ... than half a period
before and after. The contrast

\[C(P) = \overline{r(mP) - \tfrac12 (r((m - \tfrac12) P) + r((m + \tfrac12) P))},\]

a mean over m = 1, 2, ..., is large at the period. Slow variation causes random contrasts, which are
larger for longer periods. Each contrast is therefore standardised by its mean and standard
deviation over simulated series without a period, whose drift model is fitted to the
autocorrelation. The largest standardised contrast is compared with the largest ones of these
series. A significant period is also compared with a damped oscillation of this period, whose
correlation falls to 1/e within at most one cycle: it must forecast held-out cycles better than
series of this model do. The profile is then fitted by harmonics, whose number is chosen by
cross-validation over cycles.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftpeak.gp.means import PeriodicMean
from driftpeak.offline.history._correlation import Array, Law, autocorrelation, fitted_law

SURROGATES = 199
LEVEL = 0.01
"""False-alarm rate: probability of a significant period if there is none."""
COMPONENTS = 8
HARMONICS = (1, 2, 3, 5, 8, 12, 20)
LEAST_SKILL = 0.02
"""Fraction of the variance of held-out cycles that a profile must explain in some component."""
LEAST_GAIN = 0.002
"""Minimum gain of this fraction by more harmonics."""
SHORTEST = 4
SAME = 0.8
"""A fraction of a period replaces it if its standardised contrast is at least this share."""
NEAR = 0.05
"""Relative difference below which periods count as equal."""
DAMPED = (0.25, 0.5, 1.0)
"""Lifetimes, in periods, of oscillations that do not count as a lasting period."""
FOLDS = 10


class Rhythm(NamedTuple):
    """A period, its profile, and the fraction of the variance of held-out cycles explained."""

    period: float
    profile: PeriodicMean
    skill: float


def contrasts(correlations: Array, periods: Any, steps: int) -> Array:
    """Return C(P) for every period; the last axis of `correlations` is the lag."""
    values = []
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
        values.append((correlations[..., tops] - around) @ weights)
    return np.stack(values, axis=-1)


class Cycle(NamedTuple):
    """A significant period, and whether it is lasting: no damped oscillation explains it."""

    period: float
    lasting: bool


def find_period(
    rows: Array, *, known: float | None = None, likely: Sequence[float] = (), seed: int = 0
) -> Cycle | None:
    """Find the period of the rows, between 4 steps and half their number.

    Periods in `likely` are tested first, by a separate test. Each of the two tests then has half of
    the significance level.

    Arguments:
        rows: shape `(steps, arms)`, means removed.
        known: a period in steps whose profile is removed; damped oscillations of this period are
            components of the drift model without a period.
        likely: periods in steps, such as a day. They are lasting by assumption.
        seed: of the simulated series without a period.

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
    observed, chance = _standardised(own, _drawn(law, scores, generator), periods, steps)
    likely = sorted(each for each in likely if SHORTEST <= round(each) <= periods[-1])
    level = LEVEL
    if likely:
        level = LEVEL / 2
        places = np.rint(likely).astype(int) - SHORTEST
        bound = _bound(chance[:, places], level)
        for candidate, place in zip(likely, places, strict=True):
            if observed[place] > bound:
                return Cycle(candidate, True)
    if observed.max() <= _bound(chance, level):
        return None
    period = _shortest(periods, observed)
    law = fitted_law(own[: steps // 2], steps, period, DAMPED)
    times = np.arange(1.0 - steps, 1.0)
    skill, chance = (
        _held_out(records, times, period).skill
        for records in (scores[None], _drawn(law, scores, generator))
    )
    return Cycle(period, bool(skill[0] > _bound(chance[:, None], level)))


def _drawn(law: Law, scores: Array, generator: Any) -> Array:
    """Draw centred surrogate series of the model with the scores' standard deviations."""
    drawn = law.draw(generator, (SURROGATES, *scores.shape))
    return np.asarray((drawn - drawn.mean(axis=1, keepdims=True)) * scores.std(axis=0))


def _standardised(own: Array, drawn: Array, periods: Any, steps: int) -> tuple[Array, Array]:
    """Return contrasts of the rows and of surrogates, standardised by the surrogates."""
    chance = contrasts(autocorrelation(drawn, own.shape[-1] - 1), periods, steps)
    mean, deviation = chance.mean(axis=0), chance.std(axis=0)
    return (contrasts(own, periods, steps) - mean) / deviation, (chance - mean) / deviation


def _bound(chance: Array, level: float) -> float:
    """Return the bound that the maximum of a surrogate exceeds with this probability."""
    largest = np.sort(chance.max(axis=1))[::-1]
    return float(largest[max(round(level * (len(largest) + 1)) - 1, 0)])


def _shortest(periods: Any, contrast: Array) -> int:
    """Return the best period, or a fraction of it with a similar contrast: a day for three days."""
    best = int(periods[contrast.argmax()])
    for count in range(best // SHORTEST, 1, -1):
        near = np.abs(periods - best / count) <= max(1, NEAR * best / count)
        if near.any() and contrast[near].max() >= SAME * contrast.max():
            return int(periods[near][contrast[near].argmax()])
    return best


def refined(rows: Array, times: Array, period: float) -> Rhythm | None:
    """Return the profile of the period within 2 % that forecasts held-out cycles best."""
    near = max(1, round(0.02 * period))
    each = [fit_profile(rows, times, period + away) for away in range(-near, near + 1)]
    fitted = [rhythm for rhythm in each if rhythm is not None]
    return max(fitted, key=lambda rhythm: rhythm.skill, default=None)


def fit_profile(rows: Array, times: Array, period: float) -> Rhythm | None:
    """Fit the profile of the rows at a period; None if it does not forecast held-out cycles.

    The profile of each principal component of the rows has its own number of harmonics and its own
    shrinkage, chosen by cross-validation over cycles. The component with most variance is often
    common to all arms; the differences between arms, which determine the best arm, may have another
    cycle. Returns None if no component's profile explains `LEAST_SKILL` of its held-out variance.
    """
    scores, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    scores = scores * sizes
    chosen = _held_out(scores.T[:, :, None], times, period)
    if chosen.skill.max() < LEAST_SKILL:
        return None
    most = int(chosen.harmonics.max())
    basis = _basis(times, period, most)
    weights = np.zeros((1 + 2 * most, len(sizes)))
    for count in np.unique(chosen.harmonics[chosen.harmonics > 0]).astype(int):
        own = np.flatnonzero(chosen.harmonics == count)
        first = basis[:, : 1 + 2 * count]
        weights[: 1 + 2 * count, own] = _solved(first.T @ first, first.T @ scores[:, own])
    weights = (chosen.shrink * weights) @ directions
    profile = PeriodicMean(period / np.arange(1, most + 1), weights[1::2], weights[2::2])
    return Rhythm(period, profile, float(chosen.skill @ sizes**2 / (sizes**2).sum()))


class _HeldOut(NamedTuple):
    """Fraction of held-out variance explained, number of harmonics, and shrinkage factor."""

    skill: Array
    harmonics: Array
    shrink: Array


def _held_out(records: Array, times: Array, period: float) -> _HeldOut:
    """Cross-validate profiles of records, shape `(records, steps, arms)`; zeros if impossible."""
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
        along = summed(each * product)  # predictions times rows
        squared = summed((gram @ each) * each)
        shrink = np.clip(along / np.maximum(squared, 1e-300), 0, 1)
        skill = (2 * shrink * along - shrink**2 * squared) / total
        better = skill > best.skill + LEAST_GAIN
        new = skill, np.full(number, count), shrink
        best = _HeldOut(*(np.where(better, *pair) for pair in zip(new, best, strict=True)))
    return best


def _basis(times: Array, period: float, count: int) -> Array:
    """Return the basis: 1, then cosine and sine of each harmonic."""
    angle = 2 * np.pi * times[:, None] / period * np.arange(1, count + 1)
    waves = np.stack([np.cos(angle), np.sin(angle)], axis=-1).reshape(len(times), -1)
    return np.concatenate([np.ones((len(times), 1)), waves], axis=1)


def _solved(gram: Array, product: Array) -> Array:
    ridge = 1e-9 * np.trace(gram, axis1=-2, axis2=-1)[..., None, None] * np.eye(gram.shape[-1])
    return np.asarray(np.linalg.solve(gram + ridge, product))
