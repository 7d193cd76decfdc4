"""A limit of one LAPACK thread, for posteriors that factor many small matrices."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  JAX calls LAPACK through it: it must be loaded to be limited
from threadpoolctl import ThreadpoolController


@contextmanager
def single_threaded_lapack() -> Iterator[None]:
    """Limit LAPACK to one thread inside the block.

    On the CPU, JAX calls SciPy's OpenBLAS, which divides even a 46 x 46 factorisation among all
    cores and then waits for them: ten times slower, measured on two cores.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    # searching for the libraries takes 2 ms, too long for each call of an optimiser
    return ThreadpoolController()
