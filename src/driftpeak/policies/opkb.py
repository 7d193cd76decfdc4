r"""Optimisation-based kernel bandits: OPKB, OPKB with restarts and ADA-OPKB (H23; IT25 Theorem 3).

H23 is Hong, Li, Tewari, "An optimization-based algorithm for non-stationary kernel bandits without
prior knowledge", AISTATS 2023. An epoch is divided into blocks of 1, 2, 4, ... times E steps. Block
0 draws its queries from the optimal design \(\pi(X)\), block j from

\[P_j = (1 - \mu_j) Q_j + \mu_j \pi(X), \qquad Q_j = (1 - q) P^* + q\,\pi(A),\]

where \(P^*\) is the balance of estimated regret and exploration (`design.balance`), and A the
points whose estimated gap is at most \(2\alpha\,\gamma/\beta_j\). Rewards are estimated by inverse
propensity: \(\hat R(x) = \phi(x)^\top S(P_t, \sigma/T)^{-1} \phi(x_t)\,y_t\), averaged over an
interval, with the distribution \(P_t\) of step t. ADA-OPKB occasionally replays an earlier
\(P_m\) for \(2^m E\) steps, and starts a new epoch if the results contradict earlier estimates.

Kernel and rewards are scaled as the analysis requires: the largest prior variance is one, and
rewards minus the prior mean, divided by `reward_bound`, lie in [-1, 1].
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import MOST_STEPS, at_least_integer, positive
from driftpeak._core.numerics.conditionals import on_demand
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.gp.feature_matrix import FeatureMatrix
from driftpeak.gp.features import MANY, Features
from driftpeak.gp.optimal_design import Design, greedy_start, maximise, optimal_design
from driftpeak.gp.priors import Prior
from driftpeak.gp.ridge import information
from driftpeak.policies.catalogue import Family, policy, stored
from driftpeak.policies.fixed_horizon import PlannedPolicy, check_period, chosen_period
from driftpeak.policies.opkb_constants import Constants, preset_constants
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.randomised import draw
from driftpeak.policies.reward_range import default_reward_bound

DESIGN_TOLERANCE = 1e-3
"""Duality gap at which designs count as solved, as a share of the information gain."""
FEATURE_SHARE = 1e-2
"""Largest error of default features, as a share of s = sigma / T; the bias of the estimates from it
is a tenth of the bias from the regulariser s."""


class Knowledge(NamedTuple):
    """Estimates of an epoch, which change at the ends of blocks and replays only."""

    begin: Int[Array, ""]  # first step of the epoch
    block: Int[Array, ""]
    strategies: Float[Array, "blocks n"]  # P_0, ..., P_j
    gaps: Float[Array, "blocks n"]  # estimated from the whole epoch after each finished block
    replays: Bool[Array, "blocks slots"]  # of the current block: a mask of slots for each index
    restarts: Int[Array, ""]


class StepLog(NamedTuple):
    """Data of every step: the point, the scaled reward, the index of the strategy."""

    actions: Int[Array, " T"]
    rewards: Float[Array, " T"]
    indices: Int[Array, " T"]


class OptimizationState(NamedTuple):
    """The number of decisions, the estimates, the data, and the random key."""

    step: Int[Array, ""]
    knowledge: Knowledge
    history: StepLog
    key: PRNGKeyArray


@stored("opkb")
class OptimizationBased(RecordsArguments, PlannedPolicy[OptimizationState]):
    """Optimisation-based kernel bandits, from `OPKB` and `ADAOPKB`."""

    features: FeatureMatrix  # of the n points on p weights, scaled
    mean: AnyArray  # (n,), prior mean in scaled rewards
    design: AnyArray  # pi(X)
    regulariser: Scalar
    gain: Scalar
    alpha: Scalar
    beta: AnyArray  # per block
    mu: AnyArray  # per block
    limits: AnyArray  # of the test: per replay's index, then per block
    threshold: AnyArray  # of gaps in A, per block
    mixture: Scalar
    reward_bound: Scalar
    horizon: int = eqx.field(static=True)
    period: int | None = eqx.field(static=True)
    block_length: int = eqx.field(static=True)  # E
    blocks: int = eqx.field(static=True)
    first_index: int = eqx.field(static=True)
    blocks_tested: bool = eqx.field(static=True)
    adaptive: bool = eqx.field(static=True)

    def __init__(
        self,
        prior: Prior,
        *,
        horizon: int,
        period: int | None,
        adaptive: bool,
        constants: Constants,
        reward_bound: float | None,
        features: Features | None,
    ) -> None:
        epoch = horizon if period is None else period  # T of the algorithm between restarts
        size = float(prior.variance.max())
        regulariser = constants.sigma / epoch
        features = prior.features_or(features, tolerance=FEATURE_SHARE * regulariser)
        self.features = features.loadings.divided(math.sqrt(size))
        bound = default_reward_bound(prior) if reward_bound is None else reward_bound
        self.reward_bound = np.float64(positive("reward_bound", bound))
        self.mean = prior.mean / self.reward_bound
        self.regulariser = np.float64(regulariser)
        self.design, log_det = _optimal_design(self.features, regulariser)
        self.gain = constants.gain_share * log_det
        logarithm = math.log(8 * epoch * math.log2(epoch) * len(prior) / constants.delta)
        self.alpha = np.float64(constants.c4 * constants.sigma / logarithm)
        self.block_length = math.ceil(constants.c3 * self.gain * logarithm)
        self.blocks = 1
        while self.block_length * (2**self.blocks - 1) < epoch:
            self.blocks += 1
        powers = 2 ** (-np.arange(self.blocks) / 2)
        epsilon = (40 + 16 * math.sqrt(self.alpha)) / 2 * powers
        self.mu = constants.c1 * powers
        self.beta = 2 * constants.c2 * self.gain / epsilon
        pairs = epsilon[:, None], epsilon[None, :]
        both = (pairs[0] + pairs[1]) / 2 if constants.averaged else np.maximum(*pairs)
        self.limits = 4 * constants.c0 * both
        self.threshold = constants.threshold * 2 * self.alpha * self.gain / self.beta
        self.mixture = np.float64(constants.mixture)
        self.horizon, self.period, self.adaptive = horizon, period, adaptive
        self.first_index = constants.first_index
        self.blocks_tested = constants.blocks_tested

    @property
    def points(self) -> int:
        return len(self.design)

    def init(self, key: PRNGKeyArray) -> OptimizationState:
        zero = jnp.zeros((), int)
        table = jnp.zeros((self.blocks, self.points))
        slots = jnp.zeros((self.blocks, 2 ** (self.blocks - 1) if self.adaptive else 1), bool)
        strategies = table.at[0].set(self.design)
        knowledge = Knowledge(zero, zero, strategies, table, slots, zero)
        steps = jnp.zeros(self.horizon, jnp.int32)
        history = StepLog(steps, jnp.zeros(self.horizon), steps)
        return OptimizationState(zero, knowledge, history, key)

    def ask(self, state: OptimizationState, time: Scalar) -> tuple[OptimizationState, Query]:
        index = self._index(state)
        key = jax.random.fold_in(state.key, state.step)
        return state, draw(key, state.knowledge.strategies[index])

    def tell(
        self, state: OptimizationState, query: Query, reward: Scalar, time: Scalar
    ) -> OptimizationState:
        scaled = checked_reward(reward) / self.reward_bound - jnp.asarray(self.mean)[query]
        history = StepLog(
            state.history.actions.at[state.step].set(jnp.asarray(query, jnp.int32)),
            state.history.rewards.at[state.step].set(scaled),
            state.history.indices.at[state.step].set(self._index(state).astype(jnp.int32)),
        )
        ended, block_ends, epoch_ends = self._endings(state)
        step = state.step + 1
        key = jax.random.fold_in(jax.random.fold_in(state.key, state.step), 1)
        inputs = (self, history, step, ended, block_ends, epoch_ends, key)
        due = ended.any() | block_ends | epoch_ends
        knowledge = on_demand(due, _reconsider, state.knowledge, inputs)
        return OptimizationState(step, knowledge, history, state.key)

    def restarts(self, state: OptimizationState) -> Int[Array, ""]:
        return state.knowledge.restarts

    def out_of_bounds(self, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        return abs(rewards / self.reward_bound - self.mean[actions]) > 1

    @property
    def bounds_in_words(self) -> str:
        return f"reward_bound={self.reward_bound:g} around the prior mean"

    def _lengths(self) -> Array:
        """Return the steps of a block, or of a replay, for each index."""
        return self.block_length * 2 ** jnp.arange(self.blocks)

    def _start(self, knowledge: Knowledge) -> Array:
        """Return the first step of the current block."""
        return knowledge.begin + self.block_length * (2**knowledge.block - 1)

    def _running(self, knowledge: Knowledge, step: Scalar) -> Array:
        """Return a mask of the indices scheduled at `step`; the block's own always is."""
        place = (step - self._start(knowledge)) // self._lengths()
        slots = knowledge.replays.shape[1]
        replayed = knowledge.replays[jnp.arange(self.blocks), jnp.minimum(place, slots - 1)]
        index = jnp.arange(self.blocks)
        return (replayed & (index < knowledge.block)) | (index == knowledge.block)

    def _index(self, state: OptimizationState) -> Array:
        """Return the index of the strategy to play, the smallest index scheduled."""
        return jnp.argmax(self._running(state.knowledge, state.step))

    def _endings(self, state: OptimizationState) -> tuple[Array, Array, Array]:
        """Return the tested intervals that end with this step, and whether block and epoch end."""
        knowledge = state.knowledge
        index = jnp.arange(self.blocks)
        done = state.step + 1 - self._start(knowledge)
        ended = self._running(knowledge, state.step) & (done % self._lengths() == 0)
        tested = ended & (index >= self.first_index) & (knowledge.block > self.first_index)
        if not self.blocks_tested:
            tested = tested & (index < knowledge.block)
        block_ends = done == self._lengths()[knowledge.block]
        epoch_ends = jnp.zeros((), bool)
        if self.period is not None:
            epoch_ends = state.step + 1 - knowledge.begin == self.period
        return tested & self.adaptive, block_ends, epoch_ends

    def estimate(
        self, strategies: Float[Array, "blocks n"], history: StepLog, begin: Scalar, end: Scalar
    ) -> Float[Array, " n"]:
        """Estimate scaled rewards of all points over steps `begin` to `end - 1`.

        The estimate is by inverse propensity.
        """
        features, rank = self.features, self.features.shape[1]
        step = jnp.arange(self.horizon)
        rewards = jnp.where((step >= begin) & (step < end), history.rewards, 0.0)
        sums = jnp.zeros((self.blocks, self.points))
        sums = sums.at[history.indices, history.actions].add(rewards)

        def add(index: Array, weights: Array) -> Any:
            def solve() -> Any:
                matrix = information(features, strategies[index])
                matrix = matrix + self.regulariser * jnp.eye(rank)
                target = features.combined(sums[index])
                return jax.scipy.linalg.solve(matrix, target, assume_a="pos")

            return weights + jax.lax.cond((sums[index] != 0).any(), solve, lambda: jnp.zeros(rank))

        weights = jax.lax.fori_loop(0, self.blocks, add, jnp.zeros(rank))
        return jnp.asarray(self.mean) + features.values(weights) / (end - begin)

    def strategy(self, gaps: Float[Array, " n"], block: Scalar) -> Float[Array, " n"]:
        """Return P_j for the block number `block`, given the estimated gaps."""
        features, tolerance = self.features, DESIGN_TOLERANCE * self.gain
        design = jnp.asarray(self.design)
        cost = gaps * (jnp.asarray(self.beta)[block] / 2)
        good = gaps <= jnp.asarray(self.threshold)[block]
        start = jnp.where(good.all(), design, greedy_start(features, self.regulariser, good))

        def solve(problem: Any) -> Any:
            cost, allowed, begin = problem
            return maximise(features, self.regulariser, cost, allowed, begin, tolerance).weights

        # solved one after the other in a loop, so compiled once; P* starts at pi(X), of full rank
        problems = (
            jnp.stack([cost, jnp.zeros(self.points)]),
            jnp.stack([jnp.ones(self.points, bool), good]),
            jnp.stack([design, start]),
        )
        balanced, explored = jax.lax.map(solve, problems)
        mixed = (1 - self.mixture) * balanced + self.mixture * explored
        mu = jnp.asarray(self.mu)[block]
        return (1 - mu) * mixed + mu * design


