r"""Phased elimination restarted on evidence of change, for a variation that nobody knows.

IT25 (sections 6 and D) leaves R-PERP with adaptive restarts to future work. This is one: it is not
published, and no regret bound is proved for it. It has the batches of R-PERP, with three rules.

**When to restart.** Nothing in a batch depends on the rewards in it: points and order are fixed by
what came before it and by a shuffle of its own. So any run of consecutive queries of a batch gives,
by its own data alone, with \(A = I + \Phi^\top \Phi / \lambda\) over those queries, the band

\[\mu(x) \pm \Big(B\, \|A^{-1}\phi(x)\| + \rho \sqrt{2 L}\, \|w(x)\| \Big),\qquad
\|w(x)\|^2 = \phi(x)^\top (A^{-1} - A^{-2}) \phi(x) / \lambda, \qquad L = \log(2 n K / \delta'),\]

which holds at all n points, for all of at most K runs, with probability \(1 - \delta'\), if the
function stays: the first term bounds the bias of ridge regression, \(\phi(x)^\top A^{-1}\theta\)
with \(\|\theta\| \le B\), and w are the weights of the noise, which is \(\rho\)-sub-Gaussian given
the past. It is narrower than (8) of IT25, and free of its constant C, which pays for changes within
a batch: a test of "nothing has changed" need not. What default features miss is bounded too:
\(B e (1 + \sqrt{N} \|w\|)\), \(e^2\) the largest variance they miss. Bands of runs between two
restarts that have no value in common at some point are evidence of change: everything is forgotten.
So, as long as nothing changes, the chance of any restart at all is at most \(\delta'\). The runs are
the pieces of every batch of \(u, 2u, 4u, \dots\) steps: short ones notice large changes soon, long
ones small changes.

**What to sample.** A drop of what is played is seen in passing. For a rise of what was eliminated,
batch j spends, besides the set \(X_j\) that survives, a share \(r\,2^{(m-j)/2}/j\) of its queries on
every earlier set \(X_m\), mixed in at random. This spreads the replays of ADA-OPKB (Hong, Li, Tewari
2023, Algorithm 3) and MASTER (Wei and Luo 2021), whose chance falls with scale in the same way, over
the batch. A point of \(X_m\) loses of order \(2^{-m/2}\), so that all of it costs at most r times
what the bound of the batch itself is, of order \(2^{j/2}\). A rise large enough to matter is noticed
after about \(j\,2^{(j-m)/2}\) times as many steps as if \(X_m\) alone were sampled.

**How long batches are.** \(N_j = 2^j E\) with \(E \approx \sqrt T\): R-PERP's own
\(\sqrt{T' N_{j-1}}\) needs the length T' of the interval, which nobody knows here.
"""

import math
from typing import Any, NamedTuple, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak.errors import at_least, at_least_integer, unit_interval
from driftpeak.lanes import on_demand
from driftpeak.policies.batch_elimination import BatchElimination, Options
from driftpeak.policies.protocol import Query, Scalar, checked_reward
from driftpeak.priors import Prior

FEATURE_SHARE = 1e-6
"""Features are exact to this share of the noise variance, unless others are given: what they miss
then widens the bands by some hundredths."""
HALVINGS = 3
"""The shortest runs that are tested are the first batch, halved so often."""


class Epoch(NamedTuple):
    """What is known since the last restart; it changes, but for the data, at ends of runs only."""

    opened: Int[Array, ""]  # first step of the current batch
    batch: Int[Array, ""]
    sets: Bool[Array, "batches n"]  # X_0, ..., X_j
    plan: Int[Array, " longest"]
    counts: Float[Array, "lengths n"]  # of the current run of every length
    sums: Float[Array, "lengths n"]  # of rewards, less the prior mean
    low: Float[Array, " n"]  # the intersection of all bands
    high: Float[Array, " n"]
    restarts: Int[Array, ""]


class AdaptiveState(NamedTuple):
    """The number of decisions made, and the epoch."""

    step: Int[Array, ""]
    epoch: Epoch
    key: PRNGKeyArray


