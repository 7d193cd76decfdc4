"""The process that answers: a socket, the application, and an orderly end."""

import errno
import ipaddress
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType

import uvicorn

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.service.app import LOCAL, make_app
from driftpeak.service.connections import Connection, Connections
from driftpeak.service.limits import Limits
from driftpeak.service.log_filter import quiet_log
from driftpeak.service.middleware import Guard, host_of
from driftpeak.service.study_directory import open_place
from driftpeak.service.tokens import MAKE, VARIABLE
from driftpeak.service.warning_capture import hear

PATIENCE = 10  # seconds for requests that are under way at the end
IDLE = 30  # seconds until a connection that is not used is closed
WAITING = 1024  # connections that are not accepted yet
# Connections that asyncio accepts before it counts any of them. Without a descriptor left it logs
# as many messages.
ACCEPTED = 16


class Server(uvicorn.Server):
    """Serves a guarded application; ends streams of events when it is told to end."""

    def __init__(self, app: Guard) -> None:
        self._app = app
        self.connections = Connections(app.studies.limits, IDLE)
        config = uvicorn.Config(
            app,
            http=partial(Connection, self.connections),  # type: ignore[arg-type]
            loop="asyncio",
            backlog=ACCEPTED,
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,  # whoever writes them could count as anybody
            timeout_graceful_shutdown=PATIENCE,
            timeout_keep_alive=IDLE,
            ws="none",
            lifespan="on",
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(WAITING)  # `backlog` was both this and the number that is accepted at once

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.studies.close()
        super().handle_exit(sig, frame)


def serve(
    storage: str,
    *,
    host: str,
    port: int,
    token: str | None,
    allowed: Sequence[str],
    limits: Limits,
    ready: Callable[[str, int], None],
) -> None:
    """Answer until the process is told to end.

    Arguments:
        storage: a folder of journals or the address of a database.
        host, port: to listen at; port 0: any that is free.
        token: that every request to the API must bear.
        allowed: further names under which the service is known.
        limits: of what is taken from clients.
        ready: told the address and the port, once requests are taken.

    Raises:
        DriftpeakError: no such storage or address, a port that is in use; an address or a name that
            others can reach, without a token.
    """
    local = is_loopback(host)
    if token is None and (allowed or not local):
        what = f"--allow-host {allowed[0]}" if local else f"--host {host}"
        raise DriftpeakError(
            f"{what} lets other machines in, so a token is needed: give --token-file FILE or set "
            f"{VARIABLE}; {MAKE}"
        )
    for name in allowed:
        if host_of(name) != name.lower():
            raise DriftpeakError(
                f"--allow-host must be a name or an address without a port; got {shown(name)}"
            )
    place = open_place(storage)
    listening = listen(host, port)
    hosts = (
        None if not (local or allowed) else {*LOCAL, f"[{host}]" if ":" in host else host, *allowed}
    )
    hear()
    app = make_app(place, token=token, hosts=hosts, limits=limits.within_descriptors())
    with listening, quiet_log(), suppress(KeyboardInterrupt):  # it has ended in order by then
        ready(host, listening.getsockname()[1])
        Server(app).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections.

    Raises:
        DriftpeakError: the address is not this machine's, or the port is in use or not allowed.
    """
    found = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(WAITING)
    except (OSError, UnicodeError) as error:
        if found is not None:
            found.close()
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            raise DriftpeakError(
                f"port {port} of {host} is in use: give another, --port {port + 1}, or 0 for any"
            ) from None
        if number == errno.EACCES:
            raise DriftpeakError(
                f"port {port} is not allowed to you: give one from 1024 on, as --port 8765"
            ) from None
        reason = getattr(error, "strerror", None) or error
        raise DriftpeakError(
            f"--host {host} is no address of this machine ({reason}): give 127.0.0.1, or 0.0.0.0 "
            "for all that it has"
        ) from None
    return found


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
