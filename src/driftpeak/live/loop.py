"""A plain loop over ask and tell, for a function that can be called."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, finite, shown, warn
from driftpeak._core.progress import progress_bar
from driftpeak.live.engines.setup import LivePolicy
from driftpeak.live.optimizer import Optimizer
from driftpeak.live.space.encoding import Space
from driftpeak.live.study.clock import Time
from driftpeak.live.study.interrupts import Interrupts, interrupts
from driftpeak.live.study.storage import Storage
from driftpeak.live.study.suggestion import Suggestion

Callback = Callable[[Suggestion, float, Optimizer], object]
"""Called with what was asked, the reward told for it, and the optimiser; stops by `True`."""
Clock = Callable[[], Time]
OPTIONS = ("maximize", "minimize", "policy", "seed", "storage", "name")


@checked
def optimize(
    function: Callable[[Suggestion], float],
    space: Space | Optimizer,
    *,
    steps: int | None,
    maximize: bool | None = None,
    minimize: bool | None = None,
    time: Clock | str | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    policy: LivePolicy | None = None,
    seed: int | None = None,
    storage: Storage | None = None,
    name: str | None = None,
    progress: bool | None = None,
) -> Optimizer:
    """Keep a function that moves at its peak: ask where to sample, call it, tell what it brought.

    Ctrl-C ends the loop: the suggestion that was out is cancelled, and what was learned returned.
    An error of `function` goes on to the caller: its suggestion is cancelled too, and what was
    learned is in the error's attribute `optimizer` (and in the storage, if there is one).

    Arguments:
        function: called with each suggestion, a mapping of parameters with a `time`; returns the
            reward, a finite number.
        space: `Box`, `Arms` or `Grid`; or an `Optimizer`, which goes on. To set what is no argument
            here (limits of moving, a horizon), make one.
        steps: how many times the function is called, in addition to what a stored study holds;
            None: until it is stopped.
        maximize, minimize: whether large rewards are good, said by one of them: `maximize=True`, or
            `minimize=True` which is `maximize=False`.
        time: a function of no arguments that says when the next sample is made, or "now" for the
            computer's clock. By default steps are counted: 1, 2, ...
        callbacks: one, or several, called after each step with the suggestion, its reward and the
            optimiser. If one of them returns `True`, the loop ends.
        policy: as of an `Optimizer`; by default `DriftingGP()`.
        seed: of everything random; by default 0.
        storage: where the study is kept and resumed: see
            `driftpeak.live.study.storage.open_store`.
        name: of the study in the storage.
        progress: show a progress bar; by default if the error output is a terminal.

    Returns:
        The optimiser: `best()`, `to_dataframe()`, and all else that was learned.

    Raises:
        DriftpeakError: an argument of the wrong kind, not one of maximize and minimize, what an
            `Optimizer` does not take, a reward that is not a finite number.

    Warns:
        DriftpeakWarning: Ctrl-C was pressed.

    Example:
        >>> import driftpeak as dp
        >>> def cost(setting):
        ...     return (setting["x"] - 0.3 - 0.001 * setting.time) ** 2
        >>> found = dp.optimize(cost, dp.Box(x=dp.Float(0, 1)), steps=12, minimize=True)
        >>> abs(found.best()["x"] - 0.31) < 0.1
        True
    """
    if not callable(function):
        raise DriftpeakError(f"function must be callable; got {shown(function)}")
    if steps is not None:
        at_least_integer("steps", steps, 0)
    clock, each = _clock(time), _callbacks(callbacks)
    given = (maximize, minimize, policy, seed, storage, name)
    optimizer = _optimizer(space, dict(zip(OPTIONS, given, strict=True)))
    done = 0
    with progress_bar("optimising", show=progress) as bar, interrupts() as waiting:
        if steps is not None:
            bar.expect(steps)
        try:
            while steps is None or done < steps:
                suggestion, reward = _step(function, optimizer, clock, waiting)
                bar.now(f"reward {reward:.4g}")
                bar.done()
                answers = [callback(suggestion, reward, optimizer) for callback in each]
                if any(isinstance(one, bool | np.bool_) and one for one in answers):
                    break
                done += 1
        except KeyboardInterrupt:
            warn(
                f"interrupted in step {done + 1}{'' if steps is None else f' of {steps}'}; what "
                "was learned is returned"
            )
        except Exception as error:
            error.add_note(
                f"raised in step {done + 1} of driftpeak.optimize; what was learned is in this "
                "error's attribute optimizer"
            )
            error.optimizer = optimizer  # type: ignore[attr-defined]
            raise
    return optimizer


def _step(
    function: Callable[[Suggestion], float], optimizer: Optimizer, clock: Clock, waiting: Interrupts
) -> tuple[Suggestion, float]:
    """Ask, call, tell; a suggestion that is not told is cancelled."""
    suggestion = None
    try:
        when = clock()
        with waiting.held():
            suggestion = optimizer.ask(when)
        reward = finite("what function returns", function(suggestion))
        with waiting.held():
            optimizer.tell(suggestion, reward)
            told, suggestion = suggestion, None
    except BaseException:
        if suggestion is not None:
            optimizer.cancel(suggestion)
        raise
    return told, reward


def _optimizer(space: Space | Optimizer, options: dict[str, Any]) -> Optimizer:
    """The one that is given, or a new one for a space."""
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(space, Optimizer):
        if given:
            raise DriftpeakError(
                f"an optimiser that goes on has its own {', '.join(given)}: leave that out, or "
                "give its space"
            )
        return space
    return Optimizer(space, **given)


def _clock(time: object) -> Clock:
    """What says when the next sample is made."""
    if time is None or (isinstance(time, str) and time == "now"):
        return lambda: time
    if not callable(time):
        raise DriftpeakError(
            'time must be a function of no arguments that returns a time, or "now"; got '
            f"{shown(time)}"
        )
    return time


def _callbacks(given: object) -> list[Callback]:
    found = [given] if callable(given) else list(given) if isinstance(given, Iterable) else None
    if found is None or not all(map(callable, found)):
        raise DriftpeakError(f"callbacks must be one callable, or several; got {shown(given)}")
    return found
