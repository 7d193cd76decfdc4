"""How much a service takes from its clients."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Sizes, numbers and rates beyond which a request is refused.

    Attributes:
        body: bytes of a request.
        upload: seconds until a request must have arrived.
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
    upload: float = 20.0
    studies: int = 1_000
    memory: int = 1024 * MIB
    rate: float = 1_000.0
    burst: int = 2_000
    waiting: int = 256
    streams: int = 200
    capacity: int = 4_096
    points: int = 100_000
    horizon: int = 100_000
