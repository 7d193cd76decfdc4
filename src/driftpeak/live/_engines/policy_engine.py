"""The engine that runs a policy of `driftpeak.policies`, as `simulate` does.

The state of a policy must be advanced in the order of time. A late step is inserted at its time,
and later steps are replayed from a stored state. The states before the newest steps are stored, and
further back the state before every 32nd step. Older steps are kept without states, for `forget`.
"""

import math
from bisect import bisect_right
from functools import partial
from itertools import chain, pairwise
from operator import attrgetter
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
from driftpeak._core.times import Horizon
from driftpeak._core.types import Vector
from driftpeak.live._engines.engine import Engine
from driftpeak.live._space.encoding import FiniteCoding
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._space.records import PENDING, Arrays, Peak, Request, Sample
from driftpeak.policies import Policy
from driftpeak.policies.player import REFRESH, Player, State
from driftpeak.simulation._programs import random_keys

LARGEST = 1e100  # bound of a reward: sums of squares do not overflow
NO_NOISE = (
    "noise must be None with this policy, whose prior states it. Leave noise out, or use a "
    "DriftingGP"
)
KEPT = 256  # newest steps among which late steps can be inserted
SPACING = 32  # steps between stored states
RECENT = 16  # newest states, all stored, because most late steps are recent
KINDS = ("ask", "tell", "refresh")  # kinds of steps that one compiled program replays
NEWER = ("gaps",)  # fields of states that snapshots of older versions lack
READ_AS = {"believed_drift": "drift", "memory": "memory", "believed_noise": "noise"}


class Step(NamedTuple):
    """A step of the policy's state: its kind, time, points and rewards."""

    what: str  # "ask", "tell", "hear" or "refresh"
    time: float
    points: tuple[int, ...] = ()
    rewards: tuple[float | None, ...] = ()  # None for queries without an answer


