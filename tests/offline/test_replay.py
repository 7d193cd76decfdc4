"""Replay of recorded data: the prior it makes, the rows it plays, its figures."""

from pathlib import Path

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.offline._policy_specs.policies import make_policies, make_policy, make_width
from driftpeak.offline.data import RewardTable, read_table
from driftpeak.offline.replay import prior_from_history, replay
from driftpeak.plots import track_figure
from driftpeak.simulation._comparison import verdict
from driftpeak.simulation._plots import regret_figure
from driftpeak.simulation._results import summarise
from driftpeak.simulation._samples import standard_error

INTEL = Path(__file__).parents[3] / "shared" / "data" / "intel_lab_temperature.csv.gz"
RANDOM = np.random.default_rng(0)
REWARDS = np.cumsum(RANDOM.normal(size=(50, 4)), axis=0)
TABLE = RewardTable(REWARDS, ("a", "b", "c", "d"), None, None)


def test_the_prior_is_the_empirical_one():
    prior = prior_from_history(REWARDS, list("abcd"), noise_variance=0.3)
    np.testing.assert_allclose(prior.gram, np.cov(REWARDS.T), atol=1e-12)
    np.testing.assert_allclose(prior.mean, REWARDS.mean(axis=0))
    common = prior_from_history(REWARDS, list("abcd"), mean="common")
    np.testing.assert_allclose(common.mean, REWARDS.mean())
    assert (prior_from_history(REWARDS, list("abcd"), mean="zero").mean == 0).all()
    np.testing.assert_allclose(common.noise_variance, 0.05 * REWARDS.var(axis=0, ddof=1).mean())


@pytest.mark.slow
def test_the_later_rows_are_played_as_recorded():
    runs = replay(TABLE, ["random", "gp-ucb"], train=0.4, trials=2)
    assert runs.sizes["step"] == 30
    np.testing.assert_array_equal(runs["rewards"], REWARDS[20:])
    for policy in range(2):
        chosen = runs["action"].values[policy]
        np.testing.assert_array_equal(runs["reward"][policy], REWARDS[20:][np.arange(30), chosen])
    peak = REWARDS[20:].max(axis=1)
    np.testing.assert_allclose(runs["regret"], peak - runs["reward"])


def test_replay_equals_an_independent_loop():
    """TV-GP-UCB with an empirical covariance, written out in NumPy with dense solves."""
    runs = replay(TABLE, ["tv-gp-ucb:drift=0.1"], noise_variance=0.5, trials=1)
    history, rewards = REWARDS[:30], REWARDS[30:]
    gram, mean = np.cov(history.T), history.mean(axis=0)
    arms, seen = [], []
    for t in range(1, 21):
        times = np.arange(1, t)
        past = np.array(arms, int)
        correlation = 0.9 ** (np.abs(times[:, None] - times) / 2)
        covariance = gram[np.ix_(past, past)] * correlation + 0.5 * np.eye(t - 1)
        cross = gram[past] * (0.9 ** ((t - times) / 2))[:, None]
        solve = np.linalg.solve(covariance, np.column_stack([cross, np.array(seen) - mean[past]]))
        deviation = np.sqrt(gram.diagonal() - np.einsum("ij,ij->j", cross, solve[:, :-1]))
        width = np.sqrt(0.8 * max(np.log(0.4 * t), 0))
        arms.append(int(np.argmax(mean + cross.T @ solve[:, -1] + width * deviation)))
        seen.append(rewards[t - 1, arms[-1]])
    np.testing.assert_array_equal(runs["action"].values[0, 0], arms)


