r"""Online learning of hyperparameters: lengthscales, variance, noise and kind of motion.

The estimate maximises the log marginal likelihood plus the log density of these priors, for
standardised rewards on the unit cube. The priors are log-normal (median; deviation of the natural
logarithm):

| hyperparameter | median | deviation | range |
| --- | --- | --- | --- |
| lengthscale of each of d columns | \(0.12 \sqrt{d}\) | 0.7 | 0.02 to 20 |
| lengthscale of a column of choices | 1.2 distances between neighbours | 1.0 | 0.02 to 20 |
| variance of the function | 1 | 0.5 | 0.05 to 20 |
| variance of the noise | 0.01 | 1.5 | 0.0001 to 2 |
| timescale, in paces | 100 | 1.5 | 10 to 100,000 |

The level is the prior mean of the function. Its prior is normal around 0 with deviation 1. It is
learned, because most samples are near the peak, and their median is too high elsewhere.

The prior lengthscales are short. A process with a too long lengthscale has narrow intervals at
unobserved settings. It then does not explore, and observes no reward that would correct it.

Choices are different: all unordered choices, such as machines, have distance 1, and n ordered
choices have distance 1 / (n - 1). With a lengthscale of 1.2 distances, neighbouring choices have
the correlation 0.62. With a shorter lengthscale, a choice would be judged by its few first
observations, mostly far from its peak, and rewards of other choices near their peaks would not
correct this. With a longer one, the uncertainty about an unobserved choice would be small. The
median of an ordered column is at least the median of other columns.

The share of a second component (slower or periodic) has a normal prior on its log-odds, with
median 1/2 and deviation 1.5.

For binary rewards and counts, these priors hold for the latent function. It is the log-odds or the
logarithm of the rate, relative to its value for all rewards together. The rewards are not
standardised, so the prior of the variance has median 2 and deviation 0.7. There is no noise to
learn. The marginal likelihood is Laplace's approximation (`driftpeak.live._model.laplace`).

Markov drift has prior probability 0.9, momentum 0.05, two speeds 0.03 and each period 0.01. With
equal probabilities, momentum was selected too often in simulations. The prior odds are multiplied
by the ratio of the posterior densities at the most probable hyperparameters of each kind, which
have the same priors. A share is one more hyperparameter; its density is divided by the root of the
number of rewards (Schwarz 1978). Two components are tested from 24 rewards on. A period is tested
after two cycles, if a cycle lasts at least six paces. From 64 rewards on, a kind that is at least
5 nats below the most probable one is updated only every fourth time.

A *pace* is the usual time from one observation to the next. The timescale is at least ten paces.
Observations ten paces old therefore keep a correlation of at least 0.37 (momentum: 0.30) with the
present. Otherwise the model could use only the two newest observations, which noise can make look
best.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._core.errors import DriftpeakError, at_least_integer, shown, stored_number
from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.numerics.triangular import inverse_of_lower
from driftpeak._core.types import AnyArray, Scalar, Vector
from driftpeak.live._model.covariance import ALONE, MARKOV, NO_CHANGES, Model
from driftpeak.live._model.gp import (
    PaddedObservations,
    covariance_between,
    factor,
    lower_squared,
)
from driftpeak.live._model.laplace import evidence
from driftpeak.live._model.likelihoods import Rates

EVALUATIONS = 12
ENOUGH = 0.001  # nats: the search ends after a smaller gain
WHOLE, BLOCK = 64, 32  # rows up to which a covariance is one block; rows of blocks otherwise
SIZES = (64, 192)  # further array lengths for learning, whose cost is cubic
STARTS = (12.0, 40.0, 150.0, 600.0)  # timescales, in paces, from which the search may start
NEIGHBOURS = 10  # observations over which a pace is measured


@dataclass(frozen=True)
class Range:
    """A log-normal prior with bounds."""

    median: Scalar
    deviation: Scalar
    low: float
    high: float


NUMERIC, LENGTHSCALE = 0.12, 0.7  # median in roots of the number of columns, and deviation
CHOICES, SIMILARITY = 1.2, 1.0  # median in distances between neighbours, and deviation
VARIANCE = Range(1.0, 0.5, 0.05, 20.0)
RATES_VARIANCE = Range(2.0, 0.7, 0.05, 20.0)
NOISE = Range(0.01, 1.5, 1e-4, 2.0)
TIMESCALE = Range(100.0, 1.5, 10.0, 1e5)
LEVEL = 10.0  # bound of the level's absolute value, in standard units
SHARE = 1.5  # prior deviation of the share's log-odds
EVENEST = 4.0  # bound of the log-odds' absolute value


class Kind(NamedTuple):
    """The parts of a model that are not learned, as in `driftpeak.live._model.covariance.Model`."""

    motion: Scalar = MARKOV
    beside: Scalar = ALONE
    period: Scalar = 1.0
    changes: AnyArray = NO_CHANGES
    effect: Scalar | None = None


def kind_of(model: Model) -> Kind:
    """Return the kind of a model."""
    return Kind(*(getattr(model, name) for name in Kind._fields))


def effect_of_choices(gaps: np.ndarray, share: float | None) -> float | None:
    """Return the share of the effect of choices; None unless there are choices and numbers."""
    return share if (gaps > 0).any() and (gaps == 0).any() else None


def ranges(gaps: AnyArray, variance: Range = VARIANCE) -> list[Range]:
    """Return the priors of the d lengthscales, variance, noise variance and timescale.

    Arguments:
        gaps: distance between neighbouring choices in each column, 0 for numbers, shape `(d,)`.
        variance: prior of the variance.
    """
    library = jnp if isinstance(gaps, jax.Array) else np
    medians = library.maximum(NUMERIC * len(gaps) ** 0.5, CHOICES * gaps)
    deviations = library.where(gaps > 0, SIMILARITY, LENGTHSCALE)
    each = zip(medians, deviations, strict=True)
    lengthscales = [Range(median, deviation, 0.02, 20.0) for median, deviation in each]
    return [*lengthscales, variance, NOISE, TIMESCALE]


def pace_of(times: Vector) -> float:
    """Return the usual time between two observations, in the unit of the increasing `times`.

    It is the median over all observations of the time to the tenth next one, divided by ten.
    Simultaneous observations and single long gaps have little effect.
    """
    neighbours = min(NEIGHBOURS, len(times) - 1)
    if neighbours < 1:
        return 1.0
    pace = float(np.median(times[neighbours:] - times[:-neighbours])) / neighbours
    return pace or float(times[-1] - times[0]) / (len(times) - 1) or 1.0


def default_model(gaps: np.ndarray, pace: float, kind: Kind) -> Model:
    """Return the model with the prior medians."""
    medians = np.array([prior.median for prior in ranges(gaps)])
    model = unpack(np.append(np.log(medians), [0.0, 0.0]), gaps, pace, kind)
    names = "level", "variance", "noise_variance", "timescale", "share"
    scalars: dict[str, Any] = {name: float(getattr(model, name)) for name in names}
    return model._replace(**scalars)  # the types of a learned model: both need the same programs


def unpack(vector: AnyArray, gaps: AnyArray, pace: Scalar, kind: Kind) -> Model:
    """Return the model of a vector: logarithms, log-odds of the share, and last the level."""
    library = jnp if isinstance(vector, jax.Array) else np
    *lengthscales, variance, noise, timescale = library.exp(vector[:-2])
    share = library.where(kind.beside == ALONE, 0.0, 1 / (1 + library.exp(-vector[-2])))
    scales = library.stack(lengthscales), variance, noise, timescale * pace
    return Model(vector[-1], *scales, gaps, share=share, **kind._asdict())


def pack(model: Model, pace: float) -> Vector:
    """Return the vector of a model."""
    rest = [model.variance, model.noise_variance, model.timescale / pace]
    logarithms = np.log(np.concatenate([np.asarray(model.lengthscale, float), rest]))
    odds = 0.0 if model.beside == ALONE else np.log(model.share) - np.log1p(-model.share)
    return np.append(logarithms, [odds, model.level])


class Problem(NamedTuple):
    """The observations to fit, and the parts of the model that are not fitted."""

    places: PaddedObservations
    rewards: AnyArray  # (c,)
    gaps: AnyArray  # (d,)
    pace: Any
    kind: Kind
    rates: Rates | None = None  # likelihood of binary rewards and counts

    def model(self, vector: AnyArray) -> Model:
        """Return the model of a vector."""
        return unpack(vector, self.gaps, self.pace, self.kind)


def cost(vector: AnyArray, problem: Problem) -> Array:
    """Compute minus the log posterior density, up to a constant."""
    model = problem.model(vector)
    if problem.rates is not None:
        seen = problem.places, problem.rewards, problem.rates
        return evidence(model, *seen)[0] + _prior(vector, problem.gaps, RATES_VARIANCE)
    root, lower, half_logarithm = factor(model, problem.places)
    residuals = root * (problem.rewards - model.level)
    white = jax.scipy.linalg.solve_triangular(lower, residuals, lower=True)
    return 0.5 * white @ white + half_logarithm + _simple_part(vector, model, problem.places)


def cost_and_slope(vector: AnyArray, problem: Problem) -> tuple[Array, Array]:
    r"""Compute the cost and its gradient.

    Let \(C = I + K/\lambda\), r the residuals and \(\beta = C^{-1} r\). The gradient of
    \(\frac12 r^\top C^{-1} r + \frac12 \log|C|\) equals the gradient of
    \(\frac12 \mathrm{tr}((C^{-1} - \beta\beta^\top)\, C) + \beta^\top r\) with the first factors
    held fixed. This is cheaper than differentiating the factorisation. The gradient for binary
    rewards and counts is computed in the same way (`driftpeak.live._model.laplace.evidence`).
    """
    if problem.rates is not None:
        value, inverse, slopes = _rates_value(vector, problem)
        return value, _rates_slope(vector, problem, inverse, slopes)
    value, fixed, weights = _value(vector, problem)
    return value, _slope(vector, problem, fixed, weights)


# Two compiled programs, because a single one takes 1.5 times as long.
@compiled
def _value(vector: AnyArray, problem: Problem) -> tuple[Array, Array, Array]:
    model = problem.model(vector)
    root, lower, half_logarithm = factor(model, problem.places)
    inverse = inverse_of_lower(lower)
    white = inverse @ (root * (problem.rewards - model.level))
    weights = white @ inverse  # XLA would materialise a transpose
    fixed = lower_squared(inverse) - weights[:, None] * weights[None, :]
    value = 0.5 * white @ white + half_logarithm + _simple_part(vector, model, problem.places)
    return value, fixed, weights


@compiled
def _slope(vector: AnyArray, problem: Problem, fixed: AnyArray, weights: AnyArray) -> Array:
    def linear_part(vector: Array) -> Array:
        model = problem.model(vector)
        residuals = problem.places.roots(model) * (problem.rewards - model.level)
        return jnp.asarray(weights) @ residuals + _simple_part(vector, model, problem.places)

    def whitened_block(model: Model, some: PaddedObservations, others: PaddedObservations) -> Array:
        block = covariance_between(model, some, others)
        return some.roots(model)[:, None] * block * others.roots(model)[None, :]

    vector = jnp.asarray(vector)
    trace = _gradient_of_half_trace(vector, problem, fixed, whitened_block)
    return jnp.asarray(trace + jax.grad(linear_part)(vector))


def _gradient_of_half_trace(
    vector: Array,
    problem: Problem,
    fixed: AnyArray,
    block_of: Callable[[Model, PaddedObservations, PaddedObservations], Array],
) -> Array:
    r"""Compute the gradient of \(\frac12 \sum_{ij} F_{ij} C_{ij}\) for symmetric F and C.

    It is the sum over blocks of the lower triangle. The temporary arrays of a block fit into the
    cache of a processor, unlike those of the whole matrix.

    Arguments:
        fixed: F. block_of: computes a block of C from a model and the places of rows and columns.
    """
    size = len(fixed) if len(fixed) <= WHOLE else math.gcd(len(fixed), BLOCK)
    count = len(fixed) // size
    rows, columns = map(jnp.asarray, np.tril_indices(count))

    def part(vector: Array, row: Array, column: Array) -> Array:
        def among(number: Array) -> PaddedObservations:
            return jax.tree.map(
                lambda whole: jax.lax.dynamic_slice_in_dim(whole, number * size, size),
                problem.places,
            )

        block = block_of(problem.model(vector), among(row), among(column))
        factors = jax.lax.dynamic_slice(fixed, (row * size, column * size), block.shape)
        return jnp.where(row == column, 0.5, 1.0) * (factors * block).sum()

    def add(number: Array, total: Array) -> Array:
        return total + jax.grad(part)(vector, rows[number], columns[number])

    whole: Array = jax.lax.fori_loop(0, len(rows), add, jnp.zeros_like(vector))
    return whole


def _simple_part(vector: AnyArray, model: Model, places: PaddedObservations) -> Array:
    """Return the terms of the cost for the scale of the noise and the priors."""
    noise = 0.5 * jnp.sum(jnp.where(places.used, jnp.log(places.variances(model)), 0.0))
    return noise + _prior(vector, model.gaps, VARIANCE)


def _prior(vector: AnyArray, gaps: AnyArray, variance: Range) -> Array:
    """Return minus the log density of the priors; `variance` is the prior of the variance."""
    priors = ranges(gaps, variance)
    centre = jnp.append(jnp.log(jnp.array([prior.median for prior in priors])), jnp.zeros(2))
    width = jnp.append(jnp.array([prior.deviation for prior in priors]), jnp.array([SHARE, 1.0]))
    return 0.5 * jnp.sum(((vector - centre) / width) ** 2)


@compiled
def _rates_value(vector: AnyArray, problem: Problem) -> tuple[Array, Array, Array]:
    assert problem.rates is not None
    seen = problem.places, problem.rewards, problem.rates
    value, inverse, slopes = evidence(problem.model(vector), *seen)
    return value + _prior(vector, problem.gaps, RATES_VARIANCE), inverse, slopes


@compiled
def _rates_slope(vector: AnyArray, problem: Problem, inverse: AnyArray, slopes: AnyArray) -> Array:
    def linear_part(vector: Array) -> Array:
        level = problem.model(vector).level
        return _prior(vector, problem.gaps, RATES_VARIANCE) - level * slopes.sum()

    vector = jnp.asarray(vector)
    trace = _gradient_of_half_trace(vector, problem, inverse, covariance_between)
    return jnp.asarray(trace + jax.grad(linear_part)(vector))


_cost = compiled(cost)


def most_probable(start: Model, problem: Problem) -> tuple[Model, float]:
    """Find the most probable model of one kind of motion, with a local search.

    The search starts from `start`, or from `start` with another timescale if that is more probable.
    It takes at most 12 evaluations of the likelihood and its gradient, and ends after a step that
    gains less than 0.001 nats. The next call resumes from the result.

    Returns:
        The model, and its log posterior density minus the penalty of a share, up to a constant
        that is equal for all kinds.
    """
    from scipy.optimize import minimize  # imported late, because ask does not need it

    bounds = [(np.log(prior.low), np.log(prior.high)) for prior in ranges(start.gaps)]
    bounds += [(-EVENEST, EVENEST), (-LEVEL, LEVEL)]
    low, high = np.array(bounds).T
    here = np.clip(pack(start, problem.pace), low, high)
    starts = [here, *(_with_timescale(here, timescale) for timescale in STARTS)]
    costs = [float(_cost(jnp.asarray(vector), problem)) for vector in starts]
    best = int(np.argmin(costs))
    result = minimize(
        partial(_evaluate, problem),
        starts[best],
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={
            "maxfun": EVALUATIONS,
            "maxiter": EVALUATIONS,
            "ftol": ENOUGH / max(abs(costs[best]), 1.0),  # relative to the cost
        },
    )
    return problem.model(np.asarray(result.x)), _log_density(float(result.fun), problem)


def as_probable(model: Model, problem: Problem) -> float:
    """Compute the log posterior density of a model, comparable with `most_probable`'s."""
    vector = jnp.asarray(pack(model, problem.pace))
    return _log_density(float(_cost(vector, problem)), problem)


