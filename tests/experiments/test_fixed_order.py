"""The experiment on fixed and random order: its statistic against dense NumPy, and its setup."""

import dense
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.experiments.papers import iwazaki2025_order as order


def test_largest_errors_are_those_of_a_dense_regression():
    generator = np.random.default_rng(3)
    prior = dp.Prior(
        dp.Arms(generator.uniform(0, 1, (12, 2))), dp.Matern(1.5, 0.3), noise_variance=0.2, mean=0.4
    )
    queries, average = generator.integers(12, size=30), generator.normal(size=12)
    actions = np.stack([generator.permutation(queries) for _ in range(4)])
    rewards = generator.normal(size=(4, 30))
    found = order.largest_errors(prior, actions, rewards, average)
    for number in range(4):
        mean, variance, _ = dense.posterior(
            prior.gram, 0.2, prior.mean, "keep", None, actions[number], rewards[number],
            np.arange(1.0, 31), 31.0,
        )  # fmt: skip
        expected = (np.abs(mean - average) / np.sqrt(variance)).max()
        np.testing.assert_allclose(found[number], expected, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("world", order.WORLDS)
def test_the_functions_are_chosen_against_the_order_of_the_policy(world):
    """Otherwise the fixed order would be as good as any other."""
    setup = order.setup(world, 30)
    runs = dp.simulate(setup.policies, setup.environment, steps=30, trials=3)
    fixed, random = (runs["action"].sel(policy=name).values for name in setup.policies)
    np.testing.assert_array_equal(fixed, np.tile(setup.environment.queries, (3, 1)))
    np.testing.assert_array_equal(np.sort(fixed), np.sort(random))
    assert (fixed != random).any()


def test_widths_are_those_of_the_policies():
    """With C = 1, from the settings that are stored with the results."""
    setup = order.setup("SE, noise sd 0.3", 20)
    logarithm = np.log(4 * 400 * (1 + np.log2(np.log2(400))) / 0.1)
    expected = np.sqrt(logarithm) / 0.3 + 1 + np.sqrt(2 * logarithm)
    np.testing.assert_allclose(setup.settings["width"], expected)
