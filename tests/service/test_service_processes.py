"""A service in a process of its own: killed under load, and asked what nobody would think of."""

import signal
import threading
import time
from collections import Counter

import live_worker
import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from served import start

import driftpeak as dp
from driftpeak._core.errors import StorageError
from driftpeak.live._study.events import Asked, Told, from_dict
from driftpeak.service._study_directory import open_place

PATIENCE = 300
CLIENTS = 6
NAMES = ("one", "two")


class Worker(threading.Thread):
    """A client that asks and tells until it is stopped, and writes down what was acknowledged."""

    def __init__(self, url, number):
        super().__init__()
        self._client, self._number = dp.Client(url, retries=100), number
        self.stop, self.told, self.asked = threading.Event(), [], []

    def run(self):
        study = self._client.study(NAMES[self._number % 2])
        while not self.stop.is_set():
            try:
                one = study.ask()
            except StorageError:
                continue  # its answer was lost
            self.asked.append((study.name, one.id))
            value = self._number + len(self.told) / 1_000
            study.tell(one, value)  # for as long as it takes
            self.told.append((study.name, one.id, value))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["journal", "sqlite"])
def test_killed_under_load(kind, tmp_path):
    """Every reward that was acknowledged is there, and every reward is there once."""
    folder, errors = tmp_path / "studies", tmp_path / "errors"
    folder.mkdir()
    where = str(folder) if kind == "journal" else f"sqlite:///{folder}/studies.db"
    generator = np.random.default_rng(3)
    process, port = start(where, 0, errors)
    client = dp.Client(f"http://127.0.0.1:{port}")
    for name in NAMES:
        policy = live_worker.policy()
        client.create(name, policy.prior.domain, maximize=True, policy=policy, seed=3)
    workers = [Worker(client.url, number) for number in range(CLIENTS)]
    for one in workers:
        one.start()
    kills = 3
    try:
        for _ in range(kills):
            before = sum(len(one.told) for one in workers)
            deadline = time.monotonic() + PATIENCE
            while sum(len(one.told) for one in workers) < before + 30:
                assert time.monotonic() < deadline, errors.read_text()
                time.sleep(0.01)
            time.sleep(float(generator.uniform(0, 0.05)))  # anywhere within a call
            process.send_signal(signal.SIGKILL)
            process.wait()
            process, port = start(where, port, errors)
    finally:
        for one in workers:
            one.stop.set()
        for one in workers:
            one.join(PATIENCE)
        process.send_signal(signal.SIGINT)
        code = process.wait()
    assert code == 0
    assert errors.read_text().splitlines() == [f"driftpeak: serving at http://127.0.0.1:{port}"]
    assert not any(one.is_alive() for one in workers)
    acknowledged = Counter(told for one in workers for told in one.told)
    assert acknowledged.total() >= 30 * kills
    stored, asked = Counter(), Counter()
    place = open_place(where)
    for name in NAMES:
        store = place.store(name)
        store.describe()
        for _, written in store.read(store.start()).events:
            match from_dict(written):
                case Told() as event:
                    assert event.key is not None
                    stored[name, event.id, event.reward] += 1
                case Asked() as event:
                    asked[name, event.id] += 1
    assert stored == acknowledged  # every worker told until it was answered
    assert max(stored.values()) == max(asked.values()) == 1
    assert {one for worker in workers for one in worker.asked} <= set(asked)


MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
HEALTHY = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)


def fuzz(url):
    """Every route, with what its document allows and with what it does not."""
    schema = schemathesis.openapi.from_url(f"{url}/api/openapi.json")
    done = set()
    for found in schema.exclude(path_regex="events$").get_all_operations():
        operation = found.ok()
        for mode in MODES:

            @HEALTHY
            @given(operation.as_strategy(generation_mode=mode), st.booleans())
            def ask(case, known):
                if known and "name" in (case.path_parameters or {}):
                    case.path_parameters["name"] = "kiln"  # most others are of no study
                answer = case.call_and_validate(checks=CHECKS, timeout=PATIENCE)
                done.add((case.method, case.path, answer.status_code))

            try:
                ask()
            except Unsatisfiable:  # nothing can be wrong with a route that takes nothing
                assert mode is MODES[1]
    return done


@pytest.mark.slow
def test_fuzzed(tmp_path):
    """Whatever is sent, what comes back is documented, and the service still answers."""
    folder, errors = tmp_path / "studies", tmp_path / "errors"
    folder.mkdir()
    process, port = start(folder, 0, errors)
    try:
        client = dp.Client(f"http://127.0.0.1:{port}")
        space = {"box": {"x": {"type": "float", "low": 0, "high": 1}}}
        policy = {"drifting-gp": {"capacity": 32}}
        study = client.create("kiln", space, maximize=True, policy=policy)
        for _ in range(6):
            study.tell(study.ask(), 1.0)
        done = fuzz(client.url)
        assert {status for _, _, status in done} >= {200, 404, 422}
        assert study.describe()["space"]["box"]["x"]["high"] == 1
        study.ask()
        assert "Traceback" not in errors.read_text()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
