"""What a client sends, and what it gets: the service's part of the OpenAPI document."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from driftpeak._core.errors import LARGEST_SEED
from driftpeak.live.study.events import LONGEST_KEY
from driftpeak.service.names import NAME, WORDS

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True)]
Text = Annotated[str, Field(strict=True, max_length=100)]
Moment = Number | Text
"""A number, a date in ISO 8601, or "now"."""
Values = dict[str, JsonValue]
Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY)]
MOMENT = 'A number, a date as "2026-03-01T08:00", or "now"'
MOST_AT_ONCE = 100
MOST_POINTS = 10_000
LARGEST_LEVEL = 1 - 2.0**-53  # the largest number below 1; its quantiles are finite


class Body(BaseModel):
    """Base class: what is misspelt is refused."""

    model_config = ConfigDict(extra="forbid")


class New(Body):
    """A study to begin, as stored descriptions have it."""

    name: str = Field(pattern=NAME, description=f"{WORDS[0].upper()}{WORDS[1:]}.")
    space: Values = Field(
        description="The space, see driftpeak.live.space.serialization.",
        examples=[{"box": {"x": {"type": "float", "low": 0, "high": 1}}}, {"arms": 5}],
    )
    maximize: StrictBool = Field(description="Whether large rewards are good.")
    policy: Values | None = Field(
        None,
        description='A tag with arguments, as {"drifting-gp": {"capacity": 256}}; that by default.',
    )
    seed: Whole = Field(0, ge=0, le=LARGEST_SEED)
    horizon: Whole = Field(100_000, ge=1, description="The most decisions of some policies.")
    start: Values | None = Field(None, description="The first suggestion.")
    max_travel: Number | dict[str, Number] | None = None
    moving_cost: Number | dict[str, Number] | None = None
    constraints: Values | None = None
    safe_start: list[Values] | None = Field(None, max_length=1_000)


class Ask(Body):
    """Where to sample next?"""

    time: Moment | None = Field(None, description=f"{MOMENT}; by default steps are counted.")
    context: Values | None = None
    count: Whole = Field(1, ge=1, le=MOST_AT_ONCE)


class Tell(Body):
    """What a suggestion, or any other setting, brought: exactly one of these two."""

    suggestion: Whole | None = Field(None, description="The number of a suggestion.")
    setting: Values | None = Field(None, description="The parameters, by name.")
    reward: StrictBool | Number
    time: Moment | None = Field(None, description=f"{MOMENT}; by default that of the suggestion.")
    actual: Values | None = Field(None, description="What was set instead of the suggestion.")
    noise: Number | None = Field(None, description="The standard deviation of its noise, if known.")
    trials: Whole | None = Field(None, description="Of how many rewards of 0 and 1 it is the mean.")
    constraints: dict[str, Number | None] | None = Field(None, description="What was measured.")
    context: Values | None = None


class Cancel(Body):
    """Suggestions that will never be told: one, or all that are out."""

    suggestion: Whole | None = None
    all: StrictBool = False


class Look(Body):
    """Settings at which the belief is looked at."""

    points: list[Values] | None = Field(
        None, max_length=MOST_POINTS, description="By default all arms, or points of a grid."
    )
    time: Moment | None = Field(None, description=f"{MOMENT}; by default the latest time seen.")
    context: Values | None = None
    level: Number = Field(0.95, gt=0, le=LARGEST_LEVEL, description="Of the intervals.")


class Confirmed(Body):
    """What cannot be undone asks for the name again."""

    confirm: str = Field(description="The name of the study, once more.", max_length=100)


class Forget(Confirmed):
    """Believe no longer what was observed before a time, or anything."""

    before: Moment | None = None


class Answer(Body):
    """An expert's answers to side queries; null where it has none."""

    queries: list[Values] = Field(max_length=1_000)
    answers: list[Number | None] = Field(max_length=1_000)
    time: Moment | None = None


# answers


class Summary(BaseModel):
    """A study in a list."""

    name: str
    policy: str | None = Field(description="Its kind: the tag in the description.")
    told: int | None = Field(description="Rewards since the start or the last reset.")
    pending: int | None = Field(description="Suggestions that are out.")
    latest: Any = Field(description="The latest time seen.")
    problem: str | None = Field(None, description="Why it cannot be read, if it cannot.")


