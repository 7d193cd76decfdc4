"""Conformance checks for policies, for those of this package and for yours.

from driftpeak.testing import check_policy
check_policy(MyPolicy(prior))
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak.errors import DriftpeakError
from driftpeak.forgetting import Times
from driftpeak.numerics.precision import double_precision
from driftpeak.policies import Policy

STEPS = 24
TRIALS = 3


@double_precision
def check_policy(policy: Policy[Any]) -> None:
    """Check that a policy keeps the contract of `driftpeak.policies.protocol`.

    Plays it against smooth made-up functions, at regular and then irregular times, and checks that

    - its state keeps structure, shapes and types, so that it can run in a compiled loop;
    - its queries are point numbers of the domain;
    - equal keys give equal runs, whether trials run together in a compiled loop or one by one, step
      by step;
    - `refresh` changes no query;
    - its side queries, if it makes any, are about points that it has sampled, and all this also
      holds with an expert that answers none of them;
    - a reward that is not a finite number is refused, or changes nothing.

    Raises:
        AssertionError: naming what does not hold.
    """
    regular = np.arange(1.0, STEPS // 2 + 1)
    irregular = np.cumsum(np.random.default_rng(0).exponential(1.0, STEPS // 2))
    times = np.concatenate([regular, regular[-1] + irregular])
    player = policy.prepare(times)
    if player.points != policy.points:
        raise AssertionError(f"prepare changed points from {policy.points} to {player.points}")
    phases = 3.0 * np.arange(player.points)[None, :] + 0.1 * times[:, None]
    values = jnp.asarray(np.sin(phases))
    keys = jax.random.split(jax.random.key(0), TRIALS)
    together = jax.jit(jax.vmap(_play, in_axes=(None, 0, None, None, None)))
    # an expert that answers nothing must be borne with; it makes no difference without side queries
    for answers in (True, False) if player.side_capacity else (True,):
        played = together(player, keys, values, jnp.asarray(times), answers)
        queries, arms, wanted = map(np.asarray, played)
        if not np.issubdtype(queries.dtype, np.integer):
            raise AssertionError(f"ask must return an integer; got {queries.dtype}")
        if not ((queries >= 0) & (queries < player.points)).all():
            raise AssertionError(f"ask must return a number in 0..{player.points - 1}")
        _check_side_queries(player, queries, arms, wanted)
        again = np.asarray(together(player, keys, values, jnp.asarray(times), answers)[0])
        _same("two runs with equal keys", queries, again)
        alone = np.array([_play_by_hand(player, key, values, times, answers) for key in keys])
        _same("trials run together in a loop, and one by one, step by step,", queries, alone)
    _check_bad_reward(player, keys[0], values[0], times[0])


def _play(player: Policy[Any], key: Any, values: Any, times: Any, answers: Any) -> Any:
    """One run in a compiled loop: it fails if the state changes its type."""

    def step(state: Any, inputs: Any) -> Any:
        value, time = inputs
        return _one_step(player, state, value, time, answers)

    state = player.init(key)
    if player.foresight == "all":
        state, _ = jax.lax.scan(lambda s, v: (player.inform(s, v), None), state, values)
    return jax.lax.scan(step, state, (values, times))[1]


@jax.jit
def _one_step(player: Policy[Any], state: Any, value: Any, time: Any, answers: Any) -> Any:
    """The next state, the query, and the side queries before or after it."""
    if player.foresight == "present":
        state = player.inform(state, value)
    arms, wanted = jnp.zeros(0, int), jnp.zeros(0, bool)
    asks = player.consults if player.side_capacity > 0 else "never"
    if asks == "before":
        state, arms, wanted = player.consult(state, time)
        state = player.hear(state, arms, value[arms], wanted & answers, time)
    state, query = player.ask(state, time)
    state = player.tell(state, query, value[query], time)
    if asks == "after":
        state, arms, wanted = player.consult(state, time)
        state = player.hear(state, arms, value[arms], wanted & answers, time)
    return state, (query, arms, wanted)


def _check_side_queries(player: Policy[Any], queries: Any, arms: Any, wanted: Any) -> None:
    places = (TRIALS, STEPS, player.side_capacity)
    if arms.shape != places or wanted.shape != places or wanted.dtype != bool:
        raise AssertionError(
            f"consult must return {player.side_capacity} point numbers and as many booleans; "
            f"got shapes {arms.shape[2:]}, {wanted.shape[2:]} and {wanted.dtype}"
        )
    for trial, step, place in np.argwhere(wanted):
        if arms[trial, step, place] not in queries[trial, : step + (player.consults == "after")]:
            raise AssertionError(
                f"side queries must be about points sampled before; step {step + 1} asks about "
                f"{arms[trial, step, place]}"
            )


def _play_by_hand(player: Policy[Any], key: Any, values: Any, times: Times, answers: bool) -> Any:
    """The queries of the same, step by step, with a refresh now and then."""
    state, queries = player.init(key), []
    for value in values if player.foresight == "all" else []:
        state = player.inform(state, value)
    for number, (value, time) in enumerate(zip(values, times, strict=True)):
        state, (query, _, _) = _one_step(player, state, value, time, answers)
        queries.append(int(query))
        if number % 5 == 4:
            state = _refresh(player, state)
    return np.array(queries)


@jax.jit
def _refresh(player: Policy[Any], state: Any) -> Any:
    return player.refresh(state)


def _check_bad_reward(player: Policy[Any], key: Any, value: Any, time: float) -> None:
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


def _equal(first: Any, second: Any) -> bool:
    if jnp.issubdtype(first.dtype, jax.dtypes.prng_key):
        first, second = jax.random.key_data(first), jax.random.key_data(second)
    return bool(jnp.array_equal(first, second))


def _same(what: str, first: Any, second: Any) -> None:
    if not np.array_equal(first, second):
        raise AssertionError(f"{what} must make the same queries; got {first} and {second}")
