"""The sampler for Optuna: the optimiser's suggestions, made from the study's trials alone."""

import datetime as dt
import doctest
import math
import pickle
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import optuna
import pytest
from hypothesis import example, given, strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import driftpeak as dp
from driftpeak.integrations.optuna import DriftSampler, _follower as follower, _sampler as sampler
from driftpeak.integrations.optuna._space import SearchSpace
from driftpeak.live._space.encoding import make_coding
from driftpeak.live._study.events import Asked

optuna.logging.set_verbosity(optuna.logging.ERROR)
SPACE = {"kind": CategoricalDistribution(["a", "b"]), "x": FloatDistribution(0, 1)}


def value(trial):
    """A peak that moves; of trials that Optuna runs, and of those it keeps."""
    best = 0.3 + 0.02 * trial.number
    return -((trial.params["x"] - best) ** 2) - 0.1 * (trial.params["kind"] == "a")


def study_with(made, storage=None, **options):
    options = {"direction": "maximize"} | options
    return optuna.create_study(sampler=made, storage=storage, **options)


def run(study, steps):
    for _ in range(steps):
        trial = study.ask(SPACE)
        study.tell(trial, value(trial))
    return [trial.params for trial in study.trials]


def known(study):
    """What the newest follower of a study's sampler has been told."""
    return study.sampler._followers[0].optimizer


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_it_suggests_what_an_optimiser_does(direction):
    """Steps are trials; the first is drawn at random, and told as any setting."""
    sign = 1 if direction == "maximize" else -1
    study = study_with(DriftSampler(seed=3), direction=direction)
    optimizer = dp.Optimizer(
        dp.Box(kind=dp.Categorical(0, 1), x=dp.Float(0, 1)), maximize=sign > 0, seed=3
    )
    for number in range(8):
        trial = study.ask(SPACE)
        setting = {"kind": "ab".index(trial.params["kind"]), "x": trial.params["x"]}
        if number == 0:
            optimizer.apply(Asked(1, 0.0, "numbers", setting))
        else:
            assert setting == dict(optimizer.ask(number))
        study.tell(trial, sign * value(trial))
        optimizer.tell(number + 1, sign * value(trial))
    best, expected = study.sampler.best(study, 20), optimizer.best(20)
    assert best["kind"] == "ab"[expected["kind"]]
    assert (best["x"], best.mean, best.deviation, best.time) == (
        expected["x"],
        expected.mean,
        expected.deviation,
        20,
    )


@pytest.mark.slow
def test_a_new_one_goes_on_as_the_old_would():
    """It has no state of its own: made anew, or pickled, before each trial."""
    whole = run(study_with(DriftSampler(seed=1)), 9)
    study = study_with(None)
    for number in range(9):
        made = DriftSampler(seed=1)
        if number == 5:
            made = pickle.loads(pickle.dumps(study.sampler))
            assert made._followers == []
        if number in (0, 3, 5, 8):
            study.sampler = made
        run(study, 1)
    assert [trial.params for trial in study.trials] == whole


def test_a_trial_costs_one_tell(monkeypatch):
    told = []
    tell = follower.NumberedOptimizer.tell
    monkeypatch.setattr(
        follower.NumberedOptimizer,
        "tell",
        lambda self, number, *rest: told.append(number) or tell(self, number, *rest),
    )
    study = study_with(DriftSampler(seed=0))
    run(study, 7)
    assert told == [1, 2, 3, 4, 5, 6]
    assert len(study.sampler._followers) == 1


@pytest.mark.slow
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_workers_look_in_different_places(workers, tmp_path):
    """As one sampler would, whoever of them asks: what runs elsewhere is out, until it is told."""
    storage = f"sqlite:///{tmp_path}/study.db"
    study_with(DriftSampler(seed=0), storage, study_name="it")
    studies = [
        optuna.load_study(study_name="it", storage=storage, sampler=DriftSampler(seed=0))
        for _ in range(workers)
    ]
    run(studies[0], 6)
    trials = [studies[number % workers].ask(SPACE) for number in range(4)]
    assert len({trial.params["x"] for trial in trials}) == 4
    alone = optuna.load_study(study_name="it", storage=storage, sampler=DriftSampler(seed=0))
    run(alone, 1)
    out = [setting.parameters for setting in known(alone)._state.pending.values()]
    asked = [{"kind": "ab".index(t.params["kind"]), "x": t.params["x"]} for t in trials]
    assert out[:4] == asked
    for trial in reversed(trials):
        alone.tell(trial.number, value(trial))
    run(alone, 1)
    assert [one.id for one in known(alone).history()[-5:]] == [11, 10, 9, 8, 7]
    assert list(known(alone)._state.pending) == [12]


