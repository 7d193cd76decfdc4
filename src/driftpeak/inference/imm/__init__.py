"""Interacting multiple models: posteriors under several motions that exchange information."""

from driftpeak.inference.imm.interacting_multiple_model import (
    BankState,
    Forecast,
    InteractingMultipleModel,
)
from driftpeak.inference.imm.level import Level, LevelState
from driftpeak.inference.imm.scale import Scale, ScaleState

__all__ = [
    "BankState",
    "Forecast",
    "InteractingMultipleModel",
    "Level",
    "LevelState",
    "Scale",
    "ScaleState",
]
