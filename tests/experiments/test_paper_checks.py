"""Experiments on B16's period, IT25's square and M25's maps and queries measure what they say."""

import json

import numpy as np
import pytest
import xarray as xr

import driftpeak as dp
from driftpeak.experiments.claims import Claim, judge
from driftpeak.experiments.papers import (
    bogunovic2016_period as period,
    iwazaki2025,
    iwazaki2025_square as square,
    mauduit2025_maps_se as maps,
    mauduit2025_queries as queries,
)
from driftpeak.experiments.running import registry


def runs_of(measures: dict[str, dict[str, np.ndarray]], **extra) -> xr.Dataset:
    """Return results; every measure has arrays of shape `(trial, step)` by policy."""
    policies = list(next(iter(measures.values())))
    data = {
        name: (("policy", "trial", "step"), np.stack([each[policy] for policy in policies]))
        for name, each in measures.items()
    }
    steps = next(iter(data.values()))[1].shape[-1]
    attrs = {"independent_trials": int("rewards" not in extra), "steps": steps}
    extra.pop("rewards", None)
    coords = {"policy": policies, "step": np.arange(1, steps + 1)}
    return xr.Dataset(data | extra, coords=coords, attrs=attrs)


def test_the_period_is_compared_on_all_days_and_on_each():
    """Regret 1 for N = 15 and 2 for the others, 0.5 on the second day for N = 7: 1.1 times it
    is below 1 there."""
    results = {}
    for number, case in enumerate(period.DAYS):
        regret = {f"N = {n}": np.full((1, 144), 2.0) for n in period.PERIODS}
        regret["N = 15"][:] = 1.0
        if number == 1:
            regret["N = 7"][:] = 0.5
        results[case] = runs_of({"regret": regret}, rewards=True)
    [experiment] = period.EXPERIMENTS
    judged = judge(experiment.claims[0], results)
    place = [n for n in period.PERIODS if n != 15].index(7)
    found = {one.setting: one.measured[place] for one in judged.rulings}
    np.testing.assert_allclose(found["training day 1"].estimate, 1.1 * 2 - 1)
    np.testing.assert_allclose(found["training day 2"].estimate, 1.1 * 0.5 - 1)
    np.testing.assert_allclose(found["all training days"].estimate, 1.1 * 1.5 - 1)
    assert found["all training days"].samples == 36
    [table] = period.tables(results)
    assert table.rows[2] == ("7", "2.000", "0.500", "2.000", "1.500")
    assert period.picture(results, "title").axes


@pytest.mark.slow
def test_centres_are_anywhere_in_the_square():
    """With one centre on the 4 x 4 grid, the ratio of the two largest values is one of few numbers;
    with a centre between the points it is any. The peaks are spread over the whole box."""
    prior = dp.Prior(dp.Grid([0, 1], [0, 2], size=4), dp.SE(0.2), noise_variance=0.01)
    world = square.AnywhereSwitches(prior, changes=[10.0], supports=1)
    functions = dp.true_functions(world, times=[1, 11], trials=200, seed=0).reshape(-1, 16)
    on_grid = dp.AbruptSwitches(prior, changes=[10.0], supports=1)
    control = dp.true_functions(on_grid, times=[1, 11], trials=200, seed=0).reshape(-1, 16)
    np.testing.assert_array_equal(functions.shape, control.shape)

    # on the grid, the ratio of the largest values is that of two neighbours' covariances; the
    # centre between points gives every ratio from 0 to 1
    def ratios(values):
        ordered = np.sort(abs(values), axis=1)
        return ordered[:, -2] / ordered[:, -1]

    assert len(np.unique(np.round(ratios(control), 6))) < 10
    assert len(np.unique(np.round(ratios(functions), 6))) > 350
    peaks = prior.domain.points[abs(functions).argmax(axis=1)]
    assert (peaks.std(axis=0) > [0.2, 0.4]).all()


@pytest.mark.slow
def test_the_square_has_the_policies_and_claims_of_figure_2():
    [grid], [whole] = iwazaki2025.EXPERIMENTS, square.EXPERIMENTS
    setup = whole.cases[0].quick()
    assert list(setup.policies) == ["random", *iwazaki2025.UCB, iwazaki2025.PERP, iwazaki2025.SMALL]
    texts = {claim.text for claim in grid.claims if claim.whose == "paper"}
    assert {claim.text for claim in whole.claims} == texts
    names = {case.name for case in whole.cases}
    for claim in whole.claims:
        for column in claim.columns:
            assert set(column.cases) <= names
            assert column.policy in setup.policies
    json.dumps(setup.settings, default=str)


