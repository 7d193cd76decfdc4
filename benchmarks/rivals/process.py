"""Interface of the benchmark to a rival in a separate process."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rivals import RIVALS

ROOT = Path(__file__).parents[2]


class RivalMissingError(Exception):
    """Raised if a rival cannot run on this machine; the text names what is missing."""


class RivalFailedError(Exception):
    """Raised if a rival raised an error, which is the text, or its process ended."""


class Process:
    """Process of one rival, which can start any number of plays without loading again.

    Raises:
        RivalMissingError: its interpreter, or a module that it needs, is missing.
    """

    def __init__(self, name: str, settings: Mapping[str, str] = os.environ) -> None:
        python = interpreter(name, settings)
        command = [python, "-m", "benchmarks.rivals.serve", RIVALS[name]]
        try:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # warnings, progress
                text=True,
            )
        except OSError as error:
            raise RivalMissingError(f"the interpreter {python} is missing") from error
        try:
            first = self._answer()
        except RivalFailedError as error:
            self.close()
            raise RivalMissingError(f"it did not start under {python}: {error}") from error
        if "missing" in first:
            self.close()
            raise RivalMissingError(f"{first['missing']} is not installed for {python}")
        self.versions: dict[str, str] = first["versions"]

    def new(self, dimension: int, seed: int, clock: float) -> None:
        self._call("new", [dimension, seed, clock])

    def ask(self, time: float) -> tuple[list[float], float]:
        """Return a point of the unit cube, and the rival's computing time in seconds."""
        answer = self._call("ask", time)
        return answer["point"], answer["seconds"]

    def tell(self, point: Sequence[float], reward: float, time: float) -> float:
        """Pass a reward to the rival, and return its computing time in seconds."""
        return float(self._call("tell", [list(point), reward, time])["seconds"])

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _call(self, verb: str, told: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({verb: told}) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise RivalFailedError("its process has ended") from error
        answer = self._answer()
        if "error" in answer:
            raise RivalFailedError(answer["error"])
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RivalFailedError("its process has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


def interpreter(name: str, settings: Mapping[str, str] = os.environ) -> str:
    """Return a rival's Python: `FIELD_PYTHON_NAME`, one in `FIELD_ENVIRONMENTS`, or this one."""
    chosen = settings.get(f"FIELD_PYTHON_{name.upper()}")
    folder = settings.get("FIELD_ENVIRONMENTS")
    if chosen is None and folder:
        own = Path(folder) / name / "bin" / "python"
        chosen = str(own) if own.exists() else None
    return chosen or sys.executable
