"""M25's number of hard functions and the linear regret with a bounded number of side queries."""

import math

import numpy as np
import pytest
from scipy import integrate, special

import driftpeak as dp
from driftpeak.theory.few_side_queries import (
    bounded_queries_regret,
    bump_integral,
    fresh_information,
    hard_functions,
)
from driftpeak.theory.regimes import landscape

SIDE = {"lengthscale": 0.1, "dimension": 1}


def spectrum(radius):
    return math.exp(-1 / (1 - radius**2)) if radius < 1 else 0.0


def transform(x):
    """h(x) on the line, by adaptive quadrature: 2 int_0^1 H(r) cos(2 pi r x) dr."""
    return 2 * integrate.quad(lambda r: spectrum(r) * math.cos(2 * math.pi * r * x), 0, 1)[0]


def log_squared_norm(scale, gap, length, dimension):
    """log of int |F|^2 / S for the bump 2 gap h(scale x) / h(0), S the SE kernel's density.

    F(xi) = 2 gap / h(0) scale^-d H(xi / scale), in cycles per unit; the integral is over shells.
    """
    surface = 2 * math.pi ** (dimension / 2) / special.gamma(dimension / 2)

    def shell(power):
        def integrand(r):
            grown = 2 * math.pi**2 * length**2 * scale**2 * (r**2 - 1) if power == 2 else 0.0
            return surface * spectrum(r) ** power * r ** (dimension - 1) * math.exp(grown)

        return integrate.quad(integrand, 0, 1)[0]

    grown = 2 * math.pi**2 * length**2 * scale**2
    log_density = -dimension / 2 * math.log(2 * math.pi * length**2)
    return (
        2 * math.log(2 * gap / shell(1)) - dimension * math.log(scale) + log_density
        + math.log(shell(2)) + grown
    )  # fmt: skip


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("gap", [1e-6, 1e-12, 1e-60])
def test_the_functions_have_at_most_the_norm(dimension, gap):
    """The formula, in the convention of cycles, keeps the norm below B, and not by much: by the
    saddle point 1 - r^2 = L^-1/2 the exponent is 4 L^1/2 below 2 L, L the logarithm of the ratio.
    With twice the frequency the norm exceeds B.

    Source: M25 (36).
    """
    length, bound = 0.05, 3.0
    radial = [integrate.quad(lambda r: spectrum(r) * r ** (dimension - 1), 0, 1)[0]]
    surface = 2 * math.pi ** (dimension / 2) / special.gamma(dimension / 2)
    centre = surface * radial[0]
    np.testing.assert_allclose(bump_integral(dimension), centre, rtol=1e-10)
    ratio = bound * (2 * math.pi * length**2) ** (dimension / 4) * centre / (2 * gap)
    scale = math.sqrt(math.log(ratio)) / (math.pi * length)
    assert scale >= 1
    excess = log_squared_norm(scale, gap, length, dimension) - 2 * math.log(bound)
    assert -(5 * math.sqrt(math.log(ratio)) + dimension * math.log(scale) + 5) < excess <= 0
    assert log_squared_norm(2 * scale, gap, length, dimension) > 2 * math.log(bound)


def test_the_number_on_a_line():
    """zeta from adaptive quadrature; gap 1e-6, l = 0.1, B = 1.

    Source: M25 (36).
    """
    half = transform(0) / 2
    low, high = 0.1, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if transform(middle) > half else (low, middle)
    ratio = (2 * math.pi * 0.01) ** 0.25 * transform(0) / 2e-6
    expected = math.floor(math.sqrt(math.log(ratio)) / (0.1 * math.pi * low))
    assert hard_functions(gap=1e-6, **SIDE).number == expected
    assert hard_functions(gap=1e-9, **SIDE).number > expected


def test_high_bumps_have_no_number():
    found = hard_functions(gap=0.9, lengthscale=1.0, dimension=1)
    assert found.value is None
    assert "c >= 1" in str(found)


def test_the_information_is_a_known_series():
    """sum 1 / (1 + a^2) = (1 + pi coth pi) / 2, and sum 1 / (1 + a^4) has a closed form too; near
    alpha = 1 the sum grows as 1 / (alpha - 1).

    Source: M25 (39).
    """
    common = {"queries": 3, "noise_variance": 0.5}
    squares = (1 + math.pi / math.tanh(math.pi)) / 2
    found = fresh_information(exponent=2.0, **common).number
    np.testing.assert_allclose(found, (squares + 3) / 0.5, rtol=1e-12)
    x = math.pi * math.sqrt(2)
    fourth = 0.5 + x / 4 * (math.sinh(x) + math.sin(x)) / (math.cosh(x) - math.cos(x))
    found = fresh_information(exponent=4.0, **common).number
    np.testing.assert_allclose(found, (fourth + 3) / 0.5, rtol=1e-12)
    slow = fresh_information(exponent=1.001, **common).number
    assert 0.9 < 0.5 * slow * 0.001 < 1.1
    assert fresh_information(exponent=1.0, **common).value is None


