"""The data sets of the papers and their relatives: who publishes them, and what they look like."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from driftpeak.data.grids import read_grid
from driftpeak.data.intel import read_intel_lab
from driftpeak.data.monthly import read_monthly
from driftpeak.data.tables import read_table
from driftpeak.data.traffic import read_speeds
from driftpeak.errors import DriftpeakError, nearest


@dataclass(frozen=True)
class DataSet:
    """One known data set.

    Attributes:
        name: on the command line.
        title: what it is.
        publisher, licence: who to credit, and under what terms, as far as known.
        file: its name in the data folder.
        address: where the publisher offers that file; None if only by hand.
        page: where a person finds it.
        format: what `read` expects.
        read: the loader; takes a path.
        sha256: checksum of the publisher's file, where the publisher's file is known to be fixed.
    """

    name: str
    title: str
    publisher: str
    licence: str
    file: str
    address: str | None
    page: str
    format: str
    read: Callable[..., Any]
    sha256: str | None = None


DATA_SETS: dict[str, DataSet] = {
    one.name: one
    for one in (
        DataSet(
            "intel-lab",
            "Intel Berkeley lab: temperature at 54 sensors, every 31 s, February to April 2004",
            "Intel Lab Data, MIT CSAIL (Bodik, Hong, Guestrin, Madden, Paskin, Thibaux 2004)",
            "no formal licence; published for research use, to be acknowledged",
            "intel_lab.txt.gz",
            "http://db.csail.mit.edu/labdata/data.txt.gz",
            "http://db.csail.mit.edu/labdata/labdata.html",
            "log: date time epoch moteid temperature humidity light voltage; plain or .gz",
            read_intel_lab,
        ),
        DataSet(
            "intel-lab-table",
            "the same as a table: one column per sensor, one row per 10 minutes",
            "Intel Lab Data, MIT CSAIL",
            "as intel-lab",
            "intel_lab_temperature.csv.gz",
            None,
            "http://db.csail.mit.edu/labdata/labdata.html",
            "CSV: time, then one column per sensor, degrees C",
            read_table,
        ),
        DataSet(
            "pems-speed",
            "Caltrans PeMS: highway speed by detector, every 5 minutes",
            "California Department of Transportation, Performance Measurement System",
            "free with registration; terms of PeMS",
            "pems_speed.csv.gz",
            None,
            "https://pems.dot.ca.gov",
            "CSV: one column per detector, mph, with or without a header and a time column",
            read_speeds,
        ),
        DataSet(
            "stocks",
            "adjusted closing prices of stocks, by trading day",
            "any vendor; the papers use 29 Dow Jones stocks, 2016-01-04 to 2019-04-10",
            "terms of the exchange or vendor",
            "stocks.csv.gz",
            None,
            "your vendor's download page",
            "CSV: date, then one column per stock",
            read_table,
        ),
        DataSet(
            "berkeley-grid",
            "Berkeley Earth: monthly temperature anomalies on a 1-degree grid, from 1750",
            "Berkeley Earth",
            "CC BY-NC 4.0",
            "berkeley_grid.nc",
            "https://berkeley-earth-temperature.s3.us-west-1.amazonaws.com/Global/Gridded/Complete_TAVG_LatLong1.nc",
            "https://berkeleyearth.org/data/",
            "netCDF: temperature(time, latitude, longitude), time in decimal years",
            read_grid,
        ),
        DataSet(
            "monthly-map",
            "monthly temperature of named places, one line per month and place",
            "for instance Berkeley Earth's regional summaries or GHCN-CAMS regional means",
            "of the source",
            "monthly_map.csv.gz",
            None,
            "https://berkeleyearth.org/data/",
            "CSV: month, location or region, and a column of values",
            read_monthly,
        ),
    )
}


def data_set(name: str) -> DataSet:
    """The data set called `name`.

    Raises:
        DriftpeakError: there is none.
    """
    if name not in DATA_SETS:
        raise DriftpeakError(
            f"unknown data set {name!r}; known: {', '.join(DATA_SETS)}.{nearest(name, DATA_SETS)}"
        )
    return DATA_SETS[name]