def test_who_asks_at_the_same_moment_looks_elsewhere():
    """Another process has begun a trial, and not set anything yet: it will find what we find."""
    study = study_with(DriftSampler(seed=0))
    run(study, 6)
    first, second = study.ask(), study.ask()
    theirs, ours = DriftSampler(seed=0), DriftSampler(seed=0)
    views = [study_of(study, made) for made in (theirs, ours)]
    found = [
        view.sampler.sample_relative(view, view.trials[trial.number], SPACE)
        for view, trial in zip(views, (first, second), strict=True)
    ]
    assert found[0] != found[1]
    assert list(ours._followers[0].optimizer._state.pending) == [7, 8]
    assert ours._followers[0].optimizer._state.pending[7].parameters == {
        "kind": "ab".index(found[0]["kind"]),
        "x": found[0]["x"],
    }


def study_of(study, made):
    return optuna.load_study(study_name=study.study_name, storage=study._storage, sampler=made)


def test_pruned_trials_count_and_failed_do_not():
    for use_pruned, counted in ((True, {2: -5.0}), (False, {})):
        study = study_with(DriftSampler(seed=0, use_pruned=use_pruned))
        run(study, 1)
        reported, silent, failed = (study.ask(SPACE) for _ in range(3))
        reported.report(-1.0, 0)
        reported.report(-5.0, 1)
        study.tell(reported, state=TrialState.PRUNED)
        study.tell(silent, state=TrialState.PRUNED)
        study.tell(failed, state=TrialState.FAIL)
        run(study, 1)
        told = {one.id: one.reward for one in known(study).history()}
        assert told == counted | {1: study.trials[0].value}
        assert list(known(study)._state.pending) == [5]


def test_an_enqueued_trial_is_told_as_it_was_made():
    study = study_with(DriftSampler(seed=0))
    run(study, 2)
    study.enqueue_trial({"x": 0.125})
    study.enqueue_trial({"x": 7.0, "kind": "b"})
    with pytest.warns(UserWarning, match="out of range"):
        run(study, 3)
    xs = {one.id: one.parameters["x"] for one in known(study).history()}
    assert xs.pop(3) == 0.125
    assert xs.keys() == {1, 2}  # what is outside the range is nothing that can be learned from


def test_infinities_are_taken():
    study = study_with(DriftSampler(seed=0))
    run(study, 7)
    study.tell(study.ask(SPACE), -math.inf)
    run(study, 1)
    assert known(study).history()[-1].reward == -sys.float_info.max
    assert known(study).diagnostics().rejected == 1


def test_other_samplers_may_sample_independently():
    calls = []

    class Fixed(optuna.samplers.RandomSampler):
        def sample_independent(self, study, trial, name, distribution):
            calls.append(name)
            return super().sample_independent(study, trial, name, distribution)

        def reseed_rng(self):
            calls.append("reseeded")

        def after_trial(self, study, trial, state, values):
            calls.append(values)

    study = study_with(DriftSampler(seed=0, independent_sampler=Fixed()))
    study.sampler.reseed_rng()
    run(study, 1)
    assert calls == ["reseeded", "kind", "x", [study.trials[0].value]]


def test_the_time_is_the_users():
    def hour(trial):
        return trial.user_attrs["hour"]

    study = study_with(DriftSampler(seed=0, time=hour))
    for number in range(3):
        trial = study.ask()
        trial.set_user_attr("hour", 10.5 * number)
        trial.suggest_float("x", 0, 1)
        study.tell(trial, 0.0)
    assert [one.time for one in known(study).history()] == [0, 10.5]
    assert known(study)._state.pending[3].time == 21.0
    started = study_with(DriftSampler(seed=0, time="start"))
    run(started, 2)
    (told,) = known(started).history()
    assert told.time == started.trials[0].datetime_start
    assert isinstance(told.time, dt.datetime)


@pytest.mark.slow
def test_one_sampler_for_several_studies():
    """And for the brackets of a pruner: what it keeps is recognised by the trials themselves."""
    made = DriftSampler(seed=2)
    studies = [study_with(made) for _ in range(2)]
    alone = study_with(DriftSampler(seed=2))
    run(studies[0], 1)
    first = studies[0].trials[0]
    studies[1].add_trial(first)
    alone.add_trial(first)
    for _ in range(4):
        run(studies[0], 1)
        run(studies[1], 1)
    assert [t.params for t in studies[1].trials] == run(alone, 4)
    assert len(made._followers) == 2
    for _ in range(2 * sampler.KEPT):
        made.best(study_like(alone))
    assert len(made._followers) == sampler.KEPT


