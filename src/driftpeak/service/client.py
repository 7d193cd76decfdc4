"""Live studies that a service keeps (`driftpeak serve`), asked and told over HTTP.

Neither JAX nor a library for HTTP is needed, and nothing is computed here.
"""

import http.client
import json
import random
import select
import ssl
import time as clock
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, overload
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    StorageError,
    at_least_integer,
    error_classes,
    positive,
    shown,
    warn,
)

Time = Any  # a number, a datetime, a numpy.datetime64, or "now"
Values = Mapping[str, Any]
FRESH = 10.0  # seconds for which a connection is used again: the service keeps it longer
FIRST, LONGEST = 0.1, 5.0  # seconds between two attempts
NOT_NOW = (429, 503)  # nothing was done
PAGE = 1_000  # rewards at once
Idle = list[tuple[float, http.client.HTTPConnection]]
LOCAL = ("localhost", "127.0.0.1", "::1")


class NamedValues(Mapping[str, Any]):
    """Parameters by name, and in `context` what the world said, if anything. Base class."""

    def __init__(self, parameters: Values, time: Any, context: Values) -> None:
        self._parameters, self.time, self.context = dict(parameters), time, dict(context)

    def __getitem__(self, name: str) -> Any:
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)


class Suggestion(NamedValues):
    """Where to sample next: a mapping of parameters. Made by `Study.ask`.

    Attributes:
        id: its number, from 1.
        time: when it is to be sampled.
        hold: whether it is to stay where the system was.
        context: what the world said when it was asked for; empty if it says nothing.
        chances: the probability, by limit, that what is measured there keeps it.
        feasible: whether every limit is believed to be kept; None where nothing is known.
    """

    def __init__(self, data: Values) -> None:
        super().__init__(data["parameters"], _moment(data["time"]), data["context"])
        self.id: int = data["id"]
        self.hold: bool = data["hold"]
        self.chances: dict[str, float] = data["chances"]
        self.feasible: bool | None = data["feasible"]

    def __repr__(self) -> str:
        return f"Suggestion({self.id}, {self._parameters}, time={self.time!r})"


class EstimatedPeak(NamedValues):
    """An estimated peak: a mapping of parameters. Made by `Study.best` and `Study.peaks`.

    Attributes:
        time: for which it is estimated.
        mean, deviation: of the noiseless reward there, in its unit.
        interval: of 95 % for it, in `best`; None in `peaks`.
        band: in `peaks`, for every parameter with an order, between which values the reward is
            believed to be within one deviation of the peak's; None for others, and in `best`.
        context: in which; empty if the world says nothing.
    """

    def __init__(self, data: Values) -> None:
        super().__init__(data["parameters"], _moment(data["time"]), data.get("context", {}))
        self.mean, self.deviation = _float(data["mean"]), _float(data["deviation"])
        ends = (_float(data["low"]), _float(data["high"])) if "low" in data else None
        self.interval: tuple[float, float] | None = ends
        bands = data.get("band")
        self.band = None if bands is None else {name: _ends(one) for name, one in bands.items()}

    def __repr__(self) -> str:
        return (
            f"EstimatedPeak({self._parameters}, mean={self.mean:.4g}, "
            f"deviation={self.deviation:.3g}, time={self.time!r})"
        )


@dataclass(frozen=True)
class Observation:
    """One reward, as told.

    Attributes:
        number: it counts all rewards ever told, also before a reset.
        id: of the suggestion; None if nobody had asked.
        parameters: where.
        reward: how much.
        time: when.
        expected: mean and deviation, noise included, foretold just before; None if nothing was.
        noise: its standard deviation, if it was told; else None.
        trials: of how many measurements it is the mean, if that was told; else None.
        context: what the world said.
        constraints: what was measured of the quantities with limits.
        chances: with which its suggestion was believed to keep them.
    """

    number: int
    id: int | None
    parameters: dict[str, Any]
    reward: float
    time: Any
    expected: tuple[float, float] | None = None
    noise: float | None = None
    trials: int | None = None
    context: dict[str, Any] = field(default_factory=dict)
    constraints: dict[str, float] = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def of(data: Values) -> "Observation":
        """Return what the service sent. Fields that this version does not know are ignored."""
        told = data["expected"]
        expected = None if told is None else (_float(told["mean"]), _float(told["deviation"]))
        known = {one.name: data[one.name] for one in fields(Observation) if one.name in data}
        return Observation(**known | {"time": _moment(data["time"]), "expected": expected})


