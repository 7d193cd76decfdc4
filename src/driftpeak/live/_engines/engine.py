"""The interface of engines, which learn from events and compute suggestions.

An engine always maximises; the optimiser negates rewards that are minimised. Only events (`asked`,
`observe`, ...) change the state of an engine. All other methods leave it unchanged.
"""

from abc import ABC, abstractmethod
from copy import copy
from statistics import NormalDist
from typing import Any

from driftpeak._core.errors import UnsupportedError
from driftpeak._core.types import Vector
from driftpeak.live._model.likelihoods import Rates
from driftpeak.live._model.observations import Memory
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._space.records import Arrays, Numbers, Peak, Request, Sample

NORMAL = NormalDist()


def deviations(tail: float) -> float:
    """Return how many standard deviations a normal quantile `tail` lies below the mean."""
    return -NORMAL.inv_cdf(tail)


class Engine(ABC):
    """The computing part of an optimiser. Base class.

    A setting in observations and predictions includes its context.
    """

    kind: type[Rates] | None = None  # likelihood of binary rewards and counts
    rejects_outliers: bool = True  # rewards far from the prediction have a bounded effect
    looks_back: bool = True  # it also predicts past times

    @abstractmethod
    def propose(self, request: Request) -> ParameterValues:
        """Compute a suggestion."""

    @abstractmethod
    def asked(self, time: float) -> None:
        """Record that a suggestion was made."""

    def check(self, reward: float, noise: float | None, trials: int | None) -> None:
        """Check that the engine supports a reward.

        Raises:
            DriftpeakError: the reward is outside the accepted range.
            UnsupportedError: trials or noise are not supported.
        """
        if trials is not None:
            raise UnsupportedError(
                "trials must be left out unless the policy is DriftingGP(likelihood='bernoulli') "
                f"or 'poisson'; got {trials}. For the mean of several other rewards, give a "
                "DriftingGP its noise="
            )

    @abstractmethod
    def observe(self, sample: Sample, reward: float) -> None:
        """Record a reward."""

    def measured(self, sample: Sample, values: Numbers, chances: Numbers) -> None:  # noqa: B027
        """Record measurements of the quantities with limits.

        Arguments:
            sample: the setting and the time of the measurements.
            values: measurements by name.
            chances: posterior probabilities of meeting the limits, if the setting was suggested.
        """

    def chances(self, settings: list[ParameterValues], time: float) -> dict[str, Vector]:
        """Return the probabilities of settings to meet each limit with measurements, by name."""
        return {}

    @abstractmethod
    def expected(self, sample: Sample) -> tuple[float, float] | None:
        """Predict a reward: mean and deviation, noise included; None without a prediction."""

    @abstractmethod
    def peak(self, time: float, context: ParameterValues) -> Peak:
        """Estimate the peak at `time` in a context.

        Raises:
            NoObservationsError: there are no observations.
        """

    @abstractmethod
    def belief(self, settings: list[ParameterValues], time: float) -> tuple[Vector, Vector]:
        """Return posterior mean and deviation of the function at settings."""

    def quantiles(
        self, settings: list[ParameterValues], time: float, tail: float
    ) -> tuple[Vector, Vector]:
        """Return the quantiles `tail` and 1 - `tail` of the function at settings."""
        mean, deviation = self.belief(settings, time)
        wide = deviations(tail) * deviation
        return mean - wide, mean + wide

    @abstractmethod
    def peaks(self, times: Vector, context: ParameterValues) -> tuple[Vector, list[Peak]]:
        """Estimate the peaks in a context at those past times that are still known."""

    @abstractmethod
    def forgot(self, before: float | None) -> None:
        """Delete the observations before a time, or all observations."""

    @abstractmethod
    def reset(self) -> None:
        """Return to the initial state."""

    @abstractmethod
    def report(self, time: float) -> dict[str, Any]:
        """Return the values for `diagnostics`."""

    @abstractmethod
    def save(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the state as arrays and JSON-compatible data."""

    @abstractmethod
    def load(self, arrays: Arrays, rest: dict[str, Any]) -> None:
        """Restore a state from `save`."""

    def next_recompilation(self) -> int | None:
        """Return the next number of observations that needs other programs; None if there is none.

        Programs have fixed shapes, and are compiled again when arrays become longer.
        """
        return None

    def warm_up(self, count: int, request: Request) -> None:
        """Run the programs with which a study of `count` synthetic observations searches.

        Arguments:
            count: number of observations, as `next_recompilation` returns it.
            request: arguments of a suggestion of the study.

        Raises:
            InfeasibleError: no setting meets the constraints.
        """
        raise UnsupportedError("the policy must be a DriftingGP to compile programs in advance")

    def warm_up_learning(self) -> None:
        """Run the programs with which the study learns; call it after `warm_up`.

        Raises:
            InfeasibleError: no setting meets the constraints.
        """
        raise UnsupportedError("the policy must be a DriftingGP to compile programs in advance")

    def settle(self) -> None:  # noqa: B027
        """Do the computations now that events have deferred."""

    def mark(self) -> Any:
        """Return a cheap copy of the state for `back`.

        Attributes must be replaced and never changed in place, except lists, dictionaries and
        `Memory`.
        """
        changing = (list, dict, Memory)
        return {k: copy(v) if isinstance(v, changing) else v for k, v in vars(self).items()}

    def back(self, mark: Any) -> None:
        """Restore the state of a mark."""
        vars(self).clear()
        vars(self).update(mark)

    def refit(self, *, dates: bool = False) -> dict[str, Any] | None:
        """Learn hyperparameters if they are due, and return them; else return None.

        Arguments:
            dates: whether times are dates, in seconds.
        """
        return None

    def learned(self, values: dict[str, Any]) -> None:
        """Use learned hyperparameters."""
        raise UnsupportedError("the policy must be a DriftingGP to learn hyperparameters")

    def consult(self, time: float) -> list[ParameterValues]:
        """Return the side queries that the policy makes at `time`."""
        raise UnsupportedError("this policy makes no side queries")

    def answered(
        self, queries: list[ParameterValues], answers: list[float | None], time: float
    ) -> None:
        """Record an expert's answers to side queries; None for queries without an answer."""
        raise UnsupportedError("this policy makes no side queries")

    def is_too_late(self, time: float) -> bool:
        """Return whether a reward at `time` is too late to be used."""
        return False
