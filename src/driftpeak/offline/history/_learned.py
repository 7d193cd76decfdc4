"""Estimation of a policy's prior and drift model from recorded rows."""

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
from driftpeak.gp.means import PeriodicMean
from driftpeak.gp.priors import Prior
from driftpeak.gp.transforms import TRANSFORMATIONS, Transformation, transformed
from driftpeak.offline.history._correlation import Array, Law, autocorrelation, fitted_law
from driftpeak.offline.history._in_context import ContextsLearned, learn_contexts
from driftpeak.offline.history._periodicity import (
    NEAR,
    Cycle,
    Rhythm,
    find_period,
    fit_profile,
    refined,
)
from driftpeak.offline.history._transform import find_transformation
from driftpeak.policies.auto import Auto
from driftpeak.policies.baselines import Timetable
from driftpeak.policies.in_context import InContext
from driftpeak.policies.protocol import Policy
from driftpeak.policies.transformed import Transformed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_NOISE = 0.01
"""Minimum fraction of the variance that is attributed to noise."""
MOST_PERIODS = 2
EXPLORATION = 0.5
"""Factor of the exploration bonus if the policy starts from recorded rows."""
NOUNS: dict[Transformation, str] = {"root": "roots", "log": "logarithms"}


@dataclass(frozen=True, eq=False)
class Learned:
    """Estimates from recorded rows. All refer to the transformed rewards, except `history`.

    Attributes:
        prior: means of the arms, and covariance and noise of the residual without periods and
            context effects.
        rhythms: periods with their profiles, largest first; empty if there is no significant one.
        law: the drift model of the residual, in steps of the rows.
        rows: the number of rows.
        shrinkage: intensity of the covariance's shrinkage towards equal variances.
        correlations: autocorrelations of the residual at lags 0, 1, ...
        history: the rows, as given.
        transformation: the transformation under which the rows are most predictable; often "none".
        least: lower bound of rewards before a transformation.
        contexts: the context effects, if contexts were given.
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
    def profile(self) -> PeriodicMean | None:
        """Return the sum of all periodic profiles; None if there is none."""
        if not self.rhythms:
            return None
        each = [rhythm.profile for rhythm in self.rhythms]
        return PeriodicMean(
            *(np.concatenate([getattr(profile, name) for profile in each])
              for name in ("periods", "cosines", "sines"))
        )  # fmt: skip

    def timetable(self, period: int | None = None) -> Timetable:
        """Return a baseline policy: the arm with the best mean at each step of a cycle.

        Arguments:
            period: in steps; by default the first estimated period, or 1, the best arm of all rows.
        """
        if period is None:
            period = round(self.rhythms[0].period) if self.rhythms else 1
        return Timetable(self.history, period)

    def report(self) -> str:
        """Return a description of the estimates, one per line."""
        lines = [
            f"period of {rhythm.period:g} steps: its profile, with "
            f"{len(rhythm.profile.periods)} harmonics, explains {rhythm.skill:.0%} of the variance "
            "of held-out cycles"
            for rhythm in self.rhythms
        ]
        if not lines:
            lines = ["no significant period in the rows"]
        if self.contexts is not None:
            lines.insert(0, self.contexts.report())
        if self.transformation != "none":
            lines.insert(0, f"the {NOUNS[self.transformation]} of the rewards are more "
                            "predictable; the next lines describe them")  # fmt: skip
        parts = [
            f"{share:.0%} decays within {life:g} steps"
            if np.isinf(turn)
            else f"{share:.0%} oscillates with a period of {turn:g} steps and decays "
            f"within {life:g}"
            for share, life, turn in self.law.parts
        ]
        lines.append(f"residual variance: {', '.join(parts)}, and {self.law.noise:.0%} is noise")
        lines.append(f"covariance of {len(self.prior)} arms from {self.rows} rows, "
                     f"shrunk by {self.shrinkage:.1%}")  # fmt: skip
        return "\n".join(lines)

    def figure(self) -> "Figure":
        """Draw the autocorrelation with the fitted law, and the profiles of some arms."""
        from driftpeak.offline.history._plots import learned_figure  # loads matplotlib

        return learned_figure(self)

    def policy(self, **options: Any) -> Policy:
        """Return `Auto` with these estimates; the row after the last is at time 1.

        The policy is wrapped in `Transformed` if the rewards are transformed, and in `InContext` if
        there are contexts. The contexts of the steps after the rows must then be given.

        Arguments:
            options: further arguments of `Auto`.
        """
        effects = self.contexts
        prior = self.prior if effects is None else effects.prior(self.prior)
        profile = self.profile if effects is None else effects.profile(self.profile)
        # with contexts, a row has one of several rewards of each arm
        recorded = None if effects is not None else transformed(self.history, self.transformation)
        given = {
            "recorded": recorded, "exploration": EXPLORATION,
            "motions": (self.law.motion,), "drifts": (), "rates": (), "profile": profile,
            "acquisition": "influence",
        }  # fmt: skip
        policy: Policy = Auto(prior, **(given | options))
        if self.transformation != "none":
            policy = Transformed(policy, self.transformation, least=self.least)
        return policy if effects is None else InContext(policy, effects.ahead)


@checked
def fit_history(
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
    """Estimate means, periods, covariance, drift model and noise from recorded rewards.

    Rows are steps of one unit of time. The last row is at time 0, so that a simulation with steps
    1, 2, ... continues it.

    Arguments:
        history: rewards, shape `(steps, arms)`, at least two steps.
        names: the names of the arms.
        period: a known period in steps; it is used only if it forecasts held-out cycles.
        likely: plausible periods in steps, such as a day. They are tested first, in increasing
            order. A significant period within 5 % of one of them is replaced by it.
        rhythm: whether to test for periods.
        transformation: "none", "root" or "log" of the rewards; "auto" selects the transformation
            under which the rows are significantly more predictable
            (`driftpeak.offline.history._transform`).
        contexts: the contexts of the rows and, for a policy with contexts, of the later steps.
        seed: of the simulated series without a period in the test of periods.

    Raises:
        DriftpeakError: there are fewer than two rows or arms, values are not finite, the rows are
            constant (after subtraction of context effects), the period is not positive, or a root
            or logarithm is requested for rewards that are not above 0.

    Example:
        >>> import numpy as np
        >>> import driftpeak as dp
        >>> hours = np.arange(10 * 24)[:, None]
        >>> rows = np.cos(2 * np.pi * (hours / 24 - np.arange(3) / 3))
        >>> rows = rows + 0.1 * np.random.default_rng(0).normal(size=rows.shape)
        >>> round(dp.fit_history(rows).rhythms[0].period)
        24
    """
    rows = finite_array("history", history, 2)
    seed = at_least_integer("seed", seed, 0, LARGEST_SEED)
    finite_array("likely", likely, 1)
    if len(rows) < 2 or rows.shape[1] < 2:
        raise DriftpeakError(
            f"history must have at least 2 rows and 2 arms; got {len(rows)} rows and "
            f"{rows.shape[1]} arms"
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
        least = float(rows.min() ** 2 / rows.max())  # the minimum divided by the rewards' ratio
        rows = transformed(rows, chosen)
    effects = None if contexts is None else learn_contexts(rows, contexts)
    rows = rows if effects is None else effects.rest
    mean, times = rows.mean(axis=0), np.arange(1.0 - len(rows), 1.0)
    unit = float(np.sqrt(((rows - mean) ** 2).mean()))
    if unit == 0:
        raise DriftpeakError("history must vary in time; got constant rows")
    rest = (rows - mean) / unit
    rhythms: list[Rhythm] = []
    wandering: float | None = None  # a period without a lasting profile
    for _ in range(MOST_PERIODS if rhythm else 0):
        if period is not None:
            cycle: Cycle | None = Cycle(positive("period", period), True)
        else:
            known = rhythms[0].period if rhythms else None
            further = [each for each in likely if all(each != other.period for other in rhythms)]
            cycle = find_period(rest, known=known, likely=further, seed=seed)
        if cycle is None:
            break
        best = None
        sense = [each for each in likely if abs(each / cycle.period - 1) <= NEAR]
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
        each._replace(
            profile=PeriodicMean(
                each.profile.periods, unit * each.profile.cosines, unit * each.profile.sines
            )
        )
        for each in rhythms
    )
    return Learned(prior, scaled, law, len(rows), shrinkage, correlations, given, chosen, least,
                   effects)  # fmt: skip


def ledoit_wolf(rows: Array) -> tuple[Array, float]:
    """Return the covariance of rows with mean 0, shrunk towards equal variances, and the intensity.

    Source: Ledoit and Wolf 2004, A Well-Conditioned Estimator for Large-Dimensional Covariance
    Matrices.
    """
    count, arms = rows.shape
    sample = rows.T @ rows / count
    level = sample.trace() / arms
    apart = ((sample - level * np.eye(arms)) ** 2).sum()
    squares = rows**2
    spread = ((squares.T @ squares) / count - sample**2).sum() / count
    share = float(min(spread, apart) / apart) if apart > 0 else 0.0
    return (1 - share) * sample + share * level * np.eye(arms), share
