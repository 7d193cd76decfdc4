"""The code of other libraries on the page for users of these libraries, where they are installed.

Optuna is installed for the other tests. For the rest: `pip install torch`, and `pip install -c
constraints.txt '.[test,xopt,botorch,compare]'`.
"""

import re
import warnings
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "from-others.md"
BLOCK = re.compile(r"^```(text|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LIBRARIES = {
    "Optuna": "optuna",
    "Xopt": "xopt",
    "bayesian-optimization": "bayes_opt",
    "BoTorch": "botorch",
}


def blocks(title, kind):
    """The blocks of this kind in the section from a library."""
    section = PAGE.read_text().split(f"\n## From {title}\n")[1].split("\n## ")[0]
    return [text for found, text in BLOCK.findall(section) if found == kind]


def measure_of(title):
    """The function `measure` of a section, or of the one before it that defines it."""
    before = PAGE.read_text().split(f"\n## From {title}\n")
    own = [text for text in blocks(title, "python") if "def measure" in text]
    earlier = [text for found, text in BLOCK.findall(before[0]) if "def measure" in text]
    return re.search(r"def measure.*?(?=\n\n)", (own or earlier[-1:])[0], re.DOTALL)[0]


@pytest.mark.slow
@pytest.mark.parametrize("title", LIBRARIES)
def test_the_code_of_the_other_library_runs(title, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the library are not ours
        pytest.importorskip(LIBRARIES[title])
        names = {}
        exec(f"import math\n{measure_of(title)}", names)
        for code in blocks(title, "text"):
            exec(code, names)
    if title == "Optuna":
        assert names["table"].shape[0] == 30
    if title == "Xopt":
        assert abs(names["X"].generator.best()["x"] - 0.3) < 0.1
    if title == "bayesian-optimization":
        assert abs(names["optimizer"].max["params"]["x"] - 0.3) < 0.1
    if title == "BoTorch":
        assert len(names["x"]) == 30
