"""How the blocks of the pages run: Python everywhere, and in tutorials commands and printed text.

The blocks of a page share their names, from top to bottom. A tutorial works in a folder of its own,
where its `sh` blocks run driftpeak's command line; a `text` block must have been printed by the
block above it, word for word, while its numbers may differ from machine to machine.
"""

import io
import os
import re
import shlex
import shutil
import tempfile
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


def check_printed(example: Example) -> None:
    """The text stands in what the block above printed."""
    printed = example.namespace["printed"]
    if plain(example.parsed) not in plain(printed):
        raise AssertionError(f"not printed by the block above, which printed:\n{printed}")


def plain(text: str) -> str:
    """Words without layout, and with a sign in place of every number."""
    return " ".join(NUMBER.sub("#", text).split())


TUTORIAL = (
    CodeBlockParser("python", Printing()),
    CodeBlockParser("sh", run_commands),
    CodeBlockParser("text", check_printed),
    SkipParser(),
)


def enter_folder(namespace: dict[str, Any]) -> None:
    """Before a tutorial: a folder of its own."""
    namespace["left"], namespace["folder"] = os.getcwd(), tempfile.mkdtemp()
    os.chdir(namespace["folder"])


def leave_folder(namespace: dict[str, Any]) -> None:
    """After it: back, with its pictures where somebody wants them."""
    os.chdir(namespace["left"])
    if KEPT in os.environ:
        for picture in Path(namespace["folder"]).glob("*.png"):
            shutil.copy(picture, os.environ[KEPT])
    shutil.rmtree(namespace["folder"])
