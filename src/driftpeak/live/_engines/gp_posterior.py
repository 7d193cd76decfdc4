"""The posterior of a `DriftingGP` given its observations, updated with each observation."""

from typing import Any

import numpy as np

from driftpeak._core.errors import (
    DriftpeakError,
    at_least_integer,
)
from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import Vector
from driftpeak.gp.forgetting import Forgetting
from driftpeak.live._engines.drifting_gp import DriftingGP
from driftpeak.live._engines.engine import Engine
from driftpeak.live._model import gp
from driftpeak.live._model.change_points import Change, padded_changes
from driftpeak.live._model.covariance import ROUND, Model
from driftpeak.live._model.drift_models import kind_named, motions, prior_of, worths
from driftpeak.live._model.hyperparameters import (
    SIZES,
    Kind,
    Problem,
    check_hyperparameters,
    default_model,
    effect_of_choices,
    kind_of,
)
from driftpeak.live._model.likelihoods import Rates
from driftpeak.live._model.observations import Memory, in_blocks, pad, places, size_for
from driftpeak.live._model.scaling import RobustScaler
from driftpeak.live._space.encoding import Coding
from driftpeak.live._space.records import Arrays, Sample
from driftpeak.live._space.schedule import Offsets, Schedule

NEWEST = 256  # observations to learn hyperparameters from
DROPPED = 8  # one in so many observations of a full memory is deleted at once
QUIETEST = 1e-3  # least known noise, in scales of the rewards; the largest is the inverse
PHASES = 8  # phases of a period at which the information of observations is computed
BLOCK = 8  # observations that one call appends
LATE = 32  # at most so many observations after a late one are appended again
ROWS = (1, 64, 512)  # numbers of rows for which a posterior is compiled
Observed = tuple[gp.PaddedObservations, Vector]
"""Observations in places, and their rewards in standard units."""