@pytest.mark.parametrize(("alpha", "power"), [(2.0, 5 / 24), (4.0, 11 / 80), (50.0, 0.01461)])
def test_the_gap_between_few_and_many_queries_closes_for_fast_change(alpha, power):
    """many / few = T^(1 - a / alpha - alpha / (alpha + 1)) log T with a = 1/4.

    Source: M25 Remark 5.5.
    """
    horizon = 10**6
    found = landscape(horizon, exponent=alpha, queries=0)
    gap = found.many / found.few / math.log(horizon)
    np.testing.assert_allclose(math.log(gap) / math.log(horizon), power, rtol=1e-3)


def bumps(gap, count, length):
    """M bumps on a grid of the line, shape (M, points), and the points of each cell."""
    centres = (np.arange(count) + 0.5) / count
    line = (np.arange(20 * count) + 0.5) / (20 * count)
    ratio = (2 * math.pi * length**2) ** 0.25 * transform(0) / (2 * gap)
    scale = math.sqrt(math.log(ratio)) / (math.pi * length)
    far = np.linspace(0, scale, 2000)
    values = np.array([transform(x) for x in far]) / transform(0)
    shape = np.interp(abs(line[None, :] - centres[:, None]) * scale, far, values)
    cells = np.minimum(np.floor(line * count).astype(int), count - 1)
    return 2 * gap * shape, cells


@pytest.mark.slow
def test_the_best_guess_is_wrong_at_least_as_often():
    """A policy that knows all bumps samples them evenly with information S, and takes the most
    likely one: 20,000 trials. Its regret per step, gap times the share of wrong guesses, is at
    least the bound. C_1 is computed from the bumps.

    Source: M25 Proposition 5.1.
    """
    gap, side = 1e-3, {"lengthscale": 0.01, "dimension": 1}
    common = {"exponent": 2.0, "queries": 5, "noise_variance": 1e-6}
    count = int(hard_functions(gap=gap, **side).number)
    assert count > 30
    functions, cells = bumps(gap, count, 0.01)
    worst = max((functions[:, cells == cell] ** 2).max(axis=1).sum() for cell in range(count))
    constant = worst / gap**2
    assert constant > 4
    bound = bounded_queries_regret(100, gap=gap, constant=constant, **common, **side).number
    centres = functions.argmax(axis=1)
    means = functions[:, centres]  # of bump i at centre j
    generator = np.random.default_rng(0)
    precision = fresh_information(**common).number / count
    true = generator.integers(count, size=20_000)
    seen = means[true] + generator.normal(size=(20_000, count)) / math.sqrt(precision)
    likelihood = -((seen[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)
    wrong = (likelihood.argmax(axis=1) != true).mean()
    assert 0.2 < bound / (100 * gap) <= wrong


def test_the_limits_of_the_regret():
    """Nearly T gamma for a small gamma, linear in T, less with more queries, no value for slow
    change.

    Source: M25 Proposition 5.1.
    """
    common = {"exponent": 2.0, "noise_variance": 1.0, **SIDE}
    tiny = bounded_queries_regret(10, gap=1e-200, queries=1, **common | {"dimension": 9}).number
    np.testing.assert_allclose(tiny, 10 * 1e-200, rtol=0.05)
    some, more = (
        bounded_queries_regret(10, gap=1e-3, queries=queries, constant=40.0, **common).number
        for queries in (1, 1e5)
    )
    assert some > more
    ten_times = bounded_queries_regret(100, gap=1e-3, queries=1, constant=40.0, **common).number
    np.testing.assert_allclose(ten_times, 10 * some)
    assert bounded_queries_regret(10, gap=1e-3, queries=1e12, constant=1e9, **common).number == 0
    assert bounded_queries_regret(
        10, gap=1e-3, queries=1, **common | {"exponent": 1.0}
    ).value is None  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gap": 0.0}, "gap must be"),
        ({"lengthscale": -1.0}, "lengthscale must be"),
        ({"dimension": 0}, "dimension must be"),
        ({"dimension": 21}, "dimension must be"),
        ({"norm_bound": 0.0}, "norm_bound must be"),
        ({"queries": -1}, "queries must be"),
        ({"exponent": -1.0}, "exponent must be"),
        ({"noise_variance": 0.0}, "noise_variance must be"),
        ({"constant": 0.0}, "constant must be"),
        ({"horizon": 0}, "horizon must be"),
    ],
)
def test_bad_input(wrong, message):
    given = {"horizon": 10, "exponent": 2.0, "queries": 1, "gap": 1e-3, "noise_variance": 1.0}
    with pytest.raises(dp.DriftpeakError, match=message):
        bounded_queries_regret(**given | SIDE | wrong)
