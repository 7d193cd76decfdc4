"""A stream of server-sent events: one message after each change of a study."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.requests import Request

from driftpeak._core.errors import DriftpeakError
from driftpeak.service.json_values import plain
from driftpeak.service.problems import problem_content
from driftpeak.service.studies import Kept, Studies
from driftpeak.service.study_index import Counts

LOOK = 1.0  # seconds between two looks at what other processes have done
ALIVE = 15.0  # seconds of silence, after which a comment says that the stream is alive


async def messages(studies: Studies, kept: Kept, request: Request) -> AsyncIterator[str]:
    """One message at the start, and one after each change, until the client leaves.

    Changes by this service are told at once, those by other processes within a second. Several that
    come together may be one message.
    """
    changed = asyncio.Event()
    kept.listeners.add(changed)
    studies.streams += 1
    try:
        seen, spoken = -1, 0.0
        while not studies.closing and not await request.is_disconnected():
            changed.clear()
            try:
                counts = await studies.read_of(kept, kept.books.counts)
            except DriftpeakError as error:
                yield f"event: problem\ndata: {json.dumps(problem_content(error))}\n\n"
                return
            if counts.events != seen:
                seen, spoken = counts.events, time.monotonic()
                yield message(counts)
            elif time.monotonic() - spoken > ALIVE:
                spoken = time.monotonic()
                yield ": still here\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), LOOK)
    finally:
        kept.listeners.discard(changed)
        studies.streams -= 1


def message(counts: Counts) -> str:
    """As the format wants it; the id is the number of events of the study."""
    return f"id: {counts.events}\nevent: change\ndata: {json.dumps(plain(counts._asdict()))}\n\n"
