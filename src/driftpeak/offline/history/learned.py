"""Learn from recorded rows what a policy needs to believe at the start."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    LARGEST_SEED,
    DriftpeakError,
    at_least_integer,
    finite_array,
    positive,
    shown,
)
from driftpeak.gp import kernels
from driftpeak.gp.context_points import Contexts
from driftpeak.gp.domains import Arms
from driftpeak.gp.means import Profile
from driftpeak.gp.priors import Prior
from driftpeak.gp.transforms import TRANSFORMATIONS, Transformation, transformed
from driftpeak.offline.history.correlation import Array, Law, autocorrelation, fitted_law
from driftpeak.offline.history.in_context import ContextsLearned, learn_contexts
from driftpeak.offline.history.periodicity import (
    NEAR,
    Cycle,
    Rhythm,
    find_period,
    fit_profile,
    refined,
)
from driftpeak.offline.history.transform import find_transformation
from driftpeak.policies.auto import Auto
from driftpeak.policies.baselines import Timetable
from driftpeak.policies.in_context import InContext
from driftpeak.policies.protocol import Policy
from driftpeak.policies.transformed import Transformed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_NOISE = 0.01
"""Share of the variance that counts as noise at least."""
MOST_PERIODS = 2
NOUNS: dict[Transformation, str] = {"root": "roots", "log": "logarithms"}


@dataclass(frozen=True, eq=False)
class Learned:
    """What recorded rows say.

    Attributes:
        prior: means, covariance between arms and noise of what remains beside the rhythms and the
            contexts' offsets; of the transformed rewards, as all of this is.
        rhythms: periods with their profiles, largest first; none if the rows repeat nothing.
        law: how what remains moves, in steps of the rows.
        rows: how many were learned from.
        shrinkage: of the covariance towards equal variances.
        correlations: of what remains, at lags 0, 1, ...
        history: the rows, as they were given.
        transformation: under which the rows are easier to foretell; "none" for most.
        least: the smallest reward that is believed, if they are transformed.
        contexts: what each context adds to the arms' means, if any were given.
    """

    prior: Prior
    rhythms: tuple[Rhythm, ...]
    law: Law
    rows: int
    shrinkage: float
    correlations: Array = field(repr=False)
    history: Array = field(repr=False)
    transformation: Transformation = "none"
    least: float = 0.0
    contexts: ContextsLearned | None = None

    @property
    def profile(self) -> Profile | None:
        """All rhythms together."""
        if not self.rhythms:
            return None
        each = [rhythm.profile for rhythm in self.rhythms]
        return Profile(
            *(np.concatenate([getattr(one, name) for one in each])
              for name in ("periods", "cosines", "sines"))
        )  # fmt: skip

    def timetable(self, period: int | None = None) -> Timetable:
        """The yardstick: the arm that was best at this time of a cycle.

        Arguments:
            period: in steps; by default the first that was found, or 1: the best arm of all rows.
        """
        if period is None:
            period = round(self.rhythms[0].period) if self.rhythms else 1
        return Timetable(self.history, period)

    def report(self) -> str:
        """What was found, in words; one finding a line."""
        lines = [
            f"period of {one.period:g} steps: its profile, with {len(one.profile.periods)} "
            f"harmonics, explains {one.skill:.0%} of the variance of cycles held out"
            for one in self.rhythms
        ]
        if not lines:
            lines = ["no period: the rows repeat nothing, or not often enough to tell"]
        if self.contexts is not None:
            lines.insert(0, self.contexts.report())
        if self.transformation != "none":
            lines.insert(0, f"the {NOUNS[self.transformation]} of the rewards are easier to "
                            "foretell; what follows is of these")  # fmt: skip
        parts = [
            f"{share:.0%} decays within {life:g} steps"
            if np.isinf(turn)
            else f"{share:.0%} oscillates with a period of {turn:g} steps and decays "
            f"within {life:g}"
            for share, life, turn in self.law.parts
        ]
        lines.append(f"of what remains {', '.join(parts)}, and {self.law.noise:.0%} is noise")
        lines.append(f"covariance of {len(self.prior)} arms from {self.rows} rows, "
                     f"shrunk by {self.shrinkage:.1%}")  # fmt: skip
        return "\n".join(lines)

    def figure(self) -> "Figure":
        """Draw the autocorrelation with the fitted law, and the profiles of some arms."""
        from driftpeak.offline.history.plots import learned_figure  # matplotlib only where it draws

        return learned_figure(self)

    def policy(self, **options: Any) -> Policy:
        """`Auto` that begins with all of this; the row after the last is at time 1.

        Behind `Transformed`, if the rewards are easier to foretell so, and `InContext`, if they
        came in contexts: of the steps after the rows, which must have been given then.
        """
        found = self.contexts
        prior = self.prior if found is None else found.prior(self.prior)
        profile = self.profile if found is None else found.profile(self.profile)
        given = {
            "motions": (self.law.motion,), "drifts": (), "rates": (), "profile": profile,
            "acquisition": "influence",
        }  # fmt: skip
        policy: Policy = Auto(prior, **(given | options))
        if self.transformation != "none":
            policy = Transformed(policy, self.transformation, least=self.least)
        return policy if found is None else InContext(policy, found.ahead)


@checked
def learn(
    history: Any,
    names: Sequence[str] | None = None,
    *,
    period: float | None = None,
    likely: Sequence[float] = (),
    rhythm: bool = True,
    transformation: str = "auto",
    contexts: Contexts | None = None,
    seed: int = 0,
) -> Learned:
    """What recorded rewards say of those to come.

    Rows are steps of one unit of time; the last is at time 0, so that a simulation, whose steps are
    1, 2, ..., goes on from there.

    Arguments:
        history: rewards, shape `(steps, arms)`, at least two steps.
        names: of the arms.
        period: in steps, if it is known; it is used only as far as it forecasts held-out cycles.
        likely: periods in steps that are plausible, such as a day. They are tested first, the
            shortest first. Another period that is found within 5 % of one is replaced by it.
        rhythm: whether to look for one at all.
        transformation: "none", "root" or "log" of the rewards; "auto" for that under which the
            rows are easier to foretell beyond doubt (`driftpeak.offline.history.transform`).
        contexts: of the rows and, for a policy that knows them, of the steps after them.
        seed: of the series without rhythm that the rows are held against.

    Raises:
        DriftpeakError: fewer than two rows or arms, values that are not finite, rows that
            never vary (beside the contexts), a period that is not positive, a root or logarithm of
            rewards that are not above 0.

    Example:
        >>> import numpy as np
        >>> import driftpeak as dp
        >>> hours = np.arange(10 * 24)[:, None]
        >>> rows = np.cos(2 * np.pi * (hours / 24 - np.arange(3) / 3))
        >>> rows = rows + 0.1 * np.random.default_rng(0).normal(size=rows.shape)
        >>> round(dp.learn(rows).rhythms[0].period)
        24
    """
    rows = finite_array("history", history, 2)
    seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
    finite_array("likely", likely, 1)
    if len(rows) < 2 or rows.shape[1] < 2:
        raise DriftpeakError(
            f"learning needs at least 2 rows of at least 2 arms; got {len(rows)} of {rows.shape[1]}"
        )
    given = rows
    chosen = find_transformation(rows) if transformation == "auto" else transformation
    if chosen not in TRANSFORMATIONS:
        raise DriftpeakError(
            f"transformation must be auto or one of {', '.join(TRANSFORMATIONS)}; got "
            f"{shown(transformation)}"
        )
    least = 0.0
    if chosen != "none":
        if rows.min() <= 0:
            raise DriftpeakError(
                f"{NOUNS[chosen]} need rewards above 0; got {rows.min():g}. Add a "
                'constant to all of them, or give transformation="none"'
            )
        least = float(rows.min() ** 2 / rows.max())  # as far below all as these are apart
        rows = transformed(rows, chosen)
    told = None if contexts is None else learn_contexts(rows, contexts)
    rows = rows if told is None else told.rest
    mean, times = rows.mean(axis=0), np.arange(1.0 - len(rows), 1.0)
    unit = float(np.sqrt(((rows - mean) ** 2).mean()))
    if unit == 0:
        raise DriftpeakError("the rows never vary, so nothing can be learned of how they move")
    rest = (rows - mean) / unit
    rhythms: list[Rhythm] = []
    wandering: float | None = None  # a period without a lasting profile
    for _ in range(MOST_PERIODS if rhythm else 0):
        if period is not None:
            cycle: Cycle | None = Cycle(positive("period", period), True)
        else:
            known = rhythms[0].period if rhythms else None
            further = [one for one in likely if all(one != other.period for other in rhythms)]
            cycle = find_period(rest, known=known, likely=further, seed=seed)
        if cycle is None:
            break
        best = None
        sense = [one for one in likely if abs(one / cycle.period - 1) <= NEAR]
        if period is not None or cycle.period in sense:
            best = fit_profile(rest, times, cycle.period)
        elif cycle.lasting:
            best = (
                fit_profile(rest, times, sense[0]) if sense else refined(rest, times, cycle.period)
            )
        if best is None:
            wandering = cycle.period
            break
        rest = rest - best.profile.at(times)
        rest = rest - rest.mean(axis=0)
        rhythms.append(best)
        if period is not None:
            break
    correlations = autocorrelation(rest, len(rest) // 2)
    turning = rhythms[0].period if rhythms else wandering
    law = fitted_law(correlations, len(rest), turning)
    covariance, shrinkage = ledoit_wolf(rest)
    noise = max(law.noise, LEAST_NOISE) * float(covariance.diagonal().mean())
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values - noise, 1e-6 * values.max())
    covariance = (vectors * values) @ vectors.T
    kernel = kernels.Table(unit**2 * (covariance + covariance.T) / 2)
    prior = Prior(Arms(rows.shape[1], names), kernel, unit**2 * noise, mean)
    scaled = tuple(
        one._replace(
            profile=Profile(
                one.profile.periods, unit * one.profile.cosines, unit * one.profile.sines
            )
        )
        for one in rhythms
    )
    return Learned(prior, scaled, law, len(rows), shrinkage, correlations, given, chosen, least,
                   told)  # fmt: skip


def ledoit_wolf(rows: Array) -> tuple[Array, float]:
    """The covariance of rows with mean 0, shrunk towards equal variances, and by how much.

    Ledoit and Wolf 2004, A Well-Conditioned Estimator for Large-Dimensional Covariance Matrices.
    """
    count, arms = rows.shape
    sample = rows.T @ rows / count
    level = sample.trace() / arms
    apart = ((sample - level * np.eye(arms)) ** 2).sum()
    squares = rows**2
    spread = ((squares.T @ squares) / count - sample**2).sum() / count
    share = float(min(spread, apart) / apart) if apart > 0 else 0.0
    return (1 - share) * sample + share * level * np.eye(arms), share
