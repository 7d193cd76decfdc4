"""Claims: samples, intervals, verdicts, and how often they are wrong."""

import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, strategies as st
from scipy import stats

import driftpeak as dp
from driftpeak._core.numerics.holm import holm
from driftpeak.experiments.bootstrap import Bootstrap, in_words, interval, samples_to_decide
from driftpeak.experiments.claims import Claim, Column, Comparison, judge, lower, lowest, majority
from driftpeak.simulation._samples import by_sample, standard_error

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import results


def results_of(
    regrets: dict[str, np.ndarray], independent: int = 1, *, steps: int | None = None
) -> dict[str, xr.Dataset]:
    values = np.stack(list(regrets.values()))
    runs = xr.Dataset(
        {"regret": (("policy", "trial", "step"), values)},
        coords={"policy": list(regrets)},
        attrs={
            "independent_trials": independent,
            "steps": next(iter(regrets.values())).shape[1] if steps is None else steps,
        },
    )
    return {"case": runs}


def test_interval_of_a_mean_covers_as_often_as_stated():
    """Normal samples of 8: the 95 % interval misses zero in about 5 % of 400 sets.

    More than 9 % would happen with probability 3e-4 if the rate were 5 %.
    """
    generator = np.random.default_rng(1)
    missed = 0
    for _ in range(400):
        low, high = interval(generator.normal(size=(8, 1)), lambda s: s[..., 0].mean(axis=-1))
        missed += low > 0 or high < 0
    assert 0.02 < missed / 400 < 0.09


def test_interval_agrees_with_student_for_many_samples():
    samples = np.random.default_rng(2).normal(size=(200, 1))
    low, high = interval(samples, lambda s: s[..., 0].mean(axis=-1))
    error = samples.std(ddof=1) / np.sqrt(200)
    np.testing.assert_allclose([low, high], samples.mean() + np.array([-1, 1]) * 1.972 * error,
                               atol=0.1 * error)  # fmt: skip


def test_verdicts():
    generator = np.random.default_rng(3)
    world = generator.normal(size=(20, 1)) * 10  # shared by both: only pairing sees the difference
    low, high = world + np.zeros(6), world + 0.5 + 0.1 * generator.normal(size=(20, 6))
    results = results_of({"low": low, "high": high, "same": low[::-1]})
    wins = Claim("", (lower(("case", "low"), ("case", "high")),))
    loses = Claim("", (lower(("case", "high"), ("case", "low")),))
    even = Claim("", (lower(("case", "low"), ("case", "same")),))
    assert judge(wins, results).verdict == "holds"
    assert judge(loses, results).verdict == "does not hold"
    assert judge(even, results).verdict == "undecided"
    both = Claim("", wins.comparisons + loses.comparisons)
    assert judge(both, results).verdict == "does not hold"
    unsure = Claim("", wins.comparisons + even.comparisons)
    assert judge(unsure, results).verdict == "undecided"
    few = {"case": results["case"].isel(trial=slice(4))}
    few["case"].attrs = results["case"].attrs
    [one] = judge(wins, few).measured
    assert judge(wins, few).verdict == one.verdict == "too few trials"
    assert "too few trials for an interval: at least 5" in str(one)
    assert (one.low, one.high) == (-np.inf, np.inf)


def test_a_claim_depends_on_what_the_paper_leaves_open_only_where_it_holds_here_and_fails_there():
    generator = np.random.default_rng(4)
    low = generator.normal(size=(20, 6))
    results = results_of({"low": low, "high": low + 1, "same": low[::-1]})
    wins, loses = lower(("case", "low"), ("case", "high")), lower(("case", "high"), ("case", "low"))
    even = lower(("case", "low"), ("case", "same"))
    for settings, verdict in (
        ((wins, wins), "holds"),
        ((loses, loses), "does not hold"),
        ((wins, loses), "depends"),
        ((wins, loses, even), "depends"),
        ((wins, even), "undecided"),
        ((loses, even), "undecided"),
    ):
        claim = Claim("", {str(number): (one,) for number, one in enumerate(settings)})
        judgement = judge(claim, results)
        assert judgement.verdict == verdict
        assert [ruling.setting for ruling in judgement.rulings] == list(claim.settings)
        assert len(judgement.measured) == len(settings)


def test_columns_take_the_steps_they_name():
    results = results_of({"a": np.arange(20.0).reshape(2, 10)})
    np.testing.assert_allclose(Column("case", "a", first=3, last=5).samples(results), [3, 13])


def test_one_history_is_compared_by_blocks_of_steps():
    results = results_of({"a": np.arange(16.0).reshape(1, 16)}, independent=0)
    np.testing.assert_allclose(Column("case", "a").samples(results), [1.5, 5.5, 9.5, 13.5])


