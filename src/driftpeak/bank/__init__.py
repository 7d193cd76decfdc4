"""A bank of beliefs, each for another way the function may move, that learn from one another."""

from driftpeak.bank.level import Level, LevelState
from driftpeak.bank.members import Bank, BankState, Forecast
from driftpeak.bank.scale import Scale, ScaleState

__all__ = ["Bank", "BankState", "Forecast", "Level", "LevelState", "Scale", "ScaleState"]
