r"""Phased elimination restarted on evidence of change, for an unknown variation.

IT25 (section 7 and Appendix D) leaves R-PERP with adaptive restarts to future work. This policy is
one: it is not published, and no regret bound is proved for it. Batches are those of R-PERP, with
three rules.

**When to restart.** Nothing in a batch depends on its rewards: points and order are fixed by
earlier batches and by a random shuffle. Any run of consecutive queries of a batch therefore gives a
confidence band from its data alone. With \(A = I + \Phi^\top \Phi / \lambda\) over those queries,

\[\mu(x) \pm \Bigl(B\, \|A^{-1}\phi(x)\| + \rho \sqrt{2 L}\, \|w(x)\| \Bigr),\qquad
\|w(x)\|^2 = \phi(x)^\top (A^{-1} - A^{-2}) \phi(x) / \lambda, \qquad L = \log(2 n K / \delta'),\]

holds at all n points, for all of at most K runs, with probability \(1 - \delta'\), while the
function does not change. The first term bounds the bias of ridge regression,
\(\phi(x)^\top A^{-1}\theta\) with \(\|\theta\| \le B\). The w are the weights of the noise, which
is \(\rho\)-sub-Gaussian given the past. The band is narrower than (8) of IT25 and does not contain
its constant C, which covers changes within a batch: a test of "nothing has changed" does not need
it. The error of default features is bounded too: \(B e (1 + \sqrt{N} \|w\|)\), where \(e^2\) is the
largest variance that they miss. The runs are the pieces of each batch of \(u, 2u, 4u, \ldots\)
steps: short runs detect large changes early, long runs detect small changes. There are two rules
for evidence of change:

- "harm", the default: the lower bound of an eliminated point, the largest since the last restart,
  exceeds the upper bounds, by the newest run, of all survivors. The best point is then known not to
  be played. Changes that do not eliminate the best point cause no restart, as in ADA-OPKB, which
  compares regrets and not rewards. While the function does not change and the best point survives,
  the probability of any restart is at most \(\delta'\). The probability that the best point does
  not survive is at most \(\delta/2\) for any C, because the width (8) holds for a constant function
  even at C = 0; a restart then corrects the error.
- "change": two bands since the last restart are disjoint at some point. The probability of any
  restart while the function does not change is at most \(\delta'\).

**What to sample.** A decrease at the points that are played is observed directly. To detect an
increase at eliminated points, batch j uses a share \(r\,2^{(m-j)/2}/j\) of its queries on each
earlier set \(X_m\), and the rest on the set \(X_j\) of survivors, in random order. ADA-OPKB (Hong,
Li, Tewari 2023, Algorithm 3) and MASTER (Wei and Luo 2021) use replays, whose probability decreases
with scale in this way too; here they are distributed over the batch. A point of \(X_m\) has regret
of order \(2^{-m/2}\), so the total cost is at most r times the bound of the batch, which is of
order \(2^{j/2}\). A change that only samples of \(X_m\) reveal takes about \(j\,2^{(j-m)/2}/r\)
times as many steps to detect as if only \(X_m\) were sampled.

**How long batches are.** \(N_j = 2^j E\) with \(E \approx \sqrt T\): R-PERP's
\(\sqrt{T' N_{j-1}}\) requires the length T' of the interval, which is unknown here.
"""

import math
from typing import Any, Literal, NamedTuple, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import MOST_STEPS, at_least, at_least_integer, unit_interval
from driftpeak._core.numerics.conditionals import on_demand
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.batch_elimination import BatchElimination, BatchOptions
from driftpeak.policies.catalogue import policy
from driftpeak.policies.player import Query, checked_reward

Evidence = Literal["harm", "change"]
FEATURE_SHARE = 1e-6
"""Error of default features as a share of the noise variance; it widens the bands by a few
hundredths."""
HALVINGS = 3
"""The shortest runs that are tested are the first batch, halved this number of times."""


class Epoch(NamedTuple):
    """State since the last restart; except for counts and sums, it changes at ends of runs only."""

    opened: Int[Array, ""]  # first step of the current batch
    batch: Int[Array, ""]
    sets: Bool[Array, "batches n"]  # X_0, ..., X_j
    plan: Int[Array, " longest"]
    counts: Float[Array, "lengths n"]  # of the current run of every length
    sums: Float[Array, "lengths n"]  # of rewards minus the prior mean
    low: Float[Array, " n"]  # the largest lower bounds
    high: Float[Array, " n"]  # the smallest upper bounds
    restarts: Int[Array, ""]


class AdaptiveState(NamedTuple):
    """The number of decisions, and the epoch."""

    step: Int[Array, ""]
    epoch: Epoch
    key: PRNGKeyArray


