r"""Policies with side queries: SparQ-GP-UCB and W-SparQ-GP-UCB (M25), and an adaptive policy.

An expert can re-evaluate the function *now* at points sampled before. Each of these policies has a
belief and an acquisition function, as in the GP-UCB family, and a rule for the times of queries. At
these times the expert evaluates \(Q_t = \lceil c \log^d t \rceil\) of the distinct points sampled
so far, drawn from a k-DPP on their covariance, and the answers replace all earlier observations.

All accept the options of the GP-UCB family, and

- `rate`: c above; `dimension`: d, by default that of the domain (1 for arms without coordinates);
- `asks`: query "before" the decision, about the function of the decision; or "after" the reward,
  about the function of that reward, as in M25 Algorithms 1 and 2. By the time of the decision the
  answers are then one step old;
- `multiplicity`: whether a point that has been sampled m times is drawn as m equal points,
  \(\Pr(Z) \propto \det K_Z \prod_{z \in Z} m_z\), or once. M25 Definition 3.1, on the columns of
  the observations' Gram matrix, has the multiplicities;
- `mixing`: swaps of the chain that draws the points, `dpp.mixing_steps` by default.

If fewer points have been sampled than the budget, all are queried. If the expert answers only some
queries, the belief restarts from those answers. If it answers none, earlier observations are kept:
by SparQ and W-SparQ the newest, as many as between two timely answers; by the adaptive policy all.

All raise DriftpeakError for a parameter outside its range.
"""

from typing import Any, NamedTuple, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least_integer, one_of, positive, warn
from driftpeak._core.numerics.conditionals import on_demand
from driftpeak._core.times import Horizon, TimesLike, check_times
from driftpeak._core.types import Scalar
from driftpeak.gp.forgetting import Forgetting, Injection, Keep
from driftpeak.gp.gram import Pairs
from driftpeak.gp.priors import Prior
from driftpeak.inference.beliefs import Belief
from driftpeak.policies.belief_policy import ActsByBelief, BeliefPlayer, BeliefPolicy, BeliefState
from driftpeak.policies.catalogue import policy, stored
from driftpeak.policies.dpp import draw, mixing_steps
from driftpeak.policies.player import ASKS, Asks, Player, Prediction, Query, checked_answers
from driftpeak.policies.query_times import EveryStep, Feedback, Report, Timing, Windows
from driftpeak.policies.ucb import Options
from driftpeak.theory.side_queries import side_query_budget


@stored("side-queries", BeliefPolicy.__init__)
class SideQueryPolicy(ActsByBelief):
    """A belief, an acquisition function, and a rule for the times of side queries.

    `SparQ`, `WSparQ` and `AdaptiveSparQ` return it.
    """

    acting: BeliefPolicy
    timing: Timing
    rate: float
    dimension: int
    asks: Asks
    multiplicity: bool
    mixing: int | None
    deterministic = False

    def __init__(
        self,
        prior: Prior,
        forgetting: Forgetting,
        timing: Timing,
        *,
        rate: float = 1.0,
        dimension: int | None = None,
        asks: Asks = "before",
        multiplicity: bool = False,
        mixing: int | None = None,
        **options: Unpack[Options],
    ) -> None:
        self.acting = BeliefPolicy(prior, forgetting, **options)
        if dimension is None:
            dimension = prior.domain.points.shape[1] if prior.domain.has_coordinates else 1
        self.timing = timing
        self.rate = positive("rate", rate)
        self.dimension = at_least_integer("dimension", dimension, 1)
        self.asks = one_of("asks", asks, ASKS)
        self.multiplicity = bool(multiplicity)
        self.mixing = None if mixing is None else at_least_integer("mixing", mixing, 0)

    def prepare(self, times: TimesLike | Horizon) -> "SideQueryPlayer":
        times = check_times(times)
        asked = side_query_budget(len(times), rate=self.rate, dimension=self.dimension)
        prior, points = self.acting.prior, self.points
        if asked[-1] > points:
            warn(
                f"rate={self.rate:g} makes {asked[-1]} side queries at a time, of {points} points: "
                "all points sampled before will be queried"
            )
        # before the reward of step t at most t - 1 points have been sampled
        sampled = np.arange(len(times)) + (self.asks == "after")
        budget = np.minimum(asked, np.minimum(points, sampled))
        capacity = max(1, int(budget.max()))
        timing = self.timing.prepare(times)
        steps = mixing_steps(points, capacity) if self.mixing is None else self.mixing
        return SideQueryPlayer(
            self.acting.prepare(timing.longest(times, budget)),
            self.asks,
            capacity,
            timing,
            prior.pairs,
            np.float64(prior.noise_variance),
            budget,
            self.multiplicity,
            steps,
        )


