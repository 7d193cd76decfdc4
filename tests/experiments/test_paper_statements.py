"""Side remarks of B16 and D22 as claims: each column measures what its name says."""

import json

import numpy as np
import pytest
import xarray as xr

from driftpeak.experiments.claims import Claim, judge
from driftpeak.experiments.papers import (
    bogunovic2016_choices as choices,
    bogunovic2016_sensors as sensors,
    deng2022,
)
from driftpeak.experiments.recorded_figures import every_point


def runs_of(regret: dict[str, np.ndarray], rewards: np.ndarray | None = None) -> xr.Dataset:
    """Return results of policies; regret has shape `(trial, step)`, rewards `(step, point)`."""
    values = np.stack(list(regret.values()))
    data = {"regret": (("policy", "trial", "step"), values)}
    if rewards is not None:
        data["rewards"] = (("step", "point"), rewards)
    attrs = {"independent_trials": int(rewards is None), "steps": values.shape[-1]}
    steps = np.arange(1, values.shape[-1] + 1)
    return xr.Dataset(data, coords={"policy": list(regret), "step": steps}, attrs=attrs)


def estimates(comparisons, results: dict[str, xr.Dataset]) -> list[float]:
    return [one.estimate for one in judge(Claim("", comparisons), results).measured]


def test_the_best_fixed_sensor_is_the_one_of_highest_mean():
    """Sensors with means 2, 3 and 1.5: the second has the regret of the steps where it is lower."""
    rewards = np.tile([[4.0, 3.0, 1.0], [0.0, 3.0, 2.0]], (50, 1))
    policies = {"TV-GP-UCB": np.full((2, 100), 0.2)}
    found = estimates(
        sensors._best_fixed("TV-GP-UCB"), {sensors.LAB: runs_of(policies, rewards)}
    )  # fmt: skip
    np.testing.assert_allclose(found, [0.5 - 0.2])


def test_steps_after_falls():
    """Sensor 0 is best until step 10 and then 7 mph below sensor 1; six steps count."""
    rewards = np.tile([60.0, 55.0], (40, 1))
    rewards[10:, 0] = 48.0
    assert np.flatnonzero(sensors.after_falls(rewards, 5.0)).tolist() == list(range(10, 16))
    assert not sensors.after_falls(rewards, 10.0).any()


def days(make) -> dict[str, xr.Dataset]:
    """Return results of seven days; `make(day)` gives TV's and GP-UCB's regret, and rewards."""
    results = {}
    for number, name in enumerate(sensors._days()):
        tv, static, rewards = make(number)
        regret = {sensors.TV: tv, sensors.STATIC: static}
        for period in sensors.PERIODS:
            regret[sensors._restarted(period)] = tv + period
        results[name] = runs_of({k: np.tile(v, (2, 1)) for k, v in regret.items()}, rewards)
    return results


def test_recovery_is_the_regret_after_falls():
    """On even days one fall, after which GP-UCB has 3 more; on odd days nothing falls."""

    def make(day):
        rewards = np.tile([60.0, 55.0], (40, 1))
        static = np.ones(40)
        if day % 2 == 0:
            rewards[10:, 0] = 48.0
            static[10:16] += 3.0
        return np.ones(40), static, rewards

    results = days(make)
    np.testing.assert_allclose(estimates(sensors._recovers(5.0), results), [3 * 4 / 7])
    np.testing.assert_allclose(estimates(sensors._recovers(10.0), results), [0.0])
    np.testing.assert_allclose(estimates(sensors._more_than_both(20), results)[0], 20.0)


