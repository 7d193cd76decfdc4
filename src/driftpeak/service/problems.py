"""Errors as RFC 9457 has them: `application/problem+json`, in the library's own words."""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"

# As RFC 9110 has them; Python's own table took them over in 3.13 only.
PHRASES = {413: "Content Too Large", 422: "Unprocessable Content"}


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field("about:blank", description="That title says what the status means.")
    title: str = Field(description="Of the status.")
    status: int
    detail: str = Field(description="What is wrong, what is accepted, and what to do.")
    code: str = Field(description="What is wrong, for programs.")


class ProblemError(Exception):
    """A request is refused."""

    def __init__(
        self, status: int, code: str, detail: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.headers = status, code, detail, headers or {}

    def content(self) -> dict[str, Any]:
        """As data."""
        title = PHRASES.get(self.status) or HTTPStatus(self.status).phrase
        return {
            "type": "about:blank",
            "title": title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
        }

    def response(self) -> Response:
        """As an answer."""
        return Response(
            json.dumps(self.content()), self.status, self.headers, media_type=MEDIA_TYPE
        )


async def show_problem(_: Request, error: Exception) -> Response:
    """Of a request that is refused."""
    assert isinstance(error, ProblemError)
    return error.response()


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
    404: "There is no such study.",
    405: "Nothing is done in this way here.",
    408: "The request did not arrive in time.",
    409: "There is another study of this name.",
    413: "The request is too long.",
    415: "The request is no JSON.",
    422: "The library refuses it, or something is missing or misspelt; nothing has changed.",
    429: "Too many requests: wait.",
    500: "A mistake of the service.",
    503: "Too busy, or the storage cannot be read or written now; nothing has changed.",
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
