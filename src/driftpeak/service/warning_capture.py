"""Warnings of the library reach the client whose call they are about, and the log.

Python shows warnings of a process in one way: `hear` sets one that sorts them by threads.
"""

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from driftpeak._core.errors import DriftpeakWarning
from driftpeak.service.log_filter import WARNINGS

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
    """From now on, pass the library's warnings to `warnings_of` and to the log.

    `quiet_log` limits how often the log repeats them: each request can cause one.
    """
    warnings.filterwarnings("always", category=DriftpeakWarning)
    show = warnings.showwarning

    def told(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        if not issubclass(category, DriftpeakWarning):
            show(message, category, *rest, **named)
            return
        texts = getattr(_HEARD, "texts", None)
        if texts is not None:
            texts.append(str(message))
        logging.getLogger(WARNINGS).warning(str(message))

    warnings.showwarning = told
