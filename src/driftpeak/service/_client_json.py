"""JSON of a client's requests and of the service's answers, and the errors of answers."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, StorageError, error_classes, shown


def to_json(body: Mapping[str, Any]) -> bytes:
    """Return the body of a request.

    Raises:
        DriftpeakError: the arguments are not convertible to JSON.
    """
    try:
        return json.dumps(body, default=plain, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise DriftpeakError(f"the arguments must be convertible to JSON: {error}") from None


def plain(value: Any) -> Any:
    """Return a value for JSON: dates as strings, NumPy numbers as numbers, mappings as dicts."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str | int | float):
        return value
    raise TypeError(f"got {shown(value)}")


def from_json(text: bytes, url: str) -> Any:
    """Return the data of an answer.

    Raises:
        DriftpeakError: it is not JSON.
    """
    try:
        return json.loads(text)
    except ValueError:
        raise DriftpeakError(
            f"{url} must be the address of `driftpeak serve`; got an answer that is not JSON"
        ) from None


def error_of_answer(status: int, text: bytes) -> DriftpeakError:
    """Return the error of an answer."""
    try:
        return error_of_problem(json.loads(text), status)
    except ValueError:
        return error_of_problem({}, status)


def error_of_problem(problem: Any, status: int = 0) -> DriftpeakError:
    """Return the library's error for a problem of the service."""
    try:
        detail, code = str(problem["detail"]), problem.get("code")
    except (LookupError, TypeError, AttributeError):
        detail, code = f"the service answered with status {status}", None
    unreachable = status >= 500 or code == "busy"
    other = StorageError if unreachable else DriftpeakError
    kind = error_classes().get(code, other) if isinstance(code, str) else other
    return kind(detail)
