r"""Posteriors given rows in which every point was observed, as in a recorded table.

With features that are scaled eigenvectors of the covariance, \(\Phi = U \Lambda^{1/2}\), a complete
row y with noise variance \(\sigma^2\) is one observation of each weight:

\[z_j = \phi_j^\top y / \lambda_j = w_j + e_j, \qquad \operatorname{Var} e_j = \sigma^2/\lambda_j.\]

The weights are then independent, so a Kalman filter of d components for each of them costs
\(O(r d^2)\) per row, in place of n updates of cost \(O(r^2 d^2)\).
"""

from typing import Any, NamedTuple

import numpy as np

from driftpeak._core.types import AnyArray
from driftpeak.gp.dynamics import Motion


class Start(NamedTuple):
    """Moments of the weights of one kind of motion: k members, d components, r features."""

    mean: AnyArray  # (k, d, r)
    covariance: AnyArray  # (k, d, d, r); the weights are independent


def after_rows(motion: Motion, matrix: Any, rows: Any, noise: float) -> Start:
    """Return the moments of the weights after rows that are one unit of time apart.

    Arguments:
        motion: a kind of motion.
        matrix: the features, shape `(n, r)`; the columns must be orthogonal.
        rows: rewards minus the prior mean, shape `(T, n)`.
        noise: variance of the noise.
    """
    squares = (matrix**2).sum(axis=0)
    seen = rows @ matrix / squares
    a, sees = np.asarray(motion.transition(1.0)), np.asarray(motion.observed)
    k, d = sees.shape
    fresh = (np.eye(d) - a @ a.swapaxes(1, 2))[:, None]
    forth, back, sees = a[:, None], a.swapaxes(1, 2)[:, None], sees[:, None, :, None]
    mean = np.zeros((k, len(squares), d, 1))
    covariance = np.broadcast_to(np.eye(d), (k, len(squares), d, d))
    noises = (noise / squares)[None, :, None, None]
    for row in seen:
        mean, covariance = forth @ mean, forth @ covariance @ back + fresh
        toward = covariance @ sees
        total = (toward * sees).sum(axis=2, keepdims=True) + noises
        surprise = row[None, :, None, None] - (mean * sees).sum(axis=2, keepdims=True)
        mean = mean + toward * (surprise / total)
        covariance = covariance - toward @ (toward / total).swapaxes(2, 3)
    return Start(np.moveaxis(mean[..., 0], 1, 2), np.moveaxis(covariance, 1, 3))
