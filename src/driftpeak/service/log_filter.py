"""A log that repeated messages cannot fill."""

import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

WARNINGS = "driftpeak.service"
LOGGERS = ("uvicorn.error", "asyncio", WARNINGS)  # clients can cause messages of these
MOST = 10  # of one message in a period
PERIOD = 60.0  # seconds
KINDS = 1_000  # messages that are counted at the same time
NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9]+")


class Repeated(logging.Filter):
    """Let at most `MOST` records of the same message and error pass in `PERIOD` seconds.

    Messages are the same if they differ in numbers only.

    The last record that passes says that further ones are left out, and the first one of the next
    period says how many were.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[0] if record.exc_info else None
        kind = (record.name, record.levelno, NUMBERS.sub("#", str(record.msg)), error)
        now = time.monotonic()
        if len(self._seen) >= KINDS:
            self._seen.clear()
        begun, count = self._seen.get(kind, (now, 0))
        added = ""
        if now - begun >= PERIOD:
            if count > MOST:
                added = f"{count - MOST} more of this message were left out before"
            begun, count = now, 0
        count += 1
        self._seen[kind] = begun, count
        if count == MOST:
            added = f"more of this message are left out for {PERIOD - (now - begun):.0f} s"
        if added:
            record.msg, record.args = f"{record.getMessage().rstrip()} ({added})", None
        return count <= MOST


@contextmanager
def quiet_log() -> Iterator[None]:
    """Filter the messages that clients can cause until the block ends."""
    repeated = Repeated()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for one in loggers:
        one.addFilter(repeated)
    try:
        yield
    finally:
        for one in loggers:
            one.removeFilter(repeated)
