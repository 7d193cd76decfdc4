"""Rewards that are 0 and 1, and counts: what they say of a rate that drifts."""

import json

import jax
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import Matern

import driftpeak as dp
from driftpeak._core.errors import DriftpeakError
from driftpeak.live._model import gp, laplace
from driftpeak.live._model.covariance import MARKOV, STILL, Model
from driftpeak.live._model.hyperparameters import Kind, Problem, cost, cost_and_slope, pack
from driftpeak.live._model.likelihoods import Bernoulli, Poisson, bounded_weights
from driftpeak.live._model.observations import pad, places
from driftpeak.live._model.scaling import LINEAR
from driftpeak.live._space.records import Sample
from driftpeak.live._study import events
from driftpeak.live._study.policy_data import policy_from_data, policy_to_data

CATEGORICAL = np.zeros(2, bool)
MODEL = Model(0.3, np.array([0.3, 0.6]), 1.4, 0.05, 30.0, CATEGORICAL, MARKOV)
BOX = dp.Box(x=dp.Float(0, 1), y=dp.Float(0, 1))
LINE = dp.Grid([0, 1], size=40)
learn, append, posterior = jax.jit(laplace.learn), jax.jit(laplace.append), jax.jit(gp.posterior)
KINDS = {"bernoulli": Bernoulli, "poisson": Poisson}


def rate_of(kind, f):
    return 1 / (1 + np.exp(-f)) if kind == "bernoulli" else np.exp(f)


def data(kind, count=20):
    generator = np.random.default_rng(0)
    rows, times = generator.uniform(size=(count, 2)), np.sort(generator.uniform(0, 40, count))
    trials = np.where(np.arange(count) % 3, 1.0, 5.0)
    rate = rate_of(kind, np.sin(6 * rows[:, 0]))
    drawn = generator.binomial(5, rate / 5 if kind == "poisson" else rate, size=count)
    rewards = drawn / 5 if kind == "bernoulli" else drawn.astype(float)
    return rows, times, np.where(trials == 1, np.round(rewards), rewards), trials


def covariance(rows, times, motion=MARKOV):
    """Matern 5/2, and Markov drift or none, written plainly."""
    z = np.sqrt(5 * (((rows[:, None] - rows) / MODEL.lengthscale) ** 2).sum(axis=-1))
    faded = np.exp(-np.abs(times[:, None] - times) / MODEL.timescale)
    return MODEL.variance * (1 + z + z**2 / 3) * np.exp(-z) * (faded if motion else 1.0)


