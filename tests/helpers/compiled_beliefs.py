"""Beliefs by compiled steps: one program for all of a structure, not one for each operation."""

import jax


@jax.jit
def told(belief, state, arm, reward, time):
    """The state after an observation."""
    return belief.update(state, arm, reward, time)


@jax.jit
def seen(belief, state, time):
    """The posterior."""
    return belief.posterior(state, time)
