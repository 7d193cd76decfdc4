"""JSON schemas of spaces, constraints and policies, for the OpenAPI document.

They describe the data of `driftpeak.live.space_to_data` and of stored studies. Requests are checked
by the library, whose messages name the accepted values.
"""

import inspect
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema
from pydantic.json_schema import models_json_schema

from driftpeak.live._study.registry import PARTS
from driftpeak.policies.catalogue import stored_classes

MARK = "x-driftpeak-schema"
REFERENCE = "#/components/schemas/{model}"
Number = TypeVar("Number", int, float)
Choice = str | int | float | bool
When = dict[str, list[Choice] | Choice]
WHEN = "Values of other parameters that make it active."
RATE = 'Largest change per unit of time, or a text such as "8/h" with dates.'


def named(name: str, *, optional: bool = False) -> WithJsonSchema:
    """Return a mark that `with_references` replaces; pydantic refuses unknown references."""
    mark = {MARK: name}
    return WithJsonSchema({"anyOf": [mark, {"type": "null"}]} if optional else mark)


def with_references(document: Any) -> Any:
    """Return an OpenAPI document with references to `study_schemas` in place of marks."""
    if isinstance(document, list):
        return [with_references(part) for part in document]
    if not isinstance(document, dict):
        return document
    if MARK in document:
        return {"$ref": REFERENCE.format(model=document[MARK])}
    return {key: with_references(part) for key, part in document.items()}


class Part(BaseModel):
    """Base class; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class NumericParameter(Part, Generic[Number]):
    """Base class of numeric parameters."""

    type: str
    low: Number
    high: Number
    log: bool = False
    step: Number | None = None
    max_step: float | None = Field(None, description="Largest change; with log a factor.")
    max_rate: float | str | None = Field(None, description=RATE)
    when: When | None = Field(None, description=WHEN)


class FloatParameter(NumericParameter[float]):
    """A real parameter."""

    type: Literal["float"]


class IntegerParameter(NumericParameter[int]):
    """An integer parameter."""

    type: Literal["integer"]


class CategoricalParameter(Part):
    """A parameter with a list of values."""

    type: Literal["categorical"]
    choices: list[Choice] = Field(min_length=2)
    ordered: bool = False
    when: When | None = None


class BooleanParameter(Part):
    """A parameter that is true or false."""

    type: Literal["boolean"]
    when: When | None = None


Parameter = FloatParameter | IntegerParameter | CategoricalParameter | BooleanParameter


class WithContext(Part):
    """Base class of spaces."""

    context: dict[str, Parameter] | None = Field(
        None, description="Quantities that are observed and not chosen."
    )


class BoxSpace(WithContext):
    """Named parameters."""

    box: dict[str, Parameter]


class ArmsSpace(WithContext):
    """Arms: their number, or their coordinates."""

    arms: int | list[list[float]]
    names: list[str] | None = None


class GridSpace(WithContext):
    """The points of a grid: a range and a number of points for each coordinate."""

    grid: list[list[float]] = Field(description="[low, high] of each coordinate.")
    size: int | list[int]


class ContextBound(Part):
    """A bound for each value of a context variable; null where there is none."""

    context: str
    values: dict[str, float | None]


class LimitConstraint(Part):
    """A limit of a measured quantity, kept with a probability."""

    at_most: float | ContextBound | None = None
    at_least: float | ContextBound | None = None
    probability: float = Field(0.95, gt=0.5, lt=1)


class SumConstraint(Part):
    """Bounds of a weighted sum of parameters."""

    sum: dict[str, float] = Field(description="Weights by parameter.")
    at_most: float | ContextBound | None = None
    at_least: float | ContextBound | None = None


class FunctionConstraint(Part):
    """A function that the service has registered under this name."""

    function: str


class Schedule(Part):
    """Settings by which the system is run today, for equal parts of a period."""

    settings: list[dict[str, Choice | None]] = Field(min_length=1)
    period: float | str = "1 day"


SPACES = (BoxSpace, ArmsSpace, GridSpace)
CONSTRAINTS = (LimitConstraint, SumConstraint, FunctionConstraint)


def study_schemas() -> dict[str, JsonValue]:
    """Return the schemas of a space, constraints, a schedule and a policy, and of their parts."""
    models = [(model, "validation") for model in (*SPACES, *CONSTRAINTS, Schedule)]
    _, parts = models_json_schema(models, ref_template=REFERENCE)  # type: ignore[arg-type]
    schemas: dict[str, Any] = dict(parts["$defs"])
    schemas["Space"] = {"title": "Space", "anyOf": _references(SPACES)}
    schemas["Constraints"] = {
        "title": "Constraints",
        "type": "object",
        "description": "Constraints by name.",
        "additionalProperties": {"anyOf": _references(CONSTRAINTS)},
    }
    schemas["Policy"] = {
        "title": "Policy",
        "type": "object",
        "description": "A policy by name, with its arguments; by default a drifting-gp.",
        "properties": {
            tag: _arguments(constructor)
            for tag, constructor in {
                "drifting-gp": PARTS["drifting-gp"],
                **stored_classes(),
            }.items()
        }
        | {"yours": {"type": "string", "description": "A user-defined policy; not accepted."}},
        "additionalProperties": False,
        "maxProperties": 1,
    }
    return schemas


def _references(models: tuple[type[BaseModel], ...]) -> list[JsonValue]:
    return [{"$ref": REFERENCE.format(model=model.__name__)} for model in models]


def _arguments(constructor: Any) -> dict[str, Any]:
    """Return the schema of a constructor's arguments, which may be data of other parts."""
    parameters = constructor.parameters
    needed = [
        name for name, (_, default) in parameters.items() if default is inspect.Parameter.empty
    ]
    schema: dict[str, Any] = {"type": "object", "properties": {name: {} for name in parameters}}
    return schema | ({"required": needed} if needed else {})
