"""What an optimiser was asked and told, as a table of pandas."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpeak.live.space.encoding import BoxCoding, Coding, FiniteCoding
from driftpeak.live.space.parameters import Categorical, Integer, Value
from driftpeak.live.study.suggestion import Observation, Suggestion

if TYPE_CHECKING:
    import pandas as pd

OWN = ("suggestion", "status", "time", "reward", "expected", "expected_deviation")
"""Columns beside those of the parameters."""


def history_frame(
    coding: Coding,
    told: Sequence[Observation],
    pending: Sequence[Suggestion],
    limits: Sequence[str] = (),
) -> "pd.DataFrame":
    """A row for every reward told, then for every suggestion that is out.

    What the columns are: `driftpeak.Optimizer.to_dataframe`.
    """
    import pandas as pd

    every: list[Observation | Suggestion] = [*told, *pending]
    settings = [one.parameters for one in told] + [dict(one) for one in pending]
    reward = np.full(len(every), np.nan)
    reward[: len(told)] = [one.reward for one in told]
    expected = np.full((len(every), 2), np.nan)
    expected[: len(told)] = [one.expected or (np.nan, np.nan) for one in told] or np.nan
    status = ["told" if one.used else "not used" for one in told] + ["pending"] * len(pending)
    columns: dict[str, Any] = {
        "suggestion": pd.array([one.id for one in every], dtype="Int64"),
        "status": pd.Categorical(status, ["told", "not used", "pending"]),
        "time": _times([one.time for one in every]),
    }
    for name in coding.names:
        values = [setting.get(name) for setting in settings]
        columns[_heading(name, coding.names)] = _column(coding, name, values)
    if coding.context is not None:
        for name in coding.context.names:
            values = [one.context.get(name) for one in every]
            taken = (*coding.names, *coding.context.names)
            columns[_heading(name, taken)] = _column(coding.context, name, values)
    for name in limits:
        measured = [one.constraints.get(name, np.nan) for one in told]
        taken = (*coding.names, *limits)
        columns[_heading(name, taken)] = np.array(measured + [np.nan] * len(pending), float)
    columns |= {"reward": reward, "expected": expected[:, 0], "expected_deviation": expected[:, 1]}
    return pd.DataFrame(columns)


def _heading(name: str, names: Sequence[str]) -> str:
    """The parameter's name, unless a column of ours has it."""
    if name not in OWN:
        return name
    heading = f"parameter_{name}"
    while heading in names:
        heading = f"parameter_{heading}"
    return heading


def _times(times: list[Any]) -> Any:
    """Whole steps as integers, other numbers as floats, dates to the microsecond."""
    import pandas as pd

    if not times or not isinstance(times[0], datetime):
        whole = all(isinstance(time, int) for time in times)
        return np.array(times, dtype=np.int64 if whole else np.float64)
    zoned = times[0].tzinfo is not None
    plain = pd.Series(np.array([time.replace(tzinfo=None) for time in times], "datetime64[us]"))
    return plain.dt.tz_localize("UTC") if zoned else plain


def _column(coding: Coding, name: str, values: list[Value]) -> Any:
    """A parameter's values: floats, integers, or categories in the order of the choices.

    Where the parameter does not count there is none: NaN, or NA among integers.
    """
    import pandas as pd

    if isinstance(coding, FiniteCoding):
        return pd.Categorical(values, list(coding.domain.names)) if coding.named else values
    assert isinstance(coding, BoxCoding)
    parameter = coding.box.parameters[name]
    if isinstance(parameter, Categorical):
        # True and 1 are different choices, but pandas takes them for one, and None for no choice
        distinct = len({*parameter.choices, None}) > len(parameter.choices)
        if distinct:
            return pd.Categorical(values, parameter.choices, ordered=parameter.ordered)
        return pd.Series(values, dtype=object)
    if isinstance(parameter, Integer):
        return pd.array(values, dtype="Int64") if None in values else np.array(values, np.int64)
    return np.array(values, np.float64)
