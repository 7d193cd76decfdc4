"""Tests compute in double precision and refuse silent broadcasting between ranks."""

import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace

import jax
import jaxtyping
import postgres
import pytest
from hypothesis import settings

settings.register_profile("driftpeak", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("driftpeak")


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture
def without_type_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let wrongly typed arguments reach the messages that users see; the checks are for us."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType], list[float]]:
    """Replace the clock of a module, and return the list that holds its time.

    `time.monotonic` itself must not be replaced: the event loop of a service in another thread
    could then wait for as long as the machine has been running.
    """

    def replace(module: ModuleType) -> list[float]:
        now = [0.0]
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
        return now

    return replace


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a real PostgreSQL server, of this worker's own."""
    if postgres.find_program("initdb") is None:
        assert postgres.NEEDED not in os.environ, "PostgreSQL is not installed"
        pytest.skip("PostgreSQL's server is not installed: see `make test-postgres`")
    with postgres.server() as address:
        yield address


@pytest.fixture(params=["journal", "sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path) -> str:
    """An address of every kind of storage; that of a database may hold other studies."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    return f"{request.param}:///{tmp_path}/studies"


@pytest.fixture
def run(monkeypatch, capsys, without_type_checks):
    """Run the command line in this process: (exit code, standard output, standard error)."""
    from driftpeak.cli import app  # after the hook that checks shapes is in place

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["driftpeak", *map(str, words)])
        code = 0
        try:
            app.main()
        except SystemExit as exit:
            code = exit.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
