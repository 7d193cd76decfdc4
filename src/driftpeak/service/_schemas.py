"""Schemas of requests and answers, which appear in the OpenAPI document."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StrictBool

from driftpeak._core.errors import LARGEST_SEED
from driftpeak.live._study.events import LONGEST_KEY
from driftpeak.service._json_values import plain
from driftpeak.service._names import NAME, WORDS
from driftpeak.service._study_schemas import named

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True)]
Text = Annotated[str, Field(strict=True, max_length=100)]
Moment = Number | Text
"""A number, a date in ISO 8601, or "now"."""
Values = dict[str, JsonValue]
Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY)]
MOMENT = 'A number, a date such as "2026-03-01T08:00", or "now"'
MOST_AT_ONCE = 100
MOST_POINTS = 10_000
LARGEST_LEVEL = 1 - 2.0**-53  # the largest number below 1; its quantiles are finite


class Body(BaseModel):
    """Base class of request bodies; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class New(Body):
    """A new study, with the fields of stored descriptions."""

    name: str = Field(pattern=NAME, description=f"{WORDS[0].upper()}{WORDS[1:]}.")
    space: Annotated[Values, named("Space")]
    maximize: StrictBool = Field(description="Whether to maximise the reward.")
    policy: Annotated[Values | None, named("Policy", optional=True)] = None
    seed: Whole = Field(0, ge=0, le=LARGEST_SEED)
    horizon: Whole = Field(
        100_000, ge=1, description="Maximum number of decisions, for policies that need one."
    )
    start: Values | None = Field(None, description="The present setting; it is suggested first.")
    max_travel: Number | dict[str, Number] | None = None
    moving_cost: Number | dict[str, Number] | None = None
    constraints: Annotated[Values | None, named("Constraints", optional=True)] = None
    safe_start: list[Values] | None = Field(None, max_length=1_000)
    schedule: Annotated[Values | list[Values] | None, named("Schedule", optional=True)] = None


class Ask(Body):
    """A request for suggestions."""

    time: Moment | None = Field(None, description=f"{MOMENT}; by default steps are counted.")
    context: Values | None = None
    fixed: Values | None = Field(
        None, description='Values that the suggestions must have, such as {"fans": 2}.'
    )
    count: Whole = Field(1, ge=1, le=MOST_AT_ONCE)


class Tell(Body):
    """The reward of either a suggestion or any other setting; exactly one of the two is given."""

    suggestion: Whole | None = Field(None, description="The id of a suggestion.")
    setting: Values | None = Field(None, description="The parameters by name.")
    reward: StrictBool | Number
    time: Moment | None = Field(None, description=f"{MOMENT}; by default the suggestion's time.")
    actual: Values | None = Field(
        None, description="The setting that was used instead of the suggestion."
    )
    noise: Number | None = Field(None, description="Standard deviation of its noise, if known.")
    trials: Whole | None = Field(
        None, description="Number of 0/1 rewards or counts of which the reward is the mean."
    )
    constraints: dict[str, Number | None] | None = Field(
        None, description="Measured values of the quantities with limits; null: not measured."
    )
    context: Values | None = None


class Cancel(Body):
    """Pending suggestions to cancel: one, or all."""

    suggestion: Whole | None = None
    all: StrictBool = False


class Look(Body):
    """Settings at which to evaluate the posterior."""

    points: list[Values] | None = Field(
        None,
        max_length=MOST_POINTS,
        description="By default all arms, or all points of a grid.",
    )
    time: Moment | None = Field(None, description=f"{MOMENT}; by default the latest time.")
    context: Values | None = None
    level: Number = Field(0.95, gt=0, le=LARGEST_LEVEL, description="Probability of the intervals.")


class Confirmed(Body):
    """The confirmation of an operation that cannot be undone."""

    confirm: str = Field(description="The name of the study again.", max_length=100)


class Forget(Confirmed):
    """A request to discard the observations before a time, or all."""

    before: Moment | None = None


class Answer(Body):
    """An expert's answers to side queries; null if there is no answer."""

    queries: list[Values] = Field(max_length=1_000)
    answers: list[Number | None] = Field(max_length=1_000)
    time: Moment | None = None


# answers, from dictionaries or from the library's objects with equal attributes

DATA = BeforeValidator(plain)
Plain = Annotated[Any, DATA]
Real = Annotated[float | None, DATA]
"""A number; None for NaN and infinities."""
Reals = Annotated[list[float | None], DATA]


