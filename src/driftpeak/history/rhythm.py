r"""A period that recorded rows repeat, found and not assumed.

If rows repeat after P steps, they resemble those of P, 2P, ... steps before more than those of half
a period less or more. The contrast

\[C(P) = \overline{r(mP) - \tfrac12 (r((m - \tfrac12) P) + r((m + \tfrac12) P))},\]

a mean over m = 1, 2, ... of the autocorrelation r, is largest at the period. Slow wandering makes
large contrasts by chance, so the largest is held against those of series drawn from a law of motion
that has no rhythm, fitted to the same autocorrelation. The profile is then fitted by harmonics, as
many as forecast cycles best that were held out.
"""

from typing import Any, NamedTuple

import numpy as np

from driftpeak.history.correlation import Array, autocorrelation, fitted_law
from driftpeak.profiles import Profile

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
"""A period whose part has this share of its contrast is a multiple of that part."""
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


def find_period(rows: Array, *, known: float | None = None, seed: int = 0) -> int | None:
    """The period of the rows in steps, between 4 and half their number; None if there is none.

    Arguments:
        rows: shape `(steps, arms)`, means removed.
        known: a period whose profile is removed; what comes round with it, but not for long, is no
            further one.
        seed: of the series that have no rhythm.
    """
    steps = len(rows)
    periods = np.arange(SHORTEST, steps // 2 + 1)
    if len(periods) == 0 or not rows.any():
        return None
    scores, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    scores = (scores * sizes)[:, :COMPONENTS]
    most = 3 * steps // 4
    own = autocorrelation(scores, most)
    contrast = contrasts(own, periods, steps)
    law = fitted_law(own[: steps // 2], steps, known)
    drawn = law.draw(np.random.default_rng(seed), (SURROGATES, steps, scores.shape[1]))
    drawn = (drawn - drawn.mean(axis=1, keepdims=True)) * scores.std(axis=0)
    chance = contrasts(autocorrelation(drawn, most), periods, steps).max(axis=-1)
    share = ((chance >= contrast.max()).sum() + 1) / (SURROGATES + 1)
    return _shortest(periods, contrast) if share <= LEVEL else None


def _shortest(periods: Any, contrast: Array) -> int:
    """The best period, or that of which it is a multiple: after three days rows are alike too."""
    best = int(periods[contrast.argmax()])
    for count in range(best // SHORTEST, 1, -1):
        near = np.abs(periods - best / count) <= max(1, 0.05 * best / count)
        if near.any() and contrast[near].max() >= SAME * contrast.max():
            return int(periods[near][contrast[near].argmax()])
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
    total = max(float((rows**2).sum()), 1e-300)
    cycle = np.floor((times - times[-1] - 0.5) / period).astype(int)
    groups = np.array_split(np.unique(cycle), min(FOLDS, len(np.unique(cycle))))
    most = int(max((period - 1) // 2, 0))
    if len(groups) < 2 or most < 1:
        return None
    basis = _basis(times, period, min(most, HARMONICS[-1]))
    held = [np.isin(cycle, group) for group in groups]
    grams = np.stack([basis[out].T @ basis[out] for out in held])
    products = np.stack([basis[out].T @ rows[out] for out in held])
    best: tuple[float, int, float] | None = None
    for count in HARMONICS:
        if count > most:
            break
        first = slice(1 + 2 * count)
        gram, product = grams[:, first, first], products[:, first]
        each = _solved(gram.sum(axis=0) - gram, product.sum(axis=0) - product)
        along = float((each * product).sum())  # expectations times rows
        squared = float(((gram @ each) * each).sum())
        shrink = float(np.clip(along / max(squared, 1e-300), 0, 1))
        skill = (2 * shrink * along - shrink**2 * squared) / total
        if best is None or skill > best[0] + LEAST_GAIN:
            best = skill, count, shrink
    if best is None or best[0] < LEAST_SKILL:
        return None
    skill, count, shrink = best
    first = slice(1 + 2 * count)
    weights = shrink * _solved(grams.sum(axis=0)[first, first], products.sum(axis=0)[first])
    profile = Profile(period / np.arange(1, count + 1), weights[1::2], weights[2::2])
    return Rhythm(period, profile, skill)


def _basis(times: Array, period: float, count: int) -> Array:
    """1, and cosine and sine of every harmonic in turn."""
    angle = 2 * np.pi * times[:, None] / period * np.arange(1, count + 1)
    waves = np.stack([np.cos(angle), np.sin(angle)], axis=-1).reshape(len(times), -1)
    return np.concatenate([np.ones((len(times), 1)), waves], axis=1)


def _solved(gram: Array, product: Array) -> Array:
    ridge = 1e-9 * np.trace(gram, axis1=-2, axis2=-1)[..., None, None] * np.eye(gram.shape[-1])
    return np.asarray(np.linalg.solve(gram + ridge, product))
