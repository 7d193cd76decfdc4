"""Executors: processes on this machine, or the workers of a dask cluster."""

from driftpeak.simulation.executors.cluster import cluster_workers, taken
from driftpeak.simulation.executors.compatibility import MADE_WITH, likeness, versions
from driftpeak.simulation.executors.dispatch import spread
from driftpeak.simulation.executors.local import local_workers

__all__ = [
    "MADE_WITH",
    "cluster_workers",
    "likeness",
    "local_workers",
    "spread",
    "taken",
    "versions",
]
