"""A progress bar on the error output, shown by default only if that is a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from driftpeak._core.durations import duration_text

FEWEST = 3  # parts before an estimate
SOON, LONG = 10.0, 60.0  # least elapsed and remaining seconds of an estimate


class Progress:
    """The progress of a task and its current part, shown on rich's bar if there is one.

    Without a bar, a task that will take more than a minute prints its estimated duration once.
    """

    def __init__(self, title: str, bar: Any = None) -> None:
        self._title, self._bar = title, bar
        self._task = None if bar is None else bar.add_task(title, total=None)
        self._begun, self._done, self._announced = time.monotonic(), 0, False
        self._total: int | None = None

    def expect(self, total: int) -> None:
        """Set the total number of parts."""
        self._total = total
        if self._bar is not None:
            self._bar.update(self._task, total=total)

    def now(self, what: str) -> None:
        """Show `what` as the current part."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"{self._title}: {what}")

    def done(self) -> None:
        """Count one more part as done."""
        if self._bar is not None:
            self._bar.advance(self._task)
            return
        self._done += 1
        if self._announced or self._total is None or self._done < FEWEST:
            return
        elapsed = time.monotonic() - self._begun
        left = elapsed / self._done * (self._total - self._done)
        if elapsed >= SOON and left >= LONG:
            self._announced = True
            print(
                f"driftpeak: {self._title}: {self._done:,} of {self._total:,} parts took "
                f"{duration_text(elapsed)}; about {duration_text(left)} left",
                file=sys.stderr,
            )


@contextmanager
def progress_bar(title: str, *, show: bool | None = None) -> Iterator[Progress]:
    """Show a bar; by default only if the error output is a terminal.

    The bar is indeterminate until `Progress.expect` sets the total.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield Progress(title)
        return
    # imported here: importing rich takes a tenth of a second
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
    # output printed meanwhile appears above the bar, unless it is redirected
    above = sys.stdout.isatty()
    with Bar(
        *columns, console=console, transient=console.is_terminal, redirect_stdout=above
    ) as bar:
        yield Progress(title, bar)
