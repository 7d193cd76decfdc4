"""Tables with contexts: how they are read, what is learned of them, and how they are played."""

import json

import numpy as np
import pytest
from commands import refused

import driftpeak as dp
from driftpeak.live._study.policy_data import policy_to_data
from driftpeak.offline.data import RewardTable, read_table
from driftpeak.offline.history import learn_contexts
from driftpeak.offline.replay import advise, policy_for_live, replay
from driftpeak.offline.replay._contexts import contexts_of
from driftpeak.simulation._comparison import verdict

STEPS = 240
GENERATOR = np.random.default_rng(5)
RAIN = GENERATOR.random(STEPS) < 0.4
LOAD = GENERATOR.uniform(0, 1, STEPS).round(3)
SIZES = np.array([[1.5, 0.0, -1.5], [-1.0, 0.0, 1.0]])
"""Of what the rain and the load add to three arms."""


def rewards(generator, noise=0.3):
    walk = np.zeros((STEPS, 3))
    for step in range(1, STEPS):
        walk[step] = 0.95 * walk[step - 1] + generator.normal(0, 0.15, 3)
    effects = np.where(RAIN[:, None], SIZES[0], 0) + 2 * (LOAD[:, None] - 0.5) * SIZES[1]
    return np.array([5.0, 5.2, 5.1]) + effects + walk + generator.normal(0, noise, (STEPS, 3))


ROWS = rewards(np.random.default_rng(6))
SAID = {
    "weather": tuple("rain" if one else "dry" for one in RAIN),
    "load": tuple(LOAD.tolist()),
}
TABLE = RewardTable(ROWS, ("a", "b", "c"), None, None, contexts=SAID)
POLICIES = ("auto", "tv-gp-ucb", "random", "best-of-history", "rexp3")


@pytest.fixture(scope="module")
def runs():
    return replay(TABLE, POLICIES, trials=2, next_context={"weather": "rain", "load": 0.9})


def write(folder, lines, name="table.csv"):
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def test_columns_of_contexts_are_no_arms(tmp_path):
    path = write(
        tmp_path,
        ["date,weather,a [EUR],load,b [EUR]", "2026-01-05,rain,1,0.5,2", "2026-01-06,dry,3,1e1,4"],
    )
    table = read_table(path, context_columns=["load", "weather"])
    assert table.arms == ("a", "b")
    assert table.unit == "EUR"
    assert table.contexts == {"load": (0.5, 10.0), "weather": ("rain", "dry")}
    assert table.rows(1).contexts == {"load": (10.0,), "weather": ("dry",)}
    assert table.columns([1]).contexts == table.contexts
    assert table.times == ("2026-01-05", "2026-01-06")


def test_a_long_table_says_its_contexts_in_every_line(tmp_path):
    lines = ["day;shop;sold;rain", "2;x;1,5;no", "2;y;2;no", "1;y;3;yes", "1;x;4;yes"]
    names = {"index": "day", "columns": "shop", "values": "sold"}
    table = read_table(write(tmp_path, lines), **names, context_columns=["rain"])
    assert table.contexts == {"rain": ("yes", "no")}  # times are sorted
    assert table.values.tolist() == [[4.0, 3.0], [1.5, 2.0]]
    lines[2] = "2;y;2;yes"
    with pytest.raises(
        dp.DriftpeakError, match=r"line 3, column 'rain': .*got 'yes', and 'no' in line 2"
    ):
        read_table(write(tmp_path, lines), **names, context_columns=["rain"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"context_columns": ["weahter"]}, "no column is named 'weahter'.*weather"),
        ({"context_columns": ["weather", "weather"]}, "'weather' is named twice"),
        ({"context_columns": ["day"], "time_column": "day"}, "'day' is named twice"),
        ({"context_columns": "weather"}, "context_columns must be a sequence"),
        ({"context_columns": ["same"]}, "got '1' in every row"),
        ({"context_columns": ["gap"]}, "line 3, column 'gap': .*got a blank cell"),
        ({"context_columns": ["huge"]}, "numbers must be at most 1e100"),
    ],
)
def test_contexts_that_are_none_are_refused(tmp_path, without_type_checks, options, words):
    lines = ["day,weather,same,gap,huge,a,b", "1,rain,1,x,1,1,2", "2,dry,1,,1e101,2,1"]
    with pytest.raises(dp.DriftpeakError, match=words):
        read_table(write(tmp_path, lines), **options)


