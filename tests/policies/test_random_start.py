"""A random start: uniform, shared by all policies, and learned from."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import driftpeak as dp

PRIOR = dp.Prior(dp.Grid([0, 1], size=8), dp.SE(0.3), noise_variance=0.01)
WORLD = dp.MarkovDrift(PRIOR, drift=0.1)


@pytest.mark.slow
def test_first_queries_are_uniform_and_the_same_for_all_policies():
    """400 trials, two random queries each; a false alarm once in 1,000 seeds.

    Source: B16 section 5.2.
    """
    policies = {
        "TV": dp.RandomStart(dp.TVGPUCB(PRIOR, drift=0.1), steps=2),
        "static": dp.RandomStart(dp.GPUCB(PRIOR), steps=2),
    }
    actions = dp.simulate(policies, WORLD, steps=6, trials=400)["action"].values
    np.testing.assert_array_equal(actions[0, :, :2], actions[1, :, :2])
    assert (actions[0, :, 2:] != actions[1, :, 2:]).any()
    pairs = np.bincount(8 * actions[0, :, 0] + actions[0, :, 1], minlength=64)
    assert stats.chisquare(pairs).pvalue > 1e-3


@pytest.mark.slow
def test_afterwards_the_policy_acts_on_what_the_start_brought():
    """Told the same, the policy alone decides the same."""
    started = dp.simulate(
        {"it": dp.RandomStart(dp.TVGPUCB(PRIOR, drift=0.1), steps=3)}, WORLD, steps=12, seed=4
    ).isel(policy=0, trial=0)
    alone = dp.TVGPUCB(PRIOR, drift=0.1).prepare(12)
    with jax.enable_x64(True):
        state = alone.init(jax.random.key(0))
        for step in range(12):
            time, taken = step + 1.0, started["action"].values[step]
            state, query = alone.ask(state, time)
            if step >= 3:
                assert int(query) == taken
            reward = started["reward"].values[step]
            state = alone.tell(state, jnp.asarray(taken), reward, time)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dp.RandomStart(dp.GPUCB(PRIOR), steps=0), "steps must be"),
        (lambda: dp.RandomStart(dp.Clairvoyant(PRIOR)), "must not see the true function"),
        (lambda: dp.RandomStart(dp.PE(PRIOR, horizon=9)), "learns only from its own"),
        (
            lambda: dp.RandomStart(dp.Doubling(lambda h: dp.PE(PRIOR, horizon=h))),
            "learns only from its own",
        ),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(dp.DriftpeakError, match=message):
        make()
