"""Comparison with simple bandits: tables and claims from hand-made results, and one small run."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from driftpeak.experiments.claims import judge
from driftpeak.experiments.running import registry
from driftpeak.experiments.running.reproduce import reproduce
from driftpeak.experiments.running.runner import RunSize
from driftpeak.experiments.tournament import experiment as tournament, simple_bandits
from driftpeak.experiments.tournament.cases import CASES, KINDS
from driftpeak.experiments.tournament.environments import simulated
from driftpeak.experiments.tournament.players import AUTO, RANDOM, SIMPLE
from driftpeak.experiments.tournament.scores import LEAST_RATIO

WHOLE = simple_bandits.EXPERIMENTS[0]
GREEDY = "epsilon-greedy, epsilon 0.01, step_size 1"


def totals(levels, *, trials=12, steps=10) -> xr.Dataset:
    """Totals of runs whose regret per step is `levels`, by policy; 1 for those not named."""
    names = [AUTO, *SIMPLE.settings]
    spread = 0.01 * np.random.default_rng(5).normal(size=trials)
    means = np.array([levels.get(name, 1.0) for name in names])
    data = (("policy", "trial", "step"), (means[:, None] + spread)[..., None] * steps)
    runs = xr.Dataset({"regret": data}, coords={"policy": names})
    return runs.assign_attrs(independent_trials=1, steps=steps)


def test_the_cases_are_those_of_the_tournament():
    ours, theirs = WHOLE.cases, tournament.EXPERIMENTS[0].cases
    assert [(case.name, case.trials, case.data) for case in ours] == [
        (case.name, case.trials, case.data) for case in theirs
    ]
    assert WHOLE.id not in registry.GROUPS["all"] + registry.GROUPS["simulated"]


def test_auto_and_all_settings_of_the_grids_play():
    setup = simulated("static", "simple")
    assert list(setup.policies) == [AUTO, *SIMPLE.settings]
    assert {len(family.values) for family in SIMPLE.families} <= set(range(3, 7))
    assert setup.policies["LinUCB, theory"].harmonics == 0
    assert setup.policies["D-UCB, discount 0.96, exploration 0.0005"].exploration == 0.0005
    assert setup.policies["D-UCB, theory"].exploration == 0.6


def test_relative_regret():
    results = {
        "a": totals({AUTO: 0.3, GREEDY: 0.6}),
        "b": totals({AUTO: 0.9, RANDOM: 0.6}),
        "c": totals({AUTO: 0.001, GREEDY: 0.6}),
    }
    best = simple_bandits.relative(results, SIMPLE.settings)
    np.testing.assert_allclose(best, [0.5, 1.5, LEAST_RATIO], rtol=0.02)
    alone = simple_bandits.relative(results, (GREEDY,))
    np.testing.assert_allclose(alone, [0.5, 0.9, LEAST_RATIO], rtol=0.02)


@pytest.mark.parametrize(("own", "verdict"), [(0.85, "holds"), (0.95, "does not hold")])
def test_claims_by_kind(own, verdict):
    """The best simple bandit has 1 per step in every case, auto `own`."""
    claims = WHOLE.claims[: len(KINDS)]
    results = {case: totals({AUTO: own}) for case in CASES}
    for claim in claims:
        assert claim.whose == "ours"
        assert judge(claim, results).verdict == verdict


def test_the_claim_by_case_depends_on_the_case():
    claim = WHOLE.claims[len(KINDS)]
    few = {case: claim.settings[case] for case in CASES[:2]}
    results = {CASES[0]: totals({AUTO: 0.5}), CASES[1]: totals({AUTO: 1.5})}
    judgement = judge(replace(claim, comparisons=few), results)
    assert [ruling.verdict for ruling in judgement.rulings] == ["holds", "does not hold"]
    assert judgement.verdict == "depends"


def test_tables():
    results = {case: totals({AUTO: 0.5, GREEDY: 0.8}) for case in CASES[:6]}
    by_kind, families, settings, cases, by_case = simple_bandits.tables(results)
    assert by_kind.rows[0][:2] == ("all", "6")
    assert by_kind.rows[0][2].startswith("0.62 [")
    assert [row[0] for row in settings.rows] == list(SIMPLE.settings)
    rows = {row[0]: row for row in (*families.rows, *settings.rows)}
    assert rows["epsilon-greedy, hindsight"][1].startswith("0.62 [")
    assert rows["UCB1, hindsight"][1].startswith("0.50 [")
    assert rows[GREEDY][2] == "6"
    assert [row[1] for row in cases.rows] == [GREEDY] * 6
    assert len(by_case.rows) == 6


@pytest.mark.long
def test_a_small_comparison(tmp_path, monkeypatch):
    monkeypatch.setattr("driftpeak.experiments.tournament.environments.STEPS", 30)
    monkeypatch.setattr("driftpeak.experiments.tournament.environments.OTHERS", 2)
    cases = tuple(case for case in WHOLE.cases if case.name == "Markov 0.1")
    tiny = replace(WHOLE, cases=cases, claims=())
    monkeypatch.setitem(registry.EXPERIMENTS, WHOLE.id, tiny)
    summary = reproduce([tiny], RunSize(trials=3), output=tmp_path)
    assert len(summary["experiments"][WHOLE.id]["tables"]) == 5
    assert (tmp_path / "simple-bandits.png").exists()
