"""Tables of past settings and observations."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import driftpeak as dp

pytestmark = pytest.mark.usefixtures("without_type_checks")
SMALL = dp.DriftingGP(capacity=32, forgetting="markov", learn=False)
BOX = dp.Box(
    speed=dp.Float(0, 10),
    stages=dp.Integer(1, 6),
    mode=dp.Categorical("eco", "fast"),
    flow=dp.Float(0, 1, when={"mode": "eco"}),
)
LIMIT = {"heat": dp.Limit(at_most=75)}
MONDAY = datetime(2026, 3, 2)


def study(**options):
    return dp.Optimizer(BOX, maximize=True, policy=SMALL, **options)


def rows(count):
    """Rows in reversed order of time, as dictionaries."""
    generator = np.random.default_rng(0)
    each = []
    for hour in reversed(range(count)):
        mode = ("eco", "fast")[hour % 2]
        row = {
            "time": MONDAY + timedelta(hours=hour),
            "speed": float(generator.uniform(0, 10)),
            "stages": 1 + hour % 6,
            "mode": mode,
            "heat": 70.0 + hour % 3,
            "reward": float(generator.normal()),
        }
        each.append(row | ({"flow": 0.5} if mode == "eco" else {}))
    return each


@pytest.mark.slow
def test_a_table_is_told_like_its_rows_in_order_of_time():
    table, by_table, by_hand = rows(9), study(constraints=LIMIT), study(constraints=LIMIT)
    assert by_table.tell_table(table) == 9
    for row in reversed(table):
        own = {name: row[name] for name in BOX.parameters if name in row}
        by_hand.tell(own, row["reward"], row["time"], constraints={"heat": row["heat"]})
    assert by_table.history() == by_hand.history()
    later = MONDAY + timedelta(days=1)
    assert dict(by_table.ask(later)) == dict(by_hand.ask(later))


def test_a_data_frame_and_the_frame_of_a_study():
    first, second, third = (study(constraints=LIMIT) for _ in range(3))
    first.tell_table(rows(9))
    second.tell_table(pd.DataFrame(rows(9)))
    third.tell_table(first.to_dataframe())
    assert first.history() == second.history() == third.history()


def test_rows_without_times_are_steps():
    optimizer = study()
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.tell_table([{"speed": 3, "stages": 2.0, "mode": "fast", "reward": 2}] * 3)
    assert [one.time for one in optimizer.history()] == [1, 2, 3, 4]
    assert optimizer.ask().time == 5


def test_contexts_keys_noise_and_pending_suggestions():
    space = dp.Box(x=dp.Float(0, 1)).context(load=dp.Float(0, 1))
    optimizer = dp.Optimizer(space, maximize=True, policy=SMALL)
    table = [{"x": 0.5, "load": 0.1, "reward": 1.0, "noise": 0.2, "key": "a"}] * 2
    with pytest.warns(dp.DriftpeakWarning, match="not used: operator"):
        optimizer.tell_table([table[0] | {"operator": "ann"}, table[1]])
    (one,) = optimizer.history()
    assert (one.context, one.noise) == ({"load": 0.1}, 0.2)


def test_blank_rewards_are_left_out():
    optimizer = study()
    table = pd.DataFrame(rows(4)).assign(reward=[1.0, np.nan, 2.0, np.nan])
    with pytest.warns(dp.DriftpeakWarning) as warned:
        assert optimizer.tell_table(table.drop(columns="heat")) == 2
    assert "2 rows without a reward are left out, the first is row 2" in str(warned[0].message)


GOOD = {"speed": 1.0, "stages": 1, "mode": "fast", "reward": 1.0}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (3, "table must be a data frame or a list of mappings; got 3"),
        ([], "at least one row"),
        ([{"speed": 1.0}], "must have a column 'reward'"),
        ([GOOD | {"reward": None}], "must have rewards; got 1 rows without"),
        ([GOOD, GOOD | {"speed": 11}], r"row 2: parameter 'speed' must lie in \[0, 10\]; got 11"),
        ([GOOD, GOOD | {"stages": 1.5}], "row 2: parameter 'stages' must be an integer"),
        ([GOOD, GOOD | {"stages": np.nan}], "row 2: parameter 'stages' is missing"),
        ([GOOD, GOOD | {"time": 3.0}], "row 1: time must be given, as other rows have one"),
        ([GOOD | {"time": 3.0}, GOOD | {"time": MONDAY}], "times of a table must be all numbers"),
        ([GOOD, GOOD | {"reward": np.inf}], "row 2: reward must be"),
        ([GOOD | {"flow": 0.5}], "row 1: parameter 'flow' is active only if"),
    ],
)
def test_bad_tables_change_nothing(table, message):
    optimizer = study()
    with pytest.raises(dp.DriftpeakError, match=message):
        optimizer.tell_table(table)
    assert optimizer.history() == []


def test_a_table_needs_all_measured_quantities():
    with pytest.raises(dp.DriftpeakError, match="must have a column 'heat'"):
        study(constraints=LIMIT).tell_table([GOOD])


def test_a_stored_table_is_stored_as_a_whole(tmp_path):
    path = str(tmp_path / "kiln.jsonl")
    optimizer = study(storage=path)
    with pytest.raises(dp.DriftpeakError, match="row 2"):
        optimizer.tell_table([GOOD, GOOD | {"mode": "slow"}])
    assert dp.Optimizer.load(path).history() == []
    optimizer.tell_table([GOOD, GOOD])
    assert dp.Optimizer.load(path).history() == optimizer.history()
