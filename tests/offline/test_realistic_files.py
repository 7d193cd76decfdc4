"""Files as users have them: each is read correctly, or after the remedy of each message."""

import itertools
import re
import sys
from datetime import datetime, timedelta

import numpy as np
import pytest
from spreadsheets import ods, xlsx

import driftpeak as dp
from driftpeak.cli.table_options import in_options
from driftpeak.offline.data import read_table
from driftpeak.offline.logs import read_log

ARMS = ("north", "south", "west")
DIALECTS = {  # separator, decimal mark, quotes
    "comma": (",", ".", ""),
    "semicolon": (";", ",", ""),
    "tab": ("\t", ".", ""),
    "quoted": (",", ",", '"'),
    "pipe": ("|", ".", ""),
    "xlsx": xlsx,
    "ods": ods,
}
DATES = {
    "iso": "%Y-%m-%d %H:%M",
    "dotted": "%d.%m.%Y %H:%M",
    "us": "%m/%d/%Y %I:%M %p",
    "day": "%Y-%m-%d",
}
LAYOUTS = ("wide", "weekday", "long", "two headers")
GAPS = {"none": None, "dash": "-", "blank": ""}
PARTS = (DIALECTS, DATES, LAYOUTS)
CASES = [
    tuple(list(part)[n] for part, n in zip(PARTS, place, strict=True))
    for place in itertools.product(*(range(len(part)) for part in PARTS))
    if sum(place) % 2 == 0
]
FILES = [(*case, tuple(GAPS)[number % 3]) for number, case in enumerate(CASES)]
REMEDY = re.compile(
    r'(missing|time_column|index|columns|values|blank|header_rows)=("[^"]*"|[\w-]+)'
)


def written(dialect, dates, layout, gap):
    """The bytes of a file, its rewards, and whether each cell is known.

    Spreadsheets have numbers, and dates or texts of dates.
    """
    generator = np.random.default_rng([len(dialect), len(dates), len(layout), len(gap)])
    count = 30
    rewards = np.round(generator.normal(10, 2, (count, 3)), 2)
    known = np.ones((count, 3), bool)
    mark = GAPS[gap]
    if mark is not None:
        known[5, 1] = known[12, 0] = False
    book = DIALECTS[dialect] if callable(DIALECTS[dialect]) else None
    separator, decimal, quote = DIALECTS[dialect] if book is None else ("", ".", "")
    step = timedelta(days=1) if dates == "day" else timedelta(hours=6)
    moments = [datetime(2026, 1, 10) + n * step for n in range(count)]
    times = [moment.strftime(DATES[dates]) for moment in moments]
    if book is not None and dates in ("iso", "day"):
        times = moments

    def number(row, column):
        text = f"{rewards[row, column]:.2f}".replace(".", decimal)
        if not known[row, column]:
            return mark
        return text if book is None else float(text)

    cells = [[number(row, column) for column in range(3)] for row in range(count)]
    if layout == "long":
        order = [(row, column) for row in range(count) for column in range(3)]
        lines = [["sensor", "timestamp", "reading"]]
        lines += [[ARMS[column], times[row], cells[row][column]] for row, column in order]
    elif layout == "two headers":
        lines = [["time", "temperature", "", ""], ["", *ARMS]]
        lines += [[time, *row] for time, row in zip(times, cells, strict=True)]
    else:
        days = [[moment.strftime("%A")] if layout == "weekday" else [] for moment in moments]
        lines = [["time", *(["weekday"] if layout == "weekday" else []), *ARMS]]
        lines += [[t, *day, *row] for t, day, row in zip(times, days, cells, strict=True)]
    if book is not None:
        title = [["Readings of the plant"], []]
        return book({"Data": title + lines, "Remarks": [["none"]]}), rewards, known
    text = "\n".join(separator.join(f"{quote}{cell}{quote}" for cell in line) for line in lines)
    return f"{text}\n".encode(), rewards, known


