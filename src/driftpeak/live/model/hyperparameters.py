r"""Learning while running: the most probable lengthscales, amplitude, noise and way of moving.

The maximum of the log marginal likelihood plus the log density of these priors, normal in the
logarithm (median; deviation of the natural logarithm), for standardised rewards on the unit cube:

| number | median | deviation | range |
| --- | --- | --- | --- |
| lengthscale of each of d columns | \(0.12 \sqrt{d}\) | 0.7 | 0.02 to 20 |
| where values have no order | \(0.3 \sqrt{d}\) | 0.7 | 0.02 to 20 |
| variance of the function | 1 | 0.5 | 0.05 to 20 |
| variance of the noise | 0.01 | 1.5 | 0.0001 to 2 |
| timescale, in paces | 100 | 1.5 | 10 to 100,000 |

and the level, the mean where and when nothing is known, normal around 0 with deviation 1. It is
learned because most samples are taken near the peak: their median is not what to expect elsewhere.

The lengthscales begin short: a process that is taken for too smooth is sure of what it has never
seen, and stays where it is, which no reward there can tell it. Values without an order, as days of
the week or machines, are all as far apart as the ends of a range, and could then not tell of one
another.

The share of a second part, slower or coming round, has a normal prior in its log-odds, of median
1/2 and deviation 1.5.

Where rewards are 0 and 1, or counts, all of this is said of the latent function, log-odds or
logarithm of the rate, counted from that of all rewards together; its variance has the deviation 1
(no scale of the rewards is divided out), there is no noise to learn, and the marginal likelihood is
Laplace's approximation (`driftpeak.live.model.laplace`).

The kind of motion is a priori Markov drift with probability 0.9, momentum with 0.05, two speeds
with 0.03, each period with 0.01: with equal odds momentum was believed too readily in simulations.
Given the rewards, the odds are multiplied by the ratio of the posterior densities at the most
probable numbers of each kind, which have the same priors; for the share, one number more, the
density is divided by the root of the number of rewards (Schwarz 1978). Two parts are considered
from 24 rewards on, a period once it has been seen twice, with six paces or more in each. Of more
than 64 rewards, a kind that is 5 nats or more below the most probable one learns in every fourth
lesson only.

A *pace* is the usual time from one observation to the next. The timescale cannot fall below ten of
them: observations ten paces old always keep a correlation of 0.37 (with momentum 0.30) with the
present, so that the memory cannot collapse to the newest two points, which noise can make look
best.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._core.errors import DriftpeakError, at_least_integer, shown, stored_number
from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import AnyArray, Scalar, Vector
from driftpeak.live.model.gp import (
    ALONE,
    MARKOV,
    Model,
    Places,
    covariance_between,
    factor,
    lower_squared,
    whitened,
)
from driftpeak.live.model.laplace import evidence
from driftpeak.live.model.likelihoods import Rates

EVALUATIONS = 12
ENOUGH = 0.001  # nats: a step that gains less is the last
SIZES = (64, 192)  # numbers of places to learn from, beside those of a memory: the work is cubic
STARTS = (12.0, 40.0, 150.0, 600.0)  # timescales, in paces, to start from
NEIGHBOURS = 10  # observations over which a pace is measured


@dataclass(frozen=True)
class Range:
    """A prior, normal in the logarithm, and bounds."""

    median: Scalar
    deviation: float
    low: float
    high: float


ORDERED, UNORDERED = 0.12, 0.3  # medians of lengthscales, in roots of the number of columns
VARIANCE = Range(1.0, 0.5, 0.05, 20.0)
RATES_VARIANCE = Range(2.0, 0.7, 0.05, 20.0)
NOISE = Range(0.01, 1.5, 1e-4, 2.0)
TIMESCALE = Range(100.0, 1.5, 10.0, 1e5)
LEVEL = 10.0  # the largest, in standard units
SHARE = 1.5  # deviation of its log-odds
EVENEST = 4.0  # the farthest log-odds from 0


class Kind(NamedTuple):
    """A way of moving, but for its numbers; as of `driftpeak.live.model.gp.Model`."""

    motion: Scalar = MARKOV
    beside: Scalar = ALONE
    period: Scalar = 1.0


def kind_of(model: Model) -> Kind:
    """That of a model."""
    return Kind(model.motion, model.beside, model.period)


def ranges(categorical: AnyArray, variance: Range = VARIANCE) -> list[Range]:
    """The priors of the d lengthscales, variance, noise variance and timescale.

    Arguments:
        categorical: which columns have no order, shape `(d,)`.
    """
    root = len(categorical) ** 0.5
    library = jnp if isinstance(categorical, jax.Array) else np
    medians = library.where(categorical, UNORDERED * root, ORDERED * root)
    return [Range(median, 0.7, 0.02, 20.0) for median in medians] + [variance, NOISE, TIMESCALE]


def pace_of(times: Vector) -> float:
    """The usual time from one observation to the next, in the unit of `times`, increasing.

    The median, over the observations, of the time to the tenth next, divided by ten: neither
    several observations at one time nor a long silence make much of a difference.
    """
    neighbours = min(NEIGHBOURS, len(times) - 1)
    if neighbours < 1:
        return 1.0
    pace = float(np.median(times[neighbours:] - times[:-neighbours])) / neighbours
    return pace or float(times[-1] - times[0]) / (len(times) - 1) or 1.0


def default_model(categorical: np.ndarray, pace: float, kind: Kind) -> Model:
    """The medians of the priors."""
    medians = np.array([one.median for one in ranges(categorical)])
    return unpack(np.append(np.log(medians), [0.0, 0.0]), categorical, pace, kind)


def unpack(vector: AnyArray, categorical: AnyArray, pace: Scalar, kind: Kind) -> Model:
    """The model of a vector: logarithms, log-odds of the share, and last the level."""
    library = jnp if isinstance(vector, jax.Array) else np
    *lengthscales, variance, noise, timescale = library.exp(vector[:-2])
    share = library.where(kind.beside == ALONE, 0.0, 1 / (1 + library.exp(-vector[-2])))
    return Model(
        vector[-1],
        library.stack(lengthscales),
        variance,
        noise,
        timescale * pace,
        categorical,
        kind.motion,
        kind.beside,
        share,
        kind.period,
    )


def pack(model: Model, pace: float) -> Vector:
    """The vector of a model."""
    rest = [model.variance, model.noise_variance, model.timescale / pace]
    logarithms = np.log(np.concatenate([np.asarray(model.lengthscale, float), rest]))
    odds = 0.0 if model.beside == ALONE else np.log(model.share) - np.log1p(-model.share)
    return np.append(logarithms, [odds, model.level])


class Problem(NamedTuple):
    """What hyperparameters are to explain, and what of the model they leave as it is."""

    places: Places
    rewards: AnyArray  # (c,)
    categorical: AnyArray  # (d,)
    pace: Scalar
    kind: Kind
    rates: Rates | None = None  # where rewards are 0 and 1, or counts

    def model(self, vector: AnyArray) -> Model:
        """The model of a vector."""
        return unpack(vector, self.categorical, self.pace, self.kind)


def cost(vector: AnyArray, problem: Problem) -> Array:
    """Minus the log posterior density, up to a constant."""
    model = problem.model(vector)
    if problem.rates is not None:
        seen = problem.places, problem.rewards, problem.rates
        return evidence(model, *seen)[0] + _prior(vector, problem.categorical, RATES_VARIANCE)
    root, lower, half_logarithm = factor(model, problem.places)
    residuals = root * (problem.rewards - model.level)
    white = jax.scipy.linalg.solve_triangular(lower, residuals, lower=True)
    return 0.5 * white @ white + half_logarithm + _simple_part(vector, model, problem.places)


def cost_and_slope(vector: AnyArray, problem: Problem) -> tuple[Array, Array]:
    r"""The cost and its gradient.

    With \(C = I + K/\lambda\), residuals r and \(\beta = C^{-1} r\), that of
    \(\frac12 r^\top C^{-1} r + \frac12 \log|C|\) is that of
    \(\frac12 \mathrm{tr}((C^{-1} - \beta\beta^\top)\, C) + \beta^\top r\) with the first factors
    held fixed: less work than differentiating the factorisation. For 0/1 rewards and counts that of
    Laplace's evidence, likewise (`driftpeak.live.model.laplace.evidence`).
    """
    if problem.rates is not None:
        value, inverse, slopes = _rates_value(vector, problem)
        return value, _rates_slope(vector, problem, inverse, slopes)
    value, fixed, weights = _value(vector, problem)
    return value, _slope(vector, problem, fixed, weights)


# Two programs: one for both takes half as long again.
@compiled
def _value(vector: AnyArray, problem: Problem) -> tuple[Array, Array, Array]:
    model = problem.model(vector)
    root, lower, half_logarithm = factor(model, problem.places)
    inverse = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(root)), lower=True)
    white = inverse @ (root * (problem.rewards - model.level))
    weights = white @ inverse  # no transpose, which XLA would write out
    fixed = lower_squared(inverse) - weights[:, None] * weights[None, :]
    value = 0.5 * white @ white + half_logarithm + _simple_part(vector, model, problem.places)
    return value, fixed, weights


@compiled
@jax.grad
def _slope(vector: AnyArray, problem: Problem, fixed: AnyArray, weights: AnyArray) -> Array:
    model = problem.model(vector)
    root, whole = whitened(model, problem.places)
    residuals = root * (problem.rewards - model.level)
    fit = 0.5 * (fixed * whole).sum() + weights @ residuals
    return fit + _simple_part(vector, model, problem.places)


def _simple_part(vector: AnyArray, model: Model, places: Places) -> Array:
    """Of the cost: the scale of the noise, and the priors."""
    noise = 0.5 * jnp.sum(jnp.where(places.used, jnp.log(places.variances(model)), 0.0))
    return noise + _prior(vector, model.categorical, VARIANCE)


def _prior(vector: AnyArray, categorical: AnyArray, variance: Range) -> Array:
    """Minus the logarithm of the density of the priors, that of the variance being given."""
    priors = ranges(categorical, variance)
    centre = jnp.append(jnp.log(jnp.array([one.median for one in priors])), jnp.zeros(2))
    width = jnp.append(jnp.array([one.deviation for one in priors]), jnp.array([SHARE, 1.0]))
    return 0.5 * jnp.sum(((vector - centre) / width) ** 2)


@compiled
def _rates_value(vector: AnyArray, problem: Problem) -> tuple[Array, Array, Array]:
    assert problem.rates is not None
    seen = problem.places, problem.rewards, problem.rates
    value, inverse, slopes = evidence(problem.model(vector), *seen)
    return value + _prior(vector, problem.categorical, RATES_VARIANCE), inverse, slopes


@compiled
@jax.grad
def _rates_slope(vector: AnyArray, problem: Problem, inverse: AnyArray, slopes: AnyArray) -> Array:
    model = problem.model(vector)
    covariance = covariance_between(model, problem.places, problem.places)
    fit = 0.5 * (inverse * covariance).sum() - model.level * slopes.sum()
    return fit + _prior(vector, problem.categorical, RATES_VARIANCE)


_cost = compiled(cost)


def most_probable(
    start: Model, places: Places, rewards: Vector, pace: float, rates: Rates | None = None
) -> tuple[Model, float]:
    """The most probable model near `start`, or near one of other timescales that is better.

    Of the same kind of motion; with its log posterior density, up to a constant that is the same
    for all kinds, less what a share costs. At most 12 evaluations of the likelihood and its
    gradient, and none after a step that gains less than 0.001 nats: the next call goes on from
    here.
    """
    from scipy.optimize import minimize  # here: an ask learns nothing, and need not wait for it

    problem = Problem(places, rewards, start.categorical, pace, kind_of(start), rates)
    bounds = [(np.log(one.low), np.log(one.high)) for one in ranges(start.categorical)]
    bounds += [(-EVENEST, EVENEST), (-LEVEL, LEVEL)]
    low, high = np.array(bounds).T
    here = np.clip(pack(start, pace), low, high)
    starts = [here, *(_with_timescale(here, timescale) for timescale in STARTS)]
    costs = [float(_cost(jnp.asarray(one), problem)) for one in starts]
    best = int(np.argmin(costs))
    found = minimize(
        partial(_evaluate, problem),
        starts[best],
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={
            "maxfun": EVALUATIONS,
            "maxiter": EVALUATIONS,
            "ftol": ENOUGH / max(abs(costs[best]), 1.0),  # of the cost's own size
        },
    )
    return problem.model(np.asarray(found.x)), _log_density(float(found.fun), problem)


def as_probable(
    model: Model, places: Places, rewards: Vector, pace: float, rates: Rates | None = None
) -> float:
    """The log posterior density of a model as it is, as `most_probable` tells it of its own."""
    problem = Problem(places, rewards, model.categorical, pace, kind_of(model), rates)
    return _log_density(float(_cost(jnp.asarray(pack(model, pace)), problem)), problem)


def _log_density(cost: float, problem: Problem) -> float:
    """Up to a constant, less what the number more of a second part costs."""
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


def check_lesson(values: dict[str, Any], motions: Sequence[str], dimension: int) -> None:
    """Refuse what no lesson can have been.

    Arguments:
        motions: that it must know.

    Raises:
        DriftpeakError: a number that is missing, of another kind, or cannot be one of a process.
    """
    try:
        scales = [values["scale"], values["pace"]]
        levels = [values["centre"]]
        if not set(motions) <= set(values["motions"]):
            raise DriftpeakError(f"a lesson knows {', '.join(motions)}")
        for found in values["motions"].values():
            scales += [found["variance"], found["noise_variance"], found["timescale"]]
            scales += found["lengthscale"]
            levels.append(found["level"])
            if len(found["lengthscale"]) != dimension:
                raise DriftpeakError(f"{dimension} columns have as many lengthscales")
            float(found["log_density"])
            share = stored_number("a share", found.get("share", 0.0))
            if not 0 <= share < 1:
                raise DriftpeakError("a share is below 1")
            at_least_integer("lessons ago", found.get("lessons_ago", 0), 0)
        for one in scales + levels:
            stored_number("a number learned", one)
        if min(scales) <= 0:
            raise DriftpeakError("scales are above 0")
        at_least_integer("since", values.get("since", 0), 0)
        for time, reward in values.get("doubted", []):
            stored_number("the time of a doubted reward", time)
            stored_number("a doubted reward", reward)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DriftpeakError(f"this is nothing that could be learned: {shown(error)}") from None
