r"""Policies that may ask an expert: SparQ-GP-UCB and W-SparQ-GP-UCB (M25), and an adaptive one.

An expert can re-evaluate the function *now* at points sampled before. Each of these policies is a
belief and an acquisition, as the GP-UCB family, and a rule that says when to ask: then the expert
is asked about \(Q_t = \lceil c \log^d t \rceil\) of the distinct points sampled so far, drawn from
a k-DPP on their covariance, and the answers replace all that was believed.

All take the options of the GP-UCB family, and

- `rate`: c above; `dimension`: d, by default the domain's (1 for arms without coordinates);
- `mixing`: swaps of the chain that draws the points, `determinantal.mixing_steps` by default.

Where fewer points have been sampled than they may ask about, they ask about all. If the expert
answers only some, the belief starts again from those; if none, the policy goes on with what it has:
SparQ and W-SparQ with the newest of as many observations as between two timely answers, the
adaptive policy with all.

All raise DriftpeakError for a parameter outside its range.
"""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from driftpeak.beliefs import Belief, check_times
from driftpeak.determinantal import draw, mixing_steps
from driftpeak.errors import at_least_integer, positive
from driftpeak.forgetting import AtMost, Forgetting, Injection, Keep, Times, TimesLike
from driftpeak.numerics.conditionals import on_demand
from driftpeak.policies.belief_policy import BeliefPlayer, BeliefPolicy, BeliefState
from driftpeak.policies.player import Player, Prediction, Query, Scalar, checked_answers
from driftpeak.policies.protocol import Policy
from driftpeak.policies.ucb import Options
from driftpeak.priors import Prior
from driftpeak.theory.side_queries import checked_share, side_query_budget, side_query_windows


