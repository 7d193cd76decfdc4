"""All kinds of spaces: what is suggested lies in them, and comes back from wherever it was."""

import json
import math

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st

import driftpeak as dp
from driftpeak.live._model import gp
from driftpeak.live._model.covariance import Model
from driftpeak.live._model.observations import pad, places
from driftpeak.live._search.maximization import (
    Beliefs,
    Reachable,
    Searcher,
    highest,
    with_best_observed,
)
from driftpeak.live._space.encoding import make_coding
from driftpeak.live._space.serialization import space_from_data, space_to_data
from driftpeak.policies.widths import Constant

learn = jax.jit(gp.learn)
pytestmark = pytest.mark.usefixtures("without_type_checks")
OVEN = dp.Box(
    fuel=dp.Categorical("gas", "power", None),
    heat=dp.Float(0, 90, step=0.5),
    fan=dp.Integer(1, 4096, log=True),
    load=dp.Integer(0, 60, step=15),
    grade=dp.Categorical("low", "medium", "high", ordered=True),
    filter=dp.Boolean(),
    flow=dp.Float(1e-3, 1, log=True, when={"fuel": ["gas", None]}),
    mesh=dp.Integer(1, 9, when={"filter": True, "load": [15, 30]}),
)


@st.composite
def numeric(draw, **options):
    low = draw(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)))
    count, step = draw(st.integers(1, 500)), draw(st.sampled_from([0.1, 0.25, 1e-3, 3.7, 40.0]))
    kind = draw(st.sampled_from(["float", "log float", "step", "int", "log int", "int step"]))
    match kind:
        case "float":
            return dp.Float(low, low + step * count, **options)
        case "log float":
            low = abs(low) + 1e-3
            return dp.Float(low, low * (1 + step * count), log=True, **options)
        case "step":
            return dp.Float(low, low + step * count, step=step, **options)
        case "int":
            return dp.Integer(int(low), int(low) + count, **options)
        case "log int":
            return dp.Integer(abs(int(low)) + 1, abs(int(low)) + 1 + count, log=True, **options)
    return dp.Integer(int(low), int(low) + 7 * count, step=7, **options)


CHOICES = [None, True, False, 0, 1, -3, 2.5, "a", "b", "", "None", "a b", "\u00e9"]


@st.composite
def choice(draw, least=2, most=6, **options):
    numbers = st.integers(0, len(CHOICES) - 1)
    chosen = draw(st.lists(numbers, min_size=least, max_size=most, unique=True))
    ordered = draw(st.booleans())
    return dp.Categorical(*(CHOICES[number] for number in chosen), ordered=ordered, **options)


@st.composite
def boxes(draw):
    """Of four parameters, the last of which counts with two of the values of the first.

    Always as many: a search is compiled for each shape.
    """
    first = draw(choice(least=3))
    when = {"first": draw(st.permutations(first.choices))[:2]}
    second = draw(st.one_of(numeric(), choice(), st.just(dp.Boolean())))
    last = draw(st.one_of(numeric(when=when), choice(when=when), st.just(dp.Boolean(when=when))))
    return dp.Box({"first": first, "second": second, "x y": draw(numeric()), "last": last})


def lies_in(box, setting):
    """Whether a setting can be suggested, written plainly."""
    there = True
    for name, one in box.parameters.items():
        counts = all(
            other in setting
            and any(type(setting[other]) is type(v) and setting[other] == v for v in values)
            for other, values in one.when
        )
        if counts != (name in setting):
            return False
        if not counts:
            continue
        value = setting[name]
        if isinstance(one, dp.Categorical):
            there &= any(type(v) is type(value) and v == value for v in one.choices)
            continue
        there &= type(value) is (float if isinstance(one, dp.Float) else int)
        there &= one.low <= value <= one.high
        if one.step is not None:
            steps = (value - one.low) / one.step
            there &= abs(steps - round(steps)) < 1e-6
    return bool(there) and set(setting) <= set(box.parameters)


