"""The engine of a `DriftingGP` with binary rewards or counts, whose function is latent."""

from typing import Any

import numpy as np

from driftpeak._core.errors import UnsupportedError
from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import Vector
from driftpeak.live._engines.drifting_gp import DriftingGP
from driftpeak.live._engines.gp_engine import GPEngine
from driftpeak.live._engines.gp_posterior import NEWEST, Observed
from driftpeak.live._engines.setup import EngineSetup
from driftpeak.live._model import gp, laplace
from driftpeak.live._model.likelihoods import KINDS, Rates, bounded_weights
from driftpeak.live._model.observations import pad, places, size_for
from driftpeak.live._model.scaling import RobustScaler
from driftpeak.live._space.records import Sample

APPENDED = 64  # the joint mode is computed again if more than 1 in so many rewards were appended


class RateEngine(GPEngine):
    """The engine for binary rewards and counts, with Laplace's approximation.

    New rewards are appended with their own modes. The joint mode of all rewards is computed again
    if more than 1 in 64 were appended; with 64 rewards or fewer, this is after each reward.
    """

    kind: type[Rates]

    def __init__(self, policy: DriftingGP, setup: EngineSetup) -> None:
        self.kind, self.sign = KINDS[policy.likelihood], setup.sign
        super().__init__(policy, setup)

    @property
    def rates(self) -> Rates:  # type: ignore[override]
        """The likelihood with its current centre."""
        return self._rates(self.standard)

    def _rates(self, standard: RobustScaler) -> Rates:
        return self.kind(standard.centre, self.sign)

    def check(self, reward: float, noise: float | None, trials: int | None) -> None:
        if noise is not None:
            raise UnsupportedError(
                f"noise must be None with likelihood={self.policy.likelihood!r}, which "
                f"determines it; got {noise:g}. Give trials for the mean of several measurements"
            )
        self.kind.check(reward, trials or 1)

    def observe(self, sample: Sample, reward: float) -> None:
        super().observe(sample, reward)
        if (len(self.memory) - self.base) * APPENDED > self.base:
            self._refactor()

    def _newest_standard(self) -> RobustScaler:
        memory = self.memory
        newest = memory.rewards[-NEWEST:] * self.sign
        return RobustScaler(self.kind.level(newest, memory.trials[-NEWEST:]), 1.0)

    def _is_far(self, standard: RobustScaler) -> Any:
        return np.zeros(len(self.memory), bool)  # invalid rewards were rejected by `check`

    def _seen(
        self, which: Any, weights: Vector, standard: RobustScaler, size: int | None = None
    ) -> Observed:
        memory = self.memory
        size = size or size_for(len(which), memory.capacity, NEWEST)
        rewards = memory.rewards[which]
        counted = weights[which] * bounded_weights(rewards, memory.trials[which])
        times = memory.times[which] - self.origin
        return places(memory.rows[which], times, size, counted), pad(rewards, size)

    def _all_at_once(self, among: gp.PaddedObservations, rewards: Vector) -> gp.Conditioned:
        return _learn(self.model, among, rewards, self.rates)

    def _observed_between(self, place: int) -> None:
        self._refactor()  # each mode depends on those before it

    def _appended(self, known: gp.Conditioned, start: int) -> gp.Conditioned:
        memory = self.memory
        counted, times = bounded_weights(memory.rewards, memory.trials), memory.times - self.origin
        for number in range(start, len(memory)):
            new = memory.rows[number], times[number], counted[number], memory.rewards[number]
            known = _append(self.model, known, number, *new, self.rates)
        return known

    def _with_noise(self, mean: Vector, deviation: Vector, sample: Sample) -> tuple[Vector, Vector]:
        return self.rates.spread(mean, deviation, sample.trials or 1)

    def _back(self, means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        mean, variance = self.rates.moments(means, deviations)
        return mean, np.sqrt(variance)

    def _value(self, standardised: Vector) -> Vector:
        return np.asarray(self.rates.rate(standardised))

    def report(self, time: float) -> dict[str, Any]:
        values = super().report(time)
        values.pop("noise", None)  # determined by the likelihood
        return values


_learn = compiled(laplace.learn)
_append = compiled(laplace.append)
