"""Gridded monthly anomalies in netCDF, as a table with one column per cell."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DataError, DriftpeakError
from driftpeak._core.extras import netcdf_engine
from driftpeak._core.files import open_regular
from driftpeak.offline.data._tables import RewardTable

Range = tuple[float, float]


@checked
def read_grid(
    path: str | os.PathLike[str],
    *,
    latitude: Range = (41.0, 51.5),
    longitude: Range = (-5.5, 10.0),
    years: Range = (1981.0, 2021.0),
    variable: str = "temperature",
) -> RewardTable:
    """Read a box of a grid such as Berkeley Earth's: `temperature(time, latitude, longitude)`.

    Cells with a missing value in the period (sea) are omitted. The names of cells are "lat_lon" of
    their centres, and the names of months are decimal years, as in the file. The default box
    contains France.

    Arguments:
        path: a netCDF file.
        latitude, longitude: ranges in degrees, both ends included.
        years: range in decimal years, the end excluded.
        variable: the name of the variable.

    Raises:
        DataError: the file cannot be read, the variable has other dimensions, or the box has fewer
            than two months or complete cells.
        DriftpeakError: the file has no such variable.
    """
    import xarray as xr  # imported here: it takes half a second

    path = Path(path)
    try:
        with open_regular(path) as file:
            classic = file.read(3) == b"CDF"
        engine = "scipy" if classic else netcdf_engine()
        with xr.open_dataset(path, engine=engine, decode_times=False) as grid:
            if variable not in grid:
                raise DriftpeakError(
                    f"{path}: no variable is named {variable!r}; there are: "
                    f"{', '.join(map(str, grid.data_vars)) or 'none'}"
                )
            needed = {"time", "latitude", "longitude"}
            data = grid[variable]
            if set(data.dims) != needed or not needed <= set(grid.coords):
                raise DataError(
                    f"{path}: {variable} must have the dimensions time, latitude and longitude, "
                    f"each with coordinates; got {', '.join(map(str, data.dims))}"
                )
            box = data.isel(
                time=_within(grid["time"].values, (years[0], np.nextafter(years[1], -np.inf))),
                latitude=_within(grid["latitude"].values, latitude),
                longitude=_within(grid["longitude"].values, longitude),
            ).transpose("time", "latitude", "longitude")
            box = box.stack(cell=("latitude", "longitude")).load()
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; check the path") from None
    except DriftpeakError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read as netCDF: {why}") from None
    values = np.asarray(box.values, dtype=np.float64)
    whole = np.isfinite(values).all(axis=0) if len(values) else np.zeros(values.shape[1], bool)
    if len(values) < 2 or whole.sum() < 2:
        raise DataError(
            f"{path}: the box must have at least two months and two cells without gaps; got "
            f"{len(values)} months and {whole.sum()} cells in latitude {latitude}, longitude "
            f"{longitude}, years {years}"
        )
    cells = np.array([tuple(cell) for cell in box["cell"].values[whole]], dtype=np.float64)
    names = [f"{lat:g}_{lon:g}" for lat, lon in cells]
    times = tuple(f"{time:.4f}" for time in box["time"].values)
    left = int((~whole).sum())
    notes = (f"omitted {left} cells with gaps (sea, or missing months)",) if left else ()
    return RewardTable(values[:, whole], tuple(names), times, "time", notes, cells[:, ::-1])


@checked
def cell_positions(names: Sequence[str]) -> np.ndarray:
    """Return longitude and latitude, shape `(cells, 2)`, from the names "lat_lon" of `read_grid`.

    Arguments:
        names: in degrees, such as ``43.25_-1.75``.

    Raises:
        DriftpeakError: a name has another format.
    """
    positions = []
    for name in names:
        try:
            latitude, longitude = map(float, name.split("_"))
        except ValueError:
            raise DriftpeakError(
                "the name of a grid cell must be latitude_longitude, such as 43.25_-1.75; got "
                f"{name!r}"
            ) from None
        positions.append((longitude, latitude))
    return np.array(positions)


def _within(values: np.ndarray, ends: Range) -> np.ndarray:
    return np.flatnonzero((values >= ends[0]) & (values <= ends[1]))
