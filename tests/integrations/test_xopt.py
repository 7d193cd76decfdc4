"""The generator for Xopt, on Xopt's own test problems.

Xopt needs torch, which the environment of the other tests has not: in one that has both, as made by
`pip install torch` and `pip install -c constraints.txt '.[test,xopt]'`, run
`pytest tests/integrations/test_xopt.py`.
"""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import driftpeak as dp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of Xopt and torch, when they are loaded
    xopt = pytest.importorskip("xopt", reason="Xopt is not installed: see this file's first lines")
    from xopt.errors import VOCSError
    from xopt.generators import get_generator
    from xopt.resources.testing import (
        TEST_VOCS_BASE,
        TEST_VOCS_BASE_MO,
        TEST_VOCS_DATA,
        check_dict_equal,
        reload_gen_from_json,
        reload_gen_from_yaml,
        xtest_callable,
    )

    from driftpeak.integrations.xopt import DriftGenerator

    # after ours, which registers the generator: all of Xopt's own tests of generators run here
    from xopt.tests.test_generator import TestGenerator  # isort: skip

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Xopt and pandas are not ours
VOCS = TEST_VOCS_BASE.model_copy(deep=True)
VOCS.constraints = {}


def problem(generator, function=xtest_callable):
    return xopt.Xopt(generator=generator, evaluator=xopt.Evaluator(function=function))


@pytest.mark.parametrize("maximize", [False, True])
def test_it_suggests_what_an_optimiser_does(maximize):
    vocs = VOCS.model_copy(deep=True)
    vocs.objectives = {"y1": "MAXIMIZE" if maximize else "MINIMIZE"}
    it = problem(DriftGenerator(vocs=vocs, seed=4))
    box = dp.Box(x1=dp.Float(0, 1), x2=dp.Float(0, 10))
    optimizer = dp.Optimizer(box, maximize=maximize, seed=4)
    for step in range(1, 9):
        it.step()
        setting = optimizer.ask(float(step))
        assert it.data[["x1", "x2"]].iloc[-1].to_dict() == dict(setting)
        optimizer.tell(setting, setting["x2"])
    assert it.generator.best() == dict(optimizer.best())
    assert abs(it.generator.best()["x2"] - 10 * maximize) < 0.5


def test_it_goes_on_from_its_own_dump(tmp_path):
    """Loaded, copied or pickled, it suggests the same, although Xopt rounds the data."""
    path = str(tmp_path / "dump.yaml")
    it = problem(DriftGenerator(vocs=TEST_VOCS_BASE, max_travel_distances=[0.5, 0.5]))
    it.evaluate_data({"x1": [2 / 3], "x2": [5.0]})
    for _ in range(6):
        it.step()
    it.dump(path)
    other = xopt.Xopt.from_file(path)
    assert (other.data["x1"] != it.data["x1"]).any()  # rounded
    copied, pickled = copy.deepcopy(it.generator), pickle.loads(pickle.dumps(it.generator))
    expected = it.generator.generate(1)
    assert other.generator.generate(1) == expected
    assert copied.generate(1) == pickled.generate(1) == expected
    other = xopt.Xopt.from_file(path)
    other.step()
    other.dump(path)  # a dump of a loaded one
    assert xopt.Xopt.from_file(path).generator.generate(1) == other.generator.generate(1)


