"""Studies that were written once are read for ever, and go on as they would have gone on."""

import shutil
import sqlite3

import golden_studies
import pytest

import driftpeak as dp
from driftpeak.live._study.policy_data import policy_to_data
from driftpeak.live._study.storage import open_store, verify

JOURNALS = sorted(golden_studies.FOLDER.glob("format-*-*.jsonl"))
DUMPS = sorted(golden_studies.FOLDER.glob("format-*.sql"))


def check(address, kind):
    """It is sound, knows what happened, is the study that the program begins now, and goes on."""
    told = {"belief": 1, "opkb": 0, "machine": 8}.get(kind, 7)
    count = verify(open_store(address, NAMES[kind]))["events"]
    assert (count > 12) == (told > 0)
    found = dp.Optimizer.load(address, NAMES[kind])
    again = golden_studies.make(address, kind)  # refuses another study
    assert policy_to_data(again.policy) == policy_to_data(found.policy)
    assert found.history() == again.history()
    assert len(found.history()) == told
    if told == 0:
        return
    assert [one.reward for one in found.history()][-1] == (1.0 if kind == "belief" else 0.25)
    latest = found.history()[-1].time
    number = {"belief": 10, "machine": 10}.get(kind, 9)
    when = latest if kind == "box" else None
    assert found.ask(when, context=golden_studies.said(kind)).id == number


NAMES = {kind: kind for kind in ("belief", "auto", "elimination", "opkb")}
NAMES |= {"box": "kiln", "rule": "pump", "machine": "mill", "limits": "press"}


def test_there_are_golden_studies():
    assert len(JOURNALS) >= 6
    assert len(DUMPS) >= 1


SLOW = ("auto", "elimination", "opkb")  # they take long to compile


def _case(path):
    marks = [pytest.mark.slow] if path.stem.endswith(SLOW) else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.slow
@pytest.mark.parametrize("path", [_case(path) for path in JOURNALS])
def test_journals(path, tmp_path):
    shutil.copy(path, tmp_path / "study")
    check(str(tmp_path / "study"), path.stem.split("-")[-1])


@pytest.mark.slow
@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_databases(path, tmp_path):
    connection = sqlite3.connect(tmp_path / "studies")
    connection.executescript(path.read_text())
    connection.close()
    for kind in ("box", "belief"):
        check(f"sqlite:///{tmp_path}/studies", kind)
