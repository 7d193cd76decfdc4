"""A spinner on the error output of a terminal, shown while JAX is loaded or compiles."""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

COMPILING = "compiling, once for each length of the history"


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


@contextmanager
def compilation_shown(say: Callable[[str], None]) -> Iterator[None]:
    """Call `say` whenever this thread compiles a program inside the block."""
    from driftpeak._core.numerics.compiled import COMPILATION  # loads JAX

    class Shown(logging.Handler):
        """Handler of the messages of this thread; others compile in the background."""

        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == here:
                say(COMPILING)

    here, logger, handler = threading.get_ident(), logging.getLogger(COMPILATION), Shown()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
