"""A limit of one LAPACK thread, for posteriors that factor many small matrices."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_limits: list[Any] = []  # the limit, once for each block that is running


@contextmanager
def single_threaded_lapack() -> Iterator[None]:
    """Limit LAPACK to one thread inside the block.

    On the CPU, JAX calls SciPy's OpenBLAS, which divides even a 46 x 46 factorisation among all
    cores and then waits for them: ten times slower, measured on two cores. The limit holds for the
    whole process, and until the last of the blocks that run at the same time ends.
    """
    with _lock:
        _limits.append(_limits[0] if _limits else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()


@cache
def _controller() -> Any:
    """Return the loaded libraries: searching for them at each call would take 2 ms."""
    # JAX calls LAPACK through SciPy, which must be loaded to be limited. It is imported late,
    # because that takes a fifth of the time of importing JAX.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _after_fork() -> None:
    """Renew the lock in a child process, because another thread of the parent may hold it."""
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