@pytest.mark.slow
@pytest.mark.skipif(not INTEL.exists(), reason="the Intel lab data are not there")
def test_intel_lab_keeps_the_order_of_the_paper():
    """B16 Figure 3a: TV < R << GP-UCB, which ends near random. An independent calculation gave
    0.56, 0.59, 3.64 and 3.6."""
    policies = ["tv-gp-ucb:drift=0.03", "r-gp-ucb:period=15", "gp-ucb", "random"]
    runs = replay(read_table(INTEL), policies, train=0.6, noise_variance=0.5)
    regret = {
        name: row.mean_regret for name, row in summarise(runs, independent_trials=False).items()
    }
    assert regret["tv-gp-ucb"] < regret["r-gp-ucb"] < regret["gp-ucb"] / 4
    np.testing.assert_allclose(regret["tv-gp-ucb"], 0.56, atol=0.005)
    np.testing.assert_allclose(regret["r-gp-ucb"], 0.595, atol=0.005)
    np.testing.assert_allclose(regret["gp-ucb"], 3.64, atol=0.005)
    assert abs(regret["random"] - 3.6) < 0.2


def test_standard_errors():
    """Over trials: sd / sqrt(trials). Over one history: 100 steps make ten blocks of ten."""
    values = RANDOM.normal(size=(8, 100))
    by_trial = values.mean(axis=1)
    np.testing.assert_allclose(
        standard_error(values, independent_trials=True), by_trial.std(ddof=1) / np.sqrt(8)
    )
    blocks = values.mean(axis=0).reshape(10, 10).mean(axis=1)
    np.testing.assert_allclose(
        standard_error(values, independent_trials=False), blocks.std(ddof=1) / np.sqrt(10)
    )
    assert np.isnan(standard_error(values[:1], independent_trials=True))


def test_batch_means_allow_for_correlation():
    """For an AR(1) series with coefficient 0.8 the naive error is 3 times too small; batch means
    over 40,000 steps come within a fifth of the truth, 1 / (1 - 0.8) / sqrt(T)."""
    noise = np.random.default_rng(1).normal(size=40_000)
    series = np.zeros(40_000)
    for t in range(1, 40_000):
        series[t] = 0.8 * series[t - 1] + noise[t]
    error = standard_error(series[None], independent_trials=False)
    np.testing.assert_allclose(error, 5 / np.sqrt(40_000), rtol=0.2)


@pytest.mark.slow
def test_figures_and_verdict():
    runs = replay(TABLE, ["random", "clairvoyant", "best-fixed-arm"], trials=5)
    results = summarise(runs, independent_trials=False)
    assert next(iter(results)) == "clairvoyant"
    best = results["best-fixed-arm"]
    np.testing.assert_allclose(best.cumulative_regret, 20 * best.mean_regret)
    assert results["clairvoyant"].on_best == 1.0
    assert 0 <= results["random"].on_best <= 1
    judged = verdict(runs, ["random", "best-fixed-arm"], independent_trials=False)
    (other,) = judged.others
    assert judged.others[other].difference >= 0
    assert {judged.best, other} == {"random", "best-fixed-arm"}
    assert verdict(runs, independent_trials=False).best == "random"  # the others see the truth


def test_names_are_short_where_they_can_be():
    prior = prior_from_history(REWARDS, list("abcd"))
    texts = ["gp-ucb", "tv-gp-ucb:drift=0.1", "tv-gp-ucb:drift=0.2"]
    assert list(make_policies(texts, prior, 10)) == texts
    assert list(make_policies(texts[:2], prior, 10)) == ["gp-ucb", "tv-gp-ucb"]


def test_texts_make_what_they_say():
    prior = prior_from_history(REWARDS, list("abcd"))
    policy = make_policy("sw-gp-ucb:window=7,acquisition=thompson,form=function-space", prior)
    assert (policy.forgetting.length, policy.acquisition, policy.form) == (
        7, "thompson", "function-space",
    )  # fmt: skip
    width = make_width("scaled-log:c1=0.2", prior, 10)
    assert (float(width.c1), float(width.c2)) == (0.2, 4.0)
    assert float(make_width("sliding-confidence:delta=0.2", prior, 10).horizon) == 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["constant", "finite-domain", "igp", "confidence",
                                  "sliding-confidence", "heteroscedastic"])  # fmt: skip
