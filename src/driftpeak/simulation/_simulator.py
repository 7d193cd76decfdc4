"""Simulate policies on an environment, in chunks of trials, in this or in other processes."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import closing
from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    LARGEST_SEED,
    MOST_STEPS,
    DriftpeakError,
    at_least_integer,
    one_of,
    shown,
    warn,
)
from driftpeak._core.files import check_writable
from driftpeak._core.numerics.machine_code import cache_programs
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.numerics.threads import single_threaded_lapack
from driftpeak._core.progress import Progress, progress_bar
from driftpeak._core.times import Times, TimesLike, check_times
from driftpeak.environments import Environment
from driftpeak.policies import Policy
from driftpeak.policies.player import Reading
from driftpeak.simulation._aggregation import KEEPS, Gathering, Keep, check_room, summarised
from driftpeak.simulation._chunk_runner import ChunkRunner, Simulation, to_device
from driftpeak.simulation._chunking import MEMORY_BUDGET, MOST_TRIALS, Chunk, Plan, make_plan
from driftpeak.simulation._folder import Folder, manifest_of
from driftpeak.simulation._programs import advance, random_keys, start
from driftpeak.simulation._record import RecordOptions
from driftpeak.simulation._serialization import opened, packed
from driftpeak.simulation.executors import spread, taken

if TYPE_CHECKING:
    from distributed import Client

FEW_CHUNKS = 32
"""Number of chunks below which each policy of a chunk is a job of its own."""


@checked
@double_precision
def simulate(
    policies: Mapping[str, Policy],
    environment: Environment[Any],
    *,
    steps: int | None = None,
    times: TimesLike | None = None,
    trials: int = 1,
    first_trial: int = 0,
    seed: int = 0,
    memory_budget: int = MEMORY_BUDGET,
    chunk: int | None = None,
    keep: Keep = "everything",
    folder: str | PathLike[str] | None = None,
    executor: "Executor | Client | None" = None,
    progress: bool | None = None,
    predictions: bool = False,
    readings: bool = False,
    forecast: bool = False,
) -> xr.Dataset:
    """Simulate every policy on the same trials of an environment, and record the results.

    All policies see the same functions and the same noise, so trial i of one policy is comparable
    with trial i of another (common random numbers). On one machine, equal arguments give equal
    results to the last bit, whichever executor runs the work.
    Side queries are answered at once from the function of the step. Their noise is independent and
    has the variance of the noise on rewards.

    Arguments:
        policies: mapping from name to policy; the result uses these names.
        environment: the moving function.
        steps: number of steps, at times 1, 2, ..., `steps`; give either `steps` or `times`.
        times: the times of the steps, non-decreasing, in any unit.
        trials: number of independent trials.
        first_trial: number of the first trial. A trial depends only on the seed and its number, so
            parts of a run can be simulated separately.
        seed: seed of all random numbers.
        memory_budget: bytes that a process may use for the trials in progress, in addition to the
            recorded results. Results depend on it only by rounding.
        chunk: number of trials simulated together. The default is as many as the memory budget
            allows, at most 256, and fewer if their states would exceed the processor's cache.
            Results depend on it only by rounding.
        keep: "everything" records every step of every trial. "summaries" records means over trials
            with their intervals at every step, and totals of every trial, so that memory does not
            grow with trials x steps.
        folder: folder in which every finished chunk is stored as a NetCDF file. The same call
            resumes an interrupted or killed run, with the same bits. `driftpeak.read_runs` reads
            the folder.
        executor: executor that runs the chunks: `driftpeak.simulation.executors.local_workers`, any
            other `concurrent.futures` executor that does not fork, or a `distributed.Client` of a
            dask cluster. If there are few chunks, the policies of a chunk are distributed too.
        progress: show a progress bar; by default if the error output is a terminal.
        predictions: also record the squared error of each policy's one-step forecast of the
            noiseless function: `squared_error` at every step, mean over all points, and
            `point_error` (policy x trial x point), mean over all steps. NaN for policies that make
            no forecasts.
        readings: also record the policies' `readings` after each step, for example
            `believed_drift` of `Auto`. NaN for policies without readings.
        forecast: also record each policy's forecast one median step after the last step:
            `expected_mean` and `expected_deviation` of the function (policy x trial x point), and
            `expected_noise`, the standard deviation of the noise on a reward (policy x trial). All
            are in units of the reward. NaN for policies that make no forecasts.

    Returns:
        A dataset with dimensions `policy, trial, step` and the variables `action` (point number),
        `reward` (as observed), `regret` (instantaneous, of the noiseless function), `restarts` (1
        where the policy reset because of its observations) and `side_queries` (number of answers
        by the expert). Per policy it holds `seconds` (run time), `compile_seconds` and `foresight`
        ("none" except for yardsticks).

        With keep="summaries", the variables by policy and step are `mean_regret` over trials, its
        standard error (`mean_regret_stderr`) and 95 % interval by Student's t (`mean_regret_low`,
        `mean_regret_high`), `mean_regret_so_far` (regret per step up to this step) with
        `mean_regret_so_far_stderr`, and `mean_side_queries`. The variables by policy and trial are
        `total_regret`, `total_side_queries`, `total_restarts` and `best_steps` (steps on a best
        point).

    Raises:
        DriftpeakError: no policy; numbers out of range (a seed above 2**63 - 1, trial numbers from
            2**32 on); more results than this machine has memory; a policy whose number of points
            differs from the environment's; a memory budget too small for one trial; a posterior
            without precision because the noise is too small (checked at least every 1,024 steps);
            predictions, readings or a forecast requested with summaries; a folder of another
            simulation, or one that cannot be written; an invalid executor; workers that die or have
            other versions or threads; a policy or environment that cannot be sent to them.
        KeyboardInterrupt: Ctrl-C; if a folder was given, the message states how many chunks are
            stored.

    Warns:
        DriftpeakWarning: rewards outside the bound given to a policy, which are used as they are;
            or a damaged chunk in the folder, which is simulated again.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> world = dp.MarkovDrift(prior, drift=0.02)
        >>> runs = dp.simulate({"TV": dp.TVGPUCB(prior, drift=0.02)}, world, steps=30, trials=4)
        >>> runs["regret"].shape                     # policy, trial, step
        (1, 4, 30)

    Source: IT25 (1); M25 (1)-(3).
    """
    if not policies:
        raise DriftpeakError(
            "policies must be a mapping of at least one policy by its name, such as "
            f"{{'TV': dp.TVGPUCB(prior, drift=0.01)}}; got {shown(policies)}"
        )
    times = _times(steps, times)
    first_trial = at_least_integer("first_trial", first_trial, 0, MOST_TRIALS - 1)
    trials = at_least_integer("trials", trials, 1, MOST_TRIALS - first_trial)
    seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
    memory_budget = at_least_integer("memory_budget", memory_budget, 1)
    chunk = None if chunk is None else at_least_integer("chunk", chunk, 1)
    keep = one_of("keep", keep, KEEPS)
    if keep == "everything":
        check_room(len(policies), trials, len(times))
    options = RecordOptions(predictions, readings, forecast)
    if keep == "summaries" and (
        asked := [name for name, wanted in vars(options).items() if wanted]
    ):
        raise DriftpeakError(
            f"{asked[0]} must be False if keep is 'summaries'; got True. Use keep='everything'"
        )
    cache_programs()
    simulation = Simulation(dict(policies), environment, times, seed, options)
    with progress_bar("simulating", show=progress) as bar:
        bar.now("preparing")
        runner = ChunkRunner(simulation)
        runner.check_points()
        plan = make_plan(
            [runner.world, *(runner.player(name) for name in policies)],
            policies=len(policies),
            points=runner.points,
            steps=len(times),
            first_trial=first_trial,
            trials=trials,
            chunk=chunk,
            budget=memory_budget,
        )
        into = None
        if folder is not None:
            into = Folder.claim(folder, manifest_of(simulation, plan, keep))
        gathering = Gathering(keep, plan.chunks)
        with taken(executor) as shared:
            _gather(runner, plan, keep, into, shared, gathering, bar)
    runs = gathering.dataset()
    _warn_of_contradictions(policies, runs)
    return runs.drop_vars("contradictions")


@checked
@double_precision
def true_functions(
    environment: Environment[Any],
    *,
    steps: int | None = None,
    times: TimesLike | None = None,
    trials: int = 1,
    seed: int = 0,
) -> np.ndarray:
    """Return the true functions that `simulate` uses with the same arguments.

    Arguments:
        environment, steps, times, trials, seed: as for `simulate`.

    Returns:
        The noiseless values, shape `(trial, step, point)`, all in memory.

    Raises:
        DriftpeakError: numbers out of range.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> dp.true_functions(dp.MarkovDrift(prior, drift=0.02), steps=30, trials=4).shape
        (4, 30, 20)
    """
    times = _times(steps, times)
    trials = at_least_integer("trials", trials, 1, MOST_TRIALS)
    seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
    world = to_device(environment.prepare(times))
    state = start(world, random_keys(seed, np.arange(trials)).world)
    values = advance(world, state, jnp.asarray(times))[1]
    return np.ascontiguousarray(np.asarray(values).swapaxes(0, 1))


def _times(steps: int | None, times: TimesLike | None) -> Times:
    if (steps is None) == (times is None):
        got = "neither" if steps is None else "both"
        raise DriftpeakError(f"exactly one of steps and times must be given; got {got}")
    return check_times(at_least_integer("steps", steps, 1, MOST_STEPS) if times is None else times)


def _gather(
    runner: ChunkRunner,
    plan: Plan,
    keep: Keep,
    into: Folder | None,
    executor: Executor | None,
    gathering: Gathering,
    bar: Progress,
) -> None:
    """Add every chunk to `gathering`: stored chunks are read, missing ones simulated and stored."""
    missing: list[Chunk] = []
    ready: set[Chunk] = set()
    writing: Chunk | None = None
    for chunk in plan.chunks:
        part = None if into is None else into.read(chunk)
        if part is None:
            missing.append(chunk)
        else:
            gathering.add(chunk, part)
            ready.add(chunk)
    if into is not None and missing:
        check_writable(into.path)
    try:
        for chunk, part in _played(runner, plan, missing, keep, executor, bar):
            if into is not None:
                writing = chunk
                into.write(chunk, part)
                ready.add(chunk)
            gathering.add(chunk, part)
    except KeyboardInterrupt:
        if into is None:
            raise
        if writing is not None and into.read(writing) is not None:  # Ctrl-C just after writing
            ready.add(writing)
        raise KeyboardInterrupt(
            f"{len(ready):,} of {len(plan.chunks):,} chunks are stored in {into.path}; call "
            "simulate with the same arguments to resume"
        ) from None


def _played(
    runner: ChunkRunner,
    plan: Plan,
    missing: list[Chunk],
    keep: Keep,
    executor: Executor | None,
    bar: Progress,
) -> Iterator[tuple[Chunk, xr.Dataset]]:
    """Simulate the missing chunks, and yield each with the results that are kept."""
    names = tuple(runner.simulation.policies)
    readings = runner.readings
    if executor is None or not missing:
        bar.expect(len(missing) * plan.blocks * len(names))
        with single_threaded_lapack():
            for chunk in missing:
                part = runner.play(plan, chunk, names, readings, bar)
                yield chunk, summarised(part) if keep == "summaries" else part
        return
    content = packed(runner.simulation)
    few = len(missing) < FEW_CHUNKS
    shares = [(name,) for name in names] if few else [names]
    jobs = [Job(plan, chunk, share, readings, keep) for chunk in missing for share in shares]
    bar.expect(len(jobs))
    bar.now(f"{len(missing):,} chunks")
    parts: dict[Chunk, dict[tuple[str, ...], xr.Dataset]] = {}
    with closing(spread(play_job, jobs, executor, common=content)) as played:
        for job, part in played:
            bar.done()
            mine = parts.setdefault(job.chunk, {})
            mine[job.names] = part
            if len(mine) == len(shares):
                yield job.chunk, joined([mine[share] for share in shares], "policy")
                del parts[job.chunk]


class Job(NamedTuple):
    """A job of another process: some policies on one chunk."""

    plan: Plan
    chunk: Chunk
    names: tuple[str, ...]
    readings: tuple[Mapping[str, Reading], ...]
    keep: Keep

    def __str__(self) -> str:
        first, last = self.chunk.first_trial, self.chunk.first_trial + self.chunk.trials - 1
        return f"{', '.join(map(repr, self.names))} in trials {first:,} to {last:,}"


@double_precision
def play_job(job: Job, content: bytes) -> xr.Dataset:
    """Run one job of a packed simulation in this process."""
    runner = _prepared(content)
    with single_threaded_lapack():
        part = runner.play(job.plan, job.chunk, job.names, job.readings, Progress(""))
    return summarised(part) if job.keep == "summaries" else part


@lru_cache(maxsize=1)
def _prepared(content: bytes) -> ChunkRunner:
    """Unpack and prepare a simulation, once in each process."""
    return ChunkRunner(opened(content))


def joined(parts: list[xr.Dataset], dimension: str) -> xr.Dataset:
    """Concatenate parts along a dimension; what does not have it is that of the first part."""
    return xr.concat(
        parts,
        dimension,
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="exact",
        combine_attrs="override",
    )


def _warn_of_contradictions(policies: Mapping[str, Policy], runs: xr.Dataset) -> None:
    for name, policy in policies.items():
        if count := int(runs["contradictions"].sel(policy=name)):
            rewards = runs.sizes["trial"] * runs.sizes["step"]
            warn(
                f"policy {name!r}: {count:,} of {rewards:,} rewards are outside its bound "
                f"({policy.bounds_in_words}), so its guarantees do not hold. Give a larger bound"
            )
