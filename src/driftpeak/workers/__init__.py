"""Who shares the work: processes of this machine, or the workers of a dask cluster."""

from driftpeak.workers.alike import MADE_WITH, likeness, versions
from driftpeak.workers.cluster import cluster_workers, taken
from driftpeak.workers.local import local_workers
from driftpeak.workers.spreading import spread

__all__ = [
    "MADE_WITH",
    "cluster_workers",
    "likeness",
    "local_workers",
    "spread",
    "taken",
    "versions",
]
