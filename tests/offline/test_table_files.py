"""Files as people have them: each is read rightly, or refused in words that name the remedy."""

from __future__ import annotations

import gzip
import io
import math
import sys
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from driftpeak._core.errors import DataError, DriftpeakError, DriftpeakWarning
from driftpeak.offline.data import RewardTable, read_table
from driftpeak.offline.data._reading import decoding as contents

NO_TIMES: tuple[str, ...] = ()
Rows = list[list[float]]


@dataclass(frozen=True)
class Read:
    """What is read: arms, times, values, and parts of the notes."""

    values: Rows
    arms: tuple[str, ...] = ("a", "b")
    times: tuple[str, ...] | None = ("0", "1")
    notes: tuple[str, ...] = ()
    unit: str | None = None


@dataclass(frozen=True)
class File:
    """A file's content, how it is read, and what is read, or the refusal: words in order, class."""

    name: str
    content: str | bytes
    becomes: Read | tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    error: type[DriftpeakError] = DataError


def zipped(text: str) -> bytes:
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("rewards.csv", text)
        return file.getvalue()


def dated(*dates: str) -> str:
    return "date;a;b\n" + "".join(f"{date};{i};{i + 1}\n" for i, date in enumerate(dates))


WHOLE = [[1.0, 2.0], [3.0, 4.0]]
HALVES = [[1.5, 2.0], [3.0, 4.25]]
PLAIN = "t,a,b\n0,1,2\n1,3,4\n"
GERMAN = "t;a;b\n0;1,5;2\n1;3;4,25\n"
LONG = "time,sensor,reading\n1,a,10\n2,a,30\n1,b,20\n2,b,40\n"
AS_LONG = {"index": "time", "columns": "sensor", "values": "reading"}
TENS = [[10.0, 20.0], [30.0, 40.0]]


def three(*times: str, note: str = "") -> Read:
    """What becomes of a table by `dated` of three rows."""
    notes = (note,) if note else ()
    return Read([[0, 1], [1, 2], [2, 3]], times=times, notes=notes)


