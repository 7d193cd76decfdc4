"""LAPACK and threads."""

import subprocess
import sys

import pytest

TWO_AT_ONCE = """
import jax, jax.numpy as jnp, numpy as np

solve = jax.vmap(lambda factor, right: jax.scipy.linalg.solve_triangular(factor, right, lower=True))

@jax.jit
def run(factors):
    def step(_, rights):
        return tuple(solve(factors, right * 0.5 + 1) for right in rights)
    return jax.lax.fori_loop(0, 60, step, tuple(factors + number for number in range(4)))

with jax.enable_x64(True):
    matrices = np.random.default_rng(0).normal(size=(10, 180, 180))
    factors = np.linalg.cholesky(matrices @ matrices.swapaxes(1, 2) / 180 + np.eye(180))
    jax.block_until_ready(run(jnp.asarray(factors)))
"""


@pytest.mark.slow
def test_batched_solves_at_the_same_time_do_not_wait_for_each_other():
    """With jaxlib 0.10.2 this never ends on two cores; otherwise it takes a second."""
    subprocess.run([sys.executable, "-c", TWO_AT_ONCE], check=True, timeout=120)
