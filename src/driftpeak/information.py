r"""Information gain: how much n observations can say about the function, in nats.

\(I(A) = \frac12 \log\det(I + \lambda^{-1} K_A)\) of a set of points (B16 (12)), and its largest
value over sets of n, `gain_n` (B16 (13)), which enters the widths of the frequentist policies.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from driftpeak.beliefs import Belief, Posterior, make_belief
from driftpeak.errors import DriftpeakError, at_least_integer, finite_array
from driftpeak.forgetting import Keep
from driftpeak.precision import double_precision
from driftpeak.priors import Prior

GREEDY_GUARANTEE = 1 - 1 / np.e
"""Greedy selection reaches at least this share of the maximum (Nemhauser et al. 1978)."""


def information_gain(prior: Prior, arms: Any) -> float:
    """The information that one observation at each of `arms` (point numbers) gives, in nats.

    Raises:
        DriftpeakError: not a list of point numbers, or one outside the domain.
    """
    chosen = np.asarray(arms)
    if chosen.size == 0:
        return 0.0
    whole = chosen.ndim == 1 and chosen.dtype.kind in "iu"
    if not whole or not ((chosen >= 0) & (chosen < len(prior))).all():
        raise DriftpeakError(
            f"arms must be a list of integers in 0..{len(prior) - 1}; got {chosen.tolist()}"
        )
    gram = prior.gram[np.ix_(chosen, chosen)]
    matrix = np.eye(len(chosen)) + gram / prior.noise_variance
    return float(0.5 * np.linalg.slogdet(matrix)[1])


@double_precision
def greedy_gain(prior: Prior, count: int, *, upper: bool = False) -> np.ndarray:
    """The gain of 0, 1, ..., `count` points, each the one of largest posterior variance.

    Greedy selection reaches at least 1 - 1/e of the maximum information gain, because information
    is submodular: so with `upper=True` (the greedy value divided by 1 - 1/e, as in IT25's
    experiments) the result is an upper bound of the maximum, and without, a lower bound.

    Returns:
        Shape `(count + 1,)`, in nats, starting at 0.

    Raises:
        DriftpeakError: count below 1.
    """
    count = at_least_integer("count", count, 1)
    belief = make_belief(prior, Keep(), count)
    gains = np.concatenate([[0.0], np.asarray(_greedy(belief, jnp.arange(1.0, count + 1)))])
    return gains / GREEDY_GUARANTEE if upper else gains


@jax.jit
def _greedy(belief: Belief[Any], times: Float[Array, " t"]) -> Float[Array, " t"]:
    def select(state: Any, time: Any) -> tuple[Any, Any]:
        arm = jnp.argmax(belief.posterior(state, time).variance)
        state = belief.update(state, arm, jnp.zeros(()), time)
        return state, belief.posterior(state, time).information

    return jax.lax.scan(select, belief.init(), times)[1]


class Gain(eqx.Module):
    """Which information gain a width uses."""

    @abstractmethod
    def __call__(self, posterior: Posterior) -> Float[Array, ""]:
        """The gain, in nats, of the observations that the posterior rests on."""

    def check(self, most: int) -> None:
        """Raise DriftpeakError unless the gain is known for up to `most` observations."""


class RealisedGain(Gain):
    """The information that the observations made did give: what the belief itself reports."""

    def __call__(self, posterior: Posterior) -> Float[Array, ""]:
        return posterior.information


class TabulatedGain(Gain):
    """A gain for every number of observations, such as `greedy_gain(prior, steps, upper=True)`.

    Raises:
        DriftpeakError: values that are negative, decrease or are not finite; a run that needs more
            of them than there are.
    """

    values: Any

    def __init__(self, values: Any) -> None:
        self.values = finite_array("gain", values, 1)
        if len(self.values) == 0 or self.values[0] < 0 or (np.diff(self.values) < 0).any():
            raise DriftpeakError("gains must start at 0 or above and not decrease")

    def __call__(self, posterior: Posterior) -> Float[Array, ""]:
        return jnp.asarray(self.values)[posterior.observations]

    def check(self, most: int) -> None:
        if len(self.values) <= most:
            raise DriftpeakError(
                f"the gain is tabulated up to {len(self.values) - 1} observations and the run "
                f"needs {most}: use greedy_gain(prior, {most})"
            )
