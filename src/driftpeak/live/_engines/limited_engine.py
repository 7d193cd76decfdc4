r"""The engine of a `DriftingGP` with constraints.

Each measured quantity has its own Gaussian process. Its hyperparameters are learned like those of
the reward, with three differences. It has Markov drift, unless the policy states another model.
Measurements are scaled by their distances from the limit, and the limit is at 0; without
observations it is met with probability 1/2. No measurement is rejected as an outlier, because it
may indicate danger.

The stated probability of a model need not equal the observed frequency. Peaks often lie at limits,
so that errors of the model recur. The probability required of the model is therefore adapted. It
increases with each violation of a limit that was predicted to be met. It decreases with each limit
that is met, but never below the stated probability p. In normal quantiles,
\(z \leftarrow \max(z_p, z + \gamma\,(b - (1 - p)))\), where b is 1 for a violation and else 0. The
long-run frequency of violations is then at most 1 - p, as long as there are settings with the
required probability. Source: Gibbs and Candes 2021, "Adaptive Conformal Inference Under
Distribution Shift".

With a safe start, the process of a quantity has lengthscales of at most \(0.3\sqrt{d}\) and a
variance of at least 1, even if the first measurements are nearly equal. Choices have a correlation
of at most 0.83, and of exactly 0.83 while all measurements have the same choice, because otherwise
no other choice would be reached. Every third suggestion then
goes where the quantities are most uncertain among the safe settings that may be the best. This
expands the safe set. Sources: SafeOpt (Sui et al. 2015, "Safe Exploration for Optimization with
Gaussian Processes"); Berkenkamp, Krause and Schoellig 2021, "Bayesian Optimization with Safety
Constraints".
"""

from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, InfeasibleError, at_least, rejected, shown, warn
from driftpeak._core.types import Vector
from driftpeak.live._engines.drifting_gp import DriftingGP
from driftpeak.live._engines.engine import NORMAL
from driftpeak.live._engines.gp_engine import GPEngine
from driftpeak.live._engines.gp_posterior import NEWEST
from driftpeak.live._engines.rate_engine import RateEngine
from driftpeak.live._engines.setup import EngineSetup
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.scaling import RobustScaler
from driftpeak.live._search import feasible
from driftpeak.live._space.constraints import Limit
from driftpeak.live._space.encoding import BoxCoding
from driftpeak.live._space.feasibility import anchor_of, drawn
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._space.records import Arrays, Numbers, Reach, Request, Sample, setting_of
from driftpeak.live._space.rules import Rules

FARTHER = 0.8  # the unit of measurements is this quantile of their distances from the limit
RAISED = 0.5  # gamma: step of the normal quantile
FIRST = 0.25  # initial excess of the required normal quantile over the stated one
SMOOTHEST = 0.3  # largest lengthscale, in roots of the number of columns
ALIKE = 2.0  # largest lengthscale of choices, in distances between neighbours: correlation 0.83
EFFECT_WITH_LIMITS = 0.1  # a larger effect of choices on the reward: more of them are tried
EXPLORING = 3  # with a safe start, one suggestion in so many explores the limits


