"""A reward told under a key counts once: in a library's own process, after a crash, over HTTP."""

import http.client
import socket
import threading
from contextlib import closing

import numpy as np
import pytest
from served import serving

import driftpeak as dp
from driftpeak._core.errors import StorageError
from driftpeak.live._study import study_state as state
from driftpeak.live._study.events import Told, from_dict, to_dict
from driftpeak.live._study.storage import open_store


def make(**options):
    """An optimiser that computes next to nothing."""
    prior = dp.Prior(dp.Arms(2), dp.kernels.Table(np.eye(2)), noise_variance=0.1)
    policy = dp.UniformRandom(prior)
    return dp.Optimizer(prior.domain, maximize=True, policy=policy, **options)


def rewards(optimizer):
    return [one.reward for one in optimizer.history()]


def test_a_key_names_one_reward():
    one, events = make(), []
    one.on_event = events.append
    first, second = one.ask(count=2)
    one.tell(first, 1.0, key="a")
    before = len(events)
    for again in (first, first.id, dict(first)):
        one.tell(again, 1.0, key="a")
    one.tell(second, 2.0, key="b")
    one.tell({"arm": "1"}, 3.0, key="c")
    one.tell({"arm": "1"}, 3.0, key="c")
    one.tell({"arm": "1"}, 3.0)  # without a key it is another reward
    assert rewards(one) == [1.0, 2.0, 3.0, 3.0]
    assert len(events) == before + 3
    for setting, reward, key in ((first, 1.5, "a"), (second, 1.0, "a"), ({"arm": "0"}, 3.0, "c")):
        with pytest.raises(dp.DriftpeakError, match="key must be unique"):
            one.tell(setting, reward, key=key)
    assert rewards(one) == [1.0, 2.0, 3.0, 3.0]


def test_what_was_set_instead_counts_too():
    one = make()
    first = one.ask()
    other = {"arm": "1" if first["arm"] == "0" else "0"}
    one.tell(first, 1.0, actual=other, key="a")
    one.tell(first, 1.0, actual=other, key="a")
    assert rewards(one) == [1.0]
    with pytest.raises(dp.DriftpeakError, match="key must be unique"):
        one.tell(first, 1.0, actual=dict(first), key="a")


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("key", ["", "x" * 201, "é", "a\nb", 7])
def test_what_is_no_key(key):
    one = make()
    with pytest.raises(dp.DriftpeakError, match="key must be 1 to 200 printable ASCII characters"):
        one.tell({"arm": "0"}, 1.0, key=key)
    assert rewards(one) == []


def test_keys_last_as_long_as_the_study(storage):
    """In every kind of storage, after a new start, a reset, and from a snapshot."""
    one = make(storage=storage, name="keyed")
    one.tell({"arm": "0"}, 1.0, key="a")
    for again in (one, dp.Optimizer.load(storage, "keyed"), make(storage=storage, name="keyed")):
        again.tell({"arm": "0"}, 1.0, key="a")
        assert rewards(again) == [1.0]
    one.reset()
    one.tell({"arm": "0"}, 1.0, key="a")
    assert rewards(one) == []
    store = open_store(storage, "keyed")
    store.describe()
    stored = [from_dict(event) for _, event in store.read(store.start()).events]
    assert [event.key for event in stored if isinstance(event, Told)] == ["a"]
    fresh = make()
    fresh.restore(one.snapshot())
    fresh.tell({"arm": "0"}, 1.0, key="a")
    assert rewards(fresh) == []


def test_a_reward_without_a_key_is_stored_as_before():
    assert "key" not in to_dict(Told(None, 1.0, "steps", {"arm": "0"}, 1.0))


def test_the_newest_keys_are_known(monkeypatch):
    monkeypatch.setattr(state, "HISTORY", 3)
    one = make()
    for number in range(5):
        one.tell({"arm": "0"}, float(number), key=f"k{number}")
    one.tell({"arm": "0"}, 2.0, key="k2")
    one.tell({"arm": "0"}, 1.0, key="k1")  # too old
    assert rewards(one) == [3.0, 4.0, 1.0]  # of which three are remembered, too


