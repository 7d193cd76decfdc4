r"""What recorded rows say of contexts: what each is worth to every arm, and what they share.

What a context adds to the arms' means is split into an offset of all arms and what is left for each
of them. Both are estimated by the mean of the context's rows and shrunk towards 0 as far as chance
explains them (empirical Bayes): with m rows in the context,

\[\hat d \;\frac{\tau^2}{\tau^2 + v / m},\]

where \(\tau^2\) is the mean product of the estimates of the first and the second half of the rows,
which chance makes 0 however slowly rewards wander, and v follows from the estimates' mean square.
With several parts (a weekday and a load) each has its share after those before it, and then all of
them together.

What is left, r, moves. Contexts share it as far as products at the same lag tell: \(\rho\) is the
sum over lags of the mean \(r_t r_{t+k}\) between different contexts, over that within one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite_array
from driftpeak.gp import kernels
from driftpeak.gp.context_points import Contexts
from driftpeak.gp.means import Profile
from driftpeak.gp.priors import Prior
from driftpeak.offline.history.correlation import Array

LAGS = 20
LEAST_PAIRS = 20
ALIKE = 0.95
"""Contexts that share as much share all: the difference is within the error of the estimate, and
beliefs are as many times smaller as there are contexts."""

MOST_CELLS = 1_000
"""Arms times contexts, whose covariance is that of all pairs."""

Codes = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True, eq=False)
class ContextsLearned:
    """What recorded rows say of contexts. Made by `learn_contexts`.

    Attributes:
        contexts: of the rows, and of the steps after them.
        offsets: what each kind adds to every arm's mean, shape `(kinds, arms)`.
        shared: correlation between different contexts of what moves.
        explained: share of the variance of the rows that the offsets take away.
        rest: the rows without the offsets.
    """

    contexts: Contexts
    offsets: Array
    shared: float
    explained: float
    rest: Array

    @property
    def ahead(self) -> Contexts:
        """The contexts of the steps after the rows.

        Raises:
            DriftpeakError: there are none.
        """
        return self.contexts.after(len(self.rest))

    def prior(self, prior: Prior) -> Prior:
        """The prior of the cells, from one of the arms without the offsets.

        Raises:
            DriftpeakError: more than 1,000 cells.
        """
        kinds = len(self.contexts.kinds)
        if len(prior) * kinds > MOST_CELLS:
            raise DriftpeakError(
                f"{len(prior)} arms in {kinds} contexts are {len(prior) * kinds:,} cells, and at "
                f"most {MOST_CELLS:,} can be learned of: give fewer context columns, or columns "
                "that say fewer different things"
            )
        alike = np.full((kinds, kinds), self.shared)
        np.fill_diagonal(alike, 1.0)
        return Prior(
            self.contexts.cells(prior.domain),
            kernels.Table(np.kron(alike, prior.gram)),
            prior.noise_variance,
            (prior.mean + self.offsets).ravel(),
        )

    def profile(self, profile: Profile | None) -> Profile | None:
        """Of the cells: that of the arms, the same in all contexts."""
        if profile is None:
            return None
        kinds = len(self.contexts.kinds)
        return Profile(
            profile.periods, np.tile(profile.cosines, kinds), np.tile(profile.sines, kinds)
        )

    def best(self, mean: Array) -> Array:
        """A table with what every arm is worth at each step after the rows, from its mean alone."""
        return (mean + self.offsets)[self.ahead.numbers]

    def report(self) -> str:
        """What was found, in words."""
        alike = (
            "what moves beside them moves in all contexts alike"
            if self.shared == 1
            else f"what moves beside them has a correlation of {self.shared:.2f} between contexts"
        )
        return (
            f"{len(self.contexts.kinds)} contexts explain {self.explained:.0%} of the variance of "
            f"the training rows; {alike}"
        )


@checked
def learn_contexts(history: Any, contexts: Contexts) -> ContextsLearned:
    """What recorded rewards say of the contexts that they came in.

    Arguments:
        history: rewards, shape `(steps, arms)`, at least 4 steps.
        contexts: of these steps and, if more are given, of those after them.

    Raises:
        DriftpeakError: fewer than four rows, values that are not finite, fewer contexts than rows.

    Example:
        >>> import numpy as np
        >>> import driftpeak as dp
        >>> from driftpeak.offline.history import learn_contexts
        >>> rain = np.random.default_rng(0).random(200) < 0.3
        >>> rows = np.where(rain[:, None], [3.0, 0.0], [1.0, 2.0])
        >>> rows = rows + 0.1 * np.random.default_rng(1).normal(size=rows.shape)
        >>> found = learn_contexts(rows, dp.Contexts([bool(one) for one in rain]))
        >>> (rows.mean(axis=0) + found.offsets).round(1).tolist()   # without rain, and with it
        [[1.0, 2.0], [3.0, 0.0]]
    """
    rows = finite_array("history", history, 2)
    if len(rows) < 4:
        raise DriftpeakError(f"contexts are learned from at least 4 rows; got {len(rows)}")
    if len(contexts) < len(rows):
        raise DriftpeakError(f"there are {len(rows)} rows, and contexts for {len(contexts)}")
    offsets = offsets_of(rows, contexts)
    numbers = contexts.numbers[: len(rows)]
    rest = rows - offsets[numbers]
    whole = float(rows.var(axis=0).sum())
    explained = 1 - float(rest.var(axis=0).sum()) / whole if whole > 0 else 0.0
    return ContextsLearned(contexts, offsets, shared_by(rest, numbers), explained, rest)


def offsets_of(rows: Array, contexts: Contexts) -> Array:
    """What each kind of `contexts` adds to every arm's mean, shape `(kinds, arms)`.

    Arguments:
        rows: rewards, shape `(steps, arms)`; of the first steps of `contexts`.
    """
    numbers, kinds = contexts.numbers[: len(rows)], contexts.kinds
    names = list(kinds[0])
    factors = [_codes([kind[name] for kind in kinds]) for name in names]
    if len(names) > 1:
        factors.append(np.arange(len(kinds)))
    rest = rows - rows.mean(axis=0)
    found = np.zeros((len(kinds), rows.shape[1]))
    for codes in factors:
        share = _shrunk(rest, codes[numbers], int(codes.max()) + 1)[codes]
        found += share
        rest = rest - share[numbers]
    # the arms' means stay what they are
    return found - found[numbers].mean(axis=0)


def shared_by(rows: Array, numbers: Codes) -> float:
    r"""\(\rho\), in [0, 1]; 1 where no lag has pairs of both sorts.

    Arguments:
        rows: what is left without the offsets, shape `(steps, arms)`.
        numbers: of the kinds, shape `(steps,)`.
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
    """Means of the levels of one factor, shrunk, shape `(levels, arms)`."""
    half = len(rest) // 2
    counts, means = _means(rest, codes, levels)
    first, second = (
        _means(part - part.mean(axis=0), own, levels)
        for part, own in ((rest[:half], codes[:half]), (rest[half:], codes[half:]))
    )
    both = first[0] * second[0]
    weights = both / np.maximum(first[0] + second[0], 1)
    found = np.zeros_like(means)
    if not both.any():
        return found
    seen = counts > 0
    for part in (_common, _own):
        products = (part(first[1]) * part(second[1])).mean(axis=1)
        signal = max(float(weights @ products / weights.sum()), 0.0)
        if signal > 0:
            whole = part(means)
            total = float(counts @ (whole**2).mean(axis=1) / counts.sum())
            chance = max(total - signal, 0.0) * counts.sum() / seen.sum()
            found += whole * (signal / (signal + chance / np.maximum(counts, 1)))[:, None]
    return np.where(seen[:, None], found, 0.0)


def _means(rest: Array, codes: Codes, levels: int) -> tuple[Array, Array]:
    """How often each level comes, and the mean of its rows, 0 where there are none."""
    counts = np.bincount(codes, minlength=levels).astype(float)
    sums = np.zeros((levels, rest.shape[1]))
    np.add.at(sums, codes, rest)
    return counts, sums / np.maximum(counts, 1)[:, None]


def _common(means: Array) -> Array:
    return np.broadcast_to(means.mean(axis=1, keepdims=True), means.shape)


def _own(means: Array) -> Array:
    return means - means.mean(axis=1, keepdims=True)
