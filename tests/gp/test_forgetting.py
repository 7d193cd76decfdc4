"""Forgetting rules: what they refuse, what they remember, and where ages are counted from."""

from itertools import pairwise

import jax
import numpy as np
import pytest
from dense import posterior as dense_posterior
from hypothesis import given, strategies as st

import driftpeak as dp
from driftpeak.gp import forgetting as fg
from driftpeak.inference.beliefs import Dense

POINTS = np.random.default_rng(0).uniform(0, 1, (8, 2))
PRIOR = dp.Prior(dp.Arms(POINTS), dp.Matern(1.5, 0.5), 0.05, np.linspace(-1, 1, 8))
FORMS = ("feature-space", "function-space")


@jax.jit
def answers(belief, arms, rewards, times, later):
    """The posterior at each of the times `later`, after all observations."""

    def step(state, observation):
        return belief.update(state, *observation), None

    state = jax.lax.scan(step, belief.init(), (arms, rewards, times))[0]
    return jax.vmap(lambda time: belief.posterior(state, time))(later)


def observations(times, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 8, len(times)), random.normal(size=len(times)), times


# Refusals

REFUSED = {
    "drift < 0": (lambda: fg.Drift(-0.01), r"drift must lie in \[0, 1\]; got -0.01"),
    "drift > 1": (lambda: fg.Drift(1.01), r"drift must lie in \[0, 1\]; got 1.01"),
    "nan drift": (lambda: fg.Drift(np.nan), r"drift must lie in \[0, 1\]; got nan"),
    "drift as text": (lambda: fg.Drift("0.1"), r"drift must lie in \[0, 1\]; got '0.1'"),
    "discount 0": (lambda: fg.Discount(0.0), r"discount must lie in \(0, 1\]; got 0"),
    "discount > 1": (lambda: fg.Discount(1.5), r"discount must lie in \(0, 1\]; got 1.5"),
    "nan discount": (lambda: fg.Discount(np.nan), r"discount must lie in \(0, 1\]; got nan"),
    "period 0": (lambda: fg.Restart(0), "period must be a finite number of at least 1; got 0"),
    "period 0.9": (lambda: fg.Restart(0.9), "period must be .* at least 1; got 0.9"),
    "endless period": (lambda: fg.Restart(np.inf), "period must be a finite number .*; got inf"),
    "start": (lambda: fg.Restart(5, np.nan), "start must be a finite number; got nan"),
    "window 0": (lambda: fg.Window(0), "window must be an integer of at least 1; got 0"),
    "window < 0": (lambda: fg.Window(-3), "window must be an integer of at least 1; got -3"),
    "window 2.5": (lambda: fg.Window(2.5), "window must be an integer .*; got 2.5"),
    "window 3.0": (lambda: fg.Window(3.0), "window must be an integer .*; got 3.0"),
    "window as text": (lambda: fg.Window("3"), "window must be an integer .*; got '3'"),
    "exponent": (lambda: fg.Injection(-0.1), "exponent must be .* of at least 0; got -0.1"),
    "nan exponent": (lambda: fg.Injection(np.nan), "exponent must be .* at least 0; got nan"),
    "slope": (lambda: fg.Injection(1, -2), "slope must be a finite number of at least 0; got -2"),
    "reference": (
        lambda: fg.Injection(1, reference="then"),
        "reference must be one of newest, now; got 'then'",
    ),
    "other reference": (
        lambda: fg.Discount(0.9, reference="Now"),
        "reference must be one of newest, now; got 'Now'",
    ),
    "decreasing weights": (lambda: fg.Weights([1, 3, 2]), "weights must not decrease"),
    "decreasing logs": (lambda: fg.Weights(log_weights=[0, -1]), "weights must not decrease"),
    "zero weight": (lambda: fg.Weights([0, 1, 2]), "weights must be positive; the smallest is 0"),
    "negative weight": (
        lambda: fg.Weights([1, 2, -3]),
        "weights must be positive; the smallest is -3",
    ),
    "nan weight": (lambda: fg.Weights([1, np.nan]), r"weights must be .* finite .* index \[1\]"),
    "infinite log": (lambda: fg.Weights(log_weights=[0, np.inf]), "log_weights must be .* finite"),
    "matrix of weights": (lambda: fg.Weights(np.ones((2, 2))), "weights must be a 1-dimensional"),
    "no weights": (lambda: fg.Weights([]), "weights must not decrease"),
    "neither": (lambda: fg.Weights(), "exactly one of weights and log_weights"),
    "both": (lambda: fg.Weights([1], log_weights=[0]), "exactly one of weights and log_weights"),
    "too few": (
        lambda: fg.Weights([1, 2, 3]).memory(np.arange(4.0)),
        "weights must be at least 4, one for each observation; got 3",
    ),
    "too few for a belief": (
        lambda: dp.make_belief(PRIOR, fg.Weights([1, 2, 3]), 4),
        "weights must be at least 4, one for each observation; got 3",
    ),
    "times decrease": (
        lambda: dp.make_belief(PRIOR, fg.Keep(), [1.0, 3.0, 2.5]),
        "times must not decrease; 3 is followed by 2.5",
    ),
    "no times": (
        lambda: dp.make_belief(PRIOR, fg.Keep(), 0),
        "times must be an integer of at least 1",
    ),
    "nan time": (
        lambda: dp.make_belief(PRIOR, fg.Keep(), [1.0, np.nan]),
        "times must be a 1-dimensional array of finite numbers",
    ),
    "times as text": (
        lambda: dp.make_belief(PRIOR, fg.Keep(), ["1", "2"]),
        "times must be a 1-dimensional array of finite numbers",
    ),
    "form": (
        lambda: dp.make_belief(PRIOR, fg.Keep(), 4, form="feature_space"),
        "form must be one of auto, feature-space, function-space; got 'feature_space'.*"
        "Did you mean 'feature-space'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("without_type_checks")
def test_refusals_name_the_culprit_and_what_is_accepted(case):
    make, message = REFUSED[case]
    with pytest.raises(dp.DriftpeakError, match=message):
        make()


# Memory

steps_between = st.lists(st.floats(0, 4), min_size=1, max_size=40)


def most_at_once(times, worth):
    """The largest number, over decision times, of observations s <= t with `worth(s, t)`."""
    return max(sum(worth(s, t) for s in range(t + 1)) for t in range(len(times)))


@given(between=steps_between, period=st.floats(1, 20), start=st.floats(-5, 5))
def test_memory_of_a_restart(between, period, start):
    """The most observations in one block, counted one by one."""
    times = np.cumsum(between)

    def same_block(s, t):
        return (times[s] - start) // period == (times[t] - start) // period

    assert fg.Restart(period, start).memory(times) == most_at_once(times, same_block)


@given(between=steps_between, length=st.integers(1, 50))
def test_memory_of_a_window(between, length):
    times = np.cumsum(between)
    assert fg.Window(length).memory(times) == most_at_once(times, lambda s, t: t - s < length)


@given(between=steps_between, discount=st.floats(1e-9, 1))
def test_memory_of_a_discount(between, discount):
    """How many weigh more than 1e-16 of the newest, give or take rounding at the boundary."""
    times = np.cumsum(between)

    def count(threshold):
        return most_at_once(times, lambda s, t: discount ** (times[t] - times[s]) >= threshold)

    assert count(1.01e-16) <= fg.Discount(discount).memory(times) <= count(0.99e-16)


@pytest.mark.parametrize(
    "rule", [fg.Keep(), fg.Drift(1.0), fg.Injection(3.0), fg.Weights(np.ones(9)), fg.Discount(1.0)]
)
def test_the_other_rules_remember_everything(rule):
    assert rule.memory(np.arange(9.0) * 1000) == 9


@pytest.mark.parametrize("reference", ["newest", "now"])
@pytest.mark.parametrize("discount", [0.05, 0.5, 0.9])
def test_what_a_discount_drops_changes_nothing(discount, reference):
    """The posterior with only the memory that `Discount` asks for is that with all 700.

    To 1e-10, prior variance 1 and noise variance 0.05: what is dropped has a precision of at most
    1e-16 / 0.05 / (1 - discount).
    """
    times = np.cumsum(np.random.default_rng(5).exponential(1.0, 700))
    rule = fg.Discount(discount, reference)
    limited = dp.make_belief(PRIOR, rule, times, form="function-space")
    unlimited = Dense(PRIOR, rule, 700)
    assert limited.capacity < 600
    later = times[-1] + np.array([0.0, 1.5, 20.0])
    found, expected = (
        answers(belief, *observations(times), later) for belief in (limited, unlimited)
    )
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-10)
    np.testing.assert_allclose(found.variance, expected.variance, atol=1e-10)
    np.testing.assert_allclose(found.information, expected.information, atol=1e-10)
    np.testing.assert_array_equal(found.observations, expected.observations)


# Long runs and large times


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reference", ["newest", "now"])
@pytest.mark.parametrize("start", [0.0, 1e9])
def test_a_discount_does_not_overflow(start, reference, form):
    """Discount(0.5), 5,000 steps, clocks that start at 0 or in Unix seconds.

    0.5^-5000 is 1e1505. Against the dense formula over the last 200, which is all that counts.
    """
    arms, rewards, times = observations(start + np.arange(1.0, 5001))
    belief = dp.make_belief(PRIOR, fg.Discount(0.5, reference), times, form=form)
    found = answers(belief, arms, rewards, times, times[-1:])
    mean, variance, information = dense_posterior(
        PRIOR.gram, 0.05, PRIOR.mean, "discount", 0.5,
        arms[-200:], rewards[-200:], times[-200:], times[-1],
    )  # fmt: skip
    np.testing.assert_allclose(found.mean[0], mean, atol=1e-8)
    np.testing.assert_allclose(found.variance[0], variance, atol=1e-8)
    np.testing.assert_allclose(found.information[0], information, atol=1e-8)
    assert found.observations[0] == 5000


@pytest.mark.parametrize("form", FORMS)
def test_weights_that_would_overflow_equal_the_discount(form):
    """w_t = 0.5^-t, given as logarithms: D22's weights for a discount of 0.5, at 1,500 steps.

    Source: D22 section 5.
    """
    arms, rewards, times = observations(np.arange(1.0, 1501))
    weighted, discounted = (
        dp.make_belief(PRIOR, rule, times, form=form)
        for rule in (fg.Weights(log_weights=times * np.log(2)), fg.Discount(0.5))
    )
    found = answers(weighted, arms, rewards, times, times[-1:])
    expected = answers(discounted, arms, rewards, times, times[-1:])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


SHIFTABLE = {
    "keep": lambda start: fg.Keep(),
    "restart": lambda start: fg.Restart(7.5, 1 + start),
    "window": lambda start: fg.Window(5),
    "drift": lambda start: fg.Drift(0.07),
    "discount": lambda start: fg.Discount(0.8),
    "discount from now": lambda start: fg.Discount(0.8, "now"),
    "injection": lambda start: fg.Injection(1.3, 0.4),
    "injection from now": lambda start: fg.Injection(1.3, 0.4, "now"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SHIFTABLE)
def test_only_differences_of_times_matter(name, form):
    """A clock that starts at 1e9 (Unix seconds), or at -1e9, gives the same posterior."""
    quarters = np.random.default_rng(2).integers(0, 12, 30)
    times = np.cumsum(quarters) / 4  # exact in double precision at 1e9, too
    later = times[-1] + np.array([0.0, 2.25])
    results = []
    for start in (0.0, 1e9, -1e9):
        belief = dp.make_belief(PRIOR, SHIFTABLE[name](start), start + times, form=form)
        results.append(answers(belief, *observations(start + times), start + later))
    for shifted in results[1:]:
        for a, b in zip(results[0], shifted, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


# Where ages are counted from


def plain_posterior(inflation, arms, rewards):
    """GP regression with noise variances 0.05 h: mean and variance."""
    inverse = np.linalg.inv(PRIOR.gram[np.ix_(arms, arms)] + np.diag(0.05 * inflation))
    cross = PRIOR.gram[:, arms]
    mean = PRIOR.mean + cross @ inverse @ (rewards - PRIOR.mean[arms])
    return mean, PRIOR.gram.diagonal() - np.einsum("ij,jk,ik->i", cross, inverse, cross)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reference", ["newest", "now"])
@pytest.mark.parametrize("name", ["discount", "injection"])
def test_ages_are_counted_from_the_reference(name, reference, form):
    """From the newest observation a silence changes nothing; from now, everything fades."""
    times = np.array([0.5, 1.0, 3.25, 3.25, 6.0, 10.0])
    arms = np.array([0, 3, 3, 5, 1, 7])
    rewards = np.array([0.3, -1.0, 0.7, 2.0, -0.4, 1.1])
    later = np.array([10.0, 12.5, 40.0])
    discounted = name == "discount"
    rule = fg.Discount(0.85, reference) if discounted else fg.Injection(0.7, 0.3, reference)
    belief = dp.make_belief(PRIOR, rule, times, form=form)
    found = answers(belief, arms, rewards, times, later)
    for i, now in enumerate(later):
        age = (10.0 if reference == "newest" else now) - times
        mean, variance = plain_posterior(
            0.85**-age if discounted else 1 + 0.3 * age**0.7, arms, rewards
        )
        np.testing.assert_allclose(found.mean[i], mean, atol=1e-9)
        np.testing.assert_allclose(found.variance[i], variance, atol=1e-9)
    if reference == "now":
        assert (np.diff(found.information) < 0).all()
        assert (np.diff(found.variance, axis=0) > 0).all()
    else:
        np.testing.assert_array_equal(found.mean[2], found.mean[0])


@pytest.mark.parametrize("form", FORMS)
def test_restart_and_drift_count_to_now(form):
    """After a silence a restart is back at the prior, and drift on the way there.

    Under drift e the mean and the explained variance shrink by (1 - e)^(v/2) and (1 - e)^v over a
    silence of v.
    """
    arms, rewards, times = observations(np.arange(1.0, 6.0))
    restart = dp.make_belief(PRIOR, fg.Restart(5.5), times, form=form)
    found = answers(restart, arms, rewards, times, np.array([6.4, 6.5]))
    assert found.observations.tolist() == [5, 0]
    assert found.information[1] == 0 < found.information[0]
    np.testing.assert_array_equal(found.mean[1], PRIOR.mean)
    np.testing.assert_array_equal(found.variance[1], PRIOR.variance)
    assert np.abs(found.mean[0] - PRIOR.mean).max() > 0.1

    drift = dp.make_belief(PRIOR, fg.Drift(0.2), times, form=form)
    found = answers(drift, arms, rewards, times, np.array([5.0, 8.0]))
    for shrunk, full, factor in (
        (found.mean[1] - PRIOR.mean, found.mean[0] - PRIOR.mean, 0.8**1.5),
        (PRIOR.variance - found.variance[1], PRIOR.variance - found.variance[0], 0.8**3),
    ):
        np.testing.assert_allclose(shrunk, factor * full, atol=1e-12)


def test_the_first_steps_fill_the_first_block():
    """R-GP-UCB with period N forgets before steps N + 1, 2N + 1, ... (B16 Alg. 1).

    Source: B16 Algorithm 1; ZS21 Algorithm 1.
    """
    times = np.arange(1.0, 13.0)
    rule = fg.Restart(4)
    forgetting = [now for last, now in pairwise(times) if not rule.same_epoch(last, now)]
    assert forgetting == [5, 9]
