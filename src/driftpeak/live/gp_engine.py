"""The default of an optimiser: a Gaussian process that drifts and learns its own numbers."""

from typing import Any

import jax
import numpy as np

from driftpeak._types import Vector
from driftpeak.errors import DriftpeakError, at_least_integer, shown
from driftpeak.forgetting import Forgetting
from driftpeak.live import gp, search
from driftpeak.live.aging import MOTIONS, PRIOR, LearnedMotion, check_forgetting, motions, worths
from driftpeak.live.ahead import Ahead
from driftpeak.live.coding import Coding
from driftpeak.live.doubt import doubtful
from driftpeak.live.engine import Arrays, Engine, Outstanding, Peak, Reach
from driftpeak.live.lessons import check_lesson, default_model, most_probable, pace_of
from driftpeak.live.memory import Memory, pad, places, size_for
from driftpeak.live.parameters import ParameterValues
from driftpeak.live.standardise import LINEAR, Standard
from driftpeak.widths import ScaledLog, Width

NEWEST = 256  # observations to learn hyperparameters from
LESSONS = 10  # learn again after a tenth as many rewards as are in memory
DROPPED = 8  # of a full memory, one in so many falls out at once
QUIETEST = 1e-3  # known noise, in scales of the rewards; the loudest is its inverse
ROWS = (1, 64, 512)  # numbers of rows for which a posterior is compiled


class DriftingGP:
    """Upper confidence bounds of a Gaussian process that drifts, on any space.

    Lengthscales (one for each parameter), amplitude, noise, drift and its kind are learned while it
    runs: see `driftpeak.live.lessons`. The first d + 2 suggestions are spread evenly.

    Arguments:
        forgetting: how old observations lose their worth. "markov": the function drifts as B16's,
            in continuous time. "momentum": it goes on for a while as it has begun (Matern 3/2 in
            time). "auto": the more probable of the two, judged anew at every lesson. Or a rule that
            you state, of `driftpeak.forgetting`, under which the function stands still: `Window`
            (ZS21), `Restart` (B16), `Discount` (D22), `Injection` (M25) or `Keep`. A rule's numbers
            are in units of time (seconds for dates), a window's in observations.
        capacity: the most observations in memory, at least 32. When it is full, the eighth that
            tells least of the present falls out: what is old, or repeated; under a rule, what is
            oldest.
        width: the exploration width; its step is the number of observations in memory plus one,
            since a system that moves must be explored for ever. Default
            `widths.ScaledLog(0.2 * d, 2)` for d parameters (Kandasamy et al. 2015).
        learn: whether to learn; if not, the medians of the priors stay, but for the scale of the
            rewards.

    Raises:
        DriftpeakError: capacity below 32, or below two windows; no such forgetting, or a rule that
            goes by the numbers of observations (`Weights`) or is learned here (`Drift`).

    Example:
        >>> import driftpeak as dp
        >>> space, policy = dp.Box(x=dp.Float(0, 1)), dp.DriftingGP(forgetting="markov")
        >>> optimizer = dp.Optimizer(space, maximize=True, policy=policy)
    """

    def __init__(
        self,
        *,
        forgetting: LearnedMotion | Forgetting = "auto",
        capacity: int = 512,
        width: Width | None = None,
        learn: bool = True,
    ) -> None:
        if not isinstance(width, Width | None):
            raise DriftpeakError(
                "width must be one of driftpeak.widths, as ScaledLog(0.2, 2) or Constant(2); got "
                f"{shown(width)}"
            )
        self.capacity = at_least_integer("capacity", capacity, 32)
        self.forgetting = check_forgetting(forgetting, self.capacity)
        self.width = width
        self.learn = learn


