"""The population prior: what the members of a fleet have in common."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from attrs import asdict, field, frozen
from scipy.optimize import minimize

from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import Matrix, Vector
from driftpeak.fleet import _likelihood as likelihood
from driftpeak.fleet._likelihood import CENTRES, HARMONICS, LEVEL, Observations

ITERATIONS = 40
"""Largest number of iterations of a fit."""
FARTHEST = 8.0
"""Rewards farther from the median, in robust standard deviations, are clipped for the fit."""
FREQUENCIES = 64
"""Number of frequencies from which a period is chosen, and again around the best of them."""
SHORTEST = 6.0
"""Shortest time, in steps, in which a period is looked for."""


@frozen(eq=False)
class Population:
    r"""The prior of a new member: a Gaussian process estimated from all members of a group.

    Attributes:
        mean: expected reward of each arm, shape `(n,)`, in units of the reward.
        factor: a factor of the covariance of the arms, shape `(n, r)`. It includes the
            uncertainty of the mean.
        noise_variance: variance of the noise of one reward, in squared units of the reward.
        drift: Markov drift per unit of time, in [0, 1].
        period: the period of the mean in units of time, or None.
        cosines, sines: coefficients of the period and of half of it, for each arm, shape `(2, n)`.
        weights: probabilities of the policy's motions for a new member; empty if not estimated.
        observations: number of observations of the fit.
        parameters: the parameters of the fit, from which the next one starts.
    """

    mean: Vector = field(repr=False)
    factor: Matrix = field(repr=False)
    noise_variance: float
    drift: float
    period: float | None
    cosines: Matrix = field(repr=False)
    sines: Matrix = field(repr=False)
    weights: Vector = field(repr=False)
    observations: int
    parameters: Vector = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in JSON-compatible data, from which `from_dict` restores them."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, written: dict[str, Any]) -> "Population":
        """Return what `to_dict` wrote."""
        fields: dict[str, Any] = {
            name: np.array(value, float) if isinstance(value, list) else value
            for name, value in written.items()
        }
        return cls(**fields)

    @property
    def covariance(self) -> Matrix:
        """Covariance of the arms of a new member, shape `(n, n)`."""
        return self.factor @ self.factor.T


@double_precision
def fit(
    features: Matrix, seen: Observations, *, start: Any = None, periodic: bool = True
) -> Population | None:
    """Return the population of largest penalised likelihood, or None if it is not found.

    Arguments:
        features: features of the arms, shape `(n, r)`.
        seen: observations of some members.
        start: parameters to start from, `Population.parameters`.
        periodic: whether to look for a period.
    """
    rank = features.shape[1]
    present = np.asarray(seen.present)
    rewards, unit = np.asarray(seen.rewards), _step(seen)
    centre, spread = _robust(rewards[present])
    clipped = np.clip((rewards - centre) / spread, -FARTHEST, FARTHEST)
    size = np.sqrt((features**2).sum(axis=1).max())
    scaled = jnp.asarray(features / size)
    data = Observations(
        jnp.asarray(seen.arms),
        jnp.asarray(seen.times / unit),
        jnp.asarray(clipped),
        jnp.asarray(present),
    )
    count = rank * (rank + 1) // 2
    first = np.concatenate([np.zeros(count), CENTRES])
    if start is not None:
        first[: len(start)] = start  # earlier versions stored no tau
    best = _maximised(first, scaled, data, 0.0, rank)
    frequency = _frequency(best, scaled, data, rank) if periodic else 0.0
    if frequency:
        best = _maximised(best, scaled, data, frequency, rank)
    parameters, found, uncertain = _coefficients(best, scaled, data, frequency, rank)
    common = np.exp(float(parameters.log_common))
    root = np.linalg.cholesky(
        np.asarray(parameters.root @ parameters.root.T)
        + common**2 * np.asarray(uncertain)[:rank, :rank]
    )
    each = np.asarray(found)[:-1].reshape(-1, rank) @ np.asarray(scaled).T * spread
    cosines, sines = np.zeros((2, HARMONICS, len(features)))
    if frequency:
        cosines, sines = each[1 : 1 + HARMONICS], each[1 + HARMONICS :]
    rate = float(np.exp(parameters.log_rate)) / unit
    made = Population(
        mean=centre + LEVEL * float(found[-1]) * spread + common * each[0],
        factor=np.asarray(scaled) @ root * spread,
        noise_variance=float(np.exp(parameters.log_noise)) * spread**2,
        drift=float(-np.expm1(-2 * rate)),
        period=unit / frequency if frequency else None,
        cosines=cosines,
        sines=sines,
        weights=np.zeros(0),
        observations=int(present.sum()),
        parameters=best,
    )
    numbers = (made.mean, made.factor, made.noise_variance, made.cosines, made.sines, best)
    return made if all(np.isfinite(x).all() for x in numbers) else None


def _maximised(first: Any, features: Any, seen: Observations, frequency: Any, rank: int) -> Any:
    def value(vector: Any) -> tuple[float, Any]:
        found, slope = likelihood.objective(vector, features, seen, frequency, rank)
        return float(found), np.asarray(slope)

    count = len(first) - len(CENTRES)
    bounds = [(-8.0, 8.0)] * count + [(-8.0, 4.0), (-14.0, 4.0), (-12.0, 1.0), (-6.0, 4.0)]
    return minimize(
        value, first, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": ITERATIONS}
    ).x


def _frequency(best: Any, features: Any, seen: Observations, rank: int) -> float:
    """Return the frequency for each step that explains the rewards best, or 0.

    It must raise the likelihood by more than the criterion of Schwarz (1978) requires for it. The
    mean has no further harmonics here: at regular times the second harmonic of another frequency
    can be the same wave.
    """
    times = np.asarray(seen.times)[np.asarray(seen.present)]
    span = times.max() - times.min()
    if span < SHORTEST:
        return 0.0
    apart = (0.5 - 2 / span) / (FREQUENCIES - 1)
    each = np.linspace(2 / span, 0.5, FREQUENCIES)
    without = float(_likelihoods(best, features, seen, np.zeros(FREQUENCIES), rank)[0])
    values = _likelihoods(best, features, seen, each, rank)
    near = np.linspace(-apart, apart, FREQUENCIES) + each[np.argmax(values)]
    near = np.clip(near, 1 / span, 0.5)
    finer = _likelihoods(best, features, seen, near, rank)
    gain = float(np.max(finer)) - without
    return float(near[np.argmax(finer)]) if gain > np.log(len(times) * FREQUENCIES) else 0.0


@partial(jax.jit, static_argnames="rank")
def _likelihoods(best: Any, features: Any, seen: Observations, each: Any, rank: int) -> Any:
    parameters = likelihood.unpacked(best, rank)

    def one(frequency: Any) -> Any:
        total = likelihood.sums(parameters, features, seen, frequency, 1)
        return likelihood.log_likelihood(total)

    return jax.lax.map(one, each)


@partial(jax.jit, static_argnames="rank")
def _coefficients(best: Any, features: Any, seen: Observations, frequency: Any, rank: int) -> Any:
    parameters = likelihood.unpacked(best, rank)
    total = likelihood.sums(parameters, features, seen, frequency)
    return parameters, *likelihood.coefficients(total)


def _robust(rewards: Vector) -> tuple[float, float]:
    """Return median and robust standard deviation."""
    centre = float(np.median(rewards))
    low, high = np.quantile(rewards, [0.1587, 0.8413])
    spread = float(high - low) / 2
    if spread <= 0:
        spread = float(np.std(rewards)) or 1.0
    return centre, spread


def _step(seen: Observations) -> float:
    """Return the median difference of the times of a member's consecutive observations."""
    present = np.asarray(seen.present)
    ordered = np.sort(np.where(present, seen.times, np.inf), axis=1)
    with np.errstate(invalid="ignore"):
        gaps = np.diff(ordered, axis=1)
    gaps = gaps[np.isfinite(gaps) & (gaps > 0)]
    return float(np.median(gaps)) if len(gaps) else 1.0
