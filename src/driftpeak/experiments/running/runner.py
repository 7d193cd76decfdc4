"""Run experiments as jobs in an executor, and store finished jobs."""

import hashlib
import json
import os
import platform
import time as clock
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from driftpeak._core.errors import LARGEST_SEED, DriftpeakError, at_least_integer
from driftpeak._core.extras import netcdf_engine
from driftpeak._core.files import open_regular, write_dataset
from driftpeak._core.progress import progress_bar
from driftpeak.experiments.bootstrap import FEWEST
from driftpeak.experiments.experiment import Case, Experiment, Setup
from driftpeak.experiments.running.registry import EXPERIMENTS
from driftpeak.offline.data import data_path, require_data
from driftpeak.simulation._simulator import joined, simulate
from driftpeak.simulation.executors import MADE_WITH, likeness, spread, versions

MANY_TRIALS = 30
FEW, FEWER = FEWEST, 2  # trials of a quick run: enough for an interval; for a standard deviation


class Job(NamedTuple):
    """A job: some trials of a case, as plain data that can be sent to any process."""

    experiment: str
    case: str
    first_trial: int
    trials: int
    seed: int
    data: str  # path of the data file, or empty
    checksum: str  # SHA-256 of the data file
    quick: bool

    def __str__(self) -> str:
        last = self.first_trial + self.trials - 1
        return f"{self.case} of {self.experiment}, trials {self.first_trial:,} to {last:,}"

    @property
    def key(self) -> str:
        """File name of its results, different for other jobs, data, versions or threads."""
        # without the folder of the data file: its checksum identifies the content
        text = json.dumps([*self._replace(data=Path(self.data).name), likeness()])
        return f"{self.experiment}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.nc"


@dataclass(frozen=True)
class RunSize:
    """Size of a run.

    Attributes:
        trials: number of trials of every case; the paper's numbers by default.
        quick: run 5 trials of cases with 30 or more, else 2, and fewer steps of long cases.
        seed: seed of all random numbers.
        data: folder of the data files; by default the data folder.
    """

    trials: int | None = None
    quick: bool = False
    seed: int = 0
    data: Path | None = None

    def count(self, case: Case) -> int:
        """Return the number of trials of a case."""
        if self.trials is not None:
            return at_least_integer("trials", self.trials, 1)
        if self.quick:
            # only two different numbers, because programs are compiled for each
            return min(case.trials, FEW if case.trials >= MANY_TRIALS else FEWER)
        return case.trials

    def jobs(self, experiment: Experiment) -> list[Job]:
        """Return the jobs of an experiment, which do not depend on the number of workers."""
        return [
            Job(
                experiment.id,
                case.name,
                first,
                min(case.chunk, self.count(case) - first),
                at_least_integer("seed", self.seed, 0, LARGEST_SEED),
                *(_named(data_path(case.data, self.data)) if case.data else ("", "")),
                self.quick,
            )
            for case in experiment.cases
            for first in range(0, self.count(case), case.chunk)
        ]


def _named(path: Path) -> tuple[str, str]:
    """Return a file's absolute path and the SHA-256 of its content."""
    return str(path.resolve()), _checksum(path)


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_data(experiments: Sequence[Experiment], data: Path | None) -> None:
    """Raise DriftpeakError with instructions if a data file is missing."""
    for experiment in experiments:
        for case in experiment.cases:
            if case.data:
                try:
                    require_data(case.data, data)
                except DriftpeakError as error:
                    raise DriftpeakError(
                        f"{experiment.id} needs the data set {case.data}. {error}. "
                        "`driftpeak reproduce simulated` runs the experiments without data"
                    ) from None


def play(job: Job) -> xr.Dataset:
    """Run one job in this process."""
    case = next(c for c in EXPERIMENTS[job.experiment].cases if c.name == job.case)
    if job.data:
        _check_file(job)
    shorter = case.quick if job.quick else None
    build = shorter or case.build
    setup: Setup = build(Path(job.data)) if job.data else build()
    runs = simulate(
        setup.policies,
        setup.environment,
        steps=setup.steps,
        trials=job.trials,
        first_trial=job.first_trial,
        seed=job.seed,
        progress=False,
        predictions=case.predictions,
    ).drop_vars("compile_seconds")
    if case.totals_only:
        last = runs["step"].values[-1:]
        totals = runs[["regret", "side_queries", "restarts"]].sum("step", dtype=float)
        runs = runs.drop_dims("step").merge(totals.expand_dims(step=last, axis=-1))
        runs = runs.transpose("policy", "trial", "step")
    return runs.merge(setup.extra).assign_attrs(
        settings=json.dumps(setup.settings, default=str),
        independent_trials=int(not case.data),  # on recorded data all trials share one history
        steps=setup.steps,
        shortened=int(shorter is not None),
    )


def _check_file(job: Job) -> None:
    """Raise DriftpeakError if the data file on this machine is missing or different."""
    path = Path(job.data)
    if not path.is_file() or _checksum(path) != job.checksum:
        state = "another file" if path.is_file() else "no file"
        raise DriftpeakError(
            f"{path} on {platform.node()} must be the data file of the machine where the run was "
            f"started; got {state}. Every worker needs the same data files at the same path "
            "(shared or copied)"
        )


Done = Callable[[Experiment, dict[str, xr.Dataset], float], None]


