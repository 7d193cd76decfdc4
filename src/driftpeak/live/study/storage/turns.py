"""Turns: the processes of one machine that change a study at the same time do so in turn.

A courtesy that spares their processors what would be computed in vain. Nothing depends on it: a
study changes only as its store allows.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from driftpeak.live.study.storage.locks import lock, unlock

PATIENCE = 2.0  # seconds to wait for others, who may be compiling
MEANWHILE = 0.1  # seconds between two calls of what is to be done meanwhile
EVERY = 0.004, 0.012  # seconds between two attempts: who waits shall not take the processor


@contextmanager
def turn(of: str, meanwhile: Callable[[], None]) -> Iterator[bool]:
    """Be the only one for this block, unless others take too long, or there are no such locks here.

    Arguments:
        of: what it is about. An empty file in the folder for temporary files stands for it.
        meanwhile: called now and then while others are at it.

    Returns:
        Whether this is our turn.
    """
    name = hashlib.sha256(of.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"driftpeak-{name}.turn"
    # no link of somebody else's is followed, and nothing is ever written
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
    """Whether it is our turn, and not only our patience that has ended."""
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