class Client:
    """A service of live studies. Several threads may share one.

    Arguments:
        url: where it answers, as `http://127.0.0.1:8765`.
        token: that it asks for, if it does; sent nowhere else, and never shown.
        timeout: seconds to wait for an answer. The first ask of a study compiles.
        retries: how often to try again what can be done twice without harm, or was not done.

    Raises:
        DriftpeakError: a URL of another kind, or one with a user or a password.

    Warns:
        DriftpeakWarning: a token would travel unencrypted to another machine.

    Example:
        >>> import driftpeak as dp
        >>> client = dp.Client("http://127.0.0.1:8765", token="not a real token")
        >>> client.study("kiln")
        Study('kiln', http://127.0.0.1:8765)
    """

    @checked
    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 60.0, retries: int = 5
    ) -> None:
        parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise DriftpeakError("url must be as http://127.0.0.1:8765, or https://...")
        if parts.username is not None or parts.password is not None:
            raise DriftpeakError("a url holds no user and no password: give token=")
        if token is not None and not (isinstance(token, str) and token.isascii() and token):
            raise DriftpeakError("token must be ASCII text that is not empty")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port
        self._path = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self._path}"
        self._token = token
        self.timeout = positive("timeout", timeout)
        self.retries = at_least_integer("retries", retries, 0)
        self._idle: Idle = []
        weakref.finalize(self, _close, self._idle)
        if token is not None and not self._secure and self._host not in LOCAL:
            warn(
                f"the token travels to {self._host} without encryption: put the service behind "
                "https, see the docs"
            )

    def __repr__(self) -> str:
        return f"Client({self.url})"

    def studies(self) -> list[dict[str, Any]]:
        """All studies: name, kind of policy, counts of rewards told and of pending suggestions."""
        found: list[dict[str, Any]] = self.call("GET", "studies")["studies"]
        return found

    def study(self, name: str) -> "Study":
        """A study of the service; whether it is there is seen when it is used."""
        return Study(self, name)

    def create(self, name: str, space: Any, *, maximize: bool, **options: Any) -> "Study":
        """Begin a study, or check that there is just such a one already.

        Arguments:
            name: 1 to 100 letters, digits, ".", "_" and "-".
            space: a `Box`, `Arms`, `Grid` or one with a context, or data as `space_to_data` makes.
            maximize: whether large rewards are good.
            options: as for `Optimizer`: policy (or data as `policy_to_data` makes), seed, horizon,
                start, max_travel, moving_cost, constraints (as data), safe_start.

        Raises:
            DriftpeakError: there is another of this name, or the service refuses it; why.
        """
        if not isinstance(space, Mapping):
            from driftpeak.live.space.serialization import space_to_data

            space = space_to_data(space)
        policy = options.pop("policy", None)
        if policy is not None and not isinstance(policy, Mapping):
            from driftpeak.live.study.policy_data import policy_to_data

            policy = policy_to_data(policy)
        body = {"name": name, "space": space, "maximize": maximize, "policy": policy, **options}
        self.call("POST", "studies", body, again=True)
        return Study(self, name)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        again: bool = False,
        key: str | None = None,
    ) -> Any:
        """One request to the API, and its answer as data.

        Arguments:
            method: "GET" or "POST".
            path: below `/api/`.
            body: of a POST.
            again: whether it may be done twice; a GET, and what has a key, always may.
            key: under which the service does it once.

        Raises:
            DriftpeakError: the service refuses it; the class and the words are the service's.
            StorageError: no answer, or the service cannot read or write its storage.
        """
        again = again or method == "GET" or key is not None
        data = None if body is None else _written(body)
        headers = {} if data is None else {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            wait = min(FIRST * 2**attempt, LONGEST) * random.uniform(0.5, 1.0)
            try:
                status, told, text = self._send(method, path, data, headers)
            except _NotSentError as error:
                if last:
                    raise self._unanswered(error) from None
            except (OSError, http.client.HTTPException) as error:
                if last or not again:
                    raise self._unanswered(error, sent=True) from None
            else:
                if status < 300:
                    return _read(text, self.url)
                if last or not (status in NOT_NOW or (again and status in (502, 504))):
                    raise _problem(status, text)
                wait = max(wait, min(told, LONGEST))
            clock.sleep(wait)
        raise AssertionError

    def _send(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, float, bytes]:
        """Status, seconds to wait, and text of an answer."""
        connection = self._idle_connection() or self._new_connection()
        try:
            if connection.sock is None:
                try:
                    connection.connect()
                except OSError as error:
                    raise _NotSentError(error) from None
            connection.request(method, f"{self._path}/api/{path}", data, self._signed(headers))
            answer = connection.getresponse()
            text = answer.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append((clock.monotonic(), connection))
        told = answer.getheader("Retry-After", "")
        return answer.status, float(told) if told.isdigit() else 0.0, text

    def _idle_connection(self) -> http.client.HTTPConnection | None:
        """Return a connection that is not in use and that the service has not closed."""
        while True:
            try:
                used, found = self._idle.pop()  # another thread may take the last one
            except IndexError:
                return None
            if clock.monotonic() - used < FRESH and not _is_closed(found):
                return found
            found.close()

    def close(self) -> None:
        """Close all connections; the next request opens one again."""
        _close(self._idle)

    def _new_connection(self) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=self.timeout)
        secure = ssl.create_default_context()
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self.timeout, context=secure
        )

    def _signed(self, headers: dict[str, str]) -> dict[str, str]:
        token = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        return headers | token

    def _unanswered(self, error: Exception, *, sent: bool = False) -> StorageError:
        known = " Whether it was done is not known." if sent else " Nothing was done."
        return StorageError(
            f"no answer from {self.url}: {str(error) or type(error).__name__}.{known} Is "
            "`driftpeak serve` running there?"
        )

    def stream(self, path: str) -> Iterator[dict[str, Any]]:
        """Messages of a stream of server-sent events, until it ends.

        Raises:
            DriftpeakError: the service refuses it; the class and the words are the service's.
            StorageError: no answer.
        """
        connection, event = self._new_connection(), b""
        try:
            connection.request("GET", f"{self._path}/api/{path}", headers=self._signed({}))
            answer = connection.getresponse()
            if answer.status != 200:
                raise _problem(answer.status, answer.read())
            for line in answer:
                if line.startswith(b"event: "):
                    event = line[7:].strip()
                elif line.startswith(b"data: "):
                    if event == b"problem":
                        raise _error(json.loads(line[6:]))
                    yield json.loads(line[6:])
        except (OSError, http.client.HTTPException) as error:
            raise self._unanswered(error) from None
        finally:
            connection.close()


