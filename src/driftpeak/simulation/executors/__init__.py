"""Executors: processes on this machine, or the workers of a dask cluster."""

from driftpeak.simulation.executors._cluster import cluster_workers, taken
from driftpeak.simulation.executors._compatibility import MADE_WITH, likeness, versions
from driftpeak.simulation.executors._dispatch import spread
from driftpeak.simulation.executors._local import local_workers

__all__ = [
    "MADE_WITH",
    "cluster_workers",
    "likeness",
    "local_workers",
    "spread",
    "taken",
    "versions",
]
