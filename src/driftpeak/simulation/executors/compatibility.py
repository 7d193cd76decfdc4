"""What results depend on beside their arguments: whoever shares the work has the same."""

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
    """What is installed here."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: version(name) for name in MADE_WITH}}


def threads() -> int:
    """Threads that XLA computes with here: it cuts sums for them, and so rounds them.

    As many as NPROC says when it first computes, or else as this process may use cores.
    """
    try:
        return max(int(os.environ["NPROC"]), 1)
    except (KeyError, ValueError):
        pass
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def likeness() -> dict[str, str]:
    """What results come from: where it is the same, they are the same."""
    # where arrays go if nothing else is said
    (device,) = jnp.zeros(()).devices()
    return versions() | {THREADS: str(threads()), "platform": str(device.platform)}


def check_alike(worker: str, found: Mapping[str, str | None]) -> None:
    """Raise DriftpeakError if a worker differs from this process, as far as it says."""
    mine = likeness()
    wrong = [
        f"{name} {found[name] or 'missing'} (here {mine[name]})"
        for name in mine
        if name in found and found[name] != mine[name]
    ]
    if wrong:
        remedy = "install the same versions there, or stop that worker"
        if len(wrong) == 1 and wrong[0].startswith(THREADS):
            remedy = (
                f"start it with NPROC={mine[THREADS]} in its environment, or this process with "
                f"NPROC={found[THREADS]} (NPROC=1 for both lets many workers share a machine best)"
            )
        raise DriftpeakError(
            f"the worker {worker} has {', '.join(wrong)}; results would depend on who plays what: "
            f"{remedy}"
        )
