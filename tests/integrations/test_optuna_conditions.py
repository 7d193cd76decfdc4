"""Conditional parameters of Optuna: the conditions are inferred, and the parameters modelled."""

import logging

import numpy as np
import optuna
import pytest
from hypothesis import given, settings, strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler

import driftpeak as dp
from driftpeak.integrations.optuna import DriftSampler
from driftpeak.integrations.optuna._conditions import SpaceInference
from driftpeak.live._study.events import Asked

optuna.logging.set_verbosity(optuna.logging.ERROR)
UNIT = FloatDistribution(0, 1)


def completed(objective, count=30, seed=0):
    """Random trials of an objective that returns nothing."""
    study = optuna.create_study(sampler=RandomSampler(seed))
    study.optimize(lambda trial: objective(trial) or 0.0, n_trials=count)
    return study.trials


def optimizer_kind(trial):
    if trial.suggest_categorical("optimizer", ["adam", "sgd", "none"]) == "sgd":
        trial.suggest_float("momentum", 0, 1)


def layers(trial):
    for layer in range(trial.suggest_int("layers", 1, 3)):
        trial.suggest_int(f"units{layer}", 1, 64, log=True)


def nested(trial):
    if trial.suggest_categorical("kind", [None, True]):
        if trial.suggest_int("part", 0, 2) != 1:
            trial.suggest_float("deep", 0, 1)
        trial.suggest_float("other", 0, 1)


def two_parents(trial):
    first = trial.suggest_categorical("first", ["a", "b"])
    second = trial.suggest_categorical("second", ["a", "b"])
    if first == second == "b":
        trial.suggest_float("x", 0, 1)


def threshold(trial):
    if trial.suggest_float("x", 0, 1) > 0.5:
        trial.suggest_float("y", 0, 1)


def changing_range(trial):
    width = trial.suggest_int("width", 1, 3)
    trial.suggest_float("x", 0, width)
    trial.suggest_float("single", 1, 1)


@pytest.mark.parametrize(
    ("objective", "names", "conditions"),
    [
        (optimizer_kind, "optimizer momentum", {"momentum": {"optimizer": [1]}}),
        (layers, "layers units0 units1 units2",
         {"units1": {"layers": [2, 3]}, "units2": {"layers": [3]}}),
        (nested, "kind other part deep",
         {"other": {"kind": [1]}, "part": {"kind": [1]}, "deep": {"part": [0, 2]}}),
        (two_parents, "first second x", {"x": {"first": [1], "second": [1]}}),
        (threshold, "x", {}),
        (changing_range, "width", {}),
    ],
)  # fmt: skip
def test_conditions(objective, names, conditions):
    space, found = SpaceInference().infer(completed(objective))
    assert list(space) == names.split()
    assert found == conditions


def test_values_outside_the_range_are_not_listed():
    distributions = {"n": IntDistribution(1, 3), "x": UNIT}
    trials = [
        optuna.create_trial(
            params={"n": n} | ({"x": 0.5} if n > 1 else {}),
            distributions=distributions if n > 1 else {"n": distributions["n"]},
            value=0,
        )
        for n in (1, 2, 3)
    ]
    trials.append(trials[-1].__class__(**vars_of(trials[-1], {"n": 7, "x": 0.5})))
    for number, trial in enumerate(trials):
        trial.number = number
    assert SpaceInference().infer(trials)[1] == {"x": {"n": [2, 3]}}


def vars_of(trial, params):
    """A trial whose fixed values Optuna did not check."""
    return {
        "number": 9, "trial_id": 9, "state": trial.state, "value": 0.0, "values": None,
        "datetime_start": trial.datetime_start, "datetime_complete": trial.datetime_complete,
        "params": params, "distributions": trial.distributions, "user_attrs": {},
        "system_attrs": {}, "intermediate_values": {},
    }  # fmt: skip


TREES = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 2)), min_size=1, max_size=4)


@settings(max_examples=25)
@given(tree=TREES, seed=st.integers(0, 99))
def test_the_conditions_hold_in_all_trials(tree, seed):
    """In random trees of conditions, the inferred conditions say which trials have a parameter."""

    def objective(trial):
        values = [trial.suggest_categorical("p0", [0, 1, 2])]
        for number, (parent, value) in enumerate(tree, 1):
            if values[parent % number] == value:
                values.append(trial.suggest_categorical(f"p{number}", [0, 1, 2]))
            else:
                values.append(None)

    trials = completed(objective, 30, seed)
    space, conditions = SpaceInference().infer(trials)
    assert set(space) == {name for trial in trials for name in trial.params}
    for trial in trials:
        active = {}
        for name in space:
            if all(active.get(p) in values for p, values in conditions.get(name, {}).items()):
                active[name] = trial.params.get(name)
        assert active == trial.params


SPACE = {"kind": CategoricalDistribution(["a", "b"]), "x": UNIT}