def test_several_cases_are_one_sample_each():
    """Seven days, "low" the lower one on six of them: 6/7 of the days, less a half."""
    generator = np.random.default_rng(6)
    days = {}
    for day in range(7):
        high = generator.normal(size=(3, 8))
        low = high + (0.5 if day == 4 else -0.5)
        days[str(day)] = results_of({"low": low, "high": high}, independent=0)["case"]
    low, high = (Column(tuple(days), name) for name in ("low", "high"))
    np.testing.assert_allclose(
        low.samples(days), [days[day]["regret"].values[0].mean() for day in days]
    )
    [most] = judge(Claim("", (Comparison("", (high, low), majority),)), days).measured
    np.testing.assert_allclose(most.estimate, 6 / 7 - 1 / 2)
    assert most.samples == 7
    # resampled shares are counts of Binomial(7, 6/7) over 7, at the widened level 0.0041
    np.testing.assert_allclose(most.low, stats.binom.ppf(0.0041, 7, 6 / 7) / 7 - 1 / 2)
    assert most.verdict == "undecided"


def test_samples_that_cannot_be_paired_are_refused():
    results = results_of({"a": np.zeros((3, 4))}) | {
        "other": results_of({"a": np.zeros((2, 4))})["case"]
    }
    with pytest.raises(dp.DriftpeakError, match="equal numbers of samples to be paired"):
        judge(Claim("", (Comparison("x", (Column("case", "a"), Column("other", "a"))),)), results)


def test_totals_count_per_step():
    """Of a case that keeps totals only, columns are per step like all others."""
    rng = np.random.default_rng(0)
    regrets = {"a": rng.normal(size=(9, 50)), "b": rng.normal(size=(9, 50))}
    totals = {name: one.sum(axis=1, keepdims=True) for name, one in regrets.items()}
    claim = Claim("", (lower(("case", "a"), ("case", "b")),))
    [every] = judge(claim, results_of(regrets)).measured
    [total] = judge(claim, results_of(totals, steps=50)).measured
    np.testing.assert_allclose([total.estimate, total.low], [every.estimate, every.low])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_the_sequential_procedure(p_values):
    """Rejections at every level are those of the procedure as Holm states it: from the smallest on,
    the i-th of m against alpha / (m - i + 1), until the first that is larger."""
    adjusted = holm(p_values)
    for alpha in (0.01, 0.025, 0.2, 0.8):
        rejected = set()
        for place, number in enumerate(np.argsort(p_values, kind="stable")):
            if (len(p_values) - place) * p_values[number] > alpha:
                break
            rejected.add(int(number))
        assert set(np.flatnonzero(adjusted <= alpha)) == rejected


def test_p_values_agree_with_students_t():
    """One-sided, of means of 12 to 100 normal samples: as the t-test's to a quarter of its size."""
    generator = np.random.default_rng(4)
    for count in (12, 30, 100):
        samples = generator.normal(-0.5 * (12 / count) ** 0.5, 1, size=(count, 1))
        found = Bootstrap.of(samples, lambda s: s[..., 0].mean(axis=-1)).p_value()
        truth = stats.ttest_1samp(samples[:, 0], 0, alternative="less").pvalue
        np.testing.assert_allclose(found, truth, rtol=0.25)


def test_a_single_comparison_is_refuted_where_its_interval_ends_below_zero():
    generator = np.random.default_rng(5)
    for shift in np.linspace(-1.2, 0, 13):
        samples = generator.normal(shift, 1, size=(12, 1))
        found = Bootstrap.of(samples, lambda s: s[..., 0].mean(axis=-1))
        p_value = found.p_value()
        if abs(p_value - 0.025) > 1e-3:
            assert (found.interval()[1] < 0) == (p_value < 0.025)


def refuted(comparisons: int, sets: int, *, trials: int, draw) -> tuple[float, float]:
    """Of claims whose comparisons all are 0 in truth, the share that is refuted: by any interval
    that ends below zero, and by `judge`."""
    others = [f"other {number}" for number in range(comparisons)]
    claim = Claim("", lowest("case", "one", others))
    by_any, by_judge = 0, 0
    for _ in range(sets):
        values = draw((1 + comparisons, trials, 1))
        found = judge(claim, results_of(dict(zip(["one", *others], values, strict=True))))
        by_any += any(one.high < 0 for one in found.measured)
        by_judge += found.verdict == "does not hold"
    return by_any / sets, by_judge / sets


@pytest.mark.parametrize("comparisons", [3, 10])
@pytest.mark.parametrize(
    ("law", "trials"),
    [
        pytest.param("normal", 10, marks=pytest.mark.slow),
        pytest.param("exponential", 50, marks=pytest.mark.long),
    ],
)
def test_true_differences_of_zero_refute_at_most_one_claim_in_twenty(
    law, trials, comparisons, monkeypatch
):
    """300 claims, every policy's regret drawn alike: at most 5 % are refuted, where by any one
    interval 7 to 8 % (3 comparisons) and 14 to 18 % (10) were. If the rate is 2.5 %, as it is meant
    to be, more than 5 % of 300 are a false alarm of probability 0.4 %."""
    monkeypatch.setattr("driftpeak.experiments.bootstrap.RESAMPLES", 2_000)
    draw = getattr(np.random.default_rng(7), law)
    by_any, by_judge = refuted(comparisons, 300, trials=trials, draw=lambda shape: draw(size=shape))
    assert by_judge <= 0.05 < by_any


