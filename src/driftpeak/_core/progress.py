"""A progress bar on the error output, or nothing when nobody is looking."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Progress:
    """How far a piece of work has come, and what it is at; told to rich's bar, if there is one."""

    def __init__(self, title: str, bar: Any = None) -> None:
        self._title, self._bar = title, bar
        self._task = None if bar is None else bar.add_task(title, total=None)

    def expect(self, total: int) -> None:
        """There are so many parts to do."""
        if self._bar is not None:
            self._bar.update(self._task, total=total)

    def now(self, what: str) -> None:
        """This is being done."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"{self._title}: {what}")

    def done(self) -> None:
        """One more part is done."""
        if self._bar is not None:
            self._bar.advance(self._task)


@contextmanager
def progress_bar(title: str, *, show: bool | None = None) -> Iterator[Progress]:
    """Show a bar; by default only if the error output is a terminal.

    It moves to and fro until it is told how much there is to do.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield Progress(title)
        return
    # imported here: rich costs a tenth of a second that importing driftpeak need not pay
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress as Bar,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    # what is printed meanwhile goes above the bar, unless the output goes elsewhere
    above = sys.stdout.isatty()
    with Bar(
        *columns, console=console, transient=console.is_terminal, redirect_stdout=above
    ) as bar:
        yield Progress(title, bar)
