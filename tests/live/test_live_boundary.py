"""How much of the space a look tells of, against integrals; and what that does to suggestions."""

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import Matern

import driftpeak as dp
from driftpeak.live._model import gp
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.observations import pad, places
from driftpeak.live._search.boundary import boundary_weight, powers_around
from driftpeak.live._search.maximization import Beliefs, with_best_observed
from driftpeak.live._study.policy_data import differences, policy_from_data, policy_to_data
from driftpeak.policies.widths import Constant

weight = jax.jit(boundary_weight)


def found(model, rows):
    """With all factors in full."""
    return weight(model, rows, np.ones(rows.shape[1]))


unit = st.floats(0, 1)


def model(lengthscale, categorical):
    return Model(0.0, np.array(lengthscale), 1.0, 0.01, 10.0, np.array(categorical))


def integral(x, lengthscale):
    """Of the correlation of x with every place, by quadrature."""
    kernel = Matern(lengthscale, nu=2.5)
    return quad(lambda u: kernel([[x]], [[u]])[0, 0], 0, 1, points=[x])[0]


@pytest.mark.parametrize("lengthscale", [0.02, 0.25, 3.0, 20.0])
def test_it_is_the_integral_of_the_correlation(lengthscale):
    numbers = model([lengthscale, 0.4], [False, False])
    for x, y in [(0.0, 0.5), (0.03, 0.9), (0.4, 1.0), (1.0, 0.0)]:
        each = [(x, lengthscale), (y, 0.4)]
        expected = np.prod([integral(a, one) / integral(0.5, one) for a, one in each])
        got = found(numbers, np.array([[x, y]]))
        np.testing.assert_allclose(got, [expected], rtol=1e-5)


def test_corners_of_short_lengthscales_and_of_long_ones():
    corner, middle = np.zeros((1, 4)), np.full((1, 4), 0.5)
    short, long = model([0.02] * 4, [False] * 4), model([20.0] * 4, [False] * 4)
    np.testing.assert_allclose(found(short, corner), 2.0**-4, rtol=1e-9)
    np.testing.assert_allclose(found(long, corner), 1.0, atol=0.01)
    np.testing.assert_allclose(found(short, middle), 1.0, rtol=1e-12)


@given(st.lists(unit, min_size=3, max_size=3), st.floats(0.02, 20))
def test_mirrored_places_tell_as_much_and_nowhere_more_than_the_middle(row, lengthscale):
    numbers = model([lengthscale, 0.3, 0.3], [False, False, True])
    rows = np.array([row, 1 - np.array(row)])
    got = np.asarray(found(numbers, rows))
    np.testing.assert_allclose(got[0], got[1], rtol=1e-6)
    assert (got > 0.2).all()
    assert (got <= 1 + 1e-12).all()


def test_values_without_order_and_contexts_do_not_matter():
    numbers = model([0.1, 0.1, 0.1], [False, True, False])
    rows = np.array([[0.2, 0.0], [0.2, 0.5], [0.2, 1.0]])  # the third column is a context's
    got = np.asarray(found(numbers, rows))
    assert (got == got[0]).all()
    assert got[0] == found(model([0.1], [False]), rows[:1, :1])[0]


def test_the_nearer_the_best_is_to_an_end_the_less_a_column_counts():
    np.testing.assert_allclose(
        powers_around(np.array([0.0, 0.03, 0.15, 0.5, 0.97, 1.0])),
        [0, 0.2, 1, 1, 0.2, 0],
        atol=1e-9,
    )
    numbers, corner = model([0.02, 0.02], [False, False]), np.zeros((1, 2))
    for powers, expected in [((1, 1), 0.25), ((0, 1), 0.5), ((0.5, 0), 0.5**0.5), ((0, 0), 1.0)]:
        got = weight(numbers, corner, np.array(powers, float))
        np.testing.assert_allclose(got, [expected], rtol=1e-9)


def test_the_best_is_the_row_of_the_highest_mean_now_whatever_the_context():
    """Of three columns, the last a context's: its second row was as good, when it was made."""
    rows = np.array([[0.03, 0.5, 0.2], [0.5, 0.97, 0.9], [0.3, 0.3, 0.2]])
    numbers = model([0.1, 0.1, 0.3], [False, False, False])._replace(timescale=5.0)
    known = jax.jit(gp.learn)(
        numbers, places(rows, np.array([9.0, 0.0, 9.0]), 32), pad(np.array([1.0, 1.0, -1.0]), 32)
    )
    for context, expected in [(0.2, [0.2, 1.0]), (0.9, [1.0, 0.2])]:
        beliefs = Beliefs(numbers, known, None, 9.0, Constant(1.0), 1.0, np.array([context]))
        beliefs = with_best_observed(beliefs, boundary_weighting=True)
        np.testing.assert_allclose(beliefs.powers, expected, rtol=1e-5)


@pytest.mark.slow
def test_fewer_looks_at_the_faces():
    """Of a function with its peak inside, in four dimensions."""
    at_faces = {}
    for boundary_weighting in (True, False):
        policy = dp.DriftingGP(boundary_weighting=boundary_weighting, learn=False)
        box = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(4)})
        optimizer, asked = dp.Optimizer(box, maximize=True, policy=policy), []
        for _ in range(40):
            suggestion = optimizer.ask()
            row = np.array(list(suggestion.values()))
            asked.append(row)
            optimizer.tell(suggestion, float(np.exp(-8 * ((row - 0.5) ** 2).sum())))
        at_faces[boundary_weighting] = np.mean(np.abs(np.array(asked) - 0.5) > 0.49)
    assert at_faces[True] < 0.5 * at_faces[False]


def test_a_study_from_before_there_was_a_choice_goes_on_with_the_default():
    now = policy_to_data(dp.DriftingGP())
    ((tag, arguments),) = now.items()
    before = {tag: {name: one for name, one in arguments.items() if name != "boundary_weighting"}}
    assert policy_from_data(before).boundary_weighting
    assert not list(differences(before, now))
    other = policy_to_data(dp.DriftingGP(boundary_weighting=False))
    assert list(differences(before, other)) == [("policy.boundary_weighting", True)]


def test_the_former_name_of_the_argument_is_read():
    ((tag, arguments),) = policy_to_data(dp.DriftingGP(boundary_weighting=False)).items()
    former = {
        "scoped" if name == "boundary_weighting" else name: a for name, a in arguments.items()
    }
    assert policy_from_data({tag: former}).boundary_weighting is False
    assert not list(differences({tag: former}, {tag: arguments}))
