"""k-DPP sampling against enumeration, and against what could make it fail."""

import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

import driftpeak as dp
from driftpeak.policies.dpp import draw, mixing_steps, sample, sample_exactly

POINTS = np.random.default_rng(0).uniform(0, 1, 8)
POINTS[3] = POINTS[2]  # equal points: no subset holds both
GRAM = np.exp(-((POINTS[:, None] - POINTS) ** 2) / (2 * 0.2**2))


def frequencies_and_probabilities(gram, drawn):
    subsets = list(itertools.combinations(range(len(gram)), drawn.shape[1]))
    number = {subset: place for place, subset in enumerate(subsets)}
    determinants = np.array([max(np.linalg.det(gram[np.ix_(z, z)]), 0.0) for z in subsets])
    seen = [number[tuple(sorted(map(int, row)))] for row in drawn]
    return np.bincount(seen, minlength=len(subsets)) / len(drawn), determinants / determinants.sum()


@pytest.mark.slow
@pytest.mark.parametrize("draw", [sample, sample_exactly])
@pytest.mark.parametrize("size", [1, 3])
def test_subsets_have_the_probabilities_of_the_determinants(size, draw):
    """Total variation from 6,000 draws of at most 56 subsets: sampling alone makes 0.03 on average,
    and 0.05 in less than one of 1,000 seeds.

    Source: M25 Definition 3.1.
    """
    drawn = draw(GRAM, size, samples=6_000, seed=1)
    frequencies, probabilities = frequencies_and_probabilities(GRAM, drawn)
    assert 0.5 * np.abs(frequencies - probabilities).sum() < 0.05


@pytest.mark.slow
def test_a_point_counts_as_often_as_its_multiplicity_says():
    """As subsets of the columns of a Gram matrix in which points are repeated (M25 Definition 3.1).

    Total variation from 6,000 draws of 6 subsets: 0.01 on average, 0.05 in less than one of 10^6
    seeds.

    Source: M25 Definition 3.1.
    """
    gram, counts = GRAM[np.ix_(range(3, 8), range(3, 8))], np.array([1, 4, 0, 2, 3])
    columns = np.repeat(np.arange(5), counts)
    repeated = gram[np.ix_(columns, columns)]
    probabilities = {}
    for chosen in itertools.combinations(range(len(columns)), 2):
        points = tuple(sorted(columns[list(chosen)]))
        determinant = max(np.linalg.det(repeated[np.ix_(chosen, chosen)]), 0.0)
        probabilities[points] = probabilities.get(points, 0.0) + determinant
    total = sum(probabilities.values())

    with jax.enable_x64(True):
        covariance = jnp.asarray(gram)

        def one(key):
            some = (key, covariance.__getitem__, covariance.diagonal(), jnp.asarray(counts))
            return draw(*some, jnp.asarray(2), capacity=2, steps=40)[0]

        drawn = np.asarray(jax.vmap(one)(jax.random.split(jax.random.key(2), 6_000)))
    seen = Counter(tuple(sorted(row)) for row in drawn.tolist())
    assert set(seen) <= set(probabilities)
    distance = sum(abs(seen[z] / 6_000 - p / total) for z, p in probabilities.items()) / 2
    assert distance < 0.05


def test_without_mixing_the_greedy_subset_is_drawn():
    """Each point the one of largest variance given those before it, by dense linear algebra."""
    gram = GRAM * np.outer(np.linspace(1, 1.5, 8), np.linspace(1, 1.5, 8))
    greedy = []
    for _ in range(4):
        among = gram[np.ix_(greedy, greedy)]
        given_chosen = gram - gram[:, greedy] @ np.linalg.solve(among, gram[greedy])
        greedy.append(int(given_chosen.diagonal().argmax()))
    np.testing.assert_array_equal(sample(gram, 4, steps=0), [greedy])


@pytest.mark.slow
@given(st.integers(0, 2**31), st.sampled_from([3, 9]))
def test_subsets_are_distinct_points_whatever_the_covariance(seed, size):
    """Also where the rank is below the size, points coincide, or nothing varies at all."""
    generator = np.random.default_rng(seed)
    factor = generator.normal(size=(9, 4)) * generator.choice([0, 1e-8, 1, 1e4], 4)
    factor[5] = factor[2]
    drawn = sample(factor @ factor.T, size, samples=3, steps=20, seed=seed)
    assert all(len(set(row)) == size for row in drawn.tolist())
    assert drawn.min() >= 0
    assert drawn.max() < 9


@pytest.mark.slow
def test_thousands_of_swaps_leave_no_rounding_error_that_matters():
    """Each point is in the subset as often as enumeration says, after 3,000 swaps of each chain.

    0.09 is over five standard errors of 1,000 draws: a false alarm once in 10^5 seeds.
    """
    drawn = sample(GRAM, 2, samples=1_000, steps=3_000, seed=3)
    _, probabilities = frequencies_and_probabilities(GRAM, drawn)
    subsets = list(itertools.combinations(range(8), 2))
    marginal = [
        sum(p for z, p in zip(subsets, probabilities, strict=True) if i in z) for i in range(8)
    ]
    np.testing.assert_allclose(np.bincount(drawn.ravel(), minlength=8) / 1_000, marginal, atol=0.09)


def test_the_default_number_of_swaps_is_the_stated_bound():
    """k log(log(C(n, k) (k!)^2) / (2 e^2)), worked out by hand for n = 5, k = 2: C = 10, k! = 2."""
    assert mixing_steps(5, 2) == int(np.ceil(2 * np.log(np.log(40) / (2 * 0.05**2))))
    assert mixing_steps(400, 7) == 65
    assert mixing_steps(3, 3, distance=0.9) < mixing_steps(3, 3)


@pytest.mark.parametrize("draw", [sample, sample_exactly])
@pytest.mark.parametrize(
    ("gram", "size", "message"),
    [
        (np.ones((2, 3)), 1, "gram must be square"),
        (np.full((2, 2), np.nan), 1, "gram must be .*nan at index"),
        (np.eye(3), 4, r"size must lie in 1..3, the number of points; got 4"),
        (np.eye(3), 0, "size must be an integer of at least 1; got 0"),
    ],
)
def test_bad_arguments_are_named(draw, gram, size, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        draw(gram, size)


def test_the_exact_sampler_names_a_rank_that_is_too_low():
    with pytest.raises(dp.DriftpeakError, match="size must be at most 1, the rank of gram"):
        sample_exactly(np.ones((4, 4)), 2)
