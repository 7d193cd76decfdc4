"""The public names of the package. `__init__.py` reads them here, and loads each when used."""

from ._catalogue import DATA_SETS as DATA_SETS, DataSet as DataSet
from ._grids import cell_positions as cell_positions, read_grid as read_grid
from ._intel import read_intel_lab as read_intel_lab
from ._monthly import read_monthly as read_monthly
from ._store import (
    data_folder as data_folder,
    data_path as data_path,
    fetch_data as fetch_data,
    load_data as load_data,
    require_data as require_data,
)
from ._tables import (
    Dates as Dates,
    Decimal as Decimal,
    Missing as Missing,
    Outliers as Outliers,
    RewardTable as RewardTable,
    read_table as read_table,
)
from ._traffic import read_speeds as read_speeds, split_days as split_days