@given(boxes(), st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_any_row_is_a_setting_that_comes_back(box, row):
    coding = make_coding(box)
    row = coding.snap(np.array(row))
    setting = coding.parameters(row)
    assert lies_in(box, setting), setting
    assert json.loads(json.dumps(setting)) == setting
    assert coding.clean(setting) == setting
    np.testing.assert_allclose(coding.row(setting), row, atol=1e-9)
    again = coding.parameters(coding.row(setting))
    for name, value in setting.items():
        same = again[name] == value or math.isclose(again[name], value, rel_tol=1e-9, abs_tol=1e-9)
        assert same, (name, value, again[name])


@given(boxes())
def test_any_box_comes_back_from_what_is_stored(box):
    written = json.loads(json.dumps(space_to_data(box)))
    again = space_from_data(written)
    assert again == box
    assert space_to_data(again) == written
    assert list(again.parameters) == list(box.parameters)


@pytest.mark.slow
@given(boxes(), st.integers(1, 10**6), st.booleans())
def test_any_suggestion_lies_in_its_space(box, number, limited):
    """Of a search among made-up beliefs, as of the first ones, which are spread evenly."""
    coding, searcher = make_coding(box), None
    searcher = Searcher(coding, 1)
    for early in (number, number + 1):
        assert lies_in(box, coding.parameters(searcher.first(early, None)))
    generator = np.random.default_rng(number)
    rows = coding.snap(generator.uniform(size=(20, 4)))
    here = rows[0]
    reachable = None
    if limited:
        lower = np.where(coding.categorical, 0.0, here)
        upper = np.where(coding.categorical, 1.0, here)
        reachable = Reachable(here, here, lower, upper, np.ones(4))
    row = np.asarray(_found(coding, searcher, rows, generator.normal(size=20), number, reachable))
    setting = coding.parameters(row)
    assert lies_in(box, setting), setting
    if limited:
        before = coding.parameters(here)
        for name, one in box.parameters.items():
            if not one.categorical and name in before and name in setting:
                assert setting[name] == before[name]


def _found(coding, searcher, rows, rewards, number, reachable):
    model = Model(0.0, np.full(4, 0.4), 1.0, 0.05, 12.0, coding.categorical)
    known = learn(model, places(rows, np.arange(20.0), 32), pad(rewards, 32))
    beliefs = Beliefs(model, known, None, 20.0, Constant(2.0), 1.0)
    beliefs = with_best_observed(beliefs, boundary_weighting=False)
    return highest(beliefs, searcher.trials(number), coding.discretization, reachable)


def test_what_does_not_count_is_no_part_of_a_setting():
    coding = make_coding(OVEN)
    setting = {"fuel": "power", "heat": 20, "fan": 7, "load": 15, "grade": "low", "filter": False}
    assert coding.clean(setting) == setting
    row = coding.row(setting)
    assert (row[6], row[7]) == (0.5, 0.5)
    gas = {**setting, "fuel": "gas"}
    with pytest.raises(dp.DriftpeakError, match="'flow' is missing"):
        coding.clean(gas)
    words = "'flow' is active only if 'fuel' is 'gas' or None; leave it out"
    with pytest.raises(dp.DriftpeakError, match=words):
        coding.clean({**setting, "flow": 0.1})
    with pytest.raises(dp.DriftpeakError, match="'mesh' is active only if 'filter' is True"):
        coding.clean({**setting, "mesh": 3})
    meshed = {**setting, "filter": True, "mesh": 3}
    assert coding.parameters(coding.row(meshed)) == meshed
    # between two levels: it can be told, and is not suggested
    assert coding.clean({**setting, "heat": 20.2})["heat"] == 20.2
    assert coding.parameters(coding.row({**setting, "heat": 20.2}))["heat"] == 20.0


@pytest.mark.slow
def test_it_finds_the_branch_that_is_better():
    """A conditional parameter is tuned where it counts, and left out where it does not."""
    box = dp.Box(
        kind=dp.Categorical("a", "b", "c"),
        x=dp.Float(0, 1, when={"kind": "a"}),
        n=dp.Integer(1, 64, log=True, when={"kind": ["b", "c"]}),
    )
    optimizer, generator = dp.Optimizer(box, maximize=True, seed=1), np.random.default_rng(0)
    for _ in range(40):
        one = optimizer.ask()
        value = 1 - 4 * (one["x"] - 0.2) ** 2 if one["kind"] == "a" else 0.2 * np.log2(one["n"]) / 6
        optimizer.tell(one, float(value + 0.05 * generator.normal()))
    best = optimizer.best()
    assert set(best) == {"kind", "x"}
    assert abs(best["x"] - 0.2) < 0.15
    assert optimizer.best().mean > 0.8


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.Float(0, 1, step=0.3), "got 1. .* values are 0.9 and 1.2"),
        (lambda: dp.Float(0, 1, step=2), "step must be above 0 and at most high - low; got 2"),
        (lambda: dp.Float(0, 1, step=1e-17), r"at most 2\*\*53 steps"),
        (lambda: dp.Float(1, 2, log=True, step=0.5), "step must be None with log=True; got 0.5"),
        (lambda: dp.Integer(0, 9, log=True), "low must be at least 1 with log=True; got 0"),
        (lambda: dp.Integer(0, 9, step=1.5), "step must be an integer"),
        (lambda: dp.Integer(0, 9, step=2), "got 9. .* values are 8 and 10"),
        (lambda: dp.Integer(0, 9, log=1), "log must be True or False"),
        (lambda: dp.Categorical("a", "b", ordered="yes"), "ordered must be True or False"),
        (lambda: dp.Categorical("a", [1]), "strings, numbers, booleans or None"),
        (lambda: dp.Float(0, 1, when={}), "when must map names to values"),
        (lambda: dp.Float(0, 1, when={"a": []}), "a value or a list of values"),
        (
            lambda: dp.Box(x=dp.Float(0, 1, when={"k": 1})),
            "of parameter 'x' must name parameters before it \\(there are none\\); got 'k'",
        ),
        (
            lambda: dp.Box(x=dp.Float(0, 1), y=dp.Float(0, 1, when={"x": 0.5})),
            "of parameter 'y' must name parameters with at most 1,000,000 values; got 'x'",
        ),
        (
            lambda: dp.Box(k=dp.Boolean(), y=dp.Float(0, 1, when={"k": 1})),
            "'y' can never hold: parameter 'k' must be one of False, True; got 1",
        ),
    ],
)
def test_impossible_parameters_are_refused(make, words):
    with pytest.raises(dp.DriftpeakError, match=words):
        make()


@pytest.mark.slow
def test_all_kinds_there_and_back_on_the_command_line(run, tmp_path):
    def live(command, *words):
        code, out, err = run("live", command, tmp_path / "oven", *words)
        assert (code, err) == (0, "")
        return json.loads(out)

    live("create", "oven", "--space", json.dumps(space_to_data(OVEN)), "--maximize")
    for number, one in enumerate(live("ask", "--count", 6), start=1):
        assert lies_in(OVEN, one["parameters"])
        words = ["--parameters", json.dumps(one["parameters"])]
        if number % 2:
            words = ["--id", one["id"]]
        assert live("tell", *words, "--reward", number) == {"told": number, "pending": 6 - number}
    assert live("show")["space"] == space_to_data(OVEN)
    told = live("export")
    assert all(lies_in(OVEN, one["parameters"]) for one in told)
    assert dp.Optimizer.load(tmp_path / "oven").space == OVEN
