"""The default policy: a drifting Gaussian process that learns its hyperparameters online."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, shown
from driftpeak.gp.forgetting import Forgetting
from driftpeak.live._model.drift_models import LearnedMotion, check_forgetting, check_periods
from driftpeak.live._model.likelihoods import Likelihood
from driftpeak.policies.widths import Width

if TYPE_CHECKING:
    from driftpeak.live._engines.engine import Engine
    from driftpeak.live._engines.setup import EngineSetup

Acquisition = Literal["ucb", "influence"]


class DriftingGP:
    """A policy that maximises an upper confidence bound of a drifting Gaussian process.

    It supports all spaces. The lengthscale of each parameter, the amplitude, the noise, the drift
    rate and the kind of drift are learned online: see `driftpeak.live._model.hyperparameters`. Each
    value of a context has its own lengthscale and counts as one of the d parameters. The first
    d + 2 suggestions, at most 8, are a space-filling design. With categories, they are pairs that
    differ only in these.

    Arguments:
        forgetting: the drift model or the forgetting rule. "markov": Markov drift as in B16, in
            continuous time. "momentum": changes persist for a while (Matern 3/2 in time). "auto":
            the most probable of these two, of a sum of two drift rates, and of a cycle with drift
            (see `periods`); it is selected again whenever hyperparameters are learned. Or a
            forgetting rule of `driftpeak.gp.forgetting` for a function without drift: `Window`
            (ZS21), `Restart` (B16), `Discount` (D22), `Injection` (M25) or `Keep`. The parameters
            of a rule are in units of time (seconds for dates), the window in observations.
        periods: candidate periods of the function, in units of time, for `forgetting="auto"`. If
            times are dates, numbers are in seconds, texts such as "12 h" are converted, and a day
            and a week are also tested.
        change_points: whether to detect sudden changes of the function
            (`driftpeak.live._model.change_points`). It needs `forgetting="auto"` and real-valued
            rewards, and has no effect otherwise.
        capacity: maximum of observations in memory, at least 32. If the memory is full, the eighth
            of the observations with the least information about the present is deleted, such as
            old or repeated ones. Under a forgetting rule, the oldest are deleted.
        width: the exploration width. Its step is the number of observations in memory plus one,
            because a drifting system needs continued exploration. Default
            `widths.ScaledLog(0.2 * d, 2)` for d parameters (Kandasamy et al. 2015).
        acquisition: "ucb" explores where the posterior is uncertain. "influence" explores where an
            observation improves later forecasts, averaged over horizons of 24 to 96 usual times
            between observations (`driftpeak.live._model.gp.influence`).
        boundary_weighting: whether to down-weight the exploration bonus near the boundary of a box,
            where the posterior deviation is largest (`driftpeak.live._search.boundary`).
        learn: whether to learn hyperparameters. If not, they keep their prior medians, except for
            the scale of the rewards.
        likelihood: the kind of rewards. "gaussian": real numbers with noise. "bernoulli": 0 and 1;
            the log-odds of a 1 drift. "poisson": counts; the logarithm of the mean count drifts.
            See `driftpeak.live._model.likelihoods` and `driftpeak.live._model.laplace`.

    Raises:
        DriftpeakError: capacity is below 32 or below two windows; a period is not positive;
            periods are combined with another forgetting than "auto"; the forgetting, acquisition or
            likelihood is not supported (such as the rules `Weights` and `Drift`); influence is
            combined with a likelihood other than "gaussian".

    Example:
        >>> import driftpeak as dp
        >>> space, policy = dp.Box(x=dp.Float(0, 1)), dp.DriftingGP(forgetting="markov")
        >>> optimizer = dp.Optimizer(space, maximize=True, policy=policy)
    """

    needs_points: ClassVar[bool] = False

    @checked
    def __init__(
        self,
        *,
        forgetting: LearnedMotion | Forgetting = "auto",
        periods: Sequence[float | str] = (),
        change_points: bool = True,
        capacity: int = 512,
        width: Width | None = None,
        acquisition: Acquisition = "ucb",
        boundary_weighting: bool = True,
        learn: bool = True,
        likelihood: Likelihood = "gaussian",
    ) -> None:
        self.capacity = at_least_integer("capacity", capacity, 32)
        self.forgetting = check_forgetting(forgetting, self.capacity)
        self.periods = check_periods(periods, forgetting)
        self.change_points, self.width = change_points, width
        if acquisition == "influence" and likelihood != "gaussian":
            raise DriftpeakError(
                'acquisition must be "ucb" unless likelihood="gaussian"; got "influence" with '
                f"likelihood={shown(likelihood)}. Leave acquisition out"
            )
        self.acquisition = acquisition
        self.boundary_weighting, self.learn = boundary_weighting, learn
        self.likelihood = likelihood

    def make_engine(self, setup: "EngineSetup") -> "Engine":
        """Return the engine of a study for its constraints and its kind of rewards."""
        # imported late, because the engines import this module
        from driftpeak.live._engines import gp_engine, limited_engine, rate_engine

        gaussian = self.likelihood == "gaussian"
        if not setup.rules.matter:
            return (gp_engine.GPEngine if gaussian else rate_engine.RateEngine)(self, setup)
        limited = limited_engine.LimitedEngine if gaussian else limited_engine.LimitedRateEngine
        return limited(self, setup)
