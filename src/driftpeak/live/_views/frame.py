"""Data frames of observations and pending suggestions."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpeak.live._space.encoding import BoxCoding, Coding, FiniteCoding
from driftpeak.live._space.parameters import Categorical, Integer, Value
from driftpeak.live._study.past import heading
from driftpeak.live._study.suggestion import Observation, Suggestion

if TYPE_CHECKING:
    import pandas as pd


def history_frame(
    coding: Coding,
    history: Sequence[Observation],
    pending: Sequence[Suggestion],
    limits: Sequence[str] = (),
) -> "pd.DataFrame":
    """Return a row for each observation, then a row for each pending suggestion.

    See `driftpeak.Optimizer.to_dataframe` for the columns.
    """
    import pandas as pd

    every: list[Observation | Suggestion] = [*history, *pending]
    rewards = [getattr(record, "reward", np.nan) for record in every]
    expected = [getattr(record, "expected", None) or (np.nan, np.nan) for record in every]
    means, deviations = np.array(expected, float).reshape(-1, 2).T
    used = ["told" if record.used else "not used" for record in history]
    columns: dict[str, Any] = {
        "suggestion": pd.array([record.id for record in every], dtype="Int64"),
        "status": pd.Categorical(
            used + ["pending"] * len(pending), ["told", "not used", "pending"]
        ),
        "time": _times([record.time for record in every]),
    }
    for name in coding.names:
        values = [record.parameters.get(name) for record in every]
        columns[heading(name, coding.names)] = _column(coding, name, values)
    if coding.context is not None:
        for name in coding.context.names:
            values = [record.context.get(name) for record in every]
            taken = (*coding.names, *coding.context.names)
            columns[heading(name, taken)] = _column(coding.context, name, values)
    for name in limits:
        measured = [getattr(record, "constraints", {}).get(name, np.nan) for record in every]
        taken = (*coding.names, *limits)
        columns[heading(name, taken)] = np.array(measured, float)
    columns |= {"reward": np.array(rewards, float)}
    columns |= {"expected": means, "expected_deviation": deviations}
    return pd.DataFrame(columns)


def _times(times: list[Any]) -> Any:
    """Return whole steps as integers, other numbers as floats, and dates to the microsecond."""
    import pandas as pd

    if not times or not isinstance(times[0], datetime):
        whole = all(isinstance(time, int) for time in times)
        return np.array(times, dtype=np.int64 if whole else np.float64)
    zoned = times[0].tzinfo is not None
    plain = pd.Series(np.array([time.replace(tzinfo=None) for time in times], "datetime64[us]"))
    return plain.dt.tz_localize("UTC") if zoned else plain


def _column(coding: Coding, name: str, values: list[Value]) -> Any:
    """Return a parameter's values: floats, integers, or categories in the order of the choices.

    Values of inactive parameters are NaN, or NA among integers.
    """
    import pandas as pd

    if isinstance(coding, FiniteCoding):
        return pd.Categorical(values, list(coding.domain.names)) if coding.named else values
    assert isinstance(coding, BoxCoding)
    parameter = coding.box.parameters[name]
    if isinstance(parameter, Categorical):
        # True and 1 are different choices, but pandas treats them as equal, and None as missing
        distinct = len({*parameter.choices, None}) > len(parameter.choices)
        if distinct:
            return pd.Categorical(values, parameter.choices, ordered=parameter.ordered)
        return pd.Series(values, dtype=object)
    if isinstance(parameter, Integer):
        return pd.array(values, dtype="Int64") if None in values else np.array(values, np.int64)
    return np.array(values, np.float64)
