"""The players of a fleet: the states of all members in one array, advanced batch by batch."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak._core.errors import UnsupportedError
from driftpeak._core.numerics.machine_code import cache_programs
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import Integers, Matrix, Vector
from driftpeak.fleet import _programs as programs
from driftpeak.fleet._batches import Batches
from driftpeak.fleet._layout import layout_of
from driftpeak.fleet._programs import ASK, TELL
from driftpeak.fleet._rows import Rows, resize
from driftpeak.fleet._steps import Steps
from driftpeak.policies import Player
from driftpeak.policies.player import REFRESH
from driftpeak.simulation._programs import random_keys

PHASE = 12
"""Members are put in order of their observations modulo this number. Rare work of a policy that is
due at every second, third, fourth, sixth or twelfth observation is then due in whole chunks."""


class Engine:
    """The states of the players of all members, in rows.

    Each member has three states: the current one, and two earlier ones from which its newest steps
    are replayed after a late observation (`Steps`).

    Arguments:
        player: the first player.
        seed: the member with serial number s has the random key of trial s of `simulate`.
        late: number of the newest steps among which a late observation has a place.
    """

    @double_precision
    def __init__(self, player: Player[Any], *, seed: int, late: int) -> None:
        cache_programs()
        self.players: list[Player[Any]] = [self.prepared(player)]
        self.layout = layout_of(self.players[0])
        self._batches = Batches()
        self.changed = np.array(self.layout.changed, int)  # columns
        self.seed = seed
        self.points = int(player.points)
        self.now, self.middle, self.old = (np.zeros((0, self.layout.width)) for _ in range(3))
        self.steps = Steps(late)
        self.whose = np.zeros(0, np.int32)  # the number of each member's player
        self.tells = np.zeros(0, np.int64)
        self.refreshed = np.zeros(0, np.int64)  # steps since the last refresh
        self.clock = np.zeros(0)  # time of the newest ask or tell

    @double_precision
    def prepared(self, player: Player[Any]) -> Player[Any]:
        """Return a player whose arrays are arguments of the compiled programs."""
        return jax.tree.map(jnp.asarray, player)

    @property
    def bytes_per_member(self) -> int:
        """Bytes of the states and steps of one member."""
        return 3 * 8 * self.layout.width + 2 * self.steps.late * (1 + 4 + 8 + 8) + 40

    def resize(self, members: int) -> None:
        """Make room for members."""
        resize(self, ("now", "middle", "old", "whose", "tells", "refreshed", "clock"), members)
        self.steps.resize(members)

    @double_precision
    def begin(self, rows: Rows, serials: Integers, resets: Integers) -> None:
        """Give members the states before the first observation."""
        for mine, first in self._first(rows, serials, resets):
            self.now[rows[mine]] = self.old[rows[mine]] = first
        self.steps.clear(rows)
        self.tells[rows] = self.refreshed[rows] = 0
        self.clock[rows] = -np.inf

    def _first(self, rows: Rows, serials: Integers, resets: Integers) -> Any:
        """Return the states of members before the first observation, by batch."""

        def first(player: Player[Any], some: Integers) -> Any:
            keys = random_keys(self.seed, serials[some]).policy
            return programs.start(self.layout, player, keys, resets[some])

        return self._batches.run("start", self._groups(rows), first)

    @double_precision
    def decide(
        self, rows: Rows, times: Vector, pending: tuple[Any, Any, Any], among: Any
    ) -> "Decisions":
        """Return the decisions of distinct members, which `decided` then takes.

        A decision is not earlier than the member's latest step.

        Arguments:
            pending: points, times and number of pending suggestions, in the order of time. They are
                fantasised at their posterior mean, at the latest step if they are earlier.
            among: points that each member may choose, shape `(members, n)`; None for all.
        """
        latest = self.clock[rows]
        times = np.maximum(times, latest)
        pending = pending[0], np.maximum(pending[1], latest[:, None]), pending[2]
        points = np.zeros(len(rows), np.int64)
        states = np.zeros((len(rows), len(self.changed)))
        for mine, found in self._each(programs.ask, rows, self.now, times, pending, among):
            states[mine], points[mine] = found
        return Decisions(points, times, states)

    @double_precision
    def decided(self, rows: Rows, decisions: "Decisions") -> None:
        """Take the states after decisions."""
        if len(self.changed):
            self.now[rows[:, None], self.changed] = decisions.states
            self._append(rows, ASK, 0, 0.0, decisions.times)

    def pass_time(self, rows: Rows, times: Vector) -> None:
        """Set the time of the newest decision of members."""
        self.clock[rows] = times

    @double_precision
    def tell(self, rows: Rows, arms: Integers, rewards: Vector, times: Vector) -> Any:
        """Observe one reward of each of distinct members, and return which are used.

        A reward that is earlier than all steps that are kept is not used.
        """
        used = times >= self.steps.reach[rows]
        late = used & (times < self.steps.latest[rows])
        in_order = np.flatnonzero(used & ~late)
        if len(in_order):
            self._tell_newest(rows[in_order], arms[in_order], rewards[in_order], times[in_order])
        if late.any():
            self._tell_late(rows[late], arms[late], rewards[late], times[late])
        self.tells[rows[used]] += 1
        self.clock[rows] = np.maximum(self.clock[rows], np.where(used, times, -np.inf))
        return used

    def _tell_newest(self, rows: Rows, arms: Integers, rewards: Vector, times: Vector) -> None:
        for mine, after in self._each(programs.tell, rows, self.now, arms, rewards, times):
            self.now[rows[mine]] = after
        self._append(rows, TELL, arms, rewards, times)

    def _tell_late(self, rows: Rows, arms: Integers, rewards: Vector, times: Vector) -> None:
        late = self.steps.late
        places = self.steps.insert(rows, arms, rewards, times)
        counts = self.steps.counts[rows]
        # `middle` is the state after the first `late` steps, if there are more than `late` before
        early = (places < late) & (counts > late)
        if early.any():
            self._replay(rows[early], self.old, 0, np.full(early.sum(), late), self.middle)
        self._recompute(rows)
        self._store(rows)

    @double_precision
    def restart(self, rows: Rows, serials: Integers, resets: Integers) -> None:
        """Compute the states of members, none of whose steps is dropped, from the beginning."""
        for mine, first in self._first(rows, serials, resets):
            self.old[rows[mine]] = first
        late = self.steps.late
        half = rows[self.steps.counts[rows] >= late]
        self._replay(half, self.old, 0, np.full(len(half), late), self.middle)
        self._recompute(rows)

    def _recompute(self, rows: Rows) -> None:
        """Replay the newest steps of members from the newest earlier state."""
        late, counts = self.steps.late, self.steps.counts[rows]
        several = counts > late
        if several.any():
            rest = counts[several] - late
            self._replay(rows[several], self.middle, late, rest, self.now)
        if not several.all():
            self._replay(rows[~several], self.old, 0, counts[~several], self.now)

    def _replay(self, rows: Rows, source: Matrix, first: int, counts: Any, target: Matrix) -> None:
        steps = self.steps.part(rows, first)
        for mine, after in self._each(programs.replay, rows, source, steps, counts):
            target[rows[mine]] = after

    def _append(self, rows: Rows, kind: int, arms: Any, rewards: Any, times: Vector) -> None:
        self.steps.append(rows, kind, arms, rewards, times)
        self._store(rows)

    def _store(self, rows: Rows) -> None:
        """Store the states of members that have taken `late` steps since the last stored state."""
        late, counts = self.steps.late, self.steps.counts[rows]
        self.refreshed[rows] += 1
        full = rows[counts == 2 * late]
        if len(full):
            self._refresh(full[self.refreshed[full] >= REFRESH])
            self.old[full] = self.middle[full]
            self.steps.drop_half(full)
        half = rows[counts == late]
        for some in (half, full):
            self.middle[some] = self.now[some]

    def _refresh(self, rows: Rows) -> None:
        for mine, after in self._each(programs.refresh, rows, self.now):
            self.now[rows[mine]] = after
        self.refreshed[rows] = 0

    @double_precision
    def predict(self, rows: Rows, times: Vector) -> tuple[Matrix, Matrix, Vector]:
        """Return mean and variance of every point, shape `(members, n)`, and the noise variance.

        Raises:
            UnsupportedError: the policy makes no predictions.
        """
        shape = len(rows), self.points
        mean, variance, noise = np.zeros(shape), np.zeros(shape), np.zeros(len(rows))
        times = np.maximum(times, self.steps.latest[rows])
        self._check_predicts()
        for mine, found in self._each(programs.predict, rows, self.now, times):
            mean[mine], variance[mine], noise[mine] = found
        return mean, variance, noise

    @double_precision
    def errors(self, rows: Rows) -> Vector:
        """Return the mean squared standardised error of the newest forecasts of each member.

        The forecasts are of the rewards among the steps that are kept. It is NaN without rewards.

        Raises:
            UnsupportedError: the policy makes no predictions.
        """
        self._check_predicts()
        late, counts = self.steps.late, self.steps.counts[rows]
        total = np.zeros((2, len(rows)))
        for source, first in ((self.old, 0), (self.middle, late)):
            places = np.flatnonzero(counts > first)
            total[:, places] += self._errors(rows[places], source, first)
        squares, numbers = total
        return squares / np.where(numbers > 0, numbers, np.nan)

    def _errors(self, rows: Rows, source: Matrix, first: int) -> Matrix:
        """Return the sum of squared errors, and their number, among the steps from a place on."""
        last = np.minimum(self.steps.counts[rows] - first, self.steps.late)
        total = np.zeros((2, len(rows)))
        steps = self.steps.part(rows, first)
        for mine, found in self._each(programs.errors, rows, source, steps, last):
            total[:, mine] = found
        return total

    @double_precision
    def read(self, rows: Rows, name: str) -> Vector:
        """Return a reported number of each member; NaN if the policy does not report it."""
        found = np.full(len(rows), np.nan)
        if name in self.players[0].readings:
            for mine, values in self._each(programs.read, rows, self.now):
                found[mine] = values[name]
        return found

    def _check_predicts(self) -> None:
        player = self.players[0]
        state = jax.eval_shape(player.init, jax.random.key(0))
        if jax.eval_shape(player.predict, state, jnp.zeros(())) is None:
            raise UnsupportedError("this policy makes no predictions. Use another policy")

    def _each(
        self, program: Callable[..., Any], rows: Rows, states: Matrix, *arrays: Any
    ) -> list[tuple[Integers, Any]]:
        """Run a program on the members in rows, and return the places and results of each batch.

        Arguments:
            states: the states of all members.
            arrays: further arguments of the program, with an entry for each of `rows`.
        """

        def run(player: Player[Any], some: Integers) -> Any:
            own = jax.tree.map(lambda x: x[some], arrays)
            return program(self.layout, player, states.take(rows[some], axis=0), *own)

        return self._batches.run(program.__name__, self._groups(rows), run)

    def _groups(self, rows: Rows) -> list[tuple[Player[Any], Integers]]:
        """Return the places of some members by player, members in the same phase together."""
        if not len(rows):
            return []
        whose, phase = self.whose[rows], self.tells[rows] % PHASE
        order = np.lexsort((phase, whose)) if phase.any() or whose.any() else np.arange(len(rows))
        cuts = np.flatnonzero(np.diff(whose[order])) + 1
        return [(self.players[whose[mine[0]]], mine) for mine in np.split(order, cuts)]


class Decisions(NamedTuple):
    """Decisions of some members: points, times, and the parts of the states that they change."""

    points: Integers
    times: Vector
    states: Matrix
