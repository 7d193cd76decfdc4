"""How much a service takes from its clients."""

from dataclasses import dataclass, replace

MIB = 2**20
FILES = 256  # descriptors that studies, their storage and the process itself need at most


@dataclass(frozen=True)
class Limits:
    """Sizes, numbers and rates beyond which a request is refused.

    Attributes:
        body: bytes of a request.
        connections: open at the same time; a new one closes the oldest that serves no request.
        headers: seconds until the headers of a request must have arrived.
        upload: seconds until the body of a request must have arrived.
        download: seconds for which a client may leave an answer unread.
        studies: in the storage, beyond which none is created.
        memory: bytes of studies kept ready to answer; beyond, those that were used least recently
            are closed, and read again when they are asked for.
        rate: requests a second of one client, in the long run.
        burst: requests of one client at once.
        waiting: requests that wait for one study.
        streams: of events, open at the same time.
        capacity: observations in memory of a study that is created.
        points: of an `Arms` or a `Grid` that is created.
        horizon: decisions that a study that is created reserves room for.
    """

    body: int = MIB
    connections: int = 1_000
    headers: float = 10.0
    upload: float = 20.0
    download: float = 20.0
    studies: int = 1_000
    memory: int = 1024 * MIB
    rate: float = 1_000.0
    burst: int = 2_000
    waiting: int = 256
    streams: int = 200
    capacity: int = 4_096
    points: int = 100_000
    horizon: int = 100_000

    @property
    def requests(self) -> int:
        """Requests that are served at the same time. The rest of `connections` is for new ones."""
        return max(self.connections * 3 // 4, 1)

    def within_descriptors(self) -> "Limits":
        """Return these limits, lowered to what the process may open (`ulimit -n`)."""
        try:
            import resource
        except ModuleNotFoundError:  # Windows, which has no such limit
            return self
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return self
        connections = min(self.connections, soft - min(FILES, soft // 2))
        return replace(self, connections=connections, streams=min(self.streams, connections // 2))