def plain_laplace(kind, among, rewards, trials, level):
    """Mode, precisions and log evidence: hundreds of small steps, and plain inverses."""
    inverse, f = np.linalg.inv(among), np.full(len(rewards), level)
    for _ in range(3000):
        rate = rate_of(kind, f)
        bent = rate * (1 - rate) if kind == "bernoulli" else rate
        slope = trials * (rewards - rate) - inverse @ (f - level)
        f = f + 0.2 * np.linalg.solve(inverse + np.diag(trials * bent), slope)
    whole = np.eye(len(f)) + among @ np.diag(trials * bent)
    spread = np.log1p(np.exp(f)) if kind == "bernoulli" else np.exp(f)
    fit = (trials * (rewards * f - spread)).sum() - 0.5 * (f - level) @ inverse @ (f - level)
    return f, trials * bent, fit - 0.5 * np.linalg.slogdet(whole)[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_posterior_is_laplaces(kind):
    rows, times, rewards, trials = data(kind)
    every = np.concatenate([rows, [[0.4, 0.4]]])
    among = covariance(every, np.append(times, 41.0))
    f, precision, evidence = plain_laplace(kind, among[:20, :20], rewards, trials, 0.3)
    cross = among[:20, 20]
    mean = 0.3 + cross @ np.linalg.solve(among[:20, :20], f - 0.3)
    variance = MODEL.variance - cross @ np.linalg.solve(
        among[:20, :20] + np.diag(1 / precision), cross
    )
    seen = places(rows, times, 32, trials), pad(rewards, 32)
    for centre in (0.0, 0.7):  # a centre is taken off the level, and changes nothing
        rates, model = KINDS[kind](centre), MODEL._replace(level=0.3 - centre)
        known = learn(model, *seen, rates)
        found = posterior(model, known, None, every[20:], 41.0)
        np.testing.assert_allclose(found[0][0] + centre, mean, rtol=1e-8)
        np.testing.assert_allclose(found[1][0] ** 2, variance, rtol=1e-8)
        value = laplace.evidence(model, *seen, rates)[0] - (trials * rewards).sum() * centre
        np.testing.assert_allclose(-value, evidence, rtol=1e-8)
    rates = KINDS[kind](0.0, -1.0)  # the negated function, of negated rewards
    model, rewards = MODEL._replace(level=-0.3), -seen[1]
    found = posterior(model, learn(model, seen[0], rewards, rates), None, every[20:], 41.0)
    np.testing.assert_allclose(found[0][0], -mean, rtol=1e-8)


@pytest.mark.slow
def test_mode_and_evidence_are_those_of_scikit_learn():
    rows, times, rewards, _ = data("bernoulli")
    rewards = np.round(rewards)
    kernel = 1.4 * Matern(MODEL.lengthscale, nu=2.5)
    other = GaussianProcessClassifier(kernel, optimizer=None).fit(rows, rewards).base_estimator_
    model = MODEL._replace(level=0.0, motion=STILL)
    seen = places(rows, times, 32), pad(rewards, 32)
    known = learn(model, *seen, Bernoulli())
    latent = gp.mean(model, known, rows, 0.0)
    np.testing.assert_allclose(Bernoulli().rate(latent), other.pi_, atol=1e-4)
    np.testing.assert_allclose(
        -laplace.evidence(model, *seen, Bernoulli())[0],
        other.log_marginal_likelihood_value_,
        rtol=1e-4,  # at which it stops
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_learned_follows_the_evidence(kind):
    """Its slope is that of differences, the movement of the mode included."""
    rows, times, rewards, trials = data(kind)
    seen = places(rows, times, 32, trials), pad(rewards, 32)
    problem = Problem(*seen, CATEGORICAL, 2.0, Kind(), KINDS[kind](0.4))
    vector, value = pack(MODEL, 2.0), jax.jit(cost)
    found, slope = cost_and_slope(vector, problem)
    np.testing.assert_allclose(found, value(vector, problem), rtol=1e-10)
    for place in range(len(vector)):
        step = 1e-5 * np.eye(len(vector))[place]
        difference = (value(vector + step, problem) - value(vector - step, problem)) / 2e-5
        np.testing.assert_allclose(slope[place], difference, rtol=1e-4, atol=1e-6)


ABSURD = {
    "all ones": ("bernoulli", np.ones(32)),
    "all zeros": ("bernoulli", np.zeros(32)),
    "turns": ("bernoulli", np.arange(32) % 2.0),
    "no events": ("poisson", np.zeros(32)),
    "a million": ("poisson", np.full(32, 1e6)),
    "a million or none": ("poisson", 1e6 * (np.arange(32) % 2)),
    "the largest among none": ("poisson", 1e15 * (np.arange(32) == 5)),
}


@pytest.mark.parametrize("case", ABSURD)
@pytest.mark.parametrize("centre", [-30.0, 0.0, 30.0])
def test_newton_arrives_from_absurd_rewards(case, centre):
    kind, rewards = ABSURD[case]
    generator = np.random.default_rng(0)
    rows, times = generator.uniform(size=(32, 2)), np.arange(32.0)
    counted = bounded_weights(rewards, np.where(np.arange(32) % 4, 1.0, 1e9))
    for rates, signed in ((KINDS[kind](centre), rewards), (KINDS[kind](centre, -1.0), -rewards)):
        known = learn(MODEL, places(rows, times, 32, counted), signed, rates)
        latent = np.asarray(gp.covariance_between(MODEL, known.places, known.places) @ known.solved)
        pull = counted * np.asarray(signed - rates.rate(latent + MODEL.level))
        size = np.abs(counted * rewards).max() + np.abs(counted * rates.rate(latent)).max() + 1
        np.testing.assert_allclose(known.solved, pull, atol=1e-5 * size)  # no slope is left
        mean, deviation = posterior(MODEL, known, None, rows, 40.0)
        assert np.isfinite(mean).all()
        assert np.isfinite(deviation).all()
        mean, variance = rates.moments(np.asarray(mean), np.asarray(deviation))
        assert np.isfinite(mean).all()
        assert np.isfinite(variance).all()


@pytest.mark.parametrize("kind", KINDS)
def test_one_appended_has_the_mode_of_its_own(kind):
    rows, times, rewards, trials = data(kind)
    rates, first = KINDS[kind](), slice(19)
    known = learn(
        MODEL, places(rows[first], times[first], 32, trials[first]), pad(rewards[first], 32), rates
    )
    mean, deviation = posterior(MODEL, known, None, rows[19:], times[19])
    latent = np.linspace(mean[0] - 6 * deviation[0], mean[0] + 6 * deviation[0], 200_001)
    density = trials[19] * np.asarray(rates.log_density(rewards[19:], latent))
    mode = latent[np.argmax(density + norm.logpdf(latent, mean[0], deviation[0]))]
    one = rows[19], times[19], trials[19], rewards[19]
    longer = append(MODEL, known, 19, *one, rates)
    found = posterior(MODEL, longer, None, rows[19:], times[19])
    np.testing.assert_allclose(found[0][0], mode, atol=1e-4)
    narrowed = 1 / (1 / deviation[0] ** 2 + trials[19] * rates.curvature(np.array([mode]))[0])
    np.testing.assert_allclose(found[1][0] ** 2, narrowed, rtol=1e-3)
    at_once = learn(MODEL, places(rows, times, 32, trials), pad(rewards, 32), rates)
    for other in (known, longer):  # between the two, and closer to the truth
        away = (
            posterior(MODEL, other, None, rows, 40.0)[0]
            - posterior(MODEL, at_once, None, rows, 40.0)[0]
        )
        error = float(np.abs(away).max())
        assert error < (0.5 if other is known else 0.05)
    np.testing.assert_allclose(longer.information, at_once.information, rtol=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_many_trials_count_as_so_many_rewards(kind):
    policy = dp.DriftingGP(likelihood=kind, learn=False)
    few, many = (dp.Optimizer(LINE, maximize=True, policy=policy) for _ in range(2))
    generator = np.random.default_rng(1)
    for point in (0.0, 1.0):
        each = generator.integers(0, 2, 8).astype(float)
        few.tell({"x1": point}, each.mean(), 0, trials=8)
        for one in each:
            many.tell({"x1": point}, one, 0)
    np.testing.assert_allclose(few.belief(), many.belief(), rtol=1e-6)
    assert few.diagnostics().held == 2
    assert few.history()[-1].trials == 8
    # the mean of many is as sure as its rate, and a single one by its own variance less so
    (mean,), (deviation,) = many.belief([{"x1": 1.0}])
    single, mean_of_many = (
        many._engine.expected(Sample({"x1": 1.0}, 0.0, None, trials)) for trials in (None, 10**9)
    )
    assert single[0] == pytest.approx(mean)
    assert mean_of_many[1] == pytest.approx(deviation)
    whole = mean * (1 - mean) if kind == "bernoulli" else mean + deviation**2
    assert single[1] ** 2 == pytest.approx(whole)


@pytest.mark.slow
def test_to_minimise_is_to_maximise_the_opposite():
    policy = dp.DriftingGP(likelihood="bernoulli")
    up, down = (dp.Optimizer(LINE, maximize=one, policy=policy) for one in (True, False))
    generator = np.random.default_rng(2)
    for step in range(12):
        at = {"x1": float(generator.choice(np.linspace(0, 1, 40)))}
        up.tell(at, success := float(generator.random() < at["x1"]), step)
        down.tell(at, 1 - success, step)
    (mean, deviation), (opposite, same) = up.belief(), down.belief()
    np.testing.assert_allclose(mean, 1 - opposite, atol=1e-8)
    np.testing.assert_allclose(deviation, same, atol=1e-8)
    low, high = up.interval(level=0.9)
    other_low, other_high = down.interval(level=0.9)
    np.testing.assert_allclose(low, 1 - other_high, atol=1e-8)
    np.testing.assert_allclose(high, 1 - other_low, atol=1e-8)
    assert (low < high).all()
    assert dict(up.best()) == dict(down.best())
    assert down.best().mean == pytest.approx(1 - up.best().mean)


@pytest.mark.slow
def test_it_finds_the_place_of_most_events_and_of_fewest():
    """Of the most events it has 0.7 where it maximises, at most 0.2 where it minimises."""

    def rate(at):
        return float(np.exp(2.5 - 6 * (at["x1"] - 0.3) ** 2))

    most = np.exp(2.5)
    for maximize, good in ((True, lambda found: found > 0.7), (False, lambda found: found < 0.2)):
        policy = dp.DriftingGP(likelihood="poisson")
        counter = dp.Optimizer(LINE, maximize=maximize, policy=policy)
        generator = np.random.default_rng(3)
        for _ in range(40):
            one = counter.ask()
            counter.tell(one, generator.poisson(rate(one)))
        assert good(rate(counter.best()) / most)
        assert counter.best().mean == pytest.approx(rate(counter.best()), rel=0.5)


@pytest.mark.slow
@pytest.mark.usefixtures("without_type_checks")
def test_impossible_rewards_are_refused_by_name():
    yes = dp.Optimizer(BOX, maximize=True, policy=dp.DriftingGP(likelihood="bernoulli"))
    count = dp.Optimizer(BOX, maximize=True, policy=dp.DriftingGP(likelihood="poisson"))
    plain, at = dp.Optimizer(BOX, maximize=True), {"x": 0.5, "y": 0.5}
    for wrong in (-1, 0.5, 2, 1e300):
        with pytest.raises(DriftpeakError, match=r"be 0 or 1 with .*bernoulli.*; got .*trials=n"):
            yes.tell(at, wrong)
    for wrong in (-1, 0.5, 1e16):
        with pytest.raises(DriftpeakError, match=r"a count.*poisson.*; got .*gaussian"):
            count.tell(at, wrong)
    for one in (yes, count):
        for wrong in (float("nan"), float("inf"), "1", None):
            with pytest.raises(DriftpeakError, match="reward must be a finite number"):
                one.tell(at, wrong)
        with pytest.raises(DriftpeakError, match=r"noise must be None .*trials"):
            one.tell(at, 1, noise=0.1)
        with pytest.raises(DriftpeakError, match=r"share of 3|mean of 3"):
            one.tell(at, 0.5, trials=3)
        for wrong in (0, -1, 1.5, True, 10**10):
            with pytest.raises(DriftpeakError, match="trials must be"):
                one.tell(at, 1, trials=wrong)
        assert one.history() == []
        one.tell(at, 2 / 3, trials=3)
    yes.tell(at, True)
    yes.tell(at, np.bool_(False))
    assert [one.reward for one in yes.history()[1:]] == [1.0, 0.0]
    with pytest.raises(DriftpeakError, match="trials must be left out"):
        plain.tell(at, 1, trials=3)
    with pytest.raises(DriftpeakError, match="finite number"):
        plain.tell(at, True)
    with pytest.raises(DriftpeakError, match="Did you mean 'poisson'"):
        dp.DriftingGP(likelihood="poison")
    with pytest.raises(DriftpeakError, match="likelihood must be"):
        dp.DriftingGP(likelihood=1)
    for wrong in (0, 1, 2, "much"):
        with pytest.raises(DriftpeakError, match="level must"):
            yes.interval([at], level=wrong)


def test_intervals_of_stated_hyperparameters_are_deviations():
    plain = dp.Optimizer(LINE, maximize=False, policy=dp.DriftingGP(learn=False))
    for step in range(8):
        plain.tell({"x1": step / 39}, np.sin(step), step)
    mean, deviation = plain.belief()
    for level, wide in ((0.5, 0.6744897501960817), (0.95, 1.959963984540054)):
        for end, one in zip(plain.interval(level=level), (-wide, wide), strict=True):
            linear = np.abs(plain._engine.standard.distance(-mean - one * deviation)) < LINEAR
            assert linear.sum() > 20
            expected = mean + one * deviation
            np.testing.assert_allclose(end[linear], expected[linear], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_study_goes_on_to_the_last_digit(kind, storage):
    policy = dp.DriftingGP(likelihood=kind)
    first = dp.Optimizer(LINE, maximize=True, policy=policy, storage=storage, name=kind)
    for step in range(9):
        one = first.ask()
        first.tell(one, (step % 3 > 0) * 1.0, trials=4 if step == 5 else None)
    second = dp.Optimizer.load(storage, kind)
    assert second.policy.likelihood == kind
    np.testing.assert_array_equal(first.belief(), second.belief())
    third = dp.Optimizer(LINE, maximize=True, policy=policy)
    third.restore(first.snapshot())
    np.testing.assert_array_equal(first.belief(), third.belief())
    assert second.history() == first.history()
    assert dict(first.ask()) == dict(third.ask())
    with pytest.raises(DriftpeakError, match="policy"):
        dp.Optimizer(LINE, maximize=True, storage=storage, name=kind)


def test_the_likelihood_is_data():
    policy = dp.DriftingGP(likelihood="poisson", capacity=64)
    written = json.loads(json.dumps(policy_to_data(policy)))
    assert policy_from_data(written).likelihood == "poisson"
    del written["drifting-gp"]["likelihood"]  # from when there was none
    assert policy_from_data(written).likelihood == "gaussian"
    with pytest.raises(DriftpeakError, match="likelihood"):
        policy_from_data({"drifting-gp": {"likelihood": "uniform"}})
    told = events.Told(None, 1, "steps", {"x1": 0.0}, 0.25, trials=4)
    assert events.from_dict(json.loads(json.dumps(events.to_dict(told)))) == told
    assert "trials" not in events.to_dict(events.Told(None, 1, "steps", {"x1": 0.0}, 1.0))


@pytest.mark.slow
def test_what_is_foretold_of_a_reward_has_the_law_of_its_kind():
    """Its sum has the moments that were foretold, and errors are normal where it is true."""
    for kind, trials, mean, deviation in (
        (Bernoulli, 1, 0.3, np.sqrt(0.21)),
        (Bernoulli, 20, 0.3, 0.15),
        (Poisson, 1, 4.0, 2.5),
        (Poisson, 7, 0.5, 0.4),
    ):
        law = kind.law(mean, deviation, trials)
        assert law.mean() == pytest.approx(trials * mean, rel=1e-6)
        assert law.std() == pytest.approx(trials * deviation, rel=1e-5)
    yes = dp.Optimizer(LINE, maximize=True, policy=dp.DriftingGP(likelihood="bernoulli"))
    generator = np.random.default_rng(4)
    for step in range(60):
        at = {"x1": float(generator.choice(np.linspace(0, 1, 40)))}
        yes.tell(at, bool(generator.random() < 0.3), step)
    found = yes.calibration()
    told = [one for one in yes.history() if one.expected is not None]
    shares = np.array([one.expected[0] if one.reward else 1 - one.expected[0] for one in told])
    assert found.log_likelihood == pytest.approx(np.log(shares).mean(), rel=1e-6)
    # 57 draws of 0.5 and 0.95: outside these ends with probability 0.001 each
    assert 0.28 < found.coverage[0.5] < 0.72
    assert found.coverage[0.95] >= 0.84


def test_suggestions_that_are_out_narrow_the_belief():
    policy = dp.DriftingGP(likelihood="poisson", learn=False)
    busy = dp.Optimizer(LINE, maximize=True, policy=policy)
    for number in (0, 13, 26, 39):
        busy.tell({"x1": float(np.linspace(0, 1, 40)[number])}, 5, 0)
    batch = busy.ask(0, count=6)
    assert len({one["x1"] for one in batch}) == 6


def test_moving_costs_are_in_rewards():
    """A rate that may reach 1 is worth no way that costs 2, but one that costs a little."""
    for cost_, stays in ((2.0, True), (0.0, False)):
        one = dp.Optimizer(
            LINE,
            maximize=True,
            policy=dp.DriftingGP(likelihood="bernoulli", learn=False),
            moving_cost=cost_ or None,
        )
        for step in range(6):
            one.tell({"x1": 0.0}, 0, step)
        assert (one.ask(6)["x1"] == 0.0) == stays


def world(kind, seed, steps):
    """A latent function on a line that drifts, its numbers drawn at random."""
    generator = np.random.default_rng(seed)
    variance, length, timescale = np.exp(
        generator.uniform(np.log([0.5, 0.15, 50]), np.log([2.5, 0.5, 400]))
    )
    level = generator.uniform(-1.5, 1.0)
    x = np.linspace(0, 1, 40)
    z = np.sqrt(5) * np.abs(x[:, None] - x) / length
    root = np.linalg.cholesky(variance * (1 + z + z**2 / 3) * np.exp(-z) + 1e-8 * np.eye(40))
    kept, f = np.exp(-1 / timescale), root @ generator.normal(size=40)
    for _ in range(steps):
        yield rate_of(kind, level + f), generator
        f = kept * f + np.sqrt(1 - kept**2) * (root @ generator.normal(size=40))


def coverage(kind, worlds, steps):
    """Of intervals of the rates at all places, by level, in each world."""
    found = []
    for seed in range(worlds):
        one = dp.Optimizer(
            LINE, maximize=True, policy=dp.DriftingGP(likelihood=kind, forgetting="markov")
        )
        inside = {0.5: [], 0.95: []}
        for step, (rate, generator) in enumerate(world(kind, seed, steps)):
            place = one.ask()
            drawn = generator.binomial(1, min(rate[place.index], 1.0))
            drawn = drawn if kind == "bernoulli" else generator.poisson(rate[place.index])
            one.tell(place, float(drawn))
            if step >= steps // 3 and step % 8 == 0:
                for level, shares in inside.items():
                    low, high = one.interval(level=level)
                    shares.append(((low <= rate) & (rate <= high)).mean())
        found.append([np.mean(shares) for shares in inside.values()])
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_in_a_few_worlds(kind):
    """A quick look: 95 % intervals that hold less than 70 % would be broken, not unlucky.

    The shares of single worlds scatter by 0.06 around 0.95: the mean of two of a calibrated belief
    falls that low less than once in a million times.
    """
    assert 0.7 < coverage(kind, 2, 40)[:, 1].mean() <= 1


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_what_they_promise(kind):
    """Within five points, over 20 worlds.

    The worlds are fixed. Means of 20 worlds drawn anew scatter by 0.03 and 0.01: with other seeds a
    belief that is exactly calibrated would be refused once in ten times, nearly always for its 50 %
    intervals.
    """
    found = coverage(kind, 20, 120).mean(axis=0)
    assert np.abs(found - [0.5, 0.95]).max() < 0.05, found
