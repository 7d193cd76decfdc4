"""Fleets that are served: batched asks and tells in JSON or Arrow, and a summary.

A fleet is created with `dp.Fleet(storage=...)` in the storage of the service. The service then
changes it; other processes may read it.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, Field, ValidationError

from driftpeak._core.errors import DriftpeakError, StorageError, StudyNotFoundError
from driftpeak.fleet import Fleet, Suggestions
from driftpeak.fleet._log import holds_study, is_fleet
from driftpeak.service._names import NAME, WORDS, is_name
from driftpeak.service._problems import ProblemError, documented, in_words
from driftpeak.service._schemas import Body, Number, Whole
from driftpeak.service._studies import Studies, Turns

Result = TypeVar("Result")
ARROW = "application/vnd.apache.arrow.stream"
SHOWN = 20
"""Number of members in each list of a summary."""
COMPARED = 1_000
"""Largest number of members that a summary compares: those with the most observations."""


class Ask(Body):
    """A request for one suggestion for each of some members."""

    members: list[Whole] | list[str] | None = Field(None, description="All members by default.")
    time: Number | list[Number] | None = Field(None, description="One time, or one for each.")
    context: Any = Field(None, description="One context, or one for each member.")


class Tell(Body):
    """Rewards of suggestions."""

    ids: list[Whole]
    rewards: list[Number | None]
    time: Number | list[Number] | None = None
    invalid: Literal["reject", "skip"] = "reject"


class Asked(BaseModel):
    """Suggestions in columns."""

    id: list[int]
    member: list[int] | list[str]
    choice: list[int]
    time: list[float]


class Told(BaseModel):
    """Which rows were used."""

    used: list[bool]


class Summary(BaseModel):
    """The members of a fleet, the fastest, and those that their forecasts describe worst."""

    name: str
    members: int
    observations: int
    policy: str
    share: str
    compared: int
    fastest: list[dict[str, Any]]
    worst: list[dict[str, Any]]


class OpenFleet(Turns):
    """An open fleet; one request at a time uses it."""

    fleet: Fleet | None = None


class Fleets:
    """The fleets of a service."""

    def __init__(self, studies: Studies) -> None:
        self._studies = studies
        self._open: dict[str, OpenFleet] = {}

    async def names(self) -> list[str]:
        """Return the names of all fleets."""
        return [name for name in await self._studies.names() if await self.has(name)]

    async def has(self, name: str) -> bool:
        """Return whether the storage has a fleet of this name."""
        return await self._studies.read(lambda: is_fleet(self._studies.place.store(name)))

    async def use(self, name: str, act: Callable[[Fleet], Result]) -> Result:
        """Run a function with a fleet, one at a time.

        Raises:
            StudyNotFoundError: there is no such fleet.
            ProblemError: too many requests wait for it.
        """
        missing = StudyNotFoundError(f"there is no fleet {name!r} here")
        if not is_name(name) or name not in await self._studies.names():
            raise missing
        opened, most = self._open.setdefault(name, OpenFleet()), self._studies.limits.waiting

        def run() -> Result:
            if opened.fleet is None:
                store = self._studies.place.store(name)
                if holds_study(store):
                    raise missing
                opened.fleet = Fleet.load(store)
            return act(opened.fleet)

        async with opened.turn(f"fleet {name!r}", most):
            try:
                return await self._studies.compute(run)
            except StorageError:  # read again by the next request
                opened.fleet = None
                raise


async def _fleets(request: Request) -> Fleets:
    fleets: Fleets = request.app.state.fleets
    return fleets


All = Annotated[Fleets, Depends(_fleets)]
Name = Annotated[str, Path(pattern=NAME, description=f"Name of the fleet: {WORDS}.")]
router = APIRouter(prefix="/api/fleets", responses=documented(400, 401, 403, 429, 500, 503))
OF_A_FLEET = documented(404, 422)
CHANGING = documented(404, 408, 413, 415, 422)


def _body(kind: type[Body]) -> dict[str, Any]:
    """Return the OpenAPI description of a body in JSON or Arrow."""
    content: dict[str, Any] = {"application/json": {"schema": kind.model_json_schema()}}
    content[ARROW] = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": True, "content": content}}


@router.get("")
async def list_fleets(fleets: All) -> dict[str, list[str]]:
    """List the names of all fleets."""
    return {"fleets": await fleets.names()}


@router.get("/{name}", response_model=Summary, responses=OF_A_FLEET)
async def describe_fleet(name: Name, fleets: All) -> Any:
    """Return counts, the fastest members, and those that their forecasts describe worst."""
    return {"name": name} | await fleets.use(name, _summary)


@router.get("/{name}/members/{member}", responses=OF_A_FLEET)
async def describe_member(name: Name, member: str, fleets: All) -> dict[str, Any]:
    """Return the estimates of one member at its newest time."""
    return await fleets.use(name, lambda fleet: _member(fleet, member))


@router.post("/{name}/ask", response_model=Asked, responses=CHANGING, openapi_extra=_body(Ask))
async def ask_members(name: Name, request: Request, fleets: All) -> Any:
    """Suggest an arm for each of some members; columns "member" and "time" in Arrow."""
    given = await _read(request, Ask)
    if isinstance(given, Ask):
        members, time, context = given.members, given.time, given.context
    else:
        columns = given.column_names
        members = given["member"] if "member" in columns else None
        time, context = given["time"] if "time" in columns else None, None
    found: Suggestions = await fleets.use(
        name, lambda fleet: fleet.ask(members, time=time, context=context)
    )
    if ARROW in request.headers.get("accept", ""):
        return Response(_written(found.to_arrow()), media_type=ARROW)
    return {
        "id": found.ids.tolist(),
        "member": found.members.tolist(),
        "choice": found.choices.tolist(),
        "time": found.times.tolist(),
    }


@router.post("/{name}/tell", response_model=Told, responses=CHANGING, openapi_extra=_body(Tell))
async def tell_members(name: Name, request: Request, fleets: All) -> Any:
    """Report rewards; columns "id", "reward" and optionally "time" in Arrow."""
    given = await _read(request, Tell)
    if isinstance(given, Tell):
        options: dict[str, Any] = {"time": given.time, "invalid": given.invalid}
        rows: tuple[Any, ...] = given.ids, given.rewards
    else:
        options, rows = {}, (given,)
    used = await fleets.use(name, lambda fleet: fleet.tell(*rows, **options))
    return {"used": used.tolist()}


async def _read(request: Request, kind: type[Body]) -> Any:
    """Return the body of a request: a model of JSON, or an Arrow table."""
    body = await request.body()
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == ARROW:
        pa = _arrow()
        try:
            return pa.ipc.open_stream(BytesIO(body)).read_all()
        except (pa.ArrowInvalid, OSError) as error:
            raise ProblemError("unreadable", f"the body must be an Arrow stream: {error}") from None
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        errors = [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]
        raise ProblemError("invalid", in_words(errors, kind.model_fields)) from None


def _arrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ModuleNotFoundError:
        raise ProblemError(
            "no-json", "Arrow needs the package pyarrow on the service. Send JSON instead"
        ) from None
    return pa


def _written(table: Any) -> bytes:
    pa, target = _arrow(), BytesIO()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    return target.getvalue()


def _summary(fleet: Fleet) -> dict[str, Any]:
    counts = fleet.observations
    some = fleet.members[np.argsort(-counts, kind="stable")[:COMPARED]]
    found = _diagnostics(fleet, some)
    return {
        "members": len(fleet),
        "observations": int(counts.sum()),
        "policy": type(fleet.policy).__name__,
        "share": fleet.share,
        "compared": len(some),
        "fastest": _largest(found, "drift"),
        "worst": _largest(found, "error"),
    }


def _diagnostics(fleet: Fleet, members: Any) -> dict[str, Any]:
    """Return the diagnostics of members, NaN for a policy that makes no predictions."""
    try:
        return fleet.diagnostics(members)
    except DriftpeakError:
        missing = np.full(len(members), np.nan)
        return {"member": members, "observations": missing, "drift": missing, "error": missing}


def _largest(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    values = found[name]
    order = np.argsort(-values, kind="stable")  # NaN last
    return [_plain(found, place) for place in order[:SHOWN].tolist() if np.isfinite(values[place])]


def _plain(found: dict[str, Any], place: int) -> dict[str, Any]:
    """Return the entries of one member in JSON-compatible data; None for NaN."""
    row = {name: np.asarray(column)[place] for name, column in found.items()}
    row = {name: x.item() if isinstance(x, np.generic) else x for name, x in row.items()}
    return {name: None if isinstance(x, float) and x != x else x for name, x in row.items()}


def _member(fleet: Fleet, text: str) -> dict[str, Any]:
    whole = fleet.members.dtype.kind == "i"
    known = set(map(str, fleet.members.tolist()))
    if text not in known:
        raise StudyNotFoundError(f"there is no member {text!r} in this fleet")
    member = [int(text) if whole else text]
    found = _plain(_diagnostics(fleet, np.array(member)), 0)
    try:
        mean, variance, noise = fleet.predict(member)
    except DriftpeakError:
        return found
    deviation = np.sqrt(np.maximum(variance[0], 0.0))
    return found | {
        "names": list(fleet.space.names),
        "mean": mean[0].tolist(),
        "deviation": deviation.tolist(),
        "noise": float(np.sqrt(noise[0])),
    }
