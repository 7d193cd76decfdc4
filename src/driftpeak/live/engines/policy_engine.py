"""A policy of `driftpeak.policies` behind an optimiser: the object that runs in `simulate`.

A policy's state must be advanced in the order of time. What comes late is put in its place: the
states before the very newest steps are kept and, further back, now and then, and the steps after
one are played again from there. Older steps are kept without states, for `forget`.
"""

import math
from bisect import bisect_right
from itertools import chain, pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._core.errors import (
    DriftpeakError,
    UnsupportedError,
    at_least_integer,
    finite,
    shown,
    warn,
)
from driftpeak._core.numerics.precision import check_digits
from driftpeak._core.times import AtMost
from driftpeak._core.types import Scalar, Vector
from driftpeak.live.engines.engine import Engine
from driftpeak.live.space.encoding import FiniteCoding
from driftpeak.live.space.parameters import ParameterValues
from driftpeak.live.space.records import PENDING, Arrays, Outstanding, Peak, Reach
from driftpeak.policies import Policy
from driftpeak.policies.player import REFRESH, Player, Prediction, Query, State
from driftpeak.simulation.programs import random_keys

LARGEST = 1e100  # of a reward: no sum of squares of them overflows
NO_NOISE = "the noise of this policy is stated in its prior: leave noise out, or take a DriftingGP"
NO_QUERIES = "this policy makes no side queries"
KEPT = 256  # steps that something late can still be put between
SPACING = 32  # steps between kept states
RECENT = 16  # newest states kept besides: several workers are seldom later
KINDS = ("ask", "tell", "refresh")  # of steps that are played without a look
NEWER = ("gaps",)  # fields of states that snapshots of older versions lack
READ_AS = {"believed_drift": "drift", "memory": "memory", "believed_noise": "noise"}


class Step(NamedTuple):
    """One step of the state: what happened, to which point, with which reward."""

    what: str  # "ask", "tell", "hear" or "refresh"
    time: float
    points: tuple[int, ...] = ()
    rewards: tuple[float | None, ...] = ()  # None where an expert did not answer


