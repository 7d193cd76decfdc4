"""What a trial of Optuna costs with `DriftSampler`, beside Optuna's own samplers.

Processor time of `study.ask` and `study.tell`, all threads counted, in memory and in SQLite; four
parameters, one of them categorical, an objective that costs nothing. Medians of the trials 51 to
100 and 151 to 200; before them what is compiled, or loaded, once. Optuna's `GPSampler` is measured
where torch is there.
"""

import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from driftpeak.integrations.optuna import DriftSampler

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
    found: dict[str, Any] = {}
    for name, make in samplers().items():
        for kept in ("memory", "SQLite"):
            spent = trials(make(), kept)
            for words, span in SPANS.items():
                found[f"{name}, {kept}: trials {words} (ms)"] = 1e3 * float(np.median(spent[span]))
            found[f"{name}, {kept}: the first {ONCE} together (s)"] = float(sum(spent[:ONCE]))
    return found


def samplers() -> dict[str, Callable[[], optuna.samplers.BaseSampler]]:
    found: dict[str, Callable[[], optuna.samplers.BaseSampler]] = {
        "DriftSampler": lambda: DriftSampler(seed=0),
        "TPESampler": lambda: optuna.samplers.TPESampler(seed=0),
    }
    if find_spec("torch") is not None:
        found["GPSampler"] = lambda: optuna.samplers.GPSampler(seed=0)
    return found


def trials(sampler: optuna.samplers.BaseSampler, kept: str) -> list[float]:
    """Seconds of processor time of every trial."""
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
    """A peak that wanders."""
    best = 0.5 + 0.3 * np.sin(number / 40)
    rate = np.log10(params["rate"]) + 2
    return float(
        -((params["share"] - best) ** 2)
        - 0.1 * rate**2
        - 0.05 * (params["layers"] - 3) ** 2
        - 0.2 * (params["kind"] == "b")
    )
