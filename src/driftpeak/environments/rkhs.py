r"""Functions of an RKHS that change abruptly or slowly (B16, D22, IT25).

Each piece is \(f = \sum_{i \le M} \alpha_i k(\cdot, x_i)\), with \(\alpha_i\) uniform on [-1, 1]
and supports \(x_i\) drawn from the points of the domain.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least, at_least_integer, increasing
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.environments.catalogue import environment
from driftpeak.environments.protocol import Environment
from driftpeak.gp.gram import Pairs
from driftpeak.gp.priors import Prior


class Pieces(NamedTuple):
    """The functions of a run, one for each piece."""

    values: Float[Array, "pieces n"]


class Piecewise(Environment[Pieces]):
    """Random RKHS functions, one per piece. Base class: subclasses define when each holds."""

    pairs: Pairs
    mean: AnyArray
    noise_variance: Scalar
    supports: int = eqx.field(static=True)
    pieces: int = eqx.field(static=True)

    def _configure(self, prior: Prior, pieces: int, supports: int) -> None:
        self.pairs = prior.listed_pairs
        self.mean = prior.mean
        self.noise_variance = np.float64(prior.noise_variance)
        self.supports = at_least_integer("supports", supports, 1)
        self.pieces = pieces

    def init(self, key: PRNGKeyArray) -> Pieces:
        which, how = jax.random.split(key)
        shape = (self.pieces, self.supports)
        supports = jax.random.randint(which, shape, 0, len(self.mean))
        coefficients = jax.random.uniform(how, shape, dtype=float, minval=-1, maxval=1)
        values = jnp.einsum("ps,psn->pn", coefficients, self.pairs.rows(supports))
        return Pieces(values + jnp.asarray(self.mean)[None, :])


@environment(
    "is replaced at given steps",
    name="abrupt",
    build=lambda prior, drift, steps: AbruptSwitches(prior, changes=[steps / 5, 2 * steps / 5]),
)
class AbruptSwitches(Piecewise):
    """An environment with a new function after each of `changes`; `changes[0]` ends the first.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        changes: increasing times; D22 has 100 and 200 (of 500), IT25 T/5 and 2T/5.
        supports: M, 20 in D22, 10 in IT25.

    Raises:
        DriftpeakError: changes that do not increase, or supports below 1.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> world = dp.AbruptSwitches(prior, changes=[100, 200])

    Source: D22 section 7; IT25 section 6.
    """

    changes: AnyArray

    @checked
    def __init__(self, prior: Prior, *, changes: Any, supports: int = 20) -> None:
        self.changes = increasing("changes", changes)
        self._configure(prior, len(self.changes) + 1, supports)

    def step(self, state: Pieces, time: Scalar) -> tuple[Pieces, Float[Array, " n"]]:
        return state, state.values[jnp.sum(time > self.changes)]


@environment(
    "changes gradually into another function",
    name="slow",
    build=lambda prior, drift, steps: SlowChange(prior, horizon=steps),
)
class SlowChange(Piecewise):
    r"""A linear interpolation from one function to the next.

    \(f_t = f_a + (f_b - f_a) t/T\), or consecutive segments of this form.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        horizon: the time T at which the last function is reached; it is constant from then on.
        segments: number of linear segments, 1 in D22's section 7, 2 in its appendix E.
        supports: M.

    Raises:
        DriftpeakError: horizon, segments or supports below 1.

    Source: D22 section 7.
    """

    horizon: Scalar

    @checked
    def __init__(
        self, prior: Prior, *, horizon: float, segments: int = 1, supports: int = 20
    ) -> None:
        self.horizon = np.float64(at_least("horizon", horizon, 1))
        self._configure(prior, at_least_integer("segments", segments, 1) + 1, supports)

    def step(self, state: Pieces, time: Scalar) -> tuple[Pieces, Float[Array, " n"]]:
        segments = self.pieces - 1
        position = jnp.clip(time / self.horizon, 0.0, 1.0) * segments
        start = jnp.minimum(jnp.floor(position), segments - 1).astype(int)
        share = position - start
        return state, (1 - share) * state.values[start] + share * state.values[start + 1]
