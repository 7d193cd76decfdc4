"""ET-GP-UCB restarts when, and only when, a reward is implausible under what it believes."""

import dense
import numpy as np
import pytest

import driftpeak as dp

PRIOR = dp.Prior(dp.Grid([0, 1], size=25), dp.SE(0.2), noise_variance=0.02)
DELTA = 0.2


def restarts_by_hand(arms, rewards):
    """The steps (from 0) at which the rule of the paper fires, from all rewards since the last."""
    found, begin = [], 0
    for t in range(len(arms)):
        own, values = arms[begin:t], rewards[begin:t]
        mean, variance, _ = dense.posterior(
            PRIOR.gram, 0.02, PRIOR.mean, "keep", None, own, values, np.arange(begin, t) + 1.0, t
        )
        # the reward that contradicted is the first of the new data: its number is 1
        number = t - begin + 1
        level = np.log(2 * (np.pi**2 * number**2 / 6) / DELTA)
        bound = np.sqrt(2 * level) * np.sqrt(variance[arms[t]]) + np.sqrt(2 * 0.02 * level)
        if abs(rewards[t] - mean[arms[t]]) > bound:
            found.append(t)
            begin = t
    return found


@pytest.mark.slow
def test_it_restarts_where_the_paper_says_so():
    """Six switches in each of eight worlds; nothing but the rule decides."""
    world = dp.AbruptSwitches(PRIOR, changes=(20, 40, 60, 80, 100, 120))
    runs = dp.simulate({"it": dp.ETGPUCB(PRIOR, delta=DELTA)}, world, steps=140, trials=8, seed=2)
    total = 0
    for trial in range(8):
        run = runs.isel(policy=0, trial=trial)
        expected = restarts_by_hand(run["action"].values, run["reward"].values)
        assert list(np.flatnonzero(run["restarts"].values)) == expected
        total += len(expected)
    assert total >= 8


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_promised():
    """Under the prior, in at most delta of the trials; 300 trials, three standard errors."""
    policy = {"it": dp.ETGPUCB(PRIOR, delta=DELTA)}
    runs = dp.simulate(policy, dp.MarkovDrift(PRIOR, drift=0), steps=60, trials=300, seed=5)
    share = float((runs["restarts"].sum("step") > 0).mean())
    assert share <= DELTA + 3 * np.sqrt(DELTA * (1 - DELTA) / 300)
