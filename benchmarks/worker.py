"""Run one benchmark in this process: `python -m benchmarks.worker NAME` prints figures as JSON."""

import importlib
import json
import resource
import sys
import time
from typing import Any

COMPARE = "pip install torch, then driftpeak[compare]"
OPTIONAL = {  # optional packages
    "botorch": "pip install torch, then driftpeak[botorch]",
    "distributed": "pip install 'driftpeak[dask]'",
    "bayes_opt": COMPARE,
    "gpytorch": COMPARE,
    "optuna": "pip install 'driftpeak[optuna]'",
    "wdbo_algo": COMPARE,
}


def main(name: str) -> dict[str, Any]:
    """Return the figures of a benchmark, with the time of its imports and its peak memory."""
    started = time.perf_counter()
    try:
        benchmark = importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as missing:
        if missing.name in OPTIONAL:
            return {"skipped": f"needs {missing.name} ({OPTIONAL[missing.name]})"}
        raise
    imported = time.perf_counter() - started
    figures = benchmark.run()
    if "skipped" in figures:
        return figures
    figures = {"import (s)": imported, **figures}
    unit = 2**30 if sys.platform == "darwin" else 2**20  # Linux counts in KiB
    figures["peak memory (GiB)"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return {"figures": figures, "targets": getattr(benchmark, "TARGETS", {})}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
