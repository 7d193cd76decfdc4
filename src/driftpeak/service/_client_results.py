"""Results of a client: estimated peaks, observations and suggestions, from the service's JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

import numpy as np

from driftpeak.live._study import suggestion as results
from driftpeak.live._study.suggestion import Suggestion

Values = Mapping[str, Any]


class EstimatedPeak(results.EstimatedPeak):
    """An estimated peak: a mapping of parameters. Returned by `Study.best` and `Study.peaks`.

    Attributes:
        time: the time of the estimate.
        mean, deviation: posterior mean and standard deviation of the noiseless reward at the peak.
        interval: its 95 % interval, in `best`; None in `peaks`.
        band: in `peaks`, for each ordered parameter, the range of values whose estimated reward is
            within one standard deviation of the peak's; None for other parameters. None in `best`.
        context: the context of the estimate; empty if the space has none.
    """

    def __init__(self, data: Values) -> None:
        mean, deviation = float_from_data(data["mean"]), float_from_data(data["deviation"])
        time, context = time_from_data(data["time"]), data.get("context", {})
        super().__init__(time, mean, deviation, data["parameters"], None, context)
        ends = (
            (float_from_data(data["low"]), float_from_data(data["high"])) if "low" in data else None
        )
        self.interval: tuple[float, float] | None = ends
        bands = data.get("band")
        self.band = None if bands is None else {name: _ends(band) for name, band in bands.items()}


@dataclass(frozen=True)
class Observation:
    """A reported reward.

    Attributes:
        number: its number among all reported rewards, also those before a reset.
        id: the suggestion's id; None if the setting was not suggested.
        parameters: the setting.
        reward: the reward.
        time: the time of the evaluation.
        expected: mean and standard deviation of the one-step forecast, including noise; None if
            there was none.
        noise: the standard deviation of its noise, if reported; else None.
        trials: the number of measurements of which it is the mean, if reported; else None.
        context: the context of the evaluation.
        constraints: the measured values of the quantities with limits.
        chances: the predicted probability of meeting each limit.
    """

    number: int
    id: int | None
    parameters: dict[str, Any]
    reward: float
    time: Any
    expected: tuple[float, float] | None = None
    noise: float | None = None
    trials: int | None = None
    context: dict[str, Any] = field(default_factory=dict)
    constraints: dict[str, float] = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def of(data: Values) -> "Observation":
        """Return the observation of the service's data; unknown fields are ignored."""
        forecast = data["expected"]
        expected = None
        if forecast is not None:
            expected = float_from_data(forecast["mean"]), float_from_data(forecast["deviation"])
        names = [each.name for each in fields(Observation)]
        known = {name: data[name] for name in names if name in data}
        return Observation(**known | {"time": time_from_data(data["time"]), "expected": expected})


def suggestion_from_data(data: Values) -> Suggestion:
    """Return a suggestion."""
    options = {name: data[name] for name in ("hold", "context", "chances", "feasible")}
    return Suggestion(data["id"], time_from_data(data["time"]), data["parameters"], **options)


def time_from_data(value: Any) -> Any:
    """Return a time; a string is a date."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def float_from_data(value: float | None) -> float:
    """Return a number; None is NaN."""
    return float("nan") if value is None else value


def array_from_data(values: list[float | None]) -> np.ndarray:
    """Return an array of numbers; None is NaN."""
    return np.array([float_from_data(value) for value in values], dtype=float)


def _ends(band: Values) -> tuple[float, float] | None:
    return None if band["low"] is None else (band["low"], band["high"])
