r"""A drifting Gaussian process over choices and contexts, for the estimate and for forecasts.

The process is the one of `driftpeak.live.DriftingGP` with Markov drift (the model of TV-GP-UCB, B16
section 2): Matern 5/2 over the columns, \(e^{-v/\tau}\) over time. Its hyperparameters are learned
by `driftpeak.live._model.hyperparameters`. Numbers are scaled to [0, 1]; different names have
distance 1. Rewards are centred and divided by their standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from driftpeak._core.numerics.compiled import compiled
from driftpeak._core.types import AnyArray, Matrix, Vector
from driftpeak.live._model import gp
from driftpeak.live._model.averaging import Average, quantiles
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.hyperparameters import (
    Kind,
    Problem,
    default_model,
    kind_of,
    most_probable,
    pace_of,
    pack,
)
from driftpeak.live._model.observations import pad, places
from driftpeak.live._study.event_sourced import computing

SIZES = (32, 64, 128, 256)
"""Numbers of newest steps from which hyperparameters are learned, and array lengths."""
MEMORY = 512
"""Largest number of newest steps that an estimate uses."""
SEARCHES = 3
"""Calls of the local search for hyperparameters, each of 12 evaluations."""
TOGETHER = 8
"""Number of candidates whose forecasts are computed at once."""
POINTS = (64, 512)
"""Numbers of points for which the estimate is compiled."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The observations: columns in [0, 1], whether each is unordered, times and rewards."""

    rows: Matrix  # (n, d)
    unordered: np.ndarray  # (d,)
    times: Vector  # (n,), increasing
    rewards: Vector  # (n,)

    def __len__(self) -> int:
        return len(self.times)

    def part(self, first: int, last: int) -> Steps:
        """Return the steps from index `first` to before `last`."""
        some = slice(max(first, 0), last)
        return Steps(self.rows[some], self.unordered, self.times[some], self.rewards[some])


@dataclass(frozen=True)
class Scale:
    """The standardisation of rewards."""

    centre: float
    width: float

    @staticmethod
    def of(rewards: Vector) -> Scale:
        """Return centre and width, the mean and the standard deviation (1 if that is 0)."""
        width = float(rewards.std())
        return Scale(float(rewards.mean()), width if width > 0 else 1.0)


def learned(steps: Steps, start: Model | None = None) -> tuple[Model, Scale, float]:
    """Return the most probable hyperparameters, given the newest 256 steps.

    Arguments:
        steps: at least one step.
        start: a model from which the search starts.

    Returns:
        The model, the scale of the rewards, and the usual time between steps.
    """
    steps = steps.part(len(steps) - SIZES[-1], len(steps))
    scale, pace = Scale.of(steps.rewards), pace_of(steps.times)
    model = default_model(steps.unordered, pace, Kind()) if start is None else start
    observed = _places(steps, scale, _size(len(steps)))
    problem = Problem(*observed, steps.unordered, pace, kind_of(model))
    for _ in range(SEARCHES if start is None else 1):
        model, _ = most_probable(model, problem)
    return model, scale, pace


def forecasts(steps: Steps, candidates: np.ndarray, boundaries: list[int]) -> tuple[Matrix, Matrix]:
    """Return one-step forecasts of the candidates' mean rewards, from earlier steps only.

    Hyperparameters are learned at the boundaries. Before the first boundary, the forecast is the
    mean of the earlier rewards (0 at the first step), with an infinite deviation.

    Arguments:
        steps: n steps.
        candidates: rows of the K candidates at each step, shape `(n, K, d)`.
        boundaries: indices of steps, increasing, at most 256 apart.

    Returns:
        Means and standard deviations in units of the rewards, both of shape `(n, K)`.
    """
    count, arms = candidates.shape[:2]
    before = np.concatenate([[0.0], np.cumsum(steps.rewards)[:-1] / np.arange(1, count)])
    means = np.repeat(before[:, None], arms, axis=1)
    deviations = np.full((count, arms), np.inf)
    model = None
    with computing():
        for first, last in zip(boundaries, [*boundaries[1:], count], strict=True):
            model, scale, _ = learned(steps.part(0, first), model)
            known = steps.part(first - SIZES[-1], last)
            observed = _places(known, scale, _size(len(known)))
            new = slice(len(known) - (last - first), len(known))
            for arm in range(0, arms, TOGETHER):
                some = candidates[first:last, arm : arm + TOGETHER]
                block = np.zeros((len(observed[1]), TOGETHER, candidates.shape[2]))
                block[new, : some.shape[1]] = some
                both = _one_step(model, *observed, block)
                mean, deviation = (np.asarray(part)[new, : some.shape[1]] for part in both)
                means[first:last, arm : arm + TOGETHER] = scale.centre + scale.width * mean
                deviations[first:last, arm : arm + TOGETHER] = scale.width * deviation
    return means, deviations


