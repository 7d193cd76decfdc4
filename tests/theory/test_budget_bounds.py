"""ZS21's theorems with their constants: by hand, step by step, and above simulated regret."""

import math

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.policies import widths
from driftpeak.theory.budget_bounds import r_gp_ucb_budget_regret, sw_gp_ucb_regret

GRID = dp.Grid([0, 1], size=25)


def test_by_hand():
    """lambda = 1, H = 4, gain 2: xi = sqrt(8 * 2 * 2) = sqrt 32, as is the sum of a block.

    2 xi 4 * 0.5 + 2 * 3 * ceil(10/4) sqrt 32 = (4 + 18) sqrt 32."""
    common = {
        "width": 3.0, "gain": 2.0, "variation": 0.5, "horizon": 10, "noise_variance": 1.0,
    }  # fmt: skip
    for bound, name in ((r_gp_ucb_budget_regret, "period"), (sw_gp_ucb_regret, "window")):
        assert bound(**common, **{name: 4}).value == pytest.approx(22 * math.sqrt(32))
        assert bound(**common, **{name: 11}).value is None
        failed = bound(**common, **{name: 4}, variance=2.0)
        assert [c.statement for c in failed.failed] == ["k(x, x) <= 1"]
        still = bound(**common | {"variation": 0.0}, **{name: 4})
        assert still.value == pytest.approx(18 * math.sqrt(32))


@pytest.mark.parametrize("noise_variance", [0.01, 1.0])
def test_claim_2_bounds_the_operator_norm_which_may_exceed_1(noise_variance):
    """|V^-1 sum_{s <= p} phi phi'| with explicit features, its true bound and the 1 of Lemma 2.

    Random points of length 1 in a plane: the linear kernel, where the matrices are 2 x 2.

    Source: ZS21 Claim 2.
    """
    generator = np.random.default_rng(0)
    worst = 0.0
    for _ in range(300):
        count = int(generator.integers(2, 30))
        angle = generator.uniform(0, np.pi, count) * generator.uniform(0, 1)
        phi = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        v = phi.T @ phi + noise_variance * np.eye(2)
        gain = 0.5 * np.linalg.slogdet(v / noise_variance)[1]
        for last in range(1, count + 1):
            norm = np.linalg.norm(np.linalg.solve(v, phi[:last].T @ phi[:last]), 2)
            worst = max(worst, norm)
            bound = math.sqrt(2 * count * (1 + noise_variance) * gain) / noise_variance
            assert norm <= bound
    assert worst > 1 or noise_variance == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("noise_variance", [0.05, 1.0])
def test_the_theorems_dominate_simulated_regret(noise_variance):
    """Abrupt switches, P_T and B measured; widths with the realised gain, delta split as asked.

    Source: ZS21 Theorems 1-2.
    """
    steps, memory, trials = 150, 30, 8
    prior = dp.Prior(GRID, dp.SE(0.4), noise_variance)
    world = dp.AbruptSwitches(prior, changes=[50, 100], supports=5)
    functions = dp.true_functions(world, times=[1.0, 75.0, 150.0], trials=trials, seed=1)
    factor = prior.features.matrix
    weights = np.linalg.lstsq(factor, functions.reshape(-1, 25).T, rcond=None)[0].T
    weights = weights.reshape(trials, 3, -1)
    norm = float(np.sqrt((weights**2).sum(-1)).max())
    moved = float(np.sqrt((np.diff(weights, axis=1) ** 2).sum(-1)).sum(1).max())
    gain = float(dp.greedy_gain(prior, memory, upper=True)[-1])
    scale = math.sqrt(noise_variance)
    blocks, delta = steps // memory, 0.1
    restart = widths.Confidence(norm, scale, delta / blocks, noise_variance=noise_variance)
    sliding = widths.SlidingConfidence(
        norm, scale, delta, noise_variance=noise_variance, horizon=steps
    )
    runs = dp.simulate(
        {
            "R": dp.RGPUCB(prior, period=memory, width=restart),
            "SW": dp.SWGPUCB(prior, window=memory, width=sliding),
        },
        world, steps=steps, trials=trials, seed=1, progress=False,
    )  # fmt: skip
    found = runs["regret"].sum("step").max("trial")
    common = {
        "gain": gain, "variation": moved, "horizon": steps, "noise_variance": noise_variance,
    }  # fmt: skip

    def largest(share):
        return norm + math.sqrt(2 * gain + 2 * math.log(share / delta))

    r = r_gp_ucb_budget_regret(width=largest(blocks), period=memory, **common).number
    sw = sw_gp_ucb_regret(width=largest(steps), window=memory, **common).number
    assert float(found.sel(policy="R")) < r
    assert float(found.sel(policy="SW")) < sw
