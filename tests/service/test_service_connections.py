"""Connections that wait for their client: limited in number and in time, at no cost for others."""

import http.client
import logging
import os
import resource
import signal
import socket
import time
import warnings
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest
from served import PATIENCE, cheap, serving, start

import driftpeak as dp
from driftpeak.service import _log_filter as quiet
from driftpeak.service._limits import FILES, Limits
from driftpeak.service._log_filter import quiet_log
from driftpeak.service._warning_capture import hear

HALF = b"GET /api/studies HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = HALF + b"\r\n"
SHORT = 0.5  # seconds
FEW = 8


@contextmanager
def descriptors(count):
    """Let this process open files with numbers below `count` only."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count:
        pytest.skip(f"needs {count} descriptors, and {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(stack, served, text=b""):
    """A connection over which a text was sent; it is closed when the stack ends."""
    port = served if isinstance(served, int) else served.port
    found = stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), 30)))
    found.sendall(text)
    return found


def answer(one):
    """The status of an answer, which is read to its end."""
    with closing(http.client.HTTPResponse(one)) as found:
        found.begin()
        found.read()
        return found.status


def is_open(one):
    """Whether the service keeps a connection over which it has nothing more to send."""
    one.settimeout(0.05)
    try:
        return one.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionError:
        return False
    finally:
        one.settimeout(30)


def wait_until_closed(one):
    """Seconds until the service closes a connection over which it sends nothing."""
    begun = time.monotonic()
    with suppress(ConnectionError):
        assert one.recv(1) == b""
    return time.monotonic() - begun


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("files", "count"), [(256, 300), (1024, 2_000)])
def test_unfinished_requests_exclude_nobody(files, count, tmp_path):
    """New clients are answered within two seconds, and nothing is logged."""
    errors = tmp_path / "errors"
    (tmp_path / "studies").mkdir()
    process, port = start(tmp_path / "studies", 0, errors, files)
    try:
        with descriptors(2 * count + 500), ExitStack() as stack:
            slowest = 0.0
            for number in range(count):
                connect(stack, port, HALF)
                if number % 100 == 99:
                    begun = time.monotonic()
                    assert answer(connect(stack, port, WHOLE)) == 200
                    slowest = max(slowest, time.monotonic() - begun)
            taken = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        assert slowest < 2
        assert taken < files
        assert errors.read_text().splitlines() == [f"driftpeak: serving at http://127.0.0.1:{port}"]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


@pytest.fixture
def few(tmp_path):
    """A service with few connections."""
    with serving(
        tmp_path, limits=Limits(connections=FEW, headers=PATIENCE, upload=PATIENCE)
    ) as found:
        yield found


@pytest.fixture
def short(tmp_path):
    """A service with little patience."""
    with serving(tmp_path, limits=Limits(headers=SHORT, download=SHORT)) as found:
        yield found


def test_a_new_client_replaces_the_oldest_unfinished_request(few):
    with ExitStack() as stack:
        old = [connect(stack, few, HALF) for _ in range(FEW)]
        wait_for(lambda: len(few.connections.unfinished) == FEW)
        assert answer(connect(stack, few, WHOLE)) == 200
        assert [is_open(one) for one in old] == [False] + [True] * (FEW - 1)
        old[-1].sendall(b"\r\n")
        assert answer(old[-1]) == 200
        assert len(few.connections) == FEW
    wait_for(lambda: len(few.connections) == 0)


def test_few_idle_connections_survive_many_unfinished_requests(few):
    with ExitStack() as stack:
        idle = [connect(stack, few, WHOLE) for _ in range(FEW // 2)]
        assert {answer(one) for one in idle} == {200}
        for _ in range(3 * FEW):
            connect(stack, few, HALF)
        for one in idle:
            one.sendall(WHOLE)
            assert answer(one) == 200


def test_an_unfinished_request_survives_many_idle_connections(few):
    with ExitStack() as stack:
        for _ in range(FEW):
            assert answer(connect(stack, few, WHOLE)) == 200
        slow = connect(stack, few, HALF)
        for _ in range(3 * FEW):
            assert answer(connect(stack, few, WHOLE)) == 200
        slow.sendall(b"\r\n")
        assert answer(slow) == 200


def test_the_client_does_not_reuse_a_connection_that_was_closed(few):
    """An `ask` is not sent again, so it must not be sent over a closed connection."""
    study = cheap(dp.Client(few.url, retries=0), "s")
    with ExitStack() as stack:
        for _ in range(FEW):
            assert answer(connect(stack, few, WHOLE)) == 200
        assert study.ask().id == 1


def test_requests_that_are_served_are_not_closed(few):
    """Event streams and bodies under way, in half of all connections."""
    client = dp.Client(few.url)
    study = cheap(client, "s")
    client.close()
    head = b"POST /api/studies/s/tell HTTP/1.1\r\nHost: localhost\r\n"
    body = b'{"setting": {"arm": "0"}, "reward": 1}'
    with ExitStack() as stack, closing(study.events()) as stream:
        next(stream)
        rest = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        slow = [connect(stack, few, head + rest + body[:5]) for _ in range(FEW // 2 - 1)]
        wait_for(lambda: len(few.connections.serving) == FEW // 2)
        for _ in range(3 * FEW):
            connect(stack, few, HALF)
        for number, one in enumerate(slow, start=1):
            one.sendall(body[5:])
            assert answer(one) == 200
            while next(stream)["told"] < number:
                pass


def test_no_more_requests_at_once_than_allowed(few):
    """The rest of the connections is for new clients, which are asked to wait."""
    study = cheap(dp.Client(few.url), "s")
    with ExitStack() as stack:
        for _ in range(FEW * 3 // 4):
            next(stack.enter_context(closing(study.events())))
        for _ in range(2 * FEW):
            status, headers, content = few.get("/api/studies")
            assert (status, content["code"], headers["retry-after"]) == (503, "busy", "1")
    wait_for(lambda: few.get("/api/studies")[0] == 200)


def test_no_connection_where_all_are_served(few, monkeypatch):
    monkeypatch.setattr(Limits, "requests", 2 * FEW)
    study = cheap(dp.Client(few.url), "s")
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(study.events())) for _ in range(FEW)]
        for one in streams:
            next(one)
        assert wait_until_closed(connect(stack, few)) < PATIENCE
        assert len(few.connections.serving) == FEW
    wait_for(lambda: len(few.connections) == 0)
    assert few.get("/api/studies")[0] == 200


@pytest.mark.parametrize("text", [b"", HALF, WHOLE + HALF])
def test_headers_must_arrive_in_time(short, text):
    """The first ones, and those of a request that follows another one."""
    with ExitStack() as stack:
        one = connect(stack, short, text[: len(WHOLE)])
        if text.startswith(WHOLE):
            assert answer(one) == 200
            time.sleep(2 * SHORT)  # an idle connection is kept for longer
            one.sendall(text[len(WHOLE) :])
        assert wait_until_closed(one) > SHORT / 2
    assert len(short.connections) == 0


def test_single_bytes_extend_no_deadline(short):
    with ExitStack() as stack:
        one = connect(stack, short)
        begun = time.monotonic()
        with pytest.raises(ConnectionError):  # noqa: PT012
            while True:
                one.sendall(b"G")
                time.sleep(SHORT / 10)
        assert time.monotonic() - begun < 20 * SHORT


def test_a_body_after_its_answer_must_arrive_in_time(short):
    """What is refused by its headers is answered at once, and the rest may not drip in for ever."""
    head = b"POST /api/studies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    with ExitStack() as stack:
        one = connect(stack, short, head)
        assert answer(one) == 415
        with pytest.raises(ConnectionError):  # noqa: PT012
            while True:
                one.sendall(b"x")
                time.sleep(SHORT / 10)


def test_answers_must_be_read_in_time(short):
    """A client that reads nothing is served nothing."""
    script = next(Path(dp.__file__).parent.glob("service/page/uplot/*.js")).name
    request = f"GET /uplot/{script} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as stack:
        one = connect(stack, short, 500 * request)
        wait_for(lambda: len(short.connections.serving) == 1)
        wait_for(lambda: len(short.connections) == 0)
        assert len(one.recv(100)) == 100  # what had been sent before


def test_requests_one_after_the_other_over_one_connection(few):
    with ExitStack() as stack:
        one = connect(stack, few)
        for _ in range(3):
            one.sendall(WHOLE)
            assert answer(one) == 200
        one.sendall(2 * WHOLE + WHOLE[:10])  # two and a part at once
        received = b""
        while received.count(b'{"studies":[]}') < 2:
            received += one.recv(65_536)
        one.sendall(WHOLE[10:])
        assert answer(one) == 200
        assert len(few.connections) == 1


@pytest.mark.parametrize(
    ("files", "connections"), [(256, 128), (1024, 1024 - FILES), (5_000, Limits().connections)]
)
def test_connections_leave_descriptors_for_storage(files, connections):
    with descriptors(files):
        limits = Limits().within_descriptors()
        assert limits.connections == connections
        assert limits.streams <= limits.requests < limits.connections
        assert Limits(connections=10).within_descriptors().connections == 10


@pytest.mark.slow
def test_without_descriptors_the_log_and_the_processor_stay_quiet(tmp_path, caplog):
    """Accepting is tried again each second. Connections that wait are served in the end."""
    with serving(tmp_path) as served, quiet_log(), ExitStack() as stack:
        clients = [stack.enter_context(closing(socket.socket())) for _ in range(40)]
        last = max(int(one.name) for one in Path("/proc/self/fd").iterdir())
        with descriptors(last + 1):
            taken = []
            with suppress(OSError):
                while True:
                    taken.append(os.dup(clients[0].fileno()))
            used = time.process_time()
            for one in clients:
                one.connect(("127.0.0.1", served.port))
                one.sendall(WHOLE)
            time.sleep(2.5)
            used = time.process_time() - used
            for one in taken:
                os.close(one)
        for one in clients:
            one.settimeout(30)
            assert answer(one) == 200
    found = [one for one in caplog.records if "out of system resource" in one.getMessage()]
    assert 1 <= len(found) <= quiet.MOST
    assert used < 1.25


def test_warnings_of_the_library_cannot_fill_the_log(tmp_path, caplog):
    """Each reward that is dated before `forget` has one, which reaches its client."""
    with serving(tmp_path) as served, quiet_log(), warnings.catch_warnings():
        study = cheap(dp.Client(served.url), "s")
        study.tell({"arm": 0}, 1.0, time=100)
        study.forget()
        hear()
        for number in range(quiet.MOST + 5):
            body = {"setting": {"arm": 0}, "reward": 1.0, "time": number}
            code, _, found = served.post("/api/studies/s/tell", body)
            assert code == 200, found
            assert len(found["warnings"]) == 1
    logged = [one.getMessage() for one in caplog.records if "dated before forget" in one.message]
    assert len(logged) == quiet.MOST
    assert "repetitions of this message are omitted" in logged[-1]


def records(set_clock, caplog):
    """What passes of 15 and then 5 equal messages, a period later."""
    now = set_clock(quiet)
    with quiet_log():
        log = logging.getLogger("asyncio")
        for number in range(15):
            log.warning("failed at %d of <0x%x>", number, number)
            log.warning(f"failed at {number} of <{number:#x}> in words")
        log.warning("another")
        now[0] = quiet.PERIOD
        for number in range(5):
            log.warning("failed at %d of <0x%x>", number, number)
    log.warning("after the end")
    return [one.getMessage() for one in caplog.records]


def test_repeated_messages_are_left_out_and_counted(set_clock, caplog):
    found = records(set_clock, caplog)
    same = [one for one in found if one.startswith("failed") and "words" not in one]
    assert len(same) == quiet.MOST + 5
    assert same[8] == "failed at 8 of <0x8>"
    assert same[9] == "failed at 9 of <0x9> (repetitions of this message are omitted for 60 s)"
    assert same[10] == "failed at 0 of <0x0> (5 repetitions of this message were omitted before)"
    assert same[11] == "failed at 1 of <0x1>"
    assert sum("words" in one for one in found) == quiet.MOST
    assert found[-1] == "after the end"
    assert "another" in found
