"""Detection of sudden changes of the function, and removal of those that were none."""

import numpy as np

from driftpeak._core.types import Vector
from driftpeak.live._engines.gp_posterior import GPBelief
from driftpeak.live._model.change_points import (
    KEPT,
    RECENT,
    TESTED,
    Change,
    find_change,
)
from driftpeak.live._model.hyperparameters import as_probable
from driftpeak.live._model.observations import pad


class ChangeDetection(GPBelief):
    """An engine that detects sudden changes of the function. Base class.

    Attributes:
        finds_changes: whether sudden changes are detected.
    """

    finds_changes: bool

    def _new_change(self) -> Change | None:
        """Return a sudden change among the newest observations, if there is one."""
        if not self.finds_changes or self.hyperparameters is None:
            return None
        memory, model = self.memory, self.model
        known, rejected = self.known(memory.times[-1]), memory.rejected
        if rejected[-RECENT:].any():  # several outliers in a row may be a change
            rejected = rejected & (np.arange(len(memory)) < len(memory) - TESTED)
            which, weights = np.arange(len(memory)), np.where(rejected, 0.0, 1.0)
            known = self._all_at_once(*self._seen(which, weights, self.standard, memory.size))
        used = np.flatnonzero(~rejected)
        found = find_change(model, known, self._residuals(), used, memory.rejected)
        return None if found is None else (found[0] + self.origin, found[1])

    def _residuals(self) -> Vector:
        """Return all rewards minus the level, in standard units, padded."""
        memory = self.memory
        return pad(self.standard.into(memory.rewards) - self.model.level, memory.size)

    def _probable_changes(self) -> list[Change]:
        """Return the sudden changes that still make the observations more probable."""
        if not self.changes:
            return []
        observed = self._to_learn_from(self.standard, self.memory.rejected)

        def density(changes: list[Change]) -> float:
            model = self._since(self.origin, changes)
            return as_probable(model, self._problem(observed, model, self.pace))

        kept = self.changes
        for change in self.changes:
            others = [other for other in kept if other != change]
            if density(kept) - density(others) < KEPT:
                kept = others
        return kept
