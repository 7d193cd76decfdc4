"""A service in a thread of the tests, answering on a port of its own."""

import faulthandler
import http.client
import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import live_worker
import numpy as np

import driftpeak as dp
from driftpeak.service._app import make_app
from driftpeak.service._server import Server, listen
from driftpeak.service._study_directory import open_place

BOX = {"box": {"x": {"type": "float", "low": 0, "high": 1}}}
SMALL = {"drifting-gp": {"capacity": 32}}
PATIENCE = 300


class Served:
    """Where it answers, and one request at a time."""

    def __init__(self, port, app, connections):
        self.port, self.app, self.url = port, app, f"http://127.0.0.1:{port}"
        self.connections = connections

    def send(self, method, path, body=None, headers=None, data=None):
        """Status, headers and content of an answer; a body is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            own = {} if body is None else {"Content-Type": "application/json"}
            data = json.dumps(body).encode() if data is None and body is not None else data
            connection.request(method, path, data, own | (headers or {}))
            answer = connection.getresponse()
            text = answer.read()
            found = dict(answer.getheaders())
        finally:
            connection.close()
        kind = found.get("content-type", "")
        if "arrow" in kind:
            return answer.status, found, text
        return answer.status, found, json.loads(text) if "json" in kind else text.decode()

    def get(self, path, **headers):
        return self.send("GET", path, headers=headers)

    def post(self, path, body, **headers):
        return self.send("POST", path, body, headers=headers)


@contextmanager
def serving(storage, **options):
    """Answer until the block ends."""
    app = make_app(open_place(str(storage)), **options)
    listening = listen("127.0.0.1", 0)
    server = Server(app)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield Served(listening.getsockname()[1], app, server.connections)
    finally:
        app.studies.close()
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
        if thread.is_alive():
            faulthandler.dump_traceback(sys.__stderr__)  # what it waits for
            raise AssertionError("the service has not ended")


def cheap(client, name):
    """A study that computes next to nothing."""
    prior = dp.Prior(dp.Arms(2), dp.kernels.Table(np.eye(2)), noise_variance=0.1)
    return client.create(name, prior.domain, maximize=True, policy=dp.UniformRandom(prior))


def start(storage, port, errors, files=None):
    """Begin a service in a process of its own, which may open so many files; the port it serves."""
    words = ["serve", str(storage), "--port", str(port)]
    command = [sys.executable, "-m", "driftpeak", *words]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    with errors.open("w") as target:
        process = subprocess.Popen(command, env=live_worker.environment(), stderr=target)
    deadline = time.monotonic() + PATIENCE
    while "serving at" not in (said := errors.read_text()):
        assert process.poll() is None, said
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process, int(said.rpartition(":")[2])
