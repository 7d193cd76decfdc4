"""A generator for Xopt that tracks a drifting optimum.

It needs Xopt 3, which needs torch: `pip install 'driftpeak[xopt]'`.
"""

import math
import time as clock
from typing import Any, ClassVar, Literal, NamedTuple

import xopt  # noqa: F401, first: the error names the extra

# isort: split
from gest_api.vocs import (
    VOCS,
    BaseConstraint,
    BaseVariable,
    BoundsConstraint,
    DiscreteVariable,
    LessThanConstraint,
    MaximizeObjective,
    MinimizeObjective,
)
from pydantic import Field, PrivateAttr, field_serializer, field_validator
from xopt.errors import VOCSError
from xopt.generator import Generator
from xopt.generators import generators

from driftpeak._core.errors import DriftpeakError
from driftpeak.integrations._suggestion_numbers import NumberedOptimizer
from driftpeak.live._space.box import Box
from driftpeak.live._space.constraints import PROBABILITY, Limit
from driftpeak.live._space.parameters import Categorical, Float, Parameter, ParameterValues

MOST_OUT = 100  # pending suggestions; older ones are cancelled
ROUNDED = 1e-9  # largest error of a number in Xopt's dump, which has ten decimals
Row = dict[str, Any]


class Fact(NamedTuple):
    """A row of the data: setting, reward (None if the evaluation failed), time, constraints."""

    setting: ParameterValues
    reward: float | None
    time: float
    measured: dict[str, float | None] | None


class Known:
    """A cache of an optimiser and the data that it has; copies of the generator start empty."""

    def __init__(self, optimizer: NumberedOptimizer | None = None, made_from: str = "") -> None:
        self.optimizer, self.made_from = optimizer, made_from
        self.facts: list[Fact] = []

    def __reduce__(self) -> "tuple[type[Known], tuple[()]]":
        return Known, ()


