"""A spinner on the error output of a terminal, shown while JAX is loaded or compiles."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def busy(what: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with a text until the block ends, if the error output is a terminal.

    The block must not print: the spinner would capture the output.

    Yields:
        A function that changes the text.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ...") as status:
        yield lambda text: status.update(f"{text} ...")
