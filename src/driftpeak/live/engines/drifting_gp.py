"""The default of an optimiser: a Gaussian process that drifts and learns its own numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, shown
from driftpeak.gp.forgetting import Forgetting
from driftpeak.live.model.drift_models import LearnedMotion, check_forgetting, check_periods
from driftpeak.live.model.likelihoods import Likelihood, check_likelihood
from driftpeak.policies.widths import Width

if TYPE_CHECKING:
    from driftpeak.live.engines.engine import Engine
    from driftpeak.live.engines.setup import EngineSetup

ACQUISITIONS = ("ucb", "influence")


class DriftingGP:
    """Upper confidence bounds of a Gaussian process that drifts, on any space.

    Lengthscales (one for each parameter), amplitude, noise, drift and its kind are learned while it
    runs: see `driftpeak.live.model.hyperparameters`. What the world says, a context, has
    lengthscales of its own, and counts among the d parameters. The first d + 2 suggestions are
    spread evenly.

    Arguments:
        forgetting: how old observations lose their worth. "markov": the function drifts as B16's,
            in continuous time. "momentum": it goes on for a while as it has begun (Matern 3/2 in
            time). "auto": the most probable of these, of two speeds at once, and of a rhythm
            beside a drift (see `periods`), judged anew at every lesson. Or a rule that
            you state, of `driftpeak.gp.forgetting`, under which the function stands still: `Window`
            (ZS21), `Restart` (B16), `Discount` (D22), `Injection` (M25) or `Keep`. A rule's numbers
            are in units of time (seconds for dates), a window's in observations.
        periods: that the function may repeat, in units of time, for `forgetting="auto"`. Where
            times are dates, a day and a week are considered besides.
        capacity: the most observations in memory, at least 32. When it is full, the eighth that
            tells least of the present falls out: what is old, or repeated; under a rule, what is
            oldest.
        width: the exploration width; its step is the number of observations in memory plus one,
            since a system that moves must be explored for ever. Default
            `widths.ScaledLog(0.2 * d, 2)` for d parameters (Kandasamy et al. 2015).
        acquisition: "ucb", to explore what is unsure; or "influence", to explore what will still be
            true, in the mean over 24 to 96 usual times between two observations
            (`driftpeak.live.model.gp.influence`).
        scoped: whether what is unsure counts by how much of the space a look there tells of: less
            at the faces of a box, where a deviation is largest (`driftpeak.live.search.boundary`).
        learn: whether to learn; if not, the medians of the priors stay, but for the scale of the
            rewards.
        likelihood: what rewards are. "gaussian": numbers on a scale, with noise. "bernoulli": 0 and
            1; what drifts are the log-odds of a 1. "poisson": counts; what drifts is the logarithm
            of the mean count. See `driftpeak.live.model.likelihoods` and
            `driftpeak.live.model.laplace`.

    Raises:
        DriftpeakError: capacity below 32, or below two windows; periods that are not positive, or
            with another forgetting; no such forgetting, or a rule that goes by the numbers of
            observations (`Weights`) or is learned here (`Drift`); no such acquisition or
            likelihood, or influence with rewards that are no numbers on a scale.

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
        periods: Sequence[float] = (),
        capacity: int = 512,
        width: Width | None = None,
        acquisition: str = "ucb",
        scoped: bool = True,
        learn: bool = True,
        likelihood: Likelihood = "gaussian",
    ) -> None:
        self.capacity = at_least_integer("capacity", capacity, 32)
        self.forgetting = check_forgetting(forgetting, self.capacity)
        self.periods = check_periods(periods, forgetting)
        self.width = width
        if acquisition not in ACQUISITIONS:
            raise DriftpeakError(
                f"acquisition must be one of {', '.join(ACQUISITIONS)}; got {shown(acquisition)}"
            )
        if acquisition == "influence" and likelihood != "gaussian":
            raise DriftpeakError(
                'acquisition="influence" is for rewards on a scale: leave it out with '
                f"likelihood={shown(likelihood)}"
            )
        self.acquisition = acquisition
        self.scoped, self.learn = scoped, learn
        self.likelihood = check_likelihood(likelihood)

    def make_engine(self, setup: "EngineSetup") -> "Engine":
        """Return the engine of a study, by its constraints and its kind of rewards."""
        # engines are made for a DriftingGP, and import this module
        from driftpeak.live.engines import gp_engine, limited_engine, rate_engine

        sign: dict[str, Any] = {} if self.likelihood == "gaussian" else {"sign": setup.sign}
        if not setup.rules.matter:
            plain = gp_engine.GPEngine if not sign else rate_engine.RateEngine
            return plain(self, setup.coding, seed=setup.seed, **sign)
        start = next(iter(setup.safe), None) if setup.start is None else setup.start
        if start is not None:
            setup.rules.check("start", start)
        limited = limited_engine.LimitedEngine if not sign else limited_engine.LimitedRateEngine
        return limited(
            self,
            setup.coding,
            seed=setup.seed,
            rules=setup.rules,
            start=None if start is None else setup.coding.row(start),
            safe=setup.safe,
            **sign,
        )