def next_remedy(path, given):
    """The arguments of the first remedy of a message, or None if the file is read."""
    try:
        read_table(path, outliers="keep", **given)
    except dp.DriftpeakError as error:
        message = str(error)
    else:
        return None
    pairs = REMEDY.findall(message)
    assert pairs, message
    remedies = {name: value.strip('"') for name, value in reversed(pairs)}  # the first counts
    name = pairs[0][0]
    value = remedies[name]
    special = {"header_rows": lambda: {name: int(value)}, "blank": lambda: {name: [value]}}
    return remedies if name == "index" else special.get(name, lambda: {name: value})()


def read(path):
    """The table, read with the remedies of the messages, and these remedies."""
    given = {}
    while (found := next_remedy(path, given)) is not None:
        assert not found.keys() & given.keys(), found  # each remedy helps at once
        given |= found
    return read_table(path, outliers="keep", **given), given


def test_all_files_are_different():
    assert len(set(FILES)) == 56
    for number, values in enumerate((DIALECTS, DATES, LAYOUTS, GAPS)):
        assert {case[number] for case in FILES} == set(values)


@pytest.mark.parametrize(("dialect", "dates", "layout", "gap"), FILES)
def test_a_realistic_file(tmp_path, dialect, dates, layout, gap):
    if dialect in ("xlsx", "ods"):
        pytest.importorskip("python_calamine")
    content, rewards, known = written(dialect, dates, layout, gap)
    path = tmp_path / "rewards.csv"
    path.write_bytes(content)
    table, given = read(path)
    assert [name.removeprefix("temperature ") for name in table.arms] == list(ARMS)
    np.testing.assert_allclose(table.values[known], rewards[known])
    assert np.isfinite(table.values).all()
    assert len(table.times) == len(rewards)
    assert (len(table.times[0]) == len("2026-01-10")) == (dates == "day")
    assert ("missing" in given) == (gap != "none")
    assert ("index" in given) == (layout == "long")
    assert set(table.contexts) == ({"weekday"} if layout == "weekday" else set())
    if layout == "weekday":
        step = timedelta(days=1) if dates == "day" else timedelta(hours=6)
        expected = [(datetime(2026, 1, 10) + n * step).strftime("%A") for n in range(len(rewards))]
        assert list(table.contexts["weekday"]) == expected


def test_the_hour_that_is_missing_in_spring_is_reported(tmp_path):
    hours = [datetime(2026, 3, 28, 20) + timedelta(hours=n) for n in range(12)]
    lines = [f"{hour},{n},{n + 1}" for n, hour in enumerate(hours) if hour.hour != 2]
    path = tmp_path / "spring.csv"
    path.write_text("\n".join(["time,a,b", *lines]) + "\n")
    (note,) = read_table(path).notes
    assert "1 hour missing where daylight saving time probably began" in note
    assert "2026-03-29 03:00:00" in note
    path.write_text(
        "\n".join(["time,a,b", *(line.replace("-03-2", "-06-2") for line in lines[:10])])
    )
    assert read_table(path).notes == ()


def test_remedies_in_the_syntax_of_the_command_line():
    text = 'fill the cells with missing=interpolate, or give index="the time", columns=arm'
    assert in_options(text) == (
        "fill the cells with --missing interpolate, or give --index 'the time', --columns arm"
    )
    assert in_options('context_columns="weekday"') == "--context-column weekday"
    assert in_options('header_rows=2; blank="-"') == "--header-rows 2; --blank -"


def test_a_remedy_on_the_command_line(tmp_path, run):
    path = tmp_path / "rewards.csv"
    path.write_text("t,a,b\n1,2,-\n2,3,4\n3,4,5\n")
    code, out, err = run("plan", "--data", path)
    assert (code != 0, out) == (True, "")
    assert "give --blank -" in err