def test_two_optimisers_with_one_key(storage):
    """Who comes second sees that it is told."""
    one, two = make(storage=storage, name="both"), make(storage=storage, name="both")
    barrier = threading.Barrier(2)

    def tell(optimizer):
        for number in range(8):
            barrier.wait()
            optimizer.tell({"arm": "0"}, float(number), key=f"k{number}")

    threads = [threading.Thread(target=tell, args=(each,)) for each in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rewards(one) == rewards(two) == [float(number) for number in range(8)]


@pytest.fixture
def where(storage, tmp_path):
    """What a service serves, of every kind of storage."""
    if not storage.startswith("journal"):
        return storage
    (tmp_path / "folder").mkdir()
    return str(tmp_path / "folder")


def test_a_retry_after_a_restart_of_the_service(where):
    body, key = {"suggestion": 1, "reward": 2.5}, {"Idempotency-Key": "mine"}
    with serving(where) as served:
        make_remote(dp.Client(served.url)).ask()
        path = f"/api/studies/{NAME}/tell"
        assert served.post(path, body, **key)[2]["repeated"] is False
        assert served.post(path, body, **key)[2]["repeated"] is True
    with serving(where) as served:
        assert served.post(path, body, **key)[2] == {
            "told": 1,
            "pending": 0,
            "repeated": True,
            "warnings": [],
        }
        code, _, found = served.post(path, body | {"reward": 9}, **key)
        assert code == 422
        assert "key must be unique" in found["detail"]
        assert served.post(path, body, **{"Idempotency-Key": "x" * 201})[0] == 422
        assert [one.reward for one in dp.Client(served.url).study(NAME).history()] == [2.5]


def make_remote(client):
    own = make()
    return client.create(NAME, own.space, maximize=True, policy=own.policy)


NAME = "remote"


class Losing:
    """Between a client and a service: passes requests on, and loses answers to some of them."""

    def __init__(self, port, lose):
        self._to, self._lose, self.seen = port, lose, []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while True:
            try:
                taken, _ = self._listening.accept()
            except OSError:
                return
            with taken:
                taken.settimeout(30)
                self._pass_on(taken)

    def _pass_on(self, taken):
        """One request on each connection."""
        with taken.makefile("rb") as file:
            line, headers = file.readline().decode(), {}
            if not line:
                return
            while (one := file.readline().decode().strip()) != "":
                name, _, value = one.partition(": ")
                headers[name] = value
            data = file.read(int(headers.get("Content-Length", 0)))
        method, path, _ = line.split()
        headers["Host"] = f"127.0.0.1:{self._to}"
        self.seen.append(path.rpartition("/")[2])
        with closing(http.client.HTTPConnection("127.0.0.1", self._to)) as inner:
            inner.request(method, path, data, headers)
            answer = inner.getresponse()
            text = answer.read()
        if self._lose(path, len(self.seen)):
            return
        head = f"HTTP/1.1 {answer.status} X\r\nContent-Length: {len(text)}\r\n"
        taken.sendall(f"{head}Connection: close\r\n\r\n".encode() + text)

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()


def test_a_lost_answer_never_doubles(tmp_path):
    """The client tells again what may have been told, under the same key; it asks but once."""
    with serving(tmp_path) as served:
        make_remote(dp.Client(served.url))
        lost = iter([True, True, False, True])
        with closing(Losing(served.port, lambda path, _: path[-4:] == "tell" and next(lost))) as by:
            study = dp.Client(f"http://127.0.0.1:{by.port}").study(NAME)
            one = study.ask()
            study.tell(one, 1.0)
            assert by.seen == ["ask", "tell", "tell", "tell"]
        with closing(Losing(served.port, lambda path, _: path[-3:] == "ask")) as by:
            study = dp.Client(f"http://127.0.0.1:{by.port}").study(NAME)
            with pytest.raises(StorageError, match="may have been executed"):
                study.ask()
            assert by.seen == ["ask"]
        study = dp.Client(served.url).study(NAME)
        assert [one.reward for one in study.history()] == [1.0]
        assert len(study.pending()) == 1


def test_nobody_answers():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    study = dp.Client(f"http://127.0.0.1:{port}", retries=1).study(NAME)
    for act in (study.ask, study.best, lambda: study.tell({"arm": "0"}, 1.0)):
        with pytest.raises(
            StorageError, match=r"Nothing was changed. Is `driftpeak serve` running"
        ):
            act()
