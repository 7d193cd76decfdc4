"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from ._figures import (
    belief_figure as belief_figure,
    map_figure as map_figure,
    track_figure as track_figure,
)
from ._policy_styles import LOOKS as LOOKS, Look as Look, looks as looks
from ._style import (
    BAND as BAND,
    COLOURS as COLOURS,
    STYLES as STYLES,
    new_figure as new_figure,
    tidy as tidy,
    with_unit as with_unit,
)
from ._time_axis import dates as dates, time_axis as time_axis, write_dates as write_dates
