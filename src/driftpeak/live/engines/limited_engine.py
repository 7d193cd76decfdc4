r"""A Gaussian process that drifts, of a reward whose settings must keep constraints.

Every measured quantity has a process of its own, of the same parts, which learns as the reward's
does, with three differences. It moves by Markov drift, unless the policy states another way. It is
measured in units of its distance from the limit, which stands at 0: where nothing is known it may
as well be broken as kept. And nothing is doubted: a measurement that says danger is believed.

A probability that a model states is not yet a rate: peaks lie where limits do, so that the errors
of the model are met again and again. So the probability asked of the model is raised by every limit
broken where it was believed to be kept, and lowered by every one kept, never below what is stated:
in normal quantiles, \(z \leftarrow \max(z_p, z + \gamma\,(b - (1 - p)))\) with b 1 or 0. In
the long run the rate is the stated one at most, as long as there are settings of which so much is
believed (Gibbs and Candes 2021, "Adaptive Conformal Inference Under Distribution Shift").

With a safe start (SafeOpt: Sui et al. 2015, "Safe Exploration for Optimization with Gaussian
Processes"; Berkenkamp, Krause and Schoellig 2021, "Bayesian Optimization with Safety Constraints")
a quantity's process is taken for no smoother and no calmer than stated here, however flat the first
measurements lie: lengthscales are at most \(0.3\sqrt{d}\), its variance is at least 1. Every
third suggestion then goes where the quantities are known least, of the safe settings that may be
the best: so the safe set grows.
"""

from statistics import NormalDist
from typing import Any

import numpy as np

from driftpeak._core.errors import (
    DriftpeakError,
    InfeasibleError,
    at_least,
)
from driftpeak._core.types import Vector
from driftpeak.live.engines.drifting_gp import DriftingGP
from driftpeak.live.engines.gp_engine import GPEngine
from driftpeak.live.engines.gp_posterior import NEWEST
from driftpeak.live.engines.rate_engine import RateEngine
from driftpeak.live.model import gp
from driftpeak.live.model.scaling import Standard
from driftpeak.live.search import feasible
from driftpeak.live.space.constraints import Limit, Rules
from driftpeak.live.space.encoding import Coding
from driftpeak.live.space.feasibility import anchor_of, drawn
from driftpeak.live.space.parameters import ParameterValues
from driftpeak.live.space.records import Arrays, Outstanding, Reach, setting_of

FARTHER = 0.8  # the quantile of the distances from a limit that is their unit
NORMAL = NormalDist()
RAISED = 0.5  # gamma: of the quantile, by a limit broken
FIRST = 0.25  # above the stated one, the quantile to begin with
SMOOTHEST = 0.3  # lengthscale, in roots of the number of columns
CURIOUS = 3  # with a safe start, one suggestion in so many learns where the limits lie


class QuantityEngine(GPEngine):
    """The process of a measured quantity.

    Arguments:
        limit: where it must stay.
        cautious: whether it is taken for no smoother than a lengthscale of 0.3 sqrt(d) makes it.
    """

    def __init__(
        self, policy: DriftingGP, coding: Coding, *, seed: int, limit: Limit, cautious: bool
    ) -> None:
        self.limit, self.cautious = limit, cautious
        super().__init__(policy, coding, seed=seed)

    def reset(self) -> None:
        super().reset()
        self.above = FIRST  # of the quantile that is asked, over the stated one

    def heed(self, value: float, chance: float | None) -> None:
        """Ask for more, or less, since a limit that was believed to be kept was broken, or not."""
        if self.limit.believes(chance):
            wrong = float(not self.limit.keeps(value)) - (1 - self.limit.probability)
            self.above = max(self.above + RAISED * wrong, 0.0)

    @property
    def asked_for(self) -> float:
        """The probability that is asked of the model."""
        return NORMAL.cdf(NORMAL.inv_cdf(self.limit.probability) + self.above)

    def _newest_standard(self) -> Standard:
        rewards = self.memory.rewards[-NEWEST:]
        low, high = self.limit.span
        if np.isfinite(low) and np.isfinite(high):
            centre, least = low / 2 + high / 2, high / 2 - low / 2
        else:
            centre = high if np.isfinite(high) else low
            least = float(np.quantile(np.abs(rewards - centre), FARTHER))
        return Standard(centre, max(Standard.of(rewards).scale, least))

    def _is_wild(self, standard: Standard) -> Any:
        return np.zeros(len(self.memory), bool)

    def _model(self, motion: str, values: dict[str, Any]) -> gp.Model:
        model = super()._model(motion, values)
        if not self.cautious:
            return model
        smoothest = SMOOTHEST * len(model.lengthscale) ** 0.5
        return model._replace(
            lengthscale=np.minimum(model.lengthscale, smoothest),
            variance=max(float(model.variance), 1.0),
        )

    def watched(self, time: float) -> feasible.Watched:
        """What a search needs to know."""
        low, high = self.standard.into(np.array(self.limit.span))
        return feasible.Watched(
            self.model, self.known(time), time - self.origin, low, high, self.asked_for
        )

    def kept(self, rows: Vector, time: float) -> Vector:
        """The probability that the limit is kept, at each of some whole rows."""
        return np.asarray(feasible.chances(self.watched(time), rows))


