r"""Beliefs side by side, one for each way of moving, and how they learn from one another.

Every member is a Kalman filter on the r weights of the features and, at order 2, of their
derivatives; all of them see every observation. In units of the amplitude, with \(A, Q\) of its
motion (`driftpeak.bank.motions`) and an observation of features \(\phi\) and noise \(\lambda\),

\[m \leftarrow A m, \quad P \leftarrow A P A^\top + Q, \quad g = P_{\cdot 0}\phi, \quad
s = \phi^\top g_0 + \lambda, \quad m \leftarrow m + g\,(y - \phi^\top m_0)/s, \quad
P \leftarrow P - g g^\top / s.\]

A mean is linear in what was observed, so a member keeps its *responses* to several series of
observations at once, whose covariance is the same: to the rewards, and to a constant 1, of which an
unknown level of the rewards is made (`driftpeak.bank.level`).

Members *interact* as in an interacting-multiple-model filter (Blom and Bar-Shalom 1988): now and
then the function may change its way of moving, and whoever follows it then begins with what the
others have learned. Each member therefore becomes the moment-matched mixture of itself and of those
that may have switched into it.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from driftpeak.bank.motions import Motion
from driftpeak.beliefs.posterior import FeaturePrior
from driftpeak.beliefs.weights import quadratic_forms
from driftpeak.features import Features
from driftpeak.numerics.precision import require_double_precision
from driftpeak.priors import Prior

Scalar = Any  # a real number; an array of one inside JAX
Blocks = tuple[tuple[Any, ...], ...]
"""The upper triangle of a symmetric d x d matrix whose entries are arrays: rows from the diagonal.

