"""Checks before a request is processed: host, origin, token, rate and size.

It uses the plain ASGI interface, so that a refusal costs almost nothing.
"""

import asyncio
import hmac
import re
import time
from collections import OrderedDict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpeak.service._problems import WAIT, ProblemError
from driftpeak.service._studies import Studies

API = "/api"
KINDS = b"application/json", b"application/vnd.apache.arrow.stream"
"""Types of bodies; a page of another origin cannot send them without permission."""
CLIENTS = 10_000  # the number of clients whose rates are stored
HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        b"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]*)?")  # RFC 9110, 7.2
Headers = dict[bytes, list[bytes]]


class Guard:
    """Middleware that checks all requests to the API and the dashboard.

    Arguments:
        api: the application for paths below /api.
        page: the application for other paths.
        studies: the served studies, whose limits apply to bodies and rates.
        token: the token that requests to the API must have; None: no token is necessary.
        hosts: accepted Host headers, in lower case and without a port; None: any.
    """

    def __init__(
        self,
        api: ASGIApp,
        page: ASGIApp,
        studies: Studies,
        token: str | None,
        hosts: frozenset[str] | None,
    ) -> None:
        self.studies, self._hosts = studies, hosts
        self._api, self._page, self._limits = api, page, studies.limits
        self._token = None if token is None else token.encode()
        self._rates = Rates(self._limits.rate, self._limits.burst)
        self._serving = 0  # requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._api(scope, receive, send)
            return  # there are no web sockets

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(b"cache-control", b"no-store")] if _is_api(scope) else []
                headers = list(message.get("headers", ()))
                names = {name for name, _ in headers}  # a document may have a stricter policy
                added = [header for header in HEADERS + own if header[0] not in names]
                message["headers"] = headers + added
            await send(message)

        self._serving += 1
        try:
            await self._serve(scope, receive, secured)
        finally:
            self._serving -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check(scope)
            if scope["method"] in ("GET", "HEAD"):
                inner = receive
            else:
                inner = _whole(await self._body(scope, receive), receive)
        except ProblemError as problem:
            await problem.response()(scope, receive, send)
            return
        await (self._api if _is_api(scope) else self._page)(scope, inner, send)

    def _check(self, scope: Scope) -> None:
        headers: Headers = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        client = scope["client"][0] if scope.get("client") else ""
        self._rates.check(client)
        self._check_host(headers)
        if self._serving > self._limits.requests:
            raise ProblemError(
                "busy",
                f"{self._limits.requests} requests are being served; try again later",
                WAIT,
            )
        if not _is_api(scope):
            return
        self._check_page(headers)
        self._check_token(headers)
        if scope["method"] == "POST":
            kind = b"".join(headers.get(b"content-type", [])).partition(b";")[0].strip().lower()
            if kind not in KINDS:
                raise ProblemError(
                    "no-json",
                    "the body must be JSON, with the header Content-Type: application/json; for "
                    "fleets it may be an Arrow stream",
                )

    def _check_host(self, headers: Headers) -> None:
        """Refuse unknown hosts: another site's name may resolve to this address (DNS rebinding)."""
        if self._hosts is not None:
            named = headers.get(b"host", [])
            if len(named) != 1 or host_of(named[0].decode("latin-1")) not in self._hosts:
                raise ProblemError(
                    "unknown-host",
                    "the Host header must be a name of this service. Use 127.0.0.1 or localhost, "
                    "or start the service with --allow-host NAME.",
                )

    def _check_page(self, headers: Headers) -> None:
        """Refuse requests from pages of other origins."""
        own = [host.strip().lower() for host in headers.get(b"host", [])]
        origins = [value.lower().partition(b"://")[2] for value in headers.get(b"origin", [])]
        sites = headers.get(b"sec-fetch-site", [])
        if any(origin not in own for origin in origins) or set(sites) - {b"none", b"same-origin"}:
            raise ProblemError(
                "another-origin", "requests from pages of other origins are not accepted"
            )

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        given = headers.get(b"authorization", [])
        scheme, _, credentials = (given[0] if len(given) == 1 else b"").partition(b" ")
        same = hmac.compare_digest(credentials.strip(), self._token)
        if not same or scheme.lower() != b"bearer":
            raise ProblemError(
                "token-needed",
                "a request needs the service's token, in the header Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Return the whole body of a request, before it is processed.

        Raises:
            ProblemError: the body is too long, or takes too long to arrive.
        """
        most, parts, size = self._limits.body, [], 0
        too_long = ProblemError("too-long", f"a request must have at most {most:,} bytes")
        for name, value in scope["headers"]:
            if name.lower() == b"content-length" and (not value.isdigit() or int(value) > most):
                raise too_long
        try:
            async with asyncio.timeout(self._limits.upload):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ProblemError("unfinished", "the request is incomplete")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise too_long
                    more = message.get("more_body", False)
        except TimeoutError:
            raise ProblemError(
                "too-slow", f"a request must arrive within {self._limits.upload:g} s"
            ) from None
        return b"".join(parts)


class Rates:
    """The rate limit of each client: a token bucket of size `burst`, refilled at `rate`."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, client: str) -> None:
        """Count a request.

        Raises:
            ProblemError: the client exceeds its rate.
        """
        now = time.monotonic()
        left, last = self._left.get(client, (float(self._burst), now))
        left = min(left + (now - last) * self._rate, float(self._burst))
        self._left[client] = (max(left - 1, 0.0), now)
        self._left.move_to_end(client)
        if len(self._left) > CLIENTS:
            self._left.popitem(last=False)
        if left < 1:
            raise ProblemError(
                "too-many-requests",
                f"a client may send at most {self._rate:g} requests a second; try again later",
                WAIT,
            )


def _is_api(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == API or path.startswith(f"{API}/")


def host_of(text: str) -> str | None:
    """Return the host of a Host header in lower case, without the port.

    An IPv6 address keeps its brackets. None: the text is not a host with an optional port.
    """
    match = HOST.fullmatch(text)
    return None if match is None else match[1].lower()


def _whole(body: bytes, receive: Receive) -> Receive:
    """Return a receiver that first returns the body that was already read."""
    left = [body]

    async def again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return again
