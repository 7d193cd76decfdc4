"""Fleets beside the bandits of river, MABWiser and Vowpal Wabbit on one stream.

The stream is that of `fleet_sharing`: related members with 20 arms and Markov drift. Each library
plays with some settings, one member after another. The one with the least mean regret over SEEDS
streams counts. A fleet plays with defaults, unshared and shared, in batches of 10 members. Speeds
are pairs of ask and tell per second of processor time. Those of TV-GP-UCB and `auto` are of a fleet
of 10,000 members in batches of 1,000 after compilation, as in `fleet`. RIVALS_PYTHON is an
interpreter that has the libraries; missing libraries are left out.

    RIVALS_PYTHON=/path/to/python MEMBERS=200 SEEDS=4 python -m benchmarks fleet_rivals
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks import fleet as speeds, fleet_sharing as stream

LIBRARIES = ("river", "mabwiser", "vowpalwabbit")
FIRST = {"river": "UCB", "mabwiser": "UCB1"}
"""The setting whose speed is compared."""
STEPS, MEMBERS, SEEDS = stream.STEPS, stream.MEMBERS, stream.SEEDS
BATCH = 10
TARGETS = {
    "TV-GP-UCB, times the speed of river's UCB": ">= 2",
    "auto, times the speed of MABWiser's UCB1": ">= 2",
    "shared fleet, regret as a share of the best rival's": "<= 0.7",
}


def run() -> dict[str, Any]:
    """Return regrets and speeds."""
    generator = np.random.default_rng(0)
    regrets: dict[str, list[float]] = {}
    speed: dict[str, float] = {}
    missing: dict[str, Any] = {}
    for seed in range(SEEDS):
        draws = np.random.default_rng(seed)
        functions = stream.drawn("related", np.arange(MEMBERS) % 2, draws)
        noise = np.sqrt(stream.NOISE) * draws.normal(size=(STEPS, MEMBERS))
        for library in LIBRARIES:
            found = played(library, functions, noise)
            if "missing" in found:
                missing[library] = f"not installed ({found['missing']})"
                continue
            for name, each in found.items():
                regrets.setdefault(f"{library}, {name}", []).append(each["regret"])
                if name.split()[0] == FIRST.get(library):
                    pairs = STEPS * MEMBERS / each["processor"]
                    speed[library] = max(pairs, speed.get(library, 0.0))
        for share in ("none", "all"):
            mean = regret(functions, noise, share)
            regrets.setdefault(f"fleet, share={share!r}", []).append(mean)
    means = {name: float(np.mean(each)) for name, each in regrets.items()}
    figures = missing | {f"{name}: regret": mean for name, mean in means.items()}
    others = [name for name in means if not name.startswith("fleet")]
    if others:
        best = min(others, key=means.__getitem__)
        ratios = np.array(regrets["fleet, share='all'"]) / np.array(regrets[best])
        figures["best rival in hindsight"] = best
        figures["shared fleet, regret as a share of the best rival's"] = float(ratios.mean())
        figures["interval"] = "{:.2f} to {:.2f}".format(*stream.interval(ratios))
    policies = {"TV-GP-UCB": dp.TVGPUCB(stream.PRIOR, drift=0.02), "auto": dp.Auto(stream.PRIOR)}
    rivals = {"TV-GP-UCB": ("river", "river's UCB"), "auto": ("mabwiser", "MABWiser's UCB1")}
    for name, policy in policies.items():
        fleet = dp.Fleet(stream.PRIOR.domain, speeds.MEMBERS, policy=policy)
        speeds.play(fleet, generator, 1)
        pairs = 2 * speeds.MEMBERS / speeds.play(fleet, generator, 2)[1]
        figures[f"{name}: pairs per second"] = pairs
        library, words = rivals[name]
        if library in speed:
            figures[f"{name}, times the speed of {words}"] = pairs / speed[library]
    return figures


def played(library: str, functions: Any, noise: Any) -> dict[str, Any]:
    """Return the results of a library's bandits, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stream.npz"
        np.savez(file, functions=functions, noise=noise)
        python = os.environ.get("RIVALS_PYTHON", sys.executable)
        command = [python, "-m", "benchmarks.rivals.bandits", library, str(file)]
        root = Path(__file__).parents[1]
        done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def regret(functions: Any, noise: Any, share: str) -> float:
    """Return the mean regret of a member of a fleet, whose members are asked in batches."""
    fleet, total = dp.Fleet(stream.PRIOR.domain, MEMBERS, share=share), 0.0
    for step, values in enumerate(functions):
        for some in np.split(np.arange(MEMBERS), range(BATCH, MEMBERS, BATCH)):
            asked = fleet.ask(some, time=step + 1.0)
            rewards = values[some, asked.choices]
            total += float((values[some].max(axis=1) - rewards).sum())
            fleet.tell(asked.ids, rewards + noise[step, some])
    return total / MEMBERS