class GPBelief(Engine):
    """An engine's observations, learned hyperparameters and factored posterior.

    Attributes:
        effect_share: share of the effect of choices in the variance; None for no effect.
    """

    effect_share: float | None = 0.03

    def __init__(self, policy: DriftingGP, coding: Coding, schedule: Schedule | None) -> None:
        self.policy, self.coding, self.offsets = policy, coding, Offsets(coding, schedule)
        self.motions = motions(policy.forgetting)
        self.rule = policy.forgetting if isinstance(policy.forgetting, Forgetting) else None
        self.reset()

    def reset(self) -> None:
        self.memory = Memory(self.policy.capacity, len(self.coding.all_columns))
        self.tells = self.since_fit = 0
        self.newest = 0  # index of the last observation that was told
        self.hyperparameters: dict[str, Any] | None = None
        self._understand(None)

    def _understand(self, values: dict[str, Any] | None) -> None:
        if values is not None:
            check_hyperparameters(values, self.motions, len(self.coding.all_columns))
        self.hyperparameters = values
        if values is None:
            self.standard = RobustScaler()
            self.pace = 1.0
            self.models = {name: self._default_model(name) for name in self.motions}
            self.changes: list[Change] = []
            densities = dict.fromkeys(self.models, 0.0)
        else:
            self.standard = RobustScaler(values["centre"], values["scale"])
            self.pace = values["pace"]
            learned = values["motions"]
            self.models = {name: self._model(name, motion) for name, motion in learned.items()}
            self.changes = [(time, loss) for time, loss in values.get("changes", [])]
            densities = {name: motion["log_density"] for name, motion in learned.items()}
        names = list(self.models)
        evidence = np.array([densities[name] + np.log(prior_of(name)) for name in names])
        odds = np.exp(evidence - evidence.max())
        self.probabilities = odds / odds.sum()
        self.motion = names[int(np.argmax(evidence))]
        self._refactor()

    def _default_model(self, motion: str) -> Model:
        return default_model(self.coding.all_gaps, self.pace, self._kind(motion))

    def _model(self, motion: str, values: dict[str, Any]) -> Model:
        return Model(
            **{name: values[name] for name in ("level", "variance", "noise_variance", "timescale")},
            lengthscale=np.array(values["lengthscale"]),
            gaps=self.coding.all_gaps,
            share=values.get("share", 0.0),
            **self._kind(motion)._asdict(),
        )

    def _kind(self, motion: str) -> Kind:
        return kind_named(motion)._replace(
            effect=effect_of_choices(self.coding.all_gaps, self.effect_share)
        )

    def observe(self, sample: Sample, reward: float) -> None:
        if len(self.memory) == self.policy.capacity:
            self._drop(max(sample.time, self.origin))
        size = self.memory.size
        row = self.offsets.row(sample.setting, sample.time)
        self.newest = self.memory.insert(row, reward, sample)
        self.tells += 1
        self.since_fit += 1
        if self.rule is not None or self.memory.size != size or self.base == 0:
            self._refactor()
        elif self.newest < len(self.memory) - 1:
            self._observed_between(self.newest)

    def _drop(self, now: float) -> None:
        if self.rule is None:
            known, elapsed = self.known(now), now - self.origin
            # observations at another phase of the cycle have information about that phase
            rhythm = self.model.beside == ROUND
            phases = np.arange(PHASES) * self.model.period / PHASES if rhythm else (0.0,)
            each = [
                np.asarray(_variance_reductions(self.model, known, elapsed + phase))
                for phase in phases
            ]
            information = np.max(each, axis=0)
            information = np.where(self.memory.rejected, -np.inf, information[: len(self.memory)])
        else:
            information = self.memory.times
        dropped = np.argsort(information, kind="stable")
        dropped = dropped[: len(self.memory) // DROPPED]
        kept = np.ones(len(self.memory), bool)
        kept[dropped] = False
        self.memory.keep(kept)
        self._refactor()

    def learned(self, values: dict[str, Any]) -> None:
        self._understand(values)
        self.since_fit = values.get("since", 0)
        self.memory.reject(values.get("doubted", []))

    def forgot(self, before: float | None) -> None:
        self.memory.keep(self.memory.times >= (np.inf if before is None else before))
        self._refactor()

    def _refactor(self, base: int | None = None) -> None:
        """Discard the factors; they are computed again when next needed.

        Arguments:
            base: number of observations to factor at once; the others are appended. By default
                all.
        """
        self.base = len(self.memory) if base is None else base
        self._factored = self.base  # number of observations in `_known`
        self._known: gp.Conditioned | None = None
        self._known_at = np.inf  # the time of `_known`, under a rule
        self.model = self._since(self.origin)

    def _since(self, origin: float, changes: list[Change] | None = None) -> Model:
        """Return the model for times relative to an origin, with its changes or others."""
        padded = padded_changes(self.changes if changes is None else changes, origin)
        return self.models[self.motion]._replace(changes=padded)

    def _observed_between(self, place: int) -> None:
        """Update the factors after an observation was inserted at `place`, before others."""
        if place >= self.base:
            self._factored = min(self._factored, place)
        elif len(self.memory) - place <= LATE < place:
            self._refactor(place - BLOCK)  # the next observation may precede this one
        else:
            self._refactor()

    @property
    def origin(self) -> float:
        """Origin of times, chosen so that times are small and their differences exact."""
        return float(self.memory.times[self.base - 1]) if self.base else 0.0

    def known(self, time: float) -> gp.Conditioned:
        """Return the factored posterior at `time`; without a rule, it is equal at all times."""
        if self.rule is None:
            return self._all_known()
        if self._known is None or self._known_at != time:
            weights = self._accepted_weights(time)
            seen = self._seen(np.flatnonzero(weights), weights, self.standard)
            self._known = self._all_at_once(*seen)
            self._known_at = time
        return self._known

    def _all_known(self) -> gp.Conditioned:
        """Factor the first `base` observations at once, and append the others one by one.

        Equal states therefore give bit-identical numbers, whatever the order of arrival.
        """
        memory, known = self.memory, self._known
        if known is None:
            first = np.arange(self.base)
            weights = np.where(memory.rejected[first], 0.0, 1.0)
            known = self._all_at_once(*self._seen(first, weights, self.standard, memory.size))
        if self._factored < len(memory):
            known = self._appended(known, self._factored)
        self._known, self._factored = known, len(memory)
        return known

    def _all_at_once(self, among: gp.PaddedObservations, rewards: Vector) -> gp.Conditioned:
        return _learn(self.model, among, rewards)

    def _appended(self, known: gp.Conditioned, start: int) -> gp.Conditioned:
        """Append the observations from index `start` on to a posterior."""
        memory, noise = self.memory, self._noise(self.standard)
        rewards = pad(self.standard.into(memory.rewards), memory.size)
        weights = np.where(memory.rejected, 0.0, 1.0)
        for first in range(start, len(memory), BLOCK):
            some = slice(first, min(first + BLOCK, len(memory)))
            times = memory.times[some] - self.origin
            block = places(memory.rows[some], times, BLOCK, weights[some], noise[some])
            known = _append(self.model, known, first, block, len(times), rewards)
        return known

    def _accepted_weights(self, time: float) -> Vector:
        """Return the weight of each observation at `time`, 0 for outliers."""
        return np.where(self.memory.rejected, 0.0, self._weights(time))

    def _weights(self, time: float) -> Vector:
        """Return the weight of each observation under the forgetting rule, outliers included."""
        memory = self.memory
        if self.rule is None:
            return np.ones(len(memory))
        return worths(self.rule, memory.times, time, memory.size)

    def _seen(
        self, which: Any, weights: Vector, standard: RobustScaler, size: int | None = None
    ) -> Observed:
        """Return some observations in places, and their rewards in standard units.

        Arguments:
            which: indices of the observations.
            weights: weights of all observations.
            standard: the standardisation of rewards.
            size: number of places; by default the least that is sufficient.
        """
        memory = self.memory
        size = size or size_for(len(which), memory.capacity, NEWEST)
        times = memory.times[which] - self.origin
        rewards = pad(standard.into(memory.rewards[which]), size)
        noise = self._noise(standard)[which]
        return places(memory.rows[which], times, size, weights[which], noise), rewards

    def _to_learn_from(self, standard: RobustScaler, rejected: Any) -> Observed:
        """Return the newest observations that are not outliers, with standardised rewards."""
        weights = np.where(rejected, 0.0, self._weights(self.memory.times[-1]))
        which = np.flatnonzero(weights)[-NEWEST:]
        size = size_for(len(which), self.memory.capacity, NEWEST, *SIZES)
        return self._seen(which, weights, standard, size)

    def _problem(
        self, observed: Observed, model: Model, pace: float, rates: Rates | None = None
    ) -> Problem:
        return Problem(*observed, self.coding.all_gaps, pace, kind_of(model), rates)

    def _noise(self, standard: RobustScaler) -> Vector:
        """Return the known noise variances in standard units; 0 where noise is learned."""
        known = self.memory.noise
        deviations = np.clip(known / standard.scale, QUIETEST, 1 / QUIETEST)
        return np.where(known > 0, deviations**2, 0.0)

    def _posterior(self, rows: Vector, time: float) -> tuple[Vector, Vector]:
        """Compute mean and deviation in standard units for any number of rows."""
        known, elapsed = self.known(time), time - self.origin

        def moments(some: Vector) -> Any:
            return _posterior(self.model, known, None, some, elapsed)

        means, deviations = in_blocks(moments, rows, ROWS)
        return means, deviations

    def _back(self, means: Vector, deviations: Vector) -> tuple[Vector, Vector]:
        """Return means and deviations in units of the rewards."""
        return self.standard.back(means, deviations)

    def _value(self, standardised: Vector) -> Vector:
        """Return function values in units of the rewards."""
        return self.standard.back(standardised, np.zeros_like(standardised))[0]

    def save(self) -> tuple[Arrays, dict[str, Any]]:
        rest = {
            "lessons": self.hyperparameters,
            "since": self.since_fit,
            "tells": self.tells,
            "base": self.base,
        }
        return self.memory.save(), rest

    def load(self, arrays: Arrays, rest: dict[str, Any]) -> None:
        self.reset()
        self.memory.load(arrays)
        self.tells, self.since_fit, base = (
            at_least_integer(name, rest[name], 0) for name in ("tells", "since", "base")
        )
        self._understand(rest["lessons"])
        if base > len(self.memory):
            raise DriftpeakError(f"base must be at most {len(self.memory)}; got {base}")
        self._refactor(base)


_learn = compiled(gp.learn)
_append = compiled(gp.append)
_posterior = compiled(gp.posterior)
_variance_reductions = compiled(gp.variance_reductions)
