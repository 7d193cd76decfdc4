"""The routes of the service. Each reads a request, calls the library, and answers with data."""

import json
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from driftpeak._core.errors import LARGEST_WHOLE, DriftpeakError, shown
from driftpeak.live import Optimizer, Suggestion
from driftpeak.live.views.diagnostics import calibration
from driftpeak.service import schemas as bodies
from driftpeak.service.create import make_optimizer
from driftpeak.service.json_values import plain, read_moment
from driftpeak.service.names import NAME, WORDS
from driftpeak.service.problems import ProblemError, documented
from driftpeak.service.rewards import (
    calibration_to_data,
    kind_of,
    likelihood_of,
    rewards_to_data,
)
from driftpeak.service.stream import messages
from driftpeak.service.studies import Kept, Studies
from driftpeak.service.study_index import Books, Counts
from driftpeak.service.track import track

MOST_ROWS = 1_000  # of a page of history
MOST_MOMENTS = 200  # of a track
HEAD = {"format", "version", "name", "id", "space", "maximize", "policy", "seed", "horizon"}

router = APIRouter(prefix="/api", responses=documented(400, 401, 403, 429, 500, 503))
OF_A_STUDY = documented(404, 422)
CHANGING = documented(404, 408, 413, 415, 422)


async def _studies(request: Request) -> Studies:  # what is not async takes a thread each time
    found: Studies = request.app.state.studies
    return found


async def _name(
    name: Annotated[str, Path(pattern=NAME, description=f"Of the study: {WORDS}.")],
) -> str:
    return name


async def _context(
    context: Annotated[
        str | None,
        Query(max_length=10_000, description='What the world says, as JSON: {"load": 0.5}.'),
    ] = None,
) -> dict[str, Any] | None:
    if context is None:
        return None
    try:
        found = json.loads(context)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DriftpeakError(f'context must be JSON as {{"load": 0.5}}; got {shown(context)}')
    return found


All = Annotated[Studies, Depends(_studies)]
Name = Annotated[str, Depends(_name)]
Context = Annotated[dict[str, Any] | None, Depends(_context)]
When = Annotated[str | None, Query(max_length=100, description=f"{bodies.MOMENT}.")]
After = Annotated[
    int, Query(ge=0, le=LARGEST_WHOLE, description="Rewards with larger numbers only.")
]
Rows = Annotated[int, Query(ge=1, le=MOST_ROWS, description="How many at most.")]


# studies


@router.get("/studies", response_model=bodies.StudyList)
async def list_studies(studies: All) -> Any:
    """All studies."""
    found = []
    for name in await studies.names():
        try:
            kept = await studies.kept(name)
            found.append(await studies.read_of(kept, partial(_summary, kept)))
        except (DriftpeakError, ProblemError) as error:  # the others are still there
            nothing = dict.fromkeys(("policy", "told", "pending", "latest"))
            found.append({"name": name, "problem": str(error), **nothing})
    return {"studies": found}


@router.post(
    "/studies",
    response_model=bodies.Description,
    status_code=201,
    responses={
        200: {"model": bodies.Description, "description": "There is just such a one already."},
        **documented(408, 409, 413, 415, 422),
    },
)
async def create_study(new: bodies.New, studies: All, response: Response) -> Any:
    """Begin a study, or check that there is just such a one already."""
    made = await studies.create(new.name, lambda store: make_optimizer(new, store, studies.limits))
    response.status_code = 201 if made else 200
    kept = await studies.kept(new.name)
    return await studies.read_of(kept, lambda: _description(kept))


@router.get("/studies/{name}", response_model=bodies.Description, responses=OF_A_STUDY)
async def describe_study(name: Name, studies: All) -> Any:
    """What a study was made of, and how far it is."""
    kept = await studies.kept(name)
    return await studies.read_of(kept, lambda: _description(kept))


# asking and telling


@router.post("/studies/{name}/ask", response_model=bodies.Suggestions, responses=CHANGING)
async def ask(name: Name, body: bodies.Ask, studies: All) -> Any:
    """Where to sample next. The suggestions are out until they are told or cancelled."""
    time = read_moment(body.time)
    done = await studies.change(name, lambda one: one.ask(time, body.count, context=body.context))
    return {"suggestions": [_suggestion(one) for one in done.result], "warnings": done.warnings}


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
            description="Your own name for this reward: told again under it, it is not doubled.",
        ),
    ] = None,
) -> Any:
    """What a suggestion or another setting brought. It is on disk when this is answered."""
    if (body.suggestion is None) == (body.setting is None):
        raise DriftpeakError("give suggestion, the number of one, or setting, the parameters")
    setting: Any = body.suggestion if body.setting is None else body.setting
    time = read_moment(body.time)

    def act(optimizer: Optimizer) -> None:
        optimizer.tell(
            setting,
            body.reward,
            time,
            actual=body.actual,
            noise=body.noise,
            context=body.context,
            constraints=body.constraints,
            trials=body.trials,
            key=key,
        )

    done = await studies.change(name, act)
    counts = _left(done.counts)
    return {**counts, "repeated": not done.told, "warnings": done.warnings}


