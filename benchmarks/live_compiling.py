"""Compilation in a new live study: processor time of its first evaluations and longest pause.

A study of six parameters runs in a fresh process without cached programs: evaluations 1 to 60 and
61 to 210, with and without the options for faster compilation by XLA
(`driftpeak._core.numerics.compiler`). Figures are medians over three alternating runs. The longest
answer occurs when the memory has grown and its programs are compiled for the new size. The median
ask of the last fifty evaluations shows the later cost of the options.
"""

import json
import subprocess
import sys
from typing import Any

import numpy as np

TURNS = 3
TARGETS = {"processor time, 210 evaluations: with / without the options": "<= 0.8"}
PLAYED = """
import json, sys, time
import numpy as np
import driftpeak as dp
from driftpeak._core.numerics import compiled
if sys.argv[1] == "without":
    compiled.soon = dict
box = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(6)})
optimizer, generator = dp.Optimizer(box, maximize=True), np.random.default_rng(0)
spent, waited, asked = [], [], []
for step in range(210):
    cpu, clock = time.process_time(), time.perf_counter()
    setting = optimizer.ask(step)
    asked.append(time.perf_counter() - clock)
    x = np.array(list(setting.values()))
    reward = -((x - 0.5 - 0.3 * np.sin(step / 20)) ** 2).sum() + 0.05 * generator.normal()
    optimizer.tell(setting, reward)
    spent.append(time.process_time() - cpu)
    waited.append(time.perf_counter() - clock)
print(json.dumps([sum(spent[:60]), sum(spent), max(waited), float(np.median(asked[-50:]))]))
"""


def run() -> dict[str, Any]:
    """Return seconds and their ratio."""
    ways: dict[str, list[list[float]]] = {"with": [], "without": []}
    for _ in range(TURNS):
        for way, measured in ways.items():
            command = [sys.executable, "-c", PLAYED, way]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            measured.append(json.loads(text))
    middle = {way: np.median(measured, axis=0) for way, measured in ways.items()}
    figures: dict[str, Any] = {}
    for way, (first, whole, longest, ask) in middle.items():
        figures[f"{way}: processor time, 60 evaluations (s)"] = first
        figures[f"{way}: processor time, 210 evaluations (s)"] = whole
        figures[f"{way}: longest answer (s)"] = longest
        figures[f"{way}: an ask at the end (ms)"] = 1e3 * ask
    (_, own, *_), (_, others, *_) = middle["with"], middle["without"]
    return {**figures, "processor time, 210 evaluations: with / without the options": own / others}
