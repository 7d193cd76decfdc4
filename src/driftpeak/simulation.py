"""Play policies against an environment: one compiled loop over steps, all trials at once."""

import math
import time as clock
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from driftpeak.beliefs import check_times
from driftpeak.environments import Environment
from driftpeak.errors import DriftpeakError, at_least_integer
from driftpeak.forgetting import Times, TimesLike
from driftpeak.policies import Policy
from driftpeak.precision import double_precision
from driftpeak.progress import Advance, progress_bar
from driftpeak.threads import single_threaded_lapack

MEMORY_BUDGET = 2**30
BLOCK = 1024  # steps in one compiled call, at most
REFRESH = 4096  # steps after which accumulated rounding errors are removed


@double_precision
def simulate(
    policies: Mapping[str, Policy[Any]],
    environment: Environment[Any],
    *,
    steps: int | None = None,
    times: TimesLike | None = None,
    trials: int = 1,
    seed: int = 0,
    memory_budget: int = MEMORY_BUDGET,
    progress: bool | None = None,
) -> xr.Dataset:
    """Play every policy against the same worlds, and record what happened.

    All policies see the same functions and the same noise: trial i of one is comparable with trial
    i of another (common random numbers). Equal arguments give equal results on one machine.

    Arguments:
        policies: by the name they shall have in the result.
        environment: the moving function.
        steps: number of steps, at times 1, 2, ..., `steps`; or
        times: the times of the steps instead, non-decreasing, in any unit.
        trials: independent worlds.
        seed: of everything random.
        memory_budget: bytes that the run may use for its arrays; trials are played in groups small
            enough for it. Results do not depend on it beyond rounding.
        progress: show a progress bar; by default if the error output is a terminal.

    Returns:
        A dataset with dimensions `policy, trial, step` and variables `action` (point number),
        `reward` (as observed), `regret` (instantaneous, of the noiseless function),
        `side_queries`; and, per policy, `seconds` (running), `compile_seconds` and `foresight`
        ("none" for all but yardsticks).

    Raises:
        DriftpeakError: no policy, numbers out of range, a policy for another number of points than
            the environment's, or a memory budget too small for one trial.
    """
    if not policies:
        raise DriftpeakError("give at least one policy")
    times = _times(steps, times)
    trials = at_least_integer("trials", trials, 1)
    seed = at_least_integer("seed", seed, 0)
    world = _to_device(environment.prepare(times))
    players = {name: _to_device(policy.prepare(times)) for name, policy in policies.items()}
    points = _check_points(world, players)
    plan = _plan(world, players, points, len(times), trials, memory_budget)
    foresight = [player.foresight for player in players.values()]
    record = _Record(list(policies), foresight, trials, len(times))
    work = plan.groups * plan.blocks * len(players)
    with single_threaded_lapack(), progress_bar("simulating", work, show=progress) as advance:
        for group in range(plan.groups):
            _play_group(world, players, times, seed, plan, group, record, advance)
    return record.dataset(times, seed)


@double_precision
def true_functions(
    environment: Environment[Any],
    *,
    steps: int | None = None,
    times: TimesLike | None = None,
    trials: int = 1,
    seed: int = 0,
) -> np.ndarray:
    """The functions that `simulate`, with the same arguments, plays against.

    Returns:
        Shape `(trial, step, point)`; all of it in memory.

    Raises:
        DriftpeakError: numbers out of range.
    """
    times = _times(steps, times)
    trials, seed = at_least_integer("trials", trials, 1), at_least_integer("seed", seed, 0)
    world = _to_device(environment.prepare(times))
    state = jax.vmap(world.init)(_keys(seed, np.arange(trials)).world)
    values = _advance(world, state, jnp.asarray(times))[1]
    return np.ascontiguousarray(np.asarray(values).swapaxes(0, 1))


def _times(steps: int | None, times: TimesLike | None) -> Times:
    if (steps is None) == (times is None):
        raise DriftpeakError("give either steps or times")
    return check_times(at_least_integer("steps", steps, 1) if times is None else times)


class _Plan(NamedTuple):
    """How a run is cut: groups of trials, blocks of steps."""

    trials: int  # in one group
    groups: int
    steps: int  # in one block
    blocks: int