def cost(trial):
    """Kind b with momentum near 0.7 is best, and moves; others are worse."""
    best = 0.3 + 0.01 * trial.number
    value = (trial.suggest_float("x", 0, 1) - best) ** 2
    if trial.suggest_categorical("kind", ["a", "b"]) == "b":
        return value + (trial.suggest_float("momentum", 0, 1) - 0.7) ** 2
    return value + 0.2


@pytest.mark.slow
def test_it_suggests_what_an_optimiser_with_the_condition_does(caplog):
    study = optuna.create_study(sampler=DriftSampler(seed=1))
    study.enqueue_trial({"x": 0.5, "kind": "b", "momentum": 0.5})
    study.enqueue_trial({"x": 0.5, "kind": "a"})
    with caplog.at_level(logging.WARNING):
        study.optimize(cost, n_trials=8)
    assert not [record for record in caplog.records if "independently" in record.getMessage()]
    box = dp.Box(
        kind=dp.Categorical(0, 1), x=dp.Float(0, 1), momentum=dp.Float(0, 1, when={"kind": 1})
    )
    optimizer = dp.Optimizer(box, minimize=True, seed=1)
    for trial in study.trials:
        setting = {"kind": "ab".index(trial.params["kind"]), "x": trial.params["x"]}
        setting |= {k: v for k, v in trial.params.items() if k == "momentum"}
        if trial.number < 2:
            optimizer.apply(Asked(trial.number + 1, float(trial.number), "numbers", setting))
        else:
            assert setting == dict(optimizer.ask(trial.number))
        optimizer.tell(trial.number + 1, trial.value)
    best = study.sampler.best(study)
    assert (best["kind"], best.mean) == ("b", optimizer.best().mean)
    assert best["momentum"] == optimizer.best()["momentum"]


@pytest.mark.slow
def test_conditional_parameters_are_optimised():
    """Each is sampled at random once; the last trials are near the optimum in all parameters."""
    calls = []

    class Random(RandomSampler):
        def sample_independent(self, study, trial, name, distribution):
            calls.append(name)
            return super().sample_independent(study, trial, name, distribution)

    study = optuna.create_study(sampler=DriftSampler(seed=0, independent_sampler=Random(0)))
    study.optimize(cost, n_trials=40)
    assert sorted(calls) == ["kind", "momentum", "x"]
    best = study.sampler.best(study)
    assert best["kind"] == "b"
    assert abs(best["momentum"] - 0.7) < 0.1
    assert abs(best["x"] - 0.69) < 0.1
    assert np.median([trial.value for trial in study.trials[-10:]]) < 0.02


@pytest.mark.slow
def test_other_conditions_are_modelled_given_the_other_parameters(caplog):
    """For a threshold, and where a trial's number decides, each name is sampled at random once."""
    study = optuna.create_study(sampler=DriftSampler(seed=0))

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        value = (x - 0.8) ** 2
        if x > 0.5:
            value += (trial.suggest_float("y", 0, 1) - 0.2) ** 2
        if trial.number % 2:
            value += (trial.suggest_float("odd", 0, 1) - 0.4) ** 2
        return value + 0.5 * (x <= 0.5)

    with caplog.at_level(logging.WARNING):
        study.optimize(objective, n_trials=40)
    said = [r.getMessage().split("'")[1] for r in caplog.records if "indepen" in r.getMessage()]
    assert len(said) == len(set(said)) <= 2  # none for the first trial
    assert set(study.sampler.best(study)) == {"x"}
    late = study.trials[-10:]
    for name, optimum in (("x", 0.8), ("y", 0.2), ("odd", 0.4)):
        values = [trial.params[name] for trial in late if name in trial.params]
        assert abs(np.median(values) - optimum) < 0.15, name


@pytest.mark.slow
def test_a_fixed_value_outside_its_range_leaves_the_rest_to_the_independent_sampler():
    study = optuna.create_study(sampler=DriftSampler(seed=0, warn_independent_sampling=False))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=1)
    study.enqueue_trial({"x": 7.0})
    trial = study.ask()
    with pytest.warns(UserWarning, match="out of range"):
        trial.suggest_float("x", 0, 1)
    assert 0 <= trial.suggest_float("y", 0, 1) <= 1


def test_trials_are_read_once_and_those_of_another_study_anew(monkeypatch):
    """Spaces and conditions equal those of all trials; a distribution is compared once."""
    compared, equal = [], FloatDistribution.__eq__
    monkeypatch.setattr(
        FloatDistribution, "__eq__", lambda self, other: compared.append(1) or equal(self, other)
    )
    inference = SpaceInference()
    for objective in (nested, changing_range, nested):
        trials = completed(objective, 60)
        for count in (10, 35, 36, 60):
            assert inference.infer(trials[:count]) == SpaceInference().infer(trials[:count])
        compared.clear()
        inference.infer(trials)
        assert not compared
