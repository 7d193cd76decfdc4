"""`driftpeak completion`: scripts for shell completion of commands and options."""

from enum import StrEnum
from typing import Annotated

import typer


class Shell(StrEnum):
    """The supported shells."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="Your shell.", metavar="bash|zsh|fish")],
) -> None:
    """Print a script that enables Tab completion of commands and options.

    Save it in a file and add `source FILE` to ~/.bashrc or ~/.zshrc. fish loads
    ~/.config/fish/completions/driftpeak.fish automatically.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(
        get_completion_script(
            prog_name="driftpeak", complete_var="_DRIFTPEAK_COMPLETE", shell=shell.value
        )
    )
