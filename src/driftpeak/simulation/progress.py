"""A progress bar on the error output, or nothing when nobody is looking."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[str], None]
"""Called when one more piece of work, here named, is done."""


@contextmanager
def progress_bar(title: str, total: int, *, show: bool | None = None) -> Iterator[Advance]:
    """Show a bar of `total` pieces of work; by default only if the error output is a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda _: None
        return
    # imported here: rich costs a tenth of a second that importing driftpeak need not pay
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Bar(*columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task(title, total=total)

        def advance(what: str) -> None:
            bar.update(task, advance=1, description=f"{title} {what}")

        yield advance
