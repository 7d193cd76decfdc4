"""`completion`: what makes a shell complete commands and options at the Tab key."""

from enum import StrEnum
from typing import Annotated

import typer


class Shell(StrEnum):
    """The shells that can."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="Yours.", metavar="bash|zsh|fish")],
) -> None:
    """Print a script by which a shell completes commands and options at the Tab key.

    Keep it in a file and read that from ~/.bashrc or ~/.zshrc with source; fish reads
    ~/.config/fish/completions/driftpeak.fish by itself.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(
        get_completion_script(
            prog_name="driftpeak", complete_var="_DRIFTPEAK_COMPLETE", shell=shell.value
        )
    )
