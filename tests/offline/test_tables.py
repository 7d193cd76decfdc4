"""Reading reward tables: what is read, what is refused, and what the refusal says."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import jaxtyping
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from driftpeak._core.errors import DataError, DriftpeakError, DriftpeakWarning
from driftpeak.offline.data import Missing, Outliers, read_table

Write = Callable[[str | bytes], Path]

PLAIN = "time,a,b\nmon,1,2\ntue,3,4.5\n"
# a misses its first and last value, b two in a row, c none.
GAPS = "step,a,b,c\n0,,1,5\n1,2,,5\n2,4,NaN,5\n3,,7,5\n"

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: str | bytes) -> Path:
        path = tmp_path / "rewards.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def refusal(
    path: Path,
    time_column: str | None = None,
    missing: Missing = "error",
    outliers: Outliers = "warn",
) -> str:
    """The one-line message with which a file is refused."""
    with pytest.raises(DataError) as caught:
        read_table(path, time_column=time_column, missing=missing, outliers=outliers)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


# What is read


def test_a_plain_table(write: Write) -> None:
    table = read_table(write(PLAIN))
    assert table.values.dtype == np.float64
    assert table.values.tolist() == [[1.0, 2.0], [3.0, 4.5]]
    assert table.arms == ("a", "b")
    assert table.times == ("mon", "tue")
    assert table.time_name == "time"
    assert table.notes == ()


def test_a_path_may_be_a_string(write: Write) -> None:
    assert read_table(str(write(PLAIN))).arms == ("a", "b")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbf" + PLAIN.encode(), id="BOM"),
        pytest.param(PLAIN.replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(PLAIN.rstrip("\n").encode(), id="no newline at the end"),
        pytest.param(PLAIN.encode() + b"\n\r\n  \n", id="blank lines at the end"),
        pytest.param(b'"time","a","b"\n"mon","1","2"\n"tue","3","4.5"\n', id="quoted"),
        pytest.param(b"time, a , b\nmon, 1, 2\ntue, +3.0,0.45e1 \n", id="spaces"),
        pytest.param(gzip.compress(PLAIN.encode()), id="gzip under a plain name"),
        pytest.param(gzip.compress(b"\xef\xbb\xbf" + PLAIN.encode()), id="gzip with BOM"),
    ],
)
def test_every_way_of_writing_the_same_table(write: Write, content: bytes) -> None:
    table = read_table(write(content))
    assert table.values.tolist() == [[1.0, 2.0], [3.0, 4.5]]
    assert (table.time_name, table.times, table.arms) == ("time", ("mon", "tue"), ("a", "b"))
    assert table.notes == ()


@pytest.mark.parametrize("compress", [gzip.compress, bytes], ids=["packed", "already unpacked"])
def test_a_gz_name(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "rewards.csv.gz"
    path.write_bytes(compress(PLAIN.encode()))
    assert read_table(path).values.tolist() == [[1.0, 2.0], [3.0, 4.5]]


def test_lines_of_separators_at_the_end_are_ignored_and_noted(write: Write) -> None:
    table = read_table(write(PLAIN + ",,\n,,\n\n"))
    assert table.values.shape == (2, 2)
    assert table.notes == ("ignored lines without any value at the end: 2",)


@pytest.mark.parametrize(
    "name",
    [
        "time",
        "Time",
        "TIME",
        "date",
        "Datetime",
        "timestamp",
        "day",
        "month",
        "year",
        "hour",
        "minute",
        "second",
        "step",
        "t",
        "index",
        "",
        " ",
    ],
)
def test_a_first_column_is_the_time_by_its_name(write: Write, name: str) -> None:
    table = read_table(write(f"{name},1,2\n0,5,6\n1,7,8\n"))
    assert table.time_name == name.strip()
    assert table.times == ("0", "1")
    assert table.arms == ("1", "2")
    assert table.values.tolist() == [[5.0, 6.0], [7.0, 8.0]]


def test_a_first_column_is_the_time_if_its_first_value_is_no_number(write: Write) -> None:
    table = read_table(write("when,a,b\n ,1,2\n2020-01 ,3,4\n7,5,6\n"))
    assert table.time_name == "when"
    assert table.times == ("", "2020-01", "7")


@pytest.mark.parametrize("first", ["8", "-1e-3", " 8 "])
def test_a_numeric_first_column_of_another_name_is_an_arm(write: Write, first: str) -> None:
    table = read_table(write(f"x,y\n{first},1\n2,3\n"))
    assert table.times is None
    assert table.time_name is None
    assert table.arms == ("x", "y")
    assert table.values.tolist() == [[float(first), 1.0], [2.0, 3.0]]


def test_a_named_time_column_may_stand_anywhere(write: Write) -> None:
    table = read_table(write("x,when,y\n1,5,2\n3,6,4\n"), time_column="when")
    assert table.arms == ("x", "y")
    assert table.times == ("5", "6")
    assert table.time_name == "when"
    assert table.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_named_time_column_overrides_the_guess(write: Write) -> None:
    table = read_table(write("t,when,y\n1,mon,2\n3,tue,4\n"), time_column="when")
    assert table.arms == ("t", "y")


def test_a_named_time_column_settles_that_a_numeric_first_line_is_a_header(write: Write) -> None:
    table = read_table(write("0,1,2\n10,11,12\n20,21,22\n"), time_column="0")
    assert table.arms == ("1", "2")
    assert table.times == ("10", "20")


names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff"), min_size=1
).map(str.strip)


@pytest.mark.slow
@settings(deadline=None)
@given(data=st.data(), timed=st.booleans(), packed=st.booleans())
def test_a_written_table_is_read_back_as_it_was(
    data: st.DataObject, timed: bool, packed: bool
) -> None:
    arms = data.draw(st.lists(names.filter(bool), min_size=2, max_size=4))
    # Otherwise the first arm could pass for a time column, the header for a line of numbers, or
    # the end of a name for a unit.
    arms[0] = f"arm {arms[0]}"
    arms[-1] = f"{arms[-1]} arm"
    assume(len({"time", *arms}) == 1 + len(arms))
    rewards = st.floats(-1e100, 1e100)
    row = st.lists(rewards, min_size=len(arms), max_size=len(arms))
    values = data.draw(st.lists(row, min_size=2, max_size=5))
    times = [data.draw(names) for _ in values]

    with TemporaryDirectory() as folder:
        path = Path(folder) / "rewards.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["time", *arms] if timed else arms)
            for time, line in zip(times, values, strict=True):
                writer.writerow([time, *line] if timed else line)
        if packed:
            path.write_bytes(gzip.compress(path.read_bytes(), compresslevel=1))
        table = read_table(path, outliers="keep")

    assert table.arms == tuple(arms)
    assert table.times == (tuple(times) if timed else None)
    np.testing.assert_array_equal(table.values, np.array(values))
    assert table.notes == ()


# Missing cells


def test_dropping_arms(write: Write) -> None:
    table = read_table(write("t,a,b,c\n0,1,,3\n1,4,5,6\n"), missing="drop-arm")
    assert table.arms == ("a", "c")
    assert table.values.tolist() == [[1.0, 3.0], [4.0, 6.0]]
    assert table.times == ("0", "1")
    assert table.notes == ("dropped 1 of 3 arms, which have missing values: 'b'",)


def test_the_note_of_many_dropped_arms_stays_short(write: Write) -> None:
    path = write("a,b,c,d,e,f,g,h\n1,2,,,,,,\n3,4,5,6,7,8,9,10\n")
    (note,) = read_table(path, missing="drop-arm").notes
    assert note == "dropped 6 of 8 arms, which have missing values: 'c', 'd', 'e', 'f', 'g', ..."


def test_interpolating(write: Write) -> None:
    table = read_table(write(GAPS), missing="interpolate")
    expected = [[2, 1, 5], [2, 3, 5], [4, 5, 5], [4, 7, 5]]
    np.testing.assert_allclose(table.values, expected, rtol=1e-15)
    assert table.arms == ("a", "b", "c")
    assert table.notes == (
        "interpolated 4 of 12 cells, in 2 of 3 arms; the first is line 2, column 'a', and most, 2, "
        "are in column 'a'",
    )


def test_interpolating_does_not_overflow(write: Write) -> None:
    path = write("a,b\n1e100,0\n,0\n-1e100,0\n")
    assert read_table(path, missing="interpolate").values[:, 0].tolist() == [1e100, 0, -1e100]


@pytest.mark.parametrize("missing", ["error", "drop-arm", "interpolate"])
def test_nothing_is_done_to_a_whole_table(write: Write, missing: Missing) -> None:
    table = read_table(write(PLAIN), missing=missing)
    assert table.values.tolist() == [[1.0, 2.0], [3.0, 4.5]]
    assert table.notes == ()


@pytest.mark.parametrize("blank", ["", "  ", "\t", "NA", "na", "nan", "NaN", " NAN ", "-nan", '""'])
def test_what_counts_as_missing(write: Write, blank: str) -> None:
    path = write(f"a,b\n1,2\n1,{blank}\n1,4\n")
    assert read_table(path, missing="interpolate").values[:, 1].tolist() == [2.0, 3.0, 4.0]
    assert "line 3, column 'b': the cell is blank" in refusal(path)


def test_missing_times_are_kept_as_written(write: Write) -> None:
    assert read_table(write("t,a,b\n,1,2\nNA,3,4\n")).times == ("", "NA")


def test_a_gap_names_the_first_place_the_extent_and_the_remedies(write: Write) -> None:
    message = refusal(write(GAPS))
    assert "line 2, column 'a': the cell is blank" in message
    assert "the first of 4 missing in 2 of 3 arms" in message
    assert "missing=interpolate" in message
    assert "missing=drop-arm (which keeps 1)" in message


def test_dropping_must_leave_two_arms(write: Write) -> None:
    message = refusal(write(GAPS), missing="drop-arm")
    assert "2 of 3 arms have missing values" in message
    assert "must leave at least two arms; got 1" in message
    assert "missing=interpolate" in message


def test_an_arm_without_any_value_cannot_be_interpolated(write: Write) -> None:
    path = write("t,a,b,c\n0,1,,3\n1,2,,4\n")
    message = refusal(path, missing="interpolate")
    assert "column 'b' must have values to interpolate" in message
    assert "missing=drop-arm" in message
    assert read_table(path, missing="drop-arm").arms == ("a", "c")


@settings(deadline=None)
@given(data=st.data())
def test_interpolation_keeps_what_is_known_and_stays_between_its_neighbours(
    data: st.DataObject,
) -> None:
    cells = data.draw(
        st.lists(st.none() | st.integers(-1000, 1000), min_size=2, max_size=12).filter(
            lambda cells: any(cell is not None for cell in cells)
        )
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rewards.csv"
        lines = ["a,b", *(f"0,{'' if cell is None else cell}" for cell in cells)]
        path.write_text("\n".join(lines), encoding="utf-8")
        filled = read_table(path, missing="interpolate", outliers="keep").values[:, 1]

    for step, cell in enumerate(cells):
        if cell is not None:
            assert filled[step] == cell
            continue
        before = next((c for c in reversed(cells[:step]) if c is not None), None)
        after = next((c for c in cells[step:] if c is not None), None)
        around = [c for c in (before, after) if c is not None]
        assert min(around) - 1e-9 <= filled[step] <= max(around) + 1e-9
        if len(around) == 2:  # on the line between its two neighbours, so no bend here
            bend = filled[step - 1] - 2 * filled[step] + filled[step + 1]
            assert abs(bend) < 1e-9


# What is refused


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(tmp_path / "none.csv")


def test_a_directory(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path)


def test_a_file_taken_for_a_directory(write: Write) -> None:
    assert "cannot be read" in refusal(write(PLAIN) / "rewards.csv")


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(gzip.compress(PLAIN.encode())[:-9], id="cut short"),
        pytest.param(gzip.compress(PLAIN.encode())[:6], id="cut in its header"),
        pytest.param(
            gzip.compress(PLAIN.encode())[:-8] + bytes(4) + gzip.compress(PLAIN.encode())[-4:],
            id="wrong checksum",
        ),
        pytest.param(b"\x1f\x8b\x08\x00" + bytes(6) + b"\xff" * 40, id="garbage inside"),
    ],
)
def test_broken_gzip(write: Write, broken: bytes) -> None:
    assert "the gzip data is broken" in refusal(write(broken))


@pytest.mark.parametrize(
    ("content", "place"),
    [
        pytest.param(b"time,a\x8d,b\n", "line 1: byte 0x8d", id="neither Latin-1"),
        pytest.param(
            b"time,a,b\n1,2,3\n2,\xb5,\x013\n", "line 3: byte 0xb5", id="a control character"
        ),
        pytest.param(gzip.compress(b"a,b\n\x81"), "line 2: byte 0x81", id="within gzip"),
    ],
)
def test_text_that_is_not_utf8(write: Write, content: bytes, place: str) -> None:
    message = refusal(write(content))
    assert place in message
    assert "UTF-8" in message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("", "the file is empty", id="empty"),
        pytest.param("\n \n,,\n", "the file is empty", id="blank"),
        pytest.param(",,\n" + PLAIN, "line 1 must contain the column names", id="blank first line"),
        pytest.param("time,a,b\n", "only a header line", id="header only"),
        pytest.param("time,a,b\n0,1,2\n\n", "one per time step; got one line", id="one row"),
        pytest.param("time,a\n0,1\n1,2\n", "got only 'a' and the time column", id="one arm"),
        pytest.param("a\n0\n1\n", "line 1: only one column, 'a'", id="one column"),
        pytest.param(
            "Dear Ann\nthe weather, as ever, is fine\n", "only one column, 'Dear Ann'", id="prose"
        ),
        pytest.param("1,2\n3,4\n5,6\n", "line 1: no header line", id="numbers at once"),
        pytest.param("1,,3\n3,4,5\n5,6,7\n", "line 1: no header line", id="numbers and a blank"),
        pytest.param(
            "2020-01,2,3\n2020-02,4,5\n2020-03,6,7\n", "line 1: no header line", id="date at once"
        ),
        pytest.param("t,a,,b\n0,1,2,3\n1,2,3,4\n", "column 3 has no name", id="unnamed arm"),
        pytest.param(
            "t,a,b, a\n0,1,2,3\n1,2,3,4\n", "columns 2 and 4 are both named 'a'", id="same name"
        ),
        pytest.param(
            "t,a,b\n0,1,2\n1,2\n", "line 3: expected 3 cells as in the header, found 2", id="short"
        ),
        pytest.param(
            "t,a,b\n0,1,2\n1,2,5,3\n",
            "line 3: expected 3 cells as in the header, found 4",
            id="long",
        ),
        pytest.param('t,a,b\n0,1,2\n1,2,"3\n', "line 3: not a CSV line", id="open quote"),
        pytest.param('t,a,b\n0,1,2\n1,2,"3"4\n', "line 3: not a CSV line", id="text after a quote"),
    ],
)
def test_what_is_no_table(write: Write, content: str, expected: str) -> None:
    assert expected in refusal(write(content))


@pytest.mark.parametrize("cell", ["high", "1_000", "0x1f", "1 2", "1,2,3", "5%", "--"])
def test_text_among_numbers(write: Write, cell: str) -> None:
    message = refusal(write(f't,a,b\n0,1,2\n1,2,"{cell}"\n'))
    assert f"line 3, column 'b': {cell!r} is not a number" in message
    assert "numbers such as 12.5" in message


@pytest.mark.parametrize("missing", ["error", "drop-arm", "interpolate"])
def test_text_is_no_gap(write: Write, missing: Missing) -> None:
    assert "'x' is not a number" in refusal(write("a,b,c\n1,2,3\n1,2,x\n"), missing=missing)


@pytest.mark.parametrize("missing", ["error", "drop-arm", "interpolate"])
@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e999"])
def test_infinite_numbers(write: Write, cell: str, missing: Missing) -> None:
    message = refusal(write(f"t,a,b\n0,1,2\n1,{cell},4\n"), missing=missing)
    assert f"line 3, column 'a': '{cell}' is infinite or" in message


def test_a_long_table_is_told_to_become_wide(write: Write) -> None:
    message = refusal(write("month,region,value\n1990-01,Brest,3\n1990-01,Lyon,4\n"))
    assert 'with index="month", columns="region", values="value"' in message
    assert "read a long table" in message


def test_times_in_a_later_column_are_told_to_be_named(write: Write) -> None:
    path = write(",Date,a,b\n0,2020-01-01,1,2\n1,2020-01-02,3,4\n")
    assert 'time_column="Date"' in refusal(path)
    assert "column 1 has no name" in refusal(path, time_column="Date")


def test_line_numbers_count_the_lines_of_the_file(write: Write) -> None:
    path = write('"t","a\nb",c\n"one\ntwo",1,2\nthree,4,x\n')
    assert "line 5, column 'c'" in refusal(path)


def test_long_and_broken_cells_stay_on_one_short_line(write: Write) -> None:
    message = refusal(write('t,a,b\n0,1,"' + "x\n" * 500 + '"\n1,2,3\n'))
    assert len(message) < 400


@pytest.mark.parametrize(
    ("asked", "hint"), [("timee", " Did you mean 'time'?"), ("A", " Did you mean 'a'?"), ("zz", "")]
)
def test_a_time_column_that_does_not_exist(write: Write, asked: str, hint: str) -> None:
    path = write(PLAIN)
    with pytest.raises(DriftpeakError) as caught:
        read_table(path, time_column=asked)
    assert caught.type is DriftpeakError  # the argument is wrong, not the file
    assert str(caught.value).startswith(f"{path}: line 1: no column is named '{asked}'")
    assert str(caught.value).endswith(f"as in line 1.{hint}")


def test_an_unknown_way_with_missing_cells(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    # Callers outside the tests have no annotations checked for them.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(DriftpeakError, match="one of error, drop-arm, interpolate; got 'drop'"):
        read_table(write(PLAIN), missing="drop")  # type: ignore[arg-type]


# Real tables, where they are at hand


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not at hand")
    return path


@pytest.mark.parametrize(
    ("name", "time_name", "shape"),
    [
        ("intel_lab_temperature.csv.gz", "time", (720, 46)),
        ("pemsd7_speed.csv.gz", "time", (2016, 228)),
        ("stocks_dow.csv.gz", "date", (823, 29)),
        ("us101_speed.csv.gz", "minute", (864, 115)),
        ("iberia_temperature_cru.csv.gz", "month", (360, 330)),
    ],
)
def test_real_wide_tables(name: str, time_name: str, shape: tuple[int, int]) -> None:
    path = shared(name)
    table = read_table(path, outliers="keep")
    assert table.time_name == time_name
    assert table.values.shape == shape
    assert len(table.arms) == shape[1]
    assert table.notes == ()
    expected = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(1, shape[1] + 1))
    np.testing.assert_array_equal(table.values, expected)


def test_a_real_table_with_gaps() -> None:
    path = shared("intel_lab_temperature_all.csv.gz")
    assert "line 2, column '15': the cell is blank" in refusal(path, outliers="keep")
    with pytest.warns(DriftpeakWarning) as warned:
        table = read_table(path, missing="interpolate")
    far, held = (str(one.message) for one in warned)
    assert "3017 outliers" in far  # failing sensors
    assert "column '16', 573 in line 2250 to line 2995, such as 122.153 (median 20.97" in far
    assert "174 stuck values" in held
    raw = np.genfromtxt(path, delimiter=",", skip_header=1)[:, 1:]
    known = ~np.isnan(raw)
    assert np.isfinite(table.values).all()
    np.testing.assert_array_equal(table.values[known], raw[known])
    (note,) = table.notes
    assert note.startswith(f"interpolated {(~known).sum()} of {raw.size} cells")


@pytest.mark.parametrize("name", ["intel_lab_temperature", "stocks_dow", "iberia_temperature_cru"])
def test_real_tables_without_failures_raise_no_doubt(name: str) -> None:
    assert read_table(shared(f"{name}.csv.gz")).doubts == ()


def test_constants_that_a_publisher_filled_gaps_with_are_found() -> None:
    with pytest.warns(DriftpeakWarning, match=r"2845 stuck values.*65"):
        read_table(shared("pemsd7_speed.csv.gz"))


@pytest.mark.parametrize("name", ["france_temperature.csv.gz", "europe_berkeley_anomalies.csv.gz"])
def test_real_long_tables(name: str) -> None:
    assert "read a long table" in refusal(shared(name))
