"""The two conditionals that survive vmap: right, and still conditionals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftpeak._core.numerics.conditionals import lockstep, on_demand, out_of_step

MATRIX = np.random.default_rng(0).normal(size=(5, 5)) / 4


def grow(shared, own):
    """Shared decides whether and how often the own vector is multiplied."""
    matrix, vector = own

    def work():
        return jax.lax.fori_loop(0, shared, lambda _, v: matrix @ v, vector)

    return jax.lax.cond(shared % 2 == 0, work, lambda: vector)


@pytest.mark.parametrize("shared", [3, 4])
def test_lockstep_is_the_function_for_every_trial(shared):
    vectors = np.random.default_rng(1).normal(size=(7, 5))
    numbers = jnp.full(7, shared)
    found = jax.vmap(lambda s, v: lockstep(grow, s, (MATRIX, v)))(numbers, vectors)
    power = np.linalg.matrix_power(MATRIX, shared) if shared % 2 == 0 else np.eye(5)
    np.testing.assert_allclose(found, vectors @ power.T, atol=1e-14)
    alone = lockstep(grow, jnp.asarray(shared), (MATRIX, vectors[0]))
    np.testing.assert_allclose(alone, found[0], atol=1e-14)


@pytest.mark.parametrize("together", [False, True])
def test_on_demand_serves_those_in_need_and_nobody_else(together):
    vectors = jnp.asarray(np.random.default_rng(2).normal(size=(6, 5)))
    needed = jnp.array([True, False, False, True, True, False])
    offsets = jnp.arange(6.0)

    def work(current, inputs):
        matrix, offset = inputs
        return matrix @ current + offset

    def trial(need, vector, offset):
        return on_demand(need, work, vector, (MATRIX, offset), together=together)

    found = jax.vmap(trial)(needed, vectors, offsets)
    expected = np.where(needed[:, None], vectors @ MATRIX.T + np.asarray(offsets)[:, None], vectors)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    one_for_all = jax.vmap(trial, in_axes=(None, 0, None))(True, vectors, 1.0)
    np.testing.assert_allclose(one_for_all, vectors @ MATRIX.T + 1, atol=1e-14)
    np.testing.assert_allclose(trial(False, vectors[0], 1.0), vectors[0])


@pytest.mark.parametrize(
    "trial",
    [
        lambda s, v: lockstep(grow, s, (MATRIX, v)),
        lambda s, v: on_demand(s > 2, lambda c, m: m @ c, v, MATRIX),
        lambda s, v: on_demand(s > 2, lambda c, m: m @ c, v, MATRIX, together=True),
    ],
)
def test_under_vmap_it_stays_a_conditional(trial):
    program = str(jax.make_jaxpr(jax.vmap(trial))(jnp.full(3, 4), jnp.ones((3, 5))))
    assert "cond[" in program
    plain = jax.vmap(lambda s, v: jax.lax.cond(s > 2, lambda: MATRIX @ v, lambda: v))
    assert "cond[" not in str(jax.make_jaxpr(plain)(jnp.full(3, 4), jnp.ones((3, 5))))


def test_lockstep_of_trials_out_of_step():
    """Inside `out_of_step`, trials whose shared values differ get their own results."""
    vectors = np.random.default_rng(4).normal(size=(4, 5))
    with out_of_step():
        found = jax.vmap(lambda s, v: lockstep(grow, s, (MATRIX, v)))(jnp.arange(4), vectors)
    for number, row in enumerate(found):
        power = np.linalg.matrix_power(MATRIX, number) if number % 2 == 0 else np.eye(5)
        np.testing.assert_allclose(row, power @ vectors[number], atol=1e-14)
