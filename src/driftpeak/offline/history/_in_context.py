r"""Estimation of context effects on each arm, and of the correlation between contexts.

The effect of a context on the arms' means is the sum of an offset that all arms share and an offset
of each arm. Both are estimated by the mean of the context's rows and shrunk towards 0 by empirical
Bayes. With m rows in the context, the estimate is

\[\hat d \;\frac{\tau^2}{\tau^2 + v / m},\]

where \(\tau^2\) is the mean product of the estimates from the first and the second half of the
rows, whose expectation without an effect is 0 for any slow drift, and v follows from the estimates'
mean square. With several factors (a weekday and a load), the effect of each is estimated on the
residual of the ones before it, and then their interaction.

The residual r drifts. Its correlation \(\rho\) between contexts is the sum over lags of the mean
\(r_t r_{t+k}\) between different contexts, divided by the same sum within one context.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite_array
from driftpeak.gp import kernels
from driftpeak.gp.context_points import Contexts
from driftpeak.gp.means import PeriodicMean
from driftpeak.gp.priors import Prior
from driftpeak.offline.history._correlation import Array

LAGS = 20
LEAST_PAIRS = 20
ALIKE = 0.95
"""Correlations of at least this value count as 1: the difference is within the estimation error,
and the posterior is then smaller by a factor of the number of contexts."""

MOST_CELLS = 1_000
"""Maximum of arms times contexts; the covariance has an entry for each pair."""

Codes = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True, eq=False)
class ContextsLearned:
    """Context effects estimated from recorded rows. Returned by `learn_contexts`.

    Attributes:
        contexts: the contexts of the rows, and of the steps after them.
        offsets: the effect of each context on the mean of every arm, shape `(kinds, arms)`.
        shared: correlation of the residual between different contexts.
        explained: fraction of the variance of the rows that the offsets explain.
        rest: the rows without the offsets.
    """

    contexts: Contexts
    offsets: Array
    shared: float
    explained: float
    rest: Array

    @property
    def ahead(self) -> Contexts:
        """Return the contexts of the steps after the rows.

        Raises:
            DriftpeakError: there are none.
        """
        return self.contexts.after(len(self.rest))

    def prior(self, prior: Prior) -> Prior:
        """Return the prior of all pairs of arm and context, from a prior of the arms.

        Arguments:
            prior: a prior of the arms' rewards without the offsets.

        Raises:
            DriftpeakError: there are more than 1,000 pairs.
        """
        kinds = len(self.contexts.kinds)
        if len(prior) * kinds > MOST_CELLS:
            raise DriftpeakError(
                f"arms times contexts must be at most {MOST_CELLS:,}; got {len(prior)} arms and "
                f"{kinds} contexts, {len(prior) * kinds:,}. Use fewer context columns, or columns "
                "with fewer different values."
            )
        alike = np.full((kinds, kinds), self.shared)
        np.fill_diagonal(alike, 1.0)
        return Prior(
            self.contexts.cells(prior.domain),
            kernels.Table(np.kron(alike, prior.gram)),
            prior.noise_variance,
            (prior.mean + self.offsets).ravel(),
        )

    def profile(self, profile: PeriodicMean | None) -> PeriodicMean | None:
        """Return the profile of all pairs of arm and context, which is equal in all contexts."""
        if profile is None:
            return None
        kinds = len(self.contexts.kinds)
        return PeriodicMean(
            profile.periods, np.tile(profile.cosines, kinds), np.tile(profile.sines, kinds)
        )

    def best(self, mean: Array) -> Array:
        """Return the mean of every arm in the context of each step after the rows.

        Arguments:
            mean: the arms' means, shape `(arms,)`.
        """
        return (mean + self.offsets)[self.ahead.numbers]

    def report(self) -> str:
        """Return a description of the estimates."""
        alike = (
            "the drift is equal in all contexts"
            if self.shared == 1
            else f"the drift has a correlation of {self.shared:.2f} between contexts"
        )
        return (
            f"{len(self.contexts.kinds)} contexts explain {self.explained:.0%} of the variance of "
            f"the training rows; {alike}"
        )


@checked
def learn_contexts(history: Any, contexts: Contexts) -> ContextsLearned:
    """Estimate the effects of contexts from recorded rewards.

    Arguments:
        history: rewards, shape `(steps, arms)`, at least 4 steps.
        contexts: the contexts of these steps and, optionally, of later steps.

    Raises:
        DriftpeakError: there are fewer than four rows, values are not finite, or there are fewer
            contexts than rows.

    Example:
        >>> import numpy as np
        >>> import driftpeak as dp
        >>> from driftpeak.offline.history import learn_contexts
        >>> rain = np.random.default_rng(0).random(200) < 0.3
        >>> rows = np.where(rain[:, None], [3.0, 0.0], [1.0, 2.0])
        >>> rows = rows + 0.1 * np.random.default_rng(1).normal(size=rows.shape)
        >>> effects = learn_contexts(rows, dp.Contexts([bool(rains) for rains in rain]))
        >>> (rows.mean(axis=0) + effects.offsets).round(1).tolist()   # without and with rain
        [[1.0, 2.0], [3.0, 0.0]]
    """
    rows = finite_array("history", history, 2)
    if len(rows) < 4:
        raise DriftpeakError(f"history must have at least 4 rows; got {len(rows)}")
    if len(contexts) < len(rows):
        raise DriftpeakError(
            f"contexts must have an entry for each of the {len(rows)} rows; got {len(contexts)}"
        )
    offsets = offsets_of(rows, contexts)
    numbers = contexts.numbers[: len(rows)]
    rest = rows - offsets[numbers]
    whole = float(rows.var(axis=0).sum())
    explained = 1 - float(rest.var(axis=0).sum()) / whole if whole > 0 else 0.0
    return ContextsLearned(contexts, offsets, shared_by(rest, numbers), explained, rest)


def offsets_of(rows: Array, contexts: Contexts) -> Array:
    """Estimate the effect of each context on every arm's mean, shape `(kinds, arms)`.

    Arguments:
        rows: rewards, shape `(steps, arms)`, of the first steps of `contexts`.
        contexts: the contexts of these steps.
    """
    numbers, kinds = contexts.numbers[: len(rows)], contexts.kinds
    names = list(kinds[0])
    factors = [_codes([kind[name] for kind in kinds]) for name in names]
    if len(names) > 1:
        factors.append(np.arange(len(kinds)))
    rest = rows - rows.mean(axis=0)
    offsets = np.zeros((len(kinds), rows.shape[1]))
    for codes in factors:
        share = _shrunk(rest, codes[numbers], int(codes.max()) + 1)[codes]
        offsets += share
        rest = rest - share[numbers]
    # the offsets must not change the arms' means
    return offsets - offsets[numbers].mean(axis=0)


def shared_by(rows: Array, numbers: Codes) -> float:
    r"""Estimate \(\rho\), in [0, 1]; 1 if no lag has enough pairs within and between contexts.

    Arguments:
        rows: the rows without the offsets, shape `(steps, arms)`.
        numbers: the indices of the contexts, shape `(steps,)`.
    """
    rest = rows - rows.mean(axis=0)
    within = between = 0.0
    for lag in range(1, min(LAGS, len(rest) - 1) + 1):
        products = (rest[lag:] * rest[:-lag]).mean(axis=1)
        same = numbers[lag:] == numbers[:-lag]
        if min(same.sum(), (~same).sum()) >= LEAST_PAIRS:
            within += float(products[same].mean())
            between += float(products[~same].mean())
    if within <= 0:
        return 1.0
    share = min(max(between / within, 0.0), 1.0)
    return 1.0 if share >= ALIKE else share


def _codes(values: Sequence[Any]) -> Codes:
    known = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return np.array([known[value] for value in values])


def _shrunk(rest: Array, codes: Codes, levels: int) -> Array:
    """Return shrunk means of the levels of one factor, shape `(levels, arms)`."""
    half = len(rest) // 2
    counts, means = _means(rest, codes, levels)
    first, second = (
        _means(part - part.mean(axis=0), own, levels)
        for part, own in ((rest[:half], codes[:half]), (rest[half:], codes[half:]))
    )
    both = first[0] * second[0]
    weights = both / np.maximum(first[0] + second[0], 1)
    effects = np.zeros_like(means)
    if not both.any():
        return effects
    seen = counts > 0
    for part in (_common, _own):
        products = (part(first[1]) * part(second[1])).mean(axis=1)
        signal = max(float(weights @ products / weights.sum()), 0.0)
        if signal > 0:
            whole = part(means)
            total = float(counts @ (whole**2).mean(axis=1) / counts.sum())
            chance = max(total - signal, 0.0) * counts.sum() / seen.sum()
            effects += whole * (signal / (signal + chance / np.maximum(counts, 1)))[:, None]
    return np.where(seen[:, None], effects, 0.0)


def _means(rest: Array, codes: Codes, levels: int) -> tuple[Array, Array]:
    """Return the number of rows of each level, and their mean, 0 if there are none."""
    counts = np.bincount(codes, minlength=levels).astype(float)
    sums = np.zeros((levels, rest.shape[1]))
    np.add.at(sums, codes, rest)
    return counts, sums / np.maximum(counts, 1)[:, None]


def _common(means: Array) -> Array:
    return np.broadcast_to(means.mean(axis=1, keepdims=True), means.shape)


def _own(means: Array) -> Array:
    return means - means.mean(axis=1, keepdims=True)
