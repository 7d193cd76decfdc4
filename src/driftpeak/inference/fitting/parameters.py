"""Conversion of hyperparameters to one unconstrained vector, and back."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak._core.errors import DriftpeakError, nearest
from driftpeak._core.types import Integers, Vector
from driftpeak.gp.domains import Domain
from driftpeak.gp.kernels import Combined, Kernel, Matern, Scaled, Table
from driftpeak.gp.priors import Prior

GROUPS = ("kernel", "noise_variance", "drift")
REACH = np.log(1e6)  # largest distance of a positive number from its start
DRIFTS = (-np.log(1e9), np.log(1e6))  # log-odds of the drift: about 1e-9 to 1 - 1e-6


@dataclass(frozen=True)
class FreeParameters:
    """The hyperparameters to fit, and their transformations.

    The unconstrained vector holds the logarithms of kernel numbers and noise variance and the
    log-odds of the drift, in the order of `names`.
    """

    names: tuple[str, ...]
    start: Vector
    bounds: list[tuple[float, float]]
    kernel: Kernel
    learn: tuple[str, ...]
    fixed: tuple[float, float]  # noise variance and drift, used where they are not fitted

    def unpack(self, vector: Any) -> tuple[Kernel, Any, Any]:
        """Return kernel, noise variance and drift at `vector`, also inside JAX."""
        leaves, structure = jax.tree.flatten(self.kernel)
        noise: Any = self.fixed[0]
        drift: Any = self.fixed[1]
        place = 0
        if "kernel" in self.learn:
            # the entries of a table and an offset of 0 are not fitted
            for i, leaf in enumerate(leaves):
                if _learnable(leaf):
                    size = np.size(leaf)
                    value = jnp.exp(vector[place : place + size])
                    leaves[i] = value.reshape(np.shape(leaf))
                    place += size
        if "noise_variance" in self.learn:
            noise, place = jnp.exp(vector[place]), place + 1
        if "drift" in self.learn:
            drift = jax.nn.sigmoid(vector[place])
        return jax.tree.unflatten(structure, leaves), noise, drift

    def natural(self, vector: Vector) -> Vector:
        """Return the natural parameters, in the order of `names`; monotone in each entry."""
        values = np.exp(vector)
        if "drift" in self.learn:
            values[-1] = 1 / (1 + np.exp(-vector[-1]))
        return values

    def slopes(self, vector: Vector) -> Vector:
        """Return the derivatives of `natural`, entry by entry."""
        values = self.natural(vector)
        slopes = values.copy()
        if "drift" in self.learn:
            slopes[-1] *= 1 - values[-1]
        return slopes


def free_parameters(prior: Prior, drift: float, learn: Any) -> FreeParameters:
    """Return the free parameters that `learn` names.

    Raises:
        DriftpeakError: an unknown group or no group, or a kernel without numbers to fit.
    """
    groups = (learn,) if isinstance(learn, str) else tuple(learn)
    for group in groups:
        if group not in GROUPS:
            raise DriftpeakError(
                f"learn must name some of {', '.join(GROUPS)}; got {group!r}."
                + nearest(str(group), GROUPS)
            )
    if not groups:
        raise DriftpeakError(f"learn must name at least one of {', '.join(GROUPS)}")
    names: list[str] = []
    start: list[float] = []
    if "kernel" in groups:
        _check_differentiable(prior.kernel)
        for path, leaf in jax.tree_util.tree_leaves_with_path(prior.kernel):
            if _learnable(leaf):
                name = "kernel" + jax.tree_util.keystr(path)
                flat = np.ravel(leaf)
                names += (
                    [name] if np.ndim(leaf) == 0 else [f"{name}[{i}]" for i in range(len(flat))]
                )
                start += [float(value) for value in np.log(flat)]
        if not names:
            raise DriftpeakError(
                "a covariance table alone has no number to fit. Remove 'kernel' from learn, or "
                "fit its scale with 1.0 * Table(...)"
            )
    bounds = [(value - REACH, value + REACH) for value in start]
    if "noise_variance" in groups:
        names.append("noise_variance")
        log_noise = float(np.log(prior.noise_variance))
        start.append(log_noise)
        bounds.append((log_noise - REACH, log_noise + REACH))
    if "drift" in groups:
        names.append("drift")
        inside = min(max(drift, 1e-6), 1 - 1e-6)
        start.append(float(np.log(inside / (1 - inside))))
        bounds.append(DRIFTS)
    ordered = tuple(group for group in GROUPS if group in groups)
    return FreeParameters(
        tuple(names),
        np.array(start),
        bounds,
        prior.kernel,
        ordered,
        (prior.noise_variance, drift),
    )


def traceable_gram(kernel: Kernel, domain: Domain, points: Integers) -> Any:
    """Return the covariance of some points, differentiable with respect to the kernel's numbers."""
    if isinstance(kernel, Table):
        return jnp.asarray(kernel.matrix)[np.ix_(points, points)]
    if isinstance(kernel, Scaled):
        return kernel.variance * traceable_gram(kernel.kernel, domain, points)
    if isinstance(kernel, Combined):
        left = traceable_gram(kernel.left, domain, points)
        return kernel.join(left, traceable_gram(kernel.right, domain, points))
    chosen = jnp.asarray(domain.points[points])
    return kernel(chosen, chosen)


def _learnable(leaf: Any) -> bool:
    return np.ndim(leaf) < 2 and bool((np.asarray(leaf) > 0).all())


def _check_differentiable(kernel: Kernel) -> None:
    if isinstance(kernel, Combined):
        _check_differentiable(kernel.left)
        _check_differentiable(kernel.right)
    elif isinstance(kernel, Scaled):
        _check_differentiable(kernel.kernel)
    elif isinstance(kernel, Matern) and kernel.nu not in (0.5, 1.5, 2.5):
        raise DriftpeakError(
            f"Matern with nu={kernel.nu} has no derivative with respect to its lengthscale. Set nu "
            "to 0.5, 1.5 or 2.5, or remove 'kernel' from learn"
        )
