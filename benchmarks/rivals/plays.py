"""One rival on one moving function: at equal evaluations, or on a simulated clock."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import Any, Protocol

import numpy as np

from benchmarks._moving import Moving
from benchmarks.rivals.process import RivalFailedError
from driftpeak.environments.functions import FUNCTIONS, least

CALLS_CHARGED = 5  # a call is charged the median of its own and the last four before it
CELLS = 600  # at least so many midpoints for the integral of the regret
KNOTS = 301  # between which the least value, searched for in 50 ms, is interpolated
WARM_UP = 20  # calls before anything is measured: more than any rival's random points


class Playing(Protocol):
    """What `benchmarks.rivals.process.Process` offers."""

    def new(self, dimension: int, seed: int, clock: float) -> None: ...
    def ask(self, time: float) -> tuple[list[float], float]: ...
    def tell(self, point: Sequence[float], reward: float, time: float) -> float: ...


@dataclass
class Play:
    """What was held, and what it took to find.

    Attributes:
        times: from which on each point was held, as shares of the clock; the first is 0.
        points: of the unit cube, one for each time.
        responses: measured seconds of each call, `ask` and the `tell` before it.
        failed: what went wrong, after which the last point was held to the end.
    """

    times: list[float] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    responses: list[float] = field(default_factory=list)
    failed: str | None = None

    def hold(self, point: list[float], time: float) -> None:
        self.times.append(time)
        self.points.append(point)


class Meter:
    """What calls of one kind are charged: the median of the last few, their own among them.

    A single call is at the mercy of what else the machine does, and of what a library loads or
    compiles once; the last five are of about the same number of observations.
    """

    def __init__(self, calls: int = CALLS_CHARGED) -> None:
        self._last: deque[float] = deque(maxlen=calls)

    def charge(self, seconds: float) -> float:
        self._last.append(seconds)
        return median(self._last)


def equal_evaluations(
    rival: Playing, moving: Moving, seed: int, evaluations: int, clock: float
) -> Play:
    """Evaluations at equal times, the first at 0; nobody is charged for thinking."""
    play, told = Play(), 0.0
    try:
        rival.new(moving.function.dimension, seed, clock)
        for time in map(float, np.arange(evaluations) / evaluations):
            point, asked = rival.ask(time)
            play.hold(point, time)
            play.responses.append(told + asked)
            told = rival.tell(point, moving.reward(point, time), time)
    except RivalFailedError as error:
        play.failed = str(error)
        if not play.times:
            play.hold(before(moving, seed), 0.0)
    return play


def live(
    rival: Playing,
    moving: Moving,
    seed: int,
    evaluation: float,
    clock: float,
    calls: int,
    charged: int = CALLS_CHARGED,
) -> Play:
    """On a simulated clock of `clock` seconds, charged for thinking and for evaluating.

    A rival is asked at `a`; its answer comes into force at `a + r`, `r` being what the `ask` is
    charged; the reward is read at `a + r + evaluation`, of that moment, and told; when the `tell`
    has had its time too, the rival is asked again. It makes at most `calls` calls, evenly: the next
    no earlier than `clock / calls` after the last. What came into force last is held, and before
    the first answer a random point.

    Arguments:
        evaluation, clock: seconds.
        charged: calls whose median a call is charged, its own among them.
    """
    dimension = moving.function.dimension
    play, asks, tells = Play(), Meter(charged), Meter(charged)
    play.hold(before(moving, seed), 0.0)
    asked, told, spent_telling = 0.0, 0.0, 0.0
    try:
        rival.new(dimension, seed, clock)
        for number in range(calls):
            asked = max(told, asked + clock / calls if number else 0.0)
            if asked >= clock:
                break
            point, spent = rival.ask(asked / clock)
            play.responses.append(spent_telling + spent)
            started = asked + asks.charge(spent)
            ended = started + evaluation
            if started < clock:
                play.hold(point, started / clock)
            if ended > clock:
                break
            reward = moving.reward(point, ended / clock)
            spent_telling = rival.tell(point, reward, ended / clock)
            told = ended + tells.charge(spent_telling)
    except RivalFailedError as error:
        play.failed = str(error)
    return play


def before(moving: Moving, seed: int) -> list[float]:
    """The random point that is held before any rival has answered, the same for all."""
    generator = np.random.default_rng([seed, 8])
    return generator.uniform(size=moving.function.dimension).tolist()


def warm_up(rival: Playing, dimension: int, clock: float) -> None:
    """Some calls that count for nothing: what is loaded and compiled once is not charged."""
    generator = np.random.default_rng(0)
    try:
        rival.new(dimension, 0, clock)
        for time in map(float, np.arange(WARM_UP) / WARM_UP):
            point, _ = rival.ask(time)
            rival.tell(point, float(generator.normal()), time)
    except RivalFailedError:
        return  # it will say so when it counts


def mean_regret(moving: Moving, play: Play) -> float:
    """The regret of what was held, averaged over the whole clock.

    The integral by the midpoint rule, on pieces at whose ends either a new point comes into force
    or one of `CELLS` equal cells begins.
    """
    starts, held = np.array(play.times), moving.points(play.points)
    edges = np.unique(np.concatenate([starts, np.linspace(0, 1, CELLS + 1)]))
    middles, lengths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    last = np.searchsorted(starts, middles, side="right") - 1  # of several at once, the last
    pairs = zip(held[last], middles, strict=True)
    values = np.array([moving.function(point[None], time)[0] for point, time in pairs])
    gaps = values - np.interp(middles, np.linspace(0, 1, KNOTS), lowest(moving.function.name))
    return float(gaps @ lengths)


@cache
def lowest(name: str) -> Any:
    """The least values of a function at `KNOTS` times."""
    return np.array([least(FUNCTIONS[name], float(time)) for time in np.linspace(0, 1, KNOTS)])
