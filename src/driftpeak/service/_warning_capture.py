"""Delivery of the library's warnings to the client that caused them, and to the log.

Python has one warning handler per process; `hear` installs one that distinguishes threads.
"""

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from driftpeak._core.errors import DriftpeakWarning
from driftpeak.service._log_filter import WARNINGS

_HEARD = threading.local()


@contextmanager
def warnings_of() -> Iterator[list[str]]:
    """Yield a list that collects the library's warnings in this thread, after a call of `hear`."""
    texts: list[str] = []
    _HEARD.texts = texts
    try:
        yield texts
    finally:
        del _HEARD.texts


def hear() -> None:
    """Install a handler that passes the library's warnings to `warnings_of` and to the log.

    `quiet_log` limits repetitions in the log, because each request can cause a warning.
    """
    warnings.filterwarnings("always", category=DriftpeakWarning)
    show = warnings.showwarning

    def deliver(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        if not issubclass(category, DriftpeakWarning):
            show(message, category, *rest, **named)
            return
        texts = getattr(_HEARD, "texts", None)
        if texts is not None:
            texts.append(str(message))
        logging.getLogger(WARNINGS).warning(str(message))

    warnings.showwarning = deliver