def _log_density(cost: float, problem: Problem) -> float:
    """Return the log density up to a constant, minus the penalty of a second component."""
    used = max(int(np.count_nonzero(problem.places.used)), 1)
    numbers = 0.0 if problem.kind.beside == ALONE else 1.0
    return -cost - numbers * 0.5 * float(np.log(used))


def _with_timescale(vector: Vector, timescale: float) -> Vector:
    changed = vector.copy()
    changed[-3] = np.log(timescale)
    return changed


def _evaluate(problem: Problem, vector: Vector) -> tuple[float, Vector]:
    value, slope = cost_and_slope(jnp.asarray(vector), problem)
    return float(value), np.asarray(slope)


def check_hyperparameters(values: dict[str, Any], motions: Sequence[str], dimension: int) -> None:
    """Check the stored result of learning hyperparameters.

    Arguments:
        values: the stored result.
        motions: names of the motions that it must contain.
        dimension: number of columns.

    Raises:
        DriftpeakError: a number is missing, has another type or is out of range.
    """
    try:
        scales = [values["scale"], values["pace"]]
        levels = [values["centre"]]
        if not set(motions) <= set(values["motions"]):
            raise DriftpeakError(f"motions must include {', '.join(motions)}")
        for motion in values["motions"].values():
            scales += [motion["variance"], motion["noise_variance"], motion["timescale"]]
            scales += motion["lengthscale"]
            levels.append(motion["level"])
            if len(motion["lengthscale"]) != dimension:
                raise DriftpeakError(f"lengthscale must have {dimension} numbers")
            float(motion["log_density"])
            share = stored_number("share", motion.get("share", 0.0))
            if not 0 <= share < 1:
                raise DriftpeakError(f"share must lie in [0, 1); got {share:g}")
            at_least_integer("lessons_ago", motion.get("lessons_ago", 0), 0)
        for number in scales + levels:
            stored_number("a hyperparameter", number)
        if min(scales) <= 0:
            raise DriftpeakError(f"scales must be above 0; got {min(scales):g}")
        at_least_integer("since", values.get("since", 0), 0)
        for time, reward in values.get("doubted", []):
            stored_number("the time of an outlier", time)
            stored_number("an outlier", reward)
        for time, loss in values.get("changes", []):
            stored_number("the time of a change", time)
            if stored_number("the loss of a change", loss) <= 0:
                raise DriftpeakError(f"the loss of a change must be above 0; got {loss:g}")
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DriftpeakError(f"stored hyperparameters must be valid: {shown(error)}") from None