class PolicyEngine(Engine):
    """An engine that plays a policy.

    Arguments:
        policy: for as many points as the domain has.
        coding: of the domain.
        seed: the policy's key is that of trial 0 of `simulate` with this seed.
        horizon: the most decisions; a policy may reserve room for them.

    Raises:
        DriftpeakError: a policy for another number of points, or one that must see the truth.
    """

    looks_back = False

    def __init__(self, policy: Policy, coding: FiniteCoding, *, seed: int, horizon: int) -> None:
        if policy.points != len(coding):
            raise DriftpeakError(
                f"the policy chooses among {policy.points} points, the space has {len(coding)}"
            )
        if coding.context is not None:
            raise UnsupportedError(
                f"{type(policy).__name__} supports no contexts: take a DriftingGP, or one study "
                "for each context"
            )
        if policy.foresight != "none":
            raise UnsupportedError("a policy that must be shown the true function cannot run live")
        self.player = jax.tree.map(jnp.asarray, policy.prepare(AtMost(horizon)))
        self.assumed = dict(policy.assumed)
        self.rejects_outliers = policy.rejects_outliers
        self.coding, self.seed, self.horizon = coding, seed, horizon
        self.reset()

    def reset(self) -> None:
        key = random_keys(self.seed, np.arange(1)).policy[0]
        self._begin(self.player.init(key))

    def _begin(self, state: Any) -> None:
        self.steps: list[Step] = []
        self.older: list[tuple[Step, ...]] = []  # blocks of steps before those, in order
        self.states: dict[int, Any] = {0: state}  # before step number ...
        self._state, self._done = state, 0  # the newest state, and the steps that led to it
        self.count = 0  # steps ever
        self.asks = 0
        self.tells = 0
        self.horizon_reached = -np.inf  # nothing earlier can be put in its place
        self.missing = -np.inf  # an old snapshot lacked the steps up to this time

    @property
    def latest(self) -> float:
        """The time of the newest step."""
        return self.steps[-1].time if self.steps else -np.inf

    def propose(
        self,
        number: int,
        time: float,
        pending: list[Outstanding],
        reach: Reach | None,
        context: ParameterValues,
    ) -> ParameterValues:
        assert reach is None  # the optimiser refuses limits
        if self.asks >= self.horizon:
            raise DriftpeakError(
                f"the policy was prepared for {self.horizon:,} decisions and has made them; give "
                "a larger horizon"
            )
        state, time = self.head, max(time, self.latest)
        if pending:
            # as if each had brought what is expected of it: the next goes elsewhere
            points, times = np.zeros(PENDING, int), np.zeros(PENDING)
            for place, one in enumerate(sorted(pending, key=lambda one: one.time)):
                points[place] = self.coding.number(one.parameters)
                times[place] = max(one.time, self.latest)
            state = _imagine(self.player, state, points, times, len(pending))
        return self.coding.at(int(_ask(self.player, state, time)[1]))

    def asked(self, time: float) -> None:
        self.asks += 1
        self._take(Step("ask", time))

    def check(self, reward: float, noise: float | None, trials: int | None) -> None:
        super().check(reward, noise, trials)
        if noise is not None:
            raise UnsupportedError(NO_NOISE)
        if abs(reward) > LARGEST:
            raise DriftpeakError(
                f"with a policy whose noise is stated a reward must lie within 1e100 of 0; got "
                f"{reward:g}: leave it out, or take a DriftingGP, which doubts what is absurd"
            )

    def told(
        self,
        parameters: ParameterValues,
        reward: float,
        time: float,
        noise: float | None,
        trials: int | None,
    ) -> None:
        self.tells += 1
        self._take(Step("tell", time, (self.coding.number(parameters),), (reward,)))

    def consult(self, time: float) -> list[ParameterValues]:
        if self.player.side_capacity == 0:
            raise UnsupportedError(NO_QUERIES)
        _, arms, wanted = _consult(self.player, self.head, max(time, self.latest))
        return [self.coding.at(int(arm)) for arm in np.asarray(arms)[np.asarray(wanted)]]

    def answered(
        self, queries: list[ParameterValues], answers: list[float | None], time: float
    ) -> None:
        capacity = self.player.side_capacity
        if capacity == 0:
            raise UnsupportedError(NO_QUERIES)
        if len(queries) != len(answers):
            raise DriftpeakError(f"{len(queries)} side queries have {len(answers)} answers")
        if len(queries) > capacity:
            raise DriftpeakError(
                f"the policy makes at most {capacity} side queries at a time; got {len(queries)}"
            )
        points = tuple(self.coding.number(query) for query in queries)
        self._take(Step("hear", max(time, self.latest), points, tuple(answers)))

    def expected(
        self, parameters: ParameterValues, time: float, noise: float | None, trials: int | None
    ) -> tuple[float, float] | None:
        expected = None if time < self.latest else _predict(self.player, self.head, time)
        if expected is None:
            return None
        number, noise = self.coding.number(parameters), float(expected.noise_variance)
        variance = float(expected.variance[number])
        check_digits("the policy", variance / noise)
        deviation = math.sqrt(max(variance, 0.0) + noise)
        return float(expected.mean[number]), deviation

    def peak(self, time: float, context: ParameterValues) -> Peak:
        mean, deviation = self._whole(time)
        number = int(np.argmax(mean))
        return Peak(self.coding.at(number), float(mean[number]), float(deviation[number]))

    def belief(self, settings: list[ParameterValues], time: float) -> tuple[Vector, Vector]:
        numbers = [self.coding.number(one) for one in settings]
        mean, deviation = self._whole(time)
        return mean[numbers], deviation[numbers]

    def _whole(self, time: float) -> tuple[Vector, Vector]:
        """Mean and deviation of every point."""
        if time < self.latest:
            raise UnsupportedError(
                "a policy looks forward only: give a time that is not before the latest reward"
            )
        return self._see(self.head, time)

    def _see(self, state: Any, time: float) -> tuple[Vector, Vector]:
        expected = _predict(self.player, state, time)
        if expected is None:
            raise UnsupportedError("this policy makes no predictions")
        check_digits("the policy", np.min(expected.variance) / expected.noise_variance)
        return np.asarray(expected.mean), np.sqrt(np.maximum(expected.variance, 0.0))

    def peaks(self, times: Vector, context: ParameterValues) -> tuple[Vector, list[Peak]]:
        found, state = [], self.states[0]
        places = [bisect_right(self.steps, time, key=lambda step: step.time) for time in times]
        known, done = times >= self.horizon_reached, 0
        for time, place in zip(times[known], np.array(places)[known].tolist(), strict=True):
            while done < place:
                end = self._end_of_run(done, place)
                state, done = self._advance(state, self.steps[done:end]), end
            mean, deviation = self._see(state, float(time))
            best = int(np.argmax(mean))
            found.append(Peak(self.coding.at(best), float(mean[best]), float(deviation[best])))
        return times[known], found

    def forgot(self, before: float | None) -> None:
        if before is not None and before <= self.missing:
            warn(
                "this study was restored from the snapshot of an older version, which lacks the "
                f"observations up to {self.missing:g}: forget() drops them. Replay the events "
                "instead of the snapshot to keep them"
            )
        kept = [
            step
            for step in (*chain.from_iterable(self.older), *self.steps)
            if before is not None and step.time >= before and step.what != "refresh"
        ]
        asks, tells, start = self.asks, self.tells, random_keys(self.seed, np.arange(1)).policy[0]
        self._begin(self.player.init(jax.random.fold_in(start, asks)))
        self.asks, self.tells = asks, tells
        for step in kept:
            self._take(step)

    def report(self, time: float) -> dict[str, Any]:
        found: dict[str, Any] = {"told": self.tells}
        found |= self.assumed
        time = max(time, self.latest)
        if (held := _held(self.player, self.head, time)) is not None:
            found["held"] = int(held)
        if (expected := _predict(self.player, self.head, time)) is not None:
            found["noise"] = math.sqrt(float(expected.noise_variance))
        if meanings := self.player.readings:
            read = {name: np.asarray(one) for name, one in _read(self.player, self.head).items()}
            found["readings"] = {
                name: dict(zip(meanings[name].labels, one.tolist(), strict=True))
                if meanings[name].labels
                else float(one)
                for name, one in read.items()
            }
            found |= {READ_AS[name]: float(one) for name, one in read.items() if name in READ_AS}
            if "time_step" in read:  # from the drift per step, that per unit of time
                found["drift"] = -math.expm1(math.log1p(-found["drift"]) / float(read["time_step"]))
        return found

    def save(self) -> tuple[Arrays, dict[str, Any]]:
        self.settle()
        arrays = {}
        states = {n: state for n, state in self.states.items() if n % SPACING == 0}
        for number, state in [*states.items(), (-1, self._state)]:
            for name, leaf in _named(state).items():
                arrays[f"{number} {name}"] = np.asarray(_plain(leaf))
        rest = {
            "steps": [list(step) for step in self.steps],
            "older": [[list(step) for step in block] for block in self.older],
            "states": list(states),
            "count": self.count,
            "asks": self.asks,
            "tells": self.tells,
            "horizon_reached": _written(self.horizon_reached),
            "missing": _written(self.missing),
        }
        return arrays, rest

    def load(self, arrays: Arrays, rest: dict[str, Any]) -> None:
        self.reset()
        first = _named(self.states[0])
        structure: Any = jax.tree.structure(self.states[0])

        def leaf(number: int, name: str) -> Array:
            key = f"{number} {name}"
            if name.isdigit() or key in arrays:
                return _like(arrays[key], first[name])
            return first[name]  # a snapshot of an older version

        def state(number: int) -> Any:
            return structure.unflatten(leaf(number, name) for name in first)

        self.steps = self._steps(rest["steps"])
        self.older = [tuple(self._steps(block)) for block in rest.get("older", [])]
        places = [at_least_integer("a state", n, 0, len(self.steps)) for n in rest["states"]]
        if 0 not in places:
            raise DriftpeakError("the first state is missing")
        self.states = {number: state(number) for number in places}
        self._state, self._done = state(-1), len(self.steps)
        self.count, self.asks, self.tells = (
            at_least_integer(name, rest[name], 0) for name in ("count", "asks", "tells")
        )
        reached = rest["horizon_reached"]
        self.horizon_reached = _time(reached)
        self.missing = _time(rest.get("missing", None if "older" in rest else reached))

    def _steps(self, written: list[Any]) -> list[Step]:
        """Return the steps of a snapshot.

        Raises:
            DriftpeakError: they cannot be steps of this policy.
        """
        last = len(self.coding) - 1
        found = []
        for what, time, points, rewards in written:
            if what not in (*KINDS, "hear") or len(points) != len(rewards):
                raise DriftpeakError(f"there is no step {shown(what)} of so many points")
            numbers = [at_least_integer("a point", one, 0, last) for one in points]
            values = [None if one is None else finite("a reward", one) for one in rewards]
            found.append(Step(what, _time(time), tuple(numbers), tuple(values)))
        if any(one.time > other.time for one, other in pairwise(found)):
            raise DriftpeakError("steps are in the order of time")
        return found

    def is_too_late(self, time: float) -> bool:
        """Whether a reward made at `time` can no longer be put in its place."""
        return time < self.horizon_reached

    def _take(self, step: Step) -> None:
        if self.is_too_late(step.time):
            return
        place = bisect_right(self.steps, step.time, key=lambda other: other.time)
        self.steps.insert(place, step)
        if place < self._done:
            self.states = {n: state for n, state in self.states.items() if n <= place}
            self._done = max(self.states)
            self._state = self.states[self._done]
        self.count += 1
        if self.count % REFRESH == 0:
            self._take(Step("refresh", self.latest))
        if len(self.steps) > KEPT + SPACING:
            self.settle()
            self._drop_oldest()

    @property
    def head(self) -> Any:
        """The state after all steps."""
        self.settle()
        return self._state

    def settle(self) -> None:
        while self._done < len(self.steps):
            self.states[self._done] = self._state
            end = self._end_of_run(self._done, len(self.steps))
            self._state = self._advance(self._state, self.steps[self._done : end])
            self._done = end
        others = [number for number in sorted(self.states) if number % SPACING]
        for number in others[:-RECENT]:
            del self.states[number]

    def _end_of_run(self, start: int, end: int) -> int:
        """Before which step a run from `start` on ends: where a state is kept, or at answers."""
        if self.steps[start].what == "hear":
            return start + 1
        end = min(end, (start // SPACING + 1) * SPACING)
        return next((n for n in range(start, end) if self.steps[n].what == "hear"), end)

    def _drop_oldest(self) -> None:
        self.horizon_reached = self.steps[SPACING - 1].time
        self.older.append(tuple(self.steps[:SPACING]))
        del self.steps[:SPACING]
        self._done -= SPACING
        self.states = {n - SPACING: state for n, state in self.states.items() if n >= SPACING}

    def _advance(self, state: Any, run: list[Step]) -> Any:
        """The state after the steps of a run."""
        if run[0].what == "hear":
            return self._hear(state, run[0])
        kinds, points = np.zeros(SPACING, int), np.zeros(SPACING, int)
        rewards, times = np.zeros(SPACING), np.zeros(SPACING)
        for place, step in enumerate(run):
            kinds[place], times[place] = KINDS.index(step.what), step.time
            if step.what == "tell":
                points[place], rewards[place] = step.points[0], step.rewards[0]
        return _run(self.player, state, kinds, points, rewards, times, len(run))

    def _hear(self, state: Any, step: Step) -> Any:
        arms = np.zeros(self.player.side_capacity, int)
        answers, answered = np.zeros(len(arms)), np.zeros(len(arms), bool)
        for place, (point, answer) in enumerate(zip(step.points, step.rewards, strict=True)):
            arms[place], answered[place] = point, answer is not None
            answers[place] = 0.0 if answer is None else answer
        state = _consult(self.player, state, step.time)[0]
        return _hear(self.player, state, arms, answers, answered, step.time)


def _time(written: float | None) -> float:
    """Return a time from a snapshot; minus infinity if there is none."""
    return -np.inf if written is None or written == -np.inf else finite("a time", written)


def _written(time: float) -> float | None:
    """Return a time for a snapshot."""
    return None if time == -np.inf else time


@jax.jit
def _ask(player: Player[State], state: State, time: Scalar) -> tuple[State, Query]:
    return player.ask(state, time)


@jax.jit
def _run(
    player: Player[State],
    state: State,
    kinds: Array,
    points: Array,
    rewards: Array,
    times: Array,
    count: Array,
) -> State:
    """The state after the first `count` steps; of a question, no point is looked at.

    One program for any number of them, so that it makes no difference how they came together.
    """

    def step(number: Array, state: State) -> State:
        time = times[number]
        ways = (
            lambda state: player.ask(state, time)[0],
            lambda state: player.tell(state, points[number], rewards[number], time),
            lambda state: player.refresh(state),  # a bound method has no hash here
        )
        return jax.lax.switch(kinds[number], ways, state)

    return jax.lax.fori_loop(0, count, step, state)


@jax.jit
def _imagine(
    player: Player[State], state: State, points: Array, times: Array, count: Array
) -> State:
    """The first `count` points, one after another, bring what is expected of them."""

    def step(number: Array, state: State) -> State:
        point, time = points[number], times[number]
        expected = player.predict(state, time)
        return state if expected is None else player.tell(state, point, expected.mean[point], time)

    return jax.lax.fori_loop(0, count, step, state)


@jax.jit
def _consult(player: Player[State], state: State, time: Scalar) -> tuple[State, Array, Array]:
    return player.consult(state, time)


@jax.jit
def _hear(
    player: Player[State], state: State, arms: Array, answers: Array, answered: Array, time: Scalar
) -> State:
    return player.hear(state, arms, answers, answered, time)


@jax.jit
def _predict(player: Player[State], state: State, time: Scalar) -> Prediction | None:
    return player.predict(state, time)


@jax.jit
def _held(player: Player[State], state: State, time: Scalar) -> Array | None:
    return player.held(state, time)


@jax.jit
def _read(player: Player[State], state: State) -> dict[str, Any]:
    return player.read(state)


def _named(state: Any) -> dict[str, Array]:
    """Return a state's leaves by their numbers, and by their paths those of `NEWER` fields."""
    found: dict[str, Array] = {}
    number = 0
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        if getattr(path[-1], "name", "") in NEWER:
            found[jax.tree_util.keystr(path)] = leaf
        else:
            found[str(number)] = leaf
            number += 1
    return found


def _plain(leaf: Array) -> Array:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _like(found: np.ndarray, leaf: Array) -> Array:
    expected = np.asarray(_plain(leaf))
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        raise DriftpeakError(f"an array of shape {found.shape} where {expected.shape} is kept")
    return jax.random.wrap_key_data(jnp.asarray(found)) if _is_key(leaf) else jnp.asarray(found)


def _is_key(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
