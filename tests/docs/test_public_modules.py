"""What users are shown imports public names only."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts and page.parent.name != "gallery"]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
PRIVATE = re.compile(r"^\s*(?:from|import) +(driftpeak(?:\.\w+)*\._\w+.*)$", re.MULTILINE)


@pytest.mark.parametrize("file", [*PAGES, *EXAMPLES], ids=lambda file: str(file.relative_to(ROOT)))
def test_it_imports_nothing_private(file):
    assert PRIVATE.findall(file.read_text()) == []


def test_the_check_sees_private_modules():
    text = "from driftpeak.live import Box\n    from driftpeak.live._loop import optimize\n"
    assert PRIVATE.findall(text) == ["driftpeak.live._loop import optimize"]
