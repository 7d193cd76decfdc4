"""A loop over ask and tell, for an objective that is a Python function."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, finite, rejected, shown, warn
from driftpeak._core.progress import progress_bar
from driftpeak.live._engines.setup import LivePolicy
from driftpeak.live._optimizer import Optimizer
from driftpeak.live._space.encoding import Space
from driftpeak.live._study.clock import Time
from driftpeak.live._study.interrupts import Interrupts, interrupts
from driftpeak.live._study.storage import Storage
from driftpeak.live._study.suggestion import Suggestion

Callback = Callable[[Suggestion, float, Optimizer], object]
"""Called with the suggestion, its reward and the optimiser; returns `True` to end the loop."""
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
    """Optimise a drifting function: ask for a suggestion, call the function, tell the reward.

    Ctrl-C ends the loop. The pending suggestion is cancelled, and the optimiser is returned. An
    error of `function` is raised to the caller. Its suggestion is cancelled too, and the optimiser
    is the error's attribute `optimizer`. With a storage, all observations are stored in both cases.

    Arguments:
        function: called with each suggestion, a mapping of parameters with a `time`; returns the
            reward, a finite number.
        space: `Box`, `Arms` or `Grid`; or an `Optimizer`, which is continued. Use an `Optimizer`
            for options that are not arguments here (such as movement limits and the horizon).
        steps: number of calls of the function, in addition to those of a stored study; None for a
            loop without end.
        maximize, minimize: the direction. Give one of them: `minimize=True` means
            `maximize=False`.
        time: a function without arguments that returns the time of the next sample, or "now" for
            the computer's clock. By default steps are counted: 1, 2, ...
        callbacks: one callable or several, called after each step with the suggestion, its reward
            and the optimiser. The loop ends if one of them returns `True`.
        policy: as for `Optimizer`; by default `DriftingGP()`.
        seed: seed of all random numbers; by default 0.
        storage: where the study is stored and resumed from: see
            `driftpeak.live.open_store`.
        name: name of the study in the storage.
        progress: whether to show a progress bar; by default if the error output is a terminal.

    Returns:
        The optimiser, for `best()`, `to_dataframe()` and other results.

    Raises:
        DriftpeakError: an argument has the wrong type; not exactly one of maximize and minimize is
            given; `Optimizer` rejects an argument; a reward is not a finite number.

    Warns:
        DriftpeakWarning: Ctrl-C was pressed.

    Example:
        >>> import driftpeak as dp
        >>> def cost(setting):
        ...     return (setting["x"] - 0.3 - 0.001 * setting.time) ** 2
        >>> optimizer = dp.optimize(cost, dp.Box(x=dp.Float(0, 1)), steps=12, minimize=True)
        >>> abs(optimizer.best()["x"] - 0.31) < 0.1
        True
    """
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
                if any(isinstance(answer, bool | np.bool_) and answer for answer in answers):
                    break
                done += 1
        except KeyboardInterrupt:
            warn(
                f"interrupted in step {done + 1}{'' if steps is None else f' of {steps}'}; the "
                "optimiser is returned"
            )
        except Exception as error:
            error.add_note(
                f"raised in step {done + 1} of driftpeak.optimize; the optimiser is this error's "
                "attribute optimizer"
            )
            error.optimizer = optimizer  # type: ignore[attr-defined]
            raise
    return optimizer


def _step(
    function: Callable[[Suggestion], float], optimizer: Optimizer, clock: Clock, waiting: Interrupts
) -> tuple[Suggestion, float]:
    """Ask, call and tell; after an error, cancel the suggestion."""
    suggestion = None
    try:
        when = clock()
        with waiting.delayed():
            suggestion = optimizer.ask(when)
        reward = finite("the result of function", function(suggestion))
        with waiting.delayed():
            optimizer.tell(suggestion, reward)
            done, suggestion = suggestion, None
    except BaseException:
        if suggestion is not None:
            optimizer.cancel(suggestion)
        raise
    return done, reward


def _optimizer(space: Space | Optimizer, options: dict[str, Any]) -> Optimizer:
    """Return a given optimiser, or a new one for a space."""
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(space, Optimizer):
        if given:
            raise DriftpeakError(
                f"{', '.join(given)} must be left out with an Optimizer, which has its own. Give "
                "a space to set them"
            )
        return space
    return Optimizer(space, **given)


def _clock(time: object) -> Clock:
    """Return the function that returns the time of the next sample."""
    if time is None or (isinstance(time, str) and time == "now"):
        return lambda: time
    if not callable(time):
        raise rejected(
            "time", time, 'be a function without arguments that returns a time, or "now"'
        )
    return time


def _callbacks(given: object) -> list[Callback]:
    callbacks = [given] if callable(given) else list(given) if isinstance(given, Iterable) else None
    if callbacks is None or not all(map(callable, callbacks)):
        raise DriftpeakError(f"callbacks must be one callable or several; got {shown(given)}")
    return callbacks
