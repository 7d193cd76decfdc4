"""Errors in the format of RFC 9457, `application/problem+json`, with the library's messages."""

import json
import re
from collections.abc import Collection, Sequence
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
    nearest,
)

MEDIA_TYPE = "application/problem+json"
BLANK = "about:blank"
NAMESPACE = "urn:driftpeak:problem:"
WAIT = {"Retry-After": "1"}  # seconds

# The phrases of RFC 9110, which Python has from 3.13 on.
PHRASES = {413: "Content Too Large", 422: "Unprocessable Content"}

STATUSES: dict[type, int] = {
    DriftpeakError: 422,
    StudyNotFoundError: 404,
    StudyMismatchError: 409,
    StorageError: 503,
    StorageCorruptError: 500,  # a retry cannot succeed
}
"""Statuses of the library's errors; a class that is missing has the status of its base class."""

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
"""Codes and statuses of problems for which the library has no class."""

CODES: list[JsonValue] = [*sorted({*error_classes(), *OWN})]


class Problem(BaseModel):
    """The description of an error (RFC 9457)."""

    type: str = Field(
        BLANK,
        description=f"{NAMESPACE}CODE for an error of the library. Otherwise {BLANK}: the title "
        "describes the status.",
    )
    title: str = Field(description="The type of error.")
    status: int
    detail: str = Field(description="The error, the accepted values, and the remedy.")
    code: str = Field(
        description="The type of error, for programs.", json_schema_extra={"enum": CODES}
    )


class ProblemError(Exception):
    """An error of a request for which the library has no class.

    Arguments:
        code: a key of `OWN`.
        detail: the error and the remedy.
        headers: additional headers of the answer.
        status: the status of the answer; by default the status of the code.
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
        """Return the HTTP answer."""
        content = _content(BLANK, _phrase(self.status), self.status, str(self), self.code)
        return _written(content, self.headers)


def problem_content(error: DriftpeakError) -> dict[str, Any]:
    """Return an error of the library as data.

    An unknown subclass is reported as its nearest base class in this version of the library.
    """
    known = error_classes().values()
    bases = (base for base in type(error).__mro__ if issubclass(base, DriftpeakError))
    kind = next(base for base in bases if base in known)
    status = next(STATUSES[base] for base in kind.__mro__ if base in STATUSES)
    title = (kind.__doc__ or _phrase(status)).partition(".")[0]
    return _content(NAMESPACE + kind.code, title, status, str(error), kind.code)


async def show_problem(_: Request, error: Exception) -> Response:
    """Return the HTTP answer for an error."""
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


ACCEPTED = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "above {gt:g}",
    "greater_than_equal": "at least {ge}",
    "int_parsing": "an integer",
    "int_type": "an integer",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "model_attributes_type": "an object",
    "string_pattern_mismatch": "text of the form {pattern}",
    "string_too_long": "text of at most {max_length} characters",
    "string_too_short": "text of at least {min_length} character",
    "string_type": "text",
    "too_long": "a list of at most {max_length} entries",
}
"""Accepted values by pydantic's type of an error."""
BRANCH = re.compile(r"bool|int|float|str|list|dict|none|nullable|.*[\[(].*|constrained-.*", re.I)
"""Names of a union's members, at the end of the place of an error."""


def in_words(errors: Sequence[Any], fields: Collection[str] = ()) -> str:
    """Return pydantic's errors about a request as text, without the request's values.

    Arguments:
        errors: the errors.
        fields: names of the fields of the request's body, for messages about unknown fields.
    """
    by_field: dict[str, list[str]] = {}
    for error in errors:
        kind, (_, *place) = error["type"], error["loc"]
        if kind == "json_invalid":
            at = f" at character {place[0]}" if place else ""
            return f"the body must be JSON; it cannot be read{at}"
        while place and isinstance(place[-1], str) and BRANCH.fullmatch(place[-1]):
            place.pop()
        words = "is required" if kind == "missing" else "is not a field of this request"
        if kind == "extra_forbidden" and len(place) == 1 and fields:
            words += f", which has {', '.join(fields)}.{nearest(str(place[0]), fields)}"
        if kind not in ("missing", "extra_forbidden"):
            accepted = ACCEPTED.get(kind)
            known = accepted and accepted.format(**error.get("ctx", {}))
            words = f"must be {known or 'valid: ' + error['msg']}"
        by_field.setdefault(".".join(map(str, place)) or "the body", []).append(words)
    return "; ".join(_sentence(*field) for field in list(by_field.items())[:5])


def _sentence(where: str, words: list[str]) -> str:
    """Return the errors of a field, whose type may have several alternatives."""
    first, *rest = dict.fromkeys(words)
    return " or ".join([f"{where} {first}", *(other.removeprefix("must be ") for other in rest)])


DESCRIPTIONS = {
    400: "The request cannot be read.",
    401: "The token is missing or wrong.",
    403: "The host or the origin is not accepted, or a limit is reached.",
    404: "The study, file or path does not exist.",
    405: "The path does not support this method.",
    408: "The request did not arrive in time.",
    409: "Another study has this name.",
    413: "The request is too long.",
    415: "The request is not JSON.",
    422: "The library refuses the request, or a field is missing or unknown; nothing was changed.",
    429: "Too many requests; try again later.",
    500: "An internal error of the service, or stored data are corrupt.",
    503: "The service is too busy, or the storage is locked or cannot be read or written now.",
}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route for OpenAPI."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {
            "description": DESCRIPTIONS[status],
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status in statuses
    }
