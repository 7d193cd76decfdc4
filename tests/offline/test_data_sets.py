"""Data sets: loaders on small made-up files, the data folder, downloads from a local server."""

import gzip
import hashlib
import threading
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from commands import refused

import driftpeak as dp
from driftpeak.offline import data
from driftpeak.offline.data import _catalogue as catalogue

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DRIFTPEAK_DATA", str(tmp_path / "folder"))
    return tmp_path / "folder"


@pytest.fixture
def serve():
    """Serve with a handler; gives the address."""
    servers = []

    def start(handler):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class CutShort(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"x" * 10)

    def log_message(self, *args):
        pass


LOG = """2004-03-01 00:00:10.5 1 1 20.0 40 100 2.7
2004-03-01 00:05:00.0 2 1 22.0 40 100 2.7
2004-03-01 00:01:00.0 2 2 30.0 40 100 2.7
2004-03-01 00:02:00.0 2 3 122.153 40 100 2.7
2004-03-01 00:12:00.0 3 1 24.0 40 100 2.7
2004-03-01 00:12:30.0 3 2
2004-03-01 00:25:00.0 4 1 26.0 40 100 2.7
2004-03-01 00:25:00.0 4 2 33.0 40 100 2.7
2004-02-28 23:00:00.0 9 1 99.0 40 100 2.7
2004-03-02 00:00:00.0 9 1 99.0 40 100 2.7
"""


@pytest.mark.parametrize("compressed", [False, True])
def test_the_lab_log_is_averaged_by_interval(tmp_path, compressed):
    path = tmp_path / "data.txt"
    path.write_bytes(gzip.compress(LOG.encode()) if compressed else LOG.encode())
    settings = {"days": 1, "minutes": 480, "coverage": 0.3}
    table = data.read_intel_lab(path, **settings)
    assert table.arms == ("1", "2")
    assert table.times == ("2004-03-01 00:00:00", "2004-03-01 08:00:00", "2004-03-01 16:00:00")
    np.testing.assert_allclose(table.values[0], [(20 + 22 + 24 + 26) / 4, (30 + 33) / 2])
    assert "incomplete lines: 1, values outside 0 to 50: 1" in table.notes[0]
    fine = data.read_intel_lab(path, days=1, minutes=10, coverage=0.01)
    np.testing.assert_allclose(fine.values[:3], [[21, 30], [24, 31.5], [26, 33]])  # 31.5: filled
    assert (
        data.read_intel_lab(path, column="light", plausible=(0, 1e3), **settings).values[0, 0]
        == 100
    )


