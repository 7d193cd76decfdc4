r"""Window in feature space: observations are only added, never removed.

Removing an observation from a posterior (a Kalman update with \(-\lambda\) for \(\lambda\)) divides
by the remaining variance, which loses all digits if the noise is small. Here the window has two
parts:

- the *base* is the posterior given the observations that stay in the window for the next b steps,
  recomputed every b steps;
- the *edge* is the at most b other observations, on which every step conditions by a textbook
  Cholesky factorisation of b x b.

No result is carried for longer than b steps, so no error accumulates at any noise level.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.numerics.conditionals import on_demand
from driftpeak._core.numerics.precision import require_double_precision
from driftpeak._core.types import Scalar, Values
from driftpeak.gp.features import Features
from driftpeak.gp.forgetting import Forgetting
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs.posterior import Belief, FeaturePrior, Posterior
from driftpeak.inference.beliefs.weights import (
    WeightPosterior,
    draw,
    rows_of_factor,
    weight_posterior,
)

LEAST_RING = 64
LENGTHS = (8, 16, 32, 64)


class Base(NamedTuple):
    """The posterior given the middle of the window."""

    weights: WeightPosterior
    mean: Values
    variance: Values


class Edge(NamedTuple):
    """The other observations: those about to leave the window, and those made since the base."""

    rows: Float[Array, "b n"]  # covariances with all points under the base
    arms: Int[Array, " b"]
    residuals: Float[Array, " b"]  # reward minus prior mean
    used: Bool[Array, " b"]


class SlidingState(NamedTuple):
    """The observations of the window (number k at place k mod its size), base, edge and moments."""

    arms: Int[Array, " w"]
    residuals: Float[Array, " w"]
    base: Base
    edge: Edge
    mean: Values
    variance: Values
    information: Float[Array, ""]
    observations: Int[Array, ""]


class Sliding(Belief[SlidingState]):
    r"""A posterior for Window from base and edge, \(O(nr + b^2 n)\) a step.

    With \(P = I - V^\top V\) the covariance of the weights in the base, an observation of features
    \(\phi\) enters the edge with the row \(\Phi P \phi\). P is not formed, because V is smaller for
    short windows. A new base costs \(O(n r \min(w, r))\) and is needed only if the window is longer
    than b.
    """

    prior: FeaturePrior
    forgetting: Forgetting
    ring: int = eqx.field(static=True)
    span: int = eqx.field(static=True)

    def __init__(
        self, prior: Prior, forgetting: Forgetting, features: Features, capacity: int
    ) -> None:
        self.prior = FeaturePrior(prior, features)
        self.forgetting = forgetting
        self.ring = ring_size(capacity)
        self.span = edge_length(len(prior), features.rank, self.ring)

    @property
    def window(self) -> Scalar:
        """The number of newest observations that count."""
        length = self.forgetting.window
        assert length is not None
        return length

    def init(self) -> SlidingState:
        require_double_precision()
        n, r = self.prior.features.shape
        known = jnp.zeros((int(rows_of_factor(self.ring, r)), r))
        weights = WeightPosterior(known, jnp.zeros(r), jnp.zeros(()))
        prior = Base(weights, jnp.zeros(n), jnp.asarray(self.prior.variance))
        edge = Edge(
            jnp.zeros((self.span, n)),
            jnp.zeros(self.span, int),
            jnp.zeros(self.span),
            jnp.zeros(self.span, bool),
        )
        return SlidingState(
            arms=jnp.zeros(self.ring, int),
            residuals=jnp.zeros(self.ring),
            base=prior,
            edge=edge,
            mean=jnp.zeros(n),
            variance=prior.variance,
            information=jnp.zeros(()),
            observations=jnp.zeros((), int),
        )

    def posterior(self, state: SlidingState, time: Scalar) -> Posterior:
        return Posterior(
            mean=self.prior.mean + state.mean,
            variance=state.variance,
            information=state.information,
            observations=jnp.minimum(state.observations, self.window),
        )

    def update(
        self, state: SlidingState, arm: Scalar, reward: Scalar, time: Scalar
    ) -> SlidingState:
        features, window = self.prior.features, self.window
        residual = reward - jnp.asarray(self.prior.mean)[arm]
        place = state.observations % self.ring
        arms = state.arms.at[place].set(arm)
        residuals = state.residuals.at[place].set(residual)
        count = state.observations + 1
        # it replaces the observation that leaves the window
        slot = state.observations % jnp.minimum(window, self.span)
        row = features.values(state.base.weights.covariances(features.rows(arm)))
        edge = Edge(
            state.edge.rows.at[slot].set(row),
            state.edge.arms.at[slot].set(arm),
            state.edge.residuals.at[slot].set(residual),
            state.edge.used.at[slot].set(True),
        )
        due = (window > self.span) & (count % self.span == 0)
        inputs = (self, arms, residuals, count)
        base, edge = on_demand(due, _next_base, (state.base, edge), inputs, together=True)
        inverse, surprises = self._solve(base, edge)
        scaled = inverse @ edge.rows
        return SlidingState(
            arms=arms,
            residuals=residuals,
            base=base,
            edge=edge,
            mean=base.mean + surprises @ scaled,
            variance=base.variance - jnp.sum(scaled**2, axis=0),
            information=base.weights.information
            - jnp.log(inverse.diagonal() * jnp.sqrt(self.prior.noise_variance)).sum(),
            observations=count,
        )

    def sample(self, state: SlidingState, time: Scalar, key: PRNGKeyArray) -> Values:
        base, edge = state.base, state.edge
        inverse, surprises = self._solve(base, edge)
        used = self.prior.features.rows(edge.arms) * edge.used[:, None]
        scaled = inverse @ base.weights.covariances(used)
        weights = draw(
            base.weights.mean + surprises @ scaled,
            base.weights.covariance - scaled.T @ scaled,
            key,
        )
        return self.prior.mean + self.prior.features.values(weights)

    def _solve(self, base: Base, edge: Edge) -> tuple[Float[Array, "b b"], Float[Array, " b"]]:
        """Return the inverse Cholesky factor of the edge's covariance, and whitened residuals."""
        pairs = jnp.outer(edge.used, edge.used)
        among = jnp.where(pairs, edge.rows[:, edge.arms], 0.0)
        identity = jnp.eye(self.span)
        lower = jnp.linalg.cholesky(among + self.prior.noise_variance * identity)
        inverse = jax.scipy.linalg.solve_triangular(lower, identity, lower=True)
        expected = jnp.where(edge.used, base.mean[edge.arms], 0.0)
        return inverse, inverse @ (edge.residuals - expected)


