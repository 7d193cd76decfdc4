"""A sign of life on the error output of a terminal: before JAX is loaded, and while it compiles."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def busy(what: str) -> Iterator[Callable[[str], None]]:
    """Say what is being done until the block ends; nothing where nobody is looking.

    Gives a function that says something else. Print nothing meanwhile: it would not go where the
    output goes.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ...") as status:
        yield lambda text: status.update(f"{text} ...")
