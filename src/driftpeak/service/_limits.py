"""Limits on the sizes, numbers and rates of requests."""

from dataclasses import dataclass, replace

from driftpeak._core.argument_types import checked

MIB = 2**20
FILES = 256  # descriptors reserved for studies, their storage and the process itself


@checked
@dataclass(frozen=True)
class Limits:
    """Maximum sizes, numbers and rates; requests that exceed them are refused.

    Attributes:
        body: bytes of a request.
        connections: open at the same time; a new one closes the oldest that serves no request.
        headers: seconds until the headers of a request must have arrived.
        upload: seconds until the body of a request must have arrived.
        download: seconds for which a client may leave an answer unread.
        studies: number of studies in the storage.
        memory: bytes of open studies. Above it, the least recently used studies are closed; the
            next request reads them again.
        rate: requests per second of one client, on average.
        burst: requests of one client at once.
        waiting: requests that wait for one study.
        streams: event streams, open at the same time.
        capacity: observations in the model of a new study.
        points: points of a new `Arms` or `Grid`.
        horizon: decisions for which a new study allocates memory.
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
        """Return the requests served at the same time; other connections are for new clients."""
        return max(self.connections * 3 // 4, 1)

    def within_descriptors(self) -> "Limits":
        """Return these limits, reduced to the number of descriptors allowed by `ulimit -n`."""
        try:
            import resource
        except ModuleNotFoundError:  # Windows, which has no such limit
            return self
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return self
        connections = min(self.connections, soft - min(FILES, soft // 2))
        return replace(self, connections=connections, streams=min(self.streams, connections // 2))
