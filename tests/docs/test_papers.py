"""Every item of the papers has a function, test or experiment, or a status."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

PAPERS = """
[A1]
title = "An example"
numbers = ["(1)-(3)", "Lemma 2.1", "Figures 1a-1b"]

[A1.items]
"(1)-(2)" = "a definition"
"(3)" = ["a step", "proof device"]
"Lemma 2.1" = "an inequality"
"Figures 1a-1b" = ["photographs", "data not available"]
"""


@pytest.fixture(scope="module")
def sources():
    sys.path.insert(0, str(DOCS))
    try:
        from extensions import sources
    finally:
        sys.path.remove(str(DOCS))
    return sources


@pytest.fixture
def example(sources, tmp_path):
    def covered(*found, papers=PAPERS):
        (tmp_path / "papers.toml").write_text(papers)
        known = sources.papers(tmp_path / "papers.toml")
        errors = sources.assign(found, known)
        return known["A1"], [*errors, *sources.incomplete(known["A1"])]

    return covered


def test_the_papers_are_covered(sources):
    known, errors = sources.coverage()
    assert errors == []
    assert set(known) == {"B16", "ZS21", "D22", "IT25", "M25", "H23"}


def test_the_page_has_every_paper(sources):
    page = (DOCS / "papers.md").read_text()
    for paper in sources.papers().values():
        assert f"## {paper.name}: {paper.title}\n" in page
        assert f".. papers-table:: {paper.name}\n" in page


def test_ranges(sources):
    assert sources.parts("(9)-(11)") == ["(9)", "(10)", "(11)"]
    assert sources.parts("Lemmas 4.3-4.5") == ["Lemma 4.3", "Lemma 4.4", "Lemma 4.5"]
    assert sources.parts("figures 3c-3e") == ["figure 3c", "figure 3d", "figure 3e"]
    assert sources.parts("Lemma D.1") == ["Lemma D.1"]
    assert sources.parts("gains") == ["gains"]


def test_references_reach_their_items(example):
    paper, errors = example(
        ("functions", "package.function", "A1 (2), lemma 2.1,\n corrected; Someone 1999, (1)."),
        ("tests", "test_it.py::test_it", "A1 (1)-(2)."),
    )
    assert errors == []
    assert paper.items[0].targets == ["package.function", "test_it.py::test_it"]
    assert paper.items[2].functions == ["package.function"]


def test_references_that_lead_nowhere(example):
    good = ("functions", "f", "A1 (1), Lemma 2.1.")
    assert example(good, ("tests", "t", "A1 (4)."))[1] == ["t: A1 has no item (4)"]
    assert example(good, ("tests", "t", "A1 Lemmas 2.1-2.2."))[1] == ["t: A1 has no item Lemma 2.2"]
    assert example(good, ("tests", "t", "the lemma of A1."))[1] == [
        "t: reference must begin with A1; got 'the lemma of A1'"
    ]


def test_items_without_target_or_status(example):
    assert example()[1] == [
        "A1 (1)-(2) has no function, test or experiment, and no status",
        "A1 Lemma 2.1 has no function, test or experiment, and no status",
    ]


def test_a_status_is_for_items_without_target_only(example):
    found = example(("functions", "f", "A1 (1)-(3), Lemma 2.1."))[1]
    assert found == ["A1 (3) has the status 'proof device' and f"]


def test_numbers_are_complete(example):
    good = ("functions", "f", "A1 (1), Lemma 2.1.")
    longer = PAPERS.replace("(1)-(3)", "(1)-(4)")
    assert example(good, papers=longer)[1] == ["A1 (4) is missing in the items"]
    shorter = PAPERS.replace('"Lemma 2.1", ', "")
    assert example(good, papers=shorter)[1] == ["A1 Lemma 2.1 is missing in the numbers"]
    twice = PAPERS + '"(2)" = ["again", "proof device"]\n'
    assert "A1 (2) is listed twice" in example(good, papers=twice)[1]


def test_docstrings_at_every_depth(sources, tmp_path):
    file = tmp_path / "module.py"
    lines = [
        '"""M.', "", "Source: A1 (1).", '"""', "class C:", "    def f(self):", '        """F.', "",
        "        Source: A1 (2),", "        (3).", "", "        End.", '        """',
    ]  # fmt: skip
    file.write_text("\n".join(lines))
    found = {name: sources.SOURCE.findall(text) for name, text in sources.docstrings(file)}
    assert found == {"": ["A1 (1)."], "C.f": ["A1 (2),\n(3)."]}


def test_public_names(sources):
    assert sources.public_name("driftpeak.policies.ucb", "TVGPUCB") == "driftpeak.TVGPUCB"
    assert sources.public_name("driftpeak.theory.bounds", "r_perp_regret") == (
        "driftpeak.theory.bounds.r_perp_regret"
    )
