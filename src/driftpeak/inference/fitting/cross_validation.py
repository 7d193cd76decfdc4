"""Choice of a forgetting rule by cross-validation of one-step predictions on recorded data.

A window, a discount or a restart changes how a policy uses old observations, not the model of the
data: there is no marginal likelihood to maximise. Rules are compared by how well a posterior under
the rule predicts the next rewards.
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
    one_of,
)
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import Matrix
from driftpeak.gp.forgetting import Discount, Drift, Forgetting, Injection, Restart, Window
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs import Form, make_belief

LENGTHS = (2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 400)
SMALL = 64  # largest number of arms for which feature space is fast at any memory; compiled once


@dataclass(frozen=True)
class Candidates:
    """A family of rules with one parameter, and the values to try."""

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
    """The parameter value with the best predictions.

    Attributes:
        name: the parameter: "window", "period", "discount", "exponent" or "drift".
        value: the best value tried.
        scores: average log predictive density of one reward, in nats, for each value tried.
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
    """Return the parameter of a forgetting rule that best predicts recorded rewards.

    The rows are divided into `folds` consecutive blocks. On each block, with a prior fitted to the
    others, a belief observes one randomly drawn arm in each row and predicts all arms before each
    row. The score is the average log predictive density of the rewards, noise included. It is a
    proper score: it rewards calibrated standard deviations as well as accurate means.

    Arguments:
        values: rewards, shape `(steps, arms)`.
        name: the parameter: "window", "period", "discount", "exponent" or "drift".
        make_prior: a function from rows, shape `(rows, arms)`, to a prior.
        folds: number of blocks, at least 2.
        seed: seed of the draw of observed arms, which are equal for all values tried.

    Raises:
        NoObservationsError: too few rows for the number of folds.
        DriftpeakError: an unknown name, or fewer than 2 folds.
    """
    table = finite_array("values", values, 2)
    one_of("name", name, tuple(CANDIDATES))
    folds = at_least_integer("folds", folds, 2, MOST_STEPS)
    seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
    if len(table) < 4 * folds:
        raise NoObservationsError(
            f"values must have at least {4 * folds} rows for {folds} folds; got {len(table)}"
        )
    family = CANDIDATES[name]
    blocks = np.array_split(np.arange(len(table)), folds)
    shortest = min(map(len, blocks))
    # lengths above the length of a block are all equivalent
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
    """Return the log predictive density of each row of `values`, averaged over its arms.

    A belief under `rule` observes only `arms`, one in each row, shape `(steps,)`; each row is
    predicted before it is observed. `values` has shape `(steps, arms)`; times are 1, 2, ... The
    result has shape `(steps,)`, in nats.

    Raises:
        DriftpeakError: values that are not finite or for another number of arms.
    """
    table = finite_array("values", values, 2)
    if table.shape[1] != len(prior):
        raise DriftpeakError(
            f"values must have {len(prior)} columns, one for each arm of the prior; got "
            f"{table.shape[1]}"
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
