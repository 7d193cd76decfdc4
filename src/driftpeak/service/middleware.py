"""Before a request is looked at: who may ask, from which page, how often, and how much.

Written as the plain interface of ASGI, since a refusal must cost next to nothing.
"""

import asyncio
import hmac
import re
import time
from collections import OrderedDict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpeak.service.problems import WAIT, ProblemError
from driftpeak.service.studies import Studies

API = "/api"
CLIENTS = 10_000  # whose rates are remembered
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
    """Stands before the API and the page.

    Arguments:
        api: what answers under /api.
        page: what answers elsewhere.
        studies: that are served; their limits are those of bodies and rates.
        token: that every request to the API must bear; None: none is asked for.
        hosts: names and addresses that a request may name as its host, in lower case and without
            a port; None: any.
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
                found = list(message.get("headers", ()))
                given = {name for name, _ in found}  # a document may have a stricter policy
                message["headers"] = found + [one for one in HEADERS + own if one[0] not in given]
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
                f"{self._limits.requests} requests are being served: try again in a while",
                WAIT,
            )
        if not _is_api(scope):
            return
        self._check_page(headers)
        self._check_token(headers)
        if scope["method"] == "POST":
            kind = b"".join(headers.get(b"content-type", [])).partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise ProblemError(
                    "no-json", "send JSON, with the header Content-Type: application/json"
                )

    def _check_host(self, headers: Headers) -> None:
        """A page of somebody else's, whose name leads here, is none of ours (DNS rebinding)."""
        if self._hosts is not None:
            named = headers.get(b"host", [])
            if len(named) != 1 or host_of(named[0].decode("latin-1")) not in self._hosts:
                raise ProblemError(
                    "unknown-host",
                    "this service is not known under the Host that was named: use 127.0.0.1 or "
                    "localhost, or start it with --allow-host NAME",
                )

    def _check_page(self, headers: Headers) -> None:
        """No page of another origin has anything to do here."""
        own = [one.strip().lower() for one in headers.get(b"host", [])]
        origins = [one.lower().partition(b"://")[2] for one in headers.get(b"origin", [])]
        sites = headers.get(b"sec-fetch-site", [])
        if any(one not in own for one in origins) or set(sites) - {b"none", b"same-origin"}:
            raise ProblemError("another-origin", "pages of other origins are refused")

    def _check_token(self, headers: Headers) -> None:
        if self._token is None:
            return
        given = headers.get(b"authorization", [])
        scheme, _, credentials = (given[0] if len(given) == 1 else b"").partition(b" ")
        same = hmac.compare_digest(credentials.strip(), self._token)
        if not same or scheme.lower() != b"bearer":
            raise ProblemError(
                "token-needed",
                "give the token of this service: Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """All of a request, before anything is done with it.

        Raises:
            ProblemError: it is too long, or takes too long to arrive.
        """
        most, parts, size = self._limits.body, [], 0
        too_long = ProblemError("too-long", f"a request has at most {most:,} bytes")
        for name, value in scope["headers"]:
            if name.lower() == b"content-length" and (not value.isdigit() or int(value) > most):
                raise too_long
        try:
            async with asyncio.timeout(self._limits.upload):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ProblemError("unfinished", "the request was not finished")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise too_long
                    more = message.get("more_body", False)
        except TimeoutError:
            raise ProblemError("too-slow", "the request did not arrive in time") from None
        return b"".join(parts)


class Rates:
    """How often a client may ask: a bucket of `burst` requests, filled with `rate` a second."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, client: str) -> None:
        """Count a request.

        Raises:
            ProblemError: it is one too many.
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
                f"at most {self._rate:g} requests a second are taken from one client: wait",
                WAIT,
            )


def _is_api(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == API or path.startswith(f"{API}/")


def host_of(text: str) -> str | None:
    """Return the host of a Host header in lower case, without the port.

    An IPv6 address keeps its brackets. None: the text is not a host with an optional port.
    """
    found = HOST.fullmatch(text)
    return None if found is None else found[1].lower()


def _whole(body: bytes, receive: Receive) -> Receive:
    """What was read already, and then what comes."""
    left = [body]

    async def again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return again