class DriftGenerator(Generator):
    """A generator of Xopt for a drifting objective, which gives old evaluations less weight.

    Its suggestions are those of a `driftpeak.Optimizer` with a `DriftingGP`. Its state is computed
    from the data. Failed evaluations are not used.

    Attributes:
        vocs: continuous or discrete numerical variables, and one objective. Each constraint is a
            `Limit`: a model of the quantity is learned, and suggestions meet it with `probability`.
        seed: random seed.
        time: the unit of time. "steps": evaluations, 1, 2, ... "clock": seconds by the computer's
            clock. The evaluator then returns the time of each evaluation, `time.time()`, as "time",
            as for Xopt's own time-dependent generators.
        max_travel_distances: the largest change of each variable per suggestion, as a fraction of
            its range. Generating then needs data.
        probability: posterior probability of meeting each constraint that a suggestion needs.
        exact: written by `Xopt.dump`, whose data have only ten decimals: the exact numbers. With
            them, `Xopt.from_file` resumes with the same suggestions. Import this module before, so
            that Xopt knows the generator "drift".

    Raises:
        VOCSError: there are several objectives, or the objective is only explored.
        ValueError: the number of distances differs from the number of variables.
        DriftpeakError: `Optimizer` does not accept the seed, a distance, a variable or the
            probability; or there are distances but no data when generating.
    """

    name: ClassVar[str] = "drift"
    supports_batch_generation: bool = True
    supports_single_objective: bool = True
    supports_constraints: bool = True
    supports_discrete_variables: bool = True

    seed: int = Field(0, description="random seed")
    time: Literal["steps", "clock"] = Field("steps", description="unit of time: steps or seconds")
    max_travel_distances: list[float] | None = Field(
        None, description="largest changes per suggestion, as fractions of the variables' ranges"
    )
    probability: float = Field(PROBABILITY, description="probability of meeting each constraint")
    exact: list[dict[str, float]] | None = Field(None, description="the data without rounding")
    _known: Known = PrivateAttr(default_factory=Known)

    @field_validator("vocs", mode="after")
    @classmethod
    def validate_vocs(cls, v: VOCS, info: Any) -> VOCS:
        """Check that the objective is maximised or minimised."""
        v = super().validate_vocs(v, info)
        if not isinstance(next(iter(v.objectives.values())), MaximizeObjective | MinimizeObjective):
            raise VOCSError("the objective must be maximized or minimized, not explored")
        return v

    @field_validator("max_travel_distances", mode="after")
    @classmethod
    def validate_distances(cls, v: list[float] | None, info: Any) -> list[float] | None:
        """Check that there is one distance for each variable."""
        if v is not None and "vocs" in info.data and len(v) != len(info.data["vocs"].variables):
            raise ValueError(
                "max_travel_distances must have one entry for each variable; got "
                f"{len(v)} for {len(info.data['vocs'].variables)}"
            )
        return v

    @field_serializer("exact")
    def serialize_exact(self, _: object) -> list[dict[str, float]] | None:
        """Return the finite numbers of the data."""
        names = [*self.vocs.all_names, "time"]
        rows = [
            {k: row[k] for k in names if isinstance(row.get(k), float) and math.isfinite(row[k])}
            for row in self._rows()
        ]
        return rows or None

    def generate(self, n_candidates: int) -> list[Row]:
        """Return settings to evaluate next.

        Arguments:
            n_candidates: the number of settings.
        """
        optimizer = self._observed_optimizer()
        rows = len(self._known.facts)
        when = float(rows + 1) if self.time == "steps" else clock.time()
        first = max(rows, optimizer.latest_number) + 1
        numbers = range(first, first + n_candidates)
        settings = [optimizer.ask_as(number, when) for number in numbers]
        for number in optimizer.numbers_out()[:-MOST_OUT]:
            optimizer.take_back(number)
        return [self._single() | setting for setting in settings]

    def best(self, time: float | None = None) -> Row:
        """Return the setting with the best posterior mean *now*.

        Arguments:
            time: the time of the optimum, also a future one; by default the time of the newest
                data.

        Raises:
            DriftpeakError: there are no data.
        """
        return self._single() | dict(self._observed_optimizer().best(time))

    def _observed_optimizer(self) -> NumberedOptimizer:
        """Return an optimiser with the data; the cached one if it has no other data."""
        facts = [self._fact(number, row) for number, row in enumerate(self._rows(), 1)]
        made_from = repr(self.model_dump(exclude={"data", "exact"}))
        known = self._known
        if known.made_from != made_from or facts[: len(known.facts)] != known.facts:
            known = self._known = Known(self._optimizer(), made_from)
        assert known.optimizer is not None
        for fact in facts[len(known.facts) :]:
            if fact.reward is not None:
                row = fact.setting, fact.reward, fact.time
                known.optimizer.tell(*row, constraints=fact.measured)
            else:
                for suggestion in known.optimizer.pending():
                    if dict(suggestion) == fact.setting:
                        known.optimizer.cancel(suggestion)
            known.facts.append(fact)
        return known.optimizer

    def _rows(self) -> list[Row]:
        """Return the rows of the data, exact where these are from a dump."""
        rows: list[Row] = [] if self.data is None else self.data.to_dict(orient="records")
        for row, exact in zip(rows, self.exact or (), strict=False):
            if all(abs(row.get(k, math.nan) - value) <= ROUNDED for k, value in exact.items()):
                row.update(exact)
        return rows

    def _optimizer(self) -> NumberedOptimizer:
        """Return a new optimiser without data."""
        (objective,) = self.vocs.objectives.values()
        shares = None
        if self.max_travel_distances is not None:
            each = zip(self.vocs.variables.items(), self.max_travel_distances, strict=True)
            shares = {name: share for (name, variable), share in each if _is_varied(variable)}
        return NumberedOptimizer(
            Box({name: _parameter(variable) for name, variable in self._varied().items()}),
            maximize=isinstance(objective, MaximizeObjective),
            seed=self.seed,
            max_travel=shares,
            constraints={
                name: _limit(constraint, self.probability)
                for name, constraint in self.vocs.constraints.items()
            },
        )

    def _varied(self) -> dict[str, BaseVariable]:
        """Return the variables with more than one value."""
        variables = self.vocs.variables.items()
        return {name: variable for name, variable in variables if _is_varied(variable)}

    def _single(self) -> Row:
        """Return the values of the variables with a single value."""
        variables = self.vocs.variables.items()
        return {
            name: next(iter(variable.values))
            for name, variable in variables
            if not _is_varied(variable)
        }

    def _fact(self, number: int, row: Row) -> Fact:
        (objective,) = self.vocs.objectives
        reward: Any = row.get(objective)
        failed = row.get("xopt_error") is True or reward is None or not math.isfinite(reward)
        if self.time == "clock" and not failed and "time" not in row:
            raise DriftpeakError(
                "time='clock' needs a column 'time' in the data; got none. Let the evaluator "
                "return time.time() as 'time'."
            )
        return Fact(
            {name: row[name] for name in self._varied()},
            None if failed else float(reward),
            float(number if self.time == "steps" or failed else row["time"]),
            {name: _finite(row.get(name)) for name in self.vocs.constraints} or None,
        )


def _is_varied(variable: BaseVariable) -> bool:
    return not isinstance(variable, DiscreteVariable) or len(variable.values) > 1


def _parameter(variable: BaseVariable) -> Parameter:
    if not isinstance(variable, DiscreteVariable):
        return Float(*variable.domain)
    return Categorical(*sorted(variable.values), ordered=True)  # Xopt's values are numbers


def _limit(constraint: BaseConstraint, probability: float) -> Limit:
    if isinstance(constraint, BoundsConstraint):
        low, high = constraint.range
        return Limit(at_least=low, at_most=high, probability=probability)
    if isinstance(constraint, LessThanConstraint):
        return Limit(at_most=constraint.value, probability=probability)
    return Limit(at_least=constraint.value, probability=probability)


def _finite(value: Any) -> float | None:
    """Return a measurement, or None if it is missing."""
    return None if value is None or not math.isfinite(value) else float(value)


generators[DriftGenerator.name] = DriftGenerator  # Xopt's registry, for `Xopt.from_file`
