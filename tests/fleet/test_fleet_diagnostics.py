"""Drift of members and errors of forecasts, against single players."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftpeak as dp
from driftpeak._core.times import Horizon

PRIOR = dp.Prior(dp.Arms(np.array([0.0, 0.2, 0.5, 1.0])), dp.SE(0.3), noise_variance=0.1)


@pytest.mark.parametrize("steps", [3, 9])
def test_errors_are_those_of_one_step_forecasts(steps):
    """With `late=4`, the older half of eight steps is dropped."""
    policy, generator = dp.TVGPUCB(PRIOR, drift=0.05), np.random.default_rng(0)
    fleet = dp.Fleet(PRIOR.domain, 3, policy=policy, late=4)
    told = [[] for _ in range(3)]
    for step in range(1, steps + 1):
        members, arms = np.arange(2), generator.integers(4, size=2)
        rewards = generator.normal(size=2)
        fleet.observe(members, arms, rewards, time=float(step))
        for member in members:
            told[member].append((arms[member], rewards[member], float(step)))
    found = fleet.diagnostics()
    assert found["observations"].tolist() == [steps, steps, 0]
    assert np.isnan(found["drift"]).all()
    assert np.isnan(found["error"][2])
    player = policy.prepare(Horizon(100))
    with jax.enable_x64(True):
        for member in range(2):
            state, errors = player.init(jax.random.key(0)), []
            for arm, reward, time in told[member]:
                ahead = player.predict(state, time)
                total = ahead.variance[arm] + ahead.noise_variance
                errors.append(float((reward - ahead.mean[arm]) ** 2 / total))
                state = player.tell(state, jnp.asarray(arm), reward, time)
            newest = errors if steps < 8 else errors[4:]
            np.testing.assert_allclose(found["error"][member], np.mean(newest), rtol=1e-9)


def test_a_policy_without_predictions_has_no_errors():
    prior = dp.Prior(dp.Arms(3), dp.kernels.Table(np.eye(3)), 0.1)
    fleet = dp.Fleet(dp.Arms(3), 2, policy=dp.DUCB(prior, discount=0.9, reward_bound=1.0))
    fleet.tell(fleet.ask().ids, [0.0, 1.0])
    with pytest.raises(dp.UnsupportedError, match="makes no predictions"):
        fleet.diagnostics()
