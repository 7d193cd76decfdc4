r"""`Auto`: a policy without drift parameters, which estimates the motion of the function online.

Most other policies need the drift rate. `Auto` has a *bank* of posteriors (see
`driftpeak.inference.imm`), from no drift to forgetting within a few steps. Every member is updated
with every observation and weighted by how well it has predicted. The weights are mixed with the
initial weights,

\[w \leftarrow (1 - s)\,w + s\,w_0,\]

so a member with a small weight can recover quickly, and members exchange information when the
motion changes. The queries maximise the weighted upper bounds

\[\sum_k w_k \left(\mu_k(x) + \beta_k \sigma_k(x)\right), \qquad
\beta_k^2 = \min(0.8 \log 4t,\; 0.7 \log 1/\epsilon_k).\]

If the function drifts fast, the information from exploration soon becomes useless: the width of a
member is therefore bounded by its drift. The policy is not from the five papers.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import (
    DriftpeakError,
    at_least,
    at_least_integer,
    finite_array,
    positive,
    shown,
    unit_interval,
)
from driftpeak._core.numerics.conditionals import lockstep
from driftpeak._core.times import Horizon, TimesLike, median_step
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.gp.affordable import affordable
from driftpeak.gp.dynamics import HORIZONS, MarkovMotion, Matern32, Motion
from driftpeak.gp.features import Features, eigen
from driftpeak.gp.means import PeriodicMean
from driftpeak.gp.priors import Prior
from driftpeak.inference.imm import (
    Forecast,
    IMMState,
    InteractingMultipleModel,
    Level,
    LevelState,
    Scale,
    ScaleState,
    Start,
    after_rows,
)
from driftpeak.policies.catalogue import policy
from driftpeak.policies.player import Prediction, Query, Reading, checked_reward, largest
from driftpeak.policies.protocol import ActingPolicy

AutoAcquisition = Literal["ucb", "influence"]
DRIFTS = (0.0, 0.001, 0.004, 0.016, 0.064, 0.25)
RATES = (0.005, 0.03)
FEATURE_SHARE = 1e-2
"""Largest error of default features, as a share of the noise variance."""
GAPS = 16
"""Number of time differences whose median is a step, if times are unknown in advance."""
LEAST_DRIFT = 1e-4
"""Drift of a constant function in geometric means."""
RECENT = 25.0
"""Number of steps after which a change counts as recent with probability 1/e."""


class AutoState(NamedTuple):
    """Posteriors of the members and their weights; level and scale of the rewards.

    `step` is the number of observations. `gaps` holds the first `GAPS` differences between the
    times of observations, NaN for missing differences; None if the step is known.
    """

    banks: tuple[IMMState, ...]
    weights: Float[Array, " k"]
    changed: Float[Array, " k"]  # probability that the function has recently switched to it
    level: LevelState
    scale: ScaleState
    time: Float[Array, ""]
    step: Int[Array, ""]
    gaps: Float[Array, " g"] | None = None


class Predictive(NamedTuple):
    """A mixture of k Gaussians."""

    weights: Float[Array, " k"]
    means: Float[Array, " k"]
    variances: Float[Array, " k"]


@policy(
    "auto",
    memory="estimates the drift online (:doc:`auto`)",
    width="its own",
    schedule="none",
    own_width=True,
)
class Auto(RecordsArguments, ActingPolicy[AutoState]):
    """A bank of posteriors that estimates motion, amplitude and noise of the function online.

    Arguments:
        prior: domain, kernel, noise variance and mean; amplitude and noise may be rough guesses.
        drifts: drifts of the members with Markov drift (B16), per step.
        rates: rates of the members with momentum, per step (`motions.Matern32`).
        lengthscales: factors of the kernel's lengthscale; each has its own members.
        learn_scale: whether amplitude and noise are estimated; otherwise they are the prior's.
        learn_level: whether a constant added to the prior mean is estimated.
        switching: probability per step that the function changes its motion.
        mix_every: number of steps between two exchanges of information between members.
        leak: s, the share of the initial weights that is mixed into the weights at every step.
        outlier: limit in predictive standard deviations; rewards beyond it are clipped to it.
        features: a factor of the covariance; by default with an error of at most 1e-2 of the noise
            variance.
        motions: further members, motions of `driftpeak.gp.dynamics`.
        profile: a periodic mean that is added to the prior mean (`PeriodicMean`).
        acquisition: "ucb", or "influence" to explore where observations inform later steps.
        exploration: factor of the exploration bonus, at least 0.
        recorded: rewards of all points at earlier steps, shape `(steps, n)`, the last at time 0.
            The members start from their posteriors given these rows; by default from the prior.

    A step is the median difference of the times that the policy is prepared for. In an
    `Optimizer`, whose times are not known in advance, it is the median of the first 16 differences
    between the times of observations, in any unit: an hour if rewards arrive every hour. Until two
    times differ, any elapsed time counts as one step.

    Raises:
        DriftpeakError: a number out of range, no members, lengthscales for a kernel of arms without
            coordinates, features together with lengthscales or for another number of points, a
            kernel so rough that its features would take too long to compute, or `recorded`
            together with features or lengthscales, or for another number of points.

    Example:
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> policy = dp.Auto(prior)             # needs no drift parameter
    """

    banks: tuple[InteractingMultipleModel, ...]
    level: Level
    scale: Scale
    mean: AnyArray
    profile: PeriodicMean | None
    noise_variance: Scalar
    start: AnyArray  # (k,), weights at the beginning
    resumed: tuple[Start, ...] | None  # moments after recorded rows
    exploration: Scalar
    switching: Scalar
    leak: Scalar
    outlier: Scalar
    unit: Scalar | None  # one step, in units of time; None if it is estimated
    factors: AnyArray  # of the lengthscale, one for each bank
    mix_every: int = eqx.field(static=True)
    acquisition: AutoAcquisition = eqx.field(static=True)
    deterministic = True
    chooses_among = True

    @checked
    def __init__(
        self,
        prior: Prior,
        *,
        drifts: Any = DRIFTS,
        rates: Any = RATES,
        motions: Sequence[Motion] = (),
        lengthscales: Any = (1.0,),
        learn_scale: bool = True,
        learn_level: bool = True,
        switching: float = 0.001,
        mix_every: int = 3,
        leak: float = 0.01,
        outlier: float = 6.0,
        features: Features | None = None,
        profile: PeriodicMean | None = None,
        acquisition: AutoAcquisition = "ucb",
        exploration: float = 1.0,
        recorded: Any = None,
    ) -> None:
        kinds = list(motions)
        if len(finite_array("drifts", drifts, 1)):
            kinds.append(MarkovMotion(drifts))
        if len(finite_array("rates", rates, 1)):
            kinds.append(Matern32(rates))
        if not kinds:
            raise DriftpeakError(
                "at least one of motions, drifts and rates must be non-empty; got no members"
            )
        factors = finite_array("lengthscales", lengthscales, 1)
        if len(factors) == 0 or factors.min() <= 0:
            raise DriftpeakError(
                f"lengthscales must be one or more factors above 0; got {shown(lengthscales)}"
            )
        scaled = len(factors) > 1 or factors[0] != 1
        if scaled and (features is not None or not prior.domain.has_coordinates):
            raise DriftpeakError(
                "lengthscales require a kernel of coordinates and default features. Set "
                "lengthscales=(1.0,) for arms without coordinates or with given features"
            )
        if recorded is not None:
            if scaled or features is not None:
                raise DriftpeakError(
                    "recorded must be None if lengthscales or features are given; got rows. Omit "
                    "one of the arguments"
                )
            features = eigen(prior.kernel, prior.domain)
        self.banks = tuple(
            InteractingMultipleModel(
                prior, tuple(kinds), _features(prior, features, factor), series=2
            )
            for factor in factors
        )
        self.factors = factors
        self.level = Level(float(prior.variance.mean()), learn=learn_level)
        self.scale = Scale(learn=learn_scale)
        self.mean = prior.mean
        self.profile = profile
        self.acquisition = acquisition
        self.noise_variance = np.float64(prior.noise_variance)
        count = sum(motion.count for motion in kinds)
        self.start = np.full(count * len(factors), 1 / (count * len(factors)))
        self.exploration = np.float64(at_least("exploration", exploration, 0))
        self.resumed = None
        if recorded is not None and features is not None:  # set above
            rows = finite_array("recorded", recorded, 2)
            if rows.shape[1] != len(prior):
                raise DriftpeakError(
                    f"recorded must have a column for each of the {len(prior)} points; got "
                    f"{rows.shape[1]} columns"
                )
            rows = rows - prior.mean
            if profile is not None:
                rows = rows - profile.at(np.arange(1.0 - len(rows), 1.0))
            matrix = np.asarray(features.matrix)
            self.resumed = tuple(
                after_rows(motion, matrix, rows, prior.noise_variance) for motion in kinds
            )
        self.mix_every = at_least_integer("mix_every", mix_every, 1)
        stays = 1 - unit_interval("switching", switching)
        self.switching = np.float64(1 - stays**self.mix_every)
        self.leak = np.float64(unit_interval("leak", leak))
        self.outlier = np.float64(
            math.inf if isinstance(outlier, float) and outlier == math.inf
            else positive("outlier", outlier)
        )  # fmt: skip
        self.unit = np.float64(1.0)

    @property
    def points(self) -> int:
        return len(self.mean)

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each member."""
        # not a static field: policies with other drifts would have to be compiled again
        return tuple(
            label if len(self.banks) == 1 else f"{label}, lengthscale x {factor:g}"
            for factor, bank in zip(self.factors, self.banks, strict=True)
            for motion in bank.motions
            for label in motion.labels
        )

    @property
    def rejects_outliers(self) -> bool:
        return bool(np.isfinite(self.outlier))

    def prepare(self, times: TimesLike | Horizon) -> "Auto":
        unit = None if isinstance(times, Horizon) else np.float64(median_step(times))
        return eqx.tree_at(lambda policy: policy.unit, self, unit, is_leaf=lambda x: x is None)

    def init(self, key: PRNGKeyArray) -> AutoState:
        return AutoState(
            tuple(
                models.init() if self.resumed is None else models.resume(self.resumed)
                for models in self.banks
            ),
            jnp.asarray(self.start),
            jnp.zeros(len(self.start)),
            self.level.init(len(self.start)),
            self.scale.init(),
            jnp.zeros(()),
            jnp.zeros((), int),
            jnp.full(GAPS, jnp.nan) if self.unit is None else None,
        )

    def ask(self, state: AutoState, time: Scalar) -> tuple[AutoState, Query]:
        return self.ask_among(state, time)

    def ask_among(
        self, state: AutoState, time: Scalar, among: Bool[Array, " n"] | None = None
    ) -> tuple[AutoState, Query]:
        mean, variance = self._expected(state, self._forecast(state, time))
        step, unit = state.step + 1, jnp.sqrt(state.scale.amplitude)
        wide = 0.8 * jnp.log(4.0 * step)
        if self.acquisition == "influence":
            moved = self._persistence(state, time)
            total = jnp.maximum(variance, 0.0) + self.noise_variance * state.scale.ratio
            bonus = jnp.sqrt(wide) * moved / jnp.sqrt(total)
        else:
            width = jnp.sqrt(jnp.minimum(wide, -0.7 * jnp.log(self.drift)))
            bonus = width[:, None] * jnp.sqrt(jnp.maximum(variance, 0.0))
        scores = self._mean(time) + state.weights @ (mean + self.exploration * unit * bonus)
        return state, largest(scores, among)

    def tell(self, state: AutoState, query: Query, reward: Scalar, time: Scalar) -> AutoState:
        forecast = self._forecast(state, time, query)
        amplitude, noise = state.scale.amplitude, self.noise_variance * state.scale.ratio
        residual = checked_reward(reward) - self._mean(time)[query]

        # predictions of the function, by member and level
        levels = self.level.given(state.level, amplitude)
        lift = 1 - forecast.mean[:, 1]
        means = forecast.mean[:, :1] + levels.mean * lift[:, None]
        variances = forecast.variance[:, None] + levels.variance * lift[:, None] ** 2
        scale = self._rescaled(state, residual, means, variances)

        mean, variance = self._expected(state, forecast)
        expected = state.weights @ mean
        ceiling = jnp.maximum(state.scale.ceiling, amplitude)
        far = ceiling * (variance + noise) + (mean - expected) ** 2
        far = self.outlier * jnp.sqrt(far.max())
        residual = expected + jnp.clip(residual - expected, -far, far)

        totals = amplitude * (variances + noise)
        surprise = -0.5 * ((residual - means) ** 2 / totals + jnp.log(totals))
        evidence = jax.nn.logsumexp(surprise, axis=1, b=levels.chance)
        weights = jax.nn.softmax(jnp.log(state.weights) + evidence)

        missed = residual - forecast.mean[:, 0]
        level = self.level.update(state.level, missed, lift, forecast.variance + noise)
        elapsed, observed = self._elapsed(state, time), jnp.stack([residual, jnp.ones(())])
        step = state.step + 1
        banks = tuple(
            models.update(own, query, observed, noise, elapsed)
            for models, own in zip(self.banks, state.banks, strict=True)
        )
        level_mean = weights @ self.level.given(level, amplitude).moments(amplitude)[0]
        shares = jnp.stack([jnp.ones(()), -level_mean])
        own = (self, banks, weights, state.changed * jnp.exp(-1 / RECENT), amplitude, shares)
        banks, changed = lockstep(_mix, step % self.mix_every == 0, own)
        return AutoState(
            banks,
            weights * (1 - self.leak) + self.leak * self.start,
            changed,
            level,
            scale,
            jnp.asarray(time, dtype=float),
            step,
            self._gaps(state, time),
        )

    def _rescaled(
        self,
        state: AutoState,
        residual: Scalar,
        means: Float[Array, "k h"],
        variances: Float[Array, "k h"],
    ) -> ScaleState:
        """Return the posterior of the scale after a reward, averaged over the members."""
        expected = state.weights @ means
        spread = state.weights @ (means - expected[None]) ** 2 / state.scale.amplitude
        grid = jnp.exp(self.scale.amplitudes)
        pooled = jax.tree.map(lambda each: jnp.full_like(grid, state.weights @ each), state.level)
        chance = self.level.given(pooled, grid).chance
        surprise, variance = jnp.asarray(residual) - expected, state.weights @ variances + spread
        return self.scale.update(state.scale, surprise, variance, chance, self.noise_variance)

    def predictive(self, state: AutoState, query: Query, time: Scalar) -> Predictive:
        """Return the distribution of a reward at one point, a mixture of Gaussians."""
        mean, variance = self._expected(state, self._forecast(state, time, query))
        noise = self.noise_variance * state.scale.ratio
        total = state.scale.amplitude * (variance + noise)
        return Predictive(state.weights, self._mean(time)[query] + mean, total)

    def predict(self, state: AutoState, time: Scalar) -> Prediction:
        mean, variance = self._expected(state, self._forecast(state, time))
        amplitude = state.scale.amplitude
        expected = state.weights @ mean
        spread = state.weights @ (mean - expected[None, :]) ** 2
        return Prediction(
            self._mean(time) + expected,
            amplitude * (state.weights @ variance) + spread,
            amplitude * state.scale.ratio * self.noise_variance,
        )

    @property
    def readings(self) -> Mapping[str, Reading]:
        return {
            "believed_drift": Reading("drift per step, geometric mean over the members"),
            "memory": Reading("steps that an observation stays useful, mean over the members"),
            "believed_amplitude": Reading("function deviation as a factor of the prior's"),
            "believed_noise": Reading("deviation of the noise, in units of the reward"),
            "change_probability": Reading("that the motion has changed within 25 steps"),
            "member_weight": Reading("probability of each member", self.labels),
        } | ({"time_step": Reading("one step, in units of time")} if self.unit is None else {})

    def read(self, state: AutoState) -> dict[str, Any]:
        drift = jnp.maximum(self.drift, LEAST_DRIFT)
        scale = state.scale
        return {
            "believed_drift": jnp.exp(state.weights @ jnp.log(drift)),
            "memory": state.weights @ jnp.minimum(1 / drift, 1.0 * state.step),
            "believed_amplitude": jnp.sqrt(scale.amplitude),
            "believed_noise": jnp.sqrt(scale.amplitude * scale.ratio * self.noise_variance),
            "change_probability": state.weights @ state.changed,
            "member_weight": state.weights,
        } | ({} if state.gaps is None else {"time_step": self._step(state.gaps, jnp.ones(()))})

    def refresh(self, state: AutoState) -> AutoState:
        pairs = zip(self.banks, state.banks, strict=True)
        return state._replace(banks=tuple(models.refresh(own) for models, own in pairs))

    @property
    def drift(self) -> Float[Array, " k"]:
        """Drift per step of the Markov drift that forgets as fast, for each member."""
        return jnp.concatenate([models.drift for models in self.banks])

    def _elapsed(self, state: AutoState, time: Scalar) -> Scalar:
        # before the first observation the posteriors are stationary: any time is equivalent
        elapsed = jnp.maximum(time - state.time, 0.0)
        if self.unit is not None:
            return elapsed / self.unit
        return elapsed / self._step(state.gaps, jnp.where(elapsed > 0, elapsed, 1.0))

    def _step(self, gaps: Float[Array, " g"] | None, otherwise: Scalar) -> Scalar:
        """Return the median of the known gaps, `otherwise` if there is none."""
        assert gaps is not None  # as `unit` is None
        median = jnp.nanmedian(gaps)
        return jnp.where(jnp.isnan(median), otherwise, median)

    def _gaps(self, state: AutoState, time: Scalar) -> Float[Array, " g"] | None:
        """Return the first differences between the times of observations, including a new one."""
        if state.gaps is None:
            return None
        gap, known = time - state.time, jnp.isfinite(state.gaps).sum()
        is_gap = (state.step > 0) & (gap > 0)
        added = state.gaps.at[known].set(gap, mode="drop")  # dropped when all places are filled
        return jnp.where(is_gap, added, state.gaps)

    def _mean(self, time: Scalar) -> Float[Array, " n"]:
        """Return the prior mean at a time."""
        mean = jnp.asarray(self.mean)
        return mean if self.profile is None else mean + self.profile(time)

    def _persistence(self, state: AutoState, time: Scalar) -> Float[Array, "k n"]:
        """Return the mean over the horizons of |Cov(f_t, f_{t+h})|, in units of the prior's."""
        elapsed, horizons = self._elapsed(state, time), HORIZONS
        each = [
            models.persistence(own, elapsed, horizons)
            for models, own in zip(self.banks, state.banks, strict=True)
        ]
        return jnp.concatenate(each)

    def _expected(self, state: AutoState, forecast: Forecast) -> tuple[Any, Any]:
        """Return each member's mean with the level, and its variance in units of the prior's."""
        amplitude = state.scale.amplitude
        level, uncertainty = self.level.given(state.level, amplitude).moments(amplitude)
        lift = 1 - forecast.mean[:, 1]
        level, uncertainty = (x.reshape(-1, *(1,) * (lift.ndim - 1)) for x in (level, uncertainty))
        return forecast.mean[:, 0] + level * lift, forecast.variance + uncertainty * lift**2

    def _forecast(self, state: AutoState, time: Scalar, query: Query | None = None) -> Forecast:
        """Return the forecasts of all members, at all points or one, without the level."""
        elapsed = self._elapsed(state, time)
        each = [
            models.posterior(own, elapsed)
            if query is None
            else models.forecast(own, query, elapsed)
            for models, own in zip(self.banks, state.banks, strict=True)
        ]
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *each)


def _mix(due: Any, own: Any) -> Any:
    """Let the members of every bank exchange information, if this step is due for it."""
    policy, banks, weights, changed, amplitude, shares = own

    def mix() -> Any:
        mixed, fresh, begin = [], [], 0
        for models, state in zip(policy.banks, banks, strict=True):
            mine = slice(begin, begin + models.count)
            begin = mine.stop
            state, new = models.mix(state, weights[mine], policy.switching, amplitude, shares)
            mixed.append(state)
            fresh.append(new)
        new = jnp.concatenate(fresh)
        return tuple(mixed), changed + (1 - changed) * new

    return jax.lax.cond(due, mix, lambda: (banks, changed))


def _features(prior: Prior, given: Features | None, factor: float) -> Features:
    """Return the given features, or features for the lengthscale times `factor`.

    Points closer together replace a longer lengthscale.
    """
    share = FEATURE_SHARE * prior.noise_variance / prior.variance.max()
    if factor == 1:
        return prior.features_or(given, tolerance=share)
    return affordable(prior.kernel, prior.domain.shrunk(factor), tolerance=share)