class LimitedEngine(GPEngine):
    """An engine that keeps constraints.

    Arguments:
        rules: the constraints.
        start: the row of the first suggestion, if there is one.
        safe: settings that are known to keep all limits, to begin with; none: not needed.
        rest: what the engine of another kind of rewards takes besides.

    Raises:
        DriftpeakError: no setting keeps the known constraints.
    """

    def __init__(
        self,
        policy: DriftingGP,
        coding: Coding,
        *,
        seed: int,
        rules: Rules,
        start: Vector | None,
        safe: list[ParameterValues],
        **rest: Any,
    ) -> None:
        self.rules, self.safe = rules, safe
        self.anchor = anchor_of(rules, start)
        self.allowed = None if coding.pool is None else rules.hold(coding.pool, None)
        # whatever the reward is, what is measured is a number with noise; one motion, not the most
        # probable of several, or learning would cost more than twice as much as without a limit
        forgetting: Any = "markov" if policy.forgetting == "auto" else policy.forgetting
        plain = DriftingGP(forgetting=forgetting, capacity=policy.capacity, learn=policy.learn)
        self.quantities = {
            name: QuantityEngine(plain, coding, seed=seed, limit=limit, cautious=bool(safe))
            for name, limit in rules.limits.items()
        }
        super().__init__(policy, coding, seed=seed, **rest)

    def reset(self) -> None:
        super().reset()
        for one in self.quantities.values():
            one.reset()

    # where to go

    def propose(
        self,
        number: int,
        time: float,
        pending: list[Outstanding],
        reach: Reach | None,
        context: ParameterValues,
    ) -> ParameterValues:
        known = len(self.memory) + len(pending)
        if self.safe and (known < len(self.safe) or not self._is_measured):
            return self._safe(number, reach)
        if self.safe or known >= self.initial:
            curious = bool(self.safe) and number % CURIOUS == 0
            row = self._search(
                number, time, pending, context, explore=1.0, reach=reach, curious=float(curious)
            )
        else:
            row = self._first(number, reach)
        return setting_of(self.coding, row, reach)

    @property
    def _is_measured(self) -> bool:
        return all(len(one.memory) for one in self.quantities.values())

    def _safe(self, number: int, reach: Reach | None) -> ParameterValues:
        """The next of the safe settings in reach, or to stay."""
        if reach is None:
            return self.safe[(number - 1) % len(self.safe)]
        for one in np.roll(np.arange(len(self.safe)), 1 - number):
            row = self.coding.row(self.safe[one])
            if (row >= reach.lower).all() and (row <= reach.upper).all():
                return self.safe[one]
        return reach.setting

    def _first(self, number: int, reach: Reach | None) -> Vector:
        """Spread evenly over what is allowed, as far as it is in reach."""
        if self.allowed is not None:
            for later in range(len(self.allowed)):
                row = self.searcher.first(number + later, reach)
                if np.asarray(self.rules.hold(row[None], reach)).all():
                    return row
            raise self._nothing()
        row = self.searcher.first(number, reach)[None]
        row, _ = drawn(self.rules, row, self._anchor(reach), reach)
        if np.asarray(self.rules.hold(row, reach)).all():
            return row[0]
        return self._anchor(reach, exactly=True)

    def _anchor(self, reach: Reach | None, *, exactly: bool = False) -> Vector:
        """An allowed row in reach: to be drawn to, or, if there is one exactly, to be taken."""
        if reach is None:
            return self.anchor
        if exactly and self.rules.broken(reach.setting) is not None:
            raise self._nothing()
        return reach.here

    def _nothing(self) -> InfeasibleError:
        names = ", ".join(map(repr, self.rules.known))
        return InfeasibleError(
            f"nothing within reach of where the system stands keeps the constraints {names}: move "
            "it yourself to a setting that does, and tell what that brought"
        )

    def _search(
        self,
        number: int,
        time: float,
        pending: list[Outstanding],
        context: ParameterValues,
        *,
        explore: float,
        reach: Reach | None = None,
        curious: float = 0.0,
    ) -> Vector:
        beliefs, room = self._beliefs(time, pending, context, explore=explore, reach=reach)
        watched = [one.watched(time) for one in self.quantities.values() if len(one.memory)]
        situation = feasible.Situation(beliefs, tuple(watched), room, curious)
        if self.allowed is not None:
            pool = self.coding.pool
            assert pool is not None
            inside = np.asarray(self.allowed)
            if room is not None:
                inside = inside & np.asarray(room.holds(pool))
            if not inside.any():
                raise self._nothing()
            return pool[int(feasible.best_of(situation, pool, inside))]
        trials, lattice = self.searcher.trials(number), self.coding.lattice
        candidates, unit = feasible.around(beliefs, trials, lattice, room)
        rows = np.concatenate([np.asarray(candidates), self._begun(reach)])
        anchor = self._anchor(reach)
        rows, allowed = drawn(self.rules, rows, anchor, reach)
        finest = feasible.finalists(situation, rows, allowed, unit, lattice)
        last = np.concatenate([np.asarray(finest), anchor[None]])
        allowed = np.asarray(self.rules.hold(last, reach))
        if not allowed.any():
            raise self._nothing()
        return last[int(feasible.best_of(situation, last, allowed))]

    def _begun(self, reach: Reach | None) -> Vector:
        """The rows of the safe settings; those out of reach are the anchor instead."""
        rows = np.array([self.coding.row(one) for one in self.safe])
        rows = rows.reshape(-1, self.coding.dimension)
        if reach is None:
            return rows
        inside = (rows >= reach.lower) & (rows <= reach.upper)
        return np.where(inside.all(axis=1, keepdims=True), rows, reach.here)

    def chances(self, settings: list[ParameterValues], time: float) -> dict[str, Vector]:
        rows = self._rows(settings)
        return {
            name: one.kept(rows, time) for name, one in self.quantities.items() if len(one.memory)
        }

    # what happens

    def measured(
        self,
        setting: ParameterValues,
        values: dict[str, float],
        time: float,
        chances: dict[str, float],
    ) -> None:
        for name, value in values.items():
            self.quantities[name].told(setting, value, time, None, None)
            self.quantities[name].heed(value, chances.get(name))

    def lesson(self, *, dates: bool = False) -> dict[str, Any] | None:
        reward = super().lesson(dates=dates)
        each = {n: one.lesson(dates=dates) for n, one in self.quantities.items() if len(one.memory)}
        quantities = {name: values for name, values in each.items() if values is not None}
        if reward is None and not quantities:
            return None
        return {"reward": reward, "quantities": quantities}

    def learned(self, values: dict[str, Any]) -> None:
        reward, quantities = values.get("reward"), values.get("quantities")
        if not isinstance(reward, dict | None) or not isinstance(quantities, dict):
            raise DriftpeakError("this is nothing that could be learned of a reward and its limits")
        for name, one in quantities.items():
            if name not in self.quantities or not isinstance(one, dict):
                raise DriftpeakError("a lesson is of a quantity that is not measured here")
        if reward is not None:
            super().learned(reward)
        for name, one in quantities.items():
            self.quantities[name].learned(one)

    def forgot(self, before: float | None) -> None:
        super().forgot(before)
        for one in self.quantities.values():
            one.forgot(before)

    # the whole state

    def mark(self) -> Any:
        return super().mark(), {name: one.mark() for name, one in self.quantities.items()}

    def back(self, mark: Any) -> None:
        own, quantities = mark
        super().back(own)
        for name, one in quantities.items():
            self.quantities[name].back(one)

    def save(self) -> tuple[Arrays, dict[str, Any]]:
        arrays, rest = super().save()
        rests = []
        for number, one in enumerate(self.quantities.values()):
            found, others = one.save()
            arrays |= {f"{number} {name}": array for name, array in found.items()}
            rests.append(others | {"above": one.above})
        return arrays, rest | {"quantities": rests}

    def load(self, arrays: Arrays, rest: dict[str, Any]) -> None:
        super().load(arrays, rest)
        each = zip(self.quantities.values(), rest["quantities"], strict=True)
        for number, (one, others) in enumerate(each):
            begin = f"{number} "
            own = {k.removeprefix(begin): v for k, v in arrays.items() if k.startswith(begin)}
            one.load(own, others)
            one.above = at_least("above", others["above"], 0)


class LimitedRateEngine(LimitedEngine, RateEngine):
    """One whose rewards are 0 and 1, or counts; what is measured besides is a number with noise."""