class PolicyEngine(Engine):
    """The engine that runs a policy of `driftpeak.policies`.

    Arguments:
        policy: the policy, with as many points as the space.
        coding: coding of the space.
        seed: the policy has the random key of trial 0 of `simulate` with this seed.
        horizon: maximum of decisions; a policy may allocate memory for them.

    Raises:
        DriftpeakError: the policy has another number of points than the space.
        UnsupportedError: the space has a context, or the policy needs the true function.
    """

    looks_back = False

    def __init__(self, policy: Policy, coding: FiniteCoding, *, seed: int, horizon: int) -> None:
        if policy.points != len(coding):
            raise DriftpeakError(
                f"the policy must have as many points as the space, {len(coding)}; got "
                f"{policy.points}"
            )
        if coding.context is not None:
            raise UnsupportedError(
                f"{type(policy).__name__} supports no contexts. Use a DriftingGP, or one study for "
                "each context"
            )
        if policy.foresight != "none":
            raise UnsupportedError(
                f"{type(policy).__name__} needs the true function and cannot run live. Use another "
                "policy"
            )
        self.player = jax.tree.map(jnp.asarray, policy.prepare(Horizon(horizon)))
        self.assumed = dict(policy.assumed)
        self.rejects_outliers = policy.rejects_outliers
        self.coding, self.seed, self.horizon = coding, seed, horizon
        self.reset()

    def reset(self) -> None:
        key = random_keys(self.seed, np.arange(1)).policy[0]
        self._begin(self.player.init(key))

    def _begin(self, state: Any) -> None:
        self.steps: list[Step] = []
        self.older: list[tuple[Step, ...]] = []  # blocks of earlier steps, in order
        self.states: dict[int, Any] = {0: state}  # states by the number of the next step
        self._state, self._done = state, 0  # the newest state, and the number of its steps
        self.count = 0  # all steps so far
        self.asks = 0
        self.tells = 0
        self.horizon_reached = -np.inf  # earlier steps can no longer be inserted
        self.missing = -np.inf  # steps up to this time are missing, as in snapshots of old versions

    @property
    def latest(self) -> float:
        """Time of the newest step."""
        return self.steps[-1].time if self.steps else -np.inf

    def propose(self, request: Request) -> ParameterValues:
        if request.reach is not None:  # `EngineSetup.play` rejects limits
            raise UnsupportedError(
                "fixed must be left out with this policy; got "
                f"{shown(request.reach.fixed)}. Use a DriftingGP, or call tell() with the setting"
            )
        if self.asks >= self.horizon:
            raise DriftpeakError(
                f"a study must have at most horizon={self.horizon:,} decisions; all are made. "
                "Create a study with a larger horizon"
            )
        state, time = self.head, max(request.time, self.latest)
        if request.pending:
            # pending suggestions are fantasised at their posterior mean
            points, times = np.zeros(PENDING, int), np.zeros(PENDING)
            for place, record in enumerate(sorted(request.pending, key=attrgetter("time"))):
                points[place] = self.coding.number(record.parameters)
                times[place] = max(record.time, self.latest)
            state = _fantasize(self.player, state, points, times, len(request.pending))
        return self.coding.at(int(_call("ask", self.player, state, time)[1]))

    def asked(self, time: float) -> None:
        self.asks += 1
        self._take(Step("ask", time))

    def check(self, reward: float, noise: float | None, trials: int | None) -> None:
        super().check(reward, noise, trials)
        if noise is not None:
            raise UnsupportedError(NO_NOISE)
        if abs(reward) > LARGEST:
            raise DriftpeakError(
                "reward must lie in [-1e100, 1e100] with a policy that does not reject outliers; "
                f"got {reward:g}. Leave the reward out, or use a DriftingGP, which rejects outliers"
            )

    def observe(self, sample: Sample, reward: float) -> None:
        self.tells += 1
        self._take(Step("tell", sample.time, (self.coding.number(sample.setting),), (reward,)))

    def consult(self, time: float) -> list[ParameterValues]:
        if self.player.side_capacity == 0:
            return super().consult(time)
        _, arms, wanted = _call("consult", self.player, self.head, max(time, self.latest))
        return [self.coding.at(int(arm)) for arm in np.asarray(arms)[np.asarray(wanted)]]

    def answered(
        self, queries: list[ParameterValues], answers: list[float | None], time: float
    ) -> None:
        capacity = self.player.side_capacity
        if capacity == 0:
            return super().answered(queries, answers, time)
        if len(queries) != len(answers):
            raise DriftpeakError(
                f"answers must be as many as the {len(queries)} side queries; got {len(answers)}"
            )
        if len(queries) > capacity:
            raise DriftpeakError(
                f"side queries must be at most {capacity} at a time; got {len(queries)}"
            )
        points = tuple(self.coding.number(query) for query in queries)
        self._take(Step("hear", max(time, self.latest), points, tuple(answers)))

    def expected(self, sample: Sample) -> tuple[float, float] | None:
        late = sample.time < self.latest
        expected = None if late else _call("predict", self.player, self.head, sample.time)
        if expected is None:
            return None
        number, noise = self.coding.number(sample.setting), float(expected.noise_variance)
        variance = float(expected.variance[number])
        check_digits("the policy", variance / noise)
        deviation = math.sqrt(max(variance, 0.0) + noise)
        return float(expected.mean[number]), deviation

    def peak(self, time: float, context: ParameterValues) -> Peak:
        mean, deviation = self._whole(time)
        number = int(np.argmax(mean))
        return Peak(self.coding.at(number), float(mean[number]), float(deviation[number]))

    def belief(self, settings: list[ParameterValues], time: float) -> tuple[Vector, Vector]:
        numbers = [self.coding.number(setting) for setting in settings]
        mean, deviation = self._whole(time)
        return mean[numbers], deviation[numbers]

    def _whole(self, time: float) -> tuple[Vector, Vector]:
        """Return posterior mean and deviation at all points."""
        if time < self.latest:
            raise UnsupportedError(
                "the time of a prediction must not be before the latest observation with this "
                "policy. Give a later time, or use a DriftingGP"
            )
        return self._see(self.head, time)

    def _see(self, state: Any, time: float) -> tuple[Vector, Vector]:
        expected = _call("predict", self.player, state, time)
        if expected is None:
            raise UnsupportedError("this policy makes no predictions")
        check_digits("the policy", np.min(expected.variance) / expected.noise_variance)
        return np.asarray(expected.mean), np.sqrt(np.maximum(expected.variance, 0.0))

    def peaks(self, times: Vector, context: ParameterValues) -> tuple[Vector, list[Peak]]:
        peaks, state = [], self.states[0]
        places = [bisect_right(self.steps, time, key=lambda step: step.time) for time in times]
        known, done = times >= self.horizon_reached, 0
        for time, place in zip(times[known], np.array(places)[known].tolist(), strict=True):
            while done < place:
                end = self._end_of_run(done, place)
                state, done = self._advance(state, self.steps[done:end]), end
            mean, deviation = self._see(state, float(time))
            best = int(np.argmax(mean))
            peaks.append(Peak(self.coding.at(best), float(mean[best]), float(deviation[best])))
        return times[known], peaks

    def forgot(self, before: float | None) -> None:
        if before is not None and before <= self.missing:
            warn(
                "forget() deletes the observations up to time "
                f"{self.missing:g}, which the snapshot of an older version lacks. Replay the "
                "events instead of the snapshot to keep them"
            )
        saved_states = [
            step
            for step in (*chain.from_iterable(self.older), *self.steps)
            if before is not None and step.time >= before and step.what != "refresh"
        ]
        asks, tells, start = self.asks, self.tells, random_keys(self.seed, np.arange(1)).policy[0]
        self._begin(self.player.init(jax.random.fold_in(start, asks)))
        self.asks, self.tells = asks, tells
        for step in saved_states:
            self._take(step)

    def report(self, time: float) -> dict[str, Any]:
        values: dict[str, Any] = {"told": self.tells}
        values |= self.assumed
        time = max(time, self.latest)
        if (count := _call("held", self.player, self.head, time)) is not None:
            values["held"] = int(count)
        if (expected := _call("predict", self.player, self.head, time)) is not None:
            values["noise"] = math.sqrt(float(expected.noise_variance))
        if meanings := self.player.readings:
            read = {
                name: np.asarray(got) for name, got in _call("read", self.player, self.head).items()
            }
            values["readings"] = {
                name: dict(zip(meanings[name].labels, reading.tolist(), strict=True))
                if meanings[name].labels
                else float(reading)
                for name, reading in read.items()
            }
            values |= {
                READ_AS[name]: float(reading) for name, reading in read.items() if name in READ_AS
            }
            if "time_step" in read:  # converts the drift per step to the drift per unit of time
                values["drift"] = -math.expm1(
                    math.log1p(-values["drift"]) / float(read["time_step"])
                )
        return values

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
            raise DriftpeakError("a snapshot must have the state before the first step")
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
            DriftpeakError: a step is invalid.
        """
        last = len(self.coding) - 1
        steps = []
        for what, time, points, rewards in written:
            if what not in (*KINDS, "hear") or len(points) != len(rewards):
                raise DriftpeakError(
                    f"a step must be of a known kind and have as many rewards as points; got "
                    f"{shown(what)} with {len(points)} points and {len(rewards)} rewards"
                )
            numbers = [at_least_integer("a point", point, 0, last) for point in points]
            values = [None if value is None else finite("a reward", value) for value in rewards]
            steps.append(Step(what, _time(time), tuple(numbers), tuple(values)))
        if any(step.time > later.time for step, later in pairwise(steps)):
            raise DriftpeakError("steps must be sorted by time")
        return steps

    def is_too_late(self, time: float) -> bool:
        """Return whether a reward at `time` is too late to be inserted."""
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
        """State after all steps."""
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
        """Return the end of a run from `start`: the next stored state or answers of an expert."""
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
        """Return the state after the steps of a run."""
        if run[0].what == "hear":
            return self._observe(state, run[0])
        kinds, points = np.zeros(SPACING, int), np.zeros(SPACING, int)
        rewards, times = np.zeros(SPACING), np.zeros(SPACING)
        for place, step in enumerate(run):
            kinds[place], times[place] = KINDS.index(step.what), step.time
            if step.what == "tell":
                points[place], rewards[place] = step.points[0], step.rewards[0]
        return _run(self.player, state, kinds, points, rewards, times, len(run))

    def _observe(self, state: Any, step: Step) -> Any:
        arms = np.zeros(self.player.side_capacity, int)
        answers, answered = np.zeros(len(arms)), np.zeros(len(arms), bool)
        for place, (point, answer) in enumerate(zip(step.points, step.rewards, strict=True)):
            arms[place], answered[place] = point, answer is not None
            answers[place] = 0.0 if answer is None else answer
        state = _call("consult", self.player, state, step.time)[0]
        return _call("hear", self.player, state, arms, answers, answered, step.time)


def _time(written: float | None) -> float:
    """Return a time from a snapshot; minus infinity if there is none."""
    return -np.inf if written is None or written == -np.inf else finite("a time", written)


def _written(time: float) -> float | None:
    """Return a time for a snapshot."""
    return None if time == -np.inf else time


@partial(jax.jit, static_argnames="method")
def _call(method: str, player: Player[Any], *arguments: Any) -> Any:
    """Return the result of a player's method."""
    return getattr(player, method)(*arguments)


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
    """Return the state after the first `count` steps.

    One program is used for any number of steps, so that results do not depend on the grouping of
    steps into runs. The state after a question does not depend on its point.
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
def _fantasize(
    player: Player[State], state: State, points: Array, times: Array, count: Array
) -> State:
    """Return the state after fantasies at the first `count` points, in their order."""

    def step(number: Array, state: State) -> State:
        point, time = points[number], times[number]
        expected = player.predict(state, time)
        return state if expected is None else player.tell(state, point, expected.mean[point], time)

    return jax.lax.fori_loop(0, count, step, state)


def _named(state: Any) -> dict[str, Array]:
    """Return the leaves of a state by number, and the leaves of `NEWER` fields by path."""
    leaves: dict[str, Array] = {}
    number = 0
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        if getattr(path[-1], "name", "") in NEWER:
            leaves[jax.tree_util.keystr(path)] = leaf
        else:
            leaves[str(number)] = leaf
            number += 1
    return leaves


def _plain(leaf: Array) -> Array:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _like(stored: np.ndarray, leaf: Array) -> Array:
    expected = np.asarray(_plain(leaf))
    if (stored.shape, stored.dtype) != (expected.shape, expected.dtype):
        raise DriftpeakError(
            f"an array must be {expected.dtype} of shape {expected.shape}; got {stored.dtype} of "
            f"shape {stored.shape}"
        )
    return jax.random.wrap_key_data(jnp.asarray(stored)) if _is_key(leaf) else jnp.asarray(stored)


def _is_key(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
