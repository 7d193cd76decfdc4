"""A filter that limits repeated messages in the log."""

import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

WARNINGS = "driftpeak.service"
LOGGERS = ("uvicorn.error", "asyncio", WARNINGS)  # loggers whose messages clients can cause
MOST = 10  # repetitions of a message in a period
PERIOD = 60.0  # seconds
KINDS = 1_000  # different messages that are counted at the same time
NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9]+")


class Repeated(logging.Filter):
    """A log filter that passes at most `MOST` equal messages in `PERIOD` seconds.

    Messages count as equal if they differ in numbers only. The last record that passes announces
    that further ones are omitted. The first record of the next period has their number.
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
                added = f"{count - MOST} repetitions of this message were omitted before"
            begun, count = now, 0
        count += 1
        self._seen[kind] = begun, count
        if count == MOST:
            added = f"repetitions of this message are omitted for {PERIOD - (now - begun):.0f} s"
        if added:
            record.msg, record.args = f"{record.getMessage().rstrip()} ({added})", None
        return count <= MOST


@contextmanager
def quiet_log() -> Iterator[None]:
    """Filter the messages that clients can cause until the block ends."""
    repeated = Repeated()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(repeated)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(repeated)
