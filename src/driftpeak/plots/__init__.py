"""Figures of runs, with shared colours, looks of policies and axes."""

from driftpeak.plots._figures import belief_figure, map_figure, track_figure
from driftpeak.plots._policy_styles import LOOKS, Look, looks
from driftpeak.plots._style import BAND, COLOURS, STYLES, new_figure, tidy, with_unit
from driftpeak.plots._time_axis import dates, time_axis, write_dates

__all__ = [
    "BAND",
    "COLOURS",
    "LOOKS",
    "STYLES",
    "Look",
    "belief_figure",
    "dates",
    "looks",
    "map_figure",
    "new_figure",
    "tidy",
    "time_axis",
    "track_figure",
    "with_unit",
    "write_dates",
]
