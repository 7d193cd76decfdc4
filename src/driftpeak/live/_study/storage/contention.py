"""Turns: processes of one machine that change a study at the same time do so one after another.

Turns avoid computations whose results would be discarded. They are optional, because the store
alone ensures that changes are consistent.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from driftpeak.live._study.storage.locks import lock, unlock

PATIENCE = 2.0  # seconds to wait for other processes, which may be compiling
MEANWHILE = 0.1  # seconds between two calls of `meanwhile`
EVERY = 0.004, 0.012  # seconds between two attempts, long enough to leave the processor free


@contextmanager
def turn(of: str, meanwhile: Callable[[], None]) -> Iterator[bool]:
    """Wait for a turn, and hold it during the block.

    The block also runs without a turn, if other processes take too long or there are no locks.

    Arguments:
        of: text that identifies the turn, for which there is an empty file in the temporary folder.
        meanwhile: called regularly while other processes have the turn.

    Returns:
        Whether this process has the turn.
    """
    name = hashlib.sha256(of.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"driftpeak-{name}.turn"
    # links are not followed, and nothing is ever written
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        number = os.open(path, flags, 0o600)
    except OSError:
        yield False
        return
    with open(number, "r+b", buffering=0) as file:
        mine = _wait(file, meanwhile)
        try:
            yield mine
        finally:
            if mine:
                unlock(file)


def _wait(file: BinaryIO, meanwhile: Callable[[], None]) -> bool:
    """Wait for the lock, and return whether this process has it."""
    end = time.monotonic() + PATIENCE
    while (now := time.monotonic()) < end:
        try:
            lock(file, shared=False, deadline=min(now + MEANWHILE, end), every=EVERY)
            return True
        except TimeoutError:
            meanwhile()
        except OSError:
            break
    return False