class QuantityEngine(GPEngine):
    """The process of a measured quantity.

    Arguments:
        policy: the policy, with the drift model of the process.
        setup: the study. With a safe start or a schedule, lengthscales are at most 0.3 sqrt(d) and
            the variance is at least 1.
        limit: the limit of the quantity.
    """

    effect_share = None  # it would make choices differ more, and a safe start reach fewer of them

    def __init__(self, policy: DriftingGP, setup: EngineSetup, limit: Limit) -> None:
        self.limit, self.cautious = limit, setup.cautious
        super().__init__(policy, setup)

    def reset(self) -> None:
        super().reset()
        self.above = FIRST  # excess of the required normal quantile over the stated one

    def adapt(self, value: float, chance: float | None, setting: ParameterValues) -> None:
        """Adapt the required probability to a measurement.

        Measurements at settings that were not predicted to meet the limit are ignored.
        """
        if self.limit.believes(chance):
            wrong = float(not self.limit.keeps(value, setting)) - (1 - self.limit.probability)
            self.above = max(self.above + RAISED * wrong, 0.0)

    @property
    def required(self) -> float:
        """The probability of meeting the limit that is required of the model."""
        return NORMAL.cdf(NORMAL.inv_cdf(self.limit.probability) + self.above)

    def _newest_standard(self) -> RobustScaler:
        rewards = self.memory.rewards[-NEWEST:]
        # with the widest bounds, others are met with a lower probability before observations
        low, high = self.limit.widest
        if np.isfinite(low) and np.isfinite(high):
            centre, least = low / 2 + high / 2, high / 2 - low / 2
        else:
            centre = high if np.isfinite(high) else low
            least = float(np.quantile(np.abs(rewards - centre), FARTHER))
        return RobustScaler(centre, max(RobustScaler.of(rewards).scale, least))

    def _is_far(self, standard: RobustScaler) -> Any:
        return np.zeros(len(self.memory), bool)

    def _model(self, motion: str, values: dict[str, Any]) -> Model:
        model = super()._model(motion, values)
        if not self.cautious:
            return model
        smoothest = np.maximum(SMOOTHEST * len(model.lengthscale) ** 0.5, ALIKE * model.gaps)
        return model._replace(
            lengthscale=np.minimum(model.lengthscale, smoothest),
            variance=max(float(model.variance), 1.0),
        )

    def _learn(self, *args: Any) -> dict[str, Any]:
        values = super()._learn(*args)
        if self.cautious:
            gaps = self.coding.all_gaps
            for column in np.flatnonzero((gaps > 0) & (np.ptp(self.memory.rows, axis=0) == 0)):
                for motion in values["motions"].values():
                    motion["lengthscale"][column] = ALIKE * float(gaps[column])
        return values

    def watched(self, time: float, *contexts: ParameterValues) -> feasible.Watched:
        """Return the posterior, and the limits in one context or in one for each row."""
        spans = np.array([self.limit.span(context) for context in contexts])
        low, high = self.standard.into(spans.T if self.limit.varies else spans[0])
        return feasible.Watched(
            self.model, self.known(time), time - self.origin, low, high, self.required
        )

    def chance(self, rows: Vector, time: float, contexts: list[ParameterValues]) -> Vector:
        """Compute the probability of meeting the limit at rows, each in its context."""
        return np.asarray(feasible.chances(self.watched(time, *contexts), rows))


