"""Versions and settings on which results depend; all workers must have the same."""

import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version

import jax.numpy as jnp

from driftpeak._core.errors import DriftpeakError

MADE_WITH = ("driftpeak", "jax", "jaxlib", "equinox", "numpy", "scipy", "xarray")
THREADS = "threads (NPROC)"


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages on which results depend."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: version(name) for name in MADE_WITH}}


def threads() -> int:
    """Return the number of threads of XLA in this process.

    XLA splits sums among its threads, so the number changes the rounding. It is the value of the
    environment variable NPROC at the first computation, or else the number of cores available to
    this process.
    """
    try:
        return max(int(os.environ["NPROC"]), 1)
    except (KeyError, ValueError):
        pass
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def likeness() -> dict[str, str]:
    """Return everything except the arguments that determines results to the last bit."""
    # the default device of arrays
    (device,) = jnp.zeros(()).devices()
    return versions() | {THREADS: str(threads()), "platform": str(device.platform)}


def check_alike(worker: str, reported: Mapping[str, str | None]) -> None:
    """Raise DriftpeakError if a version or setting of a worker differs from this process."""
    mine = likeness()
    wrong = [
        f"{name} {reported[name] or 'missing'} (here {mine[name]})"
        for name in mine
        if name in reported and reported[name] != mine[name]
    ]
    if wrong:
        remedy = "install the same versions there, or stop that worker"
        if len(wrong) == 1 and wrong[0].startswith(THREADS):
            remedy = (
                f"start it with NPROC={mine[THREADS]} in its environment, or this process with "
                f"NPROC={reported[THREADS]} (NPROC=1 for both suits many workers on a machine)"
            )
        raise DriftpeakError(
            f"worker {worker} must have the versions and threads of this process, so that results "
            f"do not depend on the worker; got {', '.join(wrong)}. Remedy: {remedy}"
        )