def test_offsets_come_near_those_that_made_the_rows():
    """Means of 50 rows and more: 4 deviations of the noise and the wandering."""
    contexts = dp.Contexts([{"rain": bool(one)} for one in RAIN])
    found = learn_contexts(ROWS, contexts)
    wet = contexts.kinds.index({"rain": True})
    gap = found.offsets[wet] - found.offsets[1 - wet]
    np.testing.assert_allclose(gap - gap.mean(), SIZES[0], atol=0.5)
    shares = np.bincount(contexts.numbers) / STEPS
    np.testing.assert_allclose(shares @ found.offsets, 0, atol=1e-12)  # means stay what they are
    np.testing.assert_allclose(found.rest + found.offsets[contexts.numbers], ROWS)
    assert 0.2 < found.explained < 0.9


def test_contexts_that_mean_nothing_explain_next_to_nothing():
    """Over 40 draws, what chance explains is 1 % of the variance in the mean at most."""
    shares = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        rows = generator.normal(size=(200, 4))
        kinds = dp.Contexts([int(one) for one in generator.integers(0, 7, 200)])
        shares.append(learn_contexts(rows, kinds).explained)
    assert np.mean(shares) < 0.01


def test_what_moves_in_one_context_moves_in_others_as_far_as_it_did():
    """Two walks, of which the contexts show the same or each its own; means over 20 draws."""
    shared = {"same": [], "own": []}
    for seed in range(20):
        generator = np.random.default_rng(seed)
        steps = generator.normal(size=(2, 400, 3))
        walks = np.zeros_like(steps)
        for step in range(1, 400):
            walks[:, step] = 0.95 * walks[:, step - 1] + steps[:, step]
        numbers = generator.integers(0, 2, 400)
        contexts = dp.Contexts(numbers)
        for name, rows in (("same", walks[0]), ("own", walks[numbers, np.arange(400)])):
            shared[name].append(learn_contexts(rows, contexts).shared)
    assert np.mean(shared["same"]) > 0.9
    assert np.mean(shared["own"]) < 0.2


def test_the_prior_of_the_cells_is_that_of_the_arms_in_every_context():
    contexts = dp.Contexts([{"rain": bool(one)} for one in RAIN])
    learned = dp.fit_history(ROWS, list("abc"), contexts=contexts)
    found = learned.contexts
    cells = found.prior(learned.prior)
    assert cells.domain.names[0].startswith("a (rain=")
    np.testing.assert_allclose(cells.mean, np.ravel(learned.prior.mean + found.offsets))
    np.testing.assert_allclose(cells.gram[:3, 3:], found.shared * learned.prior.gram)
    np.testing.assert_allclose(cells.gram[3:, 3:], learned.prior.gram)
    assert "contexts explain" in learned.report()
    assert learned.figure() is not None
    with pytest.raises(dp.DriftpeakError, match="so that contexts remain; got 240"):
        learned.policy()  # no contexts of the steps after the rows