@router.post("/studies/{name}/cancel", response_model=bodies.Cancelled, responses=CHANGING)
async def cancel(name: Name, body: bodies.Cancel, studies: All) -> Any:
    """Suggestions that will never be told: they no longer count as pending."""
    if (body.suggestion is None) == (not body.all):
        raise DriftpeakError("give suggestion, the number of one, or all: true")

    def act(optimizer: Optimizer) -> list[int]:
        number = body.suggestion
        taken = [one.id for one in optimizer.pending()] if number is None else [number]
        for one in taken:
            optimizer.cancel(one)
        return taken

    done = await studies.change(name, act)
    return {"cancelled": done.result, "pending": done.counts.pending}


@router.get("/studies/{name}/pending", response_model=bodies.Suggestions, responses=OF_A_STUDY)
async def pending(name: Name, studies: All) -> Any:
    """The suggestions that are out and not yet told, oldest first."""
    kept = await studies.kept(name)
    return {"suggestions": plain(await studies.read_of(kept, kept.books.pending))}


@router.post("/studies/{name}/forget", response_model=bodies.Done, responses=CHANGING)
async def forget(name: Name, body: bodies.Forget, studies: All) -> Any:
    """The system has changed: believe no longer what was observed. What was learned stays."""
    _confirmed(body, name)
    before = read_moment(body.before)
    return _left((await studies.change(name, lambda one: one.forget(before))).counts)


@router.post("/studies/{name}/reset", response_model=bodies.Done, responses=CHANGING)
async def reset(name: Name, body: bodies.Confirmed, studies: All) -> Any:
    """Start again from nothing; only the numbers of suggestions, and keys, go on."""
    _confirmed(body, name)
    return _left((await studies.change(name, lambda one: one.reset())).counts)


# what is believed


@router.get("/studies/{name}/best", response_model=bodies.Peak, responses=OF_A_STUDY)
async def best(name: Name, studies: All, context: Context, time: When = None) -> Any:
    """The estimated peak, by default at the latest time seen; `time` may be to come."""
    moment = read_moment(time)

    def act(optimizer: Optimizer) -> dict[str, Any]:
        found = optimizer.best(moment, context=context)
        low, high = optimizer.interval([dict(found)], moment, context=context)
        return {
            "time": found.time,
            "parameters": dict(found),
            "mean": found.mean,
            "deviation": found.deviation,
            "low": low[0],
            "high": high[0],
            "context": found.context,
        }

    return plain(await studies.look(name, act))


@router.post("/studies/{name}/belief", response_model=bodies.Belief, responses=CHANGING)
async def belief(name: Name, body: bodies.Look, studies: All) -> Any:
    """What is believed of some settings at a time: nothing is changed."""
    time = read_moment(body.time)

    def act(optimizer: Optimizer) -> dict[str, Any]:
        mean, deviation = optimizer.belief(body.points, time, context=body.context)
        low, high = optimizer.interval(body.points, time, level=body.level, context=body.context)
        return {"mean": mean, "deviation": deviation, "low": low, "high": high}

    return {"points": body.points, **plain(await studies.look(name, act))}


@router.post("/studies/{name}/chances", response_model=bodies.Chances, responses=CHANGING)
async def chances(name: Name, body: bodies.Look, studies: All) -> Any:
    """How probably limits are kept at some settings: nothing is changed."""
    time, points = read_moment(body.time), body.points
    if points is None:
        raise DriftpeakError("give points, the settings to look at")
    found = await studies.look(name, lambda one: one.chances(points, time, context=body.context))
    return {"chances": plain(found)}


@router.get("/studies/{name}/peaks", response_model=bodies.Track, responses=OF_A_STUDY)
async def peaks(
    name: Name,
    studies: All,
    context: Context,
    start: When = None,
    end: When = None,
    count: Annotated[int, Query(ge=1, le=MOST_MOMENTS, description="Of times.")] = 40,
) -> Any:
    """Where the peak was, at times from `start` to `end`; by default over the history."""
    ends = read_moment(start), read_moment(end)
    found = await studies.look(name, lambda one: track(one, *ends, count, context))
    return {"peaks": plain(found)}


