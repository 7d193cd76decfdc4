"""A limit of one LAPACK thread, for posteriors that factor many small matrices."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from threading import Lock
from typing import Any

_lock = Lock()
_blocks = 0  # how many are running
_before: list[int] = []  # threads of each library before the first of them


@contextmanager
def single_threaded_lapack() -> Iterator[None]:
    """Limit LAPACK to one thread inside the block.

    On the CPU, JAX calls SciPy's OpenBLAS, which divides even a 46 x 46 factorisation among all
    cores and then waits for them: ten times slower, measured on two cores. The limit holds for the
    whole process, and until the last of the blocks that run at the same time ends.
    """
    global _blocks
    with _lock:
        if not _blocks:
            _before[:] = [get() for get, _ in _libraries()]
            for _, limit in _libraries():
                limit(1)
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks:
                for (_, limit), threads in zip(_libraries(), _before, strict=True):
                    limit(threads)


@cache
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], Any]]]:
    """Return the functions that get and set the number of threads of each loaded library.

    Searching for the libraries at each call would take 2 ms.
    """
    # JAX calls LAPACK through SciPy, which must be loaded to be limited. It is imported late,
    # because that takes a fifth of the time of importing JAX.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [(library.get_num_threads, _setter(library)) for library in found]


def _setter(library: Any) -> Callable[[int], Any]:
    """Return the function that sets a library's number of threads, from whichever thread calls it.

    Since version 3.8, threadpoolctl ignores all threads but the first that sets a limit of such an
    OpenBLAS. The limit would then miss calls from other threads, or never end.
    """
    if getattr(library, "threading_layer", None) == "pthreads":
        for prefix, suffix in product(("", "scipy_"), ("", "64_", "_64")):
            name = f"{prefix}openblas_set_num_threads{suffix}"
            if hasattr(library.dynlib, name):
                return getattr(library.dynlib, name)
    return library.set_num_threads


def _after_fork() -> None:
    """Renew the lock in a child process, because another thread of the parent may hold it."""
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