class AdaptiveRPERP(BatchElimination[AdaptiveState]):
    """R-PERP restarted on evidence of change: V_T need not be known. Not published.

    Arguments:
        prior, horizon, norm_bound, noise_scale, delta, constant, features: as for `RPERP`. The
            width (8) is that of restarts after every first batch, the most there can be.
        false_alarms: the chance of any restart in the whole run, at most, if the function stays,
            `norm_bound` and `noise_scale` are true, and features come from the prior's kernel.
        exploration: r, the cost of sampling what was eliminated, as a share of that of the batch;
            0: only changes of what is played are noticed.

    Raises:
        DriftpeakError: a number out of range; a run longer than the horizon.
    """

    logarithm: Any  # L
    missed: Any  # e
    exploration: Any
    unit: int = eqx.field(static=True)  # steps of the shortest runs
    batches: int = eqx.field(static=True)

    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        false_alarms: float = 0.1,
        exploration: float = 0.5,
        **options: Unpack[Options],
    ) -> None:
        horizon = at_least_integer("horizon", horizon, 2)
        false_alarms = unit_interval("false_alarms", false_alarms, low_open=True, high_open=True)
        self.exploration = np.float64(at_least("exploration", exploration, 0))
        self.unit = math.ceil(math.sqrt(horizon) / 2**HALVINGS)
        first = self.unit * 2**HALVINGS
        self.batches = math.ceil(math.log2(horizon / first + 1))
        self._configure(
            prior,
            horizon=horizon,
            period=min(first, horizon),
            longest=min(first * 2 ** (self.batches - 1), horizon),
            feature_share=FEATURE_SHARE,
            **options,
        )
        runs = 2 * horizon / self.unit
        self.logarithm = np.float64(math.log(2 * len(prior) * runs / false_alarms))
        missed = self.prior.variance - (self.prior.features**2).sum(axis=1)
        self.missed = np.sqrt(max(missed.max(), 0.0))

    def init(self, key: PRNGKeyArray) -> AdaptiveState:
        zero, lengths = jnp.zeros((), int), HALVINGS + self.batches
        epoch = Epoch(
            opened=zero,
            batch=zero,
            sets=jnp.ones((self.batches, self.points), bool),
            plan=jnp.zeros(self.longest, int),
            counts=jnp.zeros((lengths, self.points)),
            sums=jnp.zeros((lengths, self.points)),
            low=jnp.full(self.points, -jnp.inf),
            high=jnp.full(self.points, jnp.inf),
            restarts=zero,
        )
        return AdaptiveState(zero, epoch, key)

    def ask(self, state: AdaptiveState, time: Scalar) -> tuple[AdaptiveState, Query]:
        key = jax.random.fold_in(state.key, state.step)
        due = state.step % self.unit == 0
        epoch = on_demand(due, _reconsider, state.epoch, (self, state.step, key))
        query = epoch.plan[state.step - epoch.opened]
        return AdaptiveState(state.step + 1, epoch, state.key), query

    def tell(
        self, state: AdaptiveState, query: Query, reward: Scalar, time: Scalar
    ) -> AdaptiveState:
        epoch = state.epoch
        gain = checked_reward(reward) - jnp.asarray(self.prior.mean)[query]
        epoch = epoch._replace(
            counts=epoch.counts.at[:, query].add(1.0), sums=epoch.sums.at[:, query].add(gain)
        )
        return state._replace(epoch=epoch)

    def restarts(self, state: AdaptiveState) -> Int[Array, ""]:
        return state.epoch.restarts

    def band(
        self, counts: Float[Array, " n"], sums: Float[Array, " n"]
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Between what the function lies, if it stays, by `counts` queries with `sums` of rewards.

        As in the module's text.
        """
        mean, half, factor = self.fit(counts, sums)
        inverse = jax.scipy.linalg.solve_triangular(factor, half, lower=True, trans=1)
        square = (inverse**2).sum(axis=0)
        spread = (half**2).sum(axis=0) - square
        weight = jnp.sqrt(jnp.maximum(spread, 0.0) / self.prior.noise_variance)
        bias = jnp.sqrt(square) + self.missed * (1 + jnp.sqrt(counts.sum()) * weight)
        noise = self.noise_scale * jnp.sqrt(2 * self.logarithm) * weight
        return mean - self.norm_bound * bias - noise, mean + self.norm_bound * bias + noise

    def shares(self, batch: Any) -> Float[Array, " batches"]:
        """What part of batch number `batch` goes to each earlier set, for re-exploration."""
        index = jnp.arange(self.batches)
        share = self.exploration * 2.0 ** ((index - batch) / 2) / jnp.maximum(batch, 1)
        return jnp.where(index < batch, share, 0.0)


def _reconsider(epoch: Epoch, inputs: Any) -> Epoch:
    """At the end of a shortest run: test for a change; at the end of a batch, plan the next."""
    policy, step, key = inputs
    units = (step - epoch.opened) // policy.unit
    index = jnp.arange(len(epoch.counts))
    ended = (units > 0) & (units % 2**index == 0)

    def narrow(length: Any, bounds: Any) -> Any:
        def intersect() -> Any:
            low, high = policy.band(epoch.counts[length], epoch.sums[length])
            return jnp.maximum(bounds[0], low), jnp.minimum(bounds[1], high)

        return jax.lax.cond(ended[length], intersect, lambda: bounds)

    low, high = jax.lax.fori_loop(0, len(index), narrow, (epoch.low, epoch.high))
    changed = (low > high).any()
    whole = epoch.batch + HALVINGS  # the length of the batch

    def open_batch() -> Epoch:
        begins = changed | (step == 0)
        batch = jnp.where(begins, 0, epoch.batch + 1)
        survivors = jax.lax.cond(
            begins,
            lambda: jnp.ones(policy.points, bool),
            lambda: policy.eliminate(
                epoch.sets[epoch.batch], epoch.counts[whole], epoch.sums[whole]
            ),
        )
        sets = epoch.sets.at[batch].set(survivors)
        size = jnp.minimum(policy.unit * 2 ** (HALVINGS + batch), policy.horizon - step)
        ends = jnp.cumsum(jnp.floor(size * policy.shares(batch)).astype(int))
        ends = jnp.where(jnp.arange(policy.batches) >= batch, size, ends)
        return Epoch(
            opened=step,
            batch=batch,
            sets=sets,
            plan=policy.shuffle(key, policy.select(sets, ends), size),
            counts=jnp.zeros_like(epoch.counts),
            sums=jnp.zeros_like(epoch.sums),
            low=jnp.where(begins, -jnp.inf, low),
            high=jnp.where(begins, jnp.inf, high),
            restarts=epoch.restarts + changed,
        )

    def go_on() -> Epoch:
        going = ~ended[:, None]
        return epoch._replace(
            counts=epoch.counts * going, sums=epoch.sums * going, low=low, high=high
        )

    return jax.lax.cond(changed | ended[whole] | (step == 0), open_batch, go_on)
