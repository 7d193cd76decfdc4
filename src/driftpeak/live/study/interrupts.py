"""Ctrl-C, which waits while an optimiser is at work: what is half changed would be of no use."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """What to do when Ctrl-C is pressed: `KeyboardInterrupt` at once, or when a block has ended."""

    def __init__(self) -> None:
        self._held = self._waiting = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside the block Ctrl-C waits; `KeyboardInterrupt` is raised behind it."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt

    def pressed(self, number: int, frame: FrameType | None) -> None:
        """The handler of the signal."""
        if not self._held:
            raise KeyboardInterrupt
        self._waiting = True


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Take Ctrl-C over, if it is Python's own handler that would be called, and give it back.

    Signals reach the main thread alone, and somebody else's handler stays.
    """
    found = Interrupts()
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, found.pressed)
    try:
        yield found
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
