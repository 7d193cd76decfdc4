"""What stands behind an optimiser: something that learns from events and makes proposals.

An engine always maximises: the optimiser turns the sign of rewards that are to be minimised. Its
state changes by events alone (`asked`, `told`, ...); everything else looks and changes nothing.
"""

from abc import ABC, abstractmethod
from copy import copy
from statistics import NormalDist
from typing import Any

from driftpeak._core.errors import (
    UnsupportedError,
)
from driftpeak._core.types import Vector
from driftpeak.live.model.likelihoods import Rates
from driftpeak.live.model.observations import Memory
from driftpeak.live.space.parameters import ParameterValues
from driftpeak.live.space.records import Arrays, Outstanding, Peak, Reach

NORMAL = NormalDist()


def deviations(tail: float) -> float:
    """Return how many standard deviations a normal quantile `tail` lies below the mean."""
    return -NORMAL.inv_cdf(tail)


class Engine(ABC):
    """Base class of engines.

    A setting that was made, or is looked at, holds what the world said with it: its context.
    """

    kind: type[Rates] | None = None  # of rewards that are 0 and 1, or counts
    rejects_outliers: bool = True  # rewards far from what it predicts have a bounded effect
    looks_back: bool = True  # it predicts past times too

    @abstractmethod
    def propose(
        self,
        number: int,
        time: float,
        pending: list[Outstanding],
        reach: Reach | None,
        context: ParameterValues,
    ) -> ParameterValues:
        """Where to sample at `time`, as suggestion `number`.

        Arguments:
            pending: what is out, oldest first.
            reach: what can be gone to; None: everything, at no cost.
            context: what the world says.
        """

    @abstractmethod
    def asked(self, time: float) -> None:
        """A suggestion went out."""

    def check(self, reward: float, noise: float | None, trials: int | None) -> None:
        """Refuse a reward that cannot be computed with.

        Raises:
            DriftpeakError: with the accepted range.
        """
        if trials is not None:
            raise UnsupportedError(
                "trials are for rewards of 0 and 1 and for counts, with "
                "DriftingGP(likelihood='bernoulli') or 'poisson'; how good the mean of several "
                "other rewards is, a DriftingGP takes as noise="
            )

    @abstractmethod
    def told(
        self,
        parameters: ParameterValues,
        reward: float,
        time: float,
        noise: float | None,
        trials: int | None,
    ) -> None:
        """A reward came in; its noise's standard deviation, and its trials, if they were told."""

    def measured(  # noqa: B027
        self,
        setting: ParameterValues,
        values: dict[str, float],
        time: float,
        chances: dict[str, float],
    ) -> None:
        """What was measured of the quantities with limits, beside a reward.

        Arguments:
            chances: with which the setting was believed to keep them, if it was suggested.
        """

    def chances(self, settings: list[ParameterValues], time: float) -> dict[str, Vector]:
        """The probabilities, by limit, that some settings keep it; none where nothing is known."""
        return {}

    @abstractmethod
    def expected(
        self, parameters: ParameterValues, time: float, noise: float | None, trials: int | None
    ) -> tuple[float, float] | None:
        """Mean and deviation, noise included, of a reward at `time`; None if nothing is."""

    @abstractmethod
    def peak(self, time: float, context: ParameterValues) -> Peak:
        """The estimated peak at `time` in a context.

        Raises:
            DriftpeakError: nothing is expected yet.
        """

    @abstractmethod
    def belief(self, settings: list[ParameterValues], time: float) -> tuple[Vector, Vector]:
        """Mean and deviation of the function at some settings."""

    def quantiles(
        self, settings: list[ParameterValues], time: float, tail: float
    ) -> tuple[Vector, Vector]:
        """Return the quantiles `tail` and 1 - `tail` of the function at some settings."""
        mean, deviation = self.belief(settings, time)
        wide = deviations(tail) * deviation
        return mean - wide, mean + wide

    @abstractmethod
    def peaks(self, times: Vector, context: ParameterValues) -> tuple[Vector, list[Peak]]:
        """The estimated peaks in a context at some past times, or at those still known."""

    @abstractmethod
    def forgot(self, before: float | None) -> None:
        """Forget what was observed before a time, or everything."""

    @abstractmethod
    def reset(self) -> None:
        """Start again."""

    @abstractmethod
    def report(self, time: float) -> dict[str, Any]:
        """What the belief thinks, for `diagnostics`."""

    @abstractmethod
    def save(self) -> tuple[Arrays, dict[str, Any]]:
        """The state as arrays and what JSON can hold."""

    @abstractmethod
    def load(self, arrays: Arrays, rest: dict[str, Any]) -> None:
        """Take the state that `save` gave."""

    def settle(self) -> None:  # noqa: B027
        """Compute now what events have left to be computed when it is needed, several at once."""

    def mark(self) -> Any:
        """What is needed to come `back` to this state, quickly.

        Attributes are taken to be replaced, never changed in place, but for lists, dictionaries
        and `Memory`.
        """
        changing = (list, dict, Memory)
        return {k: copy(v) if isinstance(v, changing) else v for k, v in vars(self).items()}

    def back(self, mark: Any) -> None:
        """Undo all events since a mark."""
        vars(self).clear()
        vars(self).update(mark)

    def lesson(self, *, dates: bool = False) -> dict[str, Any] | None:
        """Hyperparameters learned just now, if it is time to learn.

        Arguments:
            dates: whether times are seconds of the calendar.
        """
        return None

    def learned(self, values: dict[str, Any]) -> None:
        """Take over what was learned."""
        raise UnsupportedError("this policy learns no hyperparameters")

    def consult(self, time: float) -> list[ParameterValues]:
        """The side queries that the policy would make at `time`."""
        raise UnsupportedError("this policy makes no side queries")

    def answered(
        self, queries: list[ParameterValues], answers: list[float | None], time: float
    ) -> None:
        """An expert answered side queries; None where it did not."""
        raise UnsupportedError("this policy makes no side queries")

    def is_too_late(self, time: float) -> bool:
        """Whether a reward made at `time` can no longer be put in its place."""
        return False