class StudyList(BaseModel):
    """All studies."""

    studies: list[Summary]


class Description(BaseModel):
    """What a study was made of, and how far it is."""

    name: str
    space: dict[str, Any]
    maximize: bool
    policy: Any
    seed: int
    horizon: int
    options: dict[str, Any] = Field(description="start, max_travel, ..., those that it has.")
    told: int
    ever: int = Field(description="Rewards ever told, also before resets.")
    pending: int
    latest: Any
    events: int


class Suggested(BaseModel):
    """Where to sample, when, and what is believed of limits."""

    id: int
    time: Any
    parameters: dict[str, Any]
    hold: bool = Field(description="Whether to stay where the system was.")
    context: dict[str, Any]
    chances: dict[str, float]
    feasible: bool | None


class Suggestions(BaseModel):
    """As many as were asked for, or all that are out."""

    suggestions: list[Suggested]
    warnings: list[str] = []


class Told(BaseModel):
    """A reward is stored, and stays."""

    told: int
    pending: int
    repeated: bool = Field(description="Whether it had been told already under this key.")
    warnings: list[str]


class Cancelled(BaseModel):
    """Suggestions that were taken back."""

    cancelled: list[int]
    pending: int


class Done(BaseModel):
    """Counts after a change."""

    told: int
    pending: int


class Peak(BaseModel):
    """An estimated peak: mean, deviation and interval of the noiseless reward there."""

    time: Any
    parameters: dict[str, Any]
    mean: float | None
    deviation: float | None
    low: float | None
    high: float | None
    context: dict[str, Any]


class Band(BaseModel):
    """Between which values of a parameter the peak may lie."""

    low: float | None
    high: float | None


class Moved(BaseModel):
    """Where the peak was at one time."""

    time: Any
    parameters: dict[str, Any]
    mean: float | None
    deviation: float | None
    band: dict[str, Band]


class Track(BaseModel):
    """Where the peak was, in hindsight where the policy can look back."""

    peaks: list[Moved]


class Belief(BaseModel):
    """Of the noiseless reward, a number for each point."""

    points: list[dict[str, Any]] | None = Field(description="null: all of the space, in order.")
    mean: list[float | None]
    deviation: list[float | None]
    low: list[float | None]
    high: list[float | None]


class Chances(BaseModel):
    """With which probability limits are kept, a number for each point."""

    chances: dict[str, list[float | None]]


class Expected(BaseModel):
    """What had been foretold of a reward just before, its noise included; a band of 95 %."""

    mean: float | None
    deviation: float | None
    low: float | None
    high: float | None


class Reward(BaseModel):
    """One reward, as told."""

    number: int = Field(description="It counts all rewards ever told.")
    id: int | None
    time: Any
    parameters: dict[str, Any]
    reward: float | None
    expected: Expected | None
    noise: float | None
    trials: int | None
    context: dict[str, Any]
    constraints: dict[str, float]
    chances: dict[str, float]
    used: bool = Field(
        description="False: it is dated before an earlier forget, and the policy does not use it."
    )


class History(BaseModel):
    """Some rewards, in the order of telling; the newest 10,000 since the last reset are there."""

    rewards: list[Reward]
    next: int | None = Field(description="Give it as after= for those that follow; null: none.")
    told: int


class Calibrated(BaseModel):
    """How well rewards were foretold."""

    count: int
    log_likelihood: float | None
    coverage: dict[str, float | None]


class Foretold(BaseModel):
    """Rewards beside what had been foretold of each, in the order of telling."""

    rewards: list[Reward]
    calibration: Calibrated
    likelihood: str = Field(description="gaussian, bernoulli or poisson.")


class Diagnosis(BaseModel):
    """What the belief thinks, see driftpeak.live.Diagnostics and Violations."""

    diagnostics: dict[str, Any]
    calibration: Calibrated
    violations: dict[str, dict[str, Any]]


class Queries(BaseModel):
    """What the policy wants an expert to re-evaluate."""

    queries: list[dict[str, Any]]


class Results(BaseModel):
    """What a command wrote into the folder that is served."""

    summary: dict[str, Any] | None = Field(description="Its summary.json; null: there is none.")
    files: list[str] = Field(description="Pictures, the summary, the report.")
