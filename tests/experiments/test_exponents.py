"""Exponents of regret: fitted slopes, exponents of theory, figures and tables."""

import json
import math

import numpy as np
import pytest
import xarray as xr

from driftpeak.cli.printing import print_table
from driftpeak.experiments.papers import rates, rates_bump, rates_drift, rates_side_queries
from driftpeak.experiments.papers.exponents import Series, curves, exponents, table
from driftpeak.simulation._simulator import true_functions

MODULES = (rates, rates_drift, rates_bump, rates_side_queries)
EXPERIMENTS = {module.EXPERIMENTS[0].id: module.EXPERIMENTS[0] for module in MODULES}
SERIES = dict(zip(EXPERIMENTS, [module.SERIES for module in MODULES], strict=True))


def grown(series: Series, exponent: float, trials: int = 6) -> dict[str, xr.Dataset]:
    """Return results in which R_T is 3 x^exponent, x the quantity, for every policy and trial."""
    return {
        case: xr.Dataset(
            {
                "regret": (
                    ("policy", "trial", "step"),
                    np.full((len(series.policies), trials, 1), 3 * value**exponent),
                )
            },
            coords={"policy": list(series.policies)},
            attrs={"independent_trials": 1, "steps": series.horizons[case]},
        )
        for case, value in series.cases.items()
    }


@pytest.mark.parametrize(
    "series", [one for every in SERIES.values() for one in every], ids=lambda one: one.title
)
def test_slopes_are_those_of_the_whole_regret(series):
    """R_T grows as a power of the quantity, whatever T is: the fit is exact."""
    [found] = table([series])(grown(series, 0.4))
    assert not any(mark in row[0] for row in found.rows for mark in "$\\")
    assert [row[3] for row in found.rows] == ["0.400 [0.400, 0.400]"] * len(series.policies)


