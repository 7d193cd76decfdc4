"""The engine of a `DriftingGP` with real-valued rewards."""

from typing import Any

import numpy as np

from driftpeak._core.errors import NoObservationsError
from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import Vector
from driftpeak.gp.dynamics import HORIZONS
from driftpeak.live._engines.change_detection import ChangeDetection
from driftpeak.live._engines.drifting_gp import DriftingGP
from driftpeak.live._engines.engine import deviations
from driftpeak.live._engines.gp_posterior import NEWEST, QUIETEST, ROWS
from driftpeak.live._engines.setup import EngineSetup
from driftpeak.live._engines.warm_start import WarmStart
from driftpeak.live._model.averaging import Average, quantiles
from driftpeak.live._model.change_points import Change, compile_test, padded_changes
from driftpeak.live._model.covariance import ALONE, HALF_LIFE, Model
from driftpeak.live._model.drift_models import CALENDAR, further_motions, prior_of
from driftpeak.live._model.fantasies import FantasyCache
from driftpeak.live._model.hyperparameters import (
    SIZES,
    as_probable,
    most_probable,
    pace_of,
    pack,
)
from driftpeak.live._model.likelihoods import Rates
from driftpeak.live._model.observations import SIZES as LENGTHS, pad, places
from driftpeak.live._model.outliers import outliers_of
from driftpeak.live._model.scaling import LINEAR, RobustScaler
from driftpeak.live._search import maximization as search
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._space.records import Peak, Request, Sample, setting_of
from driftpeak.policies.widths import ScaledLog

INITIAL = 8  # most initial points
REFITS = 10  # hyperparameters are learned again after 1/10 as many rewards as are in memory
MANY = 64  # with more rewards, a motion that is at least ...
FAR = 5.0  # ... so many nats below the most probable one learns only ...
SELDOM = 4  # ... every so many times
PREDICTED = 2.0  # standard deviations from its forecast within which a reward is no outlier
OUTLIER = 1e6  # a reward far from 0 and 1
COSTLIEST = 1e15  # bound of movement costs, in scales of the rewards; its square is finite


