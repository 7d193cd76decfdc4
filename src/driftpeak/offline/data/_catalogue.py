"""The data sets of the papers and similar ones, with publishers, licences and formats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from driftpeak._core.errors import DriftpeakError, nearest
from driftpeak.offline.data._grids import read_grid
from driftpeak.offline.data._intel import read_intel_lab
from driftpeak.offline.data._monthly import read_monthly
from driftpeak.offline.data._tables import read_table
from driftpeak.offline.data._traffic import read_speeds


@dataclass(frozen=True)
class DataSet:
    """A data set.

    Attributes:
        name: its name on the command line.
        title: a description.
        publisher, licence: who to credit, and the terms of use, if known.
        file: the name of its file in the data folder.
        address: the publisher's address of this file; None if there is no direct download.
        page: a page with the file or its sources.
        format: the format that `read` expects.
        read: the loader, a function of the path.
        sha256: checksum of the publisher's file, if the file is known not to change.
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
    data.name: data
    for data in (
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
            "intel-lab as a table: 46 sensors, every 10 minutes from 2004-03-01 to 2004-03-05",
            "Intel Lab Data, MIT CSAIL",
            "as intel-lab",
            "intel_lab_temperature.csv.gz",
            None,
            "http://db.csail.mit.edu/labdata/labdata.html",
            "CSV: time, then one column per sensor, degrees C",
            read_table,
        ),
        DataSet(
            "intel-lab-weeks",
            "intel-lab for three weeks, nothing removed: 52 sensors, 2004-03-01 to 2004-03-21",
            "Intel Lab Data, MIT CSAIL; Lee and Shin, ICDE 2021",
            "as intel-lab",
            "intel_lab_temperature_all.csv.gz",
            None,
            "http://db.csail.mit.edu/labdata/labdata.html",
            "CSV: time, then one column per sensor, degrees C; blank if there is no reading",
            read_table,
        ),
        DataSet(
            "pems-speed",
            "PeMSD7(M): highway speed at 228 stations near Los Angeles, every 5 minutes, 2012",
            "Caltrans Performance Measurement System; set made by Yu, Yin and Zhu (IJCAI 2018)",
            "free with registration; terms of PeMS",
            "pemsd7_speed.csv.gz",
            None,
            "https://pems.dot.ca.gov",
            "CSV: one column per detector, mph, with or without a header and a time column",
            read_speeds,
        ),
        DataSet(
            "us101-speed",
            "highway speed at 115 detectors along US-101, every 5 minutes for 3 days",
            "Caltrans Performance Measurement System; Avila and Mezic (Nature Communications 2020)",
            "none stated; terms of PeMS",
            "us101_speed.csv.gz",
            None,
            "https://github.com/Allan-Avila/Highway-Traffic-Dynamics-KMD-Code",
            "CSV: minute, then one column per detector in road order, mph",
            read_speeds,
        ),
        DataSet(
            "stocks",
            "adjusted closing prices of 29 Dow Jones stocks, 2016-01-04 to 2019-04-10",
            "Chowdhury and Gopalan (NeurIPS 2019); their source of the prices is not stated",
            "none stated; market data may be subject to the terms of the exchange or vendor",
            "stocks_dow.csv.gz",
            None,
            "https://github.com/sayakrc/Bayesian-Optimization-under-Heavy-tailed-Payoffs",
            "CSV: date, then one column per stock, US dollars",
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
            "europe-anomalies",
            "monthly temperature anomalies of 25 European regions, from 1975, base 1951 to 1980",
            "Berkeley Earth; collected by Leonardo Uieda",
            "CC BY-NC 4.0",
            "europe_berkeley_anomalies.csv.gz",
            None,
            "https://github.com/compgeolab/temperature-data",
            "CSV: month, region, lat, lon, anomaly_c; one line per month and region",
            read_monthly,
        ),
        DataSet(
            "france-temperature",
            "monthly temperature of 13 French regions, 1948 to 2020; use it from 1981",
            "GHCN-CAMS, NOAA PSL (Fan and van den Dool 2008); regional means by Resource Watch",
            "public domain (US government); the regional means MIT",
            "france_temperature.csv.gz",
            None,
            "https://github.com/resource-watch/blog-analysis",
            "CSV: month, location, lat, lon, temperature_c, anomaly_1981_2010_c",
            read_monthly,
        ),
        DataSet(
            "iberia-temperature",
            "monthly temperature on 330 half-degree cells, Iberia and around, 1981 to 2010",
            "Climatic Research Unit, CRU TS 4.00 (Harris et al. 2014)",
            "probably Open Database License",
            "iberia_temperature_cru.csv.gz",
            None,
            "https://github.com/SantanderMetGroup/drought4R",
            "CSV: month, then one column per cell, named lat_lon, degrees C",
            read_table,
        ),
    )
}
"""All data sets by name."""


def data_set(name: str) -> DataSet:
    """Return the data set of this name.

    Raises:
        DriftpeakError: there is no such data set.
    """
    if name not in DATA_SETS:
        raise DriftpeakError(
            f"unknown data set {name!r}; known: {', '.join(DATA_SETS)}.{nearest(name, DATA_SETS)}"
        )
    return DATA_SETS[name]