def _reconsider(knowledge: Knowledge, inputs: Any) -> Knowledge:
    """Test for a change at the end of a replay, block or epoch, and plan the next steps."""
    policy, history, step, ended, block_ends, epoch_ends, key = inputs
    block = knowledge.block

    index = jnp.arange(policy.blocks)
    # the intervals that end now: replays and block of every index, and, last, the epoch so far
    begins = jnp.append(step - policy._lengths(), knowledge.begin)
    wanted = jnp.append(ended, block_ends)

    def gaps_over(number: Any, table: Any) -> Any:
        def estimate() -> Any:
            estimates = policy.estimate(knowledge.strategies, history, begins[number], step)
            # fused differently, the maximum may exceed itself by a rounding error
            return table.at[number].set(jnp.maximum(estimates.max() - estimates, 0.0))

        return jax.lax.cond(wanted[number], estimate, lambda: table)

    table = jnp.zeros((policy.blocks + 1, policy.points))
    gaps = jax.lax.fori_loop(0, policy.blocks + 1, gaps_over, table)
    now, known = gaps[:-1, None, :], knowledge.gaps[None, :, :]
    excess = jnp.maximum(now - 4 * known, known - 4 * now).max(axis=2)
    compared = ended[:, None] & ((index < block) & (index >= policy.first_index))[None, :]
    changed = (compared & (excess > jnp.asarray(policy.limits))).any()

    def restart() -> Knowledge:
        return Knowledge(
            begin=step,
            block=jnp.zeros((), int),
            strategies=jnp.zeros_like(knowledge.strategies).at[0].set(policy.design),
            gaps=jnp.zeros_like(knowledge.gaps),
            replays=jnp.zeros_like(knowledge.replays),
            restarts=knowledge.restarts + changed,
        )

    def next_block() -> Knowledge:
        following = block + 1
        chance = jnp.minimum(2.0 ** ((index - following) / 2), 1.0)
        drawn = jax.random.uniform(key, knowledge.replays.shape, dtype=float)
        early = index >= policy.first_index
        return knowledge._replace(
            block=following,
            strategies=knowledge.strategies.at[following].set(policy.strategy(gaps[-1], following)),
            gaps=knowledge.gaps.at[block].set(gaps[-1]),
            replays=(drawn < chance[:, None]) & early[:, None] & policy.adaptive,
        )

    return jax.lax.cond(
        changed | epoch_ends,
        restart,
        lambda: jax.lax.cond(block_ends, next_block, lambda: knowledge),
    )