def ring_size(capacity: int) -> int:
    """Return the number of places: a power of two, so one compiled program serves many windows."""
    return max(LEAST_RING, 1 << (capacity - 1).bit_length())


def edge_cost(points: int, rank: Any, ring: int, length: int, each: Any = None) -> Any:
    """Return the approximate cost of edge and bases per step, with an edge of this length.

    The edge costs at every step, and a new base once in `length` steps. The unit is the one of
    `driftpeak.inference.beliefs.choice`. `each` is the number of operations of a product with the
    features, per point; the rank by default.
    """
    rows = rows_of_factor(ring, rank)
    rebuild = rows * (points * (rank if each is None else each) + 2 * rows * rank)
    rebuild = rebuild + np.where(rows < ring, 2.0 * ring * rank**2, 0.0)
    return length**2 * points + 7 * length**3 + rebuild / length


def edge_length(points: int, rank: int, ring: int) -> int:
    """Return b, the cheapest length of the edge."""
    return min(LENGTHS, key=lambda length: edge_cost(points, rank, ring, length))


def step_cost(points: int, rank: Any, capacity: int, each: Any = None) -> Any:
    """Return the approximate cost of a step; `rank` may be an array, `each` as above."""
    ring = ring_size(capacity)
    edges = np.min([edge_cost(points, rank, ring, length, each) for length in LENGTHS], axis=0)
    return points * ((rank if each is None else each) + 400) + edges


def _next_base(_: Any, inputs: tuple[Sliding, Any, Any, Any]) -> tuple[Base, Edge]:
    """Return base and edge for the next b steps."""
    belief, arms, residuals, count = inputs
    features, window = belief.prior.features, belief.window
    age = (count - 1 - jnp.arange(belief.ring)) % belief.ring
    middle = (age < window - belief.span) & (age < count)
    root = jnp.sqrt(1 / belief.prior.noise_variance)
    rows, scaled = root * features.rows(arms) * middle[:, None], root * residuals * middle
    fitted = weight_posterior(rows, scaled)
    base = Base(
        fitted,
        features.values(fitted.mean),
        belief.prior.variance - features.squared_sums(fitted.known),
    )
    leaving = count - window + jnp.arange(belief.span)  # numbers of the next observations to leave
    used = leaving >= 0
    old = arms[leaving % belief.ring]
    edge = Edge(
        rows=features.values(fitted.covariances(features.rows(old) * used[:, None])),
        arms=old,
        residuals=jnp.where(used, residuals[leaving % belief.ring], 0.0),
        used=used,
    )
    return base, edge