def test_header_rows_are_checked(tmp_path):
    path = tmp_path / "rewards.csv"
    path.write_text("t,a,b\n1,2,3\n2,3,4\n")
    with pytest.raises(dp.DriftpeakError, match="header_rows must be"):
        read_table(path, header_rows=0)
    with pytest.raises(dp.DriftpeakError, match="at least two lines of values below 2 header"):
        read_table(path, header_rows=2)


BOOK = {
    "Notes": [],
    "Prices": [["t", "a", "b"], [1, 0.5, 2.0], [2, 1.5, None], [3, "1,5", 4.0]],
    "Other": [[None] * 4, [None, "t", "x", "y"], [None, 1, 7, 8], [], [None, 2, 9, 10.25]],
}


@pytest.mark.parametrize("book", [xlsx, ods])
def test_sheets_of_a_spreadsheet(tmp_path, book):
    pytest.importorskip("python_calamine")
    path = tmp_path / "book"
    path.write_bytes(book(BOOK))
    with pytest.raises(dp.DriftpeakError, match="row 4, column 'a': '1,5' has a decimal comma"):
        read_table(path)
    table = read_table(path, sheet="Other")
    assert table.values.tolist() == [[7, 8], [9, 10.25]]
    assert (table.arms, table.times, table.notes) == (
        ("x", "y"),
        ("1", "2"),
        ("ignored blank rows: 1",),
    )
    with pytest.raises(
        dp.DriftpeakError, match=r"must be one of 'Prices', 'Other'; got 'Othr'.*'Other'"
    ):
        read_table(path, sheet="Othr")
    rows = [["price", "revenue"], *([n, n / 4] for n in range(8)), [8, None]]
    path.write_bytes(book({"Log": rows, "Notes": [["none"]]}))
    log = read_log(path, choice="price", reward="revenue", missing="drop")
    assert log.rewards.tolist() == [n / 4 for n in range(8)]
    assert log.notes[0] == "read sheet 'Log'; sheet= reads another: 'Notes'"
    path.write_bytes(book({"a": []}))
    with pytest.raises(dp.DriftpeakError, match="the file is empty; a header row"):
        read_table(path)
    path.write_bytes(book({"a": [["t", "x", "y"], [1, 2, 3]]}))
    with pytest.raises(
        dp.DriftpeakError, match=r"at least two rows of values.*got one row of values"
    ):
        read_table(path)


def test_a_spreadsheet_that_is_damaged_or_cannot_be_read(tmp_path, monkeypatch):
    path = tmp_path / "book.xlsx"
    content = xlsx(BOOK)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    path.write_bytes(content)
    with pytest.raises(
        dp.DriftpeakError, match=r"is a spreadsheet; .*'driftpeak\[spreadsheets\]', or save"
    ):
        read_table(path)
    monkeypatch.undo()
    pytest.importorskip("python_calamine")
    path.write_bytes(content.replace(b"<sheetData>", b"<sheetDat<>"))
    with pytest.raises(dp.DataError, match="cannot be read as a spreadsheet"):
        read_table(path)
    path.write_bytes(content[:-30])
    with pytest.raises(dp.DataError, match="an incomplete spreadsheet, not a text file"):
        read_table(path)


def test_marks_and_header_rows_of_a_log(tmp_path, run):
    path = tmp_path / "log.csv"
    lines = ["offer,,result", ",price,EUR", *(f"{n},{n % 3},{n / 4}" for n in range(9)), "9,1,-"]
    path.write_text("\n".join(lines) + "\n")
    columns = {"choice": "price", "reward": "result EUR"}
    with pytest.raises(dp.DriftpeakError, match='missing value, give blank="-"'):
        read_log(path, **columns, header_rows=2)
    log = read_log(path, **columns, header_rows=2, blank=["-"], missing="drop")
    assert log.rewards.tolist() == [n / 4 for n in range(9)]
    options = ("--choice", "price", "--reward", "result EUR", "--header-rows", "2")
    code, _, err = run("follow", path, *options)
    assert code != 0
    assert "give --blank -" in err
