"""Values that an operator fixes for one suggestion."""

import json

import numpy as np
import pytest
from commands import refused

import driftpeak as dp

pytestmark = pytest.mark.usefixtures("without_type_checks")
PLANT = dp.Box(
    heat=dp.Float(0, 1), fans=dp.Integer(1, 3), mode=dp.Categorical("eco", "fast", "turbo")
)


def output(setting):
    """The best heat is 0.25 per fan; more fans are better."""
    return -((setting["heat"] - 0.25 * setting["fans"]) ** 2) + setting["fans"]


@pytest.mark.slow
def test_fixed_values_hold_and_the_others_are_optimised():
    """With 2 fans the best heat is 0.5, and with 1 fan 0.25; without fixed values it uses 3."""
    optimizer = dp.Optimizer(PLANT, maximize=True)
    for step in range(24):
        fixed = {"fans": 1 + step % 3} if step < 18 else None
        setting = optimizer.ask(fixed=fixed)
        assert fixed is None or setting["fans"] == fixed["fans"]
        optimizer.tell(setting, output(setting))
    assert optimizer.ask()["fans"] == 3
    for fans in (1, 2):
        one = optimizer.ask(fixed={"fans": fans, "mode": "fast"})
        assert (one["fans"], one["mode"]) == (fans, "fast")
        assert abs(one["heat"] - 0.25 * fans) < 0.1


def test_all_values_may_be_fixed_and_pending_ones_are_not_repeated():
    optimizer = dp.Optimizer(PLANT, maximize=True)
    whole = {"heat": 0.123456789, "fans": 2, "mode": "turbo"}
    assert dict(optimizer.ask(fixed=whole)) == whole
    for setting in optimizer.ask(count=6, fixed={"fans": 1}):
        optimizer.tell(setting, output(setting))
    several = optimizer.ask(count=4, fixed={"mode": "eco", "fans": 2})
    assert len({setting["heat"] for setting in several}) == 4


@pytest.mark.slow
def test_fixed_values_with_known_constraints():
    """`heat + fans <= 2.2` leaves heats up to 0.2 with 2 fans, and none with 3."""
    total = {"power": dp.WeightedSum({"heat": 1, "fans": 1}, at_most=2.2)}
    optimizer = dp.Optimizer(PLANT, maximize=True, constraints=total)
    for _ in range(8):
        setting = optimizer.ask(fixed={"fans": 2})
        assert setting["fans"] == 2
        assert setting["heat"] <= 0.2 + 1e-9
        optimizer.tell(setting, output(setting))
    assert setting["heat"] == pytest.approx(0.2, abs=0.01)
    with pytest.raises(dp.InfeasibleError, match="common solution with the fixed values"):
        optimizer.ask(fixed={"fans": 3})
    assert len(optimizer.pending()) == 0


def test_fixed_values_with_movement_limits():
    space = dp.Box(speed=dp.Float(0, 10, max_step=1), valve=dp.Integer(0, 9, max_step=2))
    optimizer = dp.Optimizer(space, maximize=True, start={"speed": 5.0, "valve": 4})
    one = optimizer.ask(fixed={"valve": 4})
    assert dict(one) == {"speed": 5.0, "valve": 4}  # the start has the fixed value
    optimizer.tell(one, 0.0)
    two = optimizer.ask(fixed={"valve": 6})
    assert two["valve"] == 6
    assert 4 <= two["speed"] <= 6
    with pytest.raises(dp.InfeasibleError, match="within the movement limits"):
        optimizer.ask(fixed={"valve": 9})
    other = dp.Optimizer(space, maximize=True, start={"speed": 5.0, "valve": 4})
    first = other.ask(fixed={"speed": 5.5})  # the start does not have it
    assert first["speed"] == 5.5
    assert 2 <= first["valve"] <= 6


@pytest.mark.slow
def test_fixed_values_with_a_safe_start():
    """Before the limits are measured, only safe settings with the fixed values are suggested."""
    optimizer = dp.Optimizer(
        PLANT,
        maximize=True,
        constraints={"noise": dp.Limit(at_most=60)},
        safe_start=[
            {"heat": 0.1, "fans": 1, "mode": "eco"},
            {"heat": 0.2, "fans": 2, "mode": "eco"},
        ],
    )
    assert optimizer.ask(fixed={"fans": 2})["heat"] == 0.2
    with pytest.raises(dp.InfeasibleError, match="safe_start must have a setting with the fixed"):
        optimizer.ask(fixed={"fans": 3})
    for setting in (optimizer.pending()[0], {"heat": 0.1, "fans": 1, "mode": "eco"}):
        optimizer.tell(setting, output(setting), constraints={"noise": 40 + 5 * setting["fans"]})
    with pytest.warns(dp.DriftpeakWarning, match="no setting with mode="):
        assert optimizer.ask(fixed={"fans": 2})["fans"] == 2


