"""Exclusive calls of an optimiser that several threads and processes share."""

import os
import weakref
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, TypeVar

from driftpeak.live._study.events import Event
from driftpeak.live._study.storage import Study

_SHARED: "weakref.WeakSet[Shared]" = weakref.WeakSet()


class Shared:
    """An object that several threads use, with a study that several processes use. Base class."""

    on_event: Callable[[Event], None]
    """Called with each event of this optimiser: before it takes effect, or, with a storage, once
    it is durable."""

    def __init__(self) -> None:
        self.on_event = lambda event: None
        self._study: Study | None = None
        self._lock = RLock()  # one call at a time; calls may be nested
        _SHARED.add(self)

    def _begin_change(self) -> None:
        """Prepare for a change, whose computation may be repeated."""


Owner = TypeVar("Owner", bound=Shared)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Method = Callable[Concatenate[Owner, Arguments], Result]


def changing(method: Method[Owner, Arguments, Result]) -> Method[Owner, Arguments, Result]:
    """Decorate a method that changes the study: the change is durable when it returns."""

    @wraps(method)
    def durable(self: Owner, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        with self._lock:
            self._begin_change()
            if self._study is None:
                return method(self, *args, **named)
            return self._study.change(lambda: method(self, *args, **named), self.on_event)

    return durable


def looking(method: Method[Owner, Arguments, Result]) -> Method[Owner, Arguments, Result]:
    """Decorate a method that reads the study: events of other processes are applied first."""

    @wraps(method)
    def fresh(self: Owner, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        with self._lock:
            if self._study is not None:
                self._study.refresh()
            return method(self, *args, **named)

    return fresh


def _after_fork() -> None:
    """Renew the locks in a child process, because another thread of the parent may hold them."""
    for shared in _SHARED:
        shared._lock = RLock()
        if shared._study is not None:
            shared._study.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
