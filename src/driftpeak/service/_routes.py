"""The routes of the service. Each reads a request, calls the library, and returns data."""

import json
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from driftpeak._core.errors import LARGEST_WHOLE, DriftpeakError, rejected
from driftpeak.live import Optimizer
from driftpeak.live._optimizer import ARGUMENTS, OPTIONS
from driftpeak.live._views.diagnostics import calibration
from driftpeak.service import _schemas as bodies
from driftpeak.service._create import make_optimizer
from driftpeak.service._json_values import read_moment
from driftpeak.service._names import NAME, WORDS
from driftpeak.service._problems import ProblemError, documented
from driftpeak.service._rewards import (
    kind_of,
    likelihood_of,
    rewards_to_data,
)
from driftpeak.service._stream import messages
from driftpeak.service._studies import OpenStudy, Studies
from driftpeak.service._study_index import StudyIndex
from driftpeak.service._track import track

MOST_ROWS = 1_000  # in a page of history
MOST_MOMENTS = 200  # times of estimated peaks

router = APIRouter(prefix="/api", responses=documented(400, 401, 403, 429, 500, 503))
OF_A_STUDY = documented(404, 422)
CHANGING = documented(404, 408, 413, 415, 422)


async def _studies(request: Request) -> Studies:  # async: otherwise each call needs a thread
    studies: Studies = request.app.state.studies
    return studies


async def _context(
    context: Annotated[
        str | None,
        Query(max_length=10_000, description='The context as JSON, such as {"load": 0.5}.'),
    ] = None,
) -> dict[str, Any] | None:
    if context is None:
        return None
    try:
        values = json.loads(context)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise rejected("context", context, 'be a JSON object such as {"load": 0.5}')
    return values


All = Annotated[Studies, Depends(_studies)]
Name = Annotated[str, Path(pattern=NAME, description=f"Name of the study: {WORDS}.")]
Context = Annotated[dict[str, Any] | None, Depends(_context)]
When = Annotated[str | None, Query(max_length=100, description=f"{bodies.MOMENT}.")]
After = Annotated[
    int, Query(ge=0, le=LARGEST_WHOLE, description="Return only rewards with larger numbers.")
]
Rows = Annotated[int, Query(ge=1, le=MOST_ROWS, description="Maximum number of rewards.")]


# studies


@router.get("/studies", response_model=bodies.StudyList)
async def list_studies(studies: All, request: Request) -> Any:
    """List all studies."""
    fleets = request.app.state.fleets
    summaries = []
    for name in await studies.names():
        try:
            study = await studies.open(name)
            summaries.append(await studies.read_of(study, partial(_summary, study)))
        except (DriftpeakError, ProblemError) as error:  # the other studies are listed all the same
            if await fleets.has(name):
                continue
            nothing = dict.fromkeys(("policy", "told", "pending", "latest"))
            summaries.append({"name": name, "problem": str(error), **nothing})
    return {"studies": summaries}


@router.post(
    "/studies",
    response_model=bodies.Description,
    status_code=201,
    responses={
        200: {"model": bodies.Description, "description": "An equal study exists already."},
        **documented(408, 409, 413, 415, 422),
    },
)
async def create_study(new: bodies.New, studies: All, response: Response) -> Any:
    """Create a study, or check that the existing study has equal arguments."""
    made = await studies.create(new.name, lambda store: make_optimizer(new, store, studies.limits))
    response.status_code = 201 if made else 200
    study = await studies.open(new.name)
    return await studies.read_of(study, lambda: _description(study))


@router.get("/studies/{name}", response_model=bodies.Description, responses=OF_A_STUDY)
async def describe_study(name: Name, studies: All) -> Any:
    """Return the arguments of a study, and its counts."""
    study = await studies.open(name)
    return await studies.read_of(study, lambda: _description(study))


@router.delete("/studies/{name}", response_model=bodies.Deleted, responses=OF_A_STUDY)
async def delete_study(
    name: Name,
    studies: All,
    confirm: Annotated[str, Query(max_length=100, description="The name of the study again.")],
) -> Any:
    """Delete a study with all its rewards; this cannot be undone."""
    _confirmed(confirm, name)
    await studies.delete(name)
    return {"deleted": name}


# suggestions and rewards


@router.post("/studies/{name}/ask", response_model=bodies.Suggestions, responses=CHANGING)
async def ask(name: Name, body: bodies.Ask, studies: All) -> Any:
    """Suggest settings to evaluate next. They are pending until they are reported or cancelled."""
    time = read_moment(body.time)
    done = await studies.change(
        name,
        lambda optimizer: optimizer.ask(time, body.count, context=body.context, fixed=body.fixed),
    )
    return {"suggestions": list(map(vars, done.result)), "warnings": done.warnings}


