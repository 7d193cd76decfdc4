"""Hyperparameters by maximum marginal likelihood (B16 Appendix B)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    NoObservationsError,
    NotConvergedError,
    unit_interval,
)
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import Vector
from driftpeak.gp.priors import Prior
from driftpeak.inference.fitting.likelihood import FORMS
from driftpeak.inference.fitting.observations import Observations, Stretches, lay_end_to_end
from driftpeak.inference.fitting.parameters import FreeParameters, free_parameters, traceable_gram

Data = Observations | np.ndarray | Sequence[Any]
DENSE = 500  # largest number of observations for which one factorisation is faster than a filter
NORMAL = 1.959964  # 97.5 % of a standard normal variable
START_DRIFTS = (1e-4, 1e-3, 1e-2, 1e-1, 0.5)
STEP = 1e-4  # of finite differences of gradients, in logarithms
AT_BOUND = 1e-3


@dataclass(frozen=True)
class Estimate:
    """A fitted number with its uncertainty.

    Attributes:
        value: the maximiser of the likelihood.
        stderr: standard error to first order, from the observed information; NaN if undefined.
        low, high: 95 % interval, symmetric in the logarithm (in the log-odds, for the drift) and
            transformed back; NaN if undefined.
    """

    value: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Fit:
    """Hyperparameters fitted to data.

    Attributes:
        estimates: by name: "drift", "noise_variance", "kernel.lengthscale", ...
        prior: the given prior with the fitted numbers.
        drift: epsilon per unit of time, fitted or as given.
        log_likelihood: (24) at the estimates, in nats.
        converged: whether the optimiser converged and no number is at its bound.
        message: remarks about the optimum, as text.
        observations: number of observations.
        form: form of the likelihood: "separable", "dense" or "filtered".
    """

    estimates: dict[str, Estimate]
    prior: Prior
    drift: float
    log_likelihood: float
    converged: bool
    message: str
    observations: int
    form: str


@checked
@double_precision
def fit(
    data: Data,
    prior: Prior,
    *,
    learn: str | Sequence[str] = ("noise_variance", "drift"),
    drift: float = 0.01,
) -> Fit:
    r"""Fit kernel numbers, noise variance and drift to observations.

    The log marginal likelihood (24) is maximised by L-BFGS-B over logarithms, and over the log-odds
    of the drift. The prior mean is not fitted. With `learn="kernel"` every positive number of the
    kernel is fitted: write `1.0 * dp.SE(0.2)` to fit the amplitude too.

    Intervals assume the model. A covariance estimated from the same data, as in B16 section 5.2,
    already contains their noise: the fitted noise is then too small, the drift too large and the
    intervals too narrow. `driftpeak.theory.variation.estimate_drift` fits all of them together.

    Arguments:
        data: rewards as a table, shape `(steps, arms)`, NaN where nothing was observed;
            `Observations`; or a list of these, one for each of several independent series (B16's
            days).
        prior: domain, mean, and the start values or fixed values of the kernel's numbers and the
            noise variance.
        learn: some of "kernel", "noise_variance", "drift".
        drift: start value of the drift, or its fixed value if it is not fitted.

    Raises:
        NoObservationsError: no observations.
        NotConvergedError: the likelihood is not finite at any start.
        DriftpeakError: arms that the prior does not have, an unknown name in `learn`, or a kernel
            without numbers or without derivatives.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=10), dp.SE(lengthscale=0.2), noise_variance=0.1)
        >>> rows = dp.true_functions(dp.MarkovDrift(prior, drift=0.1), steps=100)[0]
        >>> 0.03 < dp.fit(rows, prior, learn="drift").drift < 0.3
        True

    Source: B16 (24)-(25).
    """
    drift = unit_interval("drift", drift)
    parameters = free_parameters(prior, drift, learn)
    problem = _Problem(_stretches(data, prior), prior, parameters)
    start = _best_start(problem, parameters)
    result = minimize(
        problem.cost,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=parameters.bounds,
        options={"ftol": 1e-12, "gtol": 1e-5 * max(1.0, len(problem.data) / 1e3), "maxiter": 500},
    )
    best = np.asarray(result.x)
    estimates, remarks = _estimates(problem, parameters, best)
    kernel, noise, learned_drift = parameters.unpack(jnp.asarray(best))
    kernel = jax.tree.map(np.asarray, kernel)
    settled = bool(result.success) or "ABNORMAL" in str(result.message)
    message = str(result.message).strip().lower()
    return Fit(
        estimates,
        Prior(prior.domain, kernel, float(noise), prior.mean),
        float(learned_drift),
        -float(result.fun),
        settled and not remarks,
        "; ".join(remarks) or message,
        len(problem.data),
        problem.form,
    )


@checked
@double_precision
def log_marginal_likelihood(data: Data, prior: Prior, *, drift: float) -> float:
    """Compute B16's (24) for the given prior and drift, in nats.

    Arguments:
        data: as for `fit`.
        prior: domain, kernel, mean and noise variance.
        drift: epsilon in [0, 1], per unit of time.

    Raises:
        NoObservationsError: no observations.
        DriftpeakError: arms that the prior does not have.

    Source: B16 (24).
    """
    drift = unit_interval("drift", drift)
    stretches = _stretches(data, prior)
    form, arrays = _arrays(stretches)
    gram = prior.gram[np.ix_(stretches.points, stretches.points)]
    return float(FORMS[form](gram, prior.noise_variance, drift, *arrays)[0])


class _Problem:
    """The negative log-likelihood of an unconstrained vector, and its gradient."""

    def __init__(self, data: Stretches, prior: Prior, parameters: FreeParameters) -> None:
        self.data = data
        self.form, self.arrays = _arrays(data)
        gram_given = None if "kernel" in parameters.learn else prior.gram

        def unpack(vector: Any) -> Any:
            kernel, noise, drift = parameters.unpack(vector)
            if gram_given is None:
                gram = traceable_gram(kernel, prior.domain, data.points)
            else:
                gram = gram_given[np.ix_(data.points, data.points)]
            return jax.tree.map(jnp.asarray, (gram, noise, drift))

        self.unpack = jax.jit(unpack)

    def cost(self, vector: Vector) -> tuple[float, Vector]:
        model, pull_back = jax.vjp(self.unpack, jnp.array(vector))
        value, slopes = FORMS[self.form](*model, *self.arrays)
        value, gradient = -float(value), -np.asarray(pull_back(slopes)[0])
        # a step too far, where the covariance is singular: the line search reduces the step
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return 1e100, np.zeros_like(vector)
        return value, gradient

    def information(self, vector: Vector, step: float) -> np.ndarray:
        """Return the observed information from central differences of the gradient."""
        columns = []
        for i in range(len(vector)):
            shift = np.zeros_like(vector)
            shift[i] = step
            ahead, behind = self.cost(vector + shift)[1], self.cost(vector - shift)[1]
            columns.append((ahead - behind) / (2 * step))
        matrix = np.array(columns)
        return (matrix + matrix.T) / 2


def _stretches(data: Data, prior: Prior) -> Stretches:
    several = isinstance(data, Sequence) and all(
        isinstance(series, Observations) or np.ndim(series) == 2 for series in data
    )
    if several and len(data) == 0:
        raise NoObservationsError("data must have at least one observation; got none")
    parts: Sequence[Any] = data if several else [data]  # type: ignore[assignment]
    return lay_end_to_end(
        [
            series if isinstance(series, Observations) else _of_table(series, prior)
            for series in parts
        ],
        prior.mean,
    )


def _of_table(values: Any, prior: Prior) -> Observations:
    columns = np.shape(values)[1] if np.ndim(values) == 2 else None
    if columns is not None and columns != len(prior):
        raise DriftpeakError(
            f"data must have {len(prior)} columns, one for each arm of the prior; got {columns}"
        )
    return Observations.from_table(values)


def _arrays(data: Stretches) -> tuple[str, tuple[Any, ...]]:
    """Return the name of the cheapest form of the likelihood, and its arrays."""
    if data.table is not None:
        first = slice(None, None, len(data.points))
        return "separable", (data.elapsed[first], data.begins[first], data.table)
    if len(data) <= max(DENSE, len(data.points)):
        days = np.cumsum(data.begins)
        return "dense", (data.arms, np.cumsum(data.elapsed), days, data.rewards)
    return "filtered", (data.elapsed, data.begins, data.arms, data.rewards)


def _best_start(problem: _Problem, parameters: FreeParameters) -> Vector:
    """Return the best of a few starts: the likelihood may have several maxima along the drift."""
    starts = [parameters.start]
    if "drift" in parameters.learn:
        for value in START_DRIFTS:
            start = parameters.start.copy()
            start[-1] = np.log(value / (1 - value))
            starts.append(start)
    costs = [problem.cost(start)[0] for start in starts]
    if min(costs) >= 1e100:
        raise NotConvergedError(
            "the likelihood of the data is not finite at the start. Use a larger noise variance"
        )
    return starts[int(np.argmin(costs))]


def _estimates(
    problem: _Problem, parameters: FreeParameters, best: Vector
) -> tuple[dict[str, Estimate], list[str]]:
    """Return estimates with their intervals, and remarks about problems."""
    remarks = []
    low, high = np.array(parameters.bounds).T
    stuck = (best < low + AT_BOUND) | (best > high - AT_BOUND)
    for name, value in zip(
        np.array(parameters.names)[stuck], parameters.natural(best)[stuck], strict=True
    ):
        remarks.append(f"{name} is at its bound {value:.3g}: the data do not determine it")
    spread = np.full(len(best), np.nan)
    free = ~stuck
    if free.any():
        information = problem.information(best, STEP)[np.ix_(free, free)]
        if np.linalg.eigvalsh(information)[0] > 0:
            spread[free] = np.sqrt(np.linalg.inv(information).diagonal())
        else:
            remarks.append("the likelihood is flat or still increases there: no intervals")
    values = parameters.natural(best)
    lows = parameters.natural(best - NORMAL * spread)
    highs = parameters.natural(best + NORMAL * spread)
    errors = parameters.slopes(best) * spread
    rows = zip(parameters.names, values, errors, lows, highs, strict=True)
    return {name: Estimate(*map(float, row)) for name, *row in rows}, remarks
