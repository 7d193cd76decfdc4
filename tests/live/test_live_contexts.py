"""What the world says and nobody chooses: kept, learned from, refused where wrong."""

import itertools
import json

import numpy as np
import pytest
from commands import refused

import driftpeak as dp
from driftpeak.live._space.serialization import space_from_data, space_to_data
from driftpeak.live._study import events
from driftpeak.live._study.storage import open_store, rewards
from driftpeak.live.plots import belief_figure, track_figure

pytestmark = pytest.mark.usefixtures("without_type_checks")
DAYS = ("monday", "saturday", "sunday")
SPACE = dp.Box(price=dp.Float(5, 20)).context(day=dp.Categorical(*DAYS), load=dp.Float(0, 4))
CONTEXT = {"day": "monday", "load": 1.0}


def income(price, context):
    best = {"monday": 8, "saturday": 14, "sunday": 15}[context["day"]] + context["load"] / 2
    return 10 - 0.2 * (price - best) ** 2


def play(optimizer, steps, seed=0):
    generator = np.random.default_rng(seed)
    for step in range(steps):
        said = {"day": DAYS[step % 3], "load": float(generator.uniform(0, 4))}
        one = optimizer.ask(context=said)
        optimizer.tell(one, income(one["price"], said) + 0.1 * generator.normal())
    return optimizer


@pytest.fixture(scope="module")
def shop():
    with pytest.MonkeyPatch.context() as patch:
        import jaxtyping

        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        return play(dp.Optimizer(SPACE, maximize=True), 27)


@pytest.mark.slow
def test_the_peak_is_that_of_the_context(shop):
    for day in DAYS:
        best = shop.best(context={"day": day, "load": 2.0})
        assert best.context == {"day": day, "load": 2.0}
        assert dict(best).keys() == {"price"}
        assert income(best["price"], best.context) > 9
        assert abs(best.mean - income(best["price"], best.context)) < 4 * best.deviation + 0.1


@pytest.mark.slow
def test_the_belief_is_that_of_a_process_over_settings_and_contexts(shop):
    """Written plainly: Matern 5/2 over all columns, and an effect of the day that drifts slowly."""
    engine, told = shop._engine, shop.history()
    model, standard = engine.model, engine.standard

    def row(price, context):
        return np.array([(price - 5) / 15, DAYS.index(context["day"]) / 2, context["load"] / 4])

    def covariance(one, time, other, later):
        gap = one - other
        gap[1] = gap[1] != 0
        r = np.sqrt(5 * ((gap / model.lengthscale) ** 2).sum())
        whole = (1 + r + r**2 / 3) * np.exp(-r) * model.correlation(time - later)
        slowly = (
            1.0 if engine.motion == "none" else np.exp(-abs(time - later) / 20 / model.timescale)
        )
        return model.variance * (0.97 * whole + 0.03 * (gap[1] == 0) * slowly)

    rows = [row(one.parameters["price"], one.context) for one in told]
    times = np.array([one.time for one in told], float)
    each = list(zip(rows, times, strict=True))
    gram = np.array([[covariance(*a, *b) for b in each] for a in each])
    gram += model.noise_variance * np.eye(len(rows))
    rewards_ = standard.into(np.array([one.reward for one in told])) - model.level
    here, when = row(11.0, CONTEXT), 33.0
    across = np.array([covariance(here, when, *one) for one in each])
    mean = across @ np.linalg.solve(gram, rewards_) + model.level
    variance = model.variance - across @ np.linalg.solve(gram, across)
    wanted = standard.back(np.array([mean]), np.sqrt([variance]))
    found = shop.belief([{"price": 11.0}], when, context=CONTEXT)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.long
def test_days_learn_from_one_another():
    """A shop in a season: one study of all days loses less than one that ignores them, or seven."""
    lost = {"together": [], "ignored": [], "apart": []}
    box, days = SPACE.space, ("mo", "tu", "we", "th", "fr", "sa", "su")
    for seed in range(3):
        generator = np.random.default_rng(seed)
        space = box.context(day=dp.Categorical(*days))
        together = dp.Optimizer(space, maximize=True, seed=seed)
        ignored = dp.Optimizer(box, maximize=True, seed=seed)
        apart = {day: dp.Optimizer(box, maximize=True, seed=seed) for day in days}
        for step in range(84):
            day = days[step % 7]
            best = 9 + 2 * np.sin(step / 30) + 4 * (day in ("sa", "su"))
            noise = 0.1 * generator.normal()
            for name, one, context in (
                ("together", together, {"day": day}),
                ("ignored", ignored, None),
                ("apart", apart[day], None),
            ):
                offer = one.ask(step, context=context)
                worth = 0.2 * (offer["price"] - best) ** 2
                one.tell(offer, noise - worth)
                lost[name].append(worth)
    lost = {name: np.mean(np.reshape(values, (3, 84))[:, 14:]) for name, values in lost.items()}
    assert lost["together"] < 0.6 * lost["apart"], lost
    assert lost["together"] < 0.4 * lost["ignored"], lost