@double_precision
def _optimal_design(features: FeatureMatrix, regulariser: float) -> tuple[Any, float]:
    """Compute pi(X) and the gain, to a duality gap of `DESIGN_TOLERANCE` of the gain."""
    points, rank = features.shape
    if points <= MANY:
        matrix = np.asarray(features.matrix)
        sums = matrix.T @ matrix
    else:
        sums = np.asarray(jax.jit(information)(features, jnp.ones(points)))
    # the gain of any design is a lower bound of the largest; equal weights set the scale
    even = np.linalg.slogdet(sums / points / regulariser + np.eye(rank))[1]
    design: Design = optimal_design(features, regulariser, tolerance=DESIGN_TOLERANCE * even)
    return design.weights, float(design.objective) - rank * math.log(regulariser)


@policy(
    "opkb",
    memory="batches, and restarts if ``period`` is given (:doc:`near-optimal`)",
    schedule=":func:`~driftpeak.theory.schedules.elimination_period`",
    family=lambda make: Family(
        "OPKB with restarts",
        lambda known: _opkb(known, known.elimination_period),
        "period",
        (100, 500),
        lambda known, period, width: _opkb(known, period),
        wide_only=True,
    ),
)
@checked
def OPKB(
    prior: Prior,
    *,
    horizon: int,
    period: int | None = None,
    reward_bound: float | None = None,
    preset: str = "published",
    features: Features | None = None,
    **constants: float,
) -> OptimizationBased:
    """OPKB (H23 Algorithm 2); with a `period`, OPKB with restarts (IT25 Theorem 3).

    Arguments:
        prior: its kernel gives the features; its noise variance is not used.
        horizon: T, the number of decisions; `Doubling` removes the limit.
        period: H, the steps between restarts, and then the T of the restarted algorithm;
            `theory.schedules.elimination_period` gives IT25's. None: no restarts.
        reward_bound: bound of rewards minus prior mean, noise included; by default three standard
            deviations of a reward under the prior.
        preset: "published", the constants of H23's figures, or "theory", the constants of its
            analysis, with which block 0 alone is thousands of steps long.
        features: a factor of the covariance; by default accurate enough for s = sigma / T.
        constants: any field of `Constants`, to replace the preset's.

    Raises:
        DriftpeakError: a number out of range, an unknown preset or constant, features for another
            number of points, a kernel so rough that its features would take too long to compute, or
            a run longer than the horizon.

    Source: H23 Algorithm 2, inverse-propensity estimate.
    """
    horizon = at_least_integer("horizon", horizon, 2, MOST_STEPS)
    return OptimizationBased(
        prior,
        horizon=horizon,
        period=None if period is None else check_period(period, horizon),
        adaptive=False,
        constants=preset_constants(preset, constants),
        reward_bound=reward_bound,
        features=features,
    )