@pytest.mark.slow
def test_who_is_told_does_better_and_the_others_play_as_ever(runs):
    regret = runs["regret"].mean(("trial", "step"))
    assert list(runs["policy"].values) == [
        "auto", "auto (without contexts)", "tv-gp-ucb", "tv-gp-ucb (without contexts)", "random",
        "best-of-history", "best-of-history (without contexts)", "rexp3",
    ]  # fmt: skip
    for name in ("auto", "tv-gp-ucb", "best-of-history"):
        assert regret.sel(policy=name) < 0.6 * regret.sel(policy=f"{name} (without contexts)")
    without = replay(RewardTable(ROWS, TABLE.arms, None, None), POLICIES, trials=2)
    for name in without["policy"].values:
        twin = (
            f"{name} (without contexts)" if f"{name} (without contexts)" in runs["policy"] else name
        )
        np.testing.assert_array_equal(
            without["action"].sel(policy=name), runs["action"].sel(policy=twin)
        )
    contexts, _ = contexts_of(TABLE, 144)
    labels = [contexts.labels[number] for number in contexts.numbers[144:]]
    assert runs["context"].values.tolist() == labels
    assert "contexts explain" in runs.attrs["contexts"]
    assert "load has 6 ranges" in runs.attrs["contexts"]


@pytest.mark.slow
def test_a_look_up_table_by_context_is_the_best_mean_of_the_training_rows(runs):
    contexts, _ = contexts_of(TABLE, 144)
    found = learn_contexts(ROWS[:144], contexts)
    table = ROWS[:144].mean(axis=0) + found.offsets
    best = table[contexts.numbers[144:]].argmax(axis=1)
    np.testing.assert_array_equal(runs["action"].sel(policy="best-of-history", trial=0), best)


@pytest.mark.slow
def test_the_next_context_says_what_to_follow(runs):
    judged = verdict(runs, independent_trials=False)
    wet = advise(runs, judged)
    assert wet.when.startswith("step 97 (weather=rain, load=")
    dry = replay(TABLE, ("auto", "random"), next_context={"load": "0.9", "weather": "dry"})
    assert advise(dry, verdict(dry, independent_trials=False)).arms[0].arm == "c"
    unknown = replay(TABLE, ("auto", "random"))
    words = advise(unknown, verdict(unknown, independent_trials=False)).when
    assert words == "step 97 (in any context)"


@pytest.mark.slow
def test_the_past_does_not_know_what_contexts_come(runs):
    """Other contexts later change no decision before."""
    later = {name: (*cells[:200], *reversed(cells[200:])) for name, cells in SAID.items()}
    changed = RewardTable(ROWS, ("a", "b", "c"), None, None, contexts=later)
    again = replay(changed, POLICIES, trials=2)
    for name in ("auto", "tv-gp-ucb", "best-of-history"):
        np.testing.assert_array_equal(
            runs["action"].sel(policy=name)[:, :56], again["action"].sel(policy=name)[:, :56]
        )


@pytest.mark.slow
def test_costs_fits_and_prices_are_told_too():
    policies = ("auto", "tv-gp-ucb", "sw-gp-ucb")
    costs = RewardTable(-ROWS, TABLE.arms, None, None, contexts=SAID)
    there, here = replay(costs, ("auto",), minimize=True), replay(TABLE, ("auto",))
    np.testing.assert_array_equal(there["action"], here["action"])
    fitted = replay(TABLE, policies, fit=True)
    found = json.loads(fitted.attrs["fitted"])
    assert {"noise_variance", "drift", "window"} <= found.keys()
    texts = dict(zip(fitted["policy"].values, fitted.attrs["policies"].split("\n"), strict=True))
    assert texts["tv-gp-ucb (without contexts)"] == f"tv-gp-ucb:drift={found['drift']['value']:.6g}"
    found = json.loads(fitted.attrs["fitted_told"])
    assert texts["tv-gp-ucb"] == f"tv-gp-ucb:drift={found['drift']['value']:.6g}"
    assert texts["auto"] == texts["auto (without contexts)"] == "auto"
    prices = RewardTable(np.exp(ROWS), TABLE.arms, None, None, contexts=SAID)
    runs = replay(prices, ("auto",))
    assert "logarithms" in runs.attrs["learned"]
    regret = runs["regret"].mean(("trial", "step"))
    assert regret.sel(policy="auto") < regret.sel(policy="auto (without contexts)")


