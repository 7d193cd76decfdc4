r"""The restricted likelihood of a drifting table whose mean and covariance are unknown.

Rows are \(y_t = \mu + f_t + e_t\): \(f_t\) is B16's Markov drift with covariance K, \(e_t\) noise
of variance s. Along an eigenvector of K the rows are one autoregression in noise, of covariance
\(C = \lambda R + s I\). With \(\rho = \sqrt{1-\epsilon}\) the inverse of R is tridiagonal,

\[\epsilon R^{-1} = (1-\rho)^2 I + \rho L + \rho (1-\rho) (e_1 e_1^\top + e_T e_T^\top),\]

where L is the Laplacian of a path, which the cosine transform diagonalises. In the cosine transform
of the rows, \(C^{-1}\) and \(|C|\) are therefore sums over frequencies and a correction of rank
two. They are exact, in O(T), without a loop over time. The mean is integrated out (Patterson and
Thompson 1971), which keeps likelihood ratios near their limit law if the drift is slow (Chen and
Deo 2012).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.fft import dct

from driftpeak._core.types import Vector

DONE, STEPS = 3e-3, 60  # largest remaining rise of twice the log-likelihood; largest iterations
LEAST = 1e-9  # smallest variance, in units of the variance of the table
RIDGE = 0.1  # in observations: numbers with less information move slowly
LONGEST = 2.0  # largest step, in logarithms
NUDGE = 1e-4  # of finite differences, in logarithms
FIRST = 1e-3  # first damping


class TransformedRows(NamedTuple):
    """A table in the cosine transform.

    Attributes:
        leading: along the directions whose covariance is fitted, shape `(T, p)`.
        rest: along all other directions, shape `(T, q)`; they share one variance.
        laplacian: eigenvalues of L, shape `(T,)`.
        ends: the transform of the first row's indicator, even and odd part, shape `(2, T)`.
    """

    leading: Vector
    rest: Vector
    laplacian: Vector
    ends: Vector


class RowModel(NamedTuple):
    """The model of the rows.

    Attributes:
        variances, axes: of the leading covariance, shapes `(p,)` and `(p, p)`.
        tail: variance along each other direction.
        noise: s.
        drift: epsilon, in (0, 1).
    """

    variances: Vector
    axes: Vector
    tail: float
    noise: float
    drift: float


class Fitted(NamedTuple):
    """A model, and minus twice its log-likelihood without constants."""

    model: RowModel
    cost: float


def transform(values: Vector) -> TransformedRows:
    """Return the cosine transform of a table minus its mean, all of it in `rest`."""
    count = len(values)
    modes = np.asarray(dct(values, axis=0, norm="ortho"))
    modes[0] = 0.0
    angles = np.pi * np.arange(count) / count
    first = np.sqrt(2 / count) * np.cos(angles / 2)
    first[0] = np.sqrt(1 / count)
    even = np.arange(count) % 2 == 0
    return TransformedRows(
        modes[:, :0], modes, 2 - 2 * np.cos(angles), np.stack([first * even, first * ~even])
    )


def inverse_spectrum(drift: float, laplacian: Any) -> Any:
    r"""Return \(\epsilon R^{-1}\) without the terms at the ends, by frequency."""
    rho = np.sqrt(1 - drift)
    return (drift / (1 + rho)) ** 2 + rho * laplacian  # 1 - rho without cancellation


class _Columns:
    r"""\(C^{-1}\) and \(|C|\) for columns of the given variances."""

    def __init__(
        self, variances: Vector, noise: float, drift: float, rows: TransformedRows
    ) -> None:
        self.inverse = inverse_spectrum(drift, rows.laplacian)[:, None]
        rho = np.sqrt(1 - drift)
        weight = 2 * rho / (1 + rho)
        self.scaled = drift * variances + noise * self.inverse
        self.reach = drift / self.scaled
        self.ends = rows.ends
        self.damped = 1 + noise * weight * (rows.ends**2 @ self.reach)  # (2, columns)
        self.push = weight * variances / self.damped
        self.level = rows.ends[0, 0] * self.reach[0]
        # 1' C^-1 1 / T
        self.mean = self.inverse[0] / self.scaled[0] + self.push[0] * self.level**2
        self.determinant = (
            np.log(self.scaled).sum(axis=0)
            - np.log(drift)
            + np.log(self.damped).sum(axis=0)
            + np.log(self.mean)
        )

    def costs(self, energy: Vector, pulls: Vector) -> Vector:
        """Return minus twice the log-likelihoods of squared columns, with `pulls` at the ends."""
        squares = (energy * self.inverse / self.scaled).sum(axis=0)
        squares = squares + (self.push * pulls**2).sum(axis=0)
        return squares - (self.push[0] * pulls[0] * self.level) ** 2 / self.mean + self.determinant

    def solved(self, series: Vector) -> Vector:
        """Return the inverse restricted to contrasts, times `series`."""
        pulls = self.ends @ (series * self.reach)
        product = series * self.inverse / self.scaled
        product += self.reach * (self.ends.T @ (self.push * pulls))
        constant = self.reach * (self.ends[0][:, None] * (self.push[0] * self.level))
        product -= constant * (self.push[0] * pulls[0] * self.level / self.mean)
        product[0] = 0.0  # contrasts have no mean
        return product


def correlate(columns: Vector, drift: float, rows: TransformedRows) -> Vector:
    """Return R times columns."""
    inverse, rho = inverse_spectrum(drift, rows.laplacian), np.sqrt(1 - drift)
    weight = 2 * rho / (1 + rho)
    eased = drift * columns / inverse[:, None]
    ends = drift * rows.ends / inverse
    bends = (rows.ends * ends).sum(axis=1)
    moved = weight * (rows.ends @ eased) / (1 + weight * bends)[:, None]
    return np.asarray(eased - ends.T @ moved)


def costs(model: RowModel, rows: TransformedRows) -> Vector:
    """Return minus twice the log-likelihood along each leading axis, and of the rest together."""
    series = rows.leading @ model.axes
    own = _Columns(model.variances, model.noise, model.drift, rows)
    each = own.costs(series**2, rows.ends @ (series * own.reach))
    if not rows.rest.shape[1]:
        return np.append(each, 0.0)
    tail = _Columns(np.array([model.tail]), model.noise, model.drift, rows)
    # one variance for all directions: the energy and the pulls are sufficient
    pulls = (rows.ends * tail.reach[:, 0]) @ rows.rest
    length = np.sqrt((pulls**2).sum(axis=1))[:, None]
    energy = (rows.rest**2).sum(axis=1)[:, None]
    rest = tail.costs(energy, length) + (rows.rest.shape[1] - 1) * tail.determinant
    return np.append(each, rest)


def cost(model: RowModel, rows: TransformedRows) -> float:
    """Return minus twice the log-likelihood without constants."""
    return float(costs(model, rows).sum())


def maximise(start: RowModel, rows: TransformedRows, *, noise: bool, drift: bool) -> Fitted:
    r"""Return the model of largest likelihood, over the covariance and, if wanted, noise and drift.

    The method is Fisher scoring in the metric of the covariance, \(K^{1/2} e^{M} K^{1/2}\), with
    the damping of Levenberg and Marquardt: K stays positive definite. In the eigenbasis of K the
    information about its entries is diagonal, and coupled to the other numbers through the
    eigenvalues alone.
    """
    learn = np.array([rows.rest.shape[1] > 0, noise, drift], float)
    # a direction of negligible variance cannot recover: start with all variances positive
    seen = inverse_spectrum(start.drift, rows.laplacian[1]) / start.drift
    alive = 0.05 * start.noise * seen
    model = start._replace(
        variances=np.maximum(start.variances, alive), tail=max(start.tail, alive)
    )
    value, damping = cost(model, rows), FIRST
    for _ in range(STEPS):
        slopes = _slopes(model, rows, learn)
        while damping < 1e8:
            moved, fall = _moved(model, slopes, damping)
            trial = cost(moved, rows)
            if trial <= value:
                break
            damping = max(damping, FIRST) * 5
        else:
            break
        gain, model, value, damping = value - trial, moved, trial, damping / 5
        if fall < DONE or gain < DONE / 10:
            break
    return Fitted(model, value)


class _Slopes(NamedTuple):
    """First derivatives, and expected second derivatives, of minus twice the log-likelihood."""

    turns: Vector  # by the entries of M
    pairs: Vector  # curvature of these
    gradient: Vector  # by the logarithms of the variances, tail, noise and the drift's log-odds
    curvature: Vector


def _slopes(model: RowModel, rows: TransformedRows, learn: Vector) -> _Slopes:
    size = len(model.variances)

    def difference(change: Any) -> Vector:
        return (costs(change(NUDGE), rows) - costs(change(-NUDGE), rows)) / (2 * NUDGE)

    def scaled(h: float) -> RowModel:
        return model._replace(variances=model.variances * np.exp(h), tail=model.tail * np.exp(h))

    by_variance = difference(scaled)  # the axes are independent of each other
    by_noise = difference(lambda h: model._replace(noise=model.noise * np.exp(h)))
    by_drift = difference(lambda h: model._replace(drift=_shifted(model.drift, h)))
    gradient = np.append(
        by_variance[:size], learn * [by_variance[size], by_noise.sum(), by_drift.sum()]
    )
    # by the covariance: off the diagonal -A' R A, A the solved observations
    columns = _Columns(model.variances, model.noise, model.drift, rows)
    solved = columns.solved(rows.leading @ model.axes)
    deviations = np.sqrt(model.variances)
    turns = -(solved.T @ correlate(solved, model.drift, rows)) * np.outer(deviations, deviations)
    np.fill_diagonal(turns, by_variance[:size])

    def log_spectrum(drift: float) -> Vector:
        return np.asarray(np.log(drift / inverse_spectrum(drift, rows.laplacian[1:])))

    spectrum = np.exp(log_spectrum(model.drift))[:, None]
    ahead, behind = (log_spectrum(_shifted(model.drift, h)) for h in (NUDGE, -NUDGE))
    bent = ((ahead - behind) / (2 * NUDGE))[:, None]
    signal = np.append(model.variances, model.tail) * spectrum
    share = signal / (signal + model.noise)
    pairs = share[:, :size].T @ share[:, :size]
    weights = np.append(np.ones(size), rows.rest.shape[1])
    of_tail = share * np.append(np.zeros(size), 1.0)
    parts = np.stack([of_tail, 1 - share, share * bent]) * learn[:, None, None]
    border = np.einsum("ji,aji->ia", share[:, :size], parts[:, :, :size])
    corner = np.einsum("aji,bji,i->ab", parts, parts, weights)
    curvature = np.block([[np.diag(pairs.diagonal()), border], [border.T, corner]])
    return _Slopes(turns, pairs, gradient, curvature)


def _moved(model: RowModel, slopes: _Slopes, damping: float) -> tuple[RowModel, float]:
    """Return the model after a damped step, and the decrease of a quadratic cost."""
    size = len(model.variances)
    ridge = damping * slopes.curvature.diagonal() + RIDGE
    move = -np.linalg.solve(slopes.curvature + np.diag(ridge), slopes.gradient)
    turn = -slopes.turns / (slopes.pairs * (1 + damping) + RIDGE)
    np.fill_diagonal(turn, 0.0)
    fall = -float(slopes.gradient @ move) - float((slopes.turns * turn).sum())
    np.fill_diagonal(turn, move[:size])
    longest = max(np.abs(turn).max(initial=0.0), np.abs(move).max())
    shrink = min(1.0, LONGEST / longest) if longest > 0 else 1.0
    growth, ways = np.linalg.eigh(turn * shrink)
    root = (model.axes * np.sqrt(model.variances)) @ (ways * np.exp(growth / 2))
    variances, axes = np.linalg.eigh(root @ root.T)
    tail, noise, drift = shrink * move[size:]
    return RowModel(
        np.maximum(variances, LEAST),
        axes,
        max(model.tail * float(np.exp(tail)), LEAST),
        max(model.noise * float(np.exp(noise)), LEAST),
        _shifted(model.drift, float(drift)),
    ), fall


def _shifted(drift: float, by: float) -> float:
    """Return the drift with log-odds increased by `by`, clipped away from 0 and 1."""
    odds = drift / (1 - drift) * np.exp(by)
    return float(min(max(odds / (1 + odds), 1e-7), 1 - 1e-5))
