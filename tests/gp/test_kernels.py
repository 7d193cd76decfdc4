"""Kernels against scikit-learn, integrals and finite differences, and what they refuse."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from jax.flatten_util import ravel_pytree
from scipy import integrate
from scipy.special import gammaln
from sklearn.gaussian_process import kernels as sk

import driftpeak as dp
from driftpeak.gp.kernels import Table

LENGTHSCALES = np.array([0.3, 0.8])


def plane(count=30, seed=0):
    """Random points of the plane; the first occurs twice."""
    points = np.random.default_rng(seed).uniform(-1, 1, (count, 2))
    points[1] = points[0]
    return points


# Against scikit-learn


def scaled(reference):
    """scikit-learn's isotropic kernel `reference` with one lengthscale per dimension."""
    return lambda x, y: reference(x / LENGTHSCALES, y / LENGTHSCALES)


def sum_of_sines(x, y):
    """Periodic in the plane: a product of one-dimensional ones, so a sum inside the exponent."""
    one_by_one = [
        sk.ExpSineSquared(length, period)(x[:, [j]], y[:, [j]])
        for j, (length, period) in enumerate(zip(LENGTHSCALES, [0.7, 1.9], strict=True))
    ]
    return one_by_one[0] * one_by_one[1]


REFERENCES = {
    "se": (dp.SE(LENGTHSCALES), sk.RBF(LENGTHSCALES)),
    "se-isotropic": (dp.SE(0.4), sk.RBF(0.4)),
    "matern-1/2": (dp.Matern(0.5, LENGTHSCALES), sk.Matern(LENGTHSCALES, nu=0.5)),
    "matern-3/2": (dp.Matern(1.5, LENGTHSCALES), sk.Matern(LENGTHSCALES, nu=1.5)),
    "matern-5/2": (dp.Matern(2.5, LENGTHSCALES), sk.Matern(LENGTHSCALES, nu=2.5)),
    "matern-0.8": (dp.Matern(0.8, LENGTHSCALES), sk.Matern(LENGTHSCALES, nu=0.8)),
    "matern-2": (dp.Matern(2.0, LENGTHSCALES), sk.Matern(LENGTHSCALES, nu=2.0)),
    "matern-3.5": (dp.Matern(3.5, 0.4), sk.Matern(0.4, nu=3.5)),
    "rational-quadratic": (
        dp.RationalQuadratic(0.7, LENGTHSCALES),
        scaled(sk.RationalQuadratic(length_scale=1.0, alpha=0.7)),
    ),
    "periodic": (dp.Periodic([0.7, 1.9], LENGTHSCALES), sum_of_sines),
    "linear": (dp.Linear(0.49, LENGTHSCALES), scaled(sk.DotProduct(sigma_0=0.7))),
    "linear-without-offset": (dp.Linear(), sk.DotProduct(sigma_0=0.0)),
}


ON_THE_HOST = ("matern-0.8", "matern-2", "matern-3.5")  # no closed form


@jax.jit
def evaluate(kernel, x, y):
    return kernel(x, y)


@pytest.mark.parametrize("name", REFERENCES)
def test_gram_matrices_equal_those_of_scikit_learn(name):
    """Rows of the Gram matrix, all of them and some.

    Source: B16 (1)-(2); IT25 (2)-(3).
    """
    kernel, reference = REFERENCES[name]
    points = plane()
    expected = reference(points, points)
    np.testing.assert_allclose(kernel.rows(dp.Arms(points)), expected, rtol=0, atol=1e-10)
    some = [7, 0, 7, -1]
    np.testing.assert_allclose(kernel.rows(dp.Arms(points), some), expected[some], atol=1e-10)


@pytest.mark.parametrize("name", [name for name in REFERENCES if name not in ON_THE_HOST])
def test_covariances_between_two_sets_equal_those_of_scikit_learn(name):
    """kernel(x, y) for sets of different sizes."""
    kernel, reference = REFERENCES[name]
    x, y = plane(6), plane(9, seed=1)
    np.testing.assert_allclose(evaluate(kernel, x, y), reference(x, y), rtol=0, atol=1e-10)


def test_general_matern_cannot_be_traced_and_says_so():
    with pytest.raises(dp.DriftpeakError, match=r"nu=3\.5 has no closed form.* `rows`.* or 2\.5"):
        evaluate(dp.Matern(3.5), plane(2), plane(2))