class Study:
    """One study of a service, with the methods of an `Optimizer`. Made by `Client.study`.

    Every method raises the error that the library raised in the service, with its class and its
    words, and `StorageError` if the service cannot be reached or is busy.
    """

    def __init__(self, client: Client, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise DriftpeakError(f"a study's name must be a string; got {shown(name)}")
        self.name, self._client = name, client

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self._client.url})"

    def describe(self) -> dict[str, Any]:
        """What the study was made of, as data, and how far it is."""
        found: dict[str, Any] = self._get("")
        return found

    @overload
    def ask(
        self, time: Time | None = None, count: None = None, *, context: Values | None = None
    ) -> Suggestion: ...

    @overload
    def ask(
        self, time: Time | None = None, *, count: int, context: Values | None = None
    ) -> list[Suggestion]: ...

    @overload
    def ask(
        self, time: Time | None, count: int, *, context: Values | None = None
    ) -> list[Suggestion]: ...

    def ask(
        self, time: Time | None = None, count: int | None = None, *, context: Values | None = None
    ) -> Suggestion | list[Suggestion]:
        """Where to sample next, as `Optimizer.ask`. An answer that was lost is not asked for again.

        Arguments:
            time: when it will be sampled; by default steps are counted.
            count: how many, for several workers; gives a list.
            context: what the world says then.
        """
        number = 1 if count is None else at_least_integer("count", count, 1)
        body = {"time": time, "count": number, "context": context}
        answer = self._post("ask", body)
        found = [Suggestion(one) for one in answer["suggestions"]]
        return found[0] if count is None else found

    def tell(
        self,
        suggestion: Suggestion | int | Values,
        reward: float,
        time: Time | None = None,
        *,
        actual: Values | None = None,
        noise: float | None = None,
        context: Values | None = None,
        constraints: Mapping[str, float | None] | None = None,
        trials: int | None = None,
        key: str | None = None,
    ) -> None:
        """What a setting brought, as `Optimizer.tell`; on the service's disk when this returns.

        A lost answer is asked for again, and the reward counts once.

        Arguments:
            suggestion: as `ask` gave it, its id, or any setting of the parameters.
            reward: a finite number.
            time: when it was brought; by default the time of the suggestion.
            actual: what was set instead of the suggestion.
            noise: the standard deviation of this reward's noise, if it is known.
            context: what the world said.
            constraints: what was measured of every quantity with a limit.
            trials: of how many rewards of 0 and 1, or counts, it is the mean.
            key: your own name for this reward, to tell it again after a crash; by default a new
                one for this call.
        """
        one = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        body = {
            "setting" if isinstance(one, Mapping) else "suggestion": one,
            "reward": reward,
            "time": time,
            "actual": actual,
            "noise": noise,
            "context": context,
            "constraints": constraints,
            "trials": trials,
        }
        self._post("tell", body, key=uuid.uuid4().hex if key is None else key)

    def cancel(self, suggestion: Suggestion | int) -> None:
        """A suggestion will never be told: it no longer counts as pending."""
        number = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        self._post("cancel", {"suggestion": number})

    def forget(self, before: Time | None = None) -> None:
        """The system has changed: believe no longer what was observed `before`, or anything."""
        self._post("forget", {"confirm": self.name, "before": before})

    def reset(self) -> None:
        """Start again from nothing; only the numbers of suggestions, and keys, go on."""
        self._post("reset", {"confirm": self.name})

    def best(self, time: Time | None = None, *, context: Values | None = None) -> EstimatedPeak:
        """The estimated peak, by default at the latest time seen; it may be to come."""
        return EstimatedPeak(self._get("best", time=time, context=context))

    def belief(
        self,
        points: Sequence[Values] | None = None,
        time: Time | None = None,
        *,
        context: Values | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the noiseless reward, one for each point."""
        found = self._look(points, time, context)
        return _array(found["mean"]), _array(found["deviation"])

    def interval(
        self,
        points: Sequence[Values] | None = None,
        time: Time | None = None,
        *,
        level: float = 0.95,
        context: Values | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of central intervals of the noiseless reward."""
        found = self._look(points, time, context, level=level)
        return _array(found["low"]), _array(found["high"])

    def chances(
        self, points: Sequence[Values], time: Time | None = None, *, context: Values | None = None
    ) -> dict[str, np.ndarray]:
        """How probably limits are kept, by limit, one for each point."""
        body = {"points": points, "time": time, "context": context}
        found = self._post("chances", body, again=True)["chances"]
        return {name: _array(values) for name, values in found.items()}

    def peaks(
        self,
        start: Time | None = None,
        end: Time | None = None,
        count: int = 40,
        *,
        context: Values | None = None,
    ) -> list[EstimatedPeak]:
        """The estimated peak at `count` times from `start` to `end`, by default over the history.

        In hindsight where the policy can look back; times too long ago are left out.
        """
        found = self._get("peaks", start=start, end=end, count=count, context=context)
        return [EstimatedPeak(one) for one in found["peaks"]]

    def pending(self) -> list[Suggestion]:
        """The suggestions that are out and not yet told, oldest first."""
        return [Suggestion(one) for one in self._get("pending")["suggestions"]]

    def history(self, after: int = 0) -> list[Observation]:
        """The rewards told, in the order of telling; the newest 10,000 since the last reset.

        Arguments:
            after: only those with larger numbers.
        """
        found: list[Observation] = []
        cursor: int | None = after
        while cursor is not None:
            page = self._get("history", after=cursor, limit=PAGE)
            found.extend(map(Observation.of, page["rewards"]))
            cursor = page["next"]
        return found

    def diagnostics(self, time: Time | None = None) -> dict[str, Any]:
        """What the belief thinks, by the names of `driftpeak.live.Diagnostics`."""
        found: dict[str, Any] = self._get("diagnostics", time=time)["diagnostics"]
        return found

    def calibration(self) -> dict[str, Any]:
        """How well rewards were foretold: count, log_likelihood, coverage by level."""
        found: dict[str, Any] = self._get("diagnostics")["calibration"]
        return found

    def violations(self) -> dict[str, dict[str, Any]]:
        """How often limits were broken, by the names of `driftpeak.live.Violations`."""
        found: dict[str, dict[str, Any]] = self._get("diagnostics")["violations"]
        return found

    def side_queries(self, time: Time | None = None) -> list[dict[str, Any]]:
        """What the policy wants an expert to re-evaluate at `time`, before the next `ask` then."""
        found: list[dict[str, Any]] = self._get("side-queries", time=time)["queries"]
        return found

    def answer(
        self,
        queries: Sequence[Values],
        answers: Sequence[float | None],
        time: Time | None = None,
    ) -> None:
        """An expert's answers to side queries; None where it has none."""
        self._post("answer", {"queries": queries, "answers": answers, "time": time})

    def events(self) -> Iterator[dict[str, Any]]:
        """The study's counts now and after each change, for as long as the service answers."""
        return self._client.stream(self._path("events"))

    def _look(
        self,
        points: Sequence[Values] | None,
        time: Time | None,
        context: Values | None,
        level: float = 0.95,
    ) -> Any:
        body = {"points": points, "time": time, "context": context, "level": level}
        return self._post("belief", body, again=True)

    def _get(self, path: str, **query: Any) -> Any:
        given = {
            name: json.dumps(value, default=_plain)
            if isinstance(value, Mapping)
            else str(_plain(value))
            for name, value in query.items()
            if value is not None
        }
        return self._client.call("GET", self._path(path) + (f"?{urlencode(given)}" * bool(given)))

    def _post(
        self, path: str, body: Mapping[str, Any], *, again: bool = False, key: str | None = None
    ) -> Any:
        given = {name: value for name, value in body.items() if value is not None}
        answer = self._client.call("POST", self._path(path), given, again=again, key=key)
        for text in answer.get("warnings", ()):
            warn(text)
        return answer

    def _path(self, path: str) -> str:
        whole = f"studies/{quote(self.name, safe='')}"
        return f"{whole}/{path}" if path else whole


class _NotSentError(Exception):
    """There was no connection."""


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """Return whether an idle connection is at its end, or cannot be checked."""
    if connection.sock is None:
        return False  # it connects again
    try:
        return bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):  # a descriptor that is too large for select
        return True


