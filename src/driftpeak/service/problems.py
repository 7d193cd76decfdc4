"""Errors as RFC 9457 has them: `application/problem+json`, in the library's own words."""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field, JsonValue
from starlette.requests import Request
from starlette.responses import Response

from driftpeak._core.errors import (
    DriftpeakError,
    StorageCorruptError,
    StorageError,
    StorageLockedError,
    StudyMismatchError,
    StudyNotFoundError,
    error_classes,
)

MEDIA_TYPE = "application/problem+json"
BLANK = "about:blank"
NAMESPACE = "urn:driftpeak:problem:"
WAIT = {"Retry-After": "1"}  # seconds

# As RFC 9110 has them; Python's own table took them over in 3.13 only.
PHRASES = {413: "Content Too Large", 422: "Unprocessable Content"}

STATUSES: dict[type, int] = {
    DriftpeakError: 422,
    StudyNotFoundError: 404,
    StudyMismatchError: 409,
    StorageError: 503,
    StorageCorruptError: 500,  # to try again is of no use
}
"""Of the library's errors; a class that is missing has the status of its base class."""

OWN = {
    "another-origin": 403,
    "busy": 503,
    "invalid": 422,
    "mistake": 500,
    "no-json": 415,
    "token-needed": 401,
    "too-long": 413,
    "too-many-requests": 429,
    "too-many-studies": 403,
    "too-slow": 408,
    "unfinished": 400,
    "unknown-file": 404,
    "unknown-host": 403,
    "unknown-method": 405,
    "unknown-path": 404,
    "unreadable": 400,
}
"""Codes of problems that the library has no class for, with their statuses."""

CODES: list[JsonValue] = [*sorted({*error_classes(), *OWN})]


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(
        BLANK,
        description=f"{NAMESPACE}CODE for an error of the library. Otherwise {BLANK}: the title "
        "says what the status means.",
    )
    title: str = Field(description="The kind of problem.")
    status: int
    detail: str = Field(description="What is wrong, what is accepted, and what to do.")
    code: str = Field(
        description="The kind of problem, for programs.", json_schema_extra={"enum": CODES}
    )


class ProblemError(Exception):
    """A request is refused for a reason that the library has no class for.

    Arguments:
        code: a key of `OWN`.
        detail: what is wrong and what to do.
        headers: of the answer.
        status: of the answer; by default that of the code.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        headers: dict[str, str] | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.code, self.headers = code, headers or {}
        self.status = OWN[code] if status is None else status

    def response(self) -> Response:
        """Return the answer."""
        content = _content(BLANK, _phrase(self.status), self.status, str(self), self.code)
        return _written(content, self.headers)


def problem_content(error: DriftpeakError) -> dict[str, Any]:
    """Return an error of the library as data.

    The error counts as one of the nearest class that this version of the library has.
    """
    known = error_classes().values()
    above = (one for one in type(error).__mro__ if issubclass(one, DriftpeakError))
    kind = next(one for one in above if one in known)
    status = next(STATUSES[one] for one in kind.__mro__ if one in STATUSES)
    title = (kind.__doc__ or _phrase(status)).partition(".")[0]
    return _content(NAMESPACE + kind.code, title, status, str(error), kind.code)


async def show_problem(_: Request, error: Exception) -> Response:
    """Answer a request that is refused."""
    if isinstance(error, ProblemError):
        return error.response()
    assert isinstance(error, DriftpeakError)
    headers = WAIT if isinstance(error, StorageLockedError) else {}
    return _written(problem_content(error), headers)


def _written(content: dict[str, Any], headers: dict[str, str]) -> Response:
    return Response(json.dumps(content), content["status"], headers, media_type=MEDIA_TYPE)


def _content(kind: str, title: str, status: int, detail: str, code: str) -> dict[str, Any]:
    return {"type": kind, "title": title, "status": status, "detail": detail, "code": code}


def _phrase(status: int) -> str:
    return PHRASES.get(status) or HTTPStatus(status).phrase


def in_words(errors: Sequence[Any]) -> str:
    """What pydantic found wrong with a request, without what was given."""
    said = []
    for one in errors[:5]:
        where = ".".join(str(part) for part in one["loc"][1:]) or "the request"
        said.append(f"{where}: {one['msg']}")
    return "; ".join(said)


DESCRIPTIONS = {
    400: "The request cannot be read.",
    401: "A token is needed, or it is another one.",
    403: "Refused: a host or a page that is not served, or a limit is reached.",
    404: "There is no such study, file or path.",
    405: "Nothing is done in this way here.",
    408: "The request did not arrive in time.",
    409: "There is another study of this name.",
    413: "The request is too long.",
    415: "The request is no JSON.",
    422: "The library refuses it, or something is missing or misspelt; nothing has changed.",
    429: "Too many requests: wait.",
    500: "A mistake of the service, or stored data are corrupt.",
    503: "Too busy, or the storage is locked or cannot be read or written now.",
}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Answers of a route for OpenAPI."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {
            "description": DESCRIPTIONS[status],
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status in statuses
    }