def test_every_width_runs(name):
    runs = replay(TABLE, ["gp-ucb", "ui-gp-ucb"], width=name, trials=1)
    assert np.isfinite(runs["regret"]).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tv-gpucb", "unknown policy 'tv-gpucb'; known: .* Did you mean 'tv-gp-ucb'"),
        ("tv-gp-ucb:drfit=0.1", "'drfit=0.1' is not a parameter .* Did you mean 'drift'"),
        ("tv-gp-ucb:drift", "'drift' is not a parameter of tv-gp-ucb; accepted: drift=..."),
        ("tv-gp-ucb:drift=fast", "tv-gp-ucb:drift=fast: drift must be a number; got 'fast'"),
        ("tv-gp-ucb:drift=1.5", r"drift must lie in \[0, 1\]; got 1.5"),
        ("tv-gp-ucb:drift=nan", r"drift must lie in \[0, 1\]; got nan"),
        ("sw-gp-ucb:window=2.5", "window must be an integer; got '2.5'"),
        ("sw-gp-ucb:window=0", "window must be an integer of at least 1; got 0"),
        ("r-gp-ucb:period=0.5", "period must be .*at least 1; got 0.5"),
        ("w-gp-ucb:discount=0", r"discount must lie in \(0, 1\]; got 0"),
        ("gp-ucb:acquisition=ubc", "acquisition must be one of ucb, influence, thompson"),
        ("random:window=3", "accepted: none"),
    ],
)
def test_bad_policies_are_named(text, message, without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=message):
        replay(TABLE, [text])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"train": 0.0}, r"train must lie in \(0, 1\)"),
        ({"train": 1.0}, r"train must lie in \(0, 1\)"),
        ({"train": 0.01}, "which leaves 0 and"),
        ({"train": 0.99}, "leaves 49 and 1 of 50"),
        ({"noise_variance": 0.0}, "noise_variance must be .*above 0; got 0"),
        ({"mean": "per-arms"}, "mean must be one of per-arm, common, zero"),
        ({"width": "scaled-lag"}, "unknown width 'scaled-lag'.*'scaled-log'"),
        ({"width": "scaled-log:c1=-1"}, "c1 must be .*at least 0"),
        ({"policies": ["random", "random"]}, "'random' is given more than once"),
    ],
)
def test_bad_arguments_are_named(arguments, message, without_type_checks):
    with pytest.raises(dp.DriftpeakError, match=message):
        replay(TABLE, **arguments)


@pytest.mark.slow
def test_side_queries_are_answered_from_the_table_and_counted():
    """What the expert says is what the table says, so SparQ's belief at a point just asked about
    is off by less than the noise it allows for."""
    runs = replay(TABLE, ["sparq", "gp-ucb"], train=0.4, trials=3, noise_variance=1e-6)
    asked = runs["side_queries"].sel(policy="sparq").values
    actions = runs["action"].sel(policy="sparq").values
    budget = np.ceil(np.log(np.arange(1, 31)))
    distinct = [[len(set(row[:t].tolist())) for t in range(30)] for row in actions]
    np.testing.assert_array_equal(asked, np.minimum(distinct, np.maximum(budget, 1)))
    assert (runs["side_queries"].sel(policy="gp-ucb") == 0).all()
    results = summarise(runs, independent_trials=False)
    assert results["sparq"].side_queries == asked.sum(axis=1).mean()
    assert results["sparq"].side_queries_per_step == asked.mean()
    assert results["gp-ucb"].side_queries == 0


@pytest.mark.slow
def test_pictures_show_side_queries_beside_the_regret_only_if_there_are_any():
    runs = replay(TABLE, ["w-sparq:exponent=0.5", "gp-ucb"], train=0.4, trials=2)
    total = runs["side_queries"].sel(policy="w-sparq").sum("step").mean()
    figure = regret_figure(runs, independent_trials=False)
    regret, queries = figure.axes
    (line,) = queries.lines
    np.testing.assert_allclose(line.get_ydata()[-1], total / 30)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [label for label in labels if f"{float(total):.4g} side queries" in label]
    assert len(regret.lines) == 2
    assert len(regret_figure(runs.sel(policy=["gp-ucb"]), independent_trials=False).axes) == 1
    titles = [axes.get_title(loc="left") for axes in track_figure(runs).axes]
    assert sum("side queries" in title for title in titles) == 1
