"""A client for the live studies of a service (`driftpeak serve`).

It needs neither JAX nor an HTTP library. All computations run in the service.
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
from typing import Any, overload
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    StorageError,
    at_least_integer,
    positive,
    shown,
    warn,
)
from driftpeak.live._study.past import observations_of
from driftpeak.live._study.suggestion import Suggestion
from driftpeak.service._client_json import (
    error_of_answer,
    error_of_problem,
    from_json,
    plain,
    to_json,
)
from driftpeak.service._client_results import (
    EstimatedPeak as EstimatedPeak,
    Observation as Observation,
    Values,
    array_from_data,
    suggestion_from_data,
)

Time = Any  # a number, a datetime, a numpy.datetime64, or "now"
FRESH = 10.0  # seconds for which an idle connection is reused; the service keeps it longer
FIRST, LONGEST = 0.1, 5.0  # seconds between two attempts
NOT_NOW = (429, 503)  # statuses of requests that had no effect
PAGE = 1_000  # rewards per request
Idle = list[tuple[float, http.client.HTTPConnection]]
LOCAL = ("localhost", "127.0.0.1", "::1")


class Client:
    """A client of a service of live studies. Several threads may share it.

    Arguments:
        url: the address of the service, such as `http://127.0.0.1:8765`.
        token: the service's token, if it needs one. It is sent to this address only and is never
            displayed.
        timeout: seconds to wait for an answer. The first ask of a study compiles.
        retries: the number of further attempts, for requests that had no effect or that can be
            repeated safely.

    Raises:
        DriftpeakError: the URL is invalid, or contains a user or a password.

    Warns:
        DriftpeakWarning: the token is sent to another machine without encryption.

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
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            # the message does not repeat the URL, which may contain a password
            raise DriftpeakError("url must be such as http://127.0.0.1:8765 or https://...")
        if parts.username is not None or parts.password is not None:
            raise DriftpeakError("url must not contain a user or a password; use token= instead")
        if token is not None and not (token.isascii() and token):
            raise DriftpeakError("token must be a non-empty string of ASCII characters")
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
                f"the token is sent to {self._host} without encryption. Use https; the "
                "documentation describes a proxy."
            )

    def __repr__(self) -> str:
        return f"Client({self.url})"

    def studies(self) -> list[dict[str, Any]]:
        """Return all studies: name, policy, numbers of rewards and of pending suggestions."""
        return self.call("GET", "studies")["studies"]

    def study(self, name: str) -> "Study":
        """Return a study of the service. Whether it exists is checked when it is used."""
        return Study(self, name)

    def create(self, name: str, space: Any, *, maximize: bool, **options: Any) -> "Study":
        """Create a study, or check that the existing study has equal arguments.

        Arguments:
            name: 1 to 100 letters, digits, ".", "_" and "-".
            space: a `Box`, `Arms` or `Grid`, also with a context, or the data of `space_to_data`.
            maximize: whether to maximise the reward.
            options: as for `Optimizer`: policy (or the data of `policy_to_data`), seed, horizon,
                start, max_travel, moving_cost, safe_start, constraints and schedule (also as data).
                A constraint that is a function must be registered in the service under its name.

        Raises:
            DriftpeakError: the service refuses an argument, or another study has this name.
        """
        if not isinstance(space, Mapping):
            from driftpeak.live._space.serialization import space_to_data

            space = space_to_data(space)
        policy = options.pop("policy", None)
        if policy is not None and not isinstance(policy, Mapping):
            from driftpeak.live._study.policy_data import policy_to_data

            policy = policy_to_data(policy)
        if hasattr(options.get("schedule"), "to_data"):
            options["schedule"] = options["schedule"].to_data()
        if options.get("constraints") is not None:
            options["constraints"] = _constraints_as_data(options["constraints"])
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
        """Send a request to the API, and return the answer as data.

        Arguments:
            method: "GET", "POST" or "DELETE".
            path: the path below `/api/`.
            body: the body of a POST.
            again: whether the request may be repeated; a GET or a request with a key always may.
            key: a key under which the service runs the request once.

        Raises:
            DriftpeakError: the service refuses the request; class and message are the service's.
            StorageError: there is no answer, or the service cannot read or write its storage.
        """
        again = again or method == "GET" or key is not None
        data = None if body is None else to_json(body)
        headers = {} if data is None else {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            wait = min(FIRST * 2**attempt, LONGEST) * random.uniform(0.5, 1.0)
            try:
                status, delay, text = self._send(method, path, data, headers)
            except _NotSentError as error:
                if last:
                    raise self._unanswered(error) from None
            except (OSError, http.client.HTTPException) as error:
                if last or not again:
                    raise self._unanswered(error, sent=True) from None
            else:
                if status < 300:
                    return from_json(text, self.url)
                if last or not (status in NOT_NOW or (again and status in (502, 504))):
                    raise error_of_answer(status, text)
                wait = max(wait, min(delay, LONGEST))
            clock.sleep(wait)
        raise AssertionError

    def _send(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, float, bytes]:
        """Send a request, and return the answer's status, seconds to wait, and text."""
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
        delay = answer.getheader("Retry-After", "")
        return answer.status, float(delay) if delay.isdigit() else 0.0, text

    def _idle_connection(self) -> http.client.HTTPConnection | None:
        """Return an unused connection that the service has not closed; None if there is none."""
        while True:
            try:
                used, connection = self._idle.pop()  # another thread may take the last one
            except IndexError:
                return None
            if clock.monotonic() - used < FRESH and not _is_closed(connection):
                return connection
            connection.close()

    def close(self) -> None:
        """Close all connections; the next request opens a new one."""
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
        effect = " The request may have been executed." if sent else " Nothing was changed."
        return StorageError(
            f"no answer from {self.url}: {str(error) or type(error).__name__}.{effect} Is "
            "`driftpeak serve` running there?"
        )

    def stream(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield the messages of a stream of server-sent events until it ends.

        Raises:
            DriftpeakError: the service refuses the request; class and message are the service's.
            StorageError: there is no answer.
        """
        connection, event = self._new_connection(), b""
        try:
            connection.request("GET", f"{self._path}/api/{path}", headers=self._signed({}))
            answer = connection.getresponse()
            if answer.status != 200:
                raise error_of_answer(answer.status, answer.read())
            for line in answer:
                if line.startswith(b"event: "):
                    event = line[7:].strip()
                elif line.startswith(b"data: "):
                    if event == b"problem":
                        raise error_of_problem(json.loads(line[6:]))
                    yield json.loads(line[6:])
        except (OSError, http.client.HTTPException) as error:
            raise self._unanswered(error) from None
        finally:
            connection.close()


class Study:
    """A study of a service, with the methods of `Optimizer`. Returned by `Client.study`.

    Every method raises the errors that the library raises in the service, with equal class and
    message, and `StorageError` if the service cannot be reached or is busy.
    """

    def __init__(self, client: Client, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise DriftpeakError(f"a study's name must be a string; got {shown(name)}")
        self.name, self._client = name, client

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self._client.url})"

    def describe(self) -> dict[str, Any]:
        """Return the study's arguments, as data, and its counts."""
        return self._get("")

    @overload
    def ask(
        self,
        time: Time | None = None,
        count: None = None,
        *,
        context: Values | None = None,
        fixed: Values | None = None,
    ) -> Suggestion: ...

    @overload
    def ask(
        self,
        time: Time | None = None,
        count: int = ...,
        *,
        context: Values | None = None,
        fixed: Values | None = None,
    ) -> list[Suggestion]: ...

    def ask(
        self,
        time: Time | None = None,
        count: int | None = None,
        *,
        context: Values | None = None,
        fixed: Values | None = None,
    ) -> Suggestion | list[Suggestion]:
        """Suggest settings to evaluate next, as `Optimizer.ask`. A lost answer is not repeated.

        Arguments:
            time: the time of the evaluation; by default steps are counted.
            count: the number of suggestions, for several workers; returns a list.
            context: the context at that time.
            fixed: values of some parameters, which the suggestions must have.
        """
        number = 1 if count is None else at_least_integer("count", count, 1)
        body = {"time": time, "count": number, "context": context, "fixed": fixed}
        answer = self._post("ask", body)
        suggestions = list(map(suggestion_from_data, answer["suggestions"]))
        return suggestions[0] if count is None else suggestions

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
        """Report the reward of a setting, as `Optimizer.tell`.

        The reward is on the service's disk when this returns. A lost answer is requested again, and
        the reward counts once.

        Arguments:
            suggestion: a suggestion, its id, or any setting of the parameters.
            reward: a finite number.
            time: the time of the evaluation; by default the time of the suggestion.
            actual: the setting that was used instead of the suggestion.
            noise: the standard deviation of this reward's noise, if known.
            context: the context of the evaluation.
            constraints: the measured values of the quantities with limits.
            trials: the number of 0/1 rewards or counts of which the reward is the mean.
            key: a unique key of this reward, with which the call can be repeated after a crash; by
                default a new one for this call.
        """
        target = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        body = {
            "setting" if isinstance(target, Mapping) else "suggestion": target,
            "reward": reward,
            "time": time,
            "actual": actual,
            "noise": noise,
            "context": context,
            "constraints": constraints,
            "trials": trials,
        }
        self._post("tell", body, key=uuid.uuid4().hex if key is None else key)

    def tell_table(self, table: Any) -> int:
        """Report past settings with their rewards, as by one `tell` for each row, sorted by time.

        Arguments:
            table: a pandas data frame or a list of mappings, as for `Optimizer.tell_table`. If a
                row is refused, the rows before it are stored. With a column `key`, the call can be
                repeated.

        Returns:
            The number of rows that were told.
        """
        found = self.describe()
        space, limits = found["space"], found["options"].get("constraints", {})
        names = [*space.get("box", {})] or (
            ["arm"] if "arms" in space else [f"x{j + 1}" for j in range(len(space["grid"]))]
        )
        measured = [name for name, one in limits.items() if "probability" in one]
        rows = observations_of(table, names, [*space.get("context", {})], measured)
        for row in rows:
            number = row.pop("row")
            try:
                self.tell(**row)
            except DriftpeakError as error:
                raise type(error)(f"row {number}: {error}") from None
        return len(rows)

    def cancel(self, suggestion: Suggestion | int) -> None:
        """Cancel a pending suggestion whose reward will not be reported."""
        number = suggestion.id if isinstance(suggestion, Suggestion) else suggestion
        self._post("cancel", {"suggestion": number})

    def forget(self, before: Time | None = None) -> None:
        """Discard observations `before` a time, or all, after a change of the system."""
        self._post("forget", {"confirm": self.name, "before": before})

    def reset(self) -> None:
        """Restart without observations; the numbering of suggestions and the keys are kept."""
        self._post("reset", {"confirm": self.name})

    def delete(self) -> None:
        """Delete the study with all its rewards from the service; this cannot be undone."""
        confirmed = urlencode({"confirm": self.name})
        self._client.call("DELETE", f"{self._path('')}?{confirmed}")

    def best(self, time: Time | None = None, *, context: Values | None = None) -> EstimatedPeak:
        """Return the estimated peak at a past or future time, by default the latest time."""
        return EstimatedPeak(self._get("best", time=time, context=context))

    def belief(
        self,
        points: Sequence[Values] | None = None,
        time: Time | None = None,
        *,
        context: Values | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return posterior mean and standard deviation of the noiseless reward at each point."""
        answer = self._look(points=points, time=time, context=context)
        return array_from_data(answer["mean"]), array_from_data(answer["deviation"])

    def interval(
        self,
        points: Sequence[Values] | None = None,
        time: Time | None = None,
        *,
        level: float = 0.95,
        context: Values | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper ends of central intervals of the noiseless reward."""
        answer = self._look(points=points, time=time, context=context, level=level)
        return array_from_data(answer["low"]), array_from_data(answer["high"])

    def chances(
        self, points: Sequence[Values], time: Time | None = None, *, context: Values | None = None
    ) -> dict[str, np.ndarray]:
        """Return the probability of meeting each limit at each point, by name."""
        body = {"points": points, "time": time, "context": context}
        chances = self._post("chances", body, again=True)["chances"]
        return {name: array_from_data(values) for name, values in chances.items()}

    def peaks(
        self,
        start: Time | None = None,
        end: Time | None = None,
        count: int = 40,
        *,
        context: Values | None = None,
    ) -> list[EstimatedPeak]:
        """Return the estimated peaks at `count` times from `start` to `end`.

        The default range is the history. If the policy supports it, past peaks are estimated from
        all rewards, also later ones. Times too long ago are omitted.
        """
        answer = self._get("peaks", start=start, end=end, count=count, context=context)
        return [EstimatedPeak(peak) for peak in answer["peaks"]]

    def pending(self) -> list[Suggestion]:
        """Return the pending suggestions, oldest first."""
        return list(map(suggestion_from_data, self._get("pending")["suggestions"]))

    def history(self, after: int = 0) -> list[Observation]:
        """Return the rewards in the order of their reports, the newest 10,000 since the last reset.

        Arguments:
            after: return only rewards with larger numbers.
        """
        observations: list[Observation] = []
        cursor: int | None = after
        while cursor is not None:
            page = self._get("history", after=cursor, limit=PAGE)
            observations.extend(map(Observation.of, page["rewards"]))
            cursor = page["next"]
        return observations

    def diagnostics(self, time: Time | None = None) -> dict[str, Any]:
        """Return the attributes of `driftpeak.live.Diagnostics` by name."""
        return self._get("diagnostics", time=time)["diagnostics"]

    def calibration(self) -> dict[str, Any]:
        """Return the accuracy of one-step forecasts: count, log_likelihood, coverage by level."""
        return self._get("diagnostics")["calibration"]

    def violations(self) -> dict[str, dict[str, Any]]:
        """Return the attributes of `driftpeak.live.Violations` for each limit."""
        return self._get("diagnostics")["violations"]

    def side_queries(self, time: Time | None = None) -> list[dict[str, Any]]:
        """Return the policy's side queries at `time`, to be answered before the next `ask`."""
        return self._get("side-queries", time=time)["queries"]

    def answer(
        self,
        queries: Sequence[Values],
        answers: Sequence[float | None],
        time: Time | None = None,
    ) -> None:
        """Report an expert's answers to side queries; None if there is no answer."""
        self._post("answer", {"queries": queries, "answers": answers, "time": time})

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the study's counts now and after each change, until the service stops."""
        return self._client.stream(self._path("events"))

    def _look(self, **body: Any) -> Any:
        return self._post("belief", body, again=True)

    def _get(self, path: str, **query: Any) -> Any:
        given = {
            name: json.dumps(value, default=plain)
            if isinstance(value, Mapping)
            else str(plain(value))
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


def _constraints_as_data(constraints: Any) -> Any:
    """Return constraints, of which each may be an object or data, as data."""
    if not isinstance(constraints, Mapping):
        return constraints
    objects = {
        name: one for name, one in constraints.items() if callable(one) or hasattr(one, "at_most")
    }
    if not objects:
        return constraints
    from driftpeak.live._space.constraint_data import constraints_to_data

    return {**constraints, **constraints_to_data(objects)}


class _NotSentError(Exception):
    """The connection failed before the request was sent."""


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """Return whether an idle connection is closed, or cannot be checked."""
    if connection.sock is None:
        return False  # it reconnects
    try:
        return bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):  # a descriptor that is too large for select
        return True


def _close(idle: Idle) -> None:
    while idle:
        idle.pop()[1].close()