@policy(
    "r-opkb",
    memory="restarts and batches (:doc:`near-optimal`)",
    schedule=":func:`~driftpeak.theory.schedules.elimination_period`",
)
@checked
def ROPKB(
    prior: Prior,
    *,
    horizon: int,
    period: int | None = None,
    variation: float | None = None,
    **options: Any,
) -> OptimizationBased:
    """OPKB restarted every H steps, with H from theory (IT25 Theorem 3), for SE and Matern kernels.

    Arguments:
        prior, horizon, options: as for `OPKB`.
        period: H; by default the value from theory.
        variation: V_T, for the default H; unknown if omitted.

    Raises:
        DriftpeakError: as for `OPKB`, both period and variation, or no period for a kernel without
            one in theory.

    Source: IT25 Theorem 3, Theorem 15.
    """
    horizon = at_least_integer("horizon", horizon, 2, MOST_STEPS)
    period = chosen_period(prior, horizon, period, variation)
    return OPKB(prior, horizon=horizon, period=period, **options)


@policy(
    "ada-opkb",
    memory="batches, and restarts when a test detects a change (:doc:`near-optimal`)",
    family=lambda make: Family(
        "ADA-OPKB",
        lambda known: make(known.prior, horizon=known.horizon, reward_bound=known.reward_bound),
    ),
)
@checked
def ADAOPKB(
    prior: Prior,
    *,
    horizon: int,
    reward_bound: float | None = None,
    preset: str = "published",
    features: Features | None = None,
    **constants: float,
) -> OptimizationBased:
    """ADA-OPKB: OPKB that detects changes by replaying old strategies (H23 Algorithm 3).

    It needs no drift parameter.

    Arguments:
        prior, horizon, reward_bound, preset, features, constants: as for `OPKB`.

    Raises:
        DriftpeakError: as for `OPKB`.

    Source: H23 Algorithm 3, replay schedule, change test.
    """
    return OptimizationBased(
        prior,
        horizon=at_least_integer("horizon", horizon, 2, MOST_STEPS),
        period=None,
        adaptive=True,
        constants=preset_constants(preset, constants),
        reward_bound=reward_bound,
        features=features,
    )


def _opkb(known: Any, period: int) -> OptimizationBased:
    """Return OPKB with restarts for what is known of an environment."""
    return OPKB(
        known.prior,
        horizon=known.horizon,
        period=min(period, known.horizon),
        reward_bound=known.reward_bound,
    )
