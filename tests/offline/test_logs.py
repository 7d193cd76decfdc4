"""Logs from files and arrays: what is read, what is refused, and what is learned."""

import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from driftpeak._core.errors import DataError, DriftpeakError
from driftpeak.offline.logs import ChoiceLog, learn_from_log, log_figure, read_log
from driftpeak.offline.logs._alternatives import RECOMMENDED, alternatives, best_so_far
from driftpeak.offline.logs._arms import arms_of
from driftpeak.offline.logs._assignment import assignment_of
from driftpeak.offline.logs._model import Steps, forecasts, learned

OPTIONS = {"choice": "price", "reward": "revenue", "time": "when"}


def rows(count=10, **changed):
    """Lines of a log: prices 1, 2, 3, ..., revenues 10, 11, 12, ..., by day."""
    columns = {
        "when": [f"2026-01-{day:02}" for day in range(1, count + 1)],
        "price": [str(1 + day % 3) for day in range(count)],
        "revenue": [f"{10 + day}.5" for day in range(count)],
    } | changed
    lines = [",".join(columns)] + [",".join(cells) for cells in zip(*columns.values(), strict=True)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "log.csv"
        path.write_text(text)
        return path

    return write


def test_a_log_is_read(file):
    log = read_log(file(rows(ignored=["x"] * 10)), **OPTIONS)
    assert log.choices == (1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0)
    np.testing.assert_array_equal(log.rewards, np.arange(10) + 10.5)
    assert str(log.times[0])[:10] == "2026-01-01"
    np.testing.assert_array_equal(log.elapsed, 86400.0 * np.arange(-9, 1))
    assert (log.numeric, log.propensities, log.notes) == (True, None, ())


def test_lines_are_sorted_by_time(file):
    text = rows().splitlines()
    text[1:] = text[:0:-1]
    log = read_log(file("\n".join(text)), **OPTIONS, context=["price"][:0])
    np.testing.assert_array_equal(log.rewards, np.arange(10) + 10.5)
    assert any("sorted by time: the time decreased in 9 places" in note for note in log.notes)


def test_numbers_with_commas_names_and_contexts(file):
    text = rows(
        price=["a", "b"] * 5, revenue=[f'"{n},5"' for n in range(10)], day=list("MTWMTWMTWM"),
        p=['"0,5"'] * 10,
    )  # fmt: skip
    log = read_log(file(text), **OPTIONS, context=["day"], propensity="p")
    assert log.choices[:2] == ("a", "b")
    assert log.contexts == {"day": tuple("MTWMTWMTWM")}
    np.testing.assert_array_equal(log.propensities, 0.5)
    assert log.rewards[1] == 1.5


def test_blank_cells_and_repeated_lines(file):
    gappy = rows(revenue=["1", "", "nan", *"4567890"])
    with pytest.raises(DataError, match=r"line 3, column 'revenue': the cell is blank, the first o"
                                        r"f 2 lines .*missing=drop"):  # fmt: skip
        read_log(file(gappy), **OPTIONS)
    log = read_log(file(gappy), **OPTIONS, missing="drop")
    assert len(log) == 8
    assert "omitted lines with a blank cell: 2 of 10" in log.notes
    twice = rows() + rows().splitlines()[3] + "\n"
    log = read_log(file(twice), **OPTIONS)
    assert len(log) == 11
    assert any("1 line repeats another line in all columns, the first is line 12" in note
               for note in log.notes)  # fmt: skip
    assert len(read_log(file(twice), **OPTIONS, duplicates="drop")) == 10
    with pytest.raises(DataError, match="duplicates=drop"):
        read_log(file(twice), **OPTIONS, duplicates="error")


REFUSED = {
    "unknown column": (
        rows(), {"choice": "prcie"},
        r"choice must name a column of .*; got 'prcie'. Did you mean 'price'\? The columns are wh",
    ),
    "missing column": (rows(), {"propensity": "odds"}, "propensity must name .* columns are when,"),
    "named twice": (rows(), {"reward": "price"}, "reward must name another column than choice"),
    "text reward": (
        rows(revenue=["x", *"123456789"]), {},
        "line 2, column 'revenue': 'x' is not a number; a reward must be a number such as 12.5",
    ),
    "infinite reward": (rows(revenue=["inf", *"123456789"]), {}, r"in \[-1e100, 1e100\]; got 'inf"),
    "propensity of 0": (
        rows(p=["0", *["0.5"] * 9]), {"propensity": "p"},
        r"line 2, column 'p': propensity must be a probability in \(0, 1\]; got '0', the first of",
    ),
    "propensity above 1": (
        rows(p=["50", *["0.5"] * 9]), {"propensity": "p"}, r"in \(0, 1\]; got '50'.*propensity=",
    ),
    "constant choice": (
        rows(price=["7"] * 10), {}, "choices must differ .* got 7.0 in all 10. Nothing can be lear",
    ),
    "short": (rows(4), {}, "at least 8 steps; got 4"),
    "empty": ("", {}, "the file is empty"),
    "only a header": ("when,price,revenue\n", {}, "only a header line"),
    "half numbers": (rows(price=["x", *"123456789"]), {}, "line 2, column 'price': 'x' is not a"),
    "text times": (rows(when=list("abcdefghij")), {}, "a time must be a date .*or omit time="),
    "bad date": (rows(when=["2026-13-01", *rows().split()[2:11]][:1] * 10), {}, "does not exist"),
    "treatment": (rows(), {"missing": "ignore"}, "missing must be one of error, drop; got 'ignor"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("without_type_checks")
def test_what_is_refused_in_words_with_a_remedy(case, file):
    text, options, message = REFUSED[case]
    path = file(text)
    with pytest.raises(DriftpeakError, match=message) as caught:
        read_log(path, **OPTIONS | options)
    assert str(caught.value).count(str(path)) <= 1


CELLS = st.sampled_from(
    ["", "nan", "1", "2.5", "-3", "1e300", "inf", "1,5", "1.234,5", "x", "é", "2026-01-05", "0",
     "05/06/2026", "12:00", '"a,b"', '"', "\x00", "1" * 400, "١", "NaT", "-", "2026-02-30", "1_0"]
)  # fmt: skip
NAMES = st.sampled_from(["when", "price", "revenue", "p", "day", "pricé", "", "1"])


@pytest.mark.slow
@settings(max_examples=150)
@given(
    header=st.lists(NAMES, min_size=1, max_size=6),
    body=st.lists(st.lists(CELLS, min_size=1, max_size=6), max_size=14),
    same=st.booleans(),
    separator=st.sampled_from([",", ";", "\t"]),
    options=st.fixed_dictionaries(
        {},
        optional={
            "time": NAMES, "propensity": NAMES, "context": st.lists(NAMES, max_size=2),
            "missing": st.sampled_from(["error", "drop"]), "unordered": st.booleans(),
            "duplicates": st.sampled_from(["keep", "drop", "error"]),
            "decimal": st.sampled_from(["point", "comma"]),
            "dates": st.sampled_from(["day-first", "year-first"]),
        },
    ),
)  # fmt: skip
def test_any_file_is_a_log_or_refused_in_one_line(header, body, same, separator, options):
    if same:  # lines as long as the header
        body = [(line * 6)[: len(header)] for line in body] * 3
    text = "\n".join(separator.join(line) for line in [header, *body])
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / "log.csv"
        path.write_bytes(text.encode())
        try:
            log = read_log(path, choice="price", reward="revenue", **options)
        except DriftpeakError as error:
            refused = str(error)
        else:
            refused = None
    if refused is not None:
        assert len(refused.splitlines()) == 1
        return
    assert len(log) == len(log.choices) >= 8
    assert np.isfinite(log.rewards).all()
    assert (np.diff(log.elapsed) >= 0).all()
    assert log.propensities is None or (log.propensities > 0).all()


def test_arrays_are_checked():
    good = {"choices": [1.0, 2.0] * 5, "rewards": np.arange(10.0)}
    for changed, message in (
        ({"rewards": [1.0] * 9}, "choices must have one number per reward, 9; got 10"),
        ({"rewards": [np.nan] * 10}, "finite"),
        ({"choices": [1, "b"] * 5}, "all numbers or all strings"),
        ({"propensities": [1.5] * 10}, r"probabilities in \(0, 1\]; got 1.5 at index \[0\]"),
        ({"times": np.arange(10.0)[::-1]}, "times must not decrease"),
        ({"contexts": {"day": ["a"]}}, r"contexts\['day'\] must have one value per reward"),
        ({"choices": list(map(str, range(300))), "rewards": np.zeros(300)}, "at most 200"),
    ):
        with pytest.raises(DataError, match=message):
            ChoiceLog(**good | changed)


# how the choices were made


def made(kind, seed, steps=200, arms=4):
    random = np.random.default_rng(seed)
    chosen, rewards = random.integers(arms, size=steps), random.normal(size=steps)
    context = random.integers(3, size=steps)
    sums, counts = np.zeros(arms), np.zeros(arms)
    for step in range(steps):
        best = int(np.argmax(sums / np.maximum(counts, 1)))
        if kind == "greedy" and random.random() < 0.4:
            chosen[step] = best
        if kind == "sticky" and step and random.random() < 0.4:
            chosen[step] = chosen[step - 1]
        if kind == "by context" and random.random() < 0.6:
            chosen[step] = context[step]
        sums[chosen[step]] += rewards[step]
        counts[chosen[step]] += 1
    if kind == "in turn":
        chosen = np.arange(steps) % arms
    if kind == "halves":
        chosen = chosen // 2 + arms // 2 * (np.arange(steps) >= steps // 2)
    contexts = {"weather": [f"c{one}" for one in context]}
    return ChoiceLog([f"a{one}" for one in chosen], rewards, contexts=contexts)


def judged(log, randomised=None):
    return assignment_of(log, arms_of(log), randomised)


@pytest.mark.parametrize("kind", ["in turn", "greedy", "sticky", "halves", "by context"])
def test_choices_that_are_not_uniform_are_noticed(kind):
    """In at least 8 of 10 logs."""
    assert sum(judged(made(kind, seed)).kind == "unknown" for seed in range(10)) >= 8


def test_uniform_choices_are_accepted():
    """At most 1 % are refused: 3 or more of 30 have probability 0.3 %."""
    assert sum(judged(made("uniform", seed)).kind == "unknown" for seed in range(30)) < 3


def test_what_is_stated_about_the_choices():
    log, turns = made("uniform", 0), made("in turn", 0)
    assert judged(log, False).kind == "unknown"
    assert "as stated; but choices depend on" in judged(turns, True).words
    short = ChoiceLog(list("abcd") * 5, np.arange(20.0))
    assert "too short to test" in judged(short).words
    frequent = ChoiceLog(["a"] * 90 + ["b"] * 10, np.arange(100.0))
    assert judged(frequent, True).kind == "unknown"
    uneven = ChoiceLog(list("ab") * 50, np.arange(100.0), propensities=np.full(100, 0.1))
    assert "their inverses have the mean 10, but 2 is expected" in judged(uneven).words


# alternatives and forecasts


def test_best_so_far_by_its_definition():
    log = made("uniform", 3, steps=60)
    arms, groups = arms_of(log), np.arange(60) % 2
    for window in (7, 60):
        chosen = best_so_far(arms, log.rewards, groups, window)
        for step in range(60):
            seen = [t for t in range(max(0, step - window), step) if groups[t] == groups[step]]
            means = {
                arm: np.mean([log.rewards[t] for t in seen if arms.labels[t] == arm])
                for arm in {int(arms.labels[t]) for t in seen}
            }
            best = max(means, key=means.get) if means else 0
            assert chosen[step] == best


def test_alternatives_use_no_later_steps():
    log = made("uniform", 4, steps=80)
    arms = arms_of(log)
    random = np.random.default_rng(0)
    means, deviations = random.normal(size=(80, 4)), np.ones((80, 4))
    before = alternatives(log, arms, means, deviations, 10, 1.0)
    changed = ChoiceLog(log.choices, np.append(log.rewards[:50], 100 * log.rewards[50:]),
                        contexts=log.contexts)  # fmt: skip
    after = alternatives(changed, arms, means, deviations, 10, 1.0)
    assert {"always a0", "best of the last 10 steps", "best so far by weather"} <= set(before)
    for name in before:
        np.testing.assert_array_equal(before[name][:51], after[name][:51])
    lowest = alternatives(log, arms, means, deviations, 10, -1.0)[RECOMMENDED]
    np.testing.assert_array_equal(lowest, means.argmin(axis=1))


@pytest.mark.slow
def test_forecasts_by_the_dense_formula():
    """One-step forecasts equal a Gaussian process in NumPy, given the steps before."""
    random = np.random.default_rng(5)
    count, boundary = 24, 16
    numbers = random.uniform(size=count)
    rewards = np.sin(5 * numbers) + 0.1 * random.normal(size=count)
    steps = Steps(numbers[:, None], np.array([False]), np.arange(-count + 1.0, 1.0), rewards)
    candidates = np.repeat(np.array([0.1, 0.5, 0.8])[None, :, None], count, axis=0)
    means, deviations = forecasts(steps, candidates, [boundary])
    np.testing.assert_allclose(means[1:boundary, 0], [rewards[:i].mean() for i in range(1, 16)])
    model, scale, _ = learned(steps.part(0, boundary))

    def covariance(x, s, y, t):
        far = np.sqrt(5) * np.abs(x[:, None] - y[None]) / float(model.lengthscale[0])
        drift = np.exp(-np.abs(s[:, None] - t[None]) / float(model.timescale))
        return float(model.variance) * (1 + far + far**2 / 3) * np.exp(-far) * drift

    for step in range(boundary, count):
        x, t = numbers[:step], steps.times[:step]
        gram = covariance(x, t, x, t) + float(model.noise_variance) * np.eye(step)
        across = covariance(x, t, candidates[step, :, 0], np.repeat(steps.times[step], 3))
        centred = (rewards[:step] - scale.centre) / scale.width - float(model.level)
        mean = float(model.level) + across.T @ np.linalg.solve(gram, centred)
        left = float(model.variance) - (across * np.linalg.solve(gram, across)).sum(axis=0)
        np.testing.assert_allclose(means[step], scale.centre + scale.width * mean, rtol=1e-6)
        np.testing.assert_allclose(deviations[step], scale.width * np.sqrt(left), rtol=1e-5)


# the report


@pytest.fixture(scope="module")
def three():
    """Three arms, drawn uniformly; the best one changes from c to a."""
    random = np.random.default_rng(1)
    count = 60
    chosen = random.integers(3, size=count)
    drift = np.cos(np.arange(count) * np.pi / count)
    rewards = 5 + (chosen - 1) * drift + 0.2 * random.normal(size=count)
    times = np.datetime64("2026-03-01") + np.arange(count) * np.timedelta64(1, "D")
    return ChoiceLog([list("abc")[one] for one in chosen], rewards, times=times), drift


@pytest.fixture(scope="module")
def report(three):
    return learn_from_log(three[0], arms=["d"], unit="EUR")


@pytest.mark.slow
def test_the_recommendation_follows_the_drift(report):
    assert (report.now.choice, report.next.choice) == ("a", "a")
    assert report.now.low < 6.0 < report.now.high  # true value 5.999
    assert (report.last, report.next.when) == ("2026-04-29", "2026-04-30")
    assert report.untried == ("d",)
    assert report.randomised


def test_values_of_alternatives_contain_the_truth(three, report):
    _, drift = three
    by_name = {one.name: one for one in report.alternatives}
    for arm, name in enumerate("abc"):
        one = by_name[f"always {name}"]
        assert one.low < (5 + (arm - 1) * drift).mean() < one.high
        assert one.estimator == "replay"
        assert {"self-normalised", "doubly robust", "inverse propensity"} == set(one.others)
        assert one.others["self-normalised"] == pytest.approx(one.value)
    assert by_name[RECOMMENDED].value > by_name["always b"].value
    values = [one.value for one in report.alternatives if one.estimated]
    assert values == sorted(values, reverse=True)


def test_text_and_data(report):
    text = str(report)
    assert max(map(len, text.splitlines())) <= 80
    assert "Recommended now, 2026-04-29: choice a, with mean reward" in text
    assert "Never tried: choice d." in text
    assert "replay estimates, 95 %" in text
    data = json.loads(json.dumps(report.as_data(), allow_nan=False))
    assert data["now"]["choice"] == "a"
    assert len(data["curve"]["mean"]) == 3
    assert len(data["alternatives"]) == len(report.alternatives)


@pytest.mark.slow
def test_what_cannot_be_estimated_is_said(three):
    log, _ = three
    fixed = learn_from_log(log, randomised=False, minimize=True)
    assert fixed.now.choice == "c"
    assert not any(one.estimated for one in fixed.alternatives)
    text = " ".join(str(fixed).split())
    assert "The alternatives cannot be estimated from this log." in text
    assert "name its column with propensity=" in text
    assert "may be confounded" in text


def test_the_figure(three, report):
    figure = log_figure(three[0], report, title="a log")
    left, right = figure.axes
    assert [label.get_text() for label in left.get_xticklabels()] == ["a", "b", "c"]
    assert len(right.get_yticks()) == sum(one.estimated for one in report.alternatives)


@pytest.mark.slow
def test_ranges_densities_and_contexts():
    """Prices with known densities; the best price is 8 on some days and 2 on others."""
    random = np.random.default_rng(2)
    count = 120
    days = [("Mo", "Tu")[step % 2] for step in range(count)]
    prices = 10 * random.beta(2, 2, count)
    densities = 6 * (prices / 10) * (1 - prices / 10) / 10
    best = np.where(np.array(days) == "Mo", 8.0, 2.0)
    rewards = 20 - 0.3 * (prices - best) ** 2 + 0.2 * random.normal(size=count)
    log = ChoiceLog(prices, rewards, propensities=densities, contexts={"day": days})
    report = learn_from_log(log, low=-5, high=10, next_context={"day": "Mo"})
    assert abs(report.next.choice - 8) < 1
    assert {one.context: abs(one.choice - (8 if one.context == "day=Mo" else 2)) < 1
            for one in report.by_context} == {"day=Mo": True, "day=Tu": True}  # fmt: skip
    assert len(report.untried) == 1
    assert report.untried[0].startswith("-5 to ")
    arms = arms_of(log)
    edges = prices.min() + np.append(0, np.cumsum(arms.widths))
    for arm, name in enumerate(arms.names):
        one = next(one for one in report.alternatives if one.name == f"always {name}")
        inside = np.linspace(edges[arm], edges[arm + 1], 1001)
        truth = np.mean([20 - 0.3 * ((inside - peak) ** 2).mean() for peak in (8, 2)])
        if one.estimated:
            assert one.estimator == "doubly robust"
            assert one.low - 0.3 < truth < one.high + 0.3
    for arguments, message in (
        ({"low": 5.0}, "low must be at most"),
        ({"arms": ["x"]}, "arms must be omitted for choices that are numbers"),
        ({"next_context": {"day": "Mon"}}, "value of the log for day; got 'Mon'. Did you mean"),
        ({"next_context": {"dya": "Mo"}}, "got 'dya'. Did you mean 'day'"),
        ({"window": 0}, "window must be an integer of at least 1"),
    ):
        with pytest.raises(DriftpeakError, match=message):
            learn_from_log(log, **arguments)
