r"""Posteriors under several models of motion, and the interaction between them.

Every member is a Kalman filter on the r weights of the features in each of the d components of its
motion; all members use every observation. In units of the amplitude, with \(A, Q, h\) of the motion
(`driftpeak.gp.dynamics`) and an observation of features \(\phi\) and noise \(\lambda\),

\[m \leftarrow A m, \quad P \leftarrow A P A^\top + Q, \quad g = P h \phi, \quad
s = \phi^\top h^\top g + \lambda, \quad m \leftarrow m + g\,(y - \phi^\top h^\top m)/s, \quad
P \leftarrow P - g g^\top / s.\]

A mean is linear in the observations. A member therefore keeps its *responses* to several series of
observations, which share one covariance: to the rewards, and to a constant 1, from which an unknown
level of the rewards is computed (`driftpeak.inference.imm.level`).

Members *interact* as in an interacting-multiple-model filter (Blom and Bar-Shalom 1988): the
function may change its motion at any step, and the new member then starts from the posterior of the
others. Each member therefore becomes the moment-matched mixture of itself and of the members that
may have switched into it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from driftpeak._core.numerics.precision import require_double_precision
from driftpeak._core.types import Scalar
from driftpeak.gp.dynamics import Motion, Parts, after
from driftpeak.gp.feature_matrix import FeatureMatrix
from driftpeak.gp.features import Features
from driftpeak.gp.priors import Prior
from driftpeak.inference.imm.complete_rows import Start

Blocks = tuple[tuple[Any, ...], ...]
"""The upper triangle of a symmetric d x d matrix whose entries are arrays: rows from the diagonal.

