"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from .complete_rows import Start as Start, after_rows as after_rows
from .interacting_multiple_model import (
    Forecast as Forecast,
    IMMState as IMMState,
    InteractingMultipleModel as InteractingMultipleModel,
)
from .level import Level as Level, LevelState as LevelState
from .scale import Scale as Scale, ScaleState as ScaleState
