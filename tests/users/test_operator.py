"""The operator of a plant: four knobs, a limit, costly moves, a restart, a sensor that fails."""

from datetime import datetime, timedelta

import numpy as np
import pytest

import driftpeak as dp

START, HOURS, LIMIT = datetime(2026, 3, 2), 60, 75.0
SPACE = dp.Box(
    heat=dp.Float(60, 120, max_rate="8/h"),
    feed=dp.Float(2, 8),
    air=dp.Float(10, 50),
    fans=dp.Integer(1, 6),
)
NOW = {"heat": 80.0, "feed": 4.0, "air": 30.0, "fans": 3}


def result(setting, hour):
    """Euros per hour; the best heat rises and falls in two days."""
    best = 85 + 10 * np.sin(hour / 8)
    return 100 - 0.05 * (setting["heat"] - best) ** 2 - (setting["feed"] - 5) ** 2


def exhaust(setting):
    """The temperature of the exhaust air, in degrees."""
    return 40 + 0.4 * (setting["heat"] - 60) + 2 * setting["feed"]


def optimizer(file):
    """The same call creates the study, and resumes it after a restart."""
    return dp.Optimizer(
        SPACE,
        maximize=True,
        policy=dp.DriftingGP(capacity=64),
        start=NOW,
        moving_cost={"heat": 1.0},
        constraints={"exhaust": dp.Limit(at_most=LIMIT)},
        safe_start=[NOW],
        storage=str(file),
    )


@pytest.mark.slow
def test_a_shift_at_the_plant(tmp_path):
    plant, file = optimizer(tmp_path / "plant.jsonl"), tmp_path / "plant.jsonl"
    noise = np.random.default_rng(0).normal(size=(HOURS, 2))
    earned, hot, before = [], 0, NOW["heat"]
    for hour in range(HOURS):
        if hour == 30:  # the program is killed and started again, with a suggestion pending
            expected = plant.ask(START + timedelta(hours=hour))
            plant = optimizer(file)
            assert [dict(one) for one in plant.pending()] == [dict(expected)]
            plant.cancel(expected)
        held = {"fans": 2} if hour == 20 else None  # one fan is in repair
        setting = plant.ask(START + timedelta(hours=hour), fixed=held)
        assert held is None or setting["fans"] == 2
        assert abs(setting["heat"] - before) <= 8 + 1e-9
        before = setting["heat"]
        heat = exhaust(setting)
        measured = None if 40 <= hour < 44 else heat + 0.2 * noise[hour, 0]  # the sensor fails
        plant.tell(
            setting,
            result(setting, hour) + 0.5 * noise[hour, 1],
            constraints={"exhaust": measured},
        )
        earned.append(result(setting, hour))
        hot += heat > LIMIT
    assert len(plant.history()) == HOURS
    assert hot <= 0.05 * HOURS
    assert np.mean(earned[-24:]) > np.mean([result(NOW, hour) for hour in range(HOURS - 24, HOURS)])
    violated = plant.violations()["exhaust"]
    assert violated.measured == HOURS - 4
