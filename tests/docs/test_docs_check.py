"""The checker of the pages notices what it is for."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "scripts" / "check_docs.py"


@pytest.fixture(scope="module")
def check():
    pytest.importorskip("sphinx")
    specification = importlib.util.spec_from_file_location("docs_check", FILE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def page(folder, name, body):
    (folder / name).write_text(f"<html><body>{body}</body></html>")


def test_links_and_anchors(check, tmp_path):
    links = '<a href="b.html#there">1</a> <a href="b.html">2</a> <a href="#me">3</a>'
    page(tmp_path, "a.html", links + '<p id="me"></p> <a href="https://example.org">4</a>')
    page(tmp_path, "b.html", '<p id="there"></p><a href="a.html#gone">5</a><a href="c.html">6</a>')
    assert list(check.broken_links(check.pages(tmp_path))) == [
        "b.html: a.html#gone has no anchor on its page",
        "b.html: c.html has no file",
    ]


def test_nothing_is_loaded_from_elsewhere(check, tmp_path):
    (tmp_path / "here.js").touch()
    page(tmp_path, "a.html", '<script src="here.js?v=1"></script><img src="gone.png">'
         '<link rel="stylesheet" href="https://cdn.example.org/x.css">')  # fmt: skip
    assert sorted(check.loaded_from_elsewhere(check.pages(tmp_path))) == [
        "a.html: gone.png is missing",
        "a.html: loads https://cdn.example.org/x.css from another site",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("dp.Optimizer", []),
        ("dp.Optimiser", ["dp.Optimiser"]),
        ("driftpeak.live.plots", []),
        ("driftpeak.live.plotz", ["driftpeak.live.plotz"]),
        ("optimizer.best(time=3)", []),
        ("optimizer.besst(time=3)", ["besst"]),
        ("TVGPUCB", []),
        ("DriftingGq", ["DriftingGq"]),
        ("independent_trails=True", ["independent_trails"]),
        ("results/summary.json", []),
        ("--noise-variance", []),
        ("x", []),
    ],
)
def test_names(check, text, wrong):
    assert sorted(set(check.misspelt(text, check.vocabulary()))) == wrong


@pytest.mark.slow
def test_code_is_read_from_the_text_and_not_from_blocks(check, tmp_path):
    code = '<code class="docutils literal"><span>dp.Optimiser</span></code>'
    page(tmp_path, "a.html", f"<p>{code}</p><pre>dp.Gone</pre>")
    found = check.pages(tmp_path)
    assert list(check.unknown_names(found, tmp_path)) == [
        "a.html: `dp.Optimiser`: there is no dp.Optimiser"
    ]
