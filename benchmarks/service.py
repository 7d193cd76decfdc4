"""Throughput of a service with 100 clients, and latency while another study is busy.

There are twenty studies of four parameters with 100 to 195 rewards each, and five clients for each
study. First all clients ask and tell as fast as they are answered. Then each does so every two
seconds, which gives 50 pairs a second in total. Then one client asks and tells alone, and again
while another study computes hindsight continuously. The clients are threads of another process on
the same machine and use `driftpeak.Client`. Before the measurement, studies of up to 600 rewards
have been asked, so that no program is compiled or loaded during it.
"""

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

import driftpeak as dp

DIMENSION, STUDIES, CLIENTS, TOLD = 4, 20, 100, 100
OLDER = 5  # additional rewards from study to study, so that they do not all learn at the same time
OLD = 130, 260, 400, 600  # rewards of further studies
SECONDS = 30.0
EVERY = 2.0  # seconds between two rounds of a client
TARGETS = {
    "ask + tell, 100 clients at once (1/s)": ">= 50",
    "request at 50 ask + tell a second: 99 % below (s)": "<= 1",
    "ask + tell while another study is busy / alone": "<= 3",
}


def run() -> dict[str, Any]:
    """Return rounds per second, seconds of a request, and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        prepare_all(folder)
        with served(folder) as url:
            warm_up([url])
            fast, spent = together([url])
            slow, paced = together([url], lambda begun: max(begun + EVERY - time.perf_counter(), 0))
            alone, beside = busy(dp.Client(url))
    return {
        "ask + tell, 100 clients at once (1/s)": fast,
        "  a request: median (s)": float(np.median(spent)),
        "  a request: 99 % below (s)": float(np.quantile(spent, 0.99)),
        "ask + tell, 100 clients, each every 2 s (1/s)": slow,
        "  request at 50 ask + tell a second: median (s)": float(np.median(paced)),
        "request at 50 ask + tell a second: 99 % below (s)": float(np.quantile(paced, 0.99)),
        "ask + tell alone, median (ms)": 1e3 * alone,
        "ask + tell while another study is busy / alone": beside / alone,
    }


def name(number: int) -> str:
    return f"study{number}"


def prepare_all(storage: str) -> None:
    """Store all studies with some rewards in a folder or a database."""
    for number, told in enumerate([*(TOLD + OLDER * number for number in range(STUDIES)), *OLD]):
        generator = np.random.default_rng(number)
        box = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(DIMENSION)})
        place = storage if "://" in storage else Path(storage) / f"{name(number)}.jsonl"
        optimizer = dp.Optimizer(box, maximize=True, storage=place, name=name(number))
        for row in generator.uniform(size=(told, DIMENSION)):
            setting = {f"x{j}": float(value) for j, value in enumerate(row)}
            optimizer.tell(setting, reward(setting) + 0.1 * generator.normal())


def warm_up(urls: list[str]) -> None:
    """Let every service process load its studies and programs."""
    for url in urls:
        client = dp.Client(url)
        for number in reversed(range(STUDIES + len(OLD))):
            study = client.study(name(number))
            study.ask(count=CLIENTS // STUDIES)
            for _ in range(3):
                round_of(study)
    together(urls)


def reward(setting: Any) -> float:
    return -float(sum((value - 0.5) ** 2 for value in setting.values()))


@contextmanager
def served(storage: str, core: int | None = None) -> Iterator[str]:
    """Return the address of a service in a separate process, which may be limited to one core."""
    words = ["serve", storage, "--port", "0", "--rate", "100000"]
    command = [sys.executable, "-m", "driftpeak", *words]
    if core is not None:
        command = ["taskset", "-c", str(core), *command]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = next(line for line in process.stderr if "serving at" in line)
        threading.Thread(target=forward, args=(process.stderr,)).start()
        yield line.split()[-1]
    finally:
        process.terminate()
        process.wait()


def forward(errors: IO[str]) -> None:
    """Print the messages of a service. A full pipe would stop the service."""
    with errors:
        shutil.copyfileobj(errors, sys.stderr)


def round_of(study: Any) -> tuple[float, float]:
    """Return the seconds of an ask and of a tell."""
    begun = time.perf_counter()
    suggestion = study.ask()
    asked = time.perf_counter()
    study.tell(suggestion, reward(suggestion))
    return asked - begun, time.perf_counter() - asked


def together(
    urls: list[str], pause: Callable[[float], float] = lambda _: 0.0
) -> tuple[float, np.ndarray]:
    """Return the rounds per second of all clients, and the seconds of each request.

    The studies are divided among the services.
    """
    clients = [dp.Client(url, timeout=600) for url in urls]
    spent: list[float] = []
    first = time.perf_counter()
    end = first + SECONDS

    def work(number: int) -> None:
        study = clients[number % STUDIES % len(urls)].study(name(number % STUDIES))
        time.sleep(pause(first) * number / CLIENTS)  # spread over the interval
        while (begun := time.perf_counter()) < end:
            spent.extend(round_of(study))
            time.sleep(pause(begun))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return len(spent) / 2 / (time.perf_counter() - first), np.array(spent)


def busy(client: dp.Client) -> tuple[float, float]:
    """Return the median seconds of a round, alone and while another study is busy."""
    study, other = client.study(name(0)), client.study(name(1))

    def median() -> float:
        return float(np.median([sum(round_of(study)) for _ in range(40)]))

    alone, stop = median(), threading.Event()

    def look_back() -> None:
        while not stop.is_set():
            other.peaks(count=200)

    thread = threading.Thread(target=look_back)
    thread.start()
    beside = median()
    stop.set()
    thread.join()
    return alone, beside