@router.post("/studies/{name}/tell", response_model=bodies.Told, responses=CHANGING)
async def tell(
    name: Name,
    body: bodies.Tell,
    studies: All,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            max_length=200,
            description="A unique key of this reward; a repeated report with it counts once.",
        ),
    ] = None,
) -> Any:
    """Report the reward of a suggestion or of another setting. It is on disk after the answer."""
    if (body.suggestion is None) == (body.setting is None):
        raise DriftpeakError(
            "exactly one of suggestion, an id, and setting, the parameters, is required"
        )
    arguments = dict(body) | {"time": read_moment(body.time), "key": key}
    suggestion, setting = arguments.pop("suggestion"), arguments.pop("setting")
    target: Any = suggestion if setting is None else setting
    done = await studies.change(name, lambda optimizer: optimizer.tell(target, **arguments))
    outcome = {"repeated": not done.told, "warnings": done.warnings}
    return done.counts._asdict() | outcome


@router.post("/studies/{name}/cancel", response_model=bodies.Cancelled, responses=CHANGING)
async def cancel(name: Name, body: bodies.Cancel, studies: All) -> Any:
    """Cancel pending suggestions whose rewards will not be reported."""
    if (body.suggestion is None) == (not body.all):
        raise DriftpeakError("exactly one of suggestion, an id, and all: true is required")

    def act(optimizer: Optimizer) -> list[int]:
        number = body.suggestion
        pending = optimizer.pending()
        cancelled = [suggestion.id for suggestion in pending] if number is None else [number]
        for suggestion in cancelled:
            optimizer.cancel(suggestion)
        return cancelled

    done = await studies.change(name, act)
    return {"cancelled": done.result, "pending": done.counts.pending}


@router.get("/studies/{name}/pending", response_model=bodies.Suggestions, responses=OF_A_STUDY)
async def pending(name: Name, studies: All) -> Any:
    """Return the pending suggestions, oldest first."""
    study = await studies.open(name)
    suggestions = await studies.read_of(study, study.index.pending)
    return {"suggestions": list(map(vars, suggestions))}


@router.post("/studies/{name}/forget", response_model=bodies.Done, responses=CHANGING)
async def forget(name: Name, body: bodies.Forget, studies: All) -> Any:
    """Discard observations after a change of the system; learned hyperparameters are kept."""
    _confirmed(body.confirm, name)
    before = read_moment(body.before)
    return (await studies.change(name, lambda optimizer: optimizer.forget(before))).counts


@router.post("/studies/{name}/reset", response_model=bodies.Done, responses=CHANGING)
async def reset(name: Name, body: bodies.Confirmed, studies: All) -> Any:
    """Restart without observations; the numbering of suggestions and the keys are kept."""
    _confirmed(body.confirm, name)
    return (await studies.change(name, lambda optimizer: optimizer.reset())).counts


# the posterior


@router.get("/studies/{name}/best", response_model=bodies.Peak, responses=OF_A_STUDY)
async def best(name: Name, studies: All, context: Context, time: When = None) -> Any:
    """Return the estimated peak at a past or future time, by default the latest time."""
    moment = read_moment(time)

    def act(optimizer: Optimizer) -> dict[str, Any]:
        peak = optimizer.best(moment, context=context)
        (low,), (high,) = optimizer.interval([peak], moment, context=context)
        return vars(peak) | {"low": low, "high": high}

    return await studies.look(name, act)


@router.post("/studies/{name}/belief", response_model=bodies.Belief, responses=CHANGING)
async def belief(name: Name, body: bodies.Look, studies: All) -> Any:
    """Return mean, standard deviation and intervals of the noiseless reward at some settings."""
    time = read_moment(body.time)

    def act(optimizer: Optimizer) -> dict[str, Any]:
        mean, deviation = optimizer.belief(body.points, time, context=body.context)
        low, high = optimizer.interval(body.points, time, level=body.level, context=body.context)
        return {"mean": mean, "deviation": deviation, "low": low, "high": high}

    return {"points": body.points, **await studies.look(name, act)}


@router.post("/studies/{name}/chances", response_model=bodies.Chances, responses=CHANGING)
async def chances(name: Name, body: bodies.Look, studies: All) -> Any:
    """Return the probability of meeting each limit at some settings."""
    time, points = read_moment(body.time), body.points
    if points is None:
        raise DriftpeakError("points, the settings to evaluate, is required")
    probabilities = await studies.look(
        name, lambda optimizer: optimizer.chances(points, time, context=body.context)
    )
    return {"chances": probabilities}