class AnsweringPlayer(Player[Any]):
    """A player whose belief is replaced by the expert's answers. Base class.

    Its state is a named tuple with the acting policy's state in `acting`.
    """

    actor: BeliefPlayer
    asks: Asks = eqx.field(static=True)
    capacity: int = eqx.field(static=True)

    @property
    def points(self) -> int:
        return self.actor.points

    @property
    def side_capacity(self) -> int:
        return self.capacity

    @property
    def consults(self) -> Asks:
        return self.asks

    def ask(self, state: Any, time: Scalar) -> tuple[Any, Query]:
        acting, query = self.actor.ask(state.acting, time)
        return state._replace(acting=acting), query

    def hear(
        self, state: Any, arms: Int[Array, " q"], answers: Any, answered: Any, time: Scalar
    ) -> Any:
        """Replace the belief by the answers alone; without answers it is unchanged."""
        checked_answers(answers, answered)
        answers, answered = jnp.asarray(answers, float), jnp.asarray(answered, bool)
        arguments = (self.actor.belief, arms, answers, answered, jnp.asarray(time, float))
        belief = on_demand(
            jnp.any(answered), belief_from_answers, state.acting.belief, arguments, together=True
        )
        return state._replace(acting=state.acting._replace(belief=belief))

    def predict(self, state: Any, time: Scalar) -> Prediction:
        return self.actor.predict(state.acting, time)

    def held(self, state: Any, time: Scalar) -> Int[Array, ""]:
        return self.actor.held(state.acting, time)

    def refresh(self, state: Any) -> Any:
        return state._replace(acting=self.actor.refresh(state.acting))


class SideQueryState(NamedTuple):
    """The acting policy's state, the visits of each point, the rule's state, and the random key."""

    acting: BeliefState
    visits: Int[Array, " n"]
    timing: Any
    key: PRNGKeyArray


class SideQueryPlayer(AnsweringPlayer):
    """A side-query policy of fixed size."""

    timing: Timing
    pairs: Pairs
    noise_variance: Any
    budget: Any  # largest number of side queries at each step
    multiplicity: bool = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    def _number(self, state: SideQueryState) -> Int[Array, ""]:
        """Return the number of the current step (from 1)."""
        return state.acting.step + (self.asks == "before")

    def init(self, key: PRNGKeyArray) -> SideQueryState:
        for_acting, for_asking = jax.random.split(key)
        visits = jnp.zeros(self.points, int)
        return SideQueryState(self.actor.init(for_acting), visits, self.timing.init(), for_asking)

    def consult(
        self, state: SideQueryState, time: Scalar
    ) -> tuple[SideQueryState, Int[Array, " q"], Bool[Array, " q"]]:
        step = self._number(state)
        key = jax.random.fold_in(state.key, step)
        times_sampled = state.visits if self.multiplicity else state.visits > 0
        size = jnp.asarray(self.budget)[step - 1]
        none = jnp.zeros(self.capacity, int), jnp.zeros(self.capacity, bool)

        def choose(_: Any, arguments: Any) -> Any:
            key, pairs, times_sampled, size = arguments
            drawn = (key, pairs.rows, pairs.diagonal, times_sampled, size)
            return draw(*drawn, capacity=self.capacity, steps=self.steps)

        due = self.timing.due(state.timing, step, time) & (size > 0)
        arms, wanted = on_demand(
            due, choose, none, (key, self.pairs, times_sampled, size), together=True
        )
        return state, arms, wanted

    def hear(
        self, state: Any, arms: Int[Array, " q"], answers: Any, answered: Any, time: Scalar
    ) -> SideQueryState:
        after = super().hear(state, arms, answers, answered, time)
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
        timing = jax.tree.map(
            lambda new, old: jnp.where(any_answer, new, old),
            self.timing.heard(state.timing, self._number(state), time, report),
            state.timing,
        )
        return after._replace(timing=timing)

    def tell(
        self, state: SideQueryState, query: Query, reward: Scalar, time: Scalar
    ) -> SideQueryState:
        return state._replace(
            acting=self.actor.tell(state.acting, query, reward, time),
            visits=state.visits.at[query].add(1),
        )


