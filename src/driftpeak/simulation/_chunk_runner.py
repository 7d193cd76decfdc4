"""Simulation of one chunk of a run; its results do not depend on other chunks or the process."""

import time as clock
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.numerics.lowered import call, program_of
from driftpeak._core.numerics.precision import check_digits
from driftpeak._core.progress import Progress
from driftpeak._core.times import Times, median_step
from driftpeak.environments import Environment
from driftpeak.policies import Player, Policy
from driftpeak.policies.player import REFRESH, Reading
from driftpeak.simulation._chunking import Chunk, Plan, one_key
from driftpeak.simulation._programs import (
    LITTLE,
    Block,
    Chance,
    advance,
    expect,
    inform,
    playing,
    random_keys,
    refresh,
    standard_normals,
    start,
)
from driftpeak.simulation._record import Record, RecordOptions


@dataclass(frozen=True)
class Simulation:
    """Everything that determines a chunk's results except the chunk; other processes receive it."""

    policies: Mapping[str, Policy]
    environment: Environment[Any]
    times: Times
    seed: int
    options: RecordOptions


class ChunkRunner:
    """A simulation prepared in this process: the environment and the players."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.world = to_device(simulation.environment.prepare(simulation.times))
        self._players: dict[str, Player[Any]] = {}

    def player(self, name: str) -> Player[Any]:
        """Return the player of a policy; it is prepared at the first call."""
        if name not in self._players:
            policy = self.simulation.policies[name]
            self._players[name] = to_device(policy.prepare(self.simulation.times))
        return self._players[name]

    @property
    def points(self) -> int:
        """Number of points of the environment."""
        # from the shapes of the compiled programs, which JAX caches from one run to the next
        state = start.eval_shape(self.world, one_key())
        return advance.eval_shape(self.world, state, jnp.zeros(1))[1].shape[-1]

    def check_points(self) -> None:
        """Raise DriftpeakError if a policy's number of points is not the environment's."""
        for name in self.simulation.policies:
            if self.player(name).points != self.points:
                raise DriftpeakError(
                    f"policy {name!r} must have as many points as the environment, {self.points}; "
                    f"got {self.player(name).points}. Use one domain for both"
                )

    @property
    def readings(self) -> tuple[Mapping[str, Reading], ...]:
        """Readings of each policy; empty if readings are not recorded."""
        if not self.simulation.options.readings:
            return ()
        return tuple(self.player(name).readings for name in self.simulation.policies)

    def play(
        self,
        plan: Plan,
        chunk: Chunk,
        names: tuple[str, ...],
        readings: tuple[Mapping[str, Reading], ...],
        bar: Progress,
    ) -> xr.Dataset:
        """Simulate the named policies on a chunk of trials, each in turn on a block of steps.

        A policy's results depend neither on the other policies nor on the other chunks.

        Arguments:
            readings: readings of all policies of the simulation.

        Returns:
            The dataset of `simulate` with the variable `contradictions`: the number of rewards
            outside each policy's bound.
        """
        simulation, world = self.simulation, self.world
        times, options, seed = simulation.times, simulation.options, simulation.seed
        players = {name: self.player(name) for name in names}
        # numbers past the last trial or step pad the last chunk and block; they are not recorded
        trials = chunk.first_trial + np.arange(plan.chunk)
        blocks = np.arange(plan.blocks * plan.steps).reshape(plan.blocks, plan.steps)
        padded = times[np.minimum(blocks, len(times) - 1)]
        record = Record(players, trials[: chunk.trials], self.points, options, readings)
        keys = random_keys(seed, trials)
        chance = Chance(keys.expert, world.noise)
        wanted = playing(predictions=options.predictions, readings=options.readings)
        # states are donated to what updates them, so each gets a copy of the keys of its own
        states = {
            name: call(start, player, random_keys(seed, trials).policy)
            for name, player in players.items()
        }
        foreseeing = [name for name, player in players.items() if player.foresight == "all"]
        if foreseeing:
            world_state = call(start, world, random_keys(seed, trials).world)
            for numbers, moments in zip(blocks, padded, strict=True):
                world_state, values, _ = call(advance, world, world_state, jnp.asarray(moments))
                here = jnp.asarray(numbers < len(times))
                for name in foreseeing:
                    states[name] = inform(players[name], states[name], values, here)

        world_state = call(start, world, random_keys(seed, trials).world)
        for block, numbers in enumerate(blocks):
            if options.forecast:
                # padding must not change the state from which the final forecast is made
                numbers = numbers[numbers < len(times)]
            moments = jnp.asarray(padded[block][: len(numbers)])
            world_state, values, best = call(advance, world, world_state, moments)
            _check_finite(best, numbers, len(times))
            normals = standard_normals(keys.noise, jnp.asarray(numbers))
            steps = Block(values, best, moments, jnp.asarray(numbers), normals)
            for index, (name, player) in enumerate(players.items()):
                arguments = (states[name], player, steps, chance, jnp.asarray(len(times)))
                bar.now(f"compiling {name}")  # takes no time if the program is cached
                little = values.shape[1] * values.shape[2] * len(times) < LITTLE
                program, compile_seconds = program_of(wanted, arguments, little=little)
                bar.now(name)
                started = clock.perf_counter()
                played = jax.block_until_ready(program(*arguments))
                last = min(int(numbers[-1]) + 1, len(times))
                check_digits(f"policy {name!r} after step {last:,}", played.least_variance)
                states[name] = played.state
                refresh_due = (block + 1) * plan.steps // REFRESH > block * plan.steps // REFRESH
                if refresh_due and block + 1 < plan.blocks:
                    states[name] = jax.block_until_ready(refresh(states[name], player))
                seconds = clock.perf_counter() - started
                record.write(index, played, seconds, compile_seconds)
                bar.done()
        if options.forecast:
            after = times[-1] + median_step(times)
            for index, (name, player) in enumerate(players.items()):
                record.foresee(index, expect(states[name], player, after))
        runs = record.dataset(times, seed)
        contradictions = [
            int(np.sum(simulation.policies[name].out_of_bounds(*seen)))
            for name, *seen in zip(names, runs["action"].values, runs["reward"].values, strict=True)
        ]
        return runs.assign(contradictions=("policy", contradictions))


def to_device(module: Any) -> Any:
    """Return a module with all arrays on the device of JAX."""
    return jax.tree.map(jnp.asarray, module)


def _check_finite(best: Any, numbers: np.ndarray, steps: int) -> None:
    """Raise DriftpeakError if a function has a value that is NaN or infinite."""
    finite = np.isfinite(np.asarray(best)).all(axis=1)[: max(0, steps - numbers[0])]
    if not finite.all():
        step = int(numbers[0] + np.argmin(finite)) + 1
        raise DriftpeakError(
            f"the environment's values must be finite; got NaN or infinity at step {step}. Correct "
            "its `values`"
        )
