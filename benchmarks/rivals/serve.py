"""Run a rival in this process: `python -m benchmarks.rivals.serve MODULE`, with JSON lines.

| input | output |
| --- | --- |
| (at the start) | `{"versions": {package: version}}`, or `{"missing": module}` and exit |
| `{"new": [dimension, seed, clock]}` | `{"seconds": s}` |
| `{"ask": time}` | `{"point": [...], "seconds": s}` |
| `{"tell": [point, reward, time]}` | `{"seconds": s}` |

Seconds are the rival's computing time, without reading and writing lines. The output for an error
is `{"error": text}`.
"""

import importlib
import json
import os
import sys
import warnings
from importlib import metadata
from time import perf_counter
from typing import Any


def main(module: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # so that output of libraries is not read as an answer
    warnings.filterwarnings("ignore")  # warnings of the rivals' fits

    def answer(**told: Any) -> None:
        print(json.dumps(told), file=answers, flush=True)

    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as missing:
        answer(missing=missing.name)
        return
    answer(versions={name: metadata.version(name) for name in found.PACKAGES})
    rival: Any = None
    for line in sys.stdin:
        ((verb, told),) = json.loads(line).items()
        started = perf_counter()
        try:
            if verb == "new":
                rival = found.Rival(*told)
                answer(seconds=perf_counter() - started)
            elif verb == "ask":
                point = rival.ask(told)
                answer(seconds=perf_counter() - started, point=point)
            else:
                rival.tell(*told)
                answer(seconds=perf_counter() - started)
        except Exception as error:
            answer(error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(sys.argv[1])