def test_speeds_with_and_without_a_header(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("61.5,70\n60,69.5\n59,71\n58,72\n57,73\n")
    table = data.read_speeds(path)
    assert (table.arms, table.values.shape) == (("0", "1"), (5, 2))
    path.write_text("400001,400002\n61.5,70\n60,69.5\n")
    assert data.read_speeds(path).arms == ("400001", "400002")
    first, second = data.split_days(table, 2)
    np.testing.assert_array_equal(first.values, [[61.5, 70], [60, 69.5]])
    np.testing.assert_array_equal(second.values, [[59, 71], [58, 72]])
    (one,) = data.split_days(table, 4, first=1, last=3)
    np.testing.assert_array_equal(one.values, [[60, 69.5], [59, 71]])


def test_monthly_maps_keep_whole_places(tmp_path):
    path = tmp_path / "map.csv"
    path.write_text(
        "month,region,lat,lon,temperature_c,anomaly_c\n"
        "2001-01,B,0,0,5,0.5\n2001-02,A,0,0,6,1.5\n2001-01,A,0,0,7,0.25\n"
        "2001-02,B,0,0,8,\n2001-02,C,0,0,8,1\n2001-01,C,0,0,8,2\n2000-12,A,0,0,1,1\n"
    )
    table = data.read_monthly(path, since="2001-01")
    assert (table.arms, table.times) == (("A", "C"), ("2001-01", "2001-02"))
    np.testing.assert_array_equal(table.values, [[0.25, 2], [1.5, 1]])
    assert "B" in table.notes[0]
    whole = data.read_monthly(path, value="temperature_c", since="2001-01", until="2001-02")
    assert whole.arms == ("A", "B", "C")


@pytest.mark.parametrize("engine", ["h5netcdf", "scipy"])
def test_grids_are_cut_to_a_box(tmp_path, engine):
    values = np.arange(3 * 3 * 4, dtype=float).reshape(3, 3, 4)
    values[1, 1, 1] = np.nan
    grid = xr.Dataset(
        {"temperature": (("time", "latitude", "longitude"), values)},
        coords={"time": [1999.04, 1999.125, 2000.04], "latitude": [-0.5, 0.5, 1.5],
                "longitude": [-1.5, -0.5, 0.5, 1.5]},
    )  # fmt: skip
    grid.to_netcdf(tmp_path / "grid.nc", engine=engine)
    table = data.read_grid(
        tmp_path / "grid.nc", latitude=(0, 2), longitude=(-1, 1), years=(1999, 2000)
    )
    assert table.arms == ("0.5_0.5", "1.5_-0.5", "1.5_0.5")
    np.testing.assert_array_equal(table.values, values[:2][:, [1, 2, 2], [2, 1, 2]])
    assert "1 cells" in table.notes[0]
    np.testing.assert_array_equal(table.positions, [[0.5, 0.5], [-0.5, 1.5], [0.5, 1.5]])
    np.testing.assert_array_equal(data.cell_positions(table.arms), table.positions)
    with pytest.raises(dp.DriftpeakError, match=r"the name of a grid cell must be .*'Paris'"):
        data.cell_positions(["43.25_-1.75", "Paris"])


def test_fetch_from_a_server(tmp_path, serve, monkeypatch, folder):
    content = b"date,a,b\n1,2,3\n2,3,4\n"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "s.csv").write_bytes(content)
    address = serve(partial(Files, directory=tmp_path / "site")) + "/s.csv"
    path = data.fetch_data("stocks", address)
    assert path == folder / "stocks_dow.csv.gz" == data.require_data("stocks")
    assert path.read_bytes() == content
    np.testing.assert_array_equal(data.load_data("stocks").values, [[2, 3], [3, 4]])
    with pytest.raises(dp.DriftpeakError, match=r"exists already.*overwrite"):
        data.fetch_data("stocks", address)
    # the publisher's own address, with a checksum that is right and one that is not
    for checksum in (hashlib.sha256(content).hexdigest(), "0" * 64):
        known = replace(catalogue.DATA_SETS["stocks"], address=address, sha256=checksum)
        monkeypatch.setitem(catalogue.DATA_SETS, "stocks", known)
        if checksum != "0" * 64:
            assert data.fetch_data("stocks", overwrite=True) == path
    with pytest.raises(dp.DataError, match="checksum"):
        data.fetch_data("stocks", overwrite=True)
    assert path.read_bytes() == content
    assert [one.name for one in folder.iterdir()] == ["stocks_dow.csv.gz"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda serve: serve(CutShort), "incomplete.*10 bytes read.*--from FILE"),
        (lambda serve: serve(Files) + "/no/such/file", "answers 404"),
        (lambda serve: "http://127.0.0.1:9/x", "no connection.*--from FILE"),
        (lambda serve: "ftp://example.org/x", "must be an http or https address"),
        (lambda serve: "/no/such/file", "No such file.*--from FILE"),
    ],
)
def test_failed_downloads_leave_nothing(serve, folder, make, message):
    with pytest.raises(dp.DataError, match=message):
        data.fetch_data("intel-lab", make(serve))
    assert list(folder.iterdir()) == []


