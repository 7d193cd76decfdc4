"""A policy that exists is found everywhere: names, help, docs, tournament, stored studies."""

import inspect
from pathlib import Path

import pytest

import driftpeak as dp
from driftpeak import policies
from driftpeak.experiments.tournament import players
from driftpeak.live._study.registry import tags
from driftpeak.offline._policy_specs import lines
from driftpeak.offline._policy_specs.policies import (
    POLICIES,
    WIDTHS,
    make_policy,
    memory_parameter,
    policy_parameters,
    tables,
)
from driftpeak.policies.catalogue import entries

FROM_A_HISTORY = {"timetable", "best-of-history"}
"""Names of what is made from recorded rows, which `replay` has: both are a `Timetable`."""
ROOT = Path(__file__).parents[2]
BASES = {"ActingPolicy", "BeliefPolicy", "Policy", "Player", "Prediction", "Reading"}
WRAPPERS = {"Doubling", "InContext", "RandomStart", "Transformed"}
MODULES = {"opkb_constants", "query_times", "widths"}
PUBLIC = sorted(set(policies.__all__) - BASES - WRAPPERS - MODULES)
SIMPLE = {
    "CUSUMUCB", "DiscountedTS", "EpsilonGreedy", "Exp3S", "LinUCB", "MUCB", "SWUCB", "UCB1",
}  # fmt: skip
"""Policies for independent arms that play only in the comparison with simple bandits."""
NOT_IN_THE_TOURNAMENT = {
    "SparQ", "WSparQ", "AdaptiveSparQ", "VirtualGPUCB",  # ask an expert, the others have none
    "BestFixedArm", "Clairvoyant",  # see the truth
    "Timetable",  # made by what learns from recorded rows
    "PE",  # for a function that stays
    "AdaptiveRPERP",  # not published; R-PERP plays
    "ROPKB",  # OPKB with its period plays
    *SIMPLE,
}  # fmt: skip
PRIOR = dp.Prior(dp.Grid([0, 1], size=6), dp.SE(0.3), 0.05)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_policy_has_a_name_on_the_command_line(name):
    assert name == "Timetable" or getattr(policies, name) in POLICIES.values()


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_policy_is_exported_and_documented(name):
    assert getattr(dp, name) is getattr(policies, name)
    assert getattr(dp, name) in {entry.make for entry in entries()}, "declare it: @policy(...)"


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - NOT_IN_THE_TOURNAMENT))
def test_every_published_policy_plays_in_the_tournament(name):
    (entry,) = (entry for entry in entries() if entry.make is getattr(policies, name))
    assert name in ("Auto", "UniformRandom") or entry.family in players.PUBLISHED.families


def test_policies_for_independent_arms_play_in_the_comparison_with_simple_bandits():
    playing = {
        entry.make.__name__ for entry in entries() if entry.simple in players.SIMPLE.families
    }
    assert playing == {*SIMPLE, "DUCB", "GLRKLUCB", "RExp3"}


def test_policies_that_are_left_out_of_the_tournament_exist():
    assert set(PUBLIC) >= NOT_IN_THE_TOURNAMENT


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_can_be_stored(name):
    made = type(make_policy(name, PRIOR, steps=20))
    assert made in {entry.make for entry in tags().values()} or made in (
        dp.BestFixedArm,
        dp.Clairvoyant,  # shown the true function: never live
    )


def test_parameters_are_those_of_the_signatures():
    """Spot checks by hand of what is read from signatures."""
    assert policy_parameters("r-perp")["norm_bound"].default == 1.0  # as in Python
    assert policy_parameters("tv-gp-ucb")["drift"].default == 0.03
    assert policy_parameters("opkb")["period"].default is None
    assert policy_parameters("sw-gp-ucb")["window"].kind is int
    assert {"acquisition", "form"} <= policy_parameters("gp-ucb").keys()
    assert "features" not in policy_parameters("gp-ucb")
    assert policy_parameters("pe")["horizon"].required
    assert make_policy("r-opkb:period=7", PRIOR, steps=20).period == 7
    with pytest.raises(dp.DriftpeakError, match=r"must be an integer; got '2\.5'"):
        make_policy("sw-gp-ucb:window=2.5", PRIOR)
    with pytest.raises(dp.DriftpeakError, match="must be true or false; got 'maybe'"):
        make_policy("auto:learn_scale=maybe", PRIOR)


def test_what_fit_learns():
    learned = {name: memory_parameter(name) for name in POLICIES}
    assert {name: one for name, one in learned.items() if one} == {
        "r-gp-ucb": "period",
        "sw-gp-ucb": "window",
        "tv-gp-ucb": "drift",
        "w-gp-ucb": "discount",
        "ui-gp-ucb": "exponent",
    }


def test_every_policy_and_width_says_in_a_sentence_what_it_is():
    named = tables()["policies"]
    assert {line.name for line in named} == {*POLICIES, *FROM_A_HISTORY}
    assert all(len(line.summary) > 20 for line in named)
    assert all(inspect.getdoc(width) for width in WIDTHS.values())


def test_the_stored_names_are_those_of_the_signatures():
    """`python -m driftpeak.offline._policy_specs` writes what `--help` prints."""
    for what, table in tables().items():
        assert list(lines.lines(what)) == table
    stored = (ROOT / "src" / "driftpeak" / "offline" / "_policy_specs" / lines.FILE).read_text(
        encoding="utf-8"
    )
    assert stored == lines.as_text(tables())
