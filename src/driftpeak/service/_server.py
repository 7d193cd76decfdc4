"""The server process: socket, application and orderly shutdown."""

import errno
import ipaddress
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType

import uvicorn

from driftpeak._core.errors import DriftpeakError, rejected
from driftpeak.service._app import LOCAL, make_app
from driftpeak.service._connections import Connection, Connections
from driftpeak.service._limits import Limits
from driftpeak.service._log_filter import quiet_log
from driftpeak.service._middleware import Guard, host_of
from driftpeak.service._study_directory import open_place
from driftpeak.service._tokens import MAKE, VARIABLE
from driftpeak.service._warning_capture import hear

PATIENCE = 10  # seconds for running requests at shutdown
IDLE = 30  # seconds until an idle connection is closed
WAITING = 1024  # connections in the queue of the socket
# Connections that asyncio accepts at once. When no descriptor is left, it logs as many messages.
ACCEPTED = 16


class Server(uvicorn.Server):
    """A uvicorn server that ends event streams at shutdown."""

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
            proxy_headers=False,  # a client could write them to hide its address
            timeout_graceful_shutdown=PATIENCE,
            timeout_keep_alive=IDLE,
            ws="none",
            lifespan="on",
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(WAITING)  # uvicorn's `backlog` sets both this and ACCEPTED

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
    """Serve requests until the process is stopped.

    Arguments:
        storage: a folder of journals or the address of a database.
        host, port: the address to listen on; port 0 selects any free port.
        token: the token that requests to the API must have.
        allowed: further host names of the service.
        limits: maximum sizes, numbers and rates of requests.
        ready: called with address and port when the service accepts requests.

    Raises:
        DriftpeakError: the storage or the address does not exist, the port is in use, or other
            machines can reach the service and there is no token.
    """
    local = is_loopback(host)
    if token is None and (allowed or not local):
        what = f"--allow-host {allowed[0]}" if local else f"--host {host}"
        raise DriftpeakError(
            f"{what} makes the service available to other machines, so a token is required: give "
            f"--token-file FILE or set {VARIABLE}; {MAKE}"
        )
    for name in allowed:
        if host_of(name) != name.lower():
            raise rejected("--allow-host", name, "be a name or an address without a port")
    place = open_place(storage)
    listening = listen(host, port)
    hosts = (
        None if not (local or allowed) else [*LOCAL, f"[{host}]" if ":" in host else host, *allowed]
    )
    hear()
    app = make_app(place, token=token, hosts=hosts, limits=limits.within_descriptors())
    with listening, quiet_log(), suppress(KeyboardInterrupt):  # raised after an orderly shutdown
        ready(host, listening.getsockname()[1])
        Server(app).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens for connections.

    Raises:
        DriftpeakError: the address is not this machine's, or the port is in use or not allowed.
    """
    listening = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(WAITING)
    except (OSError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            raise DriftpeakError(
                f"port {port} of {host} is in use; give another, such as --port {port + 1}, or "
                "--port 0 for any free port"
            ) from None
        if number == errno.EACCES:
            raise DriftpeakError(
                f"port {port} needs administrator rights; give a port of at least 1024, such as "
                "--port 8765"
            ) from None
        reason = getattr(error, "strerror", None) or error
        raise DriftpeakError(
            f"--host must be an address of this machine; got {host} ({reason}). Give 127.0.0.1, or "
            "0.0.0.0 for all its addresses."
        ) from None
    return listening


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
