"""How the blocks of the pages run: Python everywhere, and in tutorials commands and printed text.

The blocks of a page share their names, from top to bottom. A tutorial works in a folder of its own,
where its `sh` blocks run driftpeak's command line; a `text` block must have been printed by the
block above it, word for word, while its numbers may differ from machine to machine, and "..."
stands for what was left out. On the page of the command line, `sh` blocks run in a shell, with its
loops and pipes.
"""

import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import jaxtyping
from sybil import Example
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.myst import CodeBlockParser, SkipParser

NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?|\bnan\b")
KEPT = "DRIFTPEAK_TUTORIAL_PICTURES"
"""Environment variable: a folder for the pictures that tutorials save."""


class Printing(PythonEvaluator):
    """Runs Python, and remembers what it prints."""

    def __call__(self, example: Example) -> None:
        with redirect_stdout(io.StringIO()) as printed:
            super().__call__(example)
        example.namespace["printed"] = printed.getvalue()


def run_commands(example: Example) -> None:
    """Runs every line of the block that calls `driftpeak`; others are for the reader alone."""
    from driftpeak.cli.app import app

    checked = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)  # as for a user: the command line's own
    printed = io.StringIO()
    for line in example.parsed.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["driftpeak"]:
            with redirect_stdout(printed), redirect_stderr(printed):
                app(words[1:], standalone_mode=False)
    jaxtyping.config.update("jaxtyping_disable", checked)
    example.namespace["printed"] = printed.getvalue()


FORWARD = """#!{python} -IS
import socket, sys, json
with socket.socket(socket.AF_UNIX) as there:
    there.connect({address!r})
    there.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
    with there.makefile() as answer:
        code, out, err = json.load(answer)
sys.stdout.write(out), sys.stderr.write(err), sys.exit(code)
"""
"""A `driftpeak` that has the tests' own process do it, where all is imported and compiled."""


def run_in_shell(example: Example) -> None:
    """Runs the block as a script; it may fail only where it says so, as with `|| echo $?`."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{folder}/door")
        door.listen()
        door.settimeout(0.05)
        command = Path(folder) / "driftpeak"
        command.write_text(FORWARD.format(python=sys.executable, address=f"{folder}/door"))
        command.chmod(0o755)
        printed = Path(folder) / "printed"
        with printed.open("w") as file:
            shell = subprocess.Popen(
                ["sh", "-eu", "-c", example.parsed],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
            )
            while shell.poll() is None:
                try:
                    caller, _ = door.accept()
                except TimeoutError:
                    continue
                with caller, caller.makefile("rw") as line:
                    json.dump(called(json.loads(line.readline())), line)
        example.namespace["printed"] = printed.read_text()
    if shell.returncode:
        raise AssertionError(f"exit code {shell.returncode}:\n{example.namespace['printed']}")


def called(words: list[str]) -> tuple[int, str, str]:
    """Exit code, output and error output of the command line."""
    from driftpeak.cli.app import main

    checked, given, code = jaxtyping.config.jaxtyping_disable, sys.argv, 0
    jaxtyping.config.update("jaxtyping_disable", True)  # as for a user: the command line's own
    shows = warnings.showwarning
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        sys.argv = ["driftpeak", *words]
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.argv, warnings.showwarning = given, shows
            jaxtyping.config.update("jaxtyping_disable", checked)
    return code, out.getvalue(), err.getvalue()


def check_printed(example: Example) -> None:
    """The text stands in what the block above printed, its parts in their order."""
    printed = example.namespace["printed"]
    left = plain(printed)
    for part in re.split(r"(?<!\S)\.\.\.(?!\S)", example.parsed):
        wanted = plain(part)
        if wanted not in left:
            raise AssertionError(f"not printed by the block above, which printed:\n{printed}")
        left = left[left.index(wanted) + len(wanted) :]


def plain(text: str) -> str:
    """Words without layout, and with a sign in place of every number."""
    return " ".join(NUMBER.sub("#", text).split())


TUTORIAL = (
    CodeBlockParser("python", Printing()),
    CodeBlockParser("sh", run_commands),
    CodeBlockParser("text", check_printed),
    SkipParser(),
)
SHELL = (
    CodeBlockParser("python", Printing()),
    CodeBlockParser("sh", run_in_shell),
    CodeBlockParser("text", check_printed),
    SkipParser(),
)


def enter_folder(namespace: dict[str, Any]) -> None:
    """Before a tutorial: a folder of its own."""
    namespace["_left"], namespace["_folder"] = os.getcwd(), tempfile.mkdtemp()
    os.chdir(namespace["_folder"])


def leave_folder(namespace: dict[str, Any]) -> None:
    """After it: back, with its pictures where somebody wants them."""
    os.chdir(namespace["_left"])
    if KEPT in os.environ:
        for picture in Path(namespace["_folder"]).glob("*.png"):
            shutil.copy(picture, os.environ[KEPT])
    shutil.rmtree(namespace["_folder"])
