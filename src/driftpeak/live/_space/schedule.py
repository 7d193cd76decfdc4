"""A schedule of known settings, one for each equal part of a period."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.durations import seconds
from driftpeak._core.errors import DriftpeakError, positive, shown
from driftpeak._core.types import Vector
from driftpeak.live._space.encoding import Coding
from driftpeak.live._space.parameters import ParameterValues, check_keys
from driftpeak.live._space.records import Request, setting_of, unlimited_reach

DAY = "1 day"
MONDAY = 4 * 86_400.0  # the first Monday after 1970-01-01, in seconds
LONGEST = 10_000


@attrs.frozen(init=False)
class Schedule:
    """Settings by which a system is run today, for equal parts of a period.

    With 24 settings and a period of a day, there is one setting for each hour of the day.

    Arguments:
        settings: settings in the order of time, 1 to 10,000. For a table, give
            `table.to_dict("records")`.
        period: length of the period: a text such as "1 day" or "1 week" if times are dates, else a
            number. Days begin at midnight and weeks on Monday. Dates with a time zone count in UTC.
            Periods of numbers begin at 0.

    Raises:
        DriftpeakError: there are no settings or too many; the period is not positive.

    Example:
        >>> import driftpeak as dp
        >>> halves = dp.Schedule([{"heat": 50}, {"heat": 70}], period=24)
        >>> halves.at(14.0)
        {'heat': 70}
    """

    settings: tuple[dict[str, Any], ...] = attrs.field(hash=False)
    period: float | str

    @checked
    def __init__(self, settings: Sequence[Mapping[str, Any]], *, period: float | str = DAY) -> None:
        if not 1 <= len(settings) <= LONGEST:
            raise DriftpeakError(
                f"settings of a schedule must be 1 to {LONGEST:,}; got {len(settings)}"
            )
        positive("period", seconds("period", period))
        self.__attrs_init__(tuple(map(dict, settings)), period)

    def at(self, time: float) -> dict[str, Any]:
        """Return the setting at a time, a number (seconds since 1970 for dates)."""
        return self.settings[self.place(time)]

    def place(self, time: float) -> int:
        """Return the index of the setting at a time."""
        start, period = MONDAY if isinstance(self.period, str) else 0.0, seconds("", self.period)
        passed = (time - start) % period * len(self.settings) / period
        return min(int(passed), len(self.settings) - 1)

    def check_times(self, *, dates: bool) -> None:
        """Check that a period with a unit of time has dates as times.

        Raises:
            DriftpeakError: the period has a unit of time, and times are not dates.
        """
        if isinstance(self.period, str) and not dates and len(self.settings) > 1:
            raise DriftpeakError(
                f"times must be dates, as the period of the schedule is {self.period!r}; got steps "
                'or numbers. Call ask with a datetime or time="now", or give period as a number'
            )

    def to_data(self) -> dict[str, Any]:
        """Return JSON-compatible data."""
        return {"settings": list(self.settings), "period": self.period}


class Offsets:
    """Rows of settings for a model: their differences from the schedule at their time.

    A schedule that follows the peak removes its regular motion from the model. Columns without
    order and conditional columns are unchanged. Without a schedule, all rows are unchanged.
    """

    def __init__(self, coding: Coding, schedule: Schedule | None) -> None:
        self.coding, self.schedule = coding, schedule
        if schedule is None:
            return
        rows = np.array([coding.row(setting) for setting in schedule.settings])
        moving = coding.gaps == 0
        moving[coding.discretization.child] = False
        further = len(coding.all_columns) - coding.dimension
        self.rows = np.pad(np.where(moving, rows, 0.0), ((0, 0), (0, further)))

    def at(self, time: float) -> Vector | None:
        """Return the row of the schedule at a time, shape `(d + k,)`; None without a schedule."""
        return None if self.schedule is None else self.rows[self.schedule.place(time)]

    def row(self, setting: ParameterValues, time: float) -> Vector:
        """Return the row of a setting with its context, shape `(d + k,)`."""
        return self.relative(self.coding.row_in(setting), time)

    def relative(self, rows: Vector, time: float) -> Vector:
        """Return rows, shape `(..., d + k)`, minus the row of the schedule at a time."""
        origin = self.at(time)
        return rows if origin is None else rows - origin


def with_schedule(coding: Coding, request: Request, setting: ParameterValues) -> Request:
    """Return a request with a scheduled setting, or with the nearest setting within reach."""
    row, reach = coding.row(setting), request.reach
    if reach is None:
        reach = unlimited_reach(coding, setting, row)
    else:
        row = reach.nearest(coding, row)
        setting = setting_of(coding, row, reach)
    return request._replace(reach=reach._replace(near=row), scheduled=setting)


def schedule_from_data(data: object) -> Schedule:
    """Return the schedule that a dictionary or a list of settings describes.

    Raises:
        DriftpeakError: an entry is missing, misspelt or invalid.
    """
    if isinstance(data, list | tuple):
        data = {"settings": data}
    if not isinstance(data, Mapping) or not isinstance(data.get("settings"), list | tuple):
        raise DriftpeakError(
            'schedule must be a list of settings or {"settings": [...], "period": "1 day"}; got '
            f"{shown(data)}"
        )
    check_keys("schedule must have keys", data, ("settings", "period"))
    if not all(isinstance(setting, Mapping) for setting in data["settings"]):
        raise DriftpeakError(f"settings of a schedule must be mappings; got {shown(data)}")
    return Schedule(list(data["settings"]), period=data.get("period", DAY))