def run(
    experiments: Sequence[Experiment],
    size: RunSize,
    done: Done,
    *,
    chunks: Path | None = None,
    executor: Executor | None = None,
) -> None:
    """Run every job, and pass each experiment's results to `done` when they are complete.

    The results do not depend on the executor, because the result of a job depends only on the job.

    Arguments:
        done: called with the experiment, its results and the processor time of its jobs in seconds.
        chunks: folder in which finished jobs are stored, so that an interrupted run can be resumed.
        executor: object with the interface of `concurrent.futures`, such as a process pool or a
            cluster; without it, jobs run in this process.

    Raises:
        DriftpeakError: a data file is missing in a worker; a worker has other versions than this
            process; the folder is not writable.
    """
    todo = {experiment.id: size.jobs(experiment) for experiment in experiments}
    results: dict[Job, xr.Dataset] = {}
    total = sum(len(jobs) for jobs in todo.values())
    with progress_bar("reproducing") as bar:
        bar.expect(total)

        def finish(job: Job, runs: xr.Dataset) -> None:
            results[job] = runs
            bar.now(job.experiment)
            bar.done()
            jobs = todo[job.experiment]
            if all(each in results for each in jobs):
                parts = [results.pop(each) for each in jobs]
                seconds = sum(float(part.attrs["job_seconds"]) for part in parts)
                done(EXPERIMENTS[job.experiment], _assemble(jobs, parts), seconds)
                for each in jobs if chunks else ():
                    (chunks / each.key).unlink(missing_ok=True)  # type: ignore[operator]

        missing = []
        for job in (job for jobs in todo.values() for job in jobs):
            kept = None if chunks is None else _read(chunks / job.key)
            if kept is None:
                missing.append(job)
            else:
                finish(job, kept)
        shares = _shares(missing, executor)
        with closing(spread(play_several, shares, executor, called=_called)) as played:
            for jobs, parts in played:
                for job, runs in zip(jobs, parts, strict=True):
                    if chunks is not None:
                        write_dataset(runs, chunks / job.key)
                    finish(job, runs)


def _shares(jobs: Sequence[Job], executor: Executor | None) -> list[tuple[Job, ...]]:
    """Return the jobs grouped by the worker that runs them.

    A quick run spends most of its time on compilation. The cases of an experiment share compiled
    programs, so one worker runs all of them. Experiments with most cases come first, so that no
    worker ends long after the others.
    """
    if executor is None or not all(job.quick for job in jobs):
        return [(job,) for job in jobs]

    def programs(job: Job) -> str:
        return EXPERIMENTS[job.experiment].programs or job.experiment

    names = Counter(map(programs, jobs))
    return [tuple(job for job in jobs if programs(job) == name) for name, _ in names.most_common()]


def _called(jobs: Sequence[Job]) -> str:
    return "; ".join(map(str, jobs))


def play_several(jobs: Sequence[Job]) -> list[xr.Dataset]:
    """Run several jobs one after another."""
    return [timed_play(job) for job in jobs]


def timed_play(job: Job) -> xr.Dataset:
    """Run a job, and add its processor time in seconds, including compilation."""
    started = clock.process_time()
    runs = play(job)
    return runs.assign_attrs(job_seconds=clock.process_time() - started)


def _assemble(jobs: list[Job], parts: list[xr.Dataset]) -> dict[str, xr.Dataset]:
    """Return the concatenated parts of every case, with trials in order."""
    results = {}
    for case in dict.fromkeys(job.case for job in jobs):
        mine = [part for job, part in zip(jobs, parts, strict=True) if job.case == case]
        whole = joined(mine, "trial").assign(seconds=sum(part["seconds"] for part in mine))
        del whole.attrs["job_seconds"]
        results[case] = whole.assign_attrs(trials=whole.sizes["trial"])
    return results


def provenance(
    experiment: Experiment, size: RunSize, seconds: float
) -> dict[str, str | int | float]:
    """Return the provenance of an experiment's results, for their attributes."""
    return {
        "experiment": experiment.id,
        "title": experiment.title,
        "source": experiment.source,
        "choices": json.dumps(experiment.choices),
        "seed": size.seed,
        "quick": int(size.quick),
        "trials_asked": "paper" if size.trials is None else str(size.trials),
        "job_seconds": seconds,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        **{f"{name}_version": versions()[name] for name in MADE_WITH},
    }


def _read(path: Path) -> xr.Dataset | None:
    """Return a finished job's results, or None if there is no readable file."""
    try:
        with open_regular(path) as file, xr.open_dataset(file, engine=netcdf_engine()) as runs:
            return runs.load()
    except (OSError, ValueError, KeyError):
        return None


def read_results(path: Path) -> tuple[dict[str, xr.Dataset], dict[str, object]]:
    """Return an experiment's results by case, and their provenance.

    Raises:
        DriftpeakError: the file holds no results.
    """
    try:
        with open_regular(path) as file, xr.open_datatree(file, engine=netcdf_engine()) as tree:
            loaded = tree.load()
    except (OSError, ValueError, KeyError) as error:
        raise DriftpeakError(
            f"{path} must hold results of an experiment; got an unreadable file ({error}). Run "
            "`driftpeak reproduce` again"
        ) from None
    cases = {
        str(node.attrs["case"]): node.to_dataset(inherit=False) for node in loaded.children.values()
    }
    return cases, {str(name): value for name, value in loaded.attrs.items()}


def write_results(
    results: dict[str, xr.Dataset], attributes: dict[str, str | int | float], path: Path
) -> None:
    """Write results to one NetCDF file with a group per case.

    Raises:
        DriftpeakError: the file cannot be written.
    """
    groups = {
        f"case{number:02d}": runs.assign_attrs(case=name)
        for number, (name, runs) in enumerate(results.items())
    }
    tree = xr.DataTree.from_dict({"/": xr.Dataset(attrs=attributes), **groups})
    write_dataset(tree, path)


def mean_regret(runs: xr.Dataset) -> np.ndarray:
    """Return the regret per step of every trial, shape `(policy, trial)`."""
    steps = int(runs.attrs["steps"])
    return np.asarray(runs["regret"].sum("step").transpose("policy", "trial").values) / steps