class LimitedEngine(GPEngine):
    """The engine of a `DriftingGP` with constraints.

    Raises:
        DriftpeakError: the start violates a known constraint.
        InfeasibleError: no setting meets the known constraints.
    """

    def __init__(self, policy: DriftingGP, setup: EngineSetup) -> None:
        self.rules, self.safe, coding = setup.rules, setup.safe, setup.coding
        self.cautious = setup.cautious
        start = next(iter(setup.safe), None) if setup.start is None else setup.start
        if start is not None:
            self.rules.check("start", start)
        self.anchor = anchor_of(self.rules, None if start is None else coding.row(start))
        self.allowed = None if coding.pool is None else self.rules.hold(coding.pool, None)
        # quantities are real numbers for all likelihoods of the reward; they have one motion,
        # because a selection among several would more than double the cost of learning
        forgetting: Any = "markov" if policy.forgetting == "auto" else policy.forgetting
        plain = DriftingGP(forgetting=forgetting, capacity=policy.capacity, learn=policy.learn)
        limits = self.rules.limits.items()
        self.quantities = {name: QuantityEngine(plain, setup, limit) for name, limit in limits}
        if self.quantities:
            self.effect_share = EFFECT_WITH_LIMITS
        super().__init__(policy, setup)

    def reset(self) -> None:
        super().reset()
        for quantity in self.quantities.values():
            quantity.reset()

    # suggestions

    def _unscheduled(self, request: Request) -> ParameterValues:
        known = len(self.memory) + len(request.pending)
        if self.safe and (known < len(self.safe) or not self._is_measured):
            return self._safe(request)
        if self.safe and known == len(self.safe) and self.coding.pool is None:
            self._warn_of_unreached(request.time, request.context)
        if self.cautious or known >= self.initial:
            exploring = bool(self.safe) and request.number % EXPLORING == 0
            row = self._search(request, explore=1.0, exploring=float(exploring))
        else:
            row = self._first(request)
        return setting_of(self.coding, row, request.reach)

    def _warn_of_unreached(self, time: float, context: ParameterValues) -> None:
        """Warn of choices without a safe setting that are not predicted to meet the limits."""
        assert isinstance(self.coding, BoxCoding)
        safe = np.array([self.coding.row(setting) for setting in self.safe])
        its_context, contexts = self.coding.context_row(context), [context]
        for column in np.flatnonzero(self.coding.gaps):
            name, last = (
                self.coding.names[column],
                int(self.coding.discretization.levels[column]) - 1,
            )
            for choice in np.setdiff1d(np.arange(last + 1), np.round(safe[:, column] * last)):
                rows = self.coding.spread(self.searcher.sequence)
                rows[:, column] = choice / last
                rows = self.coding.snap(rows)
                whole = np.column_stack([rows, np.tile(its_context, (len(rows), 1))])
                whole = self.offsets.relative(whole, time)
                satisfied = [
                    q.chance(whole, time, contexts) >= q.required for q in self.quantities.values()
                ]
                if not np.all(satisfied, axis=0).any():
                    value = self.coding.box.parameters[name].decode(choice / last)
                    warn(
                        f"no setting with {name}={value!r} is predicted to meet the limits with "
                        "the stated probability, so it is not suggested yet. If a safe setting "
                        "with it is known, add it to safe_start"
                    )

    def _meets_limits(self, setting: ParameterValues, time: float) -> bool | None:
        if not self._is_measured:
            return None
        chances = self.chances([setting], time)
        return all(chances[name][0] >= q.required for name, q in self.quantities.items())

    @property
    def _is_measured(self) -> bool:
        return all(len(quantity.memory) for quantity in self.quantities.values())

    def _safe(self, request: Request) -> ParameterValues:
        """Return the next safe setting within reach, or the current setting."""
        reach, rules = request.reach, self.rules.in_context(request.context)
        for index in np.roll(np.arange(len(self.safe)), 1 - request.number):
            inside = reach is None or reach.holds(self.coding.row(self.safe[index])[None]).all()
            if inside and rules.broken(self.safe[index]) is None:
                return self.safe[index]
        if reach is None:
            raise InfeasibleError(
                "safe_start must have a setting that meets the constraints in this context; there "
                f"is none for {shown(request.context)}. Add such a setting"
            )
        if reach.fixed:
            raise InfeasibleError(
                f"safe_start must have a setting with the fixed values {shown(reach.fixed)} within "
                "reach; there is none. Leave fixed out until the limits are measured, or add such "
                "a setting"
            )
        return reach.setting

    def _first(self, request: Request) -> Vector:
        """Return a row of a space-filling design over the allowed rows within reach."""
        number, reach = request.number, request.reach
        rules = self.rules.in_context(request.context)
        if self.allowed is not None:
            for later in range(len(self.allowed)):
                row = self.searcher.first(number + later, reach)
                if np.asarray(rules.hold(row[None], reach)).all():
                    return row
            raise self._nothing()
        row = self.searcher.first(number, reach)[None]
        row, _ = drawn(rules, row, self._anchor(rules, reach), reach)
        if np.asarray(rules.hold(row, reach)).all():
            return row[0]
        return self._anchor(rules, reach, exactly=True)

    def _anchor(self, rules: Rules, reach: Reach | None, *, exactly: bool = False) -> Vector:
        """Return a row within reach, towards which infeasible rows are projected.

        Raises:
            InfeasibleError: the row is infeasible, and `exactly` requires a feasible one.
        """
        if reach is None or reach.fixed:
            row = self.anchor if reach is None else reach.near
            met = rules.broken(setting_of(self.coding, row, reach)) is None
            return anchor_of(rules, row if met else None, reach)
        if exactly and rules.broken(reach.setting) is not None:
            raise self._nothing()
        return reach.here

    def _nothing(self) -> InfeasibleError:
        names = ", ".join(map(repr, self.rules.known))
        return InfeasibleError(
            f"a setting within reach must meet the constraints {names}; there is none. Move the "
            "system to a feasible setting, and call tell() with its reward"
        )

    def _search(self, request: Request, *, explore: float, exploring: float = 0.0) -> Vector:
        (beliefs, reachable), reach = self._beliefs(request, explore), request.reach
        rules = self.rules.in_context(request.context)
        watched = [
            q.watched(request.time, request.context)
            for q in self.quantities.values()
            if len(q.memory)
        ]
        situation = feasible.Situation(beliefs, tuple(watched), reachable, exploring)
        if self.allowed is not None:
            pool = self.coding.pool
            assert pool is not None
            inside = np.asarray(rules.hold(pool, None) if self.rules.varies else self.allowed)
            if reachable is not None:
                inside = inside & np.asarray(reachable.holds(pool))
            if not inside.any():
                raise self._nothing()
            return pool[int(feasible.best_of(situation, pool, inside))]
        trials, discretization = self.searcher.trials(request.number), self.coding.discretization
        candidates, unit = feasible.around(beliefs, trials, discretization, reachable)
        rows = np.concatenate([np.asarray(candidates), self._begun(reach)])
        anchor = self._anchor(rules, reach)
        rows, allowed = drawn(rules, rows, anchor, reach)
        finest = feasible.finalists(situation, rows, allowed, unit, discretization)
        last = np.concatenate([np.asarray(finest), anchor[None]])
        allowed = np.asarray(rules.hold(last, reach))
        if not allowed.any():
            raise self._nothing()
        return last[int(feasible.best_of(situation, last, allowed))]

    def _begun(self, reach: Reach | None) -> Vector:
        """Return the rows of the safe settings, with the current row for those out of reach."""
        rows = np.array([self.coding.row(setting) for setting in self.safe])
        rows = rows.reshape(-1, self.coding.dimension)
        if reach is None:
            return rows
        return np.where(reach.holds(rows)[:, None], rows, reach.near)

    def chances(self, settings: list[ParameterValues], time: float) -> dict[str, Vector]:
        rows = self._rows(settings, time)
        return {
            name: q.chance(rows, time, settings)
            for name, q in self.quantities.items()
            if len(q.memory)
        }

    # events

    def measured(self, sample: Sample, values: Numbers, chances: Numbers) -> None:
        for name, value in values.items():
            self.quantities[name].observe(Sample(sample.setting, sample.time), value)
            self.quantities[name].adapt(value, chances.get(name), sample.setting)

    def refit(self, *, dates: bool = False) -> dict[str, Any] | None:
        reward = super().refit(dates=dates)
        each = {n: q.refit(dates=dates) for n, q in self.quantities.items() if len(q.memory)}
        quantities = {name: values for name, values in each.items() if values is not None}
        if reward is None and not quantities:
            return None
        return {"reward": reward, "quantities": quantities}

    def learned(self, values: dict[str, Any]) -> None:
        reward, quantities = values.get("reward"), values.get("quantities")
        if not isinstance(reward, dict | None) or not isinstance(quantities, dict):
            raise rejected("stored hyperparameters", list(values), "have a reward and quantities")
        for name, each in quantities.items():
            if name not in self.quantities or not isinstance(each, dict):
                raise DriftpeakError(
                    "stored hyperparameters must be of the measured quantities "
                    f"{', '.join(self.quantities)}; got {shown(name)}"
                )
        if reward is not None:
            super().learned(reward)
        for name, each in quantities.items():
            self.quantities[name].learned(each)

    def forgot(self, before: float | None) -> None:
        super().forgot(before)
        for quantity in self.quantities.values():
            quantity.forgot(before)

    def _told_in_warm_up(self, sample: Sample, random: np.random.Generator) -> None:
        super()._told_in_warm_up(sample, random)
        for quantity in self.quantities.values():
            edge = next(end for end in quantity.limit.widest if np.isfinite(end))
            quantity.observe(Sample(sample.setting, sample.time), float(edge + random.normal()))

    # the state

    def mark(self) -> Any:
        return super().mark(), {name: q.mark() for name, q in self.quantities.items()}

    def back(self, mark: Any) -> None:
        own, quantities = mark
        super().back(own)
        for name, its_mark in quantities.items():
            self.quantities[name].back(its_mark)

    def save(self) -> tuple[Arrays, dict[str, Any]]:
        arrays, rest = super().save()
        rests = []
        for number, quantity in enumerate(self.quantities.values()):
            own, others = quantity.save()
            arrays |= {f"{number} {name}": array for name, array in own.items()}
            rests.append(others | {"above": quantity.above})
        return arrays, rest | {"quantities": rests}

    def load(self, arrays: Arrays, rest: dict[str, Any]) -> None:
        super().load(arrays, rest)
        each = zip(self.quantities.values(), rest["quantities"], strict=True)
        for number, (quantity, others) in enumerate(each):
            begin = f"{number} "
            own = {k.removeprefix(begin): v for k, v in arrays.items() if k.startswith(begin)}
            quantity.load(own, others)
            quantity.above = at_least("above", others["above"], 0)


class LimitedRateEngine(LimitedEngine, RateEngine):
    """The engine for binary rewards or counts with constraints on real-valued quantities."""