@policy(
    "adaptive-r-perp",
    memory="batches, and restarts from the data; not published (:doc:`near-optimal`)",
    width="``Elimination``",
    options=BatchElimination._configure,
)
class AdaptiveRPERP(BatchElimination[AdaptiveState]):
    """R-PERP restarted on evidence of change: V_T need not be known. Not published.

    Arguments:
        prior, horizon: as for `RPERP`.
        options: norm_bound, noise_scale, delta, constant, features, as for `RPERP`. The width (8)
            assumes restarts after every first batch, the largest possible number.
        false_alarms: delta', an upper bound of the probability of any restart in the whole run
            while the function does not change and the best point survives. It holds if `norm_bound`
            and `noise_scale` are correct and the features come from the prior's kernel.
        exploration: r, cost of sampling eliminated points as a share of the cost of the batch. With
            0, only changes of survivors are detected.
        evidence: "harm", restart if an eliminated point is known to be better than all survivors,
            or "change", restart if any point is known to have changed.

    Raises:
        DriftpeakError: a number out of range, an unknown kind of evidence, features as for `PE`, or
            a run longer than the horizon.
    """

    logarithm: Any  # L
    missed: Any  # e
    exploration: Any
    evidence: Evidence = eqx.field(static=True)
    unit: int = eqx.field(static=True)  # steps of the shortest runs
    batches: int = eqx.field(static=True)

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        false_alarms: float = 0.1,
        exploration: float = 0.1,
        evidence: Evidence = "harm",
        **options: Unpack[BatchOptions],
    ) -> None:
        horizon = at_least_integer("horizon", horizon, 2, MOST_STEPS)
        false_alarms = unit_interval("false_alarms", false_alarms, low_open=True, high_open=True)
        self.exploration = np.float64(at_least("exploration", exploration, 0))
        self.evidence = evidence
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
        missed = self.prior.variance - self.prior.features.squares()
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
        """Return lower and upper bounds of a constant function from a run of queries.

        Arguments:
            counts, sums: number of queries of each point, and sums of rewards minus prior mean.
        """
        mean, known, square = self.fit(counts, sums)
        spread = known - square
        weight = jnp.sqrt(jnp.maximum(spread, 0.0) / self.prior.noise_variance)
        bias = jnp.sqrt(square) + self.missed * (1 + jnp.sqrt(counts.sum()) * weight)
        noise = self.noise_scale * jnp.sqrt(2 * self.logarithm) * weight
        return mean - self.norm_bound * bias - noise, mean + self.norm_bound * bias + noise

    def shares(self, batch: Any) -> Float[Array, " batches"]:
        """Return the share of batch number `batch` for re-exploration of each earlier set."""
        index = jnp.arange(self.batches)
        share = self.exploration * 2.0 ** ((index - batch) / 2) / jnp.maximum(batch, 1)
        return jnp.where(index < batch, share, 0.0)


def _reconsider(epoch: Epoch, inputs: Any) -> Epoch:
    """Test for a change at the end of a shortest run; plan the next batch at the end of a batch."""
    policy, step, key = inputs
    units = (step - epoch.opened) // policy.unit
    index = jnp.arange(len(epoch.counts))
    ended = (units > 0) & (units % 2**index == 0)

    survivors = epoch.sets[epoch.batch]

    def narrow(length: Any, bounds: Any) -> Any:
        def intersect() -> Any:
            low, high = policy.band(epoch.counts[length], epoch.sums[length])
            best = jnp.where(survivors, high, -jnp.inf).max()
            return (
                jnp.maximum(bounds[0], low),
                jnp.minimum(bounds[1], high),
                jnp.minimum(bounds[2], best),
            )

        return jax.lax.cond(ended[length], intersect, lambda: bounds)

    bounds = (epoch.low, epoch.high, jnp.full((), jnp.inf))
    low, high, best = jax.lax.fori_loop(0, len(index), narrow, bounds)
    if policy.evidence == "harm":
        changed = jnp.where(survivors, -jnp.inf, low).max() > best
    else:
        changed = (low > high).any()
    whole = epoch.batch + HALVINGS  # the length of the batch

    def open_batch() -> Epoch:
        begins = changed | (step == 0)
        batch = jnp.where(begins, 0, epoch.batch + 1)
        kept = jax.lax.cond(
            begins,
            lambda: jnp.ones_like(survivors),
            lambda: policy.eliminate(survivors, epoch.counts[whole], epoch.sums[whole]),
        )
        sets = epoch.sets.at[batch].set(kept)
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

    def continue_batch() -> Epoch:
        running = ~ended[:, None]
        return epoch._replace(
            counts=epoch.counts * running, sums=epoch.sums * running, low=low, high=high
        )

    return jax.lax.cond(changed | ended[whole] | (step == 0), open_batch, continue_batch)
