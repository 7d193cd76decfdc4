"""Deadlines of open connections, and the choice of connections to close for new ones."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from driftpeak.service._limits import Limits

Queue = dict["Connection", None]  # ordered by time of entry


class Connections:
    """All open connections of a server, each in one of three queues.

    A connection is unfinished until the headers of a request have arrived, serves the request until
    it is answered, and is idle until the next request begins. If all allowed connections are open,
    a new connection closes the oldest unfinished or the oldest idle one, whichever kind has more.
    So neither many unfinished nor many idle connections exclude new clients, and few idle
    connections survive many unfinished ones. Connections that serve a request are not closed.

    Arguments:
        limits: how many connections may be open, and how long they may wait.
        idle: seconds for which an idle connection is kept.
    """

    def __init__(self, limits: Limits, idle: float) -> None:
        self.limits, self.idle_seconds = limits, idle
        self.unfinished: Queue = {}
        self.serving: Queue = {}
        self.idle: Queue = {}

    def __len__(self) -> int:
        return len(self.unfinished) + len(self.serving) + len(self.idle)

    def admit(self) -> bool:
        """Make room for one more connection; return whether there is room."""
        if len(self) < self.limits.connections:
            return True
        largest = max(self.unfinished, self.idle, key=len)
        oldest = next(iter(largest), None)
        if oldest is None:
            return False
        oldest.leave()
        oldest.transport.abort()
        return True


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with deadlines for everything that waits for the client."""

    def __init__(self, connections: Connections, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._all = connections
        self._queue: Queue | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._all.admit():
            self._enter(self._all.unfinished, self._all.limits.headers)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_serving():
            self._enter(self._all.serving, None)
        elif self._queue is self._all.idle:
            # A request begins. Its further bytes do not extend the deadline.
            self._enter(self._all.unfinished, self._all.limits.headers)

    def on_response_complete(self) -> None:
        super().on_response_complete()  # may start a pipelined request
        if self._is_serving():
            self._enter(self._all.serving, None)
        else:
            # uvicorn closes an idle connection, but waits until the client has read the answer
            self._enter(self._all.idle, self._all.idle_seconds + self._all.limits.headers)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self._all.limits.download, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._stalled)

    def leave(self) -> None:
        """Remove the connection from its queue, and cancel its deadlines."""
        _cancel(self._deadline)
        _cancel(self._stalled)
        if self._queue is not None:
            self._queue.pop(self, None)
            self._queue = None

    def _enter(self, queue: Queue, seconds: float | None) -> None:
        """Move to the end of a queue, and close the connection if it stays there for too long."""
        if self._queue is None and self.transport.is_closing():
            return  # closed in favour of a new connection
        if self._queue is not None:
            self._queue.pop(self, None)
        queue[self] = None
        self._queue = queue
        _cancel(self._deadline)
        if seconds is not None:
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _is_serving(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
