"""Time of an Optuna trial with `DriftSampler` and with Optuna's own samplers.

Figures are the processor time of `study.ask` and `study.tell` over all threads, in memory and in
SQLite, with four parameters, one of them categorical, and a trivial objective. They are medians of
the trials 51 to 100 and 151 to 200, and the sum of the first trials, which compile and load.
Programs are compiled when needed: in the background, the time would be spread over the trials.
Optuna's `GPSampler` is measured if torch is installed.
"""

import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from driftpeak.integrations.optuna import DriftSampler

os.environ["DRIFTPEAK_PRECOMPILE"] = "off"
TRIALS, ONCE = 200, 50
SPANS = {"51 to 100": slice(50, 100), "151 to 200": slice(150, 200)}
SPACE = {
    "rate": FloatDistribution(1e-4, 1, log=True),
    "share": FloatDistribution(0, 1),
    "layers": IntDistribution(1, 6),
    "kind": CategoricalDistribution(["a", "b", "c"]),
}


def run() -> dict[str, Any]:
    """Milliseconds of processor time per trial."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    figures: dict[str, Any] = {}
    for name, make in samplers().items():
        for kept in ("memory", "SQLite"):
            spent = trials(make(), kept)
            for words, span in SPANS.items():
                figures[f"{name}, {kept}: trials {words} (ms)"] = 1e3 * float(
                    np.median(spent[span])
                )
            figures[f"{name}, {kept}: the first {ONCE} together (s)"] = float(sum(spent[:ONCE]))
    return figures


def samplers() -> dict[str, Callable[[], optuna.samplers.BaseSampler]]:
    found: dict[str, Callable[[], optuna.samplers.BaseSampler]] = {
        "DriftSampler": lambda: DriftSampler(seed=0),
        "TPESampler": lambda: optuna.samplers.TPESampler(seed=0),
    }
    if find_spec("torch") is not None:
        found["GPSampler"] = lambda: optuna.samplers.GPSampler(seed=0)
    return found


def trials(sampler: optuna.samplers.BaseSampler, kept: str) -> list[float]:
    """Return the seconds of processor time of every trial."""
    generator, spent = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as folder:
        storage = None if kept == "memory" else f"sqlite:///{folder}/study.db"
        study = optuna.create_study(direction="maximize", sampler=sampler, storage=storage)
        for number in range(TRIALS):
            noise = 0.1 * float(generator.normal())
            started = time.process_time()
            trial = study.ask(SPACE)
            study.tell(trial, value(trial.params, number) + noise)
            spent.append(time.process_time() - started)
    return spent


def value(params: dict[str, Any], number: int) -> float:
    """Return a reward of a function with a moving peak."""
    best = 0.5 + 0.3 * np.sin(number / 40)
    rate = np.log10(params["rate"]) + 2
    return float(
        -((params["share"] - best) ** 2)
        - 0.1 * rate**2
        - 0.05 * (params["layers"] - 3) ** 2
        - 0.2 * (params["kind"] == "b")
    )
