"""Warnings of the library reach the client whose call they are about.

Python shows warnings of a process in one way: `hear` sets one that sorts them by threads.
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from driftpeak.errors import DriftpeakWarning

_HEARD = threading.local()


@contextmanager
def warnings_of() -> Iterator[list[str]]:
    """What the library warns of in this thread until the block ends, where `hear` was called."""
    texts: list[str] = []
    _HEARD.texts = texts
    try:
        yield texts
    finally:
        del _HEARD.texts


def hear() -> None:
    """From now on, tell the library's warnings to `warnings_of`, besides where they went before."""
    warnings.filterwarnings("always", category=DriftpeakWarning)
    show = warnings.showwarning

    def told(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        texts = getattr(_HEARD, "texts", None)
        if texts is not None and issubclass(category, DriftpeakWarning):
            texts.append(str(message))
        show(message, category, *rest, **named)

    warnings.showwarning = told
