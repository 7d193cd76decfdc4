"""Fleets beside the bandits of river, MABWiser and Vowpal Wabbit on one stream.

The stream is that of `fleet_sharing`: related members with 20 arms and Markov drift. Each library
plays with some settings, and the best in hindsight counts. A fleet plays with defaults, unshared
and shared. Speeds are pairs of ask and tell per second of processor time. Those of TV-GP-UCB and
`auto` are of a fleet of 10,000 members in batches of 1,000 after compilation, as in `fleet`.
RIVALS_PYTHON is an interpreter that has the libraries; missing libraries are left out.

    RIVALS_PYTHON=/path/to/python MEMBERS=200 python -m benchmarks fleet_rivals
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
STEPS, MEMBERS = stream.STEPS, stream.MEMBERS
TARGETS = {
    "TV-GP-UCB, times the speed of river's UCB": ">= 2",
    "auto, times the speed of MABWiser's UCB1": ">= 2",
    "shared fleet, regret as a share of the best rival's": "<= 0.7",
}


def run() -> dict[str, Any]:
    """Return regrets and speeds."""
    generator = np.random.default_rng(0)
    functions = stream.drawn("related", np.arange(MEMBERS) % 2, generator)
    noise = np.sqrt(stream.NOISE) * generator.normal(size=(STEPS, MEMBERS))
    figures: dict[str, Any] = {}
    best, speed = np.inf, {}
    for library in LIBRARIES:
        found = played(library, functions, noise)
        if "missing" in found:
            figures[library] = f"not installed ({found['missing']})"
            continue
        for name, each in found.items():
            figures[f"{library}, {name}: regret"] = each["regret"]
            pairs = STEPS * MEMBERS / each["processor"]
            figures[f"{library}, {name}: pairs per second"] = pairs
            if name.split()[0] == FIRST.get(library):
                speed[library] = max(pairs, speed.get(library, 0.0))
            best = min(best, each["regret"])
    for share in ("none", "all"):
        figures[f"fleet, share={share!r}: regret"] = regret(functions, noise, share)
    if np.isfinite(best):
        ratio = figures["fleet, share='all': regret"] / best
        figures["shared fleet, regret as a share of the best rival's"] = ratio
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
    """Return the mean regret of a member of a fleet."""
    fleet, total = dp.Fleet(stream.PRIOR.domain, MEMBERS, share=share), 0.0
    for step, values in enumerate(functions):
        asked = fleet.ask(time=step + 1.0)
        rewards = values[np.arange(MEMBERS), asked.choices]
        total += float((values.max(axis=1) - rewards).mean())
        fleet.tell(asked.ids, rewards + noise[step])
    return total