def test_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("DRIFTPEAK_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data.data_folder() == tmp_path / "driftpeak"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data.data_folder() == Path.home() / ".cache" / "driftpeak"


def test_commands(run, tmp_path, folder):
    code, out, _ = run("data", "list")
    assert code == 0
    assert out.count("\n  licence ") == len(data.DATA_SETS)
    assert "missing" in out
    assert refused(run("data", "path", "stocks"), "no such file.*data fetch stocks --from FILE")
    assert refused(run("data", "path", "stoks"), "unknown data set.*Did you mean 'stocks'")
    assert refused(run("data", "fetch", "stocks"), "cannot be downloaded by a program")
    (tmp_path / "mine.csv").write_text("date,a,b\n1,2,3\n2,3,4\n")
    code, out, err = run("data", "fetch", "stocks", "--from", tmp_path / "mine.csv")
    assert (code, out.strip()) == (0, str(folder / "stocks_dow.csv.gz"))
    assert "Licence" in err
    assert run("data", "path", "stocks")[1] == out


@pytest.mark.parametrize(
    ("text", "call", "message"),
    [
        ("hello world foo bar baz", data.read_intel_lab, "line 1: not a line of the log"),
        (LOG, partial(data.read_intel_lab, start="2005-01-01"), "got 0 of 0"),
        ("a,b\n1,2\n", data.read_monthly, "needs a column month"),
        (
            "month,region,x\n2001-01,A,1\n2001-01,A,2\n",
            data.read_monthly,
            "line 3: A, 2001-01 occurs",
        ),
        ("month,region,x\n2001-01,A,hot\n", data.read_monthly, "line 2.*'hot' is not a number"),
        (
            "month,region,lat,lon,x\n2001-01,A,1,2,3\n2001-02,A,1,3,3\n",
            data.read_monthly,
            "line 3: the position of A must be equal",
        ),
        ("month,region,lat,lon,x\n2001-01,A,1,,3\n", data.read_monthly, "line 2, column 'lon'"),
        ("61.5,70\n60,x\n", data.read_speeds, "not a table of numbers"),
        ("text", data.read_grid, "cannot be read as netCDF"),
    ],
)
def test_broken_files(tmp_path, text, call, message):
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(dp.DataError, match=message):
        call(path)


@pytest.mark.parametrize(
    ("text", "call", "message"),
    [
        (LOG, partial(data.read_intel_lab, start="March"), "start must be a date"),
        (LOG, partial(data.read_intel_lab, column="wind"), "column must be one of"),
        ("month,region,xx\n2001-01,A,1\n", partial(data.read_monthly, value="x"), "there are: xx"),
        ("a,b\n1,2\n2,1\n", partial(data.read_table, time_column="c"), "no column is named 'c'"),
    ],
)
def test_wrong_arguments_are_no_fault_of_the_file(tmp_path, text, call, message):
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(dp.DriftpeakError, match=message) as caught:
        call(path)
    assert caught.type is dp.DriftpeakError


def test_another_folder(tmp_path, folder):
    """A folder that is given is the only one looked in."""
    mine = tmp_path / "mine"
    mine.mkdir()
    folder.mkdir()
    (folder / "stocks_dow.csv.gz").write_text("date,a,b\n1,2,3\n2,3,4\n")
    with pytest.raises(dp.DataError, match=rf"{mine}/stocks_dow.*--from FILE` in {folder}"):
        data.require_data("stocks", mine)
    (mine / "stocks_dow.csv.gz").write_text("")
    assert data.require_data("stocks", mine) == mine / "stocks_dow.csv.gz"
    assert data.require_data("stocks") == folder / "stocks_dow.csv.gz"


def test_names_and_files_are_unique():
    assert len({one.file for one in data.DATA_SETS.values()}) == len(data.DATA_SETS)
    assert all(name == one.name for name, one in data.DATA_SETS.items())


@pytest.mark.skipif(not SHARED.exists(), reason="data beside the project")
@pytest.mark.parametrize(
    ("name", "shape", "arms"),
    [
        ("intel-lab-table", (720, 46), ("1", "53")),
        ("intel-lab-weeks", (2994, 52), ("1", "54")),
        ("pems-speed", (2016, 228), ("716939", None)),
        ("us101-speed", (864, 115), ("d001", "d115")),
        ("stocks", (823, 29), ("AAPL", "XOM")),
        ("europe-anomalies", (552, 21), ("Andorra", None)),
        ("france-temperature", (869, 13), (None, None)),
        ("iberia-temperature", (360, 330), ("36.25_-6.25", None)),
    ],
)
def test_the_real_tables(monkeypatch, name, shape, arms):
    """The catalogue's names, files and loaders fit the files beside the project."""
    monkeypatch.setenv("DRIFTPEAK_DATA", str(SHARED))
    options = (
        {"outliers": "keep"} if name in {"intel-lab-weeks", "pems-speed", "us101-speed"} else {}
    )
    options |= {"missing": "interpolate"} if name == "intel-lab-weeks" else {}
    table = data.load_data(name, **options)
    assert table.values.shape == shape
    assert np.isfinite(table.values).all()
    for end, arm in zip((0, -1), arms, strict=True):
        assert arm in (None, table.arms[end])


@pytest.mark.skipif(not SHARED.exists(), reason="data beside the project")
def test_the_real_tables_cut():
    speeds = data.read_speeds(SHARED / "pemsd7_speed.csv.gz", outliers="keep")
    days = data.split_days(speeds, 288, first=72, last=132)
    assert (len(days), days[0].values.shape) == (7, (60, 228))
    assert data.read_table(SHARED / "stocks_dow.csv.gz").values.shape == (823, 29)
    europe = data.read_monthly(SHARED / "europe_berkeley_anomalies.csv.gz", until="2016-05")
    assert len(europe.arms) == 25
    france = data.read_monthly(SHARED / "france_temperature.csv.gz", since="1981-01")
    assert len(france.arms) == 13
    assert abs(france.values[:360].mean()) < 1e-3  # anomalies of their own base period
    for table in (europe, france):
        longitudes, latitudes = table.positions.T
        assert ((longitudes > -12) & (longitudes < 21)).all()
        assert ((latitudes > 35) & (latitudes < 60)).all()