def test_a_context_is_kept_with_its_suggestion():
    optimizer = dp.Optimizer(SPACE, maximize=True)
    one, two = optimizer.ask(context=CONTEXT, count=2)
    assert one.context == two.context == CONTEXT
    assert "context={'day': 'monday', 'load': 1.0}" in repr(one)
    optimizer.tell(one, 1.0)  # needs none
    assert optimizer.history()[-1].context == CONTEXT
    optimizer.tell(two, 1.0, context={**CONTEXT, "load": 2})  # it was another in the end
    assert optimizer.history()[-1].context == {"day": "monday", "load": 2.0}
    setting = {"price": 7.0}
    optimizer.tell(setting, 2.0, context=CONTEXT)
    assert optimizer.history()[-1].parameters == setting
    assert optimizer.history()[-1].id is None
    three = optimizer.ask(context=CONTEXT)
    other = {"day": "sunday", "load": 1.0}
    optimizer.tell(dict(three), 1.0, context=other)  # a suggestion in another context is none
    assert [one.id for one in optimizer.pending()] == [3]
    optimizer.tell(dict(three), 1.0)
    assert optimizer.history()[-1].id == 3
    assert optimizer.pending() == []


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (
            None,
            "context must be given, as this study has one. Write context={'day': ..., 'load': ...}",
        ),
        ({}, "context must be given"),
        ({"day": "monday"}, "context: parameter 'load' is missing$"),
        ({"day": "x", "load": 1}, r"'day' must be one of .*; got 'x'\. The context's range"),
        ({**CONTEXT, "lode": 1}, "context: parameters must be among .*; got 'lode'.*'load'"),
        (
            {**CONTEXT, "load": 5},
            r"'load' must lie in \[0, 4\]; got 5. The context's range must cover",
        ),
        ({**CONTEXT, "day": "mondy"}, "'day' must be one of 'monday', .*Did you mean 'monday'"),
        (5, "context must map day, load to values; got 5"),
        (np.array([]), "context must map day, load to values"),
    ],
)
def test_what_is_refused(context, words):
    optimizer = dp.Optimizer(SPACE, maximize=True)
    out = optimizer.ask(context=CONTEXT)
    before = optimizer.snapshot()
    calls = [
        lambda: optimizer.ask(context=context),
        lambda: optimizer.best(context=context),
        lambda: optimizer.belief([{"price": 7}], context=context),
        lambda: optimizer.peaks([1], context=context),
        lambda: optimizer.tell({"price": 7}, 1.0, context=context),
    ]
    if context is not None:
        calls.append(lambda: optimizer.tell(out, 1.0, context=context))
    for call in calls:
        with pytest.raises(dp.DriftpeakError, match=words):
            call()
    assert optimizer.snapshot() == before


def test_what_is_refused_at_the_door():
    box = dp.Box(x=dp.Float(0, 1))
    plain = dp.Optimizer(box, maximize=True)
    with pytest.raises(
        dp.DriftpeakError,
        match=r"context must be left out, as this study has none; .*space\.context",
    ):
        plain.ask(context=CONTEXT)
    with pytest.raises(dp.DriftpeakError, match="as this study has none"):
        plain.ask(context=np.array([]))  # that equals an empty mapping or not, it cannot say
    for make, words in (
        (lambda: box.context(), "must have at least one parameter"),
        (lambda: box.context(5), "a context must map names to parameters"),
        (lambda: box.context({"a": dp.Boolean()}, a=dp.Boolean()), "got 'a' twice"),
        (
            lambda: dp.Optimizer(box.context(a=3), maximize=True),
            r"context: parameters\[.a.\] must be a Float, .*; got 3",
        ),
        (
            lambda: dp.Optimizer(box.context(x=dp.Boolean()), maximize=True),
            "must be distinct; got 'x' in both",
        ),
        (
            lambda: dp.Optimizer(box.context(a=dp.Float(0, 1, max_step=0.1)), maximize=True),
            "'a' must have no movement limits",
        ),
    ):
        with pytest.raises(dp.DriftpeakError, match=words):
            make()
    arms = dp.Arms(3)
    prior = dp.Prior(arms, dp.kernels.Table(np.eye(3)), 0.1)
    space = arms.context(day=dp.Boolean())
    with pytest.raises(dp.DriftpeakError, match="BeliefPolicy supports no contexts"):
        dp.Optimizer(space, maximize=True, policy=dp.TVGPUCB(prior, drift=0.1))
    with pytest.raises(dp.DriftpeakError, match="domain must be an Arms or a Grid"):
        dp.Prior(space, dp.SE(0.1), 0.1)


