"""
A custom policy and environment, and a table for a paper
========================================================

This example defines a policy (epsilon-greedy with a discount) and an environment (two hills of
alternating height). It checks the policy, compares it with published policies, and prints a table
in LaTeX.

A policy has its configuration in fields, numbers that determine a shape in static fields, and
randomness from the key in its state. It has no Python ``if`` on a value. ``check_policy`` reports
violations.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from scipy import stats

import driftpeak as dp
from driftpeak.environments import Environment
from driftpeak.policies.player import checked_reward
from driftpeak.policies.testing import check_policy
from driftpeak.simulation import regret_figure


class GreedyState(NamedTuple):
    totals: Any
    counts: Any
    key: Any


class DiscountedGreedy(dp.ActingPolicy[GreedyState]):
    """Policy that chooses the best discounted average, or with probability `epsilon` any point."""

    epsilon: float
    discount: float
    size: int = eqx.field(static=True)

    @property
    def points(self):
        return self.size

    def init(self, key):
        return GreedyState(jnp.zeros(self.size), jnp.zeros(self.size), key)

    def ask(self, state, time):
        key, explores, where = jax.random.split(state.key, 3)
        averages = jnp.where(state.counts > 0, state.totals / jnp.maximum(state.counts, 1e-9), 0.0)
        anywhere = jax.random.randint(where, (), 0, self.size)
        exploring = jax.random.uniform(explores) < self.epsilon
        return state._replace(key=key), jnp.where(exploring, anywhere, jnp.argmax(averages))

    def tell(self, state, query, reward, time):
        totals = (self.discount * state.totals).at[query].add(checked_reward(reward))
        counts = (self.discount * state.counts).at[query].add(1.0)
        return state._replace(totals=totals, counts=counts)


class TwoHills(Environment[Any]):
    """Two hills of alternating height, with a random phase in every trial."""

    points: Any
    noise_variance: Any

    def init(self, key):
        return jax.random.uniform(key, maxval=2 * jnp.pi)

    def step(self, state, time):
        height = 0.5 + 0.5 * jnp.sin(2 * jnp.pi * time / 80 + state)
        left = height * jnp.exp(-0.5 * ((self.points - 0.25) / 0.1) ** 2)
        right = (1 - height) * jnp.exp(-0.5 * ((self.points - 0.75) / 0.1) ** 2)
        return state, left + right


# %%
# Check the policy, and run the simulation: all policies see the same functions and noise.

line = dp.Grid([0, 1], size=40)
world = TwoHills(jnp.asarray(line.points[:, 0]), jnp.asarray(0.01))
prior = dp.Prior(line, dp.SE(lengthscale=0.12), noise_variance=0.01)
mine = DiscountedGreedy(epsilon=0.1, discount=0.95, size=40)
check_policy(mine)

policies = {
    "mine": mine,
    "GP-UCB": dp.GPUCB(prior),
    "R-GP-UCB": dp.RGPUCB(prior, period=25),
    "TV-GP-UCB": dp.TVGPUCB(prior, drift=0.04),
}
runs = dp.simulate(policies, world, steps=160, trials=20, seed=0, progress=False)

# %%
# Test a claim by paired differences over the trials.

by_trial = runs["regret"].mean("step")
gap = (by_trial.sel(policy="mine") - by_trial.sel(policy="TV-GP-UCB")).values
low, high = stats.t.interval(0.95, len(gap) - 1, loc=gap.mean(), scale=stats.sem(gap))
print(f"mine - TV-GP-UCB: {gap.mean():.3f} (95 % interval {low:.3f} to {high:.3f})")
assert low > 0, "a Gaussian process, which correlates neighbouring points, has lower regret here"

# %%
# Print the table for the paper.

table = by_trial.to_pandas().T.agg(["mean", "sem"]).T
print(table.to_latex(float_format="%.3f"))

# %%
# Draw the figure.

figure = regret_figure(runs, independent_trials=True, title="Two alternating hills, 20 trials")
figure.set_size_inches(6.0, 4.8)