class Timing(eqx.Module):
    """When to ask the expert."""

    def prepare(self, times: Times) -> "Timing":
        """The rule made ready for decisions at `times`."""
        return self

    @abstractmethod
    def longest(self, times: Times, budget: Any) -> int:
        """The most observations in memory at once, answers included, if the expert answers."""

    def init(self) -> Any:
        """The rule's state before the first decision."""
        return ()

    @abstractmethod
    def due(self, state: Any, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        """Whether to ask before decision number `step` (from 1), made at `time`."""

    def heard(self, state: Any, step: Scalar, time: Scalar, report: "Report") -> Any:
        """The state after answers."""
        return state


class Report(NamedTuple):
    """The expert's answers beside what had been expected of them."""

    answers: Float[Array, " q"]
    answered: Bool[Array, " q"]
    mean: Float[Array, " q"]
    variance: Float[Array, " q"]  # without noise
    noise_variance: Any


class EveryStep(Timing):
    """SparQ: always (M25 Algorithm 1)."""

    def longest(self, times: Times, budget: Any) -> int:
        return int(budget.max()) + 1

    def due(self, state: Any, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        return jnp.asarray(True)


class Windows(Timing):
    """W-SparQ: at the starts of M25's windows (32): `theory.side_queries.side_query_windows`."""

    exponent: Any
    a: Any
    starts: Any

    def __init__(self, exponent: float, a: float, starts: Any = None) -> None:
        side_query_windows(1, exponent=exponent, a=a)  # for its checks
        self.exponent, self.a = np.float64(exponent), np.float64(a)
        self.starts = np.zeros(0, bool) if starts is None else starts

    def prepare(self, times: Times) -> "Windows":
        starts = side_query_windows(times, exponent=float(self.exponent), a=float(self.a))
        return Windows(float(self.exponent), float(self.a), starts)

    def longest(self, times: Times, budget: Any) -> int:
        window = np.cumsum(self.starts) - 1
        lengths, answers = np.bincount(window), budget[np.flatnonzero(self.starts)]
        return int((lengths + answers).max())

    def due(self, state: Any, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        return jnp.asarray(self.starts)[step - 1]


class Length(NamedTuple):
    """When the expert answered last, and how long to wait."""

    last: Float[Array, ""]
    length: Float[Array, ""]


class Feedback(Timing):
    r"""As soon as the answers are expected to be as far off as M25's analysis can bear.

    Each time the expert answers, the errors r of what was expected of the answers estimate the
    variance v that the drift since the last answers has injected, in excess of the belief's own:

    \(v = \sum_i w_i (r_i^2 - s_i^2) / \sum_i w_i\), with \(s_i^2 = \sigma^2(x_i) + \lambda\) and
    \(w_i = s_i^{-4}\).

    W-SparQ's windows keep it below \(\lambda\,t^a\), if alpha is right. The next window is
    \(\sqrt{\lambda t^a / v}\) times as long as the last, at least half and at most twice: if v
    grows as the alpha-th power of the length, \(\log(v / \lambda t^a)\) shrinks by the factor
    \(1 - \alpha/2\) each time, for every alpha that there is (in (0, 2], see
    `environments.InjectedDrift`).
    """

    a: Any

    def __init__(self, a: float) -> None:
        self.a = np.float64(checked_share(a))

    def longest(self, times: Times, budget: Any) -> int:
        return len(times) + int(budget.max())

    def init(self) -> Length:
        return Length(jnp.asarray(-jnp.inf), jnp.zeros(()))

    def due(self, state: Length, step: Scalar, time: Scalar) -> Bool[Array, ""]:
        return time >= state.last + state.length

    def heard(self, state: Length, step: Scalar, time: Scalar, report: Report) -> Length:
        time = jnp.asarray(time, float)
        variance = jnp.maximum(report.variance, 0.0) + report.noise_variance
        weights = jnp.where(report.answered, variance**-2, 0.0)
        errors = jnp.where(report.answered, (report.answers - report.mean) ** 2 - variance, 0.0)
        injected = jnp.sum(weights * errors) / weights.sum()
        bearable = report.noise_variance * jnp.asarray(step, float) ** self.a
        factor = jnp.sqrt(bearable / jnp.maximum(injected, bearable / 4))
        # the first answers come after no window: ask again at the next step, whatever its time
        elapsed = jnp.where(jnp.isfinite(state.last), time - state.last, 0.0)
        return Length(time, elapsed * jnp.maximum(factor, 0.5))


class SideQueryPolicy(Policy):
    """A belief, an acquisition, and a rule that says when to ask the expert.

    Made by `SparQ`, `WSparQ` and `AdaptiveSparQ`.
    """

    acting: BeliefPolicy
    timing: Timing
    rate: float
    dimension: int
    mixing: int | None

    def __init__(
        self,
        prior: Prior,
        forgetting: Forgetting,
        timing: Timing,
        *,
        rate: float = 1.0,
        dimension: int | None = None,
        mixing: int | None = None,
        **options: Unpack[Options],
    ) -> None:
        self.acting = BeliefPolicy(prior, forgetting, **options)
        if dimension is None:
            dimension = prior.domain.points.shape[1] if prior.domain.has_coordinates else 1
        self.timing = timing
        self.rate = positive("rate", rate)
        self.dimension = at_least_integer("dimension", dimension, 1)
        self.mixing = None if mixing is None else at_least_integer("mixing", mixing, 0)

    @property
    def points(self) -> int:
        return self.acting.points

    @property
    def assumed(self) -> Mapping[str, float]:
        return self.acting.assumed

    def prepare(self, times: TimesLike | AtMost) -> "SideQueryPlayer":
        times = check_times(times)
        asked = side_query_budget(len(times), rate=self.rate, dimension=self.dimension)
        prior, points = self.acting.prior, self.points
        if asked[-1] > points:
            warnings.warn(
                f"rate={self.rate:g} makes {asked[-1]} side queries at a time, of {points} points: "
                "all points sampled before will be asked about",
                stacklevel=2,
            )
        # before step t at most t - 1 points have been sampled
        budget = np.minimum(asked, np.minimum(points, np.arange(len(times))))
        capacity = max(1, int(budget.max()))
        timing = self.timing.prepare(times)
        steps = mixing_steps(points, capacity) if self.mixing is None else self.mixing
        return SideQueryPlayer(
            self.acting.prepare(timing.longest(times, budget)),
            timing,
            prior.gram,
            np.float64(prior.noise_variance),
            budget,
            capacity,
            steps,
        )


class SideQueryState(NamedTuple):
    """What the acting policy knows, which points it has sampled, and when it will ask."""

    acting: BeliefState
    sampled: Bool[Array, " n"]
    timing: Any
    key: PRNGKeyArray


class SideQueryPlayer(Player[SideQueryState]):
    """A side-query policy of fixed size."""

    actor: BeliefPlayer
    timing: Timing
    gram: Any
    noise_variance: Any
    budget: Any  # the most side queries before each decision
    capacity: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    @property
    def points(self) -> int:
        return self.actor.points

    @property
    def side_capacity(self) -> int:
        return self.capacity

    def init(self, key: PRNGKeyArray) -> SideQueryState:
        for_acting, for_asking = jax.random.split(key)
        sampled = jnp.zeros(self.points, bool)
        return SideQueryState(self.actor.init(for_acting), sampled, self.timing.init(), for_asking)

    def consult(
        self, state: SideQueryState, time: Scalar
    ) -> tuple[SideQueryState, Int[Array, " q"], Bool[Array, " q"]]:
        step = state.acting.step + 1
        key = jax.random.fold_in(state.key, step)
        size = jnp.asarray(self.budget)[step - 1]
        none = jnp.zeros(self.capacity, int), jnp.zeros(self.capacity, bool)

        def choose(_: Any, arguments: Any) -> Any:
            return draw(*arguments, capacity=self.capacity, steps=self.steps)

        due = self.timing.due(state.timing, step, time) & (size > 0)
        arms, wanted = on_demand(
            due, choose, none, (key, self.gram, state.sampled, size), together=True
        )
        return state, arms, wanted

    def hear(
        self,
        state: SideQueryState,
        arms: Int[Array, " q"],
        answers: Any,
        answered: Any,
        time: Scalar,
    ) -> SideQueryState:
        checked_answers(answers, answered)
        answers, answered = jnp.asarray(answers, float), jnp.asarray(answered, bool)
        any_answer = jnp.any(answered)
        expected = self.actor.belief.posterior(state.acting.belief, time)
        report = Report(
            answers,
            answered,
            expected.mean[arms],
            expected.variance[arms],
            self.noise_variance,
        )
        arguments = (self.actor.belief, arms, answers, answered, jnp.asarray(time, float))
        belief = on_demand(any_answer, _believe_anew, state.acting.belief, arguments, together=True)
        timing = jax.tree.map(
            lambda new, old: jnp.where(any_answer, new, old),
            self.timing.heard(state.timing, state.acting.step + 1, time, report),
            state.timing,
        )
        return state._replace(acting=state.acting._replace(belief=belief), timing=timing)

    def ask(self, state: SideQueryState, time: Scalar) -> tuple[SideQueryState, Query]:
        acting, query = self.actor.ask(state.acting, time)
        return state._replace(acting=acting), query

    def tell(
        self, state: SideQueryState, query: Query, reward: Scalar, time: Scalar
    ) -> SideQueryState:
        return state._replace(
            acting=self.actor.tell(state.acting, query, reward, time),
            sampled=state.sampled.at[query].set(True),
        )

    def predict(self, state: SideQueryState, time: Scalar) -> Prediction:
        return self.actor.predict(state.acting, time)

    def held(self, state: SideQueryState, time: Scalar) -> Int[Array, ""]:
        return self.actor.held(state.acting, time)

    def refresh(self, state: SideQueryState) -> SideQueryState:
        return state._replace(acting=self.actor.refresh(state.acting))


def _believe_anew(_: Any, arguments: tuple[Belief[Any], Any, Any, Any, Any]) -> Any:
    """The belief from the answers alone."""
    belief, arms, answers, answered, time = arguments

    def learn(place: Any, state: Any) -> Any:
        after = belief.update(state, arms[place], answers[place], time)
        return jax.tree.map(lambda new, old: jnp.where(answered[place], new, old), after, state)

    return jax.lax.fori_loop(0, len(arms), learn, belief.init())


class SideQueryOptions(Options, total=False):
    """What every policy here accepts."""

    rate: float
    dimension: int | None
    mixing: int | None


def SparQ(prior: Prior, **options: Unpack[SideQueryOptions]) -> SideQueryPolicy:
    r"""SparQ-GP-UCB: ask at every step, and believe the answers alone (M25 Algorithm 1).

    M25 asks after each reward, about the function of that step, and uses the answers for the next
    decision; here the answers are about the function of the decision itself. Its width is
    `widths.Heteroscedastic(...)`. Where the expert does not answer, observations age as under
    Brownian drift, \(h(a) = 1 + a\).
    """
    return SideQueryPolicy(prior, Injection(1.0), EveryStep(), **options)


def WSparQ(
    prior: Prior,
    *,
    exponent: float,
    a: float = 0.25,
    slope: float = 1.0,
    **options: Unpack[SideQueryOptions],
) -> SideQueryPolicy:
    r"""W-SparQ-GP-UCB: ask at the starts of windows that grow with time (M25 Algorithm 2).

    Within a window the rewards are added to the answers, and all age by uncertainty injection,
    \(h = 1 + c\,\mathrm{age}^\alpha\).

    Arguments:
        exponent: alpha > 0; how fast the function moves.
        a: in (0, 1/3); windows grow as t^(a / alpha).
        slope: c of the injected noise, 1 in M25.

    The width of M25 is `widths.Heteroscedastic(...)`.
    """
    return SideQueryPolicy(prior, Injection(exponent, slope), Windows(exponent, a), **options)


def AdaptiveSparQ(
    prior: Prior, *, a: float = 0.25, **options: Unpack[SideQueryOptions]
) -> SideQueryPolicy:
    r"""W-SparQ with windows from what the answers show, not from alpha. Not in the papers.

    Where W-SparQ's windows keep the injected noise below \(\lambda t^a\) if alpha is known, these
    measure it, each time the expert answers, and lengthen or shorten the next window accordingly:
    see `Feedback`. Within a window nothing is forgotten.

    Arguments:
        a: in (0, 1/3), as for `WSparQ`.
    """
    return SideQueryPolicy(prior, Keep(), Feedback(a), **options)
