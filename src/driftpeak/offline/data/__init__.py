"""Tables of rewards from files, and the data sets of the papers."""

from driftpeak.offline.data._catalogue import DATA_SETS, DataSet
from driftpeak.offline.data._grids import cell_positions, read_grid
from driftpeak.offline.data._intel import read_intel_lab
from driftpeak.offline.data._monthly import read_monthly
from driftpeak.offline.data._store import (
    data_folder,
    data_path,
    fetch_data,
    load_data,
    require_data,
)
from driftpeak.offline.data._tables import (
    Dates,
    Decimal,
    Missing,
    Outliers,
    RewardTable,
    read_table,
)
from driftpeak.offline.data._traffic import read_speeds, split_days

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
