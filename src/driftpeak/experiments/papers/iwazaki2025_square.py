"""IT25's figure 2 with centres drawn from the whole square, as the paper states them.

`iwazaki2025` draws them from the points of the grid. The policies are those of IT25's figure; OPKB
and ADA-OPKB are not repeated.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from driftpeak._core.types import AnyArray
from driftpeak.environments import AbruptSwitches
from driftpeak.environments.rkhs import Pieces
from driftpeak.experiments.experiment import Case, Setup, described
from driftpeak.experiments.figures import regret_panels
from driftpeak.experiments.papers.iwazaki2025 import (
    ADA,
    KERNELS,
    NOISES,
    QUICK_STEPS,
    RESTARTED,
    STEPS,
    paper_claims,
    setup as on_the_grid,
)
from driftpeak.gp.kernels import Kernel
from driftpeak.gp.priors import Prior

TRIALS, NOISE = 5, NOISES[0]
OMITTED = (RESTARTED, ADA)


class AnywhereSwitches(AbruptSwitches):
    """Abrupt switches with supports drawn uniformly from the bounding box of the domain."""

    kernel: Kernel
    points: AnyArray

    def __init__(self, prior: Prior, *, changes: Any, supports: int) -> None:
        super().__init__(prior, changes=changes, supports=supports)
        self.kernel, self.points = prior.kernel, prior.domain.points

    def init(self, key: PRNGKeyArray) -> Pieces:
        where, how = jax.random.split(key)
        shape = (self.pieces, self.supports)
        points = jnp.asarray(self.points)
        low, high = points.min(axis=0)[None, None], points.max(axis=0)[None, None]
        share = jax.random.uniform(where, (*shape, points.shape[1]), dtype=float)
        coefficients = jax.random.uniform(how, shape, dtype=float, minval=-1, maxval=1)
        rows = jax.vmap(self.kernel, (0, None))(low + share * (high - low), points)
        return Pieces(
            jnp.einsum("ps,psn->pn", coefficients, rows) + jnp.asarray(self.mean)[None, :]
        )


def setup(kernel: Kernel, steps: int = STEPS) -> Setup:
    """Return IT25's policies on functions with centres anywhere in the square."""
    return on_the_grid(kernel, NOISE, steps, world=AnywhereSwitches, omitted=OMITTED)


CASES = {f"{name}, noise sd {NOISE:g}": kernel for name, kernel in KERNELS.items()}
EXPERIMENTS = (
    described(
        "it25-square",
        tuple(
            Case(
                case,
                partial(setup, kernel),
                TRIALS,
                quick=partial(setup, kernel, steps=QUICK_STEPS),
            )
            for case, kernel in CASES.items()
        ),
        tuple(claim for name in KERNELS for claim in paper_claims(name, (NOISE,))),
        regret_panels,
        values={"NOISE": NOISE, "TRIALS": TRIALS},
    ),
)