def test_settings_are_one_family():
    """Three settings of ten comparisons: the adjusted p-values are those of thirty."""
    generator = np.random.default_rng(11)
    values = {str(n): generator.normal(-0.2, 1, size=(12, 3)) for n in range(31)}
    results = results_of(values)
    others = [lower(("case", "0"), ("case", str(n))) for n in range(1, 31)]
    together = judge(Claim("", tuple(others)), results)
    apart = judge(Claim("", {str(i): tuple(others[i::3]) for i in range(3)}), results)
    found = {one.label: one.refuted_at for one in apart.measured}
    assert found == {one.label: one.refuted_at for one in together.measured}
    alone = judge(Claim("", (others[0],)), results).measured[0].refuted_at
    assert found[others[0].label] >= alone


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 9, 16, 100])
def test_the_blocks_of_a_claim_are_those_of_its_standard_error(steps):
    """One rule: means of about sqrt(T) blocks, and at least two."""
    values = np.random.default_rng(9).normal(size=(3, steps))
    blocks = by_sample(values, independent_trials=False)
    results = results_of({"a": values}, independent=0)
    np.testing.assert_array_equal(Column("case", "a").samples(results), blocks)
    assert len(blocks) == max(min(2, steps), round(steps**0.5))
    error = standard_error(values, independent_trials=False)
    if steps > 1:
        np.testing.assert_allclose(error, blocks.std(ddof=1) / len(blocks) ** 0.5)


def test_numbers_in_words():
    assert in_words(1.234, 0.5, 2) == "1.23 [0.5, 2]"
    assert in_words(1.234, -np.inf, np.inf, ".1f").startswith("1.2 (too few trials")


def test_samples_that_would_decide():
    """Against Student's t at the number found and one before it; 0.032 [-0.062, 0.110] of 5."""
    found = samples_to_decide(0.032, -0.062, 0.110, 5)
    deviation = 0.086 * np.sqrt(5) / stats.t.ppf(0.975, 4)
    reach = [stats.t.ppf(0.975, n - 1) * deviation / np.sqrt(n) for n in (found - 1, found)]
    assert reach[1] < 0.032 <= reach[0]
    assert found == 21
    assert samples_to_decide(-0.032, -0.110, 0.062, 5) == found
    assert samples_to_decide(0.0, -1.0, 1.0, 5) == np.inf
    assert samples_to_decide(1.0, -np.inf, np.inf, 3) == np.inf


def test_the_number_decides_about_half_of_the_time():
    """At the true mean and deviation an interval of that many samples ends above zero in half."""
    count = int(samples_to_decide(0.5, 0.5 - 2.0, 0.5 + 2.0, 10))
    deviation = 2.0 * np.sqrt(10) / stats.t.ppf(0.975, 9)
    drawn = 0.5 + deviation * np.random.default_rng(0).normal(size=(2_000, count))
    reach = stats.t.ppf(0.975, count - 1) * drawn.std(axis=1, ddof=1) / np.sqrt(count)
    share = (drawn.mean(axis=1) > reach).mean()
    assert abs(share - 0.5) < 4 * 0.5 / 2_000**0.5  # false alarms: one in 15,000


def test_what_would_decide_a_setting():
    def comparison(estimate, verdict="undecided"):
        return {"estimate": estimate, "low": estimate - 0.5, "high": estimate + 0.5,
                "samples": 10, "verdict": verdict}  # fmt: skip

    def needed(*comparisons):
        return results.needed({"verdict": "undecided", "comparisons": comparisons})

    near, far = (samples_to_decide(m, m - 0.5, m + 0.5, 10) for m in (0.4, 0.1))
    assert needed(comparison(0.4), comparison(0.1)) == f"{far:.0f}"  # all must hold
    assert needed(comparison(-0.4), comparison(0.1)) == f"{near:.0f}"  # one refutes
    assert needed(comparison(0.4), comparison(0.6, "holds")) == f"{near:.0f}"
    assert needed(comparison(0.0)) == "more than 10,000"
    assert results.needed({"verdict": "holds", "comparisons": []}) == ""


def test_a_run_of_one_experiment_replaces_its_section():
    def summary(**verdicts):
        claims = {
            name: [{"claim": "c", "whose": "paper", "verdict": verdict, "settings": [
                {"setting": "", "verdict": verdict, "comparisons": []}]}]
            for name, verdict in verdicts.items()
        }  # fmt: skip
        return {
            "experiments": {
                name: {"title": "t", "source": "s", "choices": [], "seed": 0, "tables": [],
                       "claims": claim}
                for name, claim in claims.items()
            }
        }  # fmt: skip

    before = results.page(summary(a="holds", b="does not hold", c="holds"), "Every claim")
    assert "3 claims of the papers, of which 2 hold, 1 do not hold; and 0 additional" in before
    after = results.updated(before, summary(b="depends"), "Every claim")
    assert after == results.page(summary(a="holds", b="depends", c="holds"), "Every claim")