def test_the_distance_of_the_policies_grows_with_the_changes_of_the_best_sensor():
    """Day n has n changes and a distance of n: the covariance is the variance of 0..6, 4."""

    def make(day):
        best = np.zeros(40, int)
        best[1 : day + 1] = np.arange(day) % 2 == 0
        best[day + 1 :] = best[day]
        rewards = np.eye(2)[best]
        return np.ones(40), 1.0 + np.full(40, day) * (-1) ** day, rewards

    results = days(make)
    changes = sensors.Changes(sensors._days(), sensors.TV).samples(results)
    assert changes.tolist() == list(range(7))
    [claim] = [
        c for c in sensors.EXPERIMENTS[1].claims if "changes less often" in c.text
    ]  # fmt: skip
    np.testing.assert_allclose(estimates(claim.comparisons, results), [4.0])


def test_every_sensor_is_drawn():
    rewards = np.random.default_rng(0).normal(size=(30, 4))
    figure = every_point(
        {"lab": runs_of({"TV-GP-UCB": np.ones((1, 30))}, rewards)}, "", case="lab", ylabel="deg"
    )
    lines = [line.get_ydata() for line in figure.axes[0].lines if len(line.get_ydata())]
    np.testing.assert_array_equal(np.stack(lines[:4], axis=1), rewards)
    np.testing.assert_array_equal(lines[4], rewards.max(axis=1))


def test_gp_ucbs_lag_grows_late():
    """GP-UCB is 0.5 behind in the first third and 2 in the last."""
    case = next(iter(choices.LONG_CASES))
    static = np.ones((6, choices.LONG))
    static[:, : choices.LONG // 3] += 0.5
    static[:, -choices.LONG // 3 :] += 2.0
    results = {case: runs_of({choices.STATIC: static, choices.TV: np.ones((6, choices.LONG))})}
    np.testing.assert_allclose(estimates(choices._late(case), results), [1.5])


def test_suitable_means_within_the_factor():
    regret = {"c": np.full((6, 10), 0.9), "other": np.full((6, 10), 0.8)}
    found = estimates((choices._at_most("case", "c", "other", 1.25),), {"case": runs_of(regret)})
    np.testing.assert_allclose(found, [0.1])


def test_b16s_choices_name_what_is_played():
    """Periods are B16's and half and twice them, at most T; every column exists."""
    [experiment] = choices.EXPERIMENTS
    kinds = ("SE, eps = 0.01", "SE, widths", "SE, eps = 0.01, T = 600")
    setups = {case.name: case.build() for case in experiment.cases if case.name in kinds}
    for claim in experiment.claims:
        for column in claim.columns:
            for case in set(column.cases) & set(setups):
                assert column.policy in setups[case].policies
    assert setups["SE, eps = 0.01"].settings["periods"] == [19, 38, 76]
    assert choices.restart_periods(choices.ROUGH, 0.001) == [89, 178, 200]
    for setup in setups.values():
        json.dumps(setup.settings)
    widths = setups["SE, widths"].policies
    assert str(widths["TV-GP-UCB, theorem's width"].width) != str(
        widths["R-GP-UCB, theorem's width"].width
    )


def test_uniformly_means_at_every_hundredth_step():
    """WGP-UCB ahead by 1 in all steps from 300 on, behind by 1 before: negative up to 500."""
    case, steps = "M = 20, as first chosen", np.arange(1, 501)
    ahead = np.where(steps > 300, 1.0, -1.0)
    regret = {deng2022.WGP: np.full((6, 500), 2.0)}
    regret |= {name: np.tile(2 + ahead, (6, 1)) for name in (deng2022.R, deng2022.SW)}
    comparisons = deng2022._at_every(case, (deng2022.R, deng2022.SW))
    found = estimates(comparisons, {case: runs_of(regret)})
    np.testing.assert_allclose(found[::2], [-1, -1, -1, -0.5, -0.2])
    assert comparisons[0].label.endswith("up to step 100")


@pytest.mark.parametrize("experiment", deng2022.EXPERIMENTS, ids=lambda one: one.id)
def test_memories_are_varied_in_every_claim_of_the_paper(experiment):
    for claim in experiment.claims:
        if claim.whose == "paper":
            assert {
                "H and w halved, 1 - gamma doubled",
                "H and w doubled, 1 - gamma halved",
            } <= set(claim.settings)
