"""A generator for Xopt that follows a moving optimum.

Needs Xopt 3, and with it torch: `pip install 'driftpeak[xopt]'`.
"""

import math
import time as clock
from typing import Any, ClassVar, Literal, NamedTuple

try:
    import xopt  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "xopt":
        raise
    raise ModuleNotFoundError(
        "driftpeak.integrations.xopt needs Xopt: pip install 'driftpeak[xopt]'", name="xopt"
    ) from None

from gest_api.vocs import (
    VOCS,
    BaseVariable,
    DiscreteVariable,
    MaximizeObjective,
    MinimizeObjective,
)
from pydantic import Field, PrivateAttr, field_validator
from xopt.errors import VOCSError
from xopt.generator import Generator

from driftpeak._core.errors import DriftpeakError
from driftpeak.integrations.suggestion_numbers import NumberedOptimizer
from driftpeak.live.space.box import Box
from driftpeak.live.space.parameters import Categorical, Float, Parameter, ParameterValues

MOST_OUT = 100  # suggestions whose results have not come; older ones are given up
Row = dict[str, Any]


class Fact(NamedTuple):
    """What a row of the data says; no reward if the evaluation failed."""

    setting: ParameterValues
    reward: float | None
    time: float


class Known:
    """An optimiser and what it has been told: a cache, which no copy takes along."""

    def __init__(self, optimizer: NumberedOptimizer | None = None, made_from: str = "") -> None:
        self.optimizer, self.made_from = optimizer, made_from
        self.facts: list[Fact] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "Known":
        return Known()


class DriftGenerator(Generator):
    """A generator of Xopt for an objective that moves: old evaluations count less than new ones.

    It suggests what a `driftpeak.Optimizer` with a `DriftingGP` suggests. All that it knows is in
    the data. Evaluations that failed count for nothing.

    Attributes:
        vocs: variables, continuous or of discrete numbers, and one objective; no constraints.
        seed: of everything random.
        time: how time is counted. "steps": evaluations, 1, 2, ... "clock": in seconds, by the
            computer's clock; the evaluator returns the moment of each, `time.time()`, as "time",
            as for Xopt's own time-dependent generators.
        max_travel_distances: the farthest that a suggestion lies from where the system stands, for
            each variable as a share of its range. There must be data then.

    Raises:
        VOCSError: constraints, several objectives, or an objective only to be explored.
        ValueError: not as many distances as variables.
        DriftpeakError: a seed, a distance or a variable that an `Optimizer` does not take; when
            generating with limits and no data.
    """

    name: ClassVar[str] = "drift"
    supports_batch_generation: bool = True
    supports_single_objective: bool = True
    supports_discrete_variables: bool = True

    seed: int = Field(0, description="of everything random")
    time: Literal["steps", "clock"] = Field("steps", description="how time is counted")
    max_travel_distances: list[float] | None = Field(
        None, description="limits of travel, as shares of the variables' ranges"
    )
    _known: Known = PrivateAttr(default_factory=Known)

    @field_validator("vocs", mode="after")
    @classmethod
    def validate_vocs(cls, v: VOCS, info: Any) -> VOCS:
        """Refuse what there is no peak of."""
        v = super().validate_vocs(v, info)
        if not isinstance(next(iter(v.objectives.values())), MaximizeObjective | MinimizeObjective):
            raise VOCSError("this generator maximizes or minimizes its objective")
        return v

    @field_validator("max_travel_distances", mode="after")
    @classmethod
    def validate_distances(cls, v: list[float] | None, info: Any) -> list[float] | None:
        """Refuse another number of distances than of variables."""
        if v is not None and "vocs" in info.data and len(v) != len(info.data["vocs"].variables):
            raise ValueError("max_travel_distances must have one entry for each variable")
        return v

    def generate(self, n_candidates: int) -> list[Row]:
        """Settings to be evaluated next.

        Arguments:
            n_candidates: how many.
        """
        optimizer = self._told()
        rows = len(self._known.facts)
        when = float(rows + 1) if self.time == "steps" else clock.time()
        first = max(rows, optimizer.latest_number) + 1
        found = [optimizer.ask_as(number, when) for number in range(first, first + n_candidates)]
        for number in optimizer.numbers_out()[:-MOST_OUT]:
            optimizer.take_back(number)
        return [self._single() | one for one in found]

    def best(self, time: float | None = None) -> Row:
        """The setting that is expected to be best *now*.

        Arguments:
            time: of the optimum, by default that of the newest data; it may be to come.

        Raises:
            DriftpeakError: there are no data.
        """
        return self._single() | dict(self._told().best(time))

    def _told(self) -> NumberedOptimizer:
        """An optimiser that has been told the data: the kept one, if it was told no others."""
        rows = [] if self.data is None else self.data.to_dict(orient="records")
        facts = [self._fact(number, row) for number, row in enumerate(rows, 1)]
        made_from = self.model_dump_json(exclude={"data"})
        known = self._known
        if known.made_from != made_from or facts[: len(known.facts)] != known.facts:
            known = self._known = Known(self._optimizer(), made_from)
        assert known.optimizer is not None
        for fact in facts[len(known.facts) :]:
            if fact.reward is not None:
                known.optimizer.tell(fact.setting, fact.reward, fact.time)
            else:
                for one in known.optimizer.pending():
                    if dict(one) == fact.setting:
                        known.optimizer.cancel(one)
            known.facts.append(fact)
        return known.optimizer

    def _optimizer(self) -> NumberedOptimizer:
        """One that has been told nothing."""
        (objective,) = self.vocs.objectives.values()
        shares = None
        if self.max_travel_distances is not None:
            each = zip(self.vocs.variables.items(), self.max_travel_distances, strict=True)
            shares = {name: share for (name, one), share in each if _is_varied(one)}
        return NumberedOptimizer(
            Box({name: _parameter(one) for name, one in self._varied().items()}),
            maximize=isinstance(objective, MaximizeObjective),
            seed=self.seed,
            max_travel=shares,
        )

    def _varied(self) -> dict[str, BaseVariable]:
        """The variables with more than one value."""
        return {name: one for name, one in self.vocs.variables.items() if _is_varied(one)}

    def _single(self) -> Row:
        """The variables with one value, and what it is."""
        every = self.vocs.variables.items()
        return {name: next(iter(one.values)) for name, one in every if not _is_varied(one)}

    def _fact(self, number: int, row: Row) -> Fact:
        (objective,) = self.vocs.objectives
        reward: Any = row.get(objective)
        failed = row.get("xopt_error") is True or reward is None or not math.isfinite(reward)
        if self.time == "clock" and not failed and "time" not in row:
            raise DriftpeakError(
                "with time='clock' the evaluator returns the moment of each evaluation, "
                "time.time(), as 'time'; the data have no such column"
            )
        return Fact(
            {name: row[name] for name in self._varied()},
            None if failed else float(reward),
            float(number if self.time == "steps" or failed else row["time"]),
        )


def _is_varied(variable: BaseVariable) -> bool:
    return not isinstance(variable, DiscreteVariable) or len(variable.values) > 1


def _parameter(variable: BaseVariable) -> Parameter:
    if not isinstance(variable, DiscreteVariable):
        return Float(*variable.domain)
    return Categorical(*sorted(variable.values), ordered=True)  # Xopt's are numbers
