"""Suggestions that are out and not yet told, as a Gaussian process imagines them.

All of them count, in the order in which they went out. They are added in blocks; a block depends on
the observations and on the blocks before it alone. So the blocks that were added for the last
suggestion are there for the next one, and what was kept equals what is computed anew to the last
digit, in whatever process.
"""

import numpy as np

from driftpeak._core.numerics.compiled import compiled
from driftpeak.live.model import gp
from driftpeak.live.model.likelihoods import Rates
from driftpeak.live.model.observations import places
from driftpeak.live.space.encoding import Coding
from driftpeak.live.space.records import PENDING, Outstanding

BLOCK = 32  # suggestions that are added at once
SIZES = (BLOCK, 128, 512, 1024)  # numbers of places for which programs are compiled
assert SIZES[-1] >= PENDING


class Ahead:
    """The suggestions that are out, for as long as nothing is told."""

    def __init__(self, coding: Coding) -> None:
        self.coding = coding
        self._known: gp.Known | None = None  # what the kept blocks go on from
        self._added: list[Outstanding] = []  # in these blocks
        self._imagined: gp.Imagined | None = None

    def imagined(
        self,
        model: gp.Model,
        known: gp.Known,
        pending: list[Outstanding],
        origin: float,
        rates: Rates | None = None,
    ) -> gp.Imagined | None:
        """What is out, imagined after what is known; None if nothing is out.

        Arguments:
            pending: oldest first.
            origin: the time from which `known` counts.
            rates: for what the function stands, if it is latent.
        """
        if not pending:
            return None
        size = next(size for size in SIZES if size >= len(pending))
        whole = len(pending) // BLOCK * BLOCK
        if not self._goes_on(known, pending[:whole], size):
            self._known, self._added = known, []
            self._imagined = gp.nothing_imagined(known, size)
        for start in range(len(self._added), whole, BLOCK):
            block = pending[start : start + BLOCK]
            self._imagined = self._with(model, block, origin, rates)
            self._added = [*self._added, *block]
        # the last block may still grow
        if whole == len(pending):
            return self._imagined
        return self._with(model, pending[whole:], origin, rates)

    def _goes_on(self, known: gp.Known, whole: list[Outstanding], size: int) -> bool:
        kept = self._imagined is not None and len(self._imagined.places.times) == size
        same = zip(self._added, whole, strict=False)
        return (
            kept
            and self._known is known
            and len(self._added) <= len(whole)
            and all(one is other for one, other in same)
        )

    def _with(
        self, model: gp.Model, block: list[Outstanding], origin: float, rates: Rates | None
    ) -> gp.Imagined:
        assert self._known is not None
        assert self._imagined is not None  # `imagined` has made it
        rows = np.array([self.coding.row_in(one.setting) for one in block])
        times = np.array([one.time for one in block]) - origin
        added = places(rows, times, BLOCK)
        return _imagine(model, self._known, self._imagined, len(self._added), added, rates)


_imagine = compiled(gp.imagine)