@pytest.mark.slow
@pytest.mark.parametrize("fit", [False, True])
def test_a_policy_that_was_not_told_goes_on_as_if_there_were_no_contexts(fit):
    simple = RewardTable(ROWS, TABLE.arms, None, None)
    there, here = replay(TABLE, ("tv-gp-ucb",), fit=fit), replay(simple, ("tv-gp-ucb",), fit=fit)
    assert there.attrs["noise_variance"] == here.attrs["noise_variance"]
    assert there.attrs["noise_variance_told"] != here.attrs["noise_variance"]
    assert there.attrs["fitted"] == here.attrs["fitted"]
    kept = policy_for_live(TABLE, there, "tv-gp-ucb (without contexts)")
    alone = policy_for_live(simple, here, "tv-gp-ucb")
    assert policy_to_data(kept.policy) == policy_to_data(alone.policy)


@pytest.mark.slow
def test_what_cannot_be_is_named(runs):
    with pytest.raises(dp.DriftpeakError, match=r"names weather, load; got 'wether'"):
        replay(TABLE, ("auto",), next_context={"wether": "rain", "load": 1})
    with pytest.raises(dp.DriftpeakError, match="next_context must have all contexts; load"):
        replay(TABLE, ("auto",), next_context={"weather": "rain"})
    with pytest.raises(dp.DriftpeakError, match="load must be a finite number"):
        replay(TABLE, ("auto",), next_context={"weather": "rain", "load": "much"})
    plain = RewardTable(ROWS, TABLE.arms, None, None)
    with pytest.raises(dp.DriftpeakError, match="needs a table with contexts"):
        replay(plain, ("auto",), next_context={"load": 1})
    many = {name: tuple(str(one) for one in range(STEPS)) for name in ("number",)}
    wide = RewardTable(np.tile(ROWS, 2), tuple("abcdef"), None, None, contexts=many)
    with pytest.raises(dp.DriftpeakError, match="got 6 arms and 240 contexts, 1,440"):
        replay(wide, ("auto",))
    with pytest.raises(dp.DriftpeakError, match="uses the contexts of the table"):
        policy_for_live(TABLE, runs, "tv-gp-ucb")
    assert (
        policy_for_live(TABLE, runs, "tv-gp-ucb (without contexts)").name
        == "tv-gp-ucb (without contexts)"
    )
    with pytest.raises(dp.DriftpeakError, match="at least 4 rows"):
        learn_contexts(ROWS[:3], dp.Contexts([1, 2, 1]))
    with pytest.raises(dp.DriftpeakError, match="each of the 240 rows; got 3"):
        learn_contexts(ROWS, dp.Contexts([1, 2, 1]))


@pytest.mark.slow
def test_the_command_line_plays_contexts(tmp_path, run):
    lines = ["day,weather,load,a,b,c"] + [
        f"{step},{SAID['weather'][step]},{LOAD[step]},{','.join(f'{one:.3f}' for one in row)}"
        for step, row in enumerate(ROWS)
    ]
    path = write(tmp_path, lines)
    columns = ["--context-column", "weather", "--context-column", "load"]
    given = ["replay", str(path), *columns, "--policy", "auto", "--policy", "random"]
    coming = ["--next-context", "weather=rain", "--next-context", "load=0.1"]
    code, out, err = run(*given, *coming, "--output", str(tmp_path / "out"))
    assert code == 0, err
    assert "auto (without contexts)" in out
    assert "recommended: a" in out
    assert "contexts explain" in err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["settings"]["next_context"].startswith("weather=rain, load=")
    assert refused(run(*given, "--next-context", "rain"), "--next-context must be NAME=VALUE")
    twice = ("--next-context", "load=1", "--next-context", "load=2")
    assert refused(run(*given, *twice), "once; got 'load' again")
    saved = run(*given, "--save", str(tmp_path / "policy.json"))
    assert refused(saved, "--save does not support policies that use contexts")
