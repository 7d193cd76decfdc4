"""What results depend on beside their arguments: whoever shares the work has the same."""

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version

from driftpeak.errors import DriftpeakError

MADE_WITH = ("driftpeak", "jax", "jaxlib", "equinox", "numpy", "scipy", "xarray")


@cache
def versions() -> dict[str, str]:
    """What results come from: with the same versions they are the same."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: version(name) for name in MADE_WITH}}


def check_versions(worker: str, found: Mapping[str, str | None]) -> None:
    """Raise DriftpeakError if a worker's versions differ from those here."""
    wrong = [
        f"{name} {found.get(name) or 'missing'} (here {mine})"
        for name, mine in versions().items()
        if found.get(name) != mine
    ]
    if wrong:
        raise DriftpeakError(
            f"the worker {worker} has {', '.join(wrong)}; results would depend on who plays what: "
            "install the same versions there, or stop that worker"
        )