def _close(idle: Idle) -> None:
    while idle:
        idle.pop()[1].close()


def _written(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, default=_plain, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise DriftpeakError(f"this cannot be sent: {error}") from None


def _plain(value: Any) -> Any:
    """As JSON has it: dates as text, NumPy's numbers as numbers, mappings as dictionaries."""
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


def _read(text: bytes, url: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise DriftpeakError(f"what answers at {url} is no service of driftpeak") from None


def _problem(status: int, text: bytes) -> DriftpeakError:
    """Return the error that the service answered."""
    try:
        return _error(json.loads(text), status)
    except ValueError:
        return _error({}, status)


def _error(problem: Any, status: int = 0) -> DriftpeakError:
    """Return a problem as the error that the library would have raised in the service."""
    try:
        detail, code = str(problem["detail"]), problem.get("code")
    except (LookupError, TypeError, AttributeError):
        detail, code = f"the service answered with status {status}", None
    unreachable = status >= 500 or code == "busy"
    other = StorageError if unreachable else DriftpeakError
    kind = error_classes().get(code, other) if isinstance(code, str) else other
    return kind(detail)


def _moment(value: Any) -> Any:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _float(value: float | None) -> float:
    return float("nan") if value is None else value


def _array(values: list[float | None]) -> np.ndarray:
    return np.array([_float(one) for one in values], dtype=float)


def _ends(band: Values) -> tuple[float, float] | None:
    return None if band["low"] is None else (band["low"], band["high"])