def test_fixed_values_on_grids_arms_and_conditions():
    grid = dp.Optimizer(dp.Grid((0, 1), (0, 5), size=[11, 6]), maximize=True)
    for _ in range(7):
        setting = grid.ask(fixed={"x2": 3})
        assert setting["x2"] == 3
        grid.tell(setting, -((setting["x1"] - 0.4) ** 2))
    arms = dp.Optimizer(dp.Arms(3, names=["a", "b", "c"]), maximize=True)
    assert arms.ask(fixed={"arm": "b"})["arm"] == "b"
    nested = dp.Box(kind=dp.Categorical("sgd", "adam"), beta=dp.Float(0, 1, when={"kind": "adam"}))
    both = dp.Optimizer(nested, maximize=True).ask(fixed={"kind": "adam", "beta": 0.9})
    assert dict(both) == {"kind": "adam", "beta": 0.9}
    assert dict(dp.Optimizer(nested, maximize=True).ask(fixed={"kind": "sgd"})) == {"kind": "sgd"}


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"fan": 2}, "fixed must be among heat, fans, mode; got 'fan'. Did you mean 'fans'"),
        ({"fans": 4}, "'fans' must be an integer from 1 to 3"),
        ({"mode": "slow"}, "'mode' must be"),
        ([2], "fixed must map some of heat, fans, mode to values"),
    ],
)
def test_invalid_fixed_values(fixed, message):
    optimizer = dp.Optimizer(PLANT, maximize=True)
    with pytest.raises(dp.DriftpeakError, match=message):
        optimizer.ask(fixed=fixed)
    assert optimizer.pending() == []


def test_fixed_values_that_are_not_supported():
    nested = dp.Box(kind=dp.Categorical("sgd", "adam"), beta=dp.Float(0, 1, when={"kind": "adam"}))
    with pytest.raises(dp.DriftpeakError, match="active only if 'kind' is 'adam'"):
        dp.Optimizer(nested, maximize=True).ask(fixed={"beta": 0.9})
    with pytest.raises(dp.DriftpeakError, match="'x1' must be a coordinate of the grid"):
        dp.Optimizer(dp.Grid((0, 1), size=[11]), maximize=True).ask(fixed={"x1": 0.35})
    prior = dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3).tolist()), noise_variance=0.1)
    policy = dp.TVGPUCB(prior, drift=0.01)
    with pytest.raises(dp.UnsupportedError, match="fixed must be left out with this policy"):
        dp.Optimizer(dp.Arms(3), maximize=True, policy=policy).ask(fixed={"arm": 1})


def test_fixed_values_in_a_stored_study(tmp_path):
    """A resumed study and a snapshot continue with the suggestions of one that never stopped."""
    path = tmp_path / "plant.jsonl"
    kept = dp.Optimizer(PLANT, maximize=True)
    for step in range(7):
        fixed = {"fans": 2} if step % 2 else None
        stored = dp.Optimizer(PLANT, maximize=True, storage=path)
        one, same = stored.ask(fixed=fixed), kept.ask(fixed=fixed)
        assert dict(one) == dict(same)
        stored.tell(one, output(one))
        kept.tell(same, output(same))


def test_fixed_values_on_the_command_line(tmp_path, run):
    store = str(tmp_path / "plant.jsonl")
    space = json.dumps(dp.live.space_to_data(PLANT))
    run("live", "create", store, "plant", "--space", space, "--maximize")
    code, out, _ = run("live", "ask", store, "--fixed", "fans=2", "--fixed", "mode=eco")
    assert code == 0
    chosen = json.loads(out)["parameters"]
    assert (chosen["fans"], chosen["mode"]) == (2, "eco")
    assert refused(run("live", "ask", store, "--fixed", "fans"), "--fixed must be NAME=VALUE")
    assert refused(
        run("live", "ask", store, "--fixed", "fans=9"), "'fans' must be an integer from 1 to 3"
    )