def _plan(
    world: Environment[Any],
    players: Mapping[str, Policy[Any]],
    points: int,
    steps: int,
    trials: int,
    budget: int,
) -> _Plan:
    key = jax.random.key(0)
    parts: list[Any] = [world, *players.values()]
    states = [jax.eval_shape(part.init, key) for part in parts]
    # three times: the state, the next one, and what is computed on the way
    per_trial = 3 * sum(_bytes(state) for state in states)
    per_step = 2 * 8 * points
    least = min(steps, 16)
    needed = per_trial + least * per_step
    if needed > budget:
        raise DriftpeakError(
            f"memory_budget must be at least {needed:,} bytes for one trial; got {budget:,}"
        )
    comfortable = min(steps, 64)
    group = min(trials, max(1, budget // (per_trial + comfortable * per_step)))
    groups = math.ceil(trials / group)
    group = math.ceil(trials / groups)
    block = (budget // group - per_trial) // per_step
    blocks = math.ceil(steps / min(steps, BLOCK, max(block, 1)))
    return _Plan(group, groups, math.ceil(steps / blocks), blocks)


def _bytes(shapes: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))


def _play_group(
    world: Environment[Any],
    players: Mapping[str, Policy[Any]],
    times: Times,
    seed: int,
    plan: _Plan,
    group: int,
    record: "_Record",
    advance: Advance,
) -> None:
    """Play all steps of one group of trials, every policy in turn on each block of steps."""
    # numbers past the last trial or step pad the last group and block; their results are dropped
    trials = np.arange(group * plan.trials, (group + 1) * plan.trials)
    numbers = np.arange(plan.blocks * plan.steps).reshape(plan.blocks, plan.steps)
    padded = times[np.minimum(numbers, len(times) - 1)]
    noise_keys = _keys(seed, trials).noise
    # states are donated to what updates them, so each gets a copy of the keys of its own
    states = {
        name: jax.vmap(player.init)(_keys(seed, trials).policy) for name, player in players.items()
    }

    foreseeing = [name for name, player in players.items() if player.foresight == "all"]
    if foreseeing:
        world_state = jax.vmap(world.init)(_keys(seed, trials).world)
        for block in range(plan.blocks):
            here = numbers[block] < len(times)
            world_state, values, _ = _advance(world, world_state, jnp.asarray(padded[block]))
            for name in foreseeing:
                states[name] = _foretell(players[name], states[name], values, jnp.asarray(here))

    world_state = jax.vmap(world.init)(_keys(seed, trials).world)
    for block in range(plan.blocks):
        clock_times = jnp.asarray(padded[block])
        world_state, values, best = _advance(world, world_state, clock_times)
        _check_finite(best, numbers[block], len(times))
        for index, (name, player) in enumerate(players.items()):
            arguments = (
                states[name],
                player,
                values,
                best,
                clock_times,
                jnp.asarray(numbers[block]),
                noise_keys,
                world.noise_variance,
            )
            play, compile_seconds = _compiled(_play, arguments)
            started = clock.perf_counter()
            states[name], outcome = jax.block_until_ready(play(*arguments))
            refresh_due = (block + 1) * plan.steps // REFRESH > block * plan.steps // REFRESH
            if refresh_due and block + 1 < plan.blocks:
                states[name] = jax.block_until_ready(_refresh(states[name], player))
            seconds = clock.perf_counter() - started
            record.write(index, trials, numbers[block], outcome, seconds, compile_seconds)
            advance(name)


class _Keys(NamedTuple):
    """Each trial's sources of randomness."""

    world: Any
    noise: Any
    policy: Any  # the same for all policies


@jax.jit
def _keys(seed: Any, trials: Any) -> _Keys:
    each = jax.vmap(jax.random.fold_in, in_axes=(None, 0))
    return _Keys(*(each(key, trials) for key in jax.random.split(jax.random.key(seed), 3)))


@partial(jax.jit, donate_argnums=1)
def _advance(
    world: Environment[Any], state: Any, times: Float[Array, " t"]
) -> tuple[Any, Float[Array, "t trials n"], Float[Array, "t trials"]]:
    """The functions of all trials over a block of steps, and their maxima."""

    def step(state: Any, time: Any) -> tuple[Any, Any]:
        state, values = jax.vmap(world.step, in_axes=(0, None))(state, time)
        return state, (values, _maximum(values))

    state, (values, best) = jax.lax.scan(step, state, times)
    return state, values, best


def _maximum(values: Any) -> Any:
    """The largest value of every trial; NaN where any value is NaN or infinite."""
    return jnp.where(jnp.isfinite(values).all(axis=-1), values.max(axis=-1), jnp.nan)


@partial(jax.jit, donate_argnums=1)
def _foretell(policy: Policy[Any], state: Any, values: Any, here: Any) -> Any:
    """Show a policy the true functions of a block; `here` is false on padding."""

    def step(state: Any, seen: Any) -> tuple[Any, None]:
        now, counts = seen
        return jax.vmap(policy.inform)(state, jnp.where(counts, now, 0.0)), None

    return jax.lax.scan(step, state, (values, here))[0]


class _Outcome(NamedTuple):
    """What one policy did in one block, each of shape `(steps, trials)`."""

    action: Any
    reward: Any
    regret: Any


def _play(
    state: Any,
    policy: Policy[Any],
    values: Any,
    best: Any,
    times: Any,
    numbers: Any,
    noise_keys: Any,
    noise_variance: Any,
) -> tuple[Any, _Outcome]:
    """One policy, one block of steps, all trials of the group."""

    def trial(state: Any, now: Any, top: Any, key: Any, time: Any, number: Any) -> Any:
        if policy.foresight == "present":
            state = policy.inform(state, now)
        state, query = policy.ask(state, time)
        value = now[query]
        noise = jax.random.normal(jax.random.fold_in(key, number), dtype=float)
        reward = value + jnp.sqrt(noise_variance) * noise
        state = policy.tell(state, query, reward, time)
        return state, _Outcome(query.astype(jnp.int32), reward, top - value)

    def step(state: Any, inputs: Any) -> Any:
        now, top, time, number = inputs
        trials = jax.vmap(trial, in_axes=(0, 0, 0, 0, None, None))
        return trials(state, now, top, noise_keys, time, number)

    return jax.lax.scan(step, state, (values, best, times, numbers))


@partial(jax.jit, donate_argnums=0)
def _refresh(state: Any, policy: Policy[Any]) -> Any:
    return jax.vmap(policy.refresh)(state)


_programs: dict[Any, Any] = {}


def _compiled(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    """The compiled program for these arguments' shapes, and the seconds it took if it is new.

    `jax.jit` keeps such a table too, but compiles inside the first call, where it cannot be timed.
    """
    leaves, structure = jax.tree.flatten(arguments)
    key = (function, structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves))
    if key in _programs:
        return _programs[key], 0.0
    started = clock.perf_counter()
    program = jax.jit(function, donate_argnums=0).lower(*arguments).compile()
    if len(_programs) >= 256:
        _programs.pop(next(iter(_programs)))
    _programs[key] = program
    return program, clock.perf_counter() - started


def _to_device(module: Any) -> Any:
    return jax.tree.map(jnp.asarray, module)


def _check_points(world: Environment[Any], players: Mapping[str, Policy[Any]]) -> int:
    state = jax.eval_shape(world.init, jax.random.key(0))
    points = int(jax.eval_shape(world.step, state, jnp.zeros(()))[1].size)
    for name, player in players.items():
        if player.points != points:
            raise DriftpeakError(
                f"policy {name!r} chooses among {player.points} points, "
                f"the environment has {points}"
            )
    return points


def _check_finite(best: Any, numbers: np.ndarray, steps: int) -> None:
    """Stop before a reward that is NaN or infinite reaches a belief."""
    finite = np.isfinite(np.asarray(best)).all(axis=1)[: max(0, steps - numbers[0])]
    if not finite.all():
        step = int(numbers[0] + np.argmin(finite)) + 1
        raise DriftpeakError(
            f"the environment's function is NaN or infinite somewhere at step {step}; "
            "every value must be a finite number"
        )


class _Record:
    """Collects outcomes into arrays of shape `(policy, trial, step)`."""

    def __init__(self, names: list[str], foresight: Sequence[str], trials: int, steps: int) -> None:
        shape = (len(names), trials, steps)
        self.names = names
        self.foresight = foresight
        self.action = np.zeros(shape, np.int32)
        self.reward = np.zeros(shape)
        self.regret = np.zeros(shape)
        self.seconds = np.zeros(len(names))
        self.compile_seconds = np.zeros(len(names))

    def write(
        self,
        policy: int,
        trials: np.ndarray,
        steps: np.ndarray,
        outcome: _Outcome,
        seconds: float,
        compile_seconds: float,
    ) -> None:
        rows = slice(trials[0], min(trials[-1] + 1, self.action.shape[1]))
        columns = slice(steps[0], min(steps[-1] + 1, self.action.shape[2]))
        height, width = rows.stop - rows.start, columns.stop - columns.start
        for name, block in outcome._asdict().items():
            getattr(self, name)[policy, rows, columns] = np.asarray(block).T[:height, :width]
        self.seconds[policy] += seconds
        self.compile_seconds[policy] += compile_seconds

    def dataset(self, times: Times, seed: int) -> xr.Dataset:

        dims = ("policy", "trial", "step")
        units = {"seconds": {"units": "s"}, "compile_seconds": {"units": "s"}}
        return xr.Dataset(
            {
                "action": (dims, self.action, {"long_name": "number of the point sampled"}),
                "reward": (dims, self.reward, {"long_name": "reward as observed"}),
                "regret": (dims, self.regret, {"long_name": "instantaneous noiseless regret"}),
                "side_queries": (dims, np.zeros(self.action.shape, np.int32)),
                "seconds": ("policy", self.seconds, units["seconds"]),
                "compile_seconds": ("policy", self.compile_seconds, units["compile_seconds"]),
            },
            coords={
                "policy": self.names,
                "foresight": ("policy", list(self.foresight)),
                "trial": np.arange(self.action.shape[1]),
                "step": np.arange(1, self.action.shape[2] + 1),
                "time": ("step", times),
            },
            attrs={"seed": seed, "jax_version": jax.__version__},
        )
