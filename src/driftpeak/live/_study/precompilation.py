"""Compilation, in a background thread, of the programs that a growing study needs next.

Programs have fixed shapes. When a study outgrows its arrays, it needs programs for longer ones, and
to compile them takes seconds. They are compiled while the shorter ones still answer: a new engine
with synthetic observations runs everything that the longer arrays need. Programs belong to the
process and not to an engine, so that the study then finds them, as do studies with the same
arguments.
"""

import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.numerics import disk_cache
from driftpeak._core.numerics.compiled import NotCompiledError, compiling_only_if
from driftpeak._core.numerics.machine_code import OFF, PRECOMPILE
from driftpeak.live._engines.engine import Engine
from driftpeak.live._model.fantasies import size_for_pending
from driftpeak.live._space.records import Request
from driftpeak.live._study.event_sourced import computing

_ONE_AT_A_TIME = threading.Lock()
_STARTED: set[tuple[object, ...]] = set()
"""What determines the programs of each compilation that this process has started."""


class Precompilation:
    """The background compilation of one study.

    It ends with the program: the interpreter waits for at most one program that is being compiled.
    `$DRIFTPEAK_PRECOMPILE` is "off" to compile programs only when they are needed.
    """

    def __init__(self) -> None:
        self._count = 0  # of observations for which programs are compiled or being compiled

    def prepare(
        self,
        engine: Engine,
        make_engine: Callable[[], Engine],
        request: Request,
        describe: Callable[[], Mapping[str, object]],
    ) -> None:
        """Start to compile what the study needs next, unless that has begun.

        Arguments:
            engine: the study's engine; it is not changed.
            make_engine: makes a new engine of the same study.
            request: the latest suggestion's arguments.
            describe: returns the study's arguments as JSON-compatible data.
        """
        count = engine.next_recompilation()
        if count is None or count <= self._count or os.environ.get(PRECOMPILE) == OFF:
            return
        self._count = count
        study = json.dumps({**describe(), "seed": None}, sort_keys=True)
        pending = size_for_pending(len(request.pending))
        omitted = request.reach is None, request.scheduled is None
        programs = study, count, pending, omitted, disk_cache.is_on()
        if programs in _STARTED:
            return
        _STARTED.add(programs)
        arguments = make_engine, count, request
        threading.Thread(target=_compile, args=arguments, name="driftpeak-compiler").start()


def _compile(make_engine: Callable[[], Engine], count: int, request: Request) -> None:
    """Compile what searches, and then what learns, which the first `tell` may do meanwhile."""
    # the program ends, or synthetic observations leave no feasible setting
    expected = suppress(NotCompiledError, DriftpeakError)
    with _ONE_AT_A_TIME, expected, computing(), compiling_only_if(_is_running):
        engine = make_engine()
        engine.warm_up(count, request)
        engine.warm_up_learning()


def _is_running() -> bool:
    """Return whether the program still runs: at its end, Python waits only for other threads."""
    return threading.main_thread().is_alive()
