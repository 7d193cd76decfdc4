"""A lock on an open file: it belongs to the file itself, whatever its name.

A link, a second mount or a new name of the file is the same file and the same lock, and nothing
lies beside the file that could be deleted. The lock ends when the file is closed, or the process
ends.
"""

import errno
import random
import sys
import time
from contextlib import suppress
from typing import BinaryIO

QUICK = 0.0003, 0.004  # seconds between two attempts: the first, and in the end

if sys.platform == "win32":
    import msvcrt

    PLACE = 2**40  # beyond any content: what is locked there cannot be read or written

    def _attempt(file: BinaryIO, shared: bool) -> None:
        place = file.tell()
        file.seek(PLACE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        finally:
            file.seek(place)

    def unlock(file: BinaryIO) -> None:
        """Release the lock, also for a child process that has inherited the file."""
        with suppress(OSError):  # there was none; the system releases one when the file is closed
            file.seek(PLACE)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _attempt(file: BinaryIO, shared: bool) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def unlock(file: BinaryIO) -> None:
        """Release the lock, also for a child process that has inherited the file."""
        with suppress(OSError):  # there was none; the system releases one when the file is closed
            fcntl.flock(file, fcntl.LOCK_UN)


def lock(
    file: BinaryIO,
    *,
    shared: bool,
    deadline: float,
    every: tuple[float, float] = QUICK,
) -> None:
    """Lock an open file, alone or with others that share it.

    Arguments:
        deadline: of `time.monotonic`, when to give up.
        every: seconds between two attempts, the first ones and in the end.

    Raises:
        TimeoutError: others held it until the deadline.
        OSError: this file system has no locks.
    """
    wait, longest = every
    while True:
        try:
            return _attempt(file, shared)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
                raise
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(wait * random.uniform(0.5, 1.0))
        wait = min(1.5 * wait, longest)