FILES = (
    # separators
    File("commas", PLAIN, Read(WHOLE)),
    File("semicolons", PLAIN.replace(",", ";"), Read(WHOLE)),
    File("tabs", PLAIN.replace(",", "\t"), Read(WHOLE)),
    File("vertical bars", PLAIN.replace(",", "|"), Read(WHOLE)),
    File("blanks after commas", PLAIN.replace(",", ", "), Read(WHOLE)),
    File("Excel says the separator", "sep=;\n" + PLAIN.replace(",", ";"), Read(WHOLE)),
    File("semicolons, commas in names", "t;a, left;b, right\n0;1,5;2,0\n1;3,0;4,25\n",
         Read(HALVES, arms=("a, left", "b, right"), notes=("decimal commas",))),
    File("commas, semicolons in names", "t,a;1,b;2\n0,1,2\n1,3,4\n",
         Read(WHOLE, arms=("a;1", "b;2"))),
    File("separated by blanks", "t a b\n0 1 2\n1 3 4\n",
         ("line 1: only one column, 't a b'", "separated by commas, semicolons, tabs or |")),
    File("separators at the end of all lines", "t,a,b,\n0,1,2,\n1,3,4,\n",
         Read(WHOLE, notes=("ignored separators at the end of the lines",))),
    File("separators at the end of rows", "t,a,b\n0,1,2,\n1,3,4,\n",
         Read(WHOLE, notes=("ignored separators at the end of the lines",))),
    File("separator at the end of the header", "t,a,b,\n0,1,2\n1,3,4\n",
         Read(WHOLE, notes=("ignored separators at the end of the lines",))),
    File("a nameless column with values", "t,a,b,\n0,1,2,7\n1,3,4,\n",
         ("line 1: column 4 has no name; name the arm, or remove the column",)),
    File("lines of separators at the end", PLAIN + ",,\n,,\n",
         Read(WHOLE, notes=("ignored lines without any value at the end: 2",))),
    File("two separators at the end of lines", "t,a,b,,\n0,1,2,,\n1,3,4,,\n",
         Read(WHOLE, notes=("ignored separators at the end of the lines",))),
    # ends of lines, quotes
    File("lines end as on Windows", PLAIN.replace("\n", "\r\n"), Read(WHOLE)),
    File("lines end as on old Macs", PLAIN.replace("\n", "\r"), Read(WHOLE)),
    File("no end of the last line", PLAIN.rstrip(), Read(WHOLE)),
    File("everything quoted", '"t","a","b"\n"0","1","2"\n"1","3","4"\n', Read(WHOLE)),
    File("quotes after blanks", 't, "a", "b"\n0, "1", "2"\n1, "3", "4"\n', Read(WHOLE)),
    File("a comma in a quoted name", 't,"a, left",b\n0,1,2\n1,3,4\n',
         Read(WHOLE, arms=("a, left", "b"))),
    File("a quote in a quoted name", 't,"a ""1""",b\n0,1,2\n1,3,4\n',
         Read(WHOLE, arms=('a "1"', "b"))),
    File("a line break in a quoted name", 't,"a\nleft",b\n0,1,2\n1,3,x\n',
         ("line 4, column 'b': 'x' is not a number",)),
    File("an open quote", 't,a,b\n0,1,2\n1,3,"4\n',
         ("line 3: not a CSV line", "a cell that begins with a quote must end with one")),
    File("text after a quote", 't,a,b\n0,1,2\n1,3,"4"5\n', ("line 3: not a CSV line",)),
    # encodings
    File("UTF-8 with a mark", "Zeit,Süd,b\n0,1,2\n1,3,4\n".encode("utf-8-sig"),
         Read([[0, 1, 2], [1, 3, 4]], arms=("Zeit", "Süd", "b"), times=None)),
    File("UTF-16 with a mark", PLAIN.encode("utf-16"), Read(WHOLE)),
    File("UTF-16, the other way round", b"\xfe\xff" + PLAIN.encode("utf-16-be"), Read(WHOLE)),
    File("UTF-16 without a mark", PLAIN.encode("utf-16-le"),
         Read(WHOLE, notes=("no byte order mark: read as UTF-16-LE",))),
    File("UTF-32", PLAIN.encode("utf-32"), Read(WHOLE)),
    File("UTF-16 cut short", PLAIN.encode("utf-16")[:-1], ("is not UTF-16 text", "encoding=")),
    File("Latin-1", "t,Orléans,b\n0,1,2\n1,3,4\n".encode("latin-1"),
         Read(WHOLE, arms=("Orléans", "b"),
              notes=("read as Windows-1252 (Latin-1), as 'é' in line 1; encoding=",))),
    File("an encoding that is named", "t,Łódź,b\n0,1,2\n1,3,4\n".encode("cp1250"),
         Read(WHOLE, arms=("Łódź", "b")), {"encoding": "cp1250"}),
    File("an encoding named wrongly", "t,é,b\n0,1,2\n1,3,4\n", ("is not ASCII text", "encoding="),
         {"encoding": "ascii"}),
    File("gzip", gzip.compress(PLAIN.encode()), Read(WHOLE)),
    File("gzip cut short", gzip.compress(PLAIN.encode())[:-9], ("gzip data is broken", "again")),
    File("zip", zipped(PLAIN), ("archive or an incomplete spreadsheet", "unpack it, or save")),
    File("old Excel", b"\xd0\xcf\x11\xe0\xa1\xb1" + bytes(50), ("encrypted Excel workbook", "CSV")),
    File("xz", b"\xfd7zXZ\x00abc", ("compressed with xz", "unpack it")),
    File("netCDF", b"\x89HDF\r\n\x1a\n", ("netCDF file", "read_grid")),
    File("broken Parquet", b"PAR1 and no more", ("Parquet",)),
    File("a picture", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ("byte 0x00 is not text", "as CSV")),
    File("random bytes", b"t,a,b\n\xff\x01\x9d,1,2\n", ("line 2: byte 0xff is not UTF-8", "enc")),
    # what is not there
    File("nothing", "", ("the file is empty; a header line and a line per time step",)),
    File("blank lines alone", "\n\n \n", ("the file is empty",)),
    File("separators alone", ",,\n,,\n", ("the file is empty",)),
    File("comments alone", "# t,a,b\n# 0,1,2\n", ("the file is empty",)),
    File("only a header", "t,a,b\n", ("one per time step; got only a header line",)),
    File("one row", "t,a,b\n0,1,2\n", ("one per time step; got one line of values",)),
    File("one column", "a\n1\n2\n", ("line 1: only one column, 'a'", "one column each")),
    File("one arm", "t,a\n0,1\n1,2\n", ("got only 'a' and the time column 't'",)),
    File("no header", "1,2,3\n4,5,6\n7,8,9\n", ("line 1: no header line", "column names first")),
    File("no header, dates", "2026-01-01,2,3\n2026-01-02,5,6\n2026-01-03,8,9\n",
         ("line 1: no header line, its first cell is '2026-01-01'",)),
    File("a blank name", "t,a,,b\n0,1,2,3\n1,3,4,5\n", ("line 1: column 3 has no name",)),
    File("merged header cells", ",Room 1,,Room 2,\nt,temp,hum,temp,hum\n0,1,2,3,4\n1,2,3,4,5\n",
         ("line 1: column 3 has no name", "give header_rows=2 for two header lines")),
    File("the same name twice", "t,a,b,a\n0,1,2,3\n1,3,4,5\n",
         ("columns 2 and 4 are both named 'a'; give every column its own name",)),
    File("pandas' index", ",a,b\n0,1,2\n1,3,4\n", Read(WHOLE)),
    File("pandas' index, twice written", "Unnamed: 0,a,b\n0,1,2\n1,3,4\n", Read(WHOLE)),
    # lines that are no rows
    File("comments on top", "# logger 7\n# 2026\n" + PLAIN,
         Read(WHOLE, notes=("lines above the header that begin with #: 2",))),
    File("a header that begins with #", "# t,a,b\n0,1,2\n1,3,4\n", Read(WHOLE)),
    File("blank lines on top", "\n\n" + PLAIN, Read(WHOLE)),
    File("blank lines within", "t,a,b\n0,1,2\n\n1,3,4\n",
         Read(WHOLE, notes=("ignored blank lines: 1, the first is line 3",))),
    File("a title on top", "Report of March\n" + PLAIN,
         ("line 1: only one column, 'Report of March'",
          "line 2 is the first with 3 cells", "remove the lines above it or begin them with #")),
    File("a sum at the end", PLAIN + "end of report\n", ("line 4: expected 3 cells", "found 1")),
    File("a second header line of units", "t,a,b\n,[C],[C]\n0,1,2\n1,3,4\n",
         ("line 2, column 'a': '[C]' is not a number", 'give header_rows=2')),
    File("a short line", "t,a,b\n0,1,2\n1,3\n",
         ("line 3: expected 3 cells as in the header, found 2; check for a missing cell",)),
    File("a long line", "t,a,b\n0,1,2\n1,3,4,5\n", ("line 3: expected 3 cells", "found 4")),
    File("decimal commas between commas", "t,a,b\n0,1,5,2,5\n1,3,5,4,5\n",
         ("line 2: expected 3 cells as in the header, found 5", "a decimal comma")),
    File("prose", "Dear Ann\nthe weather, as ever, is fine\n", ("only one column, 'Dear Ann'",)),
    File("very long cells", "t,a,b\n0,1," + "x" * 100_000 + "\n1,3,4\n",
         ("line 2, column 'b': 'xxx", "is not a number")),
    File("very long lines", ",".join(["t", *(f"a{i}" for i in range(5000))]) + "\n"
         + ("0," + ",".join(["1"] * 5000) + "\n") * 2,
         Read([[1.0] * 5000] * 2, arms=tuple(f"a{i}" for i in range(5000)), times=("0", "0"))),
    File("a cell beyond any limit", "t,a,b\n0,1," + "x" * 200_000 + "\n1,3,4\n",
         ("line 2: not a CSV line (field larger than field limit",)),
    # numbers
    File("decimal commas", GERMAN, Read(HALVES, notes=("'1,5' are read with decimal commas",))),
    File("decimal commas, tabs", GERMAN.replace(";", "\t"), Read(HALVES)),
    File("decimal commas, quoted", 't,a,b\n0,"1,5",2\n1,3,"4,25"\n', Read(HALVES)),
    File("German thousands", "t;a;b\n0;1.234,5;2\n1;1.000;4\n",
         Read([[1234.5, 2], [1000, 4]], notes=("'1.234,5' are read with points separate",))),
    File("English thousands", 't,a,b\n0,"1,234.5",2\n1,"1,000,000",4\n',
         Read([[1234.5, 2], [1e6, 4]], notes=("'1,234.5' are read with commas separate",))),
    File("French thousands", "t;a;b\n0;1\u202f234,5;2\n1;1 000;4\n",
         Read([[1234.5, 2], [1000, 4]])),
    File("Swiss thousands", "t;a;b\n0;1'234.5;2\n1;3;4\n", Read([[1234.5, 2], [3, 4]])),
    File("thousands or decimals", 't;a;b\n0;1,234;2\n1;3;4\n',
         ("line 2, column 'a': '1,234' is ambiguous: its comma is a decimal comma",
          "decimal=comma or decimal=point")),
    File("thousands, as asked", "t;a;b\n0;1,234;2\n1;3;4\n", Read([[1234, 2], [3, 4]]),
         {"decimal": "point"}),
    File("decimals, as asked", "t;a;b\n0;1,234;2\n1;3;4\n", Read([[1.234, 2], [3, 4]]),
         {"decimal": "comma"}),
    File("decimal commas and points", "t;a;b\n0;1,5;2\n1;3.5;4\n",
         ("line 2, column 'a': '1,5' has a decimal comma, but '3.5' in another cell",
          "use one format for all numbers")),
    File("a minus of typesetters", "t,a,b\n0,\u22121,2\n1,3,4\n", Read([[-1, 2], [3, 4]])),
    File("powers of ten", "t,a,b\n0,1e-3,2E2\n1,+3,.5\n", Read([[0.001, 200], [3, 0.5]])),
    File("percent", "t,a,b\n0,1,2\n1,3,5%\n", ("line 3, column 'b': '5%' is not a number",)),
    File("underlines", "t,a,b\n0,1,2\n1,3,1_000\n", ("line 3, column 'b': '1_000' is not a",)),
    File("text in a cell", "t,a,b\n0,1,2\n1,broken,4\n",
         ("line 3, column 'a': 'broken' is not a number", "such as 12.5, or blank")),
    File("truth values", "t,a,b\n0,True,2\n1,False,4\n", ("line 2, column 'a': 'True' is not a",)),
    File("infinity", "t,a,b\n0,1,2\n1,inf,4\n",
         ("line 3, column 'a': 'inf' is infinite or beyond 1e100", "leave it blank")),
    File("too large a number", "t,a,b\n0,1,2\n1,1e999,4\n", ("'1e999' is infinite or beyond",)),
    *(File(f"missing as {word!r}", f"t,a,b\n0,1,2\n1,{word},4\n2,5,6\n",
           ("line 3, column 'a': the cell is blank, the first of 1 missing in 1 of 2 arms",
            "missing=interpolate", "missing=drop-arm (which keeps 1)"))
      for word in ("", " ", "NA", "N/A", "#N/A", "NaN", "nan", "-NaN", "null", "None", "<NA>")),
    File("a sign for missing", "t,a,b\n0,1,2\n1,--,4\n",
         ("'--' is not a number", "or blank if")),
    File("blanks, filled", "t,a,b\n0,1,2\n1,,4\n2,5,6\n",
         Read([[1, 2], [3, 4], [5, 6]], times=("0", "1", "2"),
              notes=("interpolated 1 of 6 cells, in 1 of 2 arms; the first is line 3, column",)),
         {"missing": "interpolate"}),
    File("decimal commas and blanks", "t;a;b\n0;1,5;2\n1;;4\n2;2,5;6\n",
         Read([[1.5, 2], [2, 4], [2.5, 6]], times=("0", "1", "2")), {"missing": "interpolate"}),
    # units
    File("units in square brackets", "time [s],speed 1 [mph],speed 2 [mph]\n0,1,2\n1,3,4\n",
         Read(WHOLE, arms=("speed 1", "speed 2"), unit="mph", notes=("unit of all arms: mph",))),
    File("units in parentheses", "t,in (degrees C),out (degrees C)\n0,1,2\n1,3,4\n",
         Read(WHOLE, arms=("in", "out"), unit="degrees C")),
    File("parentheses that are no units", "t,room (north),room (south)\n0,1,2\n1,3,4\n",
         Read(WHOLE, arms=("room (north)", "room (south)"))),
    File("different units", "t,speed [mph],heat [C]\n0,1,2\n1,3,4\n",
         Read(WHOLE, arms=("speed [mph]", "heat [C]"),
              notes=("differ in their units (mph, C), and rewards in different units",))),
    # times
    File("ISO dates", dated("2026-01-05", "2026-01-06", "2026-01-07"),
         three("2026-01-05", "2026-01-06", "2026-01-07")),
    File("ISO times", dated("2026-01-05T13:00", "2026-01-05T14:00", "2026-01-05T15:00"),
         three("2026-01-05T13:00", "2026-01-05T14:00", "2026-01-05T15:00")),
    File("a day beyond 12 first", dated("11/01/2026", "12/01/2026", "13/01/2026"),
         three("2026-01-11", "2026-01-12", "2026-01-13", note="'11/01/2026' are read as 2026")),
    File("a day beyond 12 second", dated("1/11/2026 9:00", "1/12/2026 9:00", "1/13/2026 9:00"),
         three("2026-01-11 09:00:00", "2026-01-12 09:00:00", "2026-01-13 09:00:00")),
    File("only one order runs forwards", dated("11/02/2026", "12/02/2026", "01/03/2026"),
         three("2026-02-11", "2026-02-12", "2026-03-01", note="(day-first)")),
    File("points mean days first",
         dated("05.01.2026 13:00", "06.01.2026 13:00", "07.01.2026 13:00"),
         three("2026-01-05 13:00:00", "2026-01-06 13:00:00", "2026-01-07 13:00:00")),
    File("day or month first", dated("05/01/2026", "06/01/2026", "07/01/2026"),
         ("line 2, column 'date': '05/01/2026' may be 2026-01-05 (dates=day-first) or "
          "2026-05-01 (dates=month-first)", "give dates=")),
    File("day first, as asked", dated("05/01/2026", "06/01/2026", "07/01/2026"),
         three("2026-01-05", "2026-01-06", "2026-01-07"), {"dates": "day-first"}),
    File("month first, as asked", dated("05/01/2026", "06/01/2026", "07/01/2026"),
         three("2026-05-01", "2026-06-01", "2026-07-01"), {"dates": "month-first"}),
    File("not as asked", dated("05/13/2026", "05/14/2026", "05/15/2026"),
         ("line 2, column 'date': the time '05/13/2026' does not exist", "check day, month"),
         {"dates": "day-first"}),
    File("years of two digits", dated("30/12/25", "31/12/25", "01/01/26"),
         three("2025-12-30", "2025-12-31", "2026-01-01")),
    File("two digits, three orders", dated("01/02/03", "01/02/04", "01/02/05"),
         ("dates=day-first", "dates=month-first", "dates=year-first")),
    File("names of months", dated("30-Jan-2026", "31 January 2026", "Feb 1, 2026"),
         three("2026-01-30", "2026-01-31", "2026-02-01")),
    File("twice twelve hours",
         dated("1/13/2026 11:00 AM", "1/13/2026 12:30 PM", "1/13/2026 1:00 pm"),
         three("2026-01-13 11:00:00", "2026-01-13 12:30:00", "2026-01-13 13:00:00")),
    File("dates without signs", dated("20260105", "20260106", "20260107"),
         three("2026-01-05", "2026-01-06", "2026-01-07")),
    File("times in UTC", dated("2026-01-05T13:00Z", "2026-01-05T14:00Z", "2026-01-05T15:00Z"),
         three("2026-01-05 13:00:00", "2026-01-05 14:00:00", "2026-01-05 15:00:00",
               note="time zone of all times: UTC")),
    File("one offset",
         dated("2026-01-05 13:00+02:00", "2026-01-05 14:00+0200", "2026-01-05 15:00+02"),
         three("2026-01-05 13:00:00", "2026-01-05 14:00:00", "2026-01-05 15:00:00",
               note="UTC+02:00")),
    File("summer time ends, with offsets",
         dated("2026-10-25 01:30+02:00", "2026-10-25 02:30+02:00", "2026-10-25 02:30+01:00"),
         three("2026-10-24 23:30:00", "2026-10-25 00:30:00", "2026-10-25 01:30:00",
               note="shown in UTC")),
    File("some with a zone", dated("2026-01-05 13:00Z", "2026-01-05 14:00", "2026-01-05 15:00Z"),
         ("line 3, column 'date': '2026-01-05 14:00' has no time zone", "a zone, or none")),
    File("a leap second",
         dated("2016-12-31 23:59:59", "2016-12-31 23:59:60", "2017-01-01 00:00:00"),
         ("line 3, column 'date': the time '2016-12-31 23:59:60' does not exist", "leap second")),
    File("a day that is not", dated("2026-02-28", "2026-02-29", "2026-03-01"),
         ("line 3, column 'date': the time '2026-02-29' does not exist",)),
    File("a date that is none", dated("2026-02-28", "tomorrow", "2026-03-01"),
         ("line 3, column 'date': 'tomorrow' is not a date like the other",)),
    File("the year 0", dated("2026-02-28", "0000-01-01", "1 March 2026"),
         ("line 3, column 'date': '0000-01-01' is not a date like the other",)),
    File("a blank date", dated("2026-02-27", "", "2026-03-01"),
         three("2026-02-27", "", "2026-03-01")),
    File("labels", dated("mon", "tue", "wed"), three("mon", "tue", "wed")),
    File("rows out of order", dated("2026-01-05", "2026-01-07", "2026-01-06"),
         ("line 4, column 'date': times must increase; got '2026-01-06' after '2026-01-07' of",
          "sort the lines by time")),
    File("the newest first", dated("2026-01-07", "2026-01-06", "2026-01-05"),
         ("line 3", "the newest come first, so reverse the order of the lines")),
    File("date and time of day apart",
         "date,time,a,b\n2026-01-05,13:00,1,2\n2026-01-05,14:00,3,4\n",
         ("line 2, column 'time': '13:00' is not a number", "join the columns date and time")),
    File("times in a later column", "x,date,a\n1,2026-01-05,2\n3,2026-01-06,4\n",
         ("line 2, column 'date'", 'give time_column="date"')),
    File("times in a later column, named", "x,date,a\n1,2026-01-05,2\n3,2026-01-06,4\n",
         Read(WHOLE, arms=("x", "a"), times=("2026-01-05", "2026-01-06")), {"time_column": "date"}),
    File("a time column with a unit, named", "x,clock [s],a\n1,0,2\n3,1,4\n",
         Read(WHOLE, arms=("x", "a")), {"time_column": "clock"}),
    # long tables
    File("long", LONG, Read(TENS, times=("1", "2")), AS_LONG),
    File("long, not said", LONG,
         ("the times in column 'time' repeat, once for each value of 'sensor'",
          'index="time", columns="sensor", values="reading"')),
    File("long, times out of order", "time,sensor,reading\n10,a,30\n9,b,20\n9,a,10\n10,b,40\n",
         Read(TENS, arms=("a", "b"), times=("9", "10")), AS_LONG),
    File("long, with dates and a unit",
         "time;sensor;reading [C]\n13.01.2026;a;30,5\n12.01.2026;a;10\n"
         "13.01.2026;b;4\n12.01.2026;b;2\n",
         Read([[10, 2], [30.5, 4]], times=("2026-01-12", "2026-01-13"), unit="C"), AS_LONG),
    File("long, a reading missing", LONG.removesuffix("2,b,40\n") + "3,b,9\n",
         ("time '2', column 'b': the cell is blank, the first of 2 missing", "missing="),
         AS_LONG),
    File("long, a reading twice", LONG + "2,b,41\n",
         ("line 6: arm 'b' must have one reward at '2'; got another one", "Keep one"), AS_LONG),
    File("long, a nameless arm", LONG + "3,,41\n", ("line 6: the arm's name is blank",), AS_LONG),
    File("long, one arm", "time,sensor,reading\n1,a,10\n2,a,30\n",
         ("at least two arms and times; got 1 arms at 2 times",), AS_LONG),
    File("long, no such column", LONG, ("no column is named 'sensors'", "Did you mean 'sensor'?"),
         AS_LONG | {"columns": "sensors"}, DriftpeakError),
    File("long, half said", LONG,
         ("needs index, columns and values", "values is not given"),
         {"index": "time", "columns": "sensor"}, DriftpeakError),
    File("contexts alone", "a,b\n1,2\n3,4\n", ("at least two arms", "got only contexts"),
         {"context_columns": ["a", "b"]}),
    File("long, said twice", LONG, ("must be different columns",), AS_LONG | {"values": "time"},
         DriftpeakError),
)  # fmt: skip


