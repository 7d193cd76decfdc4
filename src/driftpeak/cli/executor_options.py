"""Who shares the work of a command: `--workers` and `--cluster`."""

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
    """Who shares the work."""

    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes that share the work; by default one, of `reproduce` two.",
            max=MOST_WORKERS,
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://HOST:PORT",
            help="Scheduler of a dask cluster whose workers share the work instead.",
        ),
    ] = None

    def start(self, default: int = 1) -> "AbstractContextManager[Executor | None]":
        """The processes, or the cluster's; gone with the context.

        Processes of this machine share the compiled programs that this one keeps.

        Raises:
            DriftpeakError: both are asked for, or what `driftpeak.simulation.executors` refuses.
        """
        from driftpeak._core.numerics import disk_cache as kept
        from driftpeak.cli.program_cache import root
        from driftpeak.simulation.executors import cluster_workers, local_workers

        if self.cluster is None:
            wanted = default if self.workers is None else self.workers
            return local_workers(wanted, programs=root() if kept.is_on() else None)
        if self.workers is not None:
            raise DriftpeakError(
                "give either --workers N (processes here) or --cluster; a cluster has as many "
                "workers as were started with `dask worker`"
            )
        return cluster_workers(self.cluster)


def one_core_each() -> None:
    """Let this process and those it starts compute with one thread each; before JAX computes.

    With as many threads as cores in each of several processes, these wait for one another. And sums
    cut for other numbers of threads are rounded otherwise: a result would depend on the machine.
    Whoever sets NPROC, which XLA reads, knows better.
    """
    os.environ.setdefault("NPROC", "1")


def compile_soon() -> None:
    """Let this process and those it starts compile in a third of the time what then runs slower.

    For runs in which there is more to compile than to play; before JAX computes. Results are the
    same but for rounding. Whoever names one of the options in XLA_FLAGS knows better.
    """
    from driftpeak._core.numerics.compiler import soon

    flags = os.environ.get("XLA_FLAGS", "")
    for name, value in {LEVEL: 0, **soon()}.items():
        if name not in flags:
            flags += f" --{name}={value}".lower()
    os.environ["XLA_FLAGS"] = flags.strip()