@pytest.mark.parametrize("space", [dp.Arms([1, 2, 4], ["a", "b", "c"]), dp.Grid([0, 1], size=5)])
def test_every_space_has_contexts(space):
    optimizer = dp.Optimizer(space.context(left=dp.Boolean()), maximize=True)
    for step in range(16):
        left = step % 2 == 0
        one = optimizer.ask(context={"left": left})
        optimizer.tell(one, float(-one.index if left else one.index))
    assert optimizer.best(context={"left": True}).index == 0
    assert optimizer.best(context={"left": False}).index == len(space) - 1
    mean, _ = optimizer.belief(context={"left": True})
    assert np.argmax(mean) == 0


@pytest.mark.slow
def test_it_is_stored_and_goes_on(storage):
    kept = dp.Optimizer(SPACE, maximize=True, storage=storage, name="weekly")
    play(kept, 4)
    out = kept.ask(context=CONTEXT)
    again = dp.Optimizer.load(storage, "weekly")
    live = play(dp.Optimizer(SPACE, maximize=True), 4)
    live.ask(context=CONTEXT)
    assert repr(again.space) == repr(SPACE)
    assert again.history() == kept.history() == live.history()
    assert again.pending()[0].context == out.context == CONTEXT
    restored = dp.Optimizer(SPACE, maximize=True)
    restored.restore(live.snapshot())
    nexts = [dict(one.ask(context=CONTEXT)) for one in (again, live, restored)]
    assert nexts[0] == nexts[1] == nexts[2]
    assert [one.context for one in rewards(open_store(storage, "weekly"))] == [
        one.context for one in kept.history()
    ]
    with pytest.raises(dp.DriftpeakError, match="has another space"):
        dp.Optimizer(SPACE.space, maximize=True, storage=storage, name="weekly")


def test_as_data_and_as_a_table(shop):
    data = json.loads(json.dumps(space_to_data(SPACE)))
    assert data["context"]["load"] == {"type": "float", "low": 0, "high": 4, "log": False}
    assert space_to_data(space_from_data(data)) == data
    for wrong, words in (
        ({"context": 3}, "a context must map names"),
        ({"context": {}}, "must have at least one par"),
    ):
        with pytest.raises(dp.DriftpeakError, match=words):
            space_from_data({**data, **wrong})
    old = events.to_dict(events.Asked(1, 1.0, "steps", {"price": 7.0}))
    assert "context" not in old
    table = shop.to_dataframe()
    assert list(table.columns[3:6]) == ["price", "day", "load"]
    assert table["day"].tolist()[:4] == ["monday", "saturday", "sunday", "monday"]
    assert table["load"].tolist() == [one.context["load"] for one in shop.history()]
    odd = dp.Optimizer(dp.Arms(2).context(time=dp.Boolean(), arms=dp.Boolean()), maximize=True)
    odd.ask(context={"time": True, "arms": False})
    assert {"time", "parameter_time", "arms"} <= set(odd.to_dataframe().columns)


@pytest.mark.slow
def test_pictures(shop):
    for figure in (track_figure(shop), belief_figure(shop, context=CONTEXT)):
        assert figure.axes


def test_the_command_line(run, tmp_path):
    store, space = tmp_path / "shop.jsonl", json.dumps(space_to_data(SPACE))

    def live(command, *words):
        code, out, err = run("live", command, store, *words)
        assert (code, err) == (0, "")
        return json.loads(out)

    live("create", "shop", "--space", space, "--maximize")
    one = live("ask", "--context", "day=monday", "--context", "load=1")
    assert one["context"] == CONTEXT
    live("tell", "--id", 1, "--reward", 2)
    setting = ("--parameters", '{"price": 7}', "--reward", 3)
    live("tell", *setting, "--context", json.dumps(CONTEXT))
    assert live("best", "--context", '{"day": "monday"}', "--context", "load=2")["context"] == {
        "day": "monday",
        "load": 2.0,
    }
    assert [one["context"] for one in live("export")] == [CONTEXT, CONTEXT]
    assert live("show")["space"]["context"].keys() == {"day", "load"}
    refused(
        run("live", "ask", store), "context must be given, as this study has one. Write context="
    )
    refused(run("live", "ask", store, "--context", "day"), "NAME=VALUE")
    refused(run("live", "tell", store, *setting), "context must be given")


@pytest.mark.slow
def test_limits_of_moving_are_of_the_settings_alone():
    """The context jumps; the price does not."""
    box = dp.Box(price=dp.Float(5, 20, max_step=1)).context(day=dp.Categorical(*DAYS))
    optimizer = dp.Optimizer(box, maximize=True, start={"price": 10}, moving_cost=0.01)
    prices = []
    for day in itertools.islice(itertools.cycle(DAYS), 12):
        one = optimizer.ask(context={"day": day})
        optimizer.tell(one, income(one["price"], {"day": day, "load": 0}))
        prices.append(one["price"])
    assert np.abs(np.diff(prices)).max() <= 1