def test_numbers_of_observations_and_operations():
    """Two answers after step 2, which replace the rest: 0, 1, 2, 3, 4 observations; without
    queries 0 to 4. Operations: sum of t n^2 over five steps."""
    asked = np.array([[0.0, 2.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(queries.sizes(asked), [[0, 1, 2, 3, 4]])
    later = np.array([[0.0, 0.0, 0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(queries.sizes(later), [[0, 1, 2, 3, 1]])
    none = np.zeros((1, 5))
    runs = runs_of({"side_queries": {"a": later, "GP-UCB": none}})
    comparison = queries._cheaper("case", "a")
    [found] = judge(Claim("", (comparison,)), {"case": runs}).measured
    expected = (0 + 2 + 12 + 36 + 80) / 5 - (0 + 2 + 12 + 36 + 5) / 5
    np.testing.assert_allclose(found.estimate, expected)


def test_the_budgets_grow_as_they_are_named():
    """From 2,000 to 32,000 steps the windows grow by 16^b, b = 0.4, 2/3 and 7/8, to a fifth.

    Source: M25 Theorem 5.3.
    """
    from driftpeak.theory.side_queries import side_query_windows

    policies = queries.setup(250).policies
    for name, b in queries.BUDGETS.items():
        timing = policies[name].timing
        counts = [
            side_query_windows(steps, exponent=float(timing.exponent), a=float(timing.a)).sum()
            for steps in (2_000, 32_000)
        ]
        np.testing.assert_allclose(counts[1] / counts[0], 16**b, rtol=0.2)
    [experiment] = queries.EXPERIMENTS
    for claim in experiment.claims:
        assert {column.policy for column in claim.columns} <= set(policies)


def map_runs(errors: dict[str, np.ndarray], regret: dict[str, np.ndarray]) -> xr.Dataset:
    point_error = ("policy", "trial", "point"), np.stack(list(errors.values()))[:, None, :]
    place = np.array([0.0, 1.0, 3.0])
    extra = {
        "point_error": point_error, "longitude": ("point", np.zeros(3)),
        "latitude": ("point", place), "rewards": True,
    }  # fmt: skip
    return runs_of({"regret": regret, "squared_error": regret}, **extra)


def test_roughness_is_the_difference_of_neighbours():
    """Points at 0, 1 and 3 on a line: neighbours 1, 0 and 1."""
    errors = {maps.WSPARQ: np.array([1.0, 1.5, 2.0]), "GP-UCB": np.array([4.0, 6.0, 2.0])}
    regret = {name: np.ones((1, 30)) for name in errors}
    results = {"map": map_runs(errors, regret)}
    rough = maps.Roughness("map", "GP-UCB", "absolute").samples(results)
    np.testing.assert_allclose(rough, [2.0, 2.0, 4.0])
    relative = maps.Roughness("map", maps.WSPARQ, "relative").samples(results)
    np.testing.assert_allclose(relative, np.array([0.5, 0.5, 0.5]) / 1.5)


def test_linear_and_sensitive():
    """Regret 1 in the first half and 0.9 in the second is linear by 0.1; a parameter that changes
    the mean from 0.95 to 1.2 does so by 26.3 %."""
    halves = np.repeat([[1.0, 0.9]], 50, axis=1)
    names = (maps.WSPARQ, *maps.CHANGED)
    regret = {name: np.full((1, 100), 1.2) for name in names} | {maps.WSPARQ: halves}
    results = {"map": map_runs(dict.fromkeys(names, np.ones(3)), regret)}
    linear = maps._linear("map", maps.WSPARQ, 100)
    [found] = judge(Claim("", (linear,)), results).measured
    np.testing.assert_allclose(found.estimate, 0.1)
    [table] = maps.tables(results)
    assert table.rows[0][:3] == ("map", maps.WSPARQ, "half the l")
    assert table.rows[0][3].startswith("26.3 [")
    assert len(table.rows) == 4


def test_the_kernel_of_a_map_is_fitted():
    """Independent months from an SE kernel of lengthscale 2 and variance 3, with noise 0.3."""
    generator = np.random.default_rng(0)
    positions = np.stack([generator.uniform(0, 8, 25), 45 + generator.uniform(0, 8, 25)], axis=1)
    points = maps.coordinates(positions)
    np.testing.assert_allclose(points[:, 1], positions[:, 1])
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    covariance = 3 * np.exp(-(apart**2) / 8) + 0.3 * np.eye(25)
    rows = generator.normal(size=(150, 25)) @ np.linalg.cholesky(covariance).T
    prior = maps.fitted(rows, positions)
    length, variance = maps._numbers(prior)
    np.testing.assert_allclose([length, variance, prior.noise_variance], [2, 3, 0.3], rtol=0.15)


@pytest.mark.parametrize("id", ["b16-period", "it25-square", "m25-maps-se", "m25-queries"])
def test_new_checks_are_part_of_all(id):
    assert registry.find([id])[0].id in registry.GROUPS["all"]
