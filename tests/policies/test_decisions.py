"""No change of the code changes a decision unawares."""

import json

import pytest
from golden_decisions import FILE, TEXTS, decisions

RECORDED = json.loads(FILE.read_text())
QUICK = ("gp-ucb:acquisition=thompson", "tv-gp-ucb", "random")


def test_every_policy_is_recorded():
    """`python tests/helpers/golden_decisions.py` records new or changed decisions."""
    assert list(RECORDED) == list(TEXTS)


@pytest.mark.parametrize(
    "text",
    [text if text in QUICK else pytest.param(text, marks=pytest.mark.slow) for text in TEXTS],
)
def test_decisions_are_as_recorded(text):
    assert decisions(text) == RECORDED[text]
