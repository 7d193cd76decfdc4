"""What the page on scaling says that policies hold, against the shapes of what they do hold."""

import jax
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.numerics.precision import double_precision

MEMORY = 30
FEATURES, VALUES = {"form": "feature-space"}, {"form": "function-space"}
CASES = {
    "keep": (lambda prior: dp.GPUCB(prior, **FEATURES), lambda n, r, t: r**2 + 2 * n),
    "restart": (
        lambda prior: dp.RGPUCB(prior, period=50, **FEATURES),
        lambda n, r, t: r**2 + 2 * n,
    ),
    "drift": (
        lambda prior: dp.TVGPUCB(prior, drift=0.01, **FEATURES),
        lambda n, r, t: r**2 + 2 * n,
    ),
    "discount": (lambda prior: dp.WGPUCB(prior, discount=0.9, **FEATURES), lambda n, r, t: r**2),
    "keep, values": (lambda prior: dp.GPUCB(prior, **VALUES), lambda n, r, t: t * n),
    "drift, values": (lambda prior: dp.TVGPUCB(prior, drift=0.01, **VALUES), lambda n, r, t: t * n),
    "window, values": (
        lambda prior: dp.SWGPUCB(prior, window=MEMORY, **VALUES),
        lambda n, r, t: 4 * MEMORY,
    ),
    "discount, values": (
        lambda prior: dp.WGPUCB(prior, discount=0.99, **VALUES),
        lambda n, r, t: 4 * t,
    ),
}


@double_precision
def held(make, side, horizon):
    """Numbers in a trial's state, points, features."""
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=side), dp.SE(lengthscale=0.3), 0.01)
    policy = make(prior).prepare(horizon)
    state = jax.eval_shape(lambda: policy.init(jax.random.key(0)))
    return numbers(state), len(prior), prior.features.rank


def numbers(tree):
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(tree))


@pytest.mark.parametrize("side", [10, 40])
@pytest.mark.parametrize("horizon", [50, 400])
@pytest.mark.parametrize("case", CASES)
def test_what_a_trial_holds(case, side, horizon):
    """As the page says, but for some rows of n, r or t."""
    make, said = CASES[case]
    found, points, rank = held(make, side, horizon)
    leading = said(points, rank, horizon)
    memory = 2 * (horizon + points) if case in ("keep, values", "drift, values") else 0
    assert leading <= found <= leading + memory + 12 * rank + 10


@pytest.mark.parametrize("side", [10, 40])
def test_a_window_holds_its_edge(side):
    found, points, rank = held(
        lambda prior: dp.SWGPUCB(prior, window=MEMORY, **FEATURES), side, 400
    )
    assert found <= rank**2 + (MEMORY + 4) * points + rank + 8 * MEMORY


def test_auto_holds_twelve_covariances():
    """Of its own features; six members of one component, two of two."""
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=20), dp.SE(lengthscale=0.3), 0.01)
    with jax.enable_x64(True):
        policy = dp.Auto(prior).prepare(400)
        state = jax.eval_shape(lambda: policy.init(jax.random.key(0)))
    points, rank = policy.banks[0].loadings.shape
    leading = 12 * rank**2 + 32 * points
    assert leading <= numbers(state) <= leading + 30 * rank + 1_000


def test_features_hardly_grow_with_points():
    ranks = [
        dp.Prior(dp.Grid([0, 1], [0, 1], size=side), dp.SE(lengthscale=0.2), 0.01).features.rank
        for side in (20, 80)
    ]
    assert ranks[0] == 209
    assert ranks[1] <= 219