def test_periodic_on_the_line_equals_scikit_learn():
    x = np.linspace(-2, 3, 23)[:, None]
    found = dp.Periodic(0.6, 1.3).rows(dp.Arms(x))
    np.testing.assert_allclose(found, sk.ExpSineSquared(1.3, 0.6)(x), rtol=0, atol=1e-10)


def test_results_are_double_precision_whatever_the_callers_setting():
    """Outside `enable_x64` the Gram matrix is still scikit-learn's to 1e-10."""
    points = plane()
    with jax.enable_x64(False):
        found = dp.Matern(2.5, LENGTHSCALES).rows(dp.Arms(points))
        variance = dp.SE(0.3).diagonal(dp.Arms(points))
    assert found.dtype == variance.dtype == np.float64
    np.testing.assert_allclose(found, sk.Matern(LENGTHSCALES, nu=2.5)(points), atol=1e-10)


# Combinations


def test_sums_products_and_factors_combine_the_matrices():
    """Against NumPy's + and * of scikit-learn's matrices, with Python's precedence."""
    points = plane()
    se, linear = sk.RBF(0.4)(points), sk.DotProduct(0.7)(points)
    rough = sk.Matern(0.5, nu=3.5)(points)
    k_se, k_linear, k_rough = dp.SE(0.4), dp.Linear(0.49), dp.Matern(3.5, 0.5)
    table = np.diag(np.arange(1.0, 31))
    cases = [
        (k_se + k_linear, se + linear),
        (k_se * k_linear, se * linear),
        (2.0 * k_se + k_linear * k_rough, 2 * se + linear * rough),
        (k_se * 3 * 0.5 * k_linear, 1.5 * se * linear),
        (np.float64(2.0) * (k_se + k_rough), 2 * (se + rough)),
        (Table(table) + k_se * 0.1, table + 0.1 * se),
        (k_linear * Table(table), linear * table),
    ]
    domain = dp.Arms(points)
    for kernel, expected in cases:
        np.testing.assert_allclose(kernel.rows(domain), expected, atol=1e-10, err_msg=str(kernel))
        np.testing.assert_allclose(kernel.rows(domain, [3, 3]), expected[[3, 3]], atol=1e-10)
        np.testing.assert_allclose(kernel.diagonal(domain), np.diag(expected), atol=1e-10)


def test_combinations_evaluate_between_two_sets_of_points():
    """2 SE + SE * linear as a function of points, by hand in NumPy."""
    x, y = plane(4), plane(5, seed=2)
    kernel = 2.0 * dp.SE(0.4) + dp.SE(0.7) * dp.Linear(0.1)
    squared = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    expected = 2 * np.exp(-squared / 0.32) + np.exp(-squared / 0.98) * (0.1 + x @ y.T)
    np.testing.assert_allclose(evaluate(kernel, x, y), expected, atol=1e-12)


@pytest.mark.usefixtures("without_type_checks")
def test_a_number_is_no_kernel_to_add():
    """`kernel + 1` could only fail later, on evaluation."""
    with pytest.raises(TypeError, match="unsupported operand"):
        dp.SE(0.3) + 1


# General smoothness


@pytest.mark.parametrize("nu", [0.8, 2.0, 3.5, 20.0, 100.0])
def test_general_matern_equals_its_mixture_of_gaussians(nu):
    """k(r) = E exp(-nu r^2 / (2 s)) over s ~ Gamma(nu), integrated by SciPy.

    From K_nu's integral, int s^(nu-1) exp(-s - z^2/(4s)) ds = 2 (z/2)^nu K_nu(z).

    Source: B16 (2); IT25 (3).
    """
    distances = np.array([0.0, 1e-3, 0.03, 0.3, 1.0, 3.0])

    def expected(r):
        def density(u):  # of u = log s, which takes the singularity at s = 0 away
            s = np.exp(u)
            return np.exp(nu * u - s - nu * r**2 / (2 * s) - gammaln(nu))

        middle = np.log(nu)
        width = 40 / min(nu, 1) / np.sqrt(max(nu, 1))
        return integrate.quad(
            density, middle - width, middle + width, points=[middle], limit=400, epsabs=1e-13
        )[0]

    found = dp.Matern(nu).rows(dp.Arms(distances), [0])[0]
    np.testing.assert_allclose(found, [expected(r) for r in distances], atol=1e-10)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_general_matern_tends_to_the_closed_forms(nu):
    """A change of 1e-9 in nu changes no entry by more than 1e-8, from either side."""
    domain = dp.Arms(plane())
    closed = dp.Matern(nu, LENGTHSCALES).rows(domain)
    for near in (nu - 1e-9, nu + 1e-9):
        found = dp.Matern(near, LENGTHSCALES).rows(domain)
        assert 0 < np.abs(found - closed).max() < 1e-8


