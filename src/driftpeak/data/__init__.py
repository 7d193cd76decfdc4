"""Reward tables read from files."""

from driftpeak.data.tables import Missing, RewardTable, read_table

__all__ = ["Missing", "RewardTable", "read_table"]
