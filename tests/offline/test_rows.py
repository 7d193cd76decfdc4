"""Tables of settings: they may have one column and one row, unlike tables of arms."""

import pytest

from driftpeak._core.errors import DriftpeakError
from driftpeak.offline.data._rows import read_rows


def test_one_column_and_one_row_are_enough(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("x\n0.5\n")
    assert read_rows(file) == [{"x": 0.5}]
    file.write_text("x,kind,on\n0.5,oil,true\n1.5,,false\n")
    assert read_rows(file) == [{"x": 0.5, "kind": "oil", "on": True}, {"x": 1.5, "on": False}]


def test_a_header_alone_is_refused(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("x\n")
    with pytest.raises(DriftpeakError, match="at least one line of values"):
        read_rows(file)