def test_each_bracket_of_hyperband_has_its_own_trials():
    """Optuna shows a sampler those alone: values at other budgets mean other things."""
    pruner = optuna.pruners.HyperbandPruner(max_resource=9)
    # Optuna shares trials out by the study's name: a random one may put all into one bracket
    study = study_with(DriftSampler(seed=0), pruner=pruner, study_name="brackets")

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        for step in range(9):
            trial.report(step * x, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return x + (kind == "a")

    study.optimize(objective, n_trials=12)
    told = [set(one.settled) for one in study.sampler._followers]
    assert 2 <= len(told) <= 3
    assert not set.intersection(*told)
    assert set.union(*told) <= set(range(12))


def study_like(other):
    study = study_with(None)
    study.add_trials(other.trials[:2])
    study.add_trial(
        optuna.create_trial(params=other.trials[0].params, distributions=SPACE, value=1)
    )
    return study


def test_those_who_died_leave_some_room():
    study = study_with(DriftSampler(seed=0))
    run(study, 1)
    start = dt.datetime(2026, 3, 1)
    running = [
        optuna.trial.FrozenTrial(
            number=number, trial_id=number, state=TrialState.RUNNING, value=None,
            datetime_start=start, datetime_complete=None, params={"x": number / 1000, "kind": "a"},
            distributions=SPACE, user_attrs={}, system_attrs={}, intermediate_values={},
        )
        for number in range(1, 700)
    ]  # fmt: skip
    made = follower.Follower(
        SPACE, maximize=True, policy=dp.DriftingGP(), seed=0, clock=lambda trial: trial.number,
        early=True, use_pruned=True,
    )  # fmt: skip
    made.catch_up([*study.trials, *running])
    assert made.optimizer.numbers_out() == list(range(201, 701))


STEPS = st.sampled_from([0.1, 0.25, 0.3, 1.0, 7.0])
DISTRIBUTIONS = st.one_of(
    st.builds(
        lambda low, wide: FloatDistribution(low, low + wide),
        st.floats(-1e6, 1e6),
        st.floats(1e-3, 1e6),
    ),
    st.builds(
        lambda low, step, times: FloatDistribution(low / 10, low / 10 + times * step, step=step),
        st.integers(-1000, 1000),
        STEPS,
        st.floats(1.01, 60),
    ),
    st.builds(
        lambda low, ratio: FloatDistribution(low, low * ratio, log=True),
        st.floats(1e-8, 1e3),
        st.floats(1.01, 1e6),
    ),
    st.builds(
        lambda low, step, wide: IntDistribution(low, low + step + wide, step=step),
        st.integers(-99, 99),
        st.integers(1, 9),
        st.integers(0, 99),
    ),
    st.builds(
        lambda low, wide: IntDistribution(low, low + wide, log=True),
        st.integers(1, 99),
        st.integers(1, 9999),
    ),
    st.builds(
        CategoricalDistribution,
        st.lists(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            min_size=2,
            max_size=5,
        ),
    ),
)


@pytest.mark.filterwarnings("ignore:The distribution is specified by")  # not divisible by its step
@example(distribution=FloatDistribution(-8.4, -8.3, step=0.1), places=[0.5])  # 0.09999999999999964
@given(distribution=DISTRIBUTIONS, places=st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_suggestions_lie_in_the_distribution(distribution, places):
    space = SearchSpace({"x": distribution})
    coding = make_coding(space.box)
    for place in [0.0, *places, 1.0]:
        setting = coding.parameters(coding.snap(np.array([place])))
        found = space.values(setting)["x"]
        internal = distribution.to_internal_repr(found)
        assert distribution._contains(internal)
        assert not isinstance(found, np.generic)
        trial = optuna.create_trial(params={"x": found}, distributions={"x": distribution}, value=0)
        told = space.setting(trial)
        assert space.values(told)["x"] == found


def test_a_distribution_of_others_is_refused():
    class Other(optuna.distributions.BaseDistribution):
        def to_internal_repr(self, value):
            return 0.0

        def single(self):
            return False

        def _contains(self, value):
            return True

    with pytest.raises(dp.DriftpeakError, match="distribution of parameter 'x' must be"):
        SearchSpace({"x": Other()})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": 3}, "policy must be a DriftingGP or .* got 3"),
        ({"independent_sampler": 3}, "must be a sampler of Optuna or None; got 3"),
        ({"seed": -1}, "seed must be an integer of at least 0; got -1"),
        ({"time": "now"}, "time must be 'number', 'start', or a function"),
        ({"time": 3}, "time must be a string or a function; got 3"),
    ],
)
def test_what_is_refused(arguments, message, without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=message):
        DriftSampler(**arguments)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_optunas_pictures_draw_it():
    study = study_with(DriftSampler(seed=0))
    run(study, 4)
    axes = optuna.visualization.matplotlib.plot_optimization_history(study)
    assert len(axes.collections[0].get_offsets()) == 4
    assert set(optuna.importance.get_param_importances(study)) == set(SPACE)
    plt.close(axes.figure)


def test_no_best_of_nothing():
    with pytest.raises(dp.DriftpeakError, match="no trial is complete"):
        DriftSampler().best(study_with(None))
    several = optuna.create_study(directions=["maximize", "minimize"])
    with pytest.raises(ValueError, match="multi-objective"):
        DriftSampler().best(several)


def test_seeds_differ_by_default():
    assert DriftSampler()._seed != DriftSampler()._seed


@pytest.mark.slow
def test_the_example_runs():
    (test,) = doctest.DocTestFinder(recurse=False).find(DriftSampler, "DriftSampler", globs={})
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


@pytest.mark.slow
def test_driftpeak_does_not_import_optuna():
    code = "import sys, driftpeak as dp; dp.Optimizer; assert 'optuna' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
