"""An environment with a mode that all points share and that moves in bursts."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least, unit_interval
from driftpeak._core.times import Times
from driftpeak._core.types import Scalar
from driftpeak.environments.catalogue import environment
from driftpeak.environments.noise import Noise
from driftpeak.environments.protocol import Environment
from driftpeak.gp.forgetting import markov_correlation


class Shared(NamedTuple):
    """State of the inner environment; the mode and its log amplitude, both of variance 1."""

    world: Any
    swings: Float[Array, "2"]
    time: Float[Array, ""]
    step: Int[Array, ""]
    key: PRNGKeyArray


@environment("is that of another environment, with bursts of noise shared by all points")
class Bursts(Environment[Shared]):
    r"""An environment plus a mode that all points share: \(g_t(x) + a\,e^{b v_t} u_t\).

    u and v are Gaussian with Markov drift and variance 1 (stochastic volatility, Taylor 1982). A
    shared mode does not change the best point, so regrets are those of g. The sum is not a Gaussian
    function times a scale.

    Arguments:
        world: g.
        size: a, the typical amplitude of the mode.
        burstiness: b; at 1 the amplitude is three times as large, or as small, a quarter of the
            time.
        drift: drift of u, in [0, 1].
        burst_drift: drift of v, in [0, 1].

    Raises:
        DriftpeakError: a negative size or burstiness, or a drift outside [0, 1].
    """

    world: Environment[Any]
    noise_variance: Scalar
    size: Scalar
    burstiness: Scalar
    drifts: Any

    @checked
    def __init__(
        self,
        world: Environment[Any],
        *,
        size: float,
        burstiness: float = 1.0,
        drift: float = 0.1,
        burst_drift: float = 0.02,
    ) -> None:
        self.world = world
        self.noise_variance = world.noise_variance
        self.size = np.float64(at_least("size", size, 0))
        self.burstiness = np.float64(at_least("burstiness", burstiness, 0))
        own = unit_interval("drift", drift)
        self.drifts = np.array([own, unit_interval("burst_drift", burst_drift)])

    @property
    def noise(self) -> Noise:
        return self.world.noise

    def prepare(self, times: Times) -> "Bursts":
        return eqx.tree_at(lambda tree: tree.world, self, self.world.prepare(times))

    def init(self, key: PRNGKeyArray) -> Shared:
        beneath, own = jax.random.split(key)
        zero = jnp.zeros(())
        return Shared(self.world.init(beneath), jnp.zeros(2), zero, jnp.zeros((), int), own)

    def step(self, state: Shared, time: Scalar) -> tuple[Shared, Float[Array, " n"]]:
        world, values = self.world.step(state.world, time)
        kept = markov_correlation(jnp.asarray(self.drifts), time - state.time)
        kept = jnp.where(state.step == 0, 0.0, kept)
        fresh = jax.random.normal(jax.random.fold_in(state.key, state.step), (2,), dtype=float)
        swings = kept * state.swings + jnp.sqrt(1 - kept**2) * fresh
        mode = self.size * jnp.exp(self.burstiness * swings[1]) * swings[0]
        after = Shared(world, swings, jnp.asarray(time, float), state.step + 1, state.key)
        return after, values + mode
