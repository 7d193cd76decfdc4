"""Play policies against an environment: one compiled loop over steps, all trials at once."""

import math
import time as clock
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from driftpeak.environments import Environment
from driftpeak.errors import DriftpeakError, DriftpeakWarning, at_least_integer
from driftpeak.numerics.precision import check_digits, double_precision
from driftpeak.numerics.threads import single_threaded_lapack
from driftpeak.policies import Player, Policy
from driftpeak.policies.player import REFRESH
from driftpeak.simulation.programs import (
    Block,
    Chance,
    Played,
    advance,
    compiled,
    expect,
    foretell,
    playing,
    random_keys,
    refresh,
    start,
)
from driftpeak.simulation.progress import Progress, progress_bar
from driftpeak.simulation.record import Record
from driftpeak.times import Times, TimesLike, check_times, median_step

MEMORY_BUDGET = 2**30
BLOCK = 1024  # steps in one compiled call, at most


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
    progress: bool | None = None,
    predictions: bool = False,
    readings: bool = False,
    forecast: bool = False,
) -> xr.Dataset:
    """Play every policy against the same worlds, and record what happened.

    All policies see the same functions and the same noise: trial i of one is comparable with trial
    i of another (common random numbers). Equal arguments give equal results on one machine.
    Side queries are answered at once, from the function of the step, with independent noise of the
    same variance.

    Arguments:
        policies: by the name they shall have in the result.
        environment: the moving function.
        steps: number of steps, at times 1, 2, ..., `steps`; or
        times: the times of the steps instead, non-decreasing, in any unit.
        trials: independent worlds.
        first_trial: number of the first of them; a trial depends on the seed and its number alone,
            so that parts of a run can be played apart.
        seed: of everything random.
        memory_budget: bytes that the run may use for its arrays; trials are played in groups small
            enough for it. Results do not depend on it beyond rounding.
        progress: show a progress bar; by default if the error output is a terminal.
        predictions: also record what each policy expects of the function just before it samples,
            against the noiseless function, squared: `squared_error` at every step, mean over all
            points, and `point_error` (policy x trial x point) at every point, mean over all steps;
            NaN for policies that expect nothing.
        readings: also record what the policies that can tell think after each step, by the names
            of their `readings`: `believed_drift` and the like of `Auto`; NaN for other policies.
        forecast: also record what each policy expects of the step after the last, one median step
            later: `expected_mean` and `expected_deviation` of the function (policy x trial x
            point), `expected_noise`, the deviation of the noise on a reward (policy x trial), all
            in units of the reward; NaN for policies that expect nothing.

    Returns:
        A dataset with dimensions `policy, trial, step` and variables `action` (point number),
        `reward` (as observed), `regret` (instantaneous, of the noiseless function), `restarts` (1
        where the policy started afresh because of what it saw), `side_queries` (how many the expert
        answered); and, per policy, `seconds` (running), `compile_seconds` and `foresight` ("none"
        for all but yardsticks).

    Raises:
        DriftpeakError: no policy, numbers out of range, a policy for another number of points than
            the environment's, a memory budget too small for one trial, or a posterior that has lost
            its digits because the noise is too small (looked at after every 1,024 steps or fewer).

    Warns:
        DriftpeakWarning: rewards outside the bound that a policy was given; they are used as they
            are.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> world = dp.MarkovDrift(prior, drift=0.02)
        >>> runs = dp.simulate({"TV": dp.TVGPUCB(prior, drift=0.02)}, world, steps=30, trials=4)
        >>> runs["regret"].shape                     # policy, trial, step
        (1, 4, 30)
    """
    if not policies:
        raise DriftpeakError("give at least one policy")
    times = _times(steps, times)
    trials = at_least_integer("trials", trials, 1)
    first_trial = at_least_integer("first_trial", first_trial, 0)
    seed = at_least_integer("seed", seed, 0)
    with progress_bar("simulating", show=progress) as bar:
        bar.now("preparing")
        world = _to_device(environment.prepare(times))
        players = {name: _to_device(policy.prepare(times)) for name, policy in policies.items()}
        points = _check_points(world, players)
        plan = _plan(world, players, points, len(times), trials, memory_budget)
        record = Record(
            list(policies),
            [player.foresight for player in players.values()],
            trials,
            len(times),
            first_trial=first_trial,
            points=points if predictions else None,
            readings=[player.readings for player in players.values()] if readings else None,
            forecast=points if forecast else None,
        )
        wanted = playing(predictions=predictions, readings=readings)
        bar.expect(plan.groups * plan.blocks * len(players))
        with single_threaded_lapack():
            for group in range(plan.groups):
                _play_group(world, players, times, seed, plan, group, record, bar, wanted)
    for index, (name, policy) in enumerate(policies.items()):
        _warn_of_contradictions(
            name, policy, record.steps["action"][index], record.steps["reward"][index]
        )
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

    Arguments:
        environment, steps, times, trials, seed: as for `simulate`.

    Returns:
        Shape `(trial, step, point)`; all of it in memory.

    Raises:
        DriftpeakError: numbers out of range.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> dp.true_functions(dp.MarkovDrift(prior, drift=0.02), steps=30, trials=4).shape
        (4, 30, 20)
    """
    times = _times(steps, times)
    trials, seed = at_least_integer("trials", trials, 1), at_least_integer("seed", seed, 0)
    world = _to_device(environment.prepare(times))
    state = start(world, random_keys(seed, np.arange(trials)).world)
    values = advance(world, state, jnp.asarray(times))[1]
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
    players: Mapping[str, Player[Any]],
    points: int,
    steps: int,
    trials: int,
    budget: int,
) -> _Plan:
    parts: list[Any] = [world, *players.values()]
    states = [start.eval_shape(part, _one_key()) for part in parts]
    # the states, the next ones, and what is computed on the way: of auto about as much again twice
    per_trial = 4 * sum(_bytes(state) for state in states)
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


def _one_key() -> Any:
    return random_keys(0, np.arange(1)).world


def _bytes(shapes: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))


def _play_group(
    world: Environment[Any],
    players: Mapping[str, Player[Any]],
    times: Times,
    seed: int,
    plan: _Plan,
    group: int,
    record: Record,
    bar: Progress,
    wanted: Callable[..., Played],
) -> None:
    """Play all steps of one group of trials, every policy in turn on each block of steps."""
    # numbers past the last trial or step pad the last group and block; their results are dropped
    trials = record.first_trial + np.arange(group * plan.trials, (group + 1) * plan.trials)
    numbers = np.arange(plan.blocks * plan.steps).reshape(plan.blocks, plan.steps)
    padded = times[np.minimum(numbers, len(times) - 1)]
    keys = random_keys(seed, trials)
    chance = Chance(keys.noise, keys.expert, world.noise)
    # states are donated to what updates them, so each gets a copy of the keys of its own
    states = {
        name: start(player, random_keys(seed, trials).policy) for name, player in players.items()
    }

    foreseeing = [name for name, player in players.items() if player.foresight == "all"]
    if foreseeing:
        world_state = start(world, random_keys(seed, trials).world)
        for block in range(plan.blocks):
            here = numbers[block] < len(times)
            world_state, values, _ = advance(world, world_state, jnp.asarray(padded[block]))
            for name in foreseeing:
                states[name] = foretell(players[name], states[name], values, jnp.asarray(here))

    world_state = start(world, random_keys(seed, trials).world)
    for block in range(plan.blocks):
        if record.forecasts is not None:
            # what is expected at the end must not have learned from padding
            numbers_here = numbers[block][numbers[block] < len(times)]
        else:
            numbers_here = numbers[block]
        clock_times = jnp.asarray(padded[block][: len(numbers_here)])
        world_state, values, best = advance(world, world_state, clock_times)
        _check_finite(best, numbers_here, len(times))
        steps = Block(values, best, clock_times, jnp.asarray(numbers_here))
        for index, (name, player) in enumerate(players.items()):
            arguments = (states[name], player, steps, chance, jnp.asarray(len(times)))
            bar.now(f"compiling {name}")  # if it is new; at once if not
            program, compile_seconds = compiled(wanted, arguments)
            bar.now(name)
            started = clock.perf_counter()
            played = jax.block_until_ready(program(*arguments))
            last = min(int(numbers_here[-1]) + 1, len(times))
            check_digits(f"policy {name!r} after step {last:,}", played.least_variance)
            states[name] = played.state
            refresh_due = (block + 1) * plan.steps // REFRESH > block * plan.steps // REFRESH
            if refresh_due and block + 1 < plan.blocks:
                states[name] = jax.block_until_ready(refresh(states[name], player))
            seconds = clock.perf_counter() - started
            record.write(index, trials, numbers_here, played, seconds, compile_seconds)
            bar.done()
    if record.forecasts is not None:
        after = times[-1] + median_step(times)
        for index, (name, player) in enumerate(players.items()):
            record.foresee(index, trials, expect(states[name], player, after))


def _warn_of_contradictions(
    name: str, policy: Policy, actions: np.ndarray, rewards: np.ndarray
) -> None:
    count = int(np.sum(policy.out_of_bounds(actions, rewards)))
    if count:
        warnings.warn(
            f"policy {name!r}: {count:,} of {rewards.size:,} rewards lie outside its bound "
            f"({policy.bounds_in_words}); its guarantees assume none: give a larger bound",
            DriftpeakWarning,
            stacklevel=4,  # whoever called simulate
        )


def _to_device(module: Any) -> Any:
    return jax.tree.map(jnp.asarray, module)


def _check_points(world: Environment[Any], players: Mapping[str, Player[Any]]) -> int:
    # asked of the compiled programs, whose shapes JAX remembers from one simulation to the next
    state = start.eval_shape(world, _one_key())
    points = advance.eval_shape(world, state, jnp.zeros(1))[1].shape[-1]
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