The entries are separate arrays, not stacked, so compiled programs read each of them once."""


class Moments(NamedTuple):
    """Moments of k members of order d, in the features and at the n points.

    There is one entry for each component of the motion. Means are responses to c series of
    observations, in their units; covariances are in units of the prior's.
    """

    mean: tuple[Float[Array, "k c r"], ...]
    covariance: Blocks  # of (k, r, r)
    values: tuple[Float[Array, "k c n"], ...]
    variances: Blocks  # of (k, n)


IMMState = tuple[Moments, ...]
"""The moments of each kind of motion, immediately after the last observation."""

TINY = 1e-300


class Forecast(NamedTuple):
    """Each member's forecast of the function, without noise.

    Means, one for each series, are relative to the prior mean; variances are in units of the
    prior's.
    """

    mean: Float[Array, "k c *n"]
    variance: Float[Array, "k *n"]


class InteractingMultipleModel(eqx.Module):
    """Members that share one set of features: all motions of `motions`, in order.

    Arguments:
        prior: domain, kernel and mean.
        motions: the models of motion.
        features: a factor of the prior's covariance. The variance that it misses counts as noise of
            the point.
        series: c, the number of series of observations with responses.
    """

    loadings: FeatureMatrix
    variance: Any  # (n,): the prior's
    missed: Any  # (n,)
    motions: tuple[Motion, ...]
    series: int = eqx.field(static=True)

    def __init__(
        self, prior: Prior, motions: tuple[Motion, ...], features: Features, *, series: int = 1
    ) -> None:
        self.loadings = features.loadings_of_several
        self.variance = prior.variance
        self.missed = (prior.variance - features.explained).clip(min=0.0)
        self.motions = motions
        self.series = series

    @property
    def points(self) -> int:
        """The number of points of the domain, n."""
        return len(self.variance)

    @property
    def count(self) -> int:
        """The number of members, k."""
        return sum(motion.count for motion in self.motions)

    @property
    def drift(self) -> Float[Array, " k"]:
        """Drift of the Markov drift that forgets as fast as each member."""
        return jnp.concatenate([motion.drift for motion in self.motions])

    def init(self) -> IMMState:
        require_double_precision()
        n, r = self.loadings.shape

        def start(motion: Motion) -> Moments:
            k, d = motion.count, motion.order
            ones = jnp.broadcast_to(jnp.eye(r), (k, r, r))
            prior = jnp.broadcast_to(jnp.asarray(self.variance), (k, n))
            return Moments(
                (jnp.zeros((k, self.series, r)),) * d,
                _triangle(d, lambda i, j: ones if i == j else jnp.zeros((k, r, r))),
                (jnp.zeros((k, self.series, n)),) * d,
                _triangle(d, lambda i, j: prior if i == j else jnp.zeros((k, n))),
            )

        return tuple(start(motion) for motion in self.motions)

    def resume(self, starts: Sequence[Start]) -> IMMState:
        """Return the state after complete rows (`complete_rows`), with one start for each motion.

        The rows are observations of the first series. The responses of other series are 0.
        """
        r = self.loadings.shape[1]

        def moments(start: Start) -> Moments:
            k, d, _ = start.mean.shape
            others = jnp.zeros((k, self.series - 1, r))
            return Moments(
                tuple(
                    jnp.concatenate([jnp.asarray(start.mean)[:, i, None], others], axis=1)
                    for i in range(d)
                ),
                _triangle(
                    d,
                    lambda i, j: jnp.asarray(start.covariance)[:, i, j, :, None] * jnp.eye(r)[None],
                ),
                (),
                (),
            )

        return self.refresh(tuple(map(moments, starts)))

    def posterior(self, state: IMMState, elapsed: Scalar) -> Forecast:
        """Return the forecast of all n points, `elapsed` after the last observation."""
        return self._forecast(state, slice(None), elapsed)

    def forecast(self, state: IMMState, arm: Scalar, elapsed: Scalar) -> Forecast:
        """Return the forecast of one point."""
        single = self._forecast(state, jnp.asarray(arm)[None], elapsed)
        return Forecast(single.mean[..., 0], single.variance[:, 0])

    def _forecast(self, state: IMMState, arms: Any, elapsed: Scalar) -> Forecast:
        prior = jnp.asarray(self.variance)[arms][None]
        means, variances = [], []
        for motion, now in zip(self.motions, state, strict=True):
            sees = after(motion.observed, motion.transition(elapsed))
            here = _triangle(motion.order, lambda i, j, now=now: now.variances[i][j - i][:, arms])
            means.append(_weighed(sees, tuple(values[..., arms] for values in now.values)))
            fresh = (1 - (sees**2).sum(axis=-1))[:, None] * prior
            variances.append(_bilinear(sees, sees, here) + fresh)
        return Forecast(jnp.concatenate(means), jnp.concatenate(variances))

    def persistence(
        self, state: IMMState, elapsed: Scalar, horizons: Sequence[float]
    ) -> Float[Array, "k n"]:
        """Return the mean absolute covariance of each point with itself at the `horizons` ahead.

        The state is taken `elapsed` after the last observation; the result is in units of the
        prior's covariance.
        """
        prior, covariances = jnp.asarray(self.variance)[None], []
        for motion, now in zip(self.motions, state, strict=True):
            a, places = motion.transition(elapsed), range(motion.order)
            sees = after(motion.observed, a)
            seen = tuple(
                _weighed(sees, tuple(_entry(now.variances, i, j) for j in places)) for i in places
            )
            total = jnp.zeros((motion.count, self.points))
            for horizon in horizons:
                ahead = after(motion.observed, motion.transition(horizon))
                later = after(ahead, a)
                fresh = (ahead * motion.observed - later * sees).sum(axis=-1)
                total = total + jnp.abs(_weighed(later, seen) + fresh[:, None] * prior)
            covariances.append(total / len(horizons))
        return jnp.concatenate(covariances)

    def update(
        self,
        state: IMMState,
        arm: Scalar,
        observed: Float[Array, " c"],
        noise: Scalar,
        elapsed: Scalar,
    ) -> IMMState:
        """Update with one observation of every series.

        Arguments:
            arm: the point.
            observed: the value of each series, such as the reward minus the prior mean.
            noise: variance of the noise, in units of the prior's covariance.
            elapsed: time since the last observation.
        """
        new = self.loadings.rows(arm)
        identity = jnp.eye(len(new))
        noise = noise + jnp.asarray(self.missed)[arm]
        prior = jnp.asarray(self.variance)

        def learn(motion: Motion, old: Moments) -> Moments:
            a, d, parts = motion.transition(elapsed), motion.order, motion.parts
            sees = after(motion.observed, a)
            q = jnp.eye(d)[None] - a @ jnp.swapaxes(a, -1, -2)
            # covariance of each component with the function at the point, before and after
            toward = [
                _weighed(sees, tuple(_entry(old.covariance, i, j) @ new for j in range(d)))
                for i in range(d)
            ]
            fresh = motion.observed - (a * sees[:, None, :]).sum(axis=-1)
            gain = [_applied(parts, a, toward, i) + fresh[:, i, None] * new[None] for i in range(d)]
            scale = (_weighed(motion.observed, tuple(gain)) @ new + noise)[:, None]
            expected = _weighed(sees, old.mean) @ new
            step = (jnp.asarray(observed)[None] - expected) / scale
            cross = [self.loadings.values(one_gain) for one_gain in gain]

            def moments(x: Blocks, fresh: Any, gain: Any, apart: Any) -> Blocks:
                """Return A X A^T + Q minus the part explained by the observation."""
                return _triangle(
                    d,
                    lambda i, j: (
                        _sandwich(parts, a, x, i, j)
                        + (_times(q[:, i, j], fresh[None]) if j in parts[i] else 0.0)
                        - apart(gain[i], gain[j] / scale)
                    ),
                )

            return Moments(
                tuple(
                    _applied(parts, a, old.mean, i) + gain[i][:, None] * step[..., None]
                    for i in range(d)
                ),
                moments(old.covariance, identity, gain, lambda g, k: g[:, :, None] * k[:, None, :]),
                tuple(
                    _applied(parts, a, old.values, i) + cross[i][:, None] * step[..., None]
                    for i in range(d)
                ),
                moments(old.variances, prior, cross, lambda g, k: g * k),
            )

        return tuple(learn(*kind) for kind in zip(self.motions, state, strict=True))

    def mix(
        self,
        state: IMMState,
        weights: Float[Array, " k"],
        switching: Scalar,
        amplitude: Scalar,
        shares: Float[Array, " c"],
    ) -> tuple[IMMState, Float[Array, " k"]]:
        """Replace each member by the mixture of itself and of members that may have switched.

        A switch leads to each of the other members with equal probability. Components other than
        the function, such as a derivative, then restart from their prior.

        Arguments:
            weights: probabilities of the members, up to a factor.
            switching: probability that the motion has changed.
            amplitude: a covariance of one, in squared units of the means.
            shares: weights of the series in the combined mean; the distance between members' means
                is measured in this combination.

        Returns:
            The state, and for each member the probability that the function has switched to it at
            this step, given that it moves that way now.
        """
        k = len(weights)
        if k == 1:
            return state, jnp.zeros(1)
        share = jnp.asarray(shares) / jnp.sqrt(amplitude)
        each = [_function(*kind) for kind in zip(self.motions, state, strict=True)]
        function = jax.tree.map(lambda *parts: jnp.concatenate(parts), *each)
        other = ~jnp.eye(k, dtype=bool)
        change = jnp.asarray(switching)
        joint = jnp.where(other, change / (k - 1), 1 - change) * weights[:, None]
        source = (joint / joint.sum(axis=0)[None]).T  # [j, i]: member j was member i
        kept, arriving = source.diagonal(), jnp.where(other, source, 0.0)
        arriving = arriving / jnp.maximum(arriving.sum(axis=1), TINY)[:, None]

        mean, values = (
            jnp.tensordot(arriving, function.mean, 1),
            jnp.tensordot(arriving, function.values, 1),
        )
        # centred before squaring: large means would lose the digits of the covariance
        away = _combined(share, function.mean)[None] - _combined(share, mean)[:, None]
        spread = jnp.swapaxes(away * arriving[:, :, None], 1, 2) @ away
        far = _combined(share, function.values)[None] - _combined(share, values)[:, None]
        covariance = (arriving @ function.covariance.reshape(k, -1)).reshape(
            function.covariance.shape
        )
        variances = arriving @ function.variances + (arriving[:, :, None] * far**2).sum(axis=1)
        from_others = _Function(mean, covariance + spread, values, variances)
        mixed, begin = [], 0
        for motion, now in zip(self.motions, state, strict=True):
            mine = slice(begin, begin + motion.count)
            own = jax.tree.map(lambda x, mine=mine: x[mine], from_others)
            mixed.append(_switched(motion, now, own, kept[mine], share, self.variance))
            begin = mine.stop
        return tuple(mixed), 1 - kept

    def refresh(self, state: IMMState) -> IMMState:
        """Recompute the values of the points from the weights, which removes rounding errors."""
        n, r = self.loadings.shape

        def recomputed(now: Moments, i: int, j: int) -> Any:
            prior = jnp.asarray(self.variance) if i == j else jnp.zeros(n)
            explained = (jnp.eye(r) if i == j else jnp.zeros((r, r)))[None] - now.covariance[i][
                j - i
            ]
            return prior[None] - jax.vmap(self.loadings.quadratic_forms)(explained)

        return tuple(
            now._replace(
                values=tuple(map(self.loadings.values, now.mean)),
                variances=_triangle(len(now.mean), lambda i, j, now=now: recomputed(now, i, j)),
            )
            for now in state
        )


class _Function(NamedTuple):
    """Moments of the function alone."""

    mean: Float[Array, "k c r"]
    covariance: Float[Array, "k r r"]
    values: Float[Array, "k c n"]
    variances: Float[Array, "k n"]


def _function(motion: Motion, now: Moments) -> _Function:
    """Return the moments of the function from those of the components."""
    sees, places = motion.observed, range(motion.order)
    rows = [_weighed(sees, tuple(_entry(now.covariance, i, j) for j in places)) for i in places]
    return _Function(
        _weighed(sees, now.mean),
        _weighed(sees, tuple(rows)),
        _weighed(sees, now.values),
        _bilinear(sees, sees, now.variances),
    )


def _switched(
    motion: Motion, now: Moments, arriving: _Function, kept: Any, share: Any, prior: Any
) -> Moments:
    r"""Mix members that stay, with probability `kept`, with moments that arrive from other members.

    With probability \(\kappa\) the components keep their means m and covariances P. Otherwise,
    given the function f that came, they have mean \(h f\) and covariance
    \(h h^\top C + (I - h h^\top)\). The mixture has mean \(\kappa m + (1 - \kappa) h f\) and, with
    \(g = m - h f\), covariance
    \(\kappa P + \kappa (1 - \kappa) g g^\top + (1 - \kappa)(h h^\top C + I - h h^\top)\).
    """
    sees, d, leaves = motion.observed, motion.order, 1 - kept

    def centre(x: tuple[Any, ...], f: Any) -> tuple[Any, ...]:
        return tuple(_times(kept, x[i]) + _times(leaves * sees[:, i], f) for i in range(d))

    def apart(x: tuple[Any, ...], f: Any) -> list[Any]:
        f = _combined(share, f)
        return [_combined(share, x[i]) - _times(sees[:, i], f) for i in range(d)]

    def moments(x: Blocks, f: Any, fresh: Any, gaps: Any) -> Blocks:
        def entry(i: int, j: int) -> Any:
            both = sees[:, i] * sees[:, j]
            rest = leaves * (both * -1.0 + float(i == j))
            stayed = _times(kept, x[i][j - i]) + _times(kept * leaves, gaps(i, j))
            return stayed + _times(leaves * both, f) + _times(rest, fresh[None])

        return _triangle(d, entry)

    away, far = apart(now.mean, arriving.mean), apart(now.values, arriving.values)
    identity = jnp.eye(arriving.covariance.shape[-1])
    return Moments(
        centre(now.mean, arriving.mean),
        moments(
            now.covariance, arriving.covariance, identity,
            lambda i, j: away[i][:, :, None] * away[j][:, None, :],
        ),
        centre(now.values, arriving.values),
        moments(
            now.variances, arriving.variances, jnp.asarray(prior), lambda i, j: far[i] * far[j],
        ),
    )  # fmt: skip


def _combined(share: Any, x: Any) -> Any:
    """Return the combination, by `share`, of responses to c series, in axis 1."""
    return sum(share[series] * x[:, series] for series in range(x.shape[1]))


def _triangle(d: int, entry: Any) -> Blocks:
    return tuple(tuple(entry(i, j) for j in range(i, d)) for i in range(d))


def _entry(blocks: Blocks, i: int, j: int) -> Any:
    """Return a block of a symmetric matrix; below the diagonal, the transposed block above it."""
    if i <= j:
        return blocks[i][j - i]
    block = blocks[j][i - j]
    return jnp.swapaxes(block, -1, -2) if block.ndim == 3 else block


def _times(x: Any, y: Any) -> Any:
    """Multiply a number for each member with an array for each member."""
    return x.reshape(-1, *(1,) * (y.ndim - 1)) * y


def _weighed(w: Any, x: tuple[Any, ...]) -> Any:
    """Return the sum of the components, with weights of shape (k, d)."""
    return sum(_times(w[:, j], x[j]) for j in range(len(x)))


def _bilinear(v: Any, w: Any, x: Blocks) -> Any:
    """Return v^T X w at each point."""
    d = len(x)
    pairs = ((i, j) for i in range(d) for j in range(d))
    return sum(_times(v[:, i] * w[:, j], _entry(x, i, j)) for i, j in pairs)


def _applied(parts: Parts, a: Any, x: Any, i: int) -> Any:
    """Return entry i of A x."""
    return sum(_times(a[:, i, j], x[j]) for j in parts[i])


def _sandwich(parts: Parts, a: Any, x: Blocks, i: int, j: int) -> Any:
    """Return entry (i, j) of A X A^T."""
    pairs = ((p, s) for p in parts[i] for s in parts[j])
    return sum(_times(a[:, i, p] * a[:, j, s], _entry(x, p, s)) for p, s in pairs)