# Extremes

STATIONARY = {
    "se": dp.SE(1.0),
    "matern-1/2": dp.Matern(0.5),
    "matern-3/2": dp.Matern(1.5),
    "matern-5/2": dp.Matern(2.5),
    "matern-0.8": dp.Matern(0.8),
    "matern-2": dp.Matern(2.0),
    "matern-3.5": dp.Matern(3.5),
    "matern-100": dp.Matern(100.0),
    "rational-quadratic": dp.RationalQuadratic(0.7),
}


@pytest.mark.parametrize("name", STATIONARY)
def test_no_distance_is_too_small_or_too_large(name):
    """From the smallest to nearly the largest double: in [0, 1], falling, 1 at 0, ~0 far away.

    K_nu overflows near 0, and squared distances beyond 1e154.
    """
    distances = np.array([0, 5e-324, 1e-200, 1e-155, 1e-100, 1e-30, 1e-9, 1e-6, 1e-3, 0.02, 0.1])
    distances = np.concatenate([distances, [1, 5, 30, 1e3, 1e6, 1e20, 1e100, 1e154, 1e200, 1e300]])
    covariance = STATIONARY[name].rows(dp.Arms(distances), [0])[0]
    assert np.isfinite(covariance).all()
    assert covariance[0] == 1
    assert (np.diff(covariance) <= 1e-13).all()
    assert abs(covariance[distances == 1e-30][0] - 1) < 1e-12
    assert 0 <= covariance[-1] < 1e-200


def test_a_linear_kernel_is_exact_for_large_coordinates():
    """Products of 1e8: relative to the entries, no worse than rounding."""
    points = 1e8 * plane()
    found = dp.Linear(0.5).rows(dp.Arms(points))
    np.testing.assert_allclose(found, 0.5 + points @ points.T, rtol=1e-12, atol=1)


# Properties

coordinate = st.floats(-3, 3, allow_subnormal=False)
seven_points = arrays(np.float64, (7, 2), elements=coordinate)
lengthscale = st.floats(0.05, 5)


@st.composite
def stationary_kernels(draw):
    length = np.array([draw(lengthscale), draw(lengthscale)])
    return draw(
        st.sampled_from(
            [
                dp.SE(length),
                dp.Matern(0.5, length),
                dp.Matern(1.5, length),
                dp.Matern(2.5, length),
                dp.Matern(0.8, length),
                dp.Matern(3.5, length),
                dp.RationalQuadratic(draw(st.floats(0.1, 10)), length),
                dp.Periodic(draw(lengthscale), length),
            ]
        )
    )


@st.composite
def every_kernel(draw):
    first, second = draw(stationary_kernels()), draw(stationary_kernels())
    linear = dp.Linear(draw(st.floats(0, 2)), draw(lengthscale))
    kernels = [first, linear, draw(st.floats(0.1, 10)) * first, first + linear, first * second]
    return draw(st.sampled_from(kernels))


@pytest.mark.slow
@given(kernel=every_kernel(), points=seven_points)
def test_gram_matrices_are_symmetric_and_positive_semi_definite(kernel, points):
    """For any points, repeated ones too; `diagonal` and `rows` agree with the whole matrix."""
    domain = dp.Arms(points)
    gram = kernel.rows(domain)
    size = max(gram.diagonal().max(), 1e-300)
    np.testing.assert_allclose(gram, gram.T, rtol=0, atol=1e-14 * size)
    assert np.linalg.eigvalsh(gram)[0] > -1e-12 * size
    np.testing.assert_allclose(kernel.diagonal(domain), gram.diagonal(), rtol=0, atol=1e-14 * size)
    some = [6, 2, 2, -3]
    np.testing.assert_allclose(kernel.rows(domain, some), gram[some], rtol=0, atol=1e-14 * size)


