"""Cost of writing every ask and tell of a live optimiser to disk before it returns.

A cheap policy on six arms isolates the cost of the storage: the median of 300 rounds of ask and
tell in memory and in each kind of storage. PostgreSQL is measured if DRIFTPEAK_POSTGRESQL holds an
address. Then a study of a drifting process with 100,000 events in a journal is resumed, with a
snapshot and from its events alone. Finally, 1 and 8 processes share a study of a drifting process
with 512 rewards and without learning. The figures are their asks and tells per second after
compilation. Every process must also apply the events of the others. The speed of a machine varies
from minute to minute. Measurements of 1 and 8 processes therefore alternate, starting and ending
with 1, and each ratio is to the mean of the two adjacent measurements of one process.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.live._study.events import Asked, Learned, Told, to_dict

ARMS, ROUNDS, EVENTS = 6, 300, 100_000
HELD, WARM, SECONDS = 512, 20, 15
"""Of a shared study: rewards, seconds before counting, and seconds of counting."""
TOGETHER, TURNS = 8, 3  # number of processes that share it, and of measurements
SHARE = f"pairs of {TOGETHER} processes, of 1"
TARGETS = {"resume 100,000 events, snapshot (s)": "<= 5"} | {
    f"{SHARE}: {kind}": ">= 0.5" for kind in ("journal", "sqlite")
}


def run() -> dict[str, Any]:
    """Return milliseconds of a round, and seconds to resume."""
    figures = {"ask + tell in memory (ms)": rounds(None)}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("journal", "sqlite"):
            figures[f"ask + tell, {kind} (ms)"] = rounds(f"{kind}:///{folder}/{kind}")
        if address := os.environ.get("DRIFTPEAK_POSTGRESQL"):
            figures["ask + tell, postgresql (ms)"] = rounds(address)
        figures |= resume(Path(folder) / "long")
        for kind in ("journal", "sqlite"):
            figures |= shares(f"{kind}:///{folder}/shared-{kind}", kind)
    return figures


def shares(storage: str, kind: str) -> dict[str, Any]:
    """Return the asks and tells per second of 1 and of 8 processes in turn, and their ratio."""
    alone, together = [pairs(storage, 1)], []
    for _ in range(TURNS):
        together.append(pairs(storage, TOGETHER))
        alone.append(pairs(storage, 1))
    beside = [2 * one / sum(alone[turn : turn + 2]) for turn, one in enumerate(together)]
    return {
        f"pairs a second, 1 process: {kind}": " ".join(f"{one:.1f}" for one in alone),
        f"pairs a second, {TOGETHER}: {kind}": " ".join(f"{one:.1f}" for one in together),
        f"{SHARE}, each turn: {kind}": " ".join(f"{one:.2f}" for one in beside),
        f"{SHARE}: {kind}": float(np.median(beside)),
    }


def pairs(storage: str, count: int) -> float:
    """Return the asks and tells per second of several processes, after all have started."""
    optimizer, generator = make_shared(storage), np.random.default_rng(0)
    for row in generator.uniform(size=(HELD + 8, 4)):
        setting = {f"x{j}": float(one) for j, one in enumerate(row)}
        optimizer.tell(setting, measured(setting, generator))
    with tempfile.TemporaryDirectory() as folder:
        return sum(together(storage, count, folder)) / SECONDS


def together(storage: str, count: int, folder: str) -> list[int]:
    """Return the numbers of asks and tells of several processes, which share compiled programs."""
    ready = [Path(folder) / f"ready {number}" for number in range(count)]
    command = [sys.executable, "-m", "benchmarks.live_storage", storage]
    compiled = {
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "TF_CPP_MIN_LOG_LEVEL": "3",  # suppresses a message about the processor of the programs
    }
    processes = [
        subprocess.Popen(
            [*command, str(one)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | compiled,
        )
        for one in ready
    ]
    while not all(one.exists() for one in ready):
        time.sleep(0.05)
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()  # the signal to begin
    made = []
    for process in processes:
        assert process.stdout is not None
        made.append(int(process.stdout.read()))
        process.wait()
    return made


def work(storage: str, ready: str) -> None:
    """Run one of the processes: get ready, wait for the signal, and count."""
    optimizer, generator = make_shared(storage), np.random.default_rng(os.getpid())

    def play(seconds: float) -> int:
        end, made = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            one = optimizer.ask()
            optimizer.tell(one, measured(one, generator))
            made += 1
        return made

    play(1)
    Path(ready).touch()
    sys.stdin.read()
    play(WARM)
    print(play(SECONDS))


def make_shared(storage: str) -> dp.Optimizer:
    """Return a study of a drifting process without learning, with constant cost per round."""
    space = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(4)})
    policy = dp.DriftingGP(learn=False, capacity=HELD)
    return dp.Optimizer(space, maximize=True, policy=policy, storage=storage, name="shared")


def measured(setting: Mapping[str, Any], generator: np.random.Generator) -> float:
    """Return a reward with a peak in the middle and noise."""
    return float(0.1 * generator.normal() - sum((x - 0.5) ** 2 for x in setting.values()))


def make(storage: str | None, name: str | None) -> dp.Optimizer:
    """Return a study with a cheap policy."""
    places = np.linspace(0, 1, ARMS)
    gram = np.exp(-((places[:, None] - places) ** 2) / 0.1)
    prior = dp.Prior(dp.Arms(ARMS), dp.kernels.Table(gram), noise_variance=0.1)
    policy = dp.TVGPUCB(prior, drift=0.02)
    return dp.Optimizer(dp.Arms(ARMS), maximize=True, policy=policy, storage=storage, name=name)


def rounds(storage: str | None) -> float:
    """Return the median milliseconds of an ask and its tell."""
    optimizer = make(storage, None if storage is None else f"benchmark {time.time()}")
    spent = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, 0.5)
        spent.append(time.perf_counter() - started)
    return 1e3 * float(np.median(spent[20:]))


def resume(path: Path) -> dict[str, float]:
    """Return the seconds to load a study of 100,000 events, without and with its snapshot."""
    space = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(4)})
    optimizer = dp.Optimizer(space, maximize=True, storage=path)
    fill(optimizer)
    started = time.perf_counter()
    whole = dp.Optimizer.load(path)
    replayed = time.perf_counter() - started
    while not Path(f"{path}.snapshot").exists():
        whole.tell(whole.ask(), 0.5)
    started = time.perf_counter()
    resumed = dp.Optimizer.load(path)
    quick = time.perf_counter() - started
    assert dict(resumed.ask(count=1)[0]) == dict(whole.pending()[-1])
    return {
        "resume 100,000 events, snapshot (s)": quick,
        "resume 100,000 events, without (s)": replayed,
        "journal of 100,000 events (MiB)": path.stat().st_size / 2**20,
    }


def fill(optimizer: dp.Optimizer) -> None:
    """Write nearly 100,000 events of asks, tells and learning, without computing them."""
    generator, refit = np.random.default_rng(0), None
    for _ in range(8):
        optimizer.tell(optimizer.ask(), float(generator.normal()))
    events: list[Any] = []
    assert optimizer._study is not None
    store = optimizer._study.store
    position = store.start()
    for after, written in store.read(position).events:
        position = after
        refit = written if written["event"] == "Learned" else refit
    assert refit is not None
    number = 8
    while position[0] + len(events) < EVENTS - 20:
        number += 1
        parameters = {f"x{j}": float(generator.uniform()) for j in range(4)}
        when = float(number)
        events.append(to_dict(Asked(number, when, "steps", parameters)))
        reward = float(generator.normal())
        events.append(to_dict(Told(number, when, "steps", parameters, reward, (0.0, 1.0))))
        if number % 50 == 0:
            events.append(to_dict(Learned(refit["values"])))
    assert store.append(position, events) is not None


if __name__ == "__main__":
    work(*sys.argv[1:])