@pytest.mark.slow
def test_another_process_goes_on_from_the_dump(tmp_path):
    path = str(tmp_path / "dump.yaml")
    it = problem(DriftGenerator(vocs=VOCS))
    for _ in range(4):
        it.step()
    it.dump(path)
    code = (
        "import xopt, driftpeak.integrations.xopt, sys\n"
        "print(xopt.Xopt.from_file(sys.argv[1]).generator.generate(1))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, path], capture_output=True, text=True,
        timeout=300, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(it.generator.generate(1))


def test_xopts_tests_of_generators_include_it():
    assert get_generator("drift") is DriftGenerator
    (mark,) = TestGenerator.test_serialization_loading.pytestmark
    assert "drift" in mark.args[1]


def test_it_is_reloaded_as_xopts_bayesian_generators_are():
    made = DriftGenerator(vocs=TEST_VOCS_BASE)
    made.add_data(TEST_VOCS_DATA)
    loaded = [reload_gen_from_json(made), reload_gen_from_yaml(reload_gen_from_yaml(made))]
    for other in loaded:
        check_dict_equal(other.model_dump(), made.model_dump())
    assert made.generate(2) == loaded[0].generate(2) == loaded[1].generate(2)


@pytest.mark.parametrize(
    ("constraint", "limit"),
    [
        (["GREATER_THAN", 0.5], dp.Limit(at_least=0.5, probability=0.9)),
        (["LESS_THAN", 0.5], dp.Limit(at_most=0.5, probability=0.9)),
        (["BOUNDS", 0.25, 0.5], dp.Limit(at_least=0.25, at_most=0.5, probability=0.9)),
    ],
)
def test_a_constraint_is_a_limit(constraint, limit):
    vocs = VOCS.model_copy(deep=True)
    vocs.constraints = {"c1": constraint}
    it = problem(DriftGenerator(vocs=vocs, seed=2, probability=0.9))
    box = dp.Box(x1=dp.Float(0, 1), x2=dp.Float(0, 10))
    optimizer = dp.Optimizer(box, minimize=True, seed=2, constraints={"c1": limit})
    for step in range(1, 6):
        it.step()
        setting = optimizer.ask(float(step))
        assert it.data[["x1", "x2"]].iloc[-1].to_dict() == dict(setting)
        optimizer.tell(setting, setting["x2"], constraints={"c1": setting["x1"]})
    assert it.generator.best() == dict(optimizer.best())


@pytest.mark.slow
def test_a_drifting_constraint_is_met():
    """The best setting lies at a limit that moves; few of the later suggestions violate it."""

    def beam(inputs):
        loss = inputs["x1"] + 0.3 * np.sin(len(losses) / 10)
        losses.append(loss)
        return {"y1": -inputs["x1"], "c1": np.nan if len(losses) == 5 else loss}

    losses = []
    vocs = VOCS.model_copy(deep=True)
    vocs.constraints = {"c1": ["LESS_THAN", 0.6]}
    it = problem(DriftGenerator(vocs=vocs, seed=0), beam)
    for _ in range(40):
        it.step()
    late = np.array(losses[10:])
    assert (late > 0.6).mean() <= 0.15
    assert np.median(late) > 0.5


def test_no_step_is_longer_than_allowed():
    it = problem(DriftGenerator(vocs=VOCS, max_travel_distances=[0.1, 0.05]))
    with pytest.raises(dp.DriftpeakError, match="start"):
        it.step()
    it.evaluate_data({"x1": [0.5], "x2": [5.0]})
    for _ in range(8):
        it.step()
    steps = it.data[["x1", "x2"]].diff().abs().max()
    assert steps["x1"] <= 0.1 * (1 + 1e-9)
    assert 0.3 < steps["x2"] <= 0.5 * (1 + 1e-9)


def test_discrete_variables_and_single_values():
    vocs = VOCS.model_copy(deep=True)
    vocs.variables = {"x1": {1, 2, 4}, "x2": [0, 10], "fixed": {7}}
    it = problem(DriftGenerator(vocs=vocs))
    for _ in range(4):
        it.step()
    assert set(it.data["x1"]) <= {1, 2, 4}
    assert set(it.data["fixed"]) == {7}


def test_failures_count_for_nothing():
    calls = []

    def fails_sometimes(inputs):
        calls.append(inputs)
        if len(calls) == 3:
            raise RuntimeError("beam lost")
        return {"y1": np.nan if len(calls) == 4 else inputs["x2"]}

    generator = DriftGenerator(vocs=VOCS)
    it = xopt.Xopt(
        generator=generator, evaluator=xopt.Evaluator(function=fails_sometimes), strict=False
    )
    for _ in range(6):
        it.step()
    it.generator.generate(1)
    optimizer = it.generator._known.optimizer
    assert len(it.data) == 6
    assert [one.time for one in optimizer.history()] == [1, 2, 5, 6]
    assert len(optimizer.pending()) == 1


def test_batches_lie_apart():
    it = problem(DriftGenerator(vocs=VOCS))
    it.evaluate_data(pd.DataFrame(it.generator.generate(4)))
    batch = it.generator.generate(3)
    assert len({one["x2"] for one in batch}) == 3
    assert len(it.generator._known.optimizer.pending()) == 3
    for _ in range(40):
        it.generator.generate(3)
    assert len(it.generator._known.optimizer.pending()) == 100


def test_it_is_told_once(monkeypatch):
    told = []
    tell = dp.Optimizer.tell
    monkeypatch.setattr(
        dp.Optimizer, "tell", lambda self, *a, **k: told.append(a[2]) or tell(self, *a, **k)
    )
    it = problem(DriftGenerator(vocs=VOCS))
    for _ in range(4):
        it.step()
    assert told == [1, 2, 3]
    it.remove_data([0])  # other data: all is told afresh
    it.generator.generate(1)
    assert told == [1, 2, 3, 1, 2, 3]


def test_the_clock():
    now = iter(range(1000, 2000, 10))

    def timed(inputs):
        return {"y1": inputs["x2"], "time": float(next(now))}

    vocs = VOCS.model_copy(deep=True)
    it = problem(DriftGenerator(vocs=vocs, time="clock"), timed)
    it.step()
    it.step()
    it.generator.generate(1)
    optimizer = it.generator._known.optimizer
    assert [one.time for one in optimizer.history()] == [1000, 1010]
    assert optimizer.pending()[0].time > 1.7e9
    it = problem(DriftGenerator(vocs=vocs, time="clock"))
    it.step()
    with pytest.raises(dp.DriftpeakError, match="needs a column 'time'"):
        it.step()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"vocs": TEST_VOCS_BASE_MO}, VOCSError, "support"),
        ({"max_travel_distances": [0.1]}, ValueError, "one entry for each variable"),
        ({"time": "now"}, ValueError, "'steps' or 'clock'"),
    ],
)
def test_what_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        DriftGenerator(**({"vocs": VOCS} | arguments))


def test_nothing_to_be_explored_only():
    vocs = VOCS.model_copy(deep=True)
    vocs.objectives = {"y1": "EXPLORE"}
    with pytest.raises(VOCSError, match="must be maximized or minimized"):
        DriftGenerator(vocs=vocs)
