"""A play of one rival on one moving function: at equal evaluations, or on a simulated clock."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import Any, Protocol

import numpy as np

from benchmarks._further_functions import ALL
from benchmarks._moving import Moving
from benchmarks.rivals.process import RivalFailedError
from driftpeak.environments.functions import least

CALLS_CHARGED = 5  # the charge is the median time of a call and the four calls before it
CELLS = 600  # least number of midpoints for the integral of the regret
KNOTS = 301  # times between which the least value, found in 50 ms each, is interpolated
WARM_UP = 20  # unmeasured calls at the start: more than any rival's random points


class Playing(Protocol):
    """Interface of `benchmarks.rivals.process.Process`."""

    def new(self, dimension: int, seed: int, clock: float) -> None: ...
    def ask(self, time: float) -> tuple[list[float], float]: ...
    def tell(self, point: Sequence[float], reward: float, time: float) -> float: ...


@dataclass
class Play:
    """Points held during a play, and response times.

    Attributes:
        times: times from which each point was held, as shares of the clock; the first is 0.
        points: points of the unit cube, one for each time.
        responses: measured seconds of each call, `ask` and the `tell` before it.
        failed: error message, if any, after which the last point was held to the end.
    """

    times: list[float] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    responses: list[float] = field(default_factory=list)
    failed: str | None = None

    def hold(self, point: list[float], time: float) -> None:
        self.times.append(time)
        self.points.append(point)


class Meter:
    """Charge of calls of one kind: the median time of the last few calls, including the current.

    The time of a single call depends on other processes and on one-time loading or compilation of a
    library. The last five calls have about the same number of observations.
    """

    def __init__(self, calls: int = CALLS_CHARGED) -> None:
        self._last: deque[float] = deque(maxlen=calls)

    def charge(self, seconds: float) -> float:
        self._last.append(seconds)
        return median(self._last)


def equal_evaluations(
    rival: Playing, moving: Moving, seed: int, evaluations: int, clock: float
) -> Play:
    """Run evaluations at equal times, the first at 0, without charges for computing time."""
    play, spent = Play(), 0.0
    try:
        rival.new(moving.function.dimension, seed, clock)
        for time in map(float, np.arange(evaluations) / evaluations):
            point, asked = rival.ask(time)
            play.hold(point, time)
            play.responses.append(spent + asked)
            spent = rival.tell(point, moving.reward(point, time), time)
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
    """Run on a simulated clock of `clock` seconds, with charges for computing and evaluating.

    A rival is asked at time `a`. Its point is applied at `a + r`, where `r` is the charge of the
    `ask`. The reward of that moment is observed at `a + r + evaluation` and passed to `tell`. After
    the charge of the `tell`, the rival is asked again. It makes at most `calls` calls, evenly: each
    at least `clock / calls` after the last. The last applied point is held, and before the first
    answer a random point.

    Arguments:
        evaluation, clock: times in seconds.
        charged: number of calls in the median charge, including the current call.
    """
    dimension = moving.function.dimension
    play, asks, tells = Play(), Meter(charged), Meter(charged)
    play.hold(before(moving, seed), 0.0)
    asked, free, spent_telling = 0.0, 0.0, 0.0
    try:
        rival.new(dimension, seed, clock)
        for number in range(calls):
            asked = max(free, asked + clock / calls if number else 0.0)
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
            free = ended + tells.charge(spent_telling)
    except RivalFailedError as error:
        play.failed = str(error)
    return play


def before(moving: Moving, seed: int) -> list[float]:
    """Return the random point that is held before the first answer, the same for all rivals."""
    generator = np.random.default_rng([seed, 8])
    return generator.uniform(size=moving.function.dimension).tolist()


def warm_up(rival: Playing, dimension: int, clock: float) -> None:
    """Make unmeasured calls, so that one-time loading and compilation are not charged."""
    generator = np.random.default_rng(0)
    try:
        rival.new(dimension, 0, clock)
        for time in map(float, np.arange(WARM_UP) / WARM_UP):
            point, _ = rival.ask(time)
            rival.tell(point, float(generator.normal()), time)
    except RivalFailedError:
        return  # the measured play will report the error


def mean_regret(moving: Moving, play: Play) -> float:
    """Return the regret of the held points, averaged over the whole clock.

    The integral uses the midpoint rule on pieces that are bounded by the times of new points and
    the borders of `CELLS` equal cells.
    """
    starts, held = np.array(play.times), moving.points(play.points)
    edges = np.unique(np.concatenate([starts, np.linspace(0, 1, CELLS + 1)]))
    middles, lengths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    last = (
        np.searchsorted(starts, middles, side="right") - 1
    )  # the last of several at the same time
    pairs = zip(held[last], middles, strict=True)
    values = np.array([moving.function(point[None], time)[0] for point, time in pairs])
    gaps = values - np.interp(middles, np.linspace(0, 1, KNOTS), lowest(moving.function.name))
    return float(gaps @ lengths)


@cache
def lowest(name: str) -> Any:
    """Return the least values of a function at `KNOTS` times."""
    return np.array([least(ALL[name], float(time)) for time in np.linspace(0, 1, KNOTS)])
