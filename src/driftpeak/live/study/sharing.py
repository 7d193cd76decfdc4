"""Several threads and several processes at one optimiser: each call has it to itself."""

import os
import weakref
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Concatenate, ParamSpec, TypeVar

from driftpeak.live.study.events import Event
from driftpeak.live.study.storage import Study

_SHARED: "weakref.WeakSet[Shared]" = weakref.WeakSet()


class Shared:
    """What may be in use by several threads, and stored where other processes use it too."""

    on_event: Callable[[Event], None]
    """Called with every event that happens here: before it takes effect, or, with a storage,
    once it is durable."""

    def __init__(self) -> None:
        self.on_event = _ignore
        self._study: Study | None = None
        self._lock = RLock()  # one call at a time; a call may make others
        _SHARED.add(self)

    def _begin_change(self) -> None:
        """A change is called for; what it does may have to be done again."""


Owner = TypeVar("Owner", bound=Shared)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Method = Callable[Concatenate[Owner, Arguments], Result]


def changing(method: Method[Owner, Arguments, Result]) -> Method[Owner, Arguments, Result]:
    """The method changes a stored study: it holds the study, and is durable when it returns."""

    @wraps(method)
    def durable(self: Owner, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        with self._lock:
            self._begin_change()
            if self._study is None:
                return method(self, *args, **named)
            return self._study.change(lambda: method(self, *args, **named), self.on_event)

    return durable


def looking(method: Method[Owner, Arguments, Result]) -> Method[Owner, Arguments, Result]:
    """The method looks at what is known, with what other processes have added to the study."""

    @wraps(method)
    def fresh(self: Owner, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        with self._lock:
            if self._study is not None:
                self._study.refresh()
            return method(self, *args, **named)

    return fresh


def _ignore(event: Event) -> None:
    """Without a store, events are not kept."""


def _after_fork() -> None:
    """In a child process: another thread of the parent may have held what it does not hold here."""
    for one in _SHARED:
        one._lock = RLock()
        if one._study is not None:
            one._study.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
