"""Verdicts on policies, and how the pictures show them: made of numbers, nothing is played."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from driftpeak._core.errors import DriftpeakError
from driftpeak.offline._policy_specs.policies import DEFAULT_POLICIES, HISTORIC, POLICIES
from driftpeak.plots import COLOURS, LOOKS, looks, time_axis, track_figure
from driftpeak.simulation._comparison import verdict
from driftpeak.simulation._plots import MOST_CURVES, band, ranking_figure, regret_figure
from driftpeak.simulation._results import summarise
from driftpeak.simulation._samples import standard_error


def made(regrets, labels=None, foresight=None):
    """A run with these regrets, one array of shape (trial, step) for each policy."""
    names, values = list(regrets), np.stack(list(regrets.values()))
    dims, size = ("policy", "trial", "step"), values.shape
    runs = xr.Dataset(
        {
            "regret": (dims, values),
            "side_queries": (dims, np.zeros(size)),
            "restarts": (dims, np.zeros(size)),
            "action": (dims, np.zeros(size, int)),
            "rewards": (("step", "arm"), np.tile([1.0, 0.0], (size[2], 1))),
            "seconds": ("policy", np.ones(len(names))),
            "compile_seconds": ("policy", np.ones(len(names))),
        },
        coords={
            "policy": names,
            "foresight": ("policy", foresight or ["none"] * len(names)),
            "step": np.arange(1, size[2] + 1),
        },
    )
    return runs if labels is None else runs.assign_coords(label=("step", labels))


RANDOM = np.random.default_rng(0)
NOISE = np.abs(RANDOM.normal(size=(1, 400)))
APART = made({"good": NOISE, "near": NOISE + 0.01 * RANDOM.normal(size=NOISE.shape),
              "bad": NOISE + 1 + 0.1 * RANDOM.normal(size=NOISE.shape)})  # fmt: skip


def test_differences_are_tested_in_pairs_and_adjusted():
    """Against Student's t written out, and Holm's factors: the smallest p-value counts twice."""
    found = verdict(APART, independent_trials=False)
    means = {name: APART["regret"].sel(policy=name).values.mean() for name in ("good", "near")}
    best = min(means, key=means.get)
    (other,) = {"good", "near"} - {best}
    assert found.best == best
    chances = {}
    for name in (other, "bad"):
        series = (APART["regret"].sel(policy=name) - APART["regret"].sel(policy=best)).values[0]
        blocks = series.reshape(20, 20).mean(axis=1)
        chances[name] = stats.ttest_1samp(blocks, 0).pvalue
        np.testing.assert_allclose(found.others[name].difference, series.mean())
        np.testing.assert_allclose(found.others[name].stderr, stats.sem(blocks))
    np.testing.assert_allclose(found.others["bad"].p_value, 2 * chances["bad"])
    np.testing.assert_allclose(found.others[other].p_value, chances[other])
    assert (found.alike, found.worse, found.clear) == ((other,), ("bad",), False)
    assert found.in_words() == (
        f"Some differences are significant: {best} had the lowest regret, not significantly lower "
        f"than {other}; bad tracked the peak significantly worse."
    )


def test_a_clear_verdict_names_no_policy_as_alike():
    found = verdict(APART.sel(policy=["near", "bad"]), independent_trials=False)
    assert found.clear
    text = found.in_words(unit="m")
    assert text.startswith("The differences are significant: near tracked the peak best")
    one = found.others["bad"]
    assert f"{one.difference:.3g} +- {one.stderr:.2g} m less regret per step than bad" in text
    assert "not significantly" not in text


def test_nothing_apart_equal_and_alone():
    equal = made({"a": NOISE, "b": NOISE})
    text = verdict(equal, independent_trials=False).in_words()
    assert text == (
        "The differences are not significant: a had the lowest regret, not significantly lower "
        "than b. b had exactly the regret of a."
    )
    alone = verdict(equal.sel(policy=["b"]), independent_trials=False)
    assert alone.in_words() == "b was the only policy, so there is no comparison."
    assert alone.clear
    once = verdict(APART, independent_trials=True)
    assert "Run more trials" in once.in_words()
    assert not once.clear
    with pytest.raises(DriftpeakError, match="candidates must name at least one policy"):
        verdict(made({"a": NOISE}, foresight=["all"]), independent_trials=False)


def test_a_constant_difference_is_no_chance():
    found = verdict(made({"a": 0 * NOISE, "b": 0 * NOISE + 0.5}), independent_trials=False)
    assert found.clear
    assert found.others["b"].p_value == 0


@pytest.mark.slow
def test_chance_is_called_a_difference_seldom():
    """Of 200 sets of five equal policies some difference is found in at most 5 %, give or take:
    more than 20 has a probability below 0.002 at 5 %."""
    random, wrong = np.random.default_rng(5), 0
    for _ in range(200):
        values = {name: random.normal(size=(1, 100)) for name in "abcde"}
        wrong += bool(verdict(made(values), independent_trials=False).worse)
    assert wrong <= 20


def test_bands_are_the_errors_of_the_steps_so_far():
    regret = np.abs(RANDOM.normal(size=(3, 60)))
    for independent in (False, True):
        at, error = band(regret, independent)
        for step, one in zip(at, error, strict=True):
            expected = standard_error(regret[:, : step + 1], independent_trials=independent)
            assert one == expected
    assert at[-1] == 59
    assert len(band(regret[:1], True)[0]) == 0
    runs = made({"gp-ucb": regret, "auto": regret + 1})
    figure = regret_figure(runs, independent_trials=False)
    bands = {tuple(one.get_facecolor()[0][:3]) for one in figure.axes[0].collections}
    assert len(bands) == 2
    low, high = figure.axes[0].collections[-1].get_paths()[0].get_extents().get_points()[:, 1]
    stderr = summarise(runs, independent_trials=False)["gp-ucb"].stderr
    texts = {text.get_text() for text in figure.legends[0].get_texts()}
    decimals = 1 - int(np.floor(np.log10(stderr)))  # two digits of the error, equally for both
    assert texts == {
        f"{name}: {mean:.{decimals}f} $\\pm$ {stderr:.{decimals}f}"
        for name, mean in (("gp-ucb", regret.mean()), ("auto", regret.mean() + 1))
    }
    assert low < regret.mean() < high


def test_many_policies_are_ranked_dots():
    names = [*DEFAULT_POLICIES, *HISTORIC, "clairvoyant"]
    foresight = ["none"] * 9 + ["present"]
    regrets = {name: NOISE * (1 + place) for place, name in enumerate(names[:-1])}
    runs = made(regrets | {"clairvoyant": 0 * NOISE}, foresight=foresight)
    assert runs.sizes["policy"] > MOST_CURVES
    figure = regret_figure(runs, independent_trials=False)
    axes = figure.axes[0]
    shown = [text.get_text() for text in axes.get_yticklabels()]
    assert shown == [*names[-2::-1], "clairvoyant"]
    dots = [line for line in axes.lines if line.get_marker() in "os" and len(line.get_xdata())]
    marks = {shown[int(line.get_ydata()[0])]: line for line in dots}
    assert marks["auto"].get_markerfacecolor() == marks["auto"].get_color()  # the best
    assert marks["timetable"].get_markerfacecolor() == "white"  # worse
    assert marks["clairvoyant"].get_marker() == "s"
    interval = next(line for line in axes.lines if list(line.get_ydata()) == [8, 8])
    reach = stats.t.ppf(0.975, 19) * standard_error(NOISE, independent_trials=False)
    np.testing.assert_allclose(interval.get_xdata(), NOISE.mean() + np.array([-reach, reach]))
    one = ranking_figure(runs.isel(policy=[9]), independent_trials=False)
    assert one.axes[0].get_yticklabels()[0].get_text() == "clairvoyant"
    assert len(track_figure(runs).axes) == 8


def test_looks_belong_to_policies():
    assert set(LOOKS) <= set(POLICIES) | set(HISTORIC)
    assert len(set(LOOKS.values())) == len(LOOKS)
    learning = [LOOKS[name].colour for name in DEFAULT_POLICIES if name != "random"]
    assert len(set(learning)) == len(learning)  # told apart by colour alone
    first, second = looks(["auto", "gp-ucb", "mine"]), looks(["mine", "other", "random", "auto"])
    assert first["auto"] == second["auto"] == LOOKS["auto"]
    assert first["mine"] == second["mine"]
    assert looks(["R-GP-UCB (period 12)"])["R-GP-UCB (period 12)"] == LOOKS["r-gp-ucb"]
    settings = looks([f"tv-gp-ucb:drift=0.{number}" for number in range(1, 5)])
    assert {one.colour for one in settings.values()} == {LOOKS["tv-gp-ucb"].colour}
    assert len(set(settings.values())) == 4
    crowd = looks([f"policy {number}" for number in range(32)])
    assert len(set(crowd.values())) == 32
    assert {one.colour for one in crowd.values()} == set(COLOURS)
    assert len(looks([f"policy {number}" for number in range(40)])) == 40


@pytest.mark.parametrize(
    ("labels", "kind", "last"),
    [
        (["2026-03-01", "2026-03-02", "2026-03-03"], "M", np.datetime64("2026-03-03")),
        (["2026-03-01T08:00:00Z", "2026-03-01T09:00Z", "2026-03-01T12:00+02:00"], "M",
         np.datetime64("2026-03-01T10:00")),
        (["2010-10", "2010-11", "2010-12"], "M", np.datetime64("2010-12")),
        (["1", "2", "5"], "f", 5.0),
        (["3", "2", "1"], "i", 3),
        (["2026-03-01", "2026-03-02T00:00Z", "2026-03-03"], "i", 3),
        (["a", "b", "c"], "i", 3),
    ],
)  # fmt: skip
def test_the_time_axis_has_dates_where_there_are_some(labels, kind, last):
    x, name = time_axis(made({"a": NOISE[:, :3]}, labels))
    assert np.asarray(x).dtype.kind == kind
    assert x[-1] == last
    assert name == ("step t" if kind == "i" else "time")