class GPEngine(Engine):
    """The engine of a `DriftingGP`."""

    def __init__(self, policy: DriftingGP, coding: Coding, *, seed: int) -> None:
        self.policy, self.coding = policy, coding
        default = ScaledLog(0.2 * coding.dimension, 2.0)
        self.width = default if policy.width is None else policy.width
        self.searcher = search.Searcher(coding, seed)
        self.ahead = Ahead(coding)
        self.initial = coding.dimension + 2
        self.motions = motions(policy.forgetting)
        self.rule = policy.forgetting if isinstance(policy.forgetting, Forgetting) else None
        self.reset()

    def reset(self) -> None:
        self.memory = Memory(self.policy.capacity, self.coding.dimension)
        self.tells = self.since_lesson = 0
        self.newest = 0  # the place of what was told last
        self.lessons: dict[str, Any] | None = None
        self._understand(None)

    def _understand(self, values: dict[str, Any] | None) -> None:
        if values is not None:
            check_lesson(values, self.motions, self.coding.dimension)
        self.lessons = values
        if values is None:
            self.standard = Standard()
            self.pace = 1.0
            d, categorical = self.coding.dimension, self.coding.categorical
            self.models = {
                name: default_model(d, categorical, self.pace, MOTIONS[name])
                for name in self.motions
            }
            densities = np.zeros(len(self.motions))
        else:
            self.standard = Standard(values["centre"], values["scale"])
            self.pace = values["pace"]
            found = values["motions"]
            self.models = {name: self._model(name, found[name]) for name in self.motions}
            densities = np.array([found[name]["log_density"] for name in self.motions])
        evidence = densities + np.log([PRIOR[name] for name in self.motions])
        odds = np.exp(evidence - evidence.max())
        self.probabilities = odds / odds.sum()
        self.motion = self.motions[int(np.argmax(evidence))]
        self.model = self.models[self.motion]
        self._refactor()

    def _model(self, motion: str, values: dict[str, Any]) -> gp.Model:
        return gp.Model(
            values["level"],
            np.array(values["lengthscale"]),
            values["variance"],
            values["noise_variance"],
            values["timescale"],
            self.coding.categorical,
            MOTIONS[motion],
        )

    def _refactor(self) -> None:
        """Factor all that is in memory afresh, when next asked; what comes then is appended."""
        self.base = self._factored = len(self.memory)
        self._known: gp.Known | None = None
        self._known_at = np.inf  # the time, under a rule

    @property
    def origin(self) -> float:
        """The time from which to count: the numbers stay small, and differences exact."""
        return float(self.memory.times[self.base - 1]) if self.base else 0.0

    def known(self, time: float) -> gp.Known:
        """What the observations say at `time`; without a rule, the same at all times."""
        if self.rule is None:
            return self._all_known()
        if self._known is None or self._known_at != time:
            worth = self._worths(time)
            self._known = _learn(
                self.model, *self._seen(np.flatnonzero(worth), worth, self.standard)
            )
            self._known_at = time
        return self._known

    def _worths(self, time: float) -> Vector:
        """How much each observation counts at `time`, its correlation with the present apart."""
        return np.where(self.memory.doubted, 0.0, self._weights(time))

    def _weights(self, time: float) -> Vector:
        """What the rule makes of each observation at `time`, doubts apart."""
        held = self.memory
        if self.rule is None:
            return np.ones(len(held))
        return worths(self.rule, held.times, time, held.size)

    def _seen(self, which: Any, worth: Vector, standard: Standard) -> tuple[gp.Places, Vector]:
        """Some observations in places, and their rewards in standard units."""
        held, size = self.memory, size_for(len(which), self.memory.capacity, NEWEST)
        times = held.times[which] - self.origin
        rewards = pad(standard.into(held.rewards[which]), size)
        noise = self._noise(standard)[which]
        return places(held.rows[which], times, size, worth[which], noise), rewards

    def _noise(self, standard: Standard) -> Vector:
        """The known variances of the noise in standard units; 0 where it is learned."""
        known = self.memory.noise
        deviations = np.clip(known / standard.scale, QUIETEST, 1 / QUIETEST)
        return np.where(known > 0, deviations**2, 0.0)

    def _all_known(self) -> gp.Known:
        """The first `base` observations factored at once, the others appended one by one.

        So equal states give equal numbers to the last digit, however they came about.
        """
        held, size = self.memory, self.memory.size
        rewards = pad(self.standard.into(held.rewards), size)
        known, factored = self._known, self._factored
        noise = self._noise(self.standard)
        if known is None:
            first, factored = slice(self.base), self.base
            worth = np.where(held.doubted[first], 0.0, 1.0)
            times = held.times[first] - self.origin
            among = places(held.rows[first], times, size, worth, noise[first])
            known = _learn(self.model, among, pad(rewards[first], size))
        for number in range(factored, len(held)):
            row, time = held.rows[number], held.times[number] - self.origin
            known = _append(self.model, known, number, row, time, rewards, noise[number])
        self._known, self._factored = known, len(held)
        return known

    def propose(
        self, number: int, time: float, pending: list[Outstanding], reach: Reach | None
    ) -> ParameterValues:
        if len(self.memory) + len(pending) < self.initial:
            row = self.searcher.first(number, reach)
        else:
            row = self._search(number, time, pending, explore=1.0, reach=reach)
        return self.coding.parameters(row) if reach is None else reach.parameters(self.coding, row)

    def _search(
        self,
        number: int,
        time: float,
        pending: list[Outstanding],
        *,
        explore: float,
        reach: Reach | None = None,
    ) -> Vector:
        known, elapsed = self.known(time), time - self.origin
        imagined = self.ahead.imagined(self.model, known, pending, self.origin)
        beliefs = search.Beliefs(self.model, known, imagined, elapsed, self.width, explore)
        room = None
        if reach is not None:
            cost = reach.cost / self.standard.scale
            room = search.Room(reach.here, reach.lower, reach.upper, cost)
        if self.coding.pool is not None:
            return self.coding.pool[int(search.highest_of(beliefs, self.coding.pool, room))]
        trials = self.searcher.trials(number)
        return np.asarray(search.highest(beliefs, trials, self.coding.lattice, room))

    def asked(self, time: float) -> None:
        pass  # what is out is the optimiser's to know

    def told(
        self, parameters: ParameterValues, reward: float, time: float, noise: float | None
    ) -> None:
        if len(self.memory) == self.policy.capacity:
            self._drop(max(time, self.origin))
        size = self.memory.size
        self.newest = self.memory.insert(self.coding.row(parameters), reward, time, noise)
        self.tells += 1
        self.since_lesson += 1
        late = self.newest < len(self.memory) - 1
        if self.rule is not None or late or self.memory.size != size or self.base == 0:
            self._refactor()

    def _drop(self, now: float) -> None:
        if self.rule is None:
            worth = np.asarray(_worth(self.model, self.known(now), now - self.origin))
            worth = np.where(self.memory.doubted, -np.inf, worth[: len(self.memory)])
        else:
            worth = self.memory.times
        dropped = np.argsort(worth, kind="stable")
        dropped = dropped[: len(self.memory) // DROPPED]
        kept = np.ones(len(self.memory), bool)
        kept[dropped] = False
        self.memory.keep(kept)
        self._refactor()

    def lesson(self) -> dict[str, Any] | None:
        held = self.memory
        counted = int(np.count_nonzero(self._worths(held.times[-1])))
        due = self.lessons is None or self.since_lesson >= max(1, counted // LESSONS)
        if not due and not self._is_wild(self.standard)[self.newest]:
            return None
        standard, pace = self.standard, self.pace
        if due:
            standard, pace = Standard.of(held.rewards[-NEWEST:]), pace_of(held.times[-NEWEST:])
        doubted = self._doubtful(standard)
        if not due and np.array_equal(doubted, held.doubted):
            return None
        values = self._learn(standard, pace, doubted) if due else self.lessons
        assert values is not None  # the first reward is a lesson
        since = 0 if due else self.since_lesson
        which = np.stack([held.times, held.rewards], axis=1)[doubted]
        return {**values, "since": since, "doubted": which.tolist()}

    def _is_wild(self, standard: Standard) -> Any:
        """Which of the rewards held are so far off that they may be doubted."""
        return np.abs(standard.distance(self.memory.rewards)) > LINEAR

    def _doubtful(self, standard: Standard) -> Any:
        """Which of the rewards held are not to be believed, by what all others say."""
        held, wild = self.memory, self._is_wild(standard)
        if not wild.any():
            return wild
        now = held.times[-1]
        weights, noise = self._weights(now), self._noise(standard)
        among = places(held.rows, held.times - now, held.size, weights, noise)
        rewards = pad(standard.into(held.rewards), held.size)
        found = doubtful(self.model, among, rewards, np.pad(wild, (0, held.size - len(held))))
        return np.asarray(found)[: len(held)]

    def _learn(self, standard: Standard, pace: float, doubted: Any) -> dict[str, Any]:
        """The most probable numbers, from the newest observations that are believed."""
        worth = np.where(doubted, 0.0, self._weights(self.memory.times[-1]))
        seen = self._seen(np.flatnonzero(worth)[-NEWEST:], worth, standard)
        found = {}
        for motion, known in self.models.items():
            model, density = known._replace(timescale=known.timescale / self.pace * pace), 0.0
            if self.policy.learn:
                start = model if self.lessons is None else known
                model, density = most_probable(start, *seen, pace)
            found[motion] = {
                "level": float(model.level),
                "lengthscale": [float(one) for one in model.lengthscale],
                "variance": float(model.variance),
                "noise_variance": float(model.noise_variance),
                "timescale": float(model.timescale),
                "log_density": density,
            }
        return {
            "motions": found,
            "pace": pace,
            "centre": standard.centre,
            "scale": standard.scale,
        }

    def learned(self, values: dict[str, Any]) -> None:
        self._understand(values)
        self.since_lesson = values.get("since", 0)
        self.memory.doubt(values.get("doubted", []))

    def expected(
        self, parameters: ParameterValues, time: float, noise: float | None
    ) -> tuple[float, float] | None:
        if len(self.memory) < self.initial:
            return None  # of so few rewards not even the scale is known
        mean, deviation = self._posterior(self.coding.row(parameters)[None], time)
        own = self.model.noise_variance
        if noise is not None:
            own = np.clip(noise / self.standard.scale, QUIETEST, 1 / QUIETEST) ** 2
        whole = np.sqrt(deviation**2 + own)
        mean, whole = self.standard.back(mean, whole)
        return float(mean[0]), float(whole[0])

    def peak(self, time: float) -> Peak:
        if len(self.memory) == 0:
            raise DriftpeakError("nothing has been told of which anything could be expected")
        row = self._search(0, time, [], explore=0.0)
        mean, deviation = self.standard.back(*self._posterior(row[None], time))
        return Peak(self.coding.parameters(row), float(mean[0]), float(deviation[0]))

    def belief(self, settings: list[ParameterValues], time: float) -> tuple[Vector, Vector]:
        rows = np.array([self.coding.row(one) for one in settings])
        rows = rows.reshape(-1, self.coding.dimension)
        return self.standard.back(*self._posterior(rows, time))

    def _posterior(self, rows: Vector, time: float) -> tuple[Vector, Vector]:
        """Mean and deviation in standard units, of any number of rows."""
        size = next((size for size in ROWS if size >= len(rows)), ROWS[-1])
        means, deviations = [np.zeros(0)], [np.zeros(0)]
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            padded = np.pad(some, ((0, size - len(some)), (0, 0)))
            found = _posterior(self.model, self.known(time), None, padded, time - self.origin)
            means.append(np.asarray(found[0])[: len(some)])
            deviations.append(np.asarray(found[1])[: len(some)])
        return np.concatenate(means), np.concatenate(deviations)

    def peaks(self, times: Vector) -> tuple[Vector, list[Peak]]:
        first = self.memory.times[0] if len(self.memory) else np.inf
        known = times[times >= first]
        return known, [self.peak(float(time)) for time in known]

    def forgot(self, before: float | None) -> None:
        self.memory.keep(self.memory.times >= (np.inf if before is None else before))
        self._refactor()

    def report(self, time: float) -> dict[str, Any]:
        held, model = self.memory, self.model
        found: dict[str, Any] = {"told": self.tells, "held": len(held)}
        found["doubted"] = int(held.doubted.sum())
        if len(held) == 0:
            return found
        ages = time - held.times
        scale = self.standard.scale
        kept = self._worths(time) * np.asarray(model.correlation(ages)) ** 2
        if self.rule is None:
            found["drift"] = float(-np.expm1(-2 / model.timescale))
            found["half_life"] = float(model.timescale * gp.HALF_LIFE[int(model.motion)])
            found["motion"] = self.motion
            found["motion_probability"] = float(self.probabilities.max())
        return found | {
            "memory": float(kept.sum()),
            "noise": float(scale * np.sqrt(model.noise_variance)),
            "amplitude": float(scale * np.sqrt(model.variance)),
            "lengthscales": dict(
                zip(self.coding.columns, map(float, model.lengthscale), strict=True)
            ),
            "newest_age": float(ages[-1]),
            "median_age": float(np.median(ages)),
            "oldest_age": float(ages[0]),
        }

    def save(self) -> tuple[Arrays, dict[str, Any]]:
        held = self.memory
        arrays = {"rows": held.rows, "rewards": held.rewards, "times": held.times}
        arrays |= {"doubted": held.doubted, "noise": held.noise}
        rest = {
            "lessons": self.lessons,
            "since": self.since_lesson,
            "tells": self.tells,
            "base": self.base,
        }
        return arrays, rest

    def load(self, arrays: Arrays, rest: dict[str, Any]) -> None:
        self.reset()
        names = ("rows", "rewards", "times", "doubted", "noise")
        self.memory.load(*(arrays[name] for name in names))
        self.tells, self.since_lesson = int(rest["tells"]), int(rest["since"])
        self._understand(rest["lessons"])
        self.base = int(rest["base"])
        if not 0 <= self.base <= len(self.memory):
            raise DriftpeakError(f"{self.base} of {len(self.memory)} observations are the first")


_learn = jax.jit(gp.learn)
_append = jax.jit(gp.append)
_posterior = jax.jit(gp.posterior)
_worth = jax.jit(gp.worth)
