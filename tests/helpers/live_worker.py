"""A program that asks and tells a stored study until it is stopped, or for some seconds and rounds.

python live_worker.py ADDRESS NAME ACKNOWLEDGED SECONDS [alone]

Every call that returned is written down in the file ACKNOWLEDGED. Alone, it first tells what was
pending when the program before it was killed.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np

import driftpeak as dp

ARMS = 6
ROUNDS = 12  # at least, however slowly a loaded machine starts and stops the program


@cache
def environment():
    """Of the programs started here: what one has compiled, the next one finds."""
    folder = tempfile.mkdtemp(prefix="driftpeak-compiled-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "TF_CPP_MIN_LOG_LEVEL": "3",  # it would say for which processor it was compiled
        # these helpers, and this very driftpeak, whichever is installed
        "PYTHONPATH": f"{Path(__file__).parent}{os.pathsep}{Path(dp.__file__).parents[1]}",
    }
    return os.environ | settings


def start(*words):
    """Begin this program; its errors go into a file, since a pipe that is full would stop it."""
    errors = Path(f"{words[2]}.errors")
    command = [sys.executable, __file__, *map(str, words)]
    with errors.open("w") as target:
        return subprocess.Popen(command, env=environment(), stderr=target), errors


def wait(started, seconds):
    """Until all that `start` began have ended, without an error; in the end none is left."""
    try:
        for process, errors in started:
            assert process.wait(timeout=seconds) == 0, errors.read_text()
    finally:
        for process, _ in started:
            process.kill()
            process.wait()


def policy():
    """A cheap one, that depends on everything told."""
    places = np.linspace(0, 1, ARMS)
    gram = np.exp(-((places[:, None] - places) ** 2) / 0.1)
    prior = dp.Prior(dp.Arms(ARMS), dp.kernels.Table(gram), noise_variance=0.1)
    return dp.TVGPUCB(prior, drift=0.02)


def make(storage=None, name=None):
    return dp.Optimizer(
        dp.Arms(ARMS), maximize=True, policy=policy(), seed=3, storage=storage, name=name
    )


def reward(suggestion) -> float:
    """Of an arm at a time: the best arm wanders. The number tells whose reward it is."""
    return float(np.cos(suggestion.index - suggestion.id / 40)) + 1e-6 * suggestion.id


def main(storage: str, name: str, acknowledged: str, seconds: str, alone: bool) -> None:
    optimizer = make(storage, name)
    file = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def tell(suggestion):
        optimizer.tell(suggestion, reward(suggestion))
        os.write(file, f"told {suggestion.id}\n".encode())

    for suggestion in optimizer.pending() if alone else []:
        tell(suggestion)
    end, rounds = time.monotonic() + float(seconds), 0
    while time.monotonic() < end or rounds < ROUNDS:
        rounds += 1
        suggestion = optimizer.ask()
        os.write(file, f"asked {suggestion.id}\n".encode())
        tell(suggestion)


if __name__ == "__main__":
    main(*sys.argv[1:5], alone="alone" in sys.argv)