def assert_read(table: RewardTable, expected: Read) -> None:
    np.testing.assert_allclose(table.values, expected.values, rtol=1e-15)
    assert (table.arms, table.times) == (expected.arms, expected.times)
    assert table.unit == expected.unit
    for note in expected.notes:
        assert any(note in one for one in table.notes), table.notes


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_is_read_or_refused(file: File, tmp_path: Path) -> None:
    path = tmp_path / "rewards.csv"
    path.write_bytes(file.content.encode() if isinstance(file.content, str) else file.content)
    if isinstance(file.becomes, Read):
        assert_read(read_table(path, **file.options), file.becomes)
        return
    with pytest.raises(DriftpeakError) as caught:
        read_table(path, **file.options)
    assert caught.type is file.error
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 700
    rest = message
    for words in file.becomes:
        assert words in rest, message
        rest = rest[rest.index(words) + len(words) :]


def test_the_files_are_many_and_have_names_of_their_own() -> None:
    assert len({file.name for file in FILES}) == len(FILES) >= 60


def test_the_largest_file_is_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One column without end, plain and packed."""
    monkeypatch.setattr(contents, "MOST_BYTES", 10_000)
    path = tmp_path / "rewards.csv"
    for content in (b"a\n" + b"1\n" * 10_000, gzip.compress(b"a\n" + b"1\n" * 10_000)):
        path.write_bytes(content)
        with pytest.raises(DataError, match="an unpacked file must have at most"):
            read_table(path)


def test_the_hour_that_comes_twice_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "rewards.csv"
    path.write_text(dated("2026-10-25 02:00", "2026-10-25 03:00", "2026-10-25 02:00"))
    with pytest.warns(DriftpeakWarning, match="decrease by an hour or less in 1 place,.*line 4"):
        table = read_table(path)
    assert table.values.shape == (3, 2)


def test_a_time_that_is_repeated_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "rewards.csv"
    path.write_text(dated("2026-10-25", "2026-10-26", "2026-10-26"))
    with pytest.warns(DriftpeakWarning, match="1 line repeats the previous time.*line 4"):
        table = read_table(path)
    assert len(table.doubts) == 1


def test_time_stamps_with_a_zone_warn_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rewards.csv"
    path.write_text(dated(*(f"2026-01-05T{hour:02}:00:00Z" for hour in range(20))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        times = read_table(path).times
        assert times is not None
        np.array(times, dtype="datetime64[s]")


# Parquet


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    path = tmp_path / "rewards.csv"
    path.write_bytes(b"PAR1 and the rest")
    with pytest.raises(
        DriftpeakError, match=r"needs the package pyarrow. Run .*driftpeak\[parquet\]', or save"
    ):
        read_table(path)


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "rewards"
    hours = pd.date_range("2026-01-05", periods=3, freq="h")
    wide = pd.DataFrame({"a [C]": [1.5, 2.0, None], "b [C]": [3, 4, 5]}, index=hours)
    wide.to_parquet(path)
    table = read_table(path, missing="interpolate")
    assert_read(
        table,
        Read(
            [[1.5, 3], [2, 4], [2, 5]],
            times=tuple(f"2026-01-05 0{hour}:00:00" for hour in range(3)),
            unit="C",
        ),
    )
    with pytest.raises(DataError, match="row 3, column 'a': the cell is blank"):
        read_table(path)
    wide.reset_index(names="time").melt("time", var_name="sensor", value_name="reading").dropna()[
        :4
    ].to_parquet(path, index=False)
    long = read_table(path, index="time", columns="sensor", values="reading", missing="interpolate")
    assert long.arms == ("a [C]", "b [C]")
    wide.head(1).to_parquet(path)
    with pytest.raises(DataError, match="got 1 rows and 3 columns"):
        read_table(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="the Parquet data are damaged"):
        read_table(path)


# Values that cannot be


def sensors(path: Path, change: Callable[[np.ndarray], None]) -> Path:
    """60 rows of four noisy sensors around 20 degrees, changed."""
    values = 20 + np.random.default_rng(0).normal(size=(60, 4)).round(2)
    change(values)
    lines = [",".join(["t", "a", "b", "c", "d"])]
    for step, row in enumerate(values):
        cells = ["" if math.isnan(cell) else f"{cell:g}" for cell in row]
        lines.append(",".join([str(step), *cells]))
    path.write_text("\n".join(lines))
    return path


def fails(values: np.ndarray) -> None:
    values[40:, 2] = np.linspace(122, 122.9, 20)


def mostly_fails(values: np.ndarray) -> None:
    values[20:, 2] = 122 + values[20:, 0] / 100


def sticks(values: np.ndarray) -> None:
    values[10:40, 1] = 21.0


@pytest.mark.parametrize(
    ("change", "bad", "words"),
    [
        (fails, [(slice(40, 60), 2)], "20 outliers .*'c', 20 in line 42 to line 61.*122"),
        (
            mostly_fails,
            [(slice(20, 60), 2)],
            "40 outliers .*'c', 40 in line 22 to line 61",
        ),
        (
            sticks,
            [(slice(10, 40), 1)],
            "30 stuck values .*'b', 30.* such as 21",
        ),
    ],
)
def test_what_cannot_be_is_reported_refused_or_blanked(
    tmp_path: Path, change: Callable[[np.ndarray], None], bad: list[Any], words: str
) -> None:
    path = sensors(tmp_path / "rewards.csv", change)
    with pytest.warns(DriftpeakWarning, match=words):
        table = read_table(path)
    kept = read_table(path, outliers="keep")  # and no warning
    np.testing.assert_array_equal(kept.values, table.values)
    with pytest.raises(DataError, match=f"{words}.*outliers=blank"):
        read_table(path, outliers="error")
    blanked = read_table(path, outliers="blank", missing="interpolate")
    different = np.zeros(table.values.shape, dtype=bool)
    for place in bad:
        different[place] = True
    np.testing.assert_array_equal(blanked.values[~different], table.values[~different])
    assert (np.abs(blanked.values - 20) < 5).all()
    assert any(note.startswith("treated as missing: ") for note in blanked.notes)
    with pytest.raises(DataError, match="the cell is blank"):
        read_table(path, outliers="blank")


@pytest.mark.parametrize("seed", range(5))
def test_ordinary_values_raise_no_doubt(tmp_path: Path, seed: int) -> None:
    """Noise, levels of their own, a trend, heavy tails, counts, and a rush hour that all have."""
    random = np.random.default_rng(seed)
    steps = np.arange(200)[:, None]
    noise = random.normal(size=(200, 6))
    rush = np.where((steps % 24 > 15) & (steps % 24 < 19), -50.0, 0.0)
    tables = (
        noise,
        noise + np.array([0, 10, 100, 1e3, 1e4, 1e5]),
        noise + steps,
        random.standard_t(4, size=(200, 6)),
        random.poisson(2, size=(200, 6)),
        random.binomial(1, 0.1, size=(200, 6)),
        65 + noise + rush,
    )
    for number, values in enumerate(tables):
        path = tmp_path / f"{number}.csv"
        np.savetxt(path, values, delimiter=",", header="a,b,c,d,e,f", comments="", fmt="%.6g")
        assert read_table(path).doubts == ()


# Anything at all


CELLS = st.sampled_from(
    ["t", "a", "1", "-2.5", "1,5", "1.234,5", "", '"', '""', ",", ";", "\t", "|", "\n", "\r\n", " ",
     "NaN", "#", "sep=;", "2026-01-05", "05/01/2026", "31/12/26 1:00 PM", "Z", "+02:00", "12:60",
     "20260105", "1 Jan 2026", "inf", "\ufeff", "[C]", "(", "1e400", "\x00", "é", "_"]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=150)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(CELLS, max_size=60).map(lambda cells: "".join(cells).encode()),
        st.tuples(
            st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=3, max_size=5),
            st.sampled_from([",", ";", "\t"]),
            st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]),
        ).map(lambda drawn: "\n".join(map(drawn[1].join, drawn[0])).encode(drawn[2])),
    ),
    st.sampled_from([{}, {"missing": "interpolate", "outliers": "blank"}, {"decimal": "comma"},
                     {"dates": "day-first"}, {"index": "t", "columns": "a", "values": "1"},
                     {"encoding": "utf-16"}, {"time_column": "a"}]),
)  # fmt: skip
def test_any_bytes_give_a_table_or_a_clear_error(content: bytes, options: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftpeakWarning)
        path = Path(folder) / "rewards.csv"
        path.write_bytes(content)
        try:
            table = read_table(path, **options)
        except DriftpeakError:
            return
    assert np.isfinite(table.values).all()
    assert table.values.shape == (len(table.values), len(table.arms))
    assert min(table.values.shape) >= 2
    assert table.times is None or len(table.times) == len(table.values)
    assert len(set(table.arms)) == len(table.arms)