Entries apart, not stacked: compiled programs then pass over each of them once."""


class Moments(NamedTuple):
    """What k members of order d believe, in the features and at the n points.

    Entry 0 is the function, 1 its derivative. Means are responses to c series of observations, in
    their units; covariances in units of the prior's.
    """

    mean: tuple[Float[Array, "k c r"], ...]
    covariance: Blocks  # of (k, r, r)
    values: tuple[Float[Array, "k c n"], ...]
    variances: Blocks  # of (k, n)


BankState = tuple[Moments, ...]
"""The moments of every kind of motion, just after the last observation."""


class Forecast(NamedTuple):
    """What every member expects of the function, noise not included.

    Means, one per series, less the prior mean, and variances in units of the prior's.
    """

    mean: Float[Array, "k c *n"]
    variance: Float[Array, "k *n"]


class Bank(eqx.Module):
    """Members that share one set of features: all motions of `motions`, in order.

    Arguments:
        prior: domain, kernel and mean.
        motions: the ways the function may move.
        features: a factor of the prior's covariance. What it misses of the variance counts as noise
            of the point.
        series: c, the number of series of observations that are responded to.
    """

    prior: FeaturePrior
    missed: Any  # (n,)
    motions: tuple[Motion, ...]
    series: int = eqx.field(static=True)

    def __init__(
        self, prior: Prior, motions: tuple[Motion, ...], features: Features, *, series: int = 1
    ) -> None:
        self.prior = FeaturePrior(prior, features)
        self.missed = (prior.variance - (features.matrix**2).sum(axis=1)).clip(min=0.0)
        self.motions = motions
        self.series = series

    @property
    def points(self) -> int:
        """The number of points of the domain, n."""
        return len(self.prior.variance)

    @property
    def count(self) -> int:
        """The number of members, k."""
        return sum(motion.count for motion in self.motions)

    @property
    def drift(self) -> Float[Array, " k"]:
        """Of every member, the drift of Markov drift that forgets as fast."""
        return jnp.concatenate([motion.drift for motion in self.motions])

    def init(self) -> BankState:
        require_double_precision()
        n, r = self.prior.features.shape

        def start(motion: Motion) -> Moments:
            k, d = motion.count, motion.order
            ones = jnp.broadcast_to(jnp.eye(r), (k, r, r))
            prior = jnp.broadcast_to(jnp.asarray(self.prior.variance), (k, n))
            return Moments(
                (jnp.zeros((k, self.series, r)),) * d,
                _triangle(d, lambda i, j: ones if i == j else jnp.zeros((k, r, r))),
                (jnp.zeros((k, self.series, n)),) * d,
                _triangle(d, lambda i, j: prior if i == j else jnp.zeros((k, n))),
            )

        return tuple(start(motion) for motion in self.motions)

    def posterior(self, state: BankState, elapsed: Scalar) -> Forecast:
        """What is expected of all n points, `elapsed` after the last observation."""
        return self._forecast(state, slice(None), elapsed)

    def forecast(self, state: BankState, arm: Scalar, elapsed: Scalar) -> Forecast:
        """What is expected of one point."""
        one = self._forecast(state, jnp.asarray(arm)[None], elapsed)
        return Forecast(one.mean[..., 0], one.variance[:, 0])

    def _forecast(self, state: BankState, arms: Any, elapsed: Scalar) -> Forecast:
        prior = jnp.asarray(self.prior.variance)[arms]
        means, variances = [], []
        for motion, now in zip(self.motions, state, strict=True):
            a = motion.transition(elapsed)
            here = _triangle(motion.order, lambda i, j, now=now: now.variances[i][j - i][:, arms])
            means.append(_applied(a, tuple(values[..., arms] for values in now.values), 0))
            variances.append(_sandwich(a, here, 0, 0) + _noise(a)[:, 0, 0, None] * prior[None])
        return Forecast(jnp.concatenate(means), jnp.concatenate(variances))

    def update(
        self,
        state: BankState,
        arm: Scalar,
        observed: Float[Array, " c"],
        noise: Scalar,
        elapsed: Scalar,
    ) -> BankState:
        """Learn one observation of every series.

        Arguments:
            arm: the point.
            observed: of each series, such as the reward less the prior mean.
            noise: variance of its noise, in units of the prior's covariance.
            elapsed: time since the last observation.
        """
        features = jnp.asarray(self.prior.features)
        new, one = features[arm], jnp.eye(features.shape[1])
        noise = noise + jnp.asarray(self.missed)[arm]

        def learn(motion: Motion, old: Moments) -> Moments:
            a, d = motion.transition(elapsed), motion.order
            q = _noise(a)
            toward = [[_entry(old.covariance, i, j) @ new for j in range(d)] for i in range(d)]
            gain = []
            for i in range(d):
                parts = ((p, s) for p in range(d) for s in range(d))
                moved = sum((a[:, i, p] * a[:, 0, s])[:, None] * toward[p][s] for p, s in parts)
                gain.append(moved + q[:, i, 0, None] * new[None])
            scale = (gain[0] @ new + noise)[:, None]
            mean = tuple(_applied(a, old.mean, i) for i in range(d))
            step = (jnp.asarray(observed)[None] - mean[0] @ new) / scale
            cross = [one_gain @ features.T for one_gain in gain]
            prior = jnp.asarray(self.prior.variance)
            return Moments(
                tuple(m + g[:, None] * step[..., None] for m, g in zip(mean, gain, strict=True)),
                _triangle(
                    d,
                    lambda i, j: (
                        _sandwich(a, old.covariance, i, j)
                        + q[:, i, j, None, None] * one[None]
                        - gain[i][:, :, None] * (gain[j] / scale)[:, None, :]
                    ),
                ),
                tuple(
                    _applied(a, old.values, i) + cross[i][:, None] * step[..., None]
                    for i in range(d)
                ),
                _triangle(
                    d,
                    lambda i, j: (
                        _sandwich(a, old.variances, i, j)
                        + q[:, i, j, None] * prior[None]
                        - cross[i] * cross[j] / scale
                    ),
                ),
            )

        return tuple(learn(*kind) for kind in zip(self.motions, state, strict=True))

    def mix(
        self,
        state: BankState,
        weights: Float[Array, " k"],
        switching: Scalar,
        amplitude: Scalar,
        shares: Float[Array, " c"],
    ) -> tuple[BankState, Float[Array, " k"]]:
        """Every member becomes the mixture of itself and of those that may have switched into it.

        A switch leads to each of the other members with the same probability. A derivative, which
        only some members have, then starts again from its prior.

        Arguments:
            weights: probabilities of the members, up to a factor.
            switching: probability that the way of moving has changed.
            amplitude: a covariance of one, in squared units of the means.
            shares: of the series in the mean that is believed: how far the members' means are
                apart is measured in this combination.

        Returns:
            The state, and of each member the probability that the function has just begun to move
            that way, if that is how it moves now.
        """
        k = len(weights)
        if k == 1:
            return state, jnp.zeros(1)
        share = jnp.asarray(shares) / jnp.sqrt(amplitude)
        mean = jnp.concatenate([now.mean[0] for now in state])
        values = jnp.concatenate([now.values[0] for now in state])
        covariance = jnp.concatenate([now.covariance[0][0] for now in state])
        variances = jnp.concatenate([now.variances[0][0] for now in state])
        chance = jnp.where(jnp.eye(k, dtype=bool), 1 - switching, switching / (k - 1))
        joint = chance * weights[:, None]
        source = (joint / joint.sum(axis=0)[None]).T  # [j, i]: member j was member i
        new_mean = jnp.tensordot(source, mean, 1)
        new_values = jnp.tensordot(source, values, 1)
        # centred before it is squared: large means would cost the covariance its digits
        away = jnp.tensordot(share, mean[None] - new_mean[:, None], (0, 2))
        spread = jnp.swapaxes(away * source[:, :, None], 1, 2) @ away
        far = jnp.tensordot(share, values[None] - new_values[:, None], (0, 2))
        apart = (source[:, :, None] * far**2).sum(axis=1)
        function = _Function(
            new_mean,
            (source @ covariance.reshape(k, -1)).reshape(covariance.shape) + spread,
            new_values,
            source @ variances + apart,
        )
        kept = source.diagonal()
        mixed, begin = [], 0
        for now in state:
            mine = slice(begin, begin + len(now.mean[0]))
            own = jax.tree.map(lambda x, mine=mine: x[mine], function)
            mixed.append(_switched(now, own, kept[mine], share, self.prior.variance))
            begin = mine.stop
        return tuple(mixed), 1 - kept

    def refresh(self, state: BankState) -> BankState:
        """Recompute the values of the points from the weights; rounding errors add up otherwise."""
        features = jnp.asarray(self.prior.features)
        n, r = features.shape

        def recomputed(now: Moments, i: int, j: int) -> Any:
            prior = jnp.asarray(self.prior.variance) if i == j else jnp.zeros(n)
            explained = (jnp.eye(r) if i == j else jnp.zeros((r, r)))[None] - now.covariance[i][
                j - i
            ]
            return prior[None] - jax.vmap(quadratic_forms, (None, 0))(features, explained)

        return tuple(
            now._replace(
                values=tuple(mean @ features.T for mean in now.mean),
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


def _switched(now: Moments, function: _Function, kept: Any, share: Any, prior: Any) -> Moments:
    r"""Members of the mixed function; the derivative stays theirs with probability `kept`.

    With probability \(\kappa\) the derivative has the mean d and covariance P of before, otherwise
    0 and I: together \(\kappa d\) and \(\kappa P + (1 - \kappa) I + \kappa (1 - \kappa) d d^\top\).
    With the function, whose mean was f and is \(\bar f\), it has the covariance
    \(\kappa (C + (f - \bar f) d^\top)\).
    """
    mean, values = function.mean, function.values
    if len(now.mean) == 1:
        return Moments((mean,), ((function.covariance,),), (values,), ((function.variances,),))
    once, wide = kept[:, None], kept[:, None, None]
    slope, rise = _combined(share, now.mean[1]), _combined(share, now.values[1])
    moved = _combined(share, now.mean[0] - function.mean)
    risen = _combined(share, now.values[0] - function.values)
    outer = slope[:, :, None] * slope[:, None, :]
    (_, together), (own,) = now.covariance
    (_, jointly), (alone,) = now.variances
    return Moments(
        (mean, wide * now.mean[1]),
        (
            (function.covariance, wide * (together + moved[:, :, None] * slope[:, None, :])),
            (wide * (own + (1 - wide) * outer) + (1 - wide) * jnp.eye(slope.shape[1])[None],),
        ),
        (values, wide * now.values[1]),
        (
            (function.variances, once * (jointly + risen * rise)),
            (once * (alone + (1 - once) * rise**2) + (1 - once) * jnp.asarray(prior)[None],),
        ),
    )


def _combined(share: Any, x: Any) -> Any:
    """The responses to the series in one."""
    return jnp.tensordot(share, x, (0, 1))


def _triangle(d: int, entry: Any) -> Blocks:
    return tuple(tuple(entry(i, j) for j in range(i, d)) for i in range(d))


def _entry(blocks: Blocks, i: int, j: int) -> Any:
    """Of a symmetric matrix of blocks: below the diagonal, those above it transposed."""
    if i <= j:
        return blocks[i][j - i]
    block = blocks[j][i - j]
    return jnp.swapaxes(block, -1, -2) if block.ndim == 3 else block


def _noise(a: Any) -> Any:
    """What is lost of a stationary variance of one returns as noise: I - A A^T."""
    return jnp.eye(a.shape[-1])[None] - a @ jnp.swapaxes(a, -1, -2)


def _applied(a: Any, x: tuple[Any, ...], i: int) -> Any:
    """Entry i of A x."""
    return sum(a[:, i, j, None, None] * x[j] for j in range(len(x)))


def _sandwich(a: Any, x: Blocks, i: int, j: int) -> Any:
    """Entry (i, j) of A X A^T."""
    d = len(x)
    extra = (1,) * (x[0][0].ndim - 1)
    parts = ((p, q) for p in range(d) for q in range(d))
    return sum((a[:, i, p] * a[:, j, q]).reshape(-1, *extra) * _entry(x, p, q) for p, q in parts)
