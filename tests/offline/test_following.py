"""Whether following a policy would have paid, against differences computed by hand."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from driftpeak.offline.replay import following
from driftpeak.simulation._comparison import Compared, Verdict

STEPS = 400


def runs_of(values, chosen, *, minimize=False):
    """The part of a replay that the comparison reads, with these arms chosen by `auto`."""
    signed = -values if minimize else values
    own = signed[np.arange(STEPS), chosen]
    regret = (signed.max(axis=1) - own)[None, None]
    return xr.Dataset(
        {
            "regret": (("policy", "trial", "step"), regret),
            "rewards": (("step", "arm"), values),
        },
        coords={"policy": ["auto"], "arm": ["a", "b", "c"]},
        attrs={"unit": "EUR", "minimize": int(minimize), "kept": "everything"},
    )


def drifting():
    """Arm b is better by 2 in the second half, arm a by 3 in the first."""
    values = np.random.default_rng(0).normal(0, 0.1, (STEPS, 3))
    values[: STEPS // 2, 0] += 3
    values[STEPS // 2 :, 1] += 2
    return values


ALONE = Verdict("auto", {}, 20)


@pytest.mark.parametrize("minimize", [False, True])
def test_following_drift_pays(minimize):
    values = drifting()
    chosen = np.repeat([0, 1], STEPS // 2)
    found = following(runs_of(-values if minimize else values, chosen, minimize=minimize), ALONE)
    gains = values[np.arange(STEPS), chosen] - values[:, 0]
    blocks = np.array([block.mean() for block in np.array_split(gains, 20)])
    low, high = stats.ttest_1samp(blocks, 0).confidence_interval(0.95)
    assert found.arm == "a"
    assert found.gain == pytest.approx(gains.mean())
    np.testing.assert_allclose(found.interval, (low, high))
    assert found.paid
    assert found.in_words().startswith(
        f"Following auto would have paid: {gains.mean():.3g} EUR per step better than always a"
    )


def test_following_the_wrong_arm_does_not_pay():
    found = following(runs_of(drifting(), np.full(STEPS, 2)), ALONE)
    assert not found.paid
    assert "Following auto would not have paid: " in found.in_words()
    assert json.loads(json.dumps(found.as_data()))["interval"][1] < 0


def test_white_noise_is_seldom_followed():
    """In 200 tables of noise with random choices, at most 5 % (99 % bound: 11) seem to pay."""
    count = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        values = generator.normal(size=(STEPS, 3))
        found = following(runs_of(values, generator.integers(3, size=STEPS)), ALONE)
        count += found.paid
        assert found.paid or found.in_words().startswith(("Nothing to follow", "Following auto wo"))
    assert count <= 11


def test_the_recommended_policy_is_compared():
    runs = runs_of(drifting(), np.zeros(STEPS, int)).assign_coords(policy=["auto"])
    alike = Verdict("auto", {"random": Compared(0.1, 0.2, 0.9)}, 20)
    found = following(runs, alike)
    assert (found.policy, found.gain) == ("auto", 0.0)
    assert found.in_words().startswith("Nothing to follow here: auto was not significantly better")


def test_one_row_gives_no_interval():
    runs = runs_of(drifting(), np.zeros(STEPS, int)).isel(step=slice(0, 1))
    assert following(runs, ALONE).in_words().startswith("Too few rows")
