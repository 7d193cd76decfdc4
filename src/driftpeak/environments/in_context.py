"""An environment on cells, which shows at each step the points in the current context."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.times import Times
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.environments.catalogue import environment
from driftpeak.environments.noise import Noise
from driftpeak.environments.protocol import Environment
from driftpeak.gp.context_points import Contexts, check_cells, check_room


class InContextState(NamedTuple):
    """The state of all cells, and the number of steps."""

    own: Any
    step: Int[Array, ""]


@environment("depends on the context of each step (:doc:`contexts`)")
class ContextualEnvironment(Environment[InContextState]):
    """A function of the cells, `environment`, observed in the context of each step.

    Arguments:
        environment: environment whose points are the cells, `contexts.cells(domain)`; all cells
            move at every step, observed or not.
        contexts: contexts of the run, equal in all trials; the run may be shorter, not longer.

    Raises:
        DriftpeakError: a run longer than the contexts, or points that are not the cells of these
            contexts (at the first step).

    Example:
        >>> import driftpeak as dp
        >>> contexts = dp.Contexts(["rain", "sun", "sun"] * 10)
        >>> cells = contexts.cells(dp.Grid([0, 1], size=20))
        >>> prior = dp.Prior(cells, dp.SE(lengthscale=[0.2, 1.0, 1.0]), noise_variance=0.01)
        >>> world = dp.ContextualEnvironment(dp.MarkovDrift(prior, drift=0.02), contexts)
        >>> dp.true_functions(world, steps=30).shape
        (1, 30, 20)
    """

    environment: Environment[Any]
    numbers: AnyArray  # (steps,), of kinds
    kinds: int = eqx.field(static=True)
    noise_variance: Scalar

    @checked
    def __init__(self, environment: Environment[Any], contexts: Contexts) -> None:
        self.environment = environment
        self.numbers = contexts.numbers
        self.kinds = len(contexts.kinds)
        self.noise_variance = environment.noise_variance

    @property
    def noise(self) -> Noise:
        return self.environment.noise

    def prepare(self, times: Times) -> "ContextualEnvironment":
        check_room(self.numbers, len(times))
        return eqx.tree_at(lambda tree: tree.environment, self, self.environment.prepare(times))

    def init(self, key: PRNGKeyArray) -> InContextState:
        return InContextState(self.environment.init(key), jnp.zeros((), int))

    def step(
        self, state: InContextState, time: Scalar
    ) -> tuple[InContextState, Float[Array, " n"]]:
        own, values = self.environment.step(state.own, time)
        check_cells("the environment", values.shape[0], self.kinds, "it")
        step = jnp.minimum(state.step, len(self.numbers) - 1)  # later steps are padding
        here = jnp.asarray(self.numbers)[step]
        return InContextState(own, state.step + 1), values.reshape(self.kinds, -1)[here]
