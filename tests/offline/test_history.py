"""Learning from recorded rows: what is found, what is not, and what a policy makes of it."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf as their_shrinkage

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision
from driftpeak.environments import RecordedRewards
from driftpeak.offline.history import calendar_periods
from driftpeak.offline.history._correlation import Law, autocorrelation, fitted_law
from driftpeak.offline.history._learned import ledoit_wolf
from driftpeak.offline.history._periodicity import find_period, fit_profile

GENERATOR = np.random.default_rng(6)
DAY, ARMS = 24, 5


def autoregressive(generator, kept, steps):
    """AR(1) of variance 1, one column per arm."""
    rows = generator.normal(size=(steps, ARMS))
    for time in range(1, steps):
        rows[time] = kept * rows[time - 1] + np.sqrt(1 - kept**2) * rows[time]
    return rows


def rhythmic(steps, seed=0, rest=0.5):
    """Arms whose peaks are spread over the day, and a rest that fades within ten steps."""
    generator, time = np.random.default_rng(seed), np.arange(steps)[:, None]
    law = Law(np.array([0.9]), np.array([10.0]), 0.1)
    day = np.cos(2 * np.pi * (time / DAY - np.arange(ARMS) / ARMS))
    return 20 + day + rest * law.draw(generator, (steps, ARMS))


def test_the_covariance_is_shrunk_as_by_ledoit_and_wolf():
    rows = GENERATOR.normal(size=(30, 12)) @ GENERATOR.normal(size=(12, 12))
    rows = rows - rows.mean(axis=0)
    ours, share = ledoit_wolf(rows)
    theirs, their_share = their_shrinkage(rows, assume_centered=True)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    np.testing.assert_allclose(share, their_share, rtol=1e-10)


def test_autocorrelation_is_the_sum_of_products():
    rows = GENERATOR.normal(size=(40, 3)).cumsum(axis=0)
    products = [(rows[: 40 - lag] * rows[lag:]).sum() / (40 - lag) for lag in range(11)]
    np.testing.assert_allclose(autocorrelation(rows, 10), np.array(products) / products[0])


def of_centred(law, steps, most):
    """Mean autocorrelation of records of a law without their mean, by the dense covariance."""
    apart = np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))
    centre = np.eye(steps) - 1 / steps
    centred = centre @ law.correlation(np.arange(steps))[apart] @ centre
    found = np.array([np.diagonal(centred, lag).mean() for lag in range(most)])
    return found / found[0]


@double_precision
def test_a_law_is_found_from_its_correlations_and_is_its_motion():
    law = Law(np.array([0.3, 0.5]), np.array([2.0, 100.0]), 0.2)
    found = fitted_law(of_centred(law, 400, 200), 400)
    np.testing.assert_allclose(found.shares, law.shares, atol=1e-6)
    np.testing.assert_array_equal(found.lifetimes, law.lifetimes)
    np.testing.assert_allclose(found.noise, 0.2, atol=1e-6)
    for lag in (1.0, 7.0, 50.0):
        expected = law.correlation([lag])[0] / 0.8
        np.testing.assert_allclose(law.motion.correlation(lag), expected, rtol=1e-9)


@double_precision
def test_a_law_may_oscillate():
    """A period whose phase varies: cos(2 pi v / 24) exp(-v / 72), plus a part that decays."""
    law = Law(np.array([0.6, 0.3]), np.array([72.0, 10.0]), 0.1, np.array([DAY, np.inf]))
    found = fitted_law(of_centred(law, 400, 200), 400, DAY)
    each = {(life, period): share for share, life, period in found.parts}
    assert each == pytest.approx({(72.0, DAY): 0.6, (10.0, np.inf): 0.3}, abs=1e-6)
    for lag in (1.0, 12.0, 24.0, 50.0):
        expected = law.correlation([lag])[0] / 0.9
        np.testing.assert_allclose(law.motion.correlation(lag), expected, rtol=1e-9)


@pytest.mark.parametrize("steps", [336, 1000])
def test_lifetimes_are_not_biased_by_the_subtracted_mean(steps):
    """AR(0.99), 40 histories of 5 arms: the correlation falls to 1/e after 99.5 steps.

    The median is within a factor of two, and of single histories 80 %.
    """
    generator, lags = np.random.default_rng(5), np.arange(1, 2000)
    found = []
    for _ in range(40):
        rows = autoregressive(generator, 0.99, steps)
        law = fitted_law(autocorrelation(rows - rows.mean(axis=0), steps // 2), steps)
        moving = law.correlation(lags) / law.shares.sum()
        found.append(lags[(moving < np.exp(-1)).argmax()])
    away = np.abs(np.log(np.array(found) / 99.5)) / np.log(2)
    assert abs(np.log2(np.median(found) / 99.5)) <= 0.5
    assert (away <= 1).mean() >= 0.8


@pytest.mark.parametrize("periods", [np.inf, [np.inf, 20.0]])
def test_draws_of_a_law_have_its_correlations(periods):
    """60 series of 1,000 steps: four standard errors, about 0.02 each."""
    law = Law(np.array([0.4, 0.4]), np.array([3.0, 30.0]), 0.2, np.array(periods))
    drawn = law.draw(np.random.default_rng(1), (1000, 60))
    np.testing.assert_allclose(
        autocorrelation(drawn, 50), law.correlation(np.arange(51)), atol=0.08
    )


def without_period(kind, generator):
    if kind == "white noise":
        return generator.normal(size=(200, 6))
    if kind == "random walks":
        return generator.normal(size=(200, 6)).cumsum(axis=0)
    if kind == "two speeds":
        return autoregressive(generator, 0.99, 200) + autoregressive(generator, 0.7, 200)
    if kind == "damped oscillations":  # of 20 rows, for half a cycle
        law = Law(np.ones(1), np.array([10.0]), 0.0, np.array([20.0]))
        return law.draw(generator, (200, 6))
    cuts = np.sort(generator.integers(0, 200, 5))
    return generator.normal(size=(6, 6))[np.searchsorted(cuts, np.arange(200))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["white noise", "random walks", "two speeds", "switches", "damped oscillations"]
)
def test_no_period_where_there_is_none(kind):
    """15 histories; at a level of 1 % two or more alarms have a chance of 1 %."""
    generator = np.random.default_rng(8)
    alarms = 0
    for _ in range(15):
        rows = without_period(kind, generator)
        found = find_period(rows - rows.mean(axis=0))
        alarms += found is not None and found.lasting
    assert alarms <= 1


@pytest.mark.slow
@pytest.mark.parametrize("likely", [(), (24.0, 168.0)])
def test_the_period_is_not_one_of_its_multiples(likely):
    """A day of amplitude 0.6 in AR(0.9) of variance 1, 14 days, 12 histories.

    At most one in twenty is another period: none here. At least nine are found; where nine in ten
    are found, fewer have a chance of 3 %.
    """
    generator, found = np.random.default_rng(5), []
    for _ in range(12):
        rows = autoregressive(generator, 0.9, 14 * DAY)
        day = np.arange(14 * DAY)[:, None] / DAY - generator.uniform(size=ARMS)
        rows = rows + 0.6 * np.cos(2 * np.pi * day)
        cycle = find_period(rows - rows.mean(axis=0), likely=likely)
        if cycle is not None and cycle.lasting:
            found.append(cycle.period)
    assert len(found) >= 9
    assert np.abs(np.array(found) - DAY).max() <= 1


def test_a_week_is_found_after_its_days():
    """Four weeks of days whose last two are lower, in AR(0.9)."""
    generator, hours = np.random.default_rng(2), np.arange(4 * 168)
    rows = 0.5 * autoregressive(generator, 0.9, len(hours))
    rows += np.cos(2 * np.pi * hours[:, None] / DAY)
    rows -= 1.5 * (hours[:, None] % 168 >= 120) * np.linspace(0.5, 1, ARMS)
    periods = [one.period for one in dp.fit_history(rows, likely=(DAY, 168)).rhythms]
    assert periods == [DAY, 168]


@pytest.mark.slow
def test_learning_does_not_import_matplotlib():
    code = (
        "import sys, numpy as np, driftpeak as dp; "
        "learned = dp.fit_history(np.random.default_rng(0).normal(size=(30, 3))); "
        "assert 'matplotlib' not in sys.modules; learned.figure(); "
        "assert 'matplotlib' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_day_is_found_and_its_profile():
    rows = rhythmic(10 * DAY)
    [rhythm] = dp.fit_history(rows).rhythms
    assert abs(rhythm.period - DAY) <= 1
    [rhythm] = dp.fit_history(rows, likely=(DAY,)).rhythms
    assert rhythm.period == DAY
    times = np.arange(1, DAY + 1)
    phase = (times - 1)[:, None] / DAY - np.arange(ARMS) / ARMS
    np.testing.assert_allclose(rhythm.profile.at(times), np.cos(2 * np.pi * phase), atol=0.35)
    assert 0.5 < rhythm.skill < 0.9
    assert dp.fit_history(rows, rhythm=False).profile is None


def test_a_period_that_is_given_must_forecast():
    white = GENERATOR.normal(size=(120, 4))
    assert dp.fit_history(white, period=24).rhythms == ()
    [rhythm] = dp.fit_history(rhythmic(5 * DAY), period=24).rhythms
    assert rhythm.period == 24
    assert dp.fit_history(rhythmic(20), period=24).rhythms == ()  # longer than the history


def test_any_unit_and_a_dead_arm():
    rows = rhythmic(6 * DAY)
    rows[:, 2] = 7.0
    usual, moved = (
        dp.fit_history(rows, likely=(DAY,)),
        dp.fit_history(1e-6 * rows - 3, likely=(DAY,)),
    )
    np.testing.assert_allclose(moved.prior.gram, 1e-12 * usual.prior.gram, rtol=1e-5, atol=1e-18)
    np.testing.assert_allclose(moved.law.shares, usual.law.shares, rtol=1e-5)
    assert np.isfinite(usual.prior.gram).all()
    assert np.linalg.eigvalsh(usual.prior.gram).min() > 0


def test_bad_histories():
    for rows, message in (
        (np.ones((5, 3)), "got constant rows"),
        (np.ones((1, 3)), "at least 2 rows and 2 arms"),
        ([[1.0, np.nan], [0.0, 1.0]], "history must"),
    ):
        with pytest.raises(dp.DriftpeakError, match=message):
            dp.fit_history(rows)
    with pytest.raises(dp.DriftpeakError, match="period must be"):
        dp.fit_history(rhythmic(48), period=-1.0)


def test_days_weeks_and_years_from_dates():
    hours = np.datetime64("2024-03-29T00:00") + np.arange(100) * np.timedelta64(3600, "s")
    assert calendar_periods([str(hour) for hour in hours]) == (24.0, 168.0, 8765.82)
    months = [f"{1990 + m // 12}-{m % 12 + 1:02d}" for m in range(60)]
    [year] = calendar_periods(months)
    assert abs(year - 12) < 0.05
    assert calendar_periods(["a", "b", "c"]) == ()
    assert calendar_periods(None) == ()


def test_a_timetable_is_the_best_mean_of_the_hour():
    rows = GENERATOR.normal(size=(50, 4))
    policy = dp.Timetable(rows, 7)
    for time in range(1, 15):
        same = [row for row, at in zip(rows, range(-49, 1), strict=True) if (at - time) % 7 == 0]
        assert policy.ask(0, float(time))[1] == np.argmax(np.mean(same, axis=0))
    assert dp.Timetable(rows).ask(0, 3.0)[1] == rows.mean(axis=0).argmax()


def wandering(steps, seed):
    """A day whose phase is forgotten within three, on arms that resemble their neighbours."""
    law = Law(np.array([0.7, 0.25]), np.array([3.0 * DAY, 10.0]), 0.05, np.array([DAY, np.inf]))
    apart = np.arange(12)[:, None] - np.arange(12)
    factor = np.linalg.cholesky(np.exp(-0.5 * (apart / 2) ** 2) + 1e-9 * np.eye(12))
    return law.draw(np.random.default_rng(seed), (steps, 12)) @ factor.T


def test_a_rhythm_whose_phase_wanders_belongs_to_the_law():
    learned = dp.fit_history(wandering(20 * DAY, seed=0))
    assert all(abs(one.period - DAY) <= 1 and one.skill < 0.2 for one in learned.rhythms)
    assert sum(share for share, _, period in learned.law.parts if period < np.inf) > 0.5
    assert "oscillates with a period of" in learned.report()


@pytest.mark.long
def test_a_rhythm_whose_phase_wanders_pays():
    """20 days to learn from, 20 to play, three histories: a tenth less regret than without."""
    regret = []
    for seed in range(3):
        rows = wandering(40 * DAY, seed=seed)
        train, played = rows[: 20 * DAY], rows[20 * DAY :]
        policies = {
            "with": dp.fit_history(train).policy(),
            "without": dp.fit_history(train, rhythm=False).policy(),
        }
        runs = dp.simulate(policies, RecordedRewards(played), steps=len(played))
        regret.append(runs["regret"].mean(["trial", "step"]).values)
    found, without = np.mean(regret, axis=0)
    assert found < 0.9 * without


@pytest.mark.slow
def test_what_is_learned_pays():
    """Eight days to learn from, four to play: less regret than the timetable and than `Auto` with
    the same prior, which knows nothing of the day."""
    rows = rhythmic(12 * DAY, seed=3)
    learned = dp.fit_history(rows[: 8 * DAY], likely=(DAY,))
    policies = {
        "learned": learned.policy(),
        "timetable": learned.timetable(),
        "prior": dp.Auto(dp.fit_history(rows[: 8 * DAY], rhythm=False).prior),
    }
    world = RecordedRewards(rows[8 * DAY :])
    regret = dp.simulate(policies, world, steps=4 * DAY)["regret"].mean(["trial", "step"])
    assert regret.sel(policy="learned") < regret.sel(policy="timetable")
    assert regret.sel(policy="learned") < 0.8 * regret.sel(policy="prior")


def test_words_and_picture():
    learned = dp.fit_history(rhythmic(6 * DAY), list("abcde"), likely=(DAY,))
    assert "period of 24 steps" in learned.report()
    assert len(learned.figure().axes) == 2
    plain = dp.fit_history(GENERATOR.normal(size=(60, 3)))
    assert plain.report().startswith("no significant period")
    assert len(plain.figure().axes) == 1


def test_a_cycle_of_the_differences_is_found_beside_a_large_common_component():
    """The common part has 99 % of the variance and no cycle; the differences have one."""
    generator = np.random.default_rng(6)
    times = np.arange(1.0 - 20 * DAY, 1.0)
    cycle = np.cos(2 * np.pi * (times[:, None] / DAY - np.arange(5) / 5))
    rows = cycle + 8 * generator.normal(size=(len(times), 1)) + 0.1 * generator.normal(size=(1, 5))
    rows = rows - rows.mean(axis=0)
    rhythm = fit_profile(rows, times, DAY)
    assert rhythm is not None
    fitted = rhythm.profile.at(times)
    apart = fitted - fitted.mean(axis=1, keepdims=True)
    assert np.corrcoef(apart.ravel(), cycle.ravel())[0, 1] > 0.95


@pytest.mark.slow
def test_the_policy_starts_from_the_last_rows():
    """Random walks that end far from their means: the first query is the arm that is now best."""
    generator = np.random.default_rng(2)
    rows = np.cumsum(generator.normal(size=(400, 6)), axis=0)
    assert rows[-1].argmax() != rows.mean(axis=0).argmax()
    player = dp.fit_history(rows, transformation="none").policy().prepare(10)
    state = player.init(jax.random.key(0))
    assert int(player.ask(state, 1.0)[1]) == rows[-1].argmax()
    assert int(player.predict(state, 1.0).mean.argmax()) == rows[-1].argmax()
