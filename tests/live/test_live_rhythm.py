"""Two speeds and rhythms on boxes: found where they are, not where they are not, and used."""

from datetime import datetime, timedelta

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.live._model.covariance import MARKOV, ROUND, SLOWER, Model
from driftpeak.live._model.drift_models import further_motions, kind_named
from driftpeak.live._model.hyperparameters import Kind

MONDAY = datetime(2026, 3, 2)
DAY = 86_400.0
NAME = f"period {DAY!r}"


def at(hour):
    return MONDAY + timedelta(hours=float(hour))


def daily(x, hour):
    """A peak that swings between 0.2 and 0.8 every day."""
    return -4 * (x - 0.5 - 0.3 * np.sin(2 * np.pi * hour / 24)) ** 2


def told(world, hours, *, dates=True, noise=0.05, seed=0, **options):
    """An optimiser that was told noisy rewards at random settings."""
    box = dp.Box(x=dp.Float(0, 1))
    policy = dp.DriftingGP(**options)
    optimizer, generator = dp.Optimizer(box, maximize=True, policy=policy), _generator(seed)
    for hour in hours:
        x = float(generator.uniform())
        reward = world(x, hour) + noise * generator.normal()
        optimizer.tell({"x": x}, float(reward), at(hour) if dates else float(hour))
    return optimizer


def _generator(seed):
    return np.random.default_rng(seed)


def test_the_correlation_of_two_parts_is_one_of_a_process():
    """No eigenvalue below 0 for 200 random times, whatever the numbers."""
    generator = np.random.default_rng(0)
    for beside in (SLOWER, ROUND):
        for _ in range(5):
            times = np.sort(generator.uniform(0, 100, 200))
            scale, share, period = generator.uniform([1, 0, 1], [50, 1, 60])
            model = Model(0.0, np.ones(1), 1.0, 0.1, scale, np.zeros(1, bool), MARKOV,
                             beside, share, period)  # fmt: skip
            among = np.asarray(model.correlation(times[:, None] - times))
            np.testing.assert_allclose(among.diagonal(), 1, rtol=1e-6)
            assert np.linalg.eigvalsh(among).min() > -1e-4  # single precision


def test_what_observations_can_tell_of():
    hours = 3600.0 * np.arange(100)
    assert further_motions(hours, 3600.0, (DAY, 7 * DAY)) == ("two speeds", NAME)
    assert further_motions(hours[:49], 3600.0, (DAY,)) == ("two speeds", NAME)
    assert further_motions(hours[:48], 3600.0, (DAY,)) == ("two speeds",), "not quite two days"
    assert further_motions(hours[:20], 3600.0, (DAY,)) == ()
    rarely = 18_000.0 * np.arange(100)
    assert further_motions(rarely, 18_000.0, (DAY,)) == ("two speeds",), "five a day are too few"
    assert kind_named(NAME) == Kind(MARKOV, ROUND, DAY)
    for name in ("period -1", "period x", "tides", None):
        with pytest.raises(dp.DriftpeakError):
            kind_named(name)


@pytest.mark.slow
def test_dates_give_the_day_a_meaning():
    """Four days of hourly rewards: tomorrow's noon and midnight are foretold, and the peak."""
    optimizer = told(daily, range(96))
    assert optimizer.diagnostics().motion == NAME
    plain = told(daily, range(96), forgetting="markov")
    errors = {}
    for name, one in (("auto", optimizer), ("markov", plain)):
        settings = [{"x": float(x)} for x in np.linspace(0, 1, 21)]
        missed = []
        for hour in (102, 108, 114):
            mean, _ = one.belief(settings, at(hour))
            missed.append(mean - [daily(setting["x"], hour) for setting in settings])
        errors[name] = np.sqrt(np.mean(np.square(missed)))
    assert errors["auto"] < 0.5 * errors["markov"], errors
    for hour in (102, 114):  # six hours after midnight and after noon
        assert abs(optimizer.best(at(hour))["x"] - (0.5 + 0.3 * np.sin(np.pi * hour / 12))) < 0.12


@pytest.mark.long
def test_periods_in_numbers_are_given_and_nothing_is_found_where_there_is_none():
    """Eight worlds that drift: none is taken for a rhythm, and one that comes round is."""

    def drifting(seed):
        generator = np.random.default_rng([seed, 1])
        path = np.cumsum(0.05 * generator.normal(size=(120, 6)), axis=0) + generator.normal(size=6)
        centres = np.linspace(0, 1, 6)
        return lambda x, step: float(path[int(step)] @ np.exp(-((x - centres) ** 2) / 0.08))

    taken = []
    for seed in range(8):
        optimizer = told(drifting(seed), range(120), dates=False, seed=seed, periods=(24.0,))
        taken.append(optimizer.diagnostics().motion)
    assert not any(motion.startswith("period") for motion in taken), taken
    found = told(daily, range(96), dates=False, periods=(24.0,))
    assert found.diagnostics().motion == "period 24.0"


@pytest.mark.slow
def test_what_was_learned_of_a_rhythm_is_kept():
    optimizer = told(daily, range(72))
    assert optimizer.diagnostics().motion == NAME
    again = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, policy=dp.DriftingGP())
    again.restore(optimizer.snapshot())
    assert again.diagnostics() == optimizer.diagnostics()
    assert dict(again.ask(at(75))) == dict(optimizer.ask(at(75)))


@pytest.mark.slow
def test_what_will_be_forgotten_is_not_explored():
    """Of a function that is taken to drift, under much noise: the peak is asked for, not around."""
    generator, spread = _generator(3), {}
    for acquisition in ("ucb", "influence"):
        policy = dp.DriftingGP(forgetting="markov", acquisition=acquisition)
        optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, policy=policy)
        asked = []
        for _ in range(60):
            suggestion = optimizer.ask()
            asked.append(suggestion["x"])
            x = suggestion["x"]
            optimizer.tell(suggestion, float(-4 * (x - 0.5) ** 2 + 0.5 * generator.normal()))
        spread[acquisition] = np.std(asked[20:])
    assert spread["influence"] < spread["ucb"]


@pytest.mark.usefixtures("without_type_checks")
def test_bad_acquisitions():
    with pytest.raises(dp.DriftpeakError, match="acquisition must be one of ucb, influence"):
        dp.DriftingGP(acquisition="ei")
    with pytest.raises(dp.DriftpeakError, match='acquisition must be "ucb" unless'):
        dp.DriftingGP(acquisition="influence", likelihood="poisson")


@pytest.mark.usefixtures("without_type_checks")
def test_bad_periods():
    for bad, words in [
        ((0.0,), "a period must be"),
        ("24", "periods must be a sequence"),
        (24.0, "periods must be a sequence"),
        ((float("nan"),), "a period must be"),
    ]:
        with pytest.raises(dp.DriftpeakError, match=words):
            dp.DriftingGP(periods=bad)
    with pytest.raises(
        dp.DriftpeakError, match='periods must be left out unless forgetting="auto"'
    ):
        dp.DriftingGP(periods=(24.0,), forgetting="markov")
