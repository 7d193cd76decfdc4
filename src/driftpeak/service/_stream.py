"""Streams of server-sent events with a message after each change of a study."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.requests import Request

from driftpeak._core.errors import DriftpeakError
from driftpeak.service._json_values import plain
from driftpeak.service._problems import problem_content
from driftpeak.service._studies import OpenStudy, Studies
from driftpeak.service._study_index import Counts

LOOK = 1.0  # seconds between two checks for changes by other processes
ALIVE = 15.0  # seconds without a message after which a comment keeps the connection open


async def messages(studies: Studies, study: OpenStudy, request: Request) -> AsyncIterator[str]:
    """Yield a message at the start and after each change, until the client disconnects.

    Changes by this service are reported at once, and changes by other processes within a second.
    Several changes at about the same time may be one message.
    """
    changed = asyncio.Event()
    study.listeners.add(changed)
    studies.streams += 1
    try:
        seen, sent = -1, 0.0
        while not studies.closing and not await request.is_disconnected():
            changed.clear()
            try:
                counts = await studies.read_of(study, study.index.counts)
            except DriftpeakError as error:
                yield f"event: problem\ndata: {json.dumps(problem_content(error))}\n\n"
                return
            if counts.events != seen:
                seen, sent = counts.events, time.monotonic()
                yield message(counts)
            elif time.monotonic() - sent > ALIVE:
                sent = time.monotonic()
                yield ": still here\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), LOOK)
    finally:
        study.listeners.discard(changed)
        studies.streams -= 1


def message(counts: Counts) -> str:
    """Return a server-sent event; its id is the number of events of the study."""
    return f"id: {counts.events}\nevent: change\ndata: {json.dumps(plain(counts._asdict()))}\n\n"
