"""How fast to forget, by cross-validation of one-step predictions on recorded data.

A window, a discount or a restart changes what a policy does with old observations, not the model
that the data come from: there is no marginal likelihood to maximise. What can be compared is how
well a belief under the rule predicts what comes next.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    LARGEST_SEED,
    MOST_STEPS,
    DriftpeakError,
    NoObservationsError,
    at_least_integer,
    finite_array,
    nearest,
)
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import Matrix
from driftpeak.gp.forgetting import Discount, Drift, Forgetting, Injection, Restart, Window
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs import Form, make_belief

LENGTHS = (2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 400)
SMALL = 64  # arms up to which feature space is quick, whatever the memory, and compiled once


@dataclass(frozen=True)
class Candidates:
    """Rules that differ in one number, and the numbers to try."""

    rule: Callable[[Any], Forgetting]
    values: tuple[float, ...]


CANDIDATES = {
    "window": Candidates(Window, LENGTHS),
    "period": Candidates(Restart, LENGTHS),
    "discount": Candidates(
        Discount, (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0)
    ),
    "exponent": Candidates(Injection, (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)),
    "drift": Candidates(
        Drift, (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
    ),
}


@dataclass(frozen=True)
class Choice:
    """The number that predicted best.

    Attributes:
        name: of the parameter: "window", "period", "discount", "exponent" or "drift".
        value: the best of those tried.
        scores: average log predictive density of one reward, in nats, for every value tried.
    """

    name: str
    value: float
    scores: dict[float, float]


@checked
def cross_validate(
    values: Any,
    name: str,
    make_prior: Callable[[Matrix], Prior],
    *,
    folds: int = 3,
    seed: int = 0,
) -> Choice:
    """The memory under which a bandit's belief predicts recorded rewards best.

    The rows are cut into `folds` consecutive blocks. On each, with a prior from the others, a
    belief watches one arm a row, drawn at random, and before each row is asked for all its arms.
    The score is the average log density that it gave to what came, noise included: a proper score,
    which rewards honest deviations as well as good means.

    Arguments:
        values: rewards, shape `(steps, arms)`.
        name: of the parameter: "window", "period", "discount", "exponent" or "drift".
        make_prior: the prior that some rows, shape `(rows, arms)`, suggest.
        folds: blocks, at least 2.
        seed: of the arms watched, which are the same for all values.

    Raises:
        NoObservationsError: too few rows for so many folds.
        DriftpeakError: an unknown name, or fewer than 2 folds.
    """
    table = finite_array("values", values, 2)
    if name not in CANDIDATES:
        raise DriftpeakError(
            f"cross-validation can choose {', '.join(CANDIDATES)}; got {name!r}."
            + nearest(name, CANDIDATES)
        )
    folds = at_least_integer("folds", folds, 2, MOST_STEPS)
    seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
    if len(table) < 4 * folds:
        raise NoObservationsError(
            f"{folds} folds need at least {4 * folds} rows to learn from; got {len(table)}"
        )
    family = CANDIDATES[name]
    blocks = np.array_split(np.arange(len(table)), folds)
    shortest = min(map(len, blocks))
    # beyond the length of a block all lengths are the same
    tried = [value for value in family.values if family.values is not LENGTHS or value < shortest]
    priors = [make_prior(np.delete(table, block, axis=0)) for block in blocks]
    generator = np.random.default_rng(seed)
    watched = [generator.integers(table.shape[1], size=len(block)) for block in blocks]
    scores = {}
    for value in tried:
        rule = family.rule(value)
        terms = [
            predictive_densities(prior, rule, arms, table[block])
            for prior, arms, block in zip(priors, watched, blocks, strict=True)
        ]
        scores[float(value)] = float(np.concatenate(terms).mean())
    return Choice(name, max(scores, key=lambda value: scores[value]), scores)


@double_precision
def predictive_densities(prior: Prior, rule: Forgetting, arms: Any, values: Any) -> Matrix:
    """Log density of every row of `values`, averaged over its arms, before it is seen.

    A belief under `rule` sees only `arms`, one a row, shape `(steps,)`; `values` has shape
    `(steps, arms)`, times are 1, 2, ... Shape `(steps,)`, in nats.

    Raises:
        DriftpeakError: values that are not finite or for another number of arms.
    """
    table = finite_array("values", values, 2)
    if table.shape[1] != len(prior):
        raise DriftpeakError(
            f"the prior is for {len(prior)} arms, the table has {table.shape[1]} columns"
        )
    form: Form = "feature-space" if len(prior) <= SMALL else "auto"
    belief = make_belief(prior, rule, len(table), form=form)
    noise = prior.noise_variance
    return np.asarray(_predict(belief, np.asarray(arms), table, np.float64(noise)))


@jax.jit
def _predict(belief: Any, arms: Any, table: Any, noise: Any) -> Any:
    def step(state: Any, inputs: Any) -> Any:
        arm, row, time = inputs
        posterior = belief.posterior(state, time)
        variance = jnp.maximum(posterior.variance, 0.0) + noise
        density = -0.5 * (jnp.log(2 * jnp.pi * variance) + (row - posterior.mean) ** 2 / variance)
        return belief.update(state, arm, row[arm], time), density.mean()

    times = jnp.arange(1.0, len(arms) + 1)
    return jax.lax.scan(step, belief.init(), (arms, table, times))[1]