def test_exponents_of_b16_corollary_4_1():
    """1/6 and 1/8 for SE; for Matern-5/2 on a line c = 2 / 7, and half of (1 - c) / (3 - c) and of
    (1 - c) / (4 - c); with epsilon = T^-1/2, T^(1 - b/2), where TV-GP-UCB's is smaller.

    Source: B16 Corollary 4.1.
    """
    rough, c = rates_drift.DRIFT_SERIES["Matern-5/2"], 2 / 7
    smooth = rates_drift.DRIFT_SERIES["SE"]
    for width in ("", rates_drift.THEOREM):
        tv, r = rates_drift.TV + width, rates_drift.R + width
        np.testing.assert_allclose(
            [smooth.policies[tv].exponent, smooth.policies[r].exponent], [1 / 6, 1 / 8]
        )
        np.testing.assert_allclose(
            [rough.policies[tv].exponent, rough.policies[r].exponent],
            [(1 - c) / (3 - c) / 2, (1 - c) / (4 - c) / 2],
        )
        vanishing = rates_drift.VANISHING.policies
        np.testing.assert_allclose(
            [vanishing[tv].exponent, vanishing[r].exponent], [11 / 12, 15 / 16]
        )


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (0.9, "above the bound's exponent"),
        (0.1, "below the bound's exponent"),
        (2 / 3, "bound's exponent within the interval"),
    ],
)
def test_slopes_are_read_beside_the_bound_and_never_judged(exponent, expected, capsys):
    """R_T = T^exponent with a spread of 1 % over trials; R-PERP's bound has 2/3 in T. No claim of
    these experiments is about a slope, so that none can be said not to hold.

    Source: IT25 Table 1.
    """
    series = rates.T_SERIES
    results = grown(series, exponent)
    generator = np.random.default_rng(0)
    for runs in results.values():
        runs["regret"] = runs["regret"] * generator.normal(1, 0.01, runs["regret"].shape)
    [found] = table([series])(results)
    rows = {row[2]: row for row in found.rows}
    assert found.columns[5] == "at these horizons"
    assert rows["R-PERP"][4] == "0.667"
    assert rows["R-PERP"][5] == expected
    assert rows["random"][4:] == ("none", "", "")
    print_table(found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "  Measured exponents and exponents of bounds:"
    assert f"bound's exponent 0.667; at these horizons {expected}" in lines[5]
    assert "R-PERP: measured exponent " in lines[5]
    for experiment in EXPERIMENTS.values():
        assert not any("slope" in claim.text for claim in experiment.claims)


def test_one_trial_gives_no_reading():
    [found] = table([rates.T_SERIES])(grown(rates.T_SERIES, 0.5, trials=1))
    assert {row[5] for row in found.rows} == {"too few trials", ""}


def test_exponents_of_m25():
    """1/2 for SparQ; (3 a + 1) / 2 = 7/8 for W-SparQ; (3 alpha + 1) / 2 for uncertainty injection,
    0.8 at alpha = 0.2.

    Source: M25 Tables 1-2.
    """
    moving, slow = (one.policies for one in rates_side_queries.SERIES)
    assert moving["SparQ-GP-UCB"].exponent == 1 / 2
    assert moving["W-SparQ-GP-UCB, log width"].exponent == 7 / 8
    assert moving["UI-GP-UCB"].exponent == 7 / 2
    np.testing.assert_allclose(slow["UI-GP-UCB, log width"].exponent, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize(("horizon", "variation"), [(1_000, 10.0), (10_000, 5.0)])
def test_bumps_move_by_at_most_the_variation_within_the_norm(horizon, variation):
    setup = rates_bump.setup(horizon, variation)
    functions = true_functions(setup.environment, steps=horizon, seed=1)[0]
    moved = abs(np.diff(functions, axis=0)).max(axis=1).sum()
    assert 0.3 * variation < moved <= variation
    assert setup.settings["norm"] <= rates_bump.NORM
    period = setup.settings["bump moves every"]
    assert setup.environment.variation(horizon) <= variation
    # the period before rounding up is ratio^(2/3)
    ratio = 4 * horizon * rates_bump.half_height(1) / variation
    assert (period - 1) ** 1.5 < ratio <= period**1.5


@pytest.mark.slow
def test_no_point_has_less_regret_than_the_lower_bound_allows():
    """Averaged over bumps every point costs more than half the height times the least share, and
    points outside the cell of the bump cost at least half the height, less 2 % for the grid.

    Source: IT25 Theorem 1.
    """
    setup = rates_bump.setup(10_000, 10.0)
    bumps = np.asarray(setup.environment.bumps)
    half = rates_bump.half_height(setup.settings["bump moves every"])
    np.testing.assert_allclose(setup.environment.height, 2 * half)
    regret = bumps.max(axis=1, keepdims=True) - bumps
    assert (regret.mean(axis=0) > rates_bump.LEAST * half).all()
    cells = np.minimum(np.arange(rates_bump.POINTS) * rates_bump.CELLS // rates_bump.POINTS, 7)
    outside = cells[None, :] != np.arange(rates_bump.CELLS)[:, None]
    assert regret[outside].min() > 0.98 * half


@pytest.mark.slow
@pytest.mark.parametrize("id", EXPERIMENTS)
def test_series_and_claims_name_cases_and_policies_that_are_played(id):
    experiment = EXPERIMENTS[id]
    cases = {case.name: case for case in experiment.cases}
    wanted: dict[str, set[str]] = {}
    for series in SERIES[id]:
        for case in series.cases:
            wanted.setdefault(case, set()).update(series.policies)
    for claim in experiment.claims:
        assert claim.whose == "ours"
        for column in claim.columns:
            for case in column.cases:
                wanted.setdefault(case, set()).add(column.policy)
    assert set(wanted) == set(cases)
    for name in list(cases)[:: max(1, len(cases) // 3)]:
        setup = cases[name].build()
        assert wanted[name] <= set(setup.policies)
        json.dumps(setup.settings)


@pytest.mark.parametrize("id", EXPERIMENTS)
def test_figures_show_every_policy_and_theory(id):
    series = SERIES[id]
    results = {}
    for one in series:
        results |= grown(one, 0.4)
    figure = exponents(results, "title", series=series)
    for axes, one in zip(figure.axes, series, strict=False):
        assert [label.get_text() for label in axes.get_yticklabels()] == list(one.policies)
        marked = [line.get_xdata()[0] for line in axes.lines if line.get_marker() in ("D", "s")
                  and len(line.get_xdata())]  # fmt: skip
        shown = [t.exponent for t in one.policies.values() if t and t.exponent <= 1.25]
        np.testing.assert_allclose(marked, shown)
    drawn = curves(results, "title", series=series)
    assert sum(axes.axison for axes in drawn.axes) == len(series)
    [found] = table(series)(results)
    assert len(found.rows) == sum(len(one.policies) for one in series)


def test_the_least_regret_follows_from_pinskers_inequality():
    """Divergence 2 H e^2 / s^2 over M cells, e = FAINT s sqrt(M / H), for any H."""
    for period in (44, 431):
        half = rates_bump.half_height(period)
        divergence = 2 * period * half**2 / rates_bump.NOISE**2 / rates_bump.CELLS
        np.testing.assert_allclose(
            1 - 1 / rates_bump.CELLS - math.sqrt(divergence / 2), rates_bump.LEAST, rtol=1e-12
        )