@router.get("/studies/{name}/diagnostics", response_model=bodies.Diagnosis, responses=OF_A_STUDY)
async def diagnostics(name: Name, studies: All, time: When = None) -> Any:
    """Memory, drift, rhythm and noise, as is believed; how well it foretells, and keeps limits."""
    moment = read_moment(time)

    def act(optimizer: Optimizer) -> dict[str, Any]:
        found = optimizer.violations()
        return {
            "diagnostics": asdict(optimizer.diagnostics(moment)),
            "calibration": calibration_to_data(optimizer.calibration()),
            "violations": {limit: asdict(one) for limit, one in found.items()},
        }

    return plain(await studies.look(name, act))


@router.get("/studies/{name}/side-queries", response_model=bodies.Queries, responses=OF_A_STUDY)
async def side_queries(name: Name, studies: All, time: When = None) -> Any:
    """What the policy wants an expert to re-evaluate before the next ask at that time."""
    moment = read_moment(time)
    return {"queries": plain(await studies.look(name, lambda one: one.side_queries(moment)))}


@router.post("/studies/{name}/answer", response_model=bodies.Done, responses=CHANGING)
async def answer(name: Name, body: bodies.Answer, studies: All) -> Any:
    """An expert's answers to side queries; null where it has none."""
    time = read_moment(body.time)
    done = await studies.change(name, lambda one: one.answer(body.queries, body.answers, time))
    return _left(done.counts)


# what happened


@router.get("/studies/{name}/history", response_model=bodies.History, responses=OF_A_STUDY)
async def history(name: Name, studies: All, after: After = 0, limit: Rows = 100) -> Any:
    """Rewards in the order of telling, a page at a time."""
    kept = await studies.kept(name)
    return plain(await studies.read_of(kept, lambda: _page(kept.books, after, limit)))


@router.get("/studies/{name}/foretold", response_model=bodies.Foretold, responses=OF_A_STUDY)
async def foretold(name: Name, studies: All, after: After = 0, limit: Rows = MOST_ROWS) -> Any:
    """The newest rewards, beside what had been foretold of each, and how often that was right."""
    kept = await studies.kept(name)

    def act() -> dict[str, Any]:
        books = kept.books
        found, _ = books.history(after, 10_000)
        kind = kind_of(books.description)
        return {
            "rewards": rewards_to_data(found[-limit:], kind),
            "calibration": calibration_to_data(calibration([one for _, one in found], kind)),
            "likelihood": likelihood_of(books.description),
        }

    return plain(await studies.read_of(kept, act))


@router.get(
    "/studies/{name}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
            "description": "Server-sent events: `change` with the counts of the study.",
        },
        **OF_A_STUDY,
    },
)
async def events(name: Name, studies: All, request: Request) -> StreamingResponse:
    """A message after each change, also by other processes, and now and then a comment."""
    kept = await studies.kept(name)
    if studies.streams >= studies.limits.streams:
        raise ProblemError("busy", f"{studies.streams} streams are open: close some")
    return StreamingResponse(messages(studies, kept, request), media_type="text/event-stream")


def _summary(kept: Kept) -> dict[str, Any]:
    counts, policy = kept.books.counts(), kept.books.description["policy"]
    return {
        "name": kept.name,
        "policy": next(iter(policy), None) if isinstance(policy, dict) else None,
        **_left(counts),
        "latest": plain(counts.latest),
    }


def _description(kept: Kept) -> dict[str, Any]:
    found, counts = kept.books.description, kept.books.counts()
    return {
        "name": kept.name,
        **{key: found[key] for key in ("space", "maximize", "policy", "seed", "horizon")},
        "options": {key: value for key, value in found.items() if key not in HEAD},
        **plain(counts._asdict()),
    }


def _page(books: Books, after: int, limit: int) -> dict[str, Any]:
    found, counts = books.history(after, limit)
    newest = found[-1][0] if found else counts.ever
    return {
        "rewards": rewards_to_data(found, kind_of(books.description)),
        "next": newest if newest < counts.ever else None,
        "told": counts.told,
    }


def _suggestion(one: Suggestion) -> dict[str, Any]:
    return {
        "id": one.id,
        "time": plain(one.time),
        "parameters": dict(one),
        "hold": one.hold,
        "context": one.context,
        "chances": one.chances,
        "feasible": one.feasible,
    }


def _left(counts: Counts) -> dict[str, int]:
    return {"told": counts.told, "pending": counts.pending}


def _confirmed(body: bodies.Confirmed, name: str) -> None:
    if body.confirm != name:
        raise DriftpeakError(
            f'this cannot be undone: give the name of the study, "confirm": "{name}"'
        )
