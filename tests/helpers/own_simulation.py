"""A policy and a world of one's own, simulated as a script of a user's would; commands to share.

`python own_simulation.py FILE ARGUMENTS [--workers N]`, with arguments in JSON such as
`{"trials": 8}`, plays and writes the runs to FILE. Tests kill it, interrupt it, and have others
share its work.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import driftpeak as dp
from driftpeak.policies.player import checked_reward
from driftpeak.simulation.executors import local_workers

SIZE = 12
PRIOR = dp.Prior(dp.Grid([0, 1], size=SIZE), dp.SE(0.3), noise_variance=0.04)


class Averages(NamedTuple):
    totals: Any
    counts: Any
    key: Any


class Greedy(dp.ActingPolicy[Averages]):
    """The best average so far, with a little noise on it."""

    restlessness: float
    size: int = eqx.field(static=True)

    @property
    def points(self):
        return self.size

    def init(self, key):
        return Averages(jnp.zeros(self.size), jnp.zeros(self.size), key)

    def ask(self, state, time):
        key, own = jax.random.split(state.key)
        noise = self.restlessness * jax.random.normal(own, (self.size,))
        means = state.totals / jnp.maximum(state.counts, 1)
        return state._replace(key=key), jnp.argmax(means + noise)

    def tell(self, state, query, reward, time):
        totals = state.totals.at[query].add(checked_reward(reward))
        return state._replace(totals=totals, counts=state.counts.at[query].add(1))


class Tide(dp.environments.Environment):
    """A wave that comes in with a phase of its own."""

    noise_variance: float
    period: float

    def init(self, key):
        return jax.random.uniform(key)

    def step(self, state, time):
        where = jnp.linspace(0, 1, SIZE)
        return state, jnp.cos(2 * jnp.pi * (where - state - time / self.period))


POLICIES = {"mine": Greedy(0.3, SIZE), "TV": dp.TVGPUCB(PRIOR, drift=0.05)}
WORLD = Tide(0.04, 40.0)


def play(**how: Any) -> Any:
    """The runs; `steps`, `trials` and the like as for `simulate`."""
    return dp.simulate(POLICIES, WORLD, **({"steps": 20, "seed": 1, "progress": False} | how))


POLICY_WORDS = ("--policy", "random", "--policy", "gp-ucb", "--policy", "tv-gp-ucb:drift=0.1")


def table(folder: Path) -> Path:
    """Three arms, as recorded."""
    rows = np.random.default_rng(0).normal(size=(40, 3)).cumsum(axis=0)
    lines = ["a,b,c", *(",".join(f"{one:.6f}" for one in row) for row in rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    return folder / "table.csv"


def command(name: str, folder: Path) -> list[str]:
    """`replay` or `compare` as it is typed."""
    if name == "replay":
        words = [str(table(folder)), "--trials", "3"]
    else:
        words = ["--size", "20", "--steps", "20", "--trials", "6"]
    return [sys.executable, "-m", "driftpeak", name, *words, *POLICY_WORDS, "--json"]


def answer(words: list[str], *more: str, **environment: str) -> Any:
    """What a command prints, but for the time it took."""
    found = subprocess.run(
        [*words, *more], capture_output=True, text=True, timeout=240, env=os.environ | environment
    )
    assert found.returncode == 0, found.stderr
    summary = json.loads(found.stdout)
    for row in summary["policies"].values():
        del row["seconds"], row["compile_seconds"]
    return summary


def main(file: str, how: str, option: str = "", value: str = "") -> None:
    """Play and write."""
    # what a shell runs in the background ignores Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments = json.loads(how)
    if option == "--workers":
        with local_workers(int(value)) as executor:
            runs = play(**arguments, executor=executor)
    else:
        runs = play(**arguments)
    runs.to_netcdf(file, engine="h5netcdf")


if __name__ == "__main__":
    main(*sys.argv[1:])
