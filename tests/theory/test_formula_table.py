"""The names on the page docs/theory.md lead where they say."""

import inspect
import pkgutil
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"
NAME = re.compile(r"\{(func|class|mod)\}`~?([\w.]+)`")


@pytest.mark.parametrize(("kind", "name"), sorted(set(NAME.findall(PAGE.read_text()))))
def test_every_name_on_the_page_can_be_imported(kind, name):
    found = pkgutil.resolve_name(name)
    kinds = {"func": inspect.isroutine, "class": inspect.isclass, "mod": inspect.ismodule}
    # some policies are classes that read like functions where they are made
    assert kinds[kind](found) or (kind == "func" and inspect.isclass(found))
    assert found.__doc__