def belief_from_answers(_: Any, arguments: tuple[Belief[Any], Any, Any, Any, Any]) -> Any:
    """Return the belief from the answers alone."""
    belief, arms, answers, answered, time = arguments

    def learn(place: Any, state: Any) -> Any:
        after = belief.update(state, arms[place], answers[place], time)
        return jax.tree.map(lambda new, old: jnp.where(answered[place], new, old), after, state)

    return jax.lax.fori_loop(0, len(arms), learn, belief.init())


class SideQueryOptions(Options, total=False):
    """Options of every policy in this module."""

    rate: float
    dimension: int | None
    asks: Asks
    multiplicity: bool
    mixing: int | None


@policy(
    "sparq", memory="only the expert's answers (:doc:`side-queries`)", width="``Heteroscedastic``"
)
@checked
def SparQ(prior: Prior, **options: Unpack[SideQueryOptions]) -> SideQueryPolicy:
    r"""SparQ-GP-UCB: query at every step, and use the answers alone (M25 Algorithm 1).

    As published: `asks="after", multiplicity=True, width=widths.Heteroscedastic(...)`. If the
    expert does not answer, observations age as under Brownian drift, \(h(a) = 1 + a\).

    Arguments:
        prior: domain, kernel, mean and noise variance.
        options: rate, dimension, asks, multiplicity, mixing (`driftpeak.policies.side_queries`),
            and those of the GP-UCB family.

    Raises:
        DriftpeakError: a parameter outside its range.

    Source: M25 Algorithm 1, (20)-(22).
    """
    return SideQueryPolicy(prior, Injection(1.0), EveryStep(), **options)


@policy(
    "w-sparq",
    memory="as SparQ, and ``Injection`` within windows",
    width="``Heteroscedastic``",
    schedule="windows from alpha",
    defaults={"exponent": 1.0},
)
@checked
def WSparQ(
    prior: Prior,
    *,
    exponent: float,
    a: float = 0.25,
    slope: float = 1.0,
    **options: Unpack[SideQueryOptions],
) -> SideQueryPolicy:
    r"""W-SparQ-GP-UCB: query at the starts of windows that grow with time (M25 Algorithm 2).

    Within a window the rewards are added to the answers, and all age by uncertainty injection,
    \(h = 1 + c\,\mathrm{age}^\alpha\).

    As published: `asks="after", multiplicity=True, width=widths.Heteroscedastic(...)`.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        exponent: alpha > 0, the exponent of the drift.
        a: in (0, 1/3); windows grow as t^(a / alpha).
        slope: c of the injected noise, 1 in M25.
        options: rate, dimension, asks, multiplicity, mixing (`driftpeak.policies.side_queries`),
            and those of the GP-UCB family.

    Raises:
        DriftpeakError: a parameter outside its range.

    Source: M25 Algorithm 2, (32).
    """
    return SideQueryPolicy(prior, Injection(exponent, slope), Windows(exponent, a), **options)


@policy("adaptive-sparq", memory="as SparQ, and ``Keep`` within windows; not published")
@checked
def AdaptiveSparQ(
    prior: Prior, *, a: float = 0.25, **options: Unpack[SideQueryOptions]
) -> SideQueryPolicy:
    r"""W-SparQ with windows estimated from the answers instead of alpha. Not in the papers.

    W-SparQ's windows keep the injected noise below \(\lambda t^a\) if alpha is known. This policy
    measures it each time the expert answers, and lengthens or shortens the next window accordingly:
    see `Feedback`. Within a window nothing is forgotten.

    Arguments:
        prior: domain, kernel, mean and noise variance.
        a: in (0, 1/3), as for `WSparQ`.
        options: rate, dimension, asks, multiplicity, mixing (`driftpeak.policies.side_queries`),
            and those of the GP-UCB family.

    Raises:
        DriftpeakError: a parameter outside its range.
    """
    return SideQueryPolicy(prior, Keep(), Feedback(a), **options)