@router.get("/studies/{name}/peaks", response_model=bodies.Track, responses=OF_A_STUDY)
async def peaks(
    name: Name,
    studies: All,
    context: Context,
    start: When = None,
    end: When = None,
    count: Annotated[int, Query(ge=1, le=MOST_MOMENTS, description="Number of times.")] = 40,
) -> Any:
    """Return estimated peaks at times from `start` to `end`; by default over the history."""
    ends = read_moment(start), read_moment(end)
    estimates = await studies.look(name, lambda optimizer: track(optimizer, *ends, count, context))
    return {"peaks": estimates}


@router.get("/studies/{name}/diagnostics", response_model=bodies.Diagnosis, responses=OF_A_STUDY)
async def diagnostics(name: Name, studies: All, time: When = None) -> Any:
    """Return the model's memory, drift, period and noise, its calibration, and limit violations."""
    moment = read_moment(time)

    def act(optimizer: Optimizer) -> dict[str, Any]:
        violations = optimizer.violations()
        return {
            "diagnostics": asdict(optimizer.diagnostics(moment)),
            "calibration": optimizer.calibration(),
            "violations": {limit: asdict(counts) for limit, counts in violations.items()},
        }

    return await studies.look(name, act)


@router.get("/studies/{name}/side-queries", response_model=bodies.Queries, responses=OF_A_STUDY)
async def side_queries(name: Name, studies: All, time: When = None) -> Any:
    """Return the policy's side queries, to be answered before the next ask at that time."""
    moment = read_moment(time)
    return {"queries": await studies.look(name, lambda it: it.side_queries(moment))}


@router.post("/studies/{name}/answer", response_model=bodies.Done, responses=CHANGING)
async def answer(name: Name, body: bodies.Answer, studies: All) -> Any:
    """Report an expert's answers to side queries; null if there is no answer."""
    time = read_moment(body.time)
    done = await studies.change(
        name, lambda optimizer: optimizer.answer(body.queries, body.answers, time)
    )
    return done.counts


# the history


@router.get("/studies/{name}/history", response_model=bodies.History, responses=OF_A_STUDY)
async def history(name: Name, studies: All, after: After = 0, limit: Rows = 100) -> Any:
    """Return a page of rewards, in the order of their reports."""
    study = await studies.open(name)
    return await studies.read_of(study, lambda: _page(study.index, after, limit))


@router.get("/studies/{name}/predictions", response_model=bodies.Predictions, responses=OF_A_STUDY)
async def predictions(name: Name, studies: All, after: After = 0, limit: Rows = MOST_ROWS) -> Any:
    """Return the newest rewards with their one-step forecasts, and the forecasts' calibration."""
    study = await studies.open(name)

    def act() -> dict[str, Any]:
        index = study.index
        rewards, _ = index.history(after, 10_000)
        kind = kind_of(index.description)
        observations = [observation for _, observation in rewards]
        return {
            "rewards": rewards_to_data(rewards[-limit:], kind),
            "calibration": calibration(observations, kind),
            "likelihood": likelihood_of(index.description),
        }

    return await studies.read_of(study, act)


@router.get(
    "/studies/{name}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
            "description": "Server-sent events: `change`, with the counts of the study.",
        },
        **OF_A_STUDY,
    },
)
async def events(name: Name, studies: All, request: Request) -> StreamingResponse:
    """Stream a message after each change, also by other processes, and comments in between."""
    study = await studies.open(name)
    if studies.streams >= studies.limits.streams:
        raise ProblemError("busy", f"{studies.streams} event streams are open; close some")
    return StreamingResponse(messages(studies, study, request), media_type="text/event-stream")


def _summary(study: OpenStudy) -> dict[str, Any]:
    counts, policy = study.index.counts(), study.index.description["policy"]
    return {
        "name": study.name,
        "policy": next(iter(policy), None) if isinstance(policy, dict) else None,
        **counts._asdict(),
    }


def _description(study: OpenStudy) -> dict[str, Any]:
    stored, counts = study.index.description, study.index.counts()
    return {
        "name": study.name,
        **{key: stored[key] for key in (*ARGUMENTS, "policy")},
        "options": {key: stored[key] for key in OPTIONS if key in stored},
        **counts._asdict(),
    }


def _page(index: StudyIndex, after: int, limit: int) -> dict[str, Any]:
    rewards, counts = index.history(after, limit)
    newest = rewards[-1][0] if rewards else counts.ever
    return {
        "rewards": rewards_to_data(rewards, kind_of(index.description)),
        "next": newest if newest < counts.ever else None,
        "told": counts.told,
    }


def _confirmed(given: str, name: str) -> None:
    if given != name:
        raise DriftpeakError(
            f'confirm must be the name of the study, "{name}", because this cannot be undone'
        )