class Posterior:
    """The posterior of the mean reward, averaged over the hyperparameters.

    The average is the one of `driftpeak.live._model.averaging`. Hyperparameters are learned from
    the newest 256 steps, and the posterior uses the newest 512.

    Arguments:
        steps: the observations.
    """

    def __init__(self, steps: Steps) -> None:
        with computing():
            self.model, self.scale, self.pace = learned(steps)
            newest = self._problem(steps.part(len(steps) - SIZES[-1], len(steps)))
            self.average = Average(newest, pack(self.model, self.pace))
            self.problem = self._problem(steps.part(len(steps) - MEMORY, len(steps)))

    def at(self, points: Matrix, time: float, level: float = 0.95) -> Matrix:
        """Return mean, lower and upper ends of central intervals, shape `(3, m)`.

        Arguments:
            points: rows, shape `(m, d)`.
            time: time of the estimate.
            level: probability of an interval.
        """
        with computing():
            means, deviations = self.average.moments(self.problem, points, time, POINTS)
            low, high = quantiles(means, deviations, (1 - level) / 2)
        return self.scale.centre + self.scale.width * np.stack([means.mean(axis=0), low, high])

    def _problem(self, steps: Steps) -> Problem:
        observed = _places(steps, self.scale, _size(len(steps)))
        return Problem(*observed, steps.unordered, self.pace, kind_of(self.model))


def _places(steps: Steps, scale: Scale, size: int) -> tuple[gp.PaddedObservations, Vector]:
    rewards = (steps.rewards - scale.centre) / scale.width
    return places(steps.rows, steps.times, size), pad(rewards, size)


def _size(count: int) -> int:
    return next(size for size in (*SIZES, MEMORY) if size >= count)


@compiled
def _one_step(
    model: Model, observed: gp.PaddedObservations, rewards: AnyArray, candidates: AnyArray
) -> tuple[Array, Array]:
    """Compute the posterior of candidates `(c, K, d)` at each place, given the earlier places.

    Row i of a triangular solution depends on the first i places only. One factorisation therefore
    gives the posteriors given the first 0, 1, 2, ... places.
    """
    root, lower, _ = gp.factor(model, observed)
    size, arms, width = candidates.shape
    solve = jax.scipy.linalg.solve_triangular
    white = solve(lower, root * (rewards - model.level), lower=True)
    faded = model.correlation(jnp.asarray(observed.times)[:, None] - observed.times[None, :])
    flat = jnp.asarray(candidates).reshape(size * arms, width)
    across = model.similarity(jnp.asarray(observed.rows), flat) * jnp.asarray(model.variance)
    across = across.reshape(size, size, arms) * faded[:, :, None] * root[:, None, None]
    solved = solve(lower, across.reshape(size, size * arms), lower=True).reshape(size, size, arms)
    earlier = (jnp.arange(size)[:, None] < jnp.arange(size)[None, :])[:, :, None]
    solved = jnp.where(earlier, solved, 0.0)
    mean = jnp.add(model.level, jnp.einsum("s,sia->ia", white, solved))
    variance = model.variance - (solved**2).sum(axis=0)
    return mean, jnp.sqrt(jnp.maximum(variance, 1e-12 * model.variance))
