"""A lock on an open file, which does not depend on the file's name.

A link, a second mount or a new name of the file refers to the same lock. There is no lock file that
could be deleted. The lock ends when the file is closed or the process ends.
"""

import errno
import random
import sys
import time
from contextlib import suppress
from typing import BinaryIO

QUICK = 0.0003, 0.004  # seconds between two attempts, at first and later

if sys.platform == "win32":
    import msvcrt

    PLACE = 2**40  # beyond the content, because locked bytes cannot be read or written

    def _attempt(file: BinaryIO, shared: bool) -> None:
        place = file.tell()
        file.seek(PLACE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        finally:
            file.seek(place)

    def unlock(file: BinaryIO) -> None:
        """Release the lock, also for a child process that inherited the file."""
        with suppress(OSError):  # no lock was held
            file.seek(PLACE)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _attempt(file: BinaryIO, shared: bool) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def unlock(file: BinaryIO) -> None:
        """Release the lock, also for a child process that inherited the file."""
        with suppress(OSError):  # no lock was held
            fcntl.flock(file, fcntl.LOCK_UN)


def lock(
    file: BinaryIO,
    *,
    shared: bool,
    deadline: float,
    every: tuple[float, float] = QUICK,
) -> None:
    """Lock an open file, exclusively or shared.

    Arguments:
        file: the open file.
        shared: whether other processes may hold a shared lock at the same time.
        deadline: value of `time.monotonic` at which to stop waiting.
        every: seconds between two attempts, at first and later.

    Raises:
        TimeoutError: other processes held the lock until the deadline.
        OSError: the file system has no locks.
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
