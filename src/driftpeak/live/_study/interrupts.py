"""Delayed handling of Ctrl-C, so that an optimiser's changes are always complete."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """A handler of Ctrl-C that raises `KeyboardInterrupt` at once or at the end of a block."""

    def __init__(self) -> None:
        self._delayed = self._waiting = False

    @contextmanager
    def delayed(self) -> Iterator[None]:
        """Delay `KeyboardInterrupt` until the end of the block."""
        self._delayed = True
        try:
            yield
        finally:
            self._delayed = False
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt

    def pressed(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        if not self._delayed:
            raise KeyboardInterrupt
        self._waiting = True


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Replace Python's own handler of Ctrl-C during the block.

    Other handlers are kept. Outside the main thread nothing is changed, because only the main
    thread receives signals.
    """
    handler = Interrupts()
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, handler.pressed)
    try:
        yield handler
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
