"""What the page on scaling says that policies hold, against the shapes of what they do hold."""

import jax
import numpy as np
import pytest
from benchmarks._playing import POLICIES

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision

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
    "event-triggered": (lambda prior: dp.ETGPUCB(prior, **FEATURES), lambda n, r, t: r**2 + 2 * n),
    "keep, wide": (lambda prior: dp.IGPUCB(prior, **FEATURES), lambda n, r, t: r**2 + 2 * n),
    "injection": (lambda prior: dp.UIGPUCB(prior, exponent=1, **FEATURES), lambda n, r, t: 4 * t),
    "injection, values": (
        lambda prior: dp.UIGPUCB(prior, exponent=1, **VALUES),
        lambda n, r, t: 4 * t,
    ),
    "space and time": (lambda prior: dp.ABO(prior, lengthscale=5.0), lambda n, r, t: t**2 + 4 * t),
    "keep, drawn": (
        lambda prior: dp.GPUCB(prior, acquisition="thompson", **FEATURES),
        lambda n, r, t: r**2 + 2 * n,
    ),
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
    return sum(int(np.prod(np.shape(leaf))) for leaf in jax.tree.leaves(tree))


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


OTHERS = {
    "PE": (lambda prior, t: dp.PE(prior, horizon=t), lambda policy, n, t: 3 * n + policy.longest),
    "R-PERP": (
        lambda prior, t: dp.RPERP(prior, horizon=t, period=25),
        lambda policy, n, t: 3 * n + policy.longest,
    ),
    "adaptive R-PERP": (
        lambda prior, t: dp.AdaptiveRPERP(prior, horizon=t),
        lambda policy, n, t: (3 * policy.batches + 8) * n + policy.longest,
    ),
    "OPKB": (
        lambda prior, t: dp.OPKB(prior, horizon=t),
        lambda policy, n, t: 2 * policy.blocks * n + 3 * t,
    ),
    "OPKB with restarts": (
        lambda prior, t: dp.ROPKB(prior, horizon=t, period=25),
        lambda policy, n, t: 2 * policy.blocks * n + 3 * t,
    ),
    "ADA-OPKB": (
        lambda prior, t: dp.ADAOPKB(prior, horizon=t),
        lambda policy, n, t: (
            2 * policy.blocks * n + policy.blocks * 2 ** (policy.blocks - 1) + 3 * t
        ),
    ),
    "RExp3": (lambda prior, t: dp.RExp3(prior, horizon=t, variation=1.0), lambda policy, n, t: n),
    "random": (lambda prior, t: dp.UniformRandom(prior), lambda policy, n, t: 0),
    "clairvoyant": (lambda prior, t: dp.Clairvoyant(prior), lambda policy, n, t: n),
    "best fixed arm": (lambda prior, t: dp.BestFixedArm(prior), lambda policy, n, t: n),
}


@pytest.mark.parametrize("side", [10, 40])
@pytest.mark.parametrize("horizon", [50, 400])
@pytest.mark.parametrize("case", OTHERS)
@double_precision
def test_what_a_trial_of_the_others_holds(case, side, horizon):
    make, said = OTHERS[case]
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=side), dp.SE(lengthscale=0.3), 0.01)
    policy = make(prior, horizon)
    player = policy.prepare(horizon)
    found = numbers(jax.eval_shape(lambda: player.init(jax.random.key(0))))
    leading = said(policy, len(prior), horizon)
    assert leading <= found <= leading + 20


SIDE_QUERIES = {
    "SparQ": dp.SparQ,
    "W-SparQ": lambda prior, **options: dp.WSparQ(prior, exponent=1.0, **options),
    "AdaptiveSparQ": dp.AdaptiveSparQ,
}


@pytest.mark.parametrize("name", SIDE_QUERIES)
@pytest.mark.parametrize("form", ["feature-space", "function-space"])
@double_precision
def test_side_queries_hold_what_their_belief_does_and_how_often_each_point_was_sampled(name, form):
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=20), dp.SE(lengthscale=0.3), 0.01)
    player = SIDE_QUERIES[name](prior, form=form).prepare(100)
    found = numbers(jax.eval_shape(lambda: player.init(jax.random.key(0))))
    belief = numbers(jax.eval_shape(player.actor.belief.init))
    assert belief + len(prior) <= found <= belief + len(prior) + 10


@pytest.mark.parametrize("name", ["TV-GP-UCB", "auto", "SparQ"])
@double_precision
def test_trials_hold_as_much_each(name):
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=12), dp.SE(lengthscale=0.3), 0.01)
    player = POLICIES[name](prior, 50).prepare(50)
    one = jax.eval_shape(lambda: player.init(jax.random.key(0)))
    seven = jax.eval_shape(lambda: jax.vmap(player.init)(jax.random.split(jax.random.key(0), 7)))
    assert numbers(seven) == 7 * numbers(one)


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
@double_precision
def test_once_for_all_trials_large_grids_hold_some_vectors(name):
    """10,404 points with 217 features: no policy holds as much as a tenth of their matrix."""
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=102), dp.SE(lengthscale=0.2), 0.01)
    player = POLICIES[name](prior, 16).prepare(16)
    assert numbers(player) <= 16 * len(prior)


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
