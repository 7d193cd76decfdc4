"""Parallel execution of a command: `--workers` and `--cluster`."""

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from driftpeak._core.errors import DriftpeakError
from driftpeak.cli.options import MOST_WORKERS

if TYPE_CHECKING:
    from concurrent.futures import Executor

LEVEL = "xla_backend_optimization_level"


@dataclass(frozen=True)
class Workers:
    """The processes that share the work."""

    workers: Annotated[
        int | None,
        typer.Option(
            help="Number of processes; default 1, for `reproduce` 2.",
            max=MOST_WORKERS,
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://HOST:PORT",
            help="Scheduler of a dask cluster whose workers run the work instead.",
        ),
    ] = None

    def start(self, default: int = 1) -> "AbstractContextManager[Executor | None]":
        """Start the processes, or connect to the cluster, until the context ends.

        Processes of this machine share this process's cache of compiled programs.

        Raises:
            DriftpeakError: both options are given, or `driftpeak.simulation.executors` refuses.
        """
        from driftpeak._core.numerics import disk_cache
        from driftpeak._core.numerics.machine_code import cache_root
        from driftpeak.simulation.executors import cluster_workers, local_workers

        if self.cluster is None:
            wanted = default if self.workers is None else self.workers
            return local_workers(wanted, programs=cache_root() if disk_cache.is_on() else None)
        if self.workers is not None:
            raise DriftpeakError(
                "--workers and --cluster exclude each other. Omit --workers: a cluster has the "
                "workers that were started by `dask worker`."
            )
        return cluster_workers(self.cluster)


def one_core_each() -> None:
    """Limit this process and its child processes to one thread each. Call it before JAX is loaded.

    Several processes with as many threads as cores each wait for one another. Sums are also split
    by the number of threads and rounded accordingly, so results would depend on the machine. An
    existing value of NPROC, which XLA reads, is kept.
    """
    os.environ.setdefault("NPROC", "1")


def compile_soon() -> None:
    """Reduce the compilation time to a third, for programs that then run slower.

    This suits runs that take less time than their compilation. It affects this process and its
    child processes; call it before JAX is loaded. Results differ by rounding only. Options that are
    already in XLA_FLAGS are kept.
    """
    from driftpeak._core.numerics.compiler import soon

    flags = os.environ.get("XLA_FLAGS", "")
    for name, value in {LEVEL: 0, **soon()}.items():
        if name not in flags:
            flags += f" --{name}={value}".lower()
    os.environ["XLA_FLAGS"] = flags.strip()