class Summary(BaseModel):
    """A study in the list of studies."""

    name: str
    policy: str | None = Field(description="The name of the policy, as in the description.")
    told: int | None = Field(description="Number of rewards since the start or the last reset.")
    pending: int | None = Field(description="Number of pending suggestions.")
    latest: Plain = Field(description="The latest time.")
    problem: str | None = Field(None, description="The reason if the study cannot be read.")


class StudyList(BaseModel):
    """All studies."""

    studies: list[Summary]


class Description(BaseModel):
    """The arguments of a study, and its counts."""

    name: str
    space: Annotated[dict[str, Any], named("Space")]
    maximize: bool
    policy: Annotated[Any, named("Policy")]
    seed: int
    horizon: int
    options: dict[str, Any] = Field(description="start, max_travel, ..., if they were given.")
    told: int
    ever: int = Field(description="Number of all rewards, also those before resets.")
    pending: int
    latest: Plain
    events: int


class Suggested(BaseModel):
    """A suggestion: setting, time, and probabilities of meeting the limits."""

    id: int
    time: Plain
    parameters: dict[str, Any]
    hold: bool = Field(description="Whether it keeps the system's present setting.")
    context: dict[str, Any]
    chances: dict[str, float]
    feasible: bool | None


class Suggestions(BaseModel):
    """The requested suggestions, or all pending ones."""

    suggestions: list[Suggested]
    warnings: list[str] = []


class Deleted(BaseModel):
    """The name of the deleted study."""

    deleted: str


class Done(BaseModel):
    """Counts after a change."""

    told: int
    pending: int


class Told(Done):
    """The counts after a reward was stored."""

    repeated: bool = Field(description="Whether a reward with this key was already stored.")
    warnings: list[str]


class Cancelled(BaseModel):
    """The cancelled suggestions."""

    cancelled: list[int]
    pending: int


class Band(BaseModel):
    """The range of values of a parameter that are about as good as the peak."""

    low: Real
    high: Real


class Expected(Band):
    """The one-step forecast of a reward, including noise, with its 95 % interval."""

    mean: Real
    deviation: Real


class Estimated(BaseModel):
    """An estimated peak: mean and standard deviation of its noiseless reward."""

    time: Plain
    parameters: dict[str, Any]
    mean: Real
    deviation: Real


class Peak(Estimated):
    """An estimated peak in a context, with the interval of its noiseless reward."""

    low: Real
    high: Real
    context: dict[str, Any]


class Moved(Estimated):
    """The estimated peak at one time."""

    band: dict[str, Band]


class Track(BaseModel):
    """Estimated peaks over time, from all rewards if the policy supports it."""

    peaks: list[Moved]


class Belief(BaseModel):
    """The posterior of the noiseless reward, a number for each point."""

    points: list[dict[str, Any]] | None = Field(
        description="The requested points; null: all points of the space, in order."
    )
    mean: Reals
    deviation: Reals
    low: Reals
    high: Reals


class Chances(BaseModel):
    """The probability of meeting each limit, a number for each point."""

    chances: dict[str, Reals]


class Reward(BaseModel):
    """A reported reward."""

    number: int = Field(description="Its number among all rewards, also those before resets.")
    id: int | None
    time: Plain
    parameters: dict[str, Any]
    reward: Real
    expected: Expected | None
    noise: Real
    trials: int | None
    context: dict[str, Any]
    constraints: dict[str, float]
    chances: dict[str, float]
    used: bool = Field(
        description="false: its time is before the time of a forget, so the policy ignores it."
    )


class History(BaseModel):
    """A page of rewards in the order of reports; the newest 10,000 since a reset are available."""

    rewards: list[Reward]
    next: int | None = Field(description="Value of after= for the next page; null: last page.")
    told: int


class Calibrated(BaseModel):
    """The accuracy of one-step forecasts."""

    count: int
    log_likelihood: Real
    coverage: Annotated[dict[str, float | None], DATA]


class Predictions(BaseModel):
    """Rewards with their one-step forecasts, in the order of reports."""

    rewards: list[Reward]
    calibration: Calibrated
    likelihood: str = Field(description="gaussian, bernoulli or poisson.")


class Diagnosis(BaseModel):
    """Diagnostics of the model; see driftpeak.live.Diagnostics and Violations."""

    diagnostics: Annotated[dict[str, Any], DATA]
    calibration: Calibrated
    violations: Annotated[dict[str, dict[str, Any]], DATA]


class Queries(BaseModel):
    """The policy's side queries, for an expert to re-evaluate."""

    queries: Annotated[list[dict[str, Any]], DATA]


class Results(BaseModel):
    """The results that a command wrote into the served folder."""

    summary: dict[str, Any] | None = Field(description="summary.json; null if there is none.")
    files: list[str] = Field(description="Names of the figures, the summary and the report.")
