"""Interacting multiple models: posteriors under several motions that exchange information."""

from driftpeak.inference.imm.complete_rows import Start, after_rows
from driftpeak.inference.imm.interacting_multiple_model import (
    Forecast,
    IMMState,
    InteractingMultipleModel,
)
from driftpeak.inference.imm.level import Level, LevelState
from driftpeak.inference.imm.scale import Scale, ScaleState

__all__ = [
    "Forecast",
    "IMMState",
    "InteractingMultipleModel",
    "Level",
    "LevelState",
    "Scale",
    "ScaleState",
    "Start",
    "after_rows",
]