@given(stationary_kernels(), seven_points, arrays(np.float64, 2, elements=st.floats(-10, 10)))
def test_stationary_kernels_do_not_see_translations_or_reflections(kernel, points, shift):
    """k(x + v, y + v) = k(v - x, v - y) = k(x, y) <= k(x, x) = 1.

    The shift rounds coordinates to 1e-15, which lengthscales and periods of 0.05 magnify to 1e-12.
    """
    gram = kernel.rows(dp.Arms(points))
    for moved in (points + shift, shift - points):
        np.testing.assert_allclose(kernel.rows(dp.Arms(moved)), gram, rtol=0, atol=1e-11)
    assert gram.min() >= 0
    assert gram.max() <= 1
    np.testing.assert_allclose(gram.diagonal(), 1, rtol=0, atol=1e-14)


@given(
    make=st.sampled_from(
        [
            dp.SE,
            lambda length: dp.Matern(0.5, length),
            lambda length: dp.Matern(2.5, length),
            lambda length: dp.Matern(2.0, length),
            lambda length: dp.RationalQuadratic(0.6, length),
        ]
    ),
    points=seven_points,
    factor=st.floats(0.01, 100),
)
def test_units_and_order_of_the_dimensions_do_not_matter(make, points, factor):
    """Coordinates and lengthscales in another unit, or with the dimensions swapped."""
    length = np.array([0.4, 1.7])
    gram = make(length).rows(dp.Arms(points))
    other_unit = make(factor * length).rows(dp.Arms(factor * points))
    swapped = make(length[::-1]).rows(dp.Arms(points[:, ::-1]))
    np.testing.assert_allclose(other_unit, gram, rtol=0, atol=1e-11)
    np.testing.assert_allclose(swapped, gram, rtol=0, atol=1e-11)


@given(points=seven_points, cycles=arrays(np.int64, 2, elements=st.integers(-4, 4)))
def test_periodic_repeats_in_every_dimension(points, cycles):
    """A whole number of periods more changes nothing."""
    period = np.array([0.6, 1.7])
    kernel = dp.Periodic(period, [0.5, 2.0])
    joined = np.vstack([points, points + cycles * period])
    gram = kernel.rows(dp.Arms(joined))
    np.testing.assert_allclose(gram[:7, 7:], gram[:7, :7], rtol=0, atol=1e-11)


# Gradients


