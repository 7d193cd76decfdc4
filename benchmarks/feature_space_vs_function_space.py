"""Run time of the form of posterior that "auto" chooses, compared with the faster form.

The figures are the time of a step (posterior, argmax, update) of 16 trials in feature space
relative to function space, for several numbers of points n, features r and observations c. They
also give the form that the formulas of `driftpeak.inference.beliefs.choice` select. The features
are random, because only their number matters.
"""

import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.numerics.threads import single_threaded_lapack
from driftpeak.gp.forgetting import Discount, Drift, Forgetting, Window
from driftpeak.inference.beliefs import choice

TRIALS, STEPS, REPEATS = 16, 16, 7
RULES = {"drift": Drift(0.01), "window": Window, "discount": Discount(0.98)}
POINTS, RANKS, CAPACITIES = (100, 900, 2500), (20, 150), (10, 60)
TARGETS = {f"{name}: worst time of a choice / the best": "<= 2" for name in RULES}


@double_precision
def run() -> dict[str, Any]:
    """Return times in feature space relative to function space, and the choices of "auto"."""
    figures: dict[str, Any] = {}
    for name, rule in RULES.items():
        losses = []
        for n in POINTS:
            ranks = [rank for rank in RANKS if rank <= n]
            length = rule(CAPACITIES[0]) if rule is Window else rule
            feature = {rank: seconds(belief(length, n, rank=rank)) for rank in ranks}
            for c in CAPACITIES:
                forgetting = rule(c) if rule is Window else rule
                function = seconds(belief(forgetting, n, capacity=c))
                for rank in ranks:
                    ratio = feature[rank] / function
                    chosen = choice._break_even_rank(forgetting, n, c) >= rank
                    losses.append(max(ratio if chosen else 1 / ratio, 1.0))
                    taken = "feature space" if chosen else "function space"
                    figures[f"{name}, n {n}, r {rank}, c {c} ({taken} taken)"] = ratio
        figures[f"{name}: choices that are the faster"] = f"{losses.count(1)} of {len(losses)}"
        figures[f"{name}: worst time of a choice / the best"] = max(losses)
    return figures


def belief(rule: Forgetting, points: int, *, rank: int = 0, capacity: int = 1) -> Any:
    """Return a belief of the given size, in feature space if `rank` is given."""
    prior = dp.Prior(dp.Grid([0, 1], size=points), dp.SE(lengthscale=0.2), noise_variance=0.01)
    if not rank:
        return dp.make_belief(prior, rule, np.ones(capacity), form="function-space")
    matrix = np.random.default_rng(0).normal(size=(points, rank))
    matrix *= 0.99 / np.linalg.norm(matrix, axis=1, keepdims=True)
    return dp.make_belief(prior, rule, 1, features=dp.features.Features(matrix, None, "random"))


def seconds(belief: Any, trials: int = TRIALS) -> float:
    """Return the seconds of one step of one trial in a batch, the least of several repeats."""
    belief = jax.device_put(belief)
    states = jax.vmap(lambda _: belief.init())(jnp.arange(trials))
    spent = []
    with single_threaded_lapack():
        play = partial(jax.jit(_play).lower(belief, states).compile(), belief, states)
        for _ in range(REPEATS + 1):
            started = time.perf_counter()
            jax.block_until_ready(play())
            spent.append(time.perf_counter() - started)
    return min(spent[1:]) / STEPS / trials


def _play(belief: Any, states: Any) -> Any:
    def step(states: Any, number: Any) -> tuple[Any, None]:
        def trial(state: Any, offset: Any) -> Any:
            posterior = belief.posterior(state, number)
            arm = jnp.argmax(posterior.mean + 2 * posterior.deviation)
            return belief.update(state, arm, jnp.sin(number + offset), number)

        return jax.vmap(trial)(states, jnp.arange(len(jax.tree.leaves(states)[0]))), None

    return jax.lax.scan(step, states, jnp.arange(1.0, STEPS + 1))[0]
