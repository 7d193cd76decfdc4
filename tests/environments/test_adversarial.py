"""Hard instances: their RKHS norm and variation, numerically, and that they are hard."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

import driftpeak as dp
from driftpeak.environments.adversarial import (
    MovingBump,
    bump,
    half_height_radius,
    log_spectral_density,
)
from driftpeak.theory.variation import rkhs_norm, supremum_variation

KERNELS = {
    "SE": dp.SE(0.1),
    "Matern": dp.Matern(2.5, 0.1),
    "scaled": 2.0 * dp.Matern(1.5, 0.3),
}


def smooth(r):
    return math.exp(-1 / (1 - r * r)) if abs(r) < 1 else 0.0


@pytest.mark.parametrize("radius", [0.2, 0.9, 3.3])
def test_the_bump_is_the_inverse_fourier_transform(radius):
    """By adaptive integration over the line and the plane."""
    at_zero = quad(smooth, -1, 1)[0]
    line = quad(lambda x: smooth(x) * math.cos(2 * math.pi * x * radius), -1, 1)[0] / at_zero
    assert bump(np.array([radius]), 1)[0] == pytest.approx(line, abs=1e-9)

    def plane(r):
        return dblquad(
            lambda y, x: smooth(math.hypot(x, y)) * math.cos(2 * math.pi * x * r), -1, 1, -1, 1,
            epsabs=1e-6,
        )[0]  # fmt: skip

    if radius < 1:
        assert bump(np.array([radius]), 2)[0] == pytest.approx(plane(radius) / plane(0.0), abs=1e-4)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_half_the_height_is_passed_once(dimension):
    radius = half_height_radius(dimension)
    radii = np.linspace(0, 20, 2001)
    values = bump(radii, dimension)
    assert values[0] == pytest.approx(1)
    assert (np.abs(values) <= 1 + 1e-12).all()
    assert ((values >= 0.5) == (radii <= radius)).all()


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_spectral_density_gives_back_the_kernel(kernel):
    """k(r) = 2 int_0^inf S(f) cos(2 pi f r) df in one dimension."""
    frequencies = np.linspace(0, 400, 100_001)
    spectrum = np.exp(log_spectral_density(kernel, frequencies, 1))
    for r in (0.01, 0.07, 0.3):
        found = 2 * np.trapezoid(spectrum * np.cos(2 * np.pi * frequencies * r), frequencies)
        expected = kernel.rows(dp.Arms([0.0, r]))[0, 1]
        assert found == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_stated_norm_is_the_limit_of_finer_grids(kernel):
    """Over points the norm rises towards that of the function, here on five times the domain."""
    world = MovingBump(dp.Prior(dp.Grid([0, 1], size=50), kernel, 0.01), period=9, cells=6)
    width = 1 / 6
    scale = width / 2 / half_height_radius(1)
    norms = []
    for size in (40, 80, 160):
        prior = dp.Prior(dp.Grid([-2, 3], size=size + 1), kernel, 0.01)
        radii = np.abs(prior.domain.points[:, 0] - width / 2) / scale
        norms.append(rkhs_norm(prior, world.height * bump(radii, 1)[None])[0])
    assert world.norm == 1.0
    assert norms[0] <= norms[1] + 1e-6 <= norms[2] + 2e-6
    assert norms[-1] == pytest.approx(1.0, abs=2e-4)


def test_the_stated_norm_in_the_plane():
    kernel = dp.Matern(2.5, 0.3)
    world = MovingBump(
        dp.Prior(dp.Grid([0, 1], [0, 1], size=12), kernel, 0.01), period=9, cells=2, norm=3.0
    )
    scale = 0.25 / half_height_radius(2)
    prior = dp.Prior(dp.Grid([-1, 1.5], [-1, 1.5], size=25), kernel, 0.01)
    radii = np.linalg.norm(prior.domain.points - 0.25, axis=1) / scale
    found = rkhs_norm(prior, world.height * bump(radii, 2)[None])[0]
    assert found == pytest.approx(3.0, rel=5e-3)
    assert found <= 3.0 + 1e-6


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_norm_and_variation_on_the_domain(kernel):
    """Of what `simulate` plays against: norms at most the stated, variation within the budget.

    Source: IT25 Lemma 2, (12)-(13).
    """
    prior = dp.Prior(dp.Grid([0, 1], size=60), kernel, 0.01)
    world = MovingBump(prior, period=7, cells=5, norm=2.0)
    values = dp.true_functions(world, steps=100, trials=3, seed=4)
    for functions in values:
        assert (rkhs_norm(prior, functions[::7]) <= 2.0 * (1 + 1e-5)).all()
        assert supremum_variation(functions) <= world.variation(100)
        moved = np.abs(np.diff(functions, axis=0)).max(axis=1) > 0
        assert (np.flatnonzero(moved) % 7 == 6).all()  # between steps 7 and 8, 14 and 15, ...
    assert len(np.unique(values[:, ::7].argmax(axis=2))) > 1
    assert world.variation(7) == 0.0
    assert world.variation(100) == pytest.approx(2 * world.height * 14)


def test_the_peak_is_half_forgotten_outside_its_own_cell():
    """What is within half the height of the peak lies in the bump's cell: cells do not share it."""
    prior = dp.Prior(dp.Grid([0, 1], [0, 2], size=41), dp.SE(0.2), 0.01)
    world = MovingBump(prior, period=5, cells=4)
    near = np.asarray(world.bumps) > world.height / 2 * (1 + 1e-9)
    cell = np.minimum(np.floor(prior.domain.points / [1 / 4, 2 / 4]), 3) @ [4, 1]
    for bumped, where in enumerate(near):
        if where.any():
            assert set(cell[where]) == {bumped}
    assert near.sum(axis=0).max() == 1
    assert world.height == pytest.approx(np.asarray(world.bumps).max(), rel=0.1)