class GPEngine(ChangeDetection, WarmStart):
    """An engine that learns hyperparameters and maximises the acquisition function."""

    rates: Rates | None = None  # the likelihood, if the function is latent

    def __init__(self, policy: DriftingGP, setup: EngineSetup) -> None:
        coding = setup.coding
        default = ScaledLog(0.2 * len(coding.all_columns), 2.0)
        self.width = default if policy.width is None else policy.width
        self.searcher = search.Searcher(coding, setup.seed)
        self.initial = min(len(coding.all_columns) + 2, INITIAL)
        automatic = policy.forgetting == "auto" and policy.likelihood == "gaussian"
        self.finds_changes = automatic and policy.learn and policy.change_points
        super().__init__(policy, coding, setup.schedule)
        self.fantasy_cache = FantasyCache(self.offsets)

    def reset(self) -> None:
        super().reset()
        self._averaged: tuple[Any, Average] | None = None

    def _unscheduled(self, request: Request) -> ParameterValues:
        if len(self.memory) + len(request.pending) < self.initial:
            row = self.searcher.first(request.number, request.reach)
        else:
            row = self._search(request, explore=1.0)
        return setting_of(self.coding, row, request.reach)

    def _search(self, request: Request, *, explore: float) -> Vector:
        beliefs, reachable = self._beliefs(request, explore)
        if self.coding.pool is not None:
            return self.coding.pool[int(search.highest_of(beliefs, self.coding.pool, reachable))]
        trials = self.searcher.trials(request.number)
        return np.asarray(search.highest(beliefs, trials, self.coding.discretization, reachable))

    def _beliefs(
        self, request: Request, explore: float
    ) -> tuple[search.Beliefs, search.Reachable | None]:
        """Return the posterior and the reach for a search."""
        known, elapsed, reach = self.known(request.time), request.time - self.origin, request.reach
        fantasies = self.fantasy_cache.fantasies(
            self.model, known, request.pending, self.origin, self.rates
        )
        context = self.coding.context_row(request.context)
        influence = self.policy.acquisition == "influence"
        ahead = self.pace * np.array(HORIZONS) if influence else None
        beliefs = search.Beliefs(
            self.model, known, fantasies, elapsed, self.width, explore, context, ahead
        )
        beliefs = beliefs._replace(origin=self.offsets.at(request.time))
        weighting = self.policy.boundary_weighting
        if weighting or self.coding.pool is None:
            beliefs = search.with_best_observed(beliefs, boundary_weighting=weighting)
        reachable = None
        if reach is not None:
            cost = reach.cost
            if cost is not None:
                with np.errstate(over="ignore"):
                    cost = np.minimum(cost / self.standard.scale, COSTLIEST)
            ends = reach.lower, reach.upper
            reachable = search.Reachable(reach.here, reach.near, *ends, cost, self.rates)
        return beliefs, reachable

    def asked(self, time: float) -> None:
        pass  # the optimiser keeps the pending suggestions

    def refit(self, *, dates: bool = False) -> dict[str, Any] | None:
        memory = self.memory
        counted = int(np.count_nonzero(self._accepted_weights(memory.times[-1])))
        due = self.hyperparameters is None or self.since_fit >= max(1, counted // REFITS)
        changes, found = self.changes, self._new_change()
        if due:
            changes = self._probable_changes()
        if found is not None:
            changes, due = sorted([*changes, found]), True
        if not due and (not self._is_far(self.standard)[self.newest] or self._is_predicted()):
            return None
        standard, pace = self.standard, self.pace
        if due:
            standard, pace = self._newest_standard(), pace_of(memory.times[-NEWEST:])
        rejected = self._outliers(standard, changes)
        if not due and np.array_equal(rejected, memory.rejected):
            return None
        values = self.hyperparameters
        if due:
            values = self._learn(standard, pace, rejected, dates, changes)
        assert values is not None  # hyperparameters are learned at the first reward
        since = 0 if due else self.since_fit
        which = np.stack([memory.times, memory.rewards], axis=1)[rejected]
        changed = [list(change) for change in changes]
        return {**values, "since": since, "doubted": which.tolist(), "changes": changed}

    def _newest_standard(self) -> RobustScaler:
        """Return the standardisation of the newest rewards."""
        return RobustScaler.of(self.memory.rewards[-NEWEST:])

    def _is_far(self, standard: RobustScaler) -> Any:
        """Return whether each reward is extreme enough to be rejected as an outlier."""
        return np.abs(standard.distance(self.memory.rewards)) > LINEAR

    def _is_predicted(self) -> bool:
        """Return whether older observations predict the newest reward.

        Such a reward is no outlier, and no reason to regard another reward as one.
        """
        memory, last = self.memory, len(self.memory) - 1
        if self.rule is not None or self.newest < last:
            return False  # no factor has this reward after all others
        known = self.known(memory.times[last])
        error = np.asarray(known.whiten)[last] @ self._residuals()  # in standard deviations
        return bool(abs(error) <= PREDICTED)

    def _outliers(self, standard: RobustScaler, changes: list[Change]) -> Any:
        """Return whether each reward is an outlier, given all others and the sudden changes."""
        memory, far = self.memory, self._is_far(standard)
        if not far.any():
            return far
        now = memory.times[-1]
        weights, noise = self._weights(now), self._noise(standard)
        among = places(memory.rows, memory.times - now, memory.size, weights, noise)
        rewards = pad(standard.into(memory.rewards), memory.size)
        far = pad(far, memory.size)
        outliers = outliers_of(self._since(now, changes), among, rewards, far)
        return np.asarray(outliers)[: len(memory)]

    def _learn(
        self,
        standard: RobustScaler,
        pace: float,
        rejected: Any,
        dates: bool,
        changes: list[Change],
    ) -> dict[str, Any]:
        """Learn hyperparameters from the newest observations that are not outliers."""
        observed = self._to_learn_from(standard, rejected)
        count = int(np.count_nonzero(observed[0].weights))
        learned: dict[str, Any] = {}
        names, best = self.motions, -np.inf
        if self.policy.forgetting == "auto" and self.policy.learn:
            periods = (*self.policy.periods, *(CALENDAR if dates else ()))
            names = (*names, *further_motions(self.memory.times[-NEWEST:], pace, periods))
        # the most probable motion so far first, because the others are compared with it
        for motion in sorted(names, key=lambda name: name != self.motion):
            known = self.models.get(motion)
            if known is None:
                known = self._default_model(motion)
            known = known._replace(changes=padded_changes(changes, self.origin))
            model, density = known._replace(timescale=known.timescale / self.pace * pace), 0.0
            ago = 0
            if self.policy.learn:
                ago = self._fits_ago(motion)
                start = model if self.hyperparameters is None else known
                problem = self._problem(observed, start, pace, self._rates(standard))
                prior = np.log(prior_of(motion))
                may_rest = len(learned) > 0 and count > MANY and ago < SELDOM
                density = as_probable(start, problem) if may_rest else np.inf
                if density + prior < best - FAR:
                    model = start
                else:
                    (model, density), ago = most_probable(start, problem), 0
                best = max(best, density + prior)
            learned[motion] = {
                "level": float(model.level),
                "lengthscale": [float(length) for length in model.lengthscale],
                "variance": float(model.variance),
                "noise_variance": float(model.noise_variance),
                "timescale": float(model.timescale),
                "log_density": density,
                "lessons_ago": ago,
            }
            if model.beside != ALONE:
                learned[motion]["share"] = float(model.share)
        return {
            "motions": learned,
            "pace": pace,
            "centre": standard.centre,
            "scale": standard.scale,
        }

    def _fits_ago(self, motion: str) -> int:
        """Return how many learning steps ago the hyperparameters of a motion were improved."""
        before = {} if self.hyperparameters is None else self.hyperparameters["motions"]
        return int(before[motion].get("lessons_ago", 0)) + 1 if motion in before else SELDOM

    def _rates(self, standard: RobustScaler) -> Rates | None:
        return None

    def expected(self, sample: Sample) -> tuple[float, float] | None:
        if len(self.memory) < self.initial:
            return None  # too few rewards to estimate their scale
        latent = self._posterior(self._rows([sample.setting], sample.time), sample.time)
        mean, deviation = self._with_noise(*latent, sample)
        return float(mean[0]), float(deviation[0])

    def _with_noise(self, mean: Vector, deviation: Vector, sample: Sample) -> tuple[Vector, Vector]:
        """Return mean and deviation of a reward from the moments of the function."""
        own = self.model.noise_variance
        if sample.noise is not None:
            own = np.clip(sample.noise / self.standard.scale, QUIETEST, 1 / QUIETEST) ** 2
        return self.standard.back(mean, np.sqrt(deviation**2 + own))

    def peak(self, time: float, context: ParameterValues) -> Peak:
        if len(self.memory) == 0:
            raise NoObservationsError("no observations yet; call tell() first")
        row = self._search(Request(0, time, context), explore=0.0)
        whole = np.append(row, self.coding.context_row(context))
        whole = self.offsets.relative(whole, time)
        mean, deviation = self._back(*self._posterior(whole[None], time))
        return Peak(self.coding.parameters(row), float(mean[0]), float(deviation[0]))

    def belief(self, settings: list[ParameterValues], time: float) -> tuple[Vector, Vector]:
        return self._back(*self._posterior(self._rows(settings, time), time))

    def quantiles(
        self, settings: list[ParameterValues], time: float, tail: float
    ) -> tuple[Vector, Vector]:
        rows, average = self._rows(settings, time), self._average()
        if average is None:
            mean, deviation = self._posterior(rows, time)
            wide = deviations(tail) * deviation
            return self._value(mean - wide), self._value(mean + wide)
        standard, weights = self.standard.widely_linear, self._accepted_weights(time)
        observed = self._seen(np.flatnonzero(weights), weights, standard)
        problem = self._problem(observed, self.model, self.pace)
        low, high = quantiles(*average.moments(problem, rows, time - self.origin, ROWS), tail)
        return standard.back(low, 0.0 * low)[0], standard.back(high, 0.0 * high)[0]

    def _average(self) -> Average | None:
        """Return the posterior of hyperparameters, computed once for equal observations.

        None if hyperparameters are not learned, if rewards are binary or counts, and without
        observations.
        """
        memory = self.memory
        if not self.policy.learn or self.rates is not None or len(memory) == 0:
            return None
        state = (memory.times, memory.rejected, self.hyperparameters)
        if self._averaged is None or any(
            a is not b for a, b in zip(self._averaged[0], state, strict=True)
        ):
            observed = self._to_learn_from(self.standard.widely_linear, memory.rejected)
            problem = self._problem(observed, self.model, self.pace)
            self._averaged = state, Average(problem, pack(self.model, self.pace))
        return self._averaged[1]

    def next_recompilation(self) -> int | None:
        capacity = self.policy.capacity
        lengths = {self.initial - 1, *LENGTHS, *SIZES, NEWEST}
        lengths = {length for length in lengths if length < capacity} | {capacity}
        return min((length + 1 for length in lengths if length >= len(self.memory)), default=None)

    def warm_up(self, count: int, request: Request) -> None:
        random, settings = np.random.default_rng(0), []
        for number in range(1, count + 2):  # one more, because one is an outlier
            request = request._replace(number=number, time=request.time + self.pace)
            if number <= self.initial:
                settings.append(self.propose(request._replace(pending=())) | request.context)
            sample = Sample(settings[number % len(settings)], request.time)
            self._told_in_warm_up(sample, random)
        for _ in range(2):  # from all observations at once, and with an appended one
            setting = self.propose(request) | request.context
            self.chances([setting], request.time)
            request = request._replace(number=request.number + 1, time=request.time + self.pace)
            sample = Sample(setting, request.time)
            self.expected(sample)
            self._told_in_warm_up(sample, random)

    def warm_up_learning(self) -> None:
        values = self.refit()
        if values is not None:
            self.learned(values)
        if self.finds_changes:
            compile_test(self.model, self.known(self.memory.times[-1]))

    def _told_in_warm_up(self, sample: Sample, random: np.random.Generator) -> None:
        """Record a synthetic reward: 0 or 1, for every likelihood; or first an outlier."""
        outlier = self.rates is None and len(self.memory) == 0
        self.observe(sample, OUTLIER if outlier else float(random.integers(2)))

    def _rows(self, settings: list[ParameterValues], time: float) -> Vector:
        rows = np.array([self.offsets.row(setting, time) for setting in settings])
        return rows.reshape(-1, len(self.coding.all_columns))

    def peaks(self, times: Vector, context: ParameterValues) -> tuple[Vector, list[Peak]]:
        first = self.memory.times[0] if len(self.memory) else np.inf
        known = times[times >= first]
        return known, [self.peak(float(time), context) for time in known]

    def report(self, time: float) -> dict[str, Any]:
        memory, model = self.memory, self.model
        values: dict[str, Any] = {"told": self.tells, "held": len(memory)}
        values["rejected"] = int(memory.rejected.sum())
        if len(memory) == 0:
            return values
        ages = time - memory.times
        scale = self.standard.scale
        times = pad(memory.times - self.origin, memory.size)
        correlation = np.asarray(_correlation(model, np.asarray(time - self.origin), times))
        kept = self._accepted_weights(time) * correlation[: len(memory)] ** 2
        if self.rule is None:
            values["drift"] = float(-np.expm1(-2 / model.timescale))
            values["half_life"] = float(model.timescale * HALF_LIFE[int(model.motion)])
            values["motion"] = self.motion
            values["motion_probability"] = float(self.probabilities.max())
        if self.finds_changes:
            first, last = memory.times[[0, -1]]
            values["change_points"] = [time for time, _ in self.changes if first < time < last]
        return values | {
            "memory": float(kept.sum()),
            "noise": float(scale * np.sqrt(model.noise_variance)),
            "amplitude": float(scale * np.sqrt(model.variance)),
            "lengthscales": dict(
                zip(self.coding.all_columns, map(float, model.lengthscale), strict=True)
            ),
            "newest_age": float(ages[-1]),
            "median_age": float(np.median(ages)),
            "oldest_age": float(ages[0]),
        }


_correlation = compiled(Model.correlation_between)
