"""Reward tables read from files, and the data sets of the papers."""

from driftpeak.data.catalogue import DATA_SETS, DataSet
from driftpeak.data.grids import cell_positions, read_grid
from driftpeak.data.intel import read_intel_lab
from driftpeak.data.monthly import read_monthly
from driftpeak.data.store import data_folder, data_path, fetch_data, load_data, require_data
from driftpeak.data.tables import Dates, Decimal, Missing, Outliers, RewardTable, read_table
from driftpeak.data.traffic import read_speeds, split_days

__all__ = [
    "DATA_SETS",
    "DataSet",
    "Dates",
    "Decimal",
    "Missing",
    "Outliers",
    "RewardTable",
    "cell_positions",
    "data_folder",
    "data_path",
    "fetch_data",
    "load_data",
    "read_grid",
    "read_intel_lab",
    "read_monthly",
    "read_speeds",
    "read_table",
    "require_data",
    "split_days",
]