@pytest.mark.parametrize("variation", [0.0, 0.5, 3.0, 1e9])
def test_shortest_period(variation):
    prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(0.2), 0.01)
    world = MovingBump(prior, period=1, cells=3)
    period = world.shortest_period(200, variation)
    assert MovingBump(prior, period=period, cells=3).variation(200) <= variation
    if period > 1:
        assert MovingBump(prior, period=period - 1, cells=3).variation(200) > variation


@pytest.mark.slow
def test_no_policy_can_follow_a_bump_that_moves_at_every_step():
    """Its place is independent of all that was seen: whatever a policy does, its expected regret is
    at least height minus the mean of the bumps at their best place. Four standard errors over 20
    trials; false alarms 1 in 30,000 for each policy.

    Source: IT25 Theorem 1.
    """
    prior = dp.Prior(dp.Grid([0, 1], size=60), dp.SE(0.05), 0.01)
    world = MovingBump(prior, period=1, cells=10)
    values = np.asarray(world.bumps)
    least = float(values.max(axis=1).mean() - values.mean(axis=0).max())
    runs = dp.simulate(
        {"TV": dp.TVGPUCB(prior, drift=0.5), "R": dp.RGPUCB(prior, period=10)},
        world, steps=100, trials=20, seed=0, progress=False,
    )  # fmt: skip
    regret = runs["regret"].mean("step")
    for policy in ("TV", "R"):
        found = regret.sel(policy=policy).values
        assert found.mean() + 4 * found.std(ddof=1) / math.sqrt(20) > least
    assert least > 0.5 * world.height


@pytest.mark.parametrize(
    ("domain", "kernel", "options", "message"),
    [
        (dp.Grid([0, 1], size=9), dp.Linear(), {}, "kernel must be SE or Matern; got Linear"),
        (dp.Grid([0, 1], [0, 1], size=4), dp.SE([0.1, 0.2]), {}, "one lengthscale for all"),
        (dp.Grid([0, 1], size=9), dp.SE(0.2), {"cells": 1}, "cells must be an integer"),
        (dp.Grid([0, 1], size=9), dp.SE(0.2), {"period": 0}, "period must be an integer"),
        (dp.Grid([0, 1], size=9), dp.SE(0.2), {"norm": 0.0}, "norm must be a finite number"),
        (dp.Grid([0, 1], size=9), dp.SE(3.0), {"cells": 40}, "Use fewer cells or a shorter"),
        (dp.Grid([0, 1], size=9), dp.SE(0.1), {"cells": 200_000}, "must be at most 1,000,000"),
        (dp.Arms([[0.0, 1.0], [1.0, 1.0]]), dp.SE(0.2), {}, "must differ in every dimension"),
    ],
)
def test_refusals(domain, kernel, options, message):
    prior = dp.Prior(domain, kernel, 0.1)
    with pytest.raises(dp.DriftpeakError, match=message):
        MovingBump(prior, **{"period": 3, "cells": 2, **options})


def test_arms_without_coordinates_are_refused():
    prior = dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3)), 0.1)
    with pytest.raises(dp.DriftpeakError, match="got Table"):
        MovingBump(prior, period=3, cells=2)
