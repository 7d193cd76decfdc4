"""Fantasies for pending suggestions.

All pending suggestions are fantasised at their posterior mean, oldest first. They are added in
blocks. A block depends only on the observations and on earlier blocks. The blocks of one suggestion
can therefore be reused for the next, with results that are bit-identical to a new computation in
any process.
"""

from collections.abc import Sequence

import numpy as np

from driftpeak._core.numerics.compiled import compiled
from driftpeak.live._model import gp
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.likelihoods import Rates
from driftpeak.live._model.observations import places
from driftpeak.live._space.records import PENDING, Outstanding
from driftpeak.live._space.schedule import Offsets

BLOCK = 32  # suggestions per block
SIZES = (BLOCK, 128, 512, 1024)  # array lengths for which programs are compiled
assert SIZES[-1] >= PENDING


def size_for_pending(count: int) -> int:
    """Return the array length for `count` pending suggestions; 0 for none."""
    return next(size for size in (0, *SIZES) if size >= count)


class FantasyCache:
    """A cache of fantasies of pending suggestions, valid until the next observation."""

    def __init__(self, offsets: Offsets) -> None:
        self.offsets = offsets
        self._posterior: gp.Conditioned | None = None  # the posterior that the cached blocks extend
        self._added: list[Outstanding] = []  # suggestions in the cached blocks
        self._fantasies: gp.Fantasies | None = None

    def fantasies(
        self,
        model: Model,
        known: gp.Conditioned,
        pending: Sequence[Outstanding],
        origin: float,
        rates: Rates | None = None,
    ) -> gp.Fantasies | None:
        """Return fantasies of the pending suggestions, or None if there are none.

        Arguments:
            model: the process.
            known: posterior given the observations.
            pending: pending suggestions, oldest first.
            origin: origin of the times in `known`.
            rates: the likelihood, if the function is latent.
        """
        if not pending:
            return None
        size = size_for_pending(len(pending))
        whole = len(pending) // BLOCK * BLOCK
        if not self._extends(known, pending[:whole], size):
            self._posterior, self._added = known, []
            self._fantasies = gp.no_fantasies(known, size)
        for start in range(len(self._added), whole, BLOCK):
            block = pending[start : start + BLOCK]
            self._fantasies = self._with(model, block, origin, rates)
            self._added = [*self._added, *block]
        # an incomplete block is not cached, because it may still grow
        if whole == len(pending):
            return self._fantasies
        return self._with(model, pending[whole:], origin, rates)

    def _extends(self, known: gp.Conditioned, whole: Sequence[Outstanding], size: int) -> bool:
        kept = self._fantasies is not None and len(self._fantasies.places.times) == size
        same = zip(self._added, whole, strict=False)
        return (
            kept
            and self._posterior is known
            and len(self._added) <= len(whole)
            and all(added is other for added, other in same)
        )

    def _with(
        self, model: Model, block: Sequence[Outstanding], origin: float, rates: Rates | None
    ) -> gp.Fantasies:
        assert self._posterior is not None
        assert self._fantasies is not None  # `fantasies` has made it
        rows = np.array(
            [self.offsets.row(suggestion.setting, suggestion.time) for suggestion in block]
        )
        times = np.array([suggestion.time for suggestion in block]) - origin
        added = places(rows, times, BLOCK)
        return _add_fantasies(
            model, self._posterior, self._fantasies, len(self._added), added, rates
        )


_add_fantasies = compiled(gp.add_fantasies)
