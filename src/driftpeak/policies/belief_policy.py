"""The GP-UCB family: a posterior under a forgetting rule and an acquisition function."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import one_of
from driftpeak._core.times import Horizon, TimesLike, check_times, median_step
from driftpeak._core.types import Scalar
from driftpeak.gp.dynamics import HORIZONS
from driftpeak.gp.features import Features
from driftpeak.gp.forgetting import Drift, Forgetting
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs import FORMS, Belief, Form, make_belief
from driftpeak.policies.catalogue import stored
from driftpeak.policies.player import Player, Prediction, Query, checked_reward, largest
from driftpeak.policies.protocol import Policy
from driftpeak.policies.widths import ScaledLog, Width

AcquisitionName = Literal["ucb", "influence", "thompson"]
ACQUISITIONS: tuple[AcquisitionName, ...] = ("ucb", "influence", "thompson")


class Acquisition(eqx.Module):
    """An acquisition function: a score of every point, the largest of which is sampled."""

    random: ClassVar[bool] = False
    """Whether scores depend on the key."""

    @abstractmethod
    def __call__(
        self, belief: Belief[Any], state: Any, time: Scalar, step: Scalar, key: PRNGKeyArray
    ) -> Float[Array, " n"]:
        """Return the scores at decision number `step` (from 1)."""


class UpperConfidenceBound(Acquisition):
    """The acquisition function mean + width * deviation."""

    width: Width

    def __call__(
        self, belief: Belief[Any], state: Any, time: Scalar, step: Scalar, key: PRNGKeyArray
    ) -> Float[Array, " n"]:
        posterior = belief.posterior(state, time)
        return posterior.mean + self.width(step, posterior) * posterior.deviation


class Influence(Acquisition):
    r"""An acquisition function whose bonus is the effect of an observation on later forecasts.

    The bonus is the mean over `HORIZONS`, H,

    \[\frac{1}{|H|} \sum_{h \in H}
        \frac{|\mathrm{Cov}(f_{t+h}(x), f_t(x))|}{\sqrt{\sigma^2 + \lambda / w_h}},\]

    with the posterior covariance, the posterior variance \(\sigma^2\) of \(f_t(x)\), and \(w_h\)
    the weight of the observation h steps later. Absolute values are used because covariances of
    opposite signs, as of an oscillation at different phases, must not cancel. Points whose
    observations are forgotten soon get no bonus. This acquisition function is not from the papers.
    """

    width: Width
    unit: Scalar  # one step, in units of time

    def __call__(
        self, belief: Belief[Any], state: Any, time: Scalar, step: Scalar, key: PRNGKeyArray
    ) -> Float[Array, " n"]:
        posterior, rule = belief.posterior(state, time), belief.forgetting
        variance, bonus = jnp.maximum(posterior.variance, 0.0), jnp.zeros(belief.points)
        for steps in HORIZONS:
            ahead = steps * self.unit
            weight = rule.remaining(time, ahead, steps)
            moved = jnp.abs(belief.persistence(state, time, ahead)) * jnp.sqrt(weight)
            moved = moved / jnp.sqrt(variance * weight + belief.prior.noise_variance)
            bonus = bonus + moved / len(HORIZONS)
        return posterior.mean + self.width(step, posterior) * bonus


class ThompsonSampling(Acquisition):
    """Thompson sampling: a draw from the posterior (Thompson 1933; Chowdhury and Gopalan 2017)."""

    random = True

    def __call__(
        self, belief: Belief[Any], state: Any, time: Scalar, step: Scalar, key: PRNGKeyArray
    ) -> Float[Array, " n"]:
        return belief.sample(state, time, key)


class BeliefState(NamedTuple):
    """The state of the belief, the number of decisions, and the random key."""

    belief: Any
    step: Int[Array, ""]
    key: PRNGKeyArray


class ActsByBelief(RecordsArguments, Policy):
    """A policy whose decisions are those of a `BeliefPolicy`, `acting`. Base class."""

    acting: eqx.AbstractVar["BeliefPolicy"]

    @property
    def points(self) -> int:
        return self.acting.points

    @property
    def deterministic(self) -> bool:
        return self.acting.deterministic

    @property
    def assumed(self) -> Mapping[str, float]:
        return self.acting.assumed


@stored("belief-policy")
class BeliefPolicy(Policy):
    """A policy that samples the first maximiser of an acquisition function of a belief.

    The constructors in `driftpeak.policies.ucb` return it.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        forgetting: a rule of `driftpeak.gp.forgetting`.
        width: width of exploration, `widths.ScaledLog(0.8, 4)` by default (B16 section 5).
        acquisition: "ucb"; "thompson", a draw from the posterior; or "influence", to explore where
            observations inform later steps (`Influence`).
        form: "auto", "feature-space" or "function-space" (`driftpeak.inference.beliefs.choice`).
        features: a factor of the covariance to use instead of pivoted Cholesky.

    Raises:
        DriftpeakError: an unknown acquisition or form.
    """

    prior: Prior
    forgetting: Forgetting
    width: Width
    acquisition: AcquisitionName
    form: Form
    features: Features | None
    chooses_among = True

    @checked
    def __init__(
        self,
        prior: Prior,
        forgetting: Forgetting,
        *,
        width: Width | None = None,
        acquisition: AcquisitionName = "ucb",
        form: Form = "auto",
        features: Features | None = None,
    ) -> None:
        self.prior = prior
        self.forgetting = forgetting
        self.width = ScaledLog() if width is None else width
        self.acquisition = one_of("acquisition", acquisition, ACQUISITIONS)
        self.form = one_of("form", form, FORMS)
        self.features = features

    @property
    def points(self) -> int:
        return len(self.prior)

    @property
    def deterministic(self) -> bool:
        return self.acquisition != "thompson"

    @property
    def assumed(self) -> Mapping[str, float]:
        rule = self.forgetting
        return {"drift": float(rule.drift)} if isinstance(rule, Drift) else {}

    def prepare(self, times: TimesLike | Horizon) -> "BeliefPlayer":
        known = check_times(times)
        constant = self.forgetting.reweighting == "never"
        most = self.forgetting.memory(known) if constant else len(known)
        self.width.check(self.prior, most)
        belief = self._belief(times)
        acquisitions: dict[str, Acquisition] = {
            "ucb": UpperConfidenceBound(self.width),
            "influence": Influence(self.width, np.float64(median_step(times))),
            "thompson": ThompsonSampling(),
        }
        return BeliefPlayer(belief, acquisitions[self.acquisition])

    def _belief(self, times: TimesLike | Horizon) -> Belief[Any]:
        """Return the belief for observations at `times`."""
        form = self.form
        if self.acquisition == "thompson" and form == "auto" and self.prior.by_row:
            form = "feature-space" if self.forgetting.markov else form  # other draws need n^2
        return make_belief(self.prior, self.forgetting, times, form=form, features=self.features)


class BeliefPlayer(Player[BeliefState]):
    """The player of a belief and an acquisition function, of fixed size."""

    belief: Belief[Any]
    acquisition: Acquisition

    @property
    def points(self) -> int:
        return self.belief.points

    def init(self, key: PRNGKeyArray) -> BeliefState:
        return BeliefState(self.belief.init(), jnp.zeros((), int), key)

    def ask(self, state: BeliefState, time: Scalar) -> tuple[BeliefState, Query]:
        return self.ask_among(state, time)

    def ask_among(
        self, state: BeliefState, time: Scalar, among: Bool[Array, " n"] | None = None
    ) -> tuple[BeliefState, Query]:
        step = state.step + 1
        key, own = jax.random.split(state.key) if self.acquisition.random else 2 * (state.key,)
        scores = self.acquisition(self.belief, state.belief, time, step, own)
        return BeliefState(state.belief, step, key), largest(scores, among)

    def tell(self, state: BeliefState, query: Query, reward: Scalar, time: Scalar) -> BeliefState:
        belief = self.belief.update(state.belief, query, checked_reward(reward), time)
        return state._replace(belief=belief)

    def predict(self, state: BeliefState, time: Scalar) -> Prediction:
        posterior = self.belief.posterior(state.belief, time)
        return Prediction(posterior.mean, posterior.variance, self.belief.prior.noise_variance)

    def held(self, state: BeliefState, time: Scalar) -> Int[Array, ""]:
        return self.belief.posterior(state.belief, time).observations

    def refresh(self, state: BeliefState) -> BeliefState:
        return state._replace(belief=self.belief.refresh(state.belief))
