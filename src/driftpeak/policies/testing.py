"""Conformance checks for policies, of this package and of your own.

from driftpeak.policies.testing import check_policy
check_policy(MyPolicy(prior))
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.times import Horizon, Times
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.policies import Doubling, Player, Policy, RandomStart

STEPS = 24
TRIALS = 3
TOLERANCE = 1e-6
"""Largest difference between predictions of a player with known times and with unknown times."""


@checked
@double_precision
def check_policy(policy: Policy, *, wrapped: bool = True) -> None:
    """Check that a policy satisfies the contract of `driftpeak.policies`.

    The policy is run on smooth artificial functions, at regular and then irregular times. The
    checks are:

    - its state keeps structure, shapes and types, so that it can run in a compiled loop;
    - its queries are indices of points of the domain;
    - equal keys give equal runs, whether trials run together in a compiled loop or one by one, step
      by step;
    - `refresh` changes no query;
    - its side queries, if it makes any, are about points that it has sampled, and all checks also
      hold with an expert that answers none of them;
    - prepared for `Horizon` a number of decisions, as by a live optimiser, it decides and predicts
      as it does for known times;
    - its random draws are not repeated after a restart;
    - its optional outputs (`predict`, `held`, `readings`) can be computed at every step, in a
      compiled loop, without changing a decision;
    - a reward that is not a finite number raises an error or changes nothing.

    In `RandomStart` and `Doubling`, where these are possible, no ability may be lost, and decisions
    and predictions must not depend on how the policy was prepared either.

    Arguments:
        policy: any policy, including policies that see the true function.
        wrapped: also check it within this package's wrappers.

    Raises:
        AssertionError: a check fails; the message names it.
    """
    regular = np.arange(1.0, STEPS // 2 + 1)
    irregular = np.cumsum(np.random.default_rng(0).exponential(1.0, STEPS // 2))
    _check(policy, np.concatenate([regular, regular[-1] + irregular]))
    if not wrapped or policy.foresight != "none":
        return
    # one stage: a policy planned for a shorter horizon would differ
    inner: list[tuple[str, Policy]] = [("Doubling", Doubling(lambda _: policy, first=STEPS))]
    if policy.learns_from_any:
        inner.append(("RandomStart", RandomStart(policy, steps=2)))
    for name, wrapper in inner:
        try:
            _check_nothing_hidden(policy, wrapper, regular)
            _check_live(wrapper, jax.random.split(jax.random.key(0), TRIALS), STEPS // 2)
        except AssertionError as error:
            raise AssertionError(f"in {name}: {error}") from None


def _check(policy: Policy, times: Times) -> None:
    player = policy.prepare(times)
    if not isinstance(player, Player):
        raise AssertionError(f"prepare must return a Player; got {type(player).__name__}")
    if player.points != policy.points:
        raise AssertionError(f"prepare changed points from {policy.points} to {player.points}")
    if player.foresight != policy.foresight:
        raise AssertionError(
            f"policy and player must have the same foresight; got {policy.foresight!r} and "
            f"{player.foresight!r}"
        )
    values = _smooth(player.points, times)
    keys = jax.random.split(jax.random.key(0), TRIALS)
    # an expert may answer nothing; without side queries this makes no difference
    for answers in (True, False) if player.side_capacity else (True,):
        played = _together(player, keys, values, times, answers)
        queries, arms, wanted = (np.asarray(part) for part in played[:3])
        if not np.issubdtype(queries.dtype, np.integer):
            raise AssertionError(f"ask must return an integer; got {queries.dtype}")
        if not ((queries >= 0) & (queries < player.points)).all():
            raise AssertionError(f"ask must return a number in 0..{player.points - 1}")
        _check_side_queries(player, queries, arms, wanted)
        again = np.asarray(_together(player, keys, values, times, answers)[0])
        _same("two runs with equal keys", queries, again)
        alone = np.array([_play_by_hand(player, key, values, times, answers) for key in keys])
        _same("trials run together in a loop, and one by one, step by step,", queries, alone)
    _check_live(policy, keys, len(times))
    _check_draws(policy, keys, len(times))
    _check_bad_reward(player, keys[0], values[0], times[0])


def _smooth(points: int, times: Times) -> Array:
    """Return a function that moves smoothly, at every time."""
    return jnp.asarray(np.sin(3.0 * np.arange(points)[None, :] + 0.1 * times[:, None]))


def _play(
    player: Player[Any],
    key: PRNGKeyArray,
    values: Array,
    times: Array,
    answers: Array,
    taken: Array,
) -> Any:
    """Run once in a compiled loop, which fails if the state changes its type.

    Arguments:
        taken: at each step the point that is sampled instead of the player's, or -1.
    """

    def step(state: Any, inputs: Any) -> Any:
        value, time, instead = inputs
        state, shown = _one_step(player, state, value, time, answers, instead)
        return state, (*shown, *_look(player, state, time))

    return jax.lax.scan(step, _begin(player, key, values), (values, times, taken))[1]


# compiled once for all checks of players of the same structure
_trials = jax.jit(jax.vmap(_play, in_axes=(None, 0, None, None, None, 0)))


def _together(
    player: Player[Any],
    keys: Key[Array, " trials"],
    values: Array,
    times: Times,
    answers: bool,
    taken: AnyArray | None = None,
) -> Any:
    own = np.full((len(keys), len(times)), -1)
    given = jnp.asarray(own if taken is None else taken, int)
    played = _trials(player, keys, values, jnp.asarray(times), answers, given)
    _check_readings(player, played[-1])
    return played


def _begin(player: Player[Any], key: PRNGKeyArray, values: Array) -> Any:
    state = player.init(key)
    if player.foresight == "all":
        state, _ = jax.lax.scan(lambda s, v: (player.inform(s, v), None), state, values)
    return state


@jax.jit
def _one_step(
    player: Player[Any],
    state: Any,
    value: Array,
    time: Scalar,
    answers: Scalar,
    instead: Scalar = -1,
) -> Any:
    """Return the next state, the query, and the side queries before or after it."""
    if player.foresight == "present":
        state = player.inform(state, value)
    arms, wanted = jnp.zeros(0, int), jnp.zeros(0, bool)
    asks = player.consults if player.side_capacity > 0 else "never"
    if asks == "before":
        state, arms, wanted = player.consult(state, time)
        state = player.hear(state, arms, value[arms], wanted & answers, time)
    state, query = player.ask(state, time)
    taken = jnp.where(instead < 0, query, instead)
    state = player.tell(state, taken, value[taken], time)
    if asks == "after":
        state, arms, wanted = player.consult(state, time)
        state = player.hear(state, arms, value[arms], wanted & answers, time)
    return state, (query, arms, wanted)


def _look(player: Player[Any], state: Any, time: Scalar) -> Any:
    """Return all optional outputs of the player."""
    shown = player.predict(state, time), player.restarts(state)
    return *shown, player.held(state, time), player.read(state)


def _check_readings(player: Player[Any], read: Mapping[str, Any]) -> None:
    """Check the readings of all trials and steps; compiled code cannot, as labels need values."""
    readings = player.readings
    if read.keys() != readings.keys():
        raise AssertionError(
            f"read must return the names of readings, {set(readings)}; got {set(read)}"
        )
    for name, reading in readings.items():
        shape = (len(reading.labels),) if reading.labels else ()
        if np.shape(read[name])[2:] != shape:
            raise AssertionError(f"reading {name!r} must have shape {shape}")


def _check_side_queries(
    player: Player[Any], queries: np.ndarray, arms: np.ndarray, wanted: np.ndarray
) -> None:
    places = (*queries.shape, player.side_capacity)
    if arms.shape != places or wanted.shape != places or wanted.dtype != bool:
        raise AssertionError(
            f"consult must return {player.side_capacity} indices of points and as many booleans; "
            f"got shapes {arms.shape[2:]}, {wanted.shape[2:]} and {wanted.dtype}"
        )
    for trial, step, place in np.argwhere(wanted):
        if arms[trial, step, place] not in queries[trial, : step + (player.consults == "after")]:
            raise AssertionError(
                f"side queries must be about points sampled before; step {step + 1} queries "
                f"{arms[trial, step, place]}"
            )


def _play_by_hand(
    player: Player[Any], key: PRNGKeyArray, values: Array, times: Times, answers: bool
) -> Any:
    """Return the queries of an equal run, step by step, with an occasional refresh."""
    state, queries = _begin(player, key, values), []
    for number, (value, time) in enumerate(zip(values, times, strict=True)):
        state, (query, _, _) = _one_step(player, state, value, time, answers)
        queries.append(int(query))
        if number % 5 == 4:
            state = _refresh(player, state)
    return np.array(queries)


@jax.jit
def _refresh(player: Player[Any], state: Any) -> Any:
    return player.refresh(state)


def _check_live(policy: Policy, keys: Key[Array, " trials"], steps: int) -> None:
    """Check that a player prepared for any times equals the player for known times."""
    regular = np.arange(1.0, steps + 1)
    # all at one time, as a fast live system may report: no observation may be dropped unnoticed
    for kind, times in (("", regular), (", which then all come at one time", np.ones(steps))):
        what = f"prepared for a `Horizon` of decisions{kind}, it"
        values = _smooth(policy.points, regular)
        known = _together(policy.prepare(times), keys, values, times, True)
        live = policy.prepare(Horizon(steps))
        if live.side_capacity and kind:
            continue  # the times determine when it makes side queries
        result = _together(live, keys, values, times, True, known[0])
        if policy.deterministic:
            _same(what, np.asarray(known[0]), np.asarray(result[0]))
        planned, expected = known[3], result[3]
        if (planned is None) != (expected is None):
            raise AssertionError(f"{what} must predict if it does for known times")
        for name in ("mean", "variance") if planned is not None else ():
            right, wrong = np.asarray(getattr(planned, name)), np.asarray(getattr(expected, name))
            error = np.abs(right - wrong).max()
            if not error <= TOLERANCE * max(float(np.abs(right).max()), 1.0):
                raise AssertionError(
                    f"{what} must predict what it does for known times: predict gives a {name} "
                    f"that is off by {error:.3g}; check that there is room for all observations"
                )


def _check_draws(policy: Policy, keys: Key[Array, " trials"], steps: int) -> None:
    """Check that random draws are not repeated after a restart."""
    if policy.deterministic:
        return
    # rewards that jump cause restarts by evidence
    times, length = np.arange(1.0, steps + 1), steps // 4
    jumps = np.where(np.arange(steps) // length % 2, -50.0, 50.0)
    values = jnp.asarray(np.repeat(jumps[:, None], policy.points, axis=1))
    played = _together(policy.prepare(times), keys, values, times, True)
    for queries, restarts in zip(np.asarray(played[0]), np.asarray(played[4]), strict=True):
        begins = [0, *(np.flatnonzero(np.diff(restarts)) + 1)]
        stretches = [tuple(queries[begin : begin + length]) for begin in begins]
        varied = [draws for draws in stretches if len(draws) == length and len(set(draws)) > 2]
        if len(set(varied)) < len(varied):
            raise AssertionError(
                "random draws must not be repeated after a restart; its keys depend on something "
                "that the restart resets"
            )


def _check_nothing_hidden(policy: Policy, wrapper: Policy, times: Times) -> None:
    """Check that a wrapper keeps the abilities of the policy."""
    inside, outside = policy.prepare(times), wrapper.prepare(times)
    able: dict[str, Callable[[Player[Any]], Any]] = {
        "side_capacity": lambda player: player.side_capacity,
        "readings": lambda player: dict(player.readings),
        "predict": lambda player: _shows(player, lambda p, s: p.predict(s, 1.0)),
        "held": lambda player: _shows(player, lambda p, s: p.held(s, 1.0)),
    }
    for name, look in able.items():
        if look(inside) != look(outside):
            raise AssertionError(f"{name} of the policy inside is lost")
    for name in ("assumed", "bounds_in_words", "points"):
        if getattr(policy, name) != getattr(wrapper, name):
            raise AssertionError(f"{name} of the policy inside is lost")


def _shows(player: Player[Any], look: Callable[[Any, Any], Any]) -> bool:
    return jax.eval_shape(lambda key: look(player, player.init(key)), jax.random.key(0)) is not None


def _check_bad_reward(player: Player[Any], key: PRNGKeyArray, value: Array, time: float) -> None:
    state = player.init(key)
    if player.foresight != "none":
        state = player.inform(state, value)
    state, query = player.ask(state, time)
    for bad in (float("nan"), float("inf")):
        try:
            after = player.tell(state, query, bad, time)
        except DriftpeakError:
            continue
        untouched = jax.tree.map(_equal, state, after)
        if not all(jax.tree.leaves(untouched)):
            raise AssertionError(f"a reward of {bad} must be refused, or change nothing")


def _equal(first: Array, second: Array) -> bool:
    if jnp.issubdtype(first.dtype, jax.dtypes.prng_key):
        first, second = jax.random.key_data(first), jax.random.key_data(second)
    return bool(jnp.array_equal(first, second))


def _same(what: str, first: AnyArray, second: AnyArray) -> None:
    if not np.array_equal(first, second):
        raise AssertionError(f"{what} must make the same queries; got {first} and {second}")
