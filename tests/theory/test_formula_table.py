"""The table of formulas in docs/theory.md leads where it says."""

import inspect
import pkgutil
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"
NAME = re.compile(r"\{(func|class|mod)\}`~?([\w.]+)`")
ROW = re.compile(r"^\| (B16|ZS21|D22|H23|IT25|M25) \| (.+?) \| (.+?) \| (.+?) \|$", re.M)


@pytest.mark.parametrize(("kind", "name"), sorted(set(NAME.findall(PAGE.read_text()))))
def test_every_name_on_the_page_can_be_imported(kind, name):
    found = pkgutil.resolve_name(name)
    kinds = {"func": inspect.isroutine, "class": inspect.isclass, "mod": inspect.ismodule}
    # some policies are classes that read like functions where they are made
    assert kinds[kind](found) or (kind == "func" and inspect.isclass(found))
    assert found.__doc__


def test_every_paper_has_its_formulas_and_every_row_a_function():
    rows = ROW.findall(PAGE.read_text())
    assert {row[0] for row in rows} == {"B16", "ZS21", "D22", "H23", "IT25", "M25"}
    assert len(rows) >= 50
    assert all(NAME.findall(functions) for *_, functions in rows)