@pytest.mark.parametrize(
    "kernel",
    [
        dp.SE(LENGTHSCALES),
        dp.SE(0.4),
        dp.Matern(0.5, LENGTHSCALES),
        dp.Matern(1.5, LENGTHSCALES),
        dp.Matern(2.5, LENGTHSCALES),
        dp.RationalQuadratic(0.7, LENGTHSCALES),
        dp.Periodic([0.7, 1.9], LENGTHSCALES),
        2.0 * dp.SE(0.4) + dp.Linear(0.3, 0.9) * dp.Matern(1.5, 0.5),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_gradients_equal_finite_differences(kernel):
    """With respect to every hyperparameter, over a Gram matrix with coincident points.

    Central differences of step 1e-5 are off by about 1e-10 relative to the third derivative.
    """
    points = jnp.asarray(plane(8))
    weights = np.random.default_rng(3).normal(size=(8, 8))
    hyperparameters, rebuild = ravel_pytree(kernel)

    @jax.jit
    def total(values):
        return jnp.sum(weights * rebuild(values)(points, points))

    gradient = np.asarray(jax.grad(total)(hyperparameters))
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).min() > 1e-3
    for i, found in enumerate(gradient):
        step = 1e-5 * np.eye(len(gradient))[i]
        difference = (total(hyperparameters + step) - total(hyperparameters - step)) / 2e-5
        np.testing.assert_allclose(found, difference, rtol=1e-6, atol=1e-6)


def test_a_kernel_can_be_made_of_traced_hyperparameters():
    """d/dl exp(-r^2 / (2 l^2)) = exp(-r^2 / (2 l^2)) r^2 / l^3, at r = 0.5 and l = 0.4."""
    x, y = jnp.zeros((1, 1)), jnp.full((1, 1), 0.5)
    found = jax.grad(lambda length: dp.SE(length)(x, y)[0, 0])(0.4)
    np.testing.assert_allclose(found, np.exp(-0.25 / 0.32) * 0.25 / 0.064, rtol=1e-12)


def test_kernels_are_pytrees_that_map_over_their_hyperparameters():
    """A bank of lengthscales under vmap equals one kernel at a time."""
    lengths = np.array([0.2, 0.5, 1.1])
    points = jnp.asarray(plane(5))
    bank = eqx.tree_at(lambda kernel: kernel.lengthscale, dp.Matern(1.5, 0.2), lengths)
    found = jax.vmap(lambda kernel: kernel(points, points))(bank)
    for length, gram in zip(lengths, found, strict=True):
        np.testing.assert_allclose(gram, sk.Matern(length, nu=1.5)(plane(5)), atol=1e-12)


# Tables


def test_a_table_is_the_covariance():
    """Also where rounding made it asymmetric: it is then the mean of the two entries."""
    matrix = np.array([[2.0, 0.5, 0.1], [0.5 + 1e-9, 1.0, 0.0], [0.1, 0.0, 0.3]])
    kernel, domain = Table(matrix), dp.Arms(3)
    np.testing.assert_array_equal(kernel.rows(domain), (matrix + matrix.T) / 2)
    np.testing.assert_array_equal(kernel.rows(domain, [2, 0]), ((matrix + matrix.T) / 2)[[2, 0]])
    np.testing.assert_array_equal(kernel.diagonal(domain), [2.0, 1.0, 0.3])
    with pytest.raises(dp.DriftpeakError, match="has no values between arms: use `rows`"):
        kernel(jnp.zeros((1, 1)), jnp.zeros((1, 1)))


def test_a_singular_table_is_welcome():
    """Rank 1 in 30 dimensions has eigenvalues of about -1e-16: rounding, not a mistake."""
    vector = np.random.default_rng(0).normal(size=30)
    np.testing.assert_array_equal(Table(np.outer(vector, vector)).rows(dp.Arms(30)).shape, (30, 30))


# Refusals

POSITIVE = "must be a finite number above 0"
SCALES = POSITIVE + ", or one for each dimension; got "

REFUSED = {
    "zero lengthscale": (lambda: dp.SE(0.0), "lengthscale " + SCALES + "0"),
    "negative lengthscale": (lambda: dp.Matern(2.5, -1), "lengthscale " + SCALES + "-1"),
    "one negative of two": (lambda: dp.SE([1.0, -2.0]), "lengthscale " + SCALES + r"\[1.0, -2.0\]"),
    "nan lengthscale": (lambda: dp.SE(np.nan), "lengthscale " + SCALES + "nan"),
    "infinite lengthscale": (lambda: dp.Linear(0.0, np.inf), "lengthscale " + SCALES + "inf"),
    "no lengthscale": (lambda: dp.SE([]), "lengthscale " + SCALES + r"\[\]"),
    "matrix of lengthscales": (lambda: dp.SE([[1.0, 2.0]]), "lengthscale " + SCALES),
    "ragged lengthscales": (lambda: dp.SE([1.0, [2.0]]), "lengthscale " + SCALES),
    "text": (lambda: dp.SE("long"), "lengthscale " + SCALES + "long"),
    "boolean": (lambda: dp.SE(True), "lengthscale " + SCALES + "True"),
    "JAX array": (lambda: dp.SE(jnp.asarray(-1.0)), "lengthscale " + SCALES + "-1"),
    "period": (lambda: dp.Periodic(0.0), "period " + SCALES + "0"),
    "mixture": (lambda: dp.RationalQuadratic(-0.5), f"mixture {POSITIVE}; got -0.5"),
    "offset": (lambda: dp.Linear(-0.1), "offset must be a finite number of at least 0; got -0.1"),
    "nan offset": (lambda: dp.Linear(np.nan), "offset must be a finite number of at least 0"),
    "factor": (lambda: 0 * dp.SE(1.0), rf"factor \(its variance\) {POSITIVE}; got 0"),
    "negative factor": (lambda: dp.SE(1.0) * -2.0, rf"factor \(its variance\) {POSITIVE}; got -2"),
    "nu = 0": (lambda: dp.Matern(0.0), f"nu {POSITIVE}; got 0"),
    "nu < 0": (lambda: dp.Matern(-1.5), f"nu {POSITIVE}; got -1.5"),
    "nan nu": (lambda: dp.Matern(np.nan), f"nu {POSITIVE}; got nan"),
    "nu too large": (lambda: dp.Matern(101.0), r"nu must be at most 100 .*SE.*; got 101"),
    "table with nan": (
        lambda: Table([[1.0, np.nan], [0.0, 1.0]]),
        r"covariance must be a 2-dimensional array of finite numbers; got nan at index \[0, 1\]",
    ),
    "table not square": (lambda: Table(np.ones((2, 3))), r"must be square; got shape \(2, 3\)"),
    "table of nothing": (lambda: Table(np.ones((0, 0))), r"must be square; got shape \(0, 0\)"),
    "table not symmetric": (
        lambda: Table([[1.0, 0.0, 0.0], [0.0, 1.0, 0.3], [0.0, 0.2, 1.0]]),
        r"must be symmetric; entries \(1, 2\) and \(2, 1\) are 0.3 and 0.2",
    ),
    "table not semi-definite": (
        lambda: Table([[1.0, 2.0], [2.0, 1.0]]),
        r"positive semi-definite \(no eigenvalue below 0\); the smallest is -1$",
    ),
    "table and domain": (
        lambda: dp.Prior(dp.Arms(3), Table(np.eye(4)), 0.1),
        "domain must have 4 arms, as the covariance table has; got 3",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("without_type_checks")
def test_refusals_name_the_culprit_and_what_is_accepted(case):
    make, message = REFUSED[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        make()


IN_THE_PLANE = dp.Grid([0, 1], [0, 1], size=3)
UNFIT = {
    "lengthscales": (dp.SE([1, 2, 3]), "SE must have one lengthscale or 2, .*; got 3"),
    "Matern": (dp.Matern(0.8, [1, 2, 3]), "Matern must have one lengthscale or 2, .*; got 3"),
    "periods": (dp.Periodic([1, 2, 3]), "Periodic must have one period or 2, .*; got 3"),
    "linear": (dp.Linear(0, [1, 2, 3]), "Linear must have one lengthscale or 2, .*; got 3"),
    "in a sum": (dp.SE(1.0) + dp.SE([1, 2, 3]), "SE must have one lengthscale or 2"),
    "in a product": (dp.SE([1, 2, 3]) * dp.SE(1.0), "SE must have one lengthscale or 2"),
    "scaled": (2 * dp.SE([1, 2, 3]), "SE must have one lengthscale or 2"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_the_number_of_lengthscales_must_fit_the_domain(case):
    kernel, message = UNFIT[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        dp.Prior(IN_THE_PLANE, kernel, 0.1)


@pytest.mark.parametrize(
    "kernel",
    [dp.SE(1.0), dp.Matern(2.0), dp.Periodic(), dp.Linear(), dp.RationalQuadratic()],
    ids=lambda kernel: type(kernel).__name__,
)
def test_arms_without_coordinates_need_a_table(kernel):
    message = rf"{type(kernel).__name__} requires arms with coordinates.*kernels\.Table\(matrix\)"
    for combined in (kernel, Table(np.eye(3)) + kernel, kernel * Table(np.eye(3)), 2.0 * kernel):
        with pytest.raises(dp.DriftpeakError, match=message):
            dp.Prior(dp.Arms(3), combined, 0.1)


@pytest.mark.parametrize(
    "kernel",
    [dp.SE(1.0), dp.Matern(2.0), Table(np.eye(9))],
    ids=lambda kernel: type(kernel).__name__,
)
def test_rows_outside_the_domain_are_refused(kernel):
    """JAX alone would clip the index and answer for another point."""
    with pytest.raises(IndexError, match="9"):
        kernel.rows(IN_THE_PLANE, [9])


def test_kernels_can_be_summed_from_a_list():
    domain = dp.Grid([0, 1], size=5)
    parts = [dp.SE(0.2), dp.Matern(1.5, 0.4), dp.Linear(1.0)]
    expected = parts[0].rows(domain) + parts[1].rows(domain) + parts[2].rows(domain)
    np.testing.assert_allclose(sum(parts).rows(domain), expected)
