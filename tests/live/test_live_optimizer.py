"""The optimiser: events, times, order of arrival, bad input, bounded memory."""

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.gp.forgetting import Window
from driftpeak.live._model import gp
from driftpeak.live._model.fantasies import FantasyCache
from driftpeak.live._space.records import PENDING
from driftpeak.live._study import events
from driftpeak.live._study.study_state import HISTORY

BOX = dp.Box(x=dp.Float(0, 1), n=dp.Integer(1, 5), kind=dp.Categorical("a", "b"))


def make(*, maximize=True, seed=0, space=BOX, **options):
    policy = dp.DriftingGP(**options) if options else None
    return dp.Optimizer(space, maximize=maximize, policy=policy, seed=seed)


def reward(setting, time=0.0):
    return -((setting["x"] - 0.3) ** 2) - 0.1 * (setting["n"] - 3) ** 2 + (setting["kind"] == "b")


def play(optimizer, steps, noise=0.05, seed=0):
    generator = np.random.default_rng(seed)
    for _ in range(steps):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, reward(suggestion) + noise * float(generator.normal()))


@pytest.mark.slow
@pytest.mark.parametrize("maximize", [True, False])
def test_it_finds_and_holds_the_peak(maximize):
    optimizer, sign = make(maximize=maximize), 1 if maximize else -1
    generator = np.random.default_rng(0)
    for _ in range(30):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, sign * reward(suggestion) + 0.05 * float(generator.normal()))
    best = optimizer.best()
    assert best["kind"] == "b"
    assert best["n"] == 3
    assert abs(best["x"] - 0.3) < 0.2
    assert abs(best.mean - sign) < 4 * best.deviation + 0.05
    settings = [{"x": x, "n": 3, "kind": "b"} for x in (0.3, 0.9)]
    near, far = optimizer.belief(settings)[0]
    assert sign * near > sign * far


@pytest.mark.slow
def test_a_moving_peak_is_followed():
    """At a peak that wanders through the box, rewards stay near the top once it was found."""
    box = dp.Box(x=dp.Float(0, 10), y=dp.Float(0.01, 100, log=True))
    generator, lost = np.random.default_rng(1), []
    optimizer = dp.Optimizer(box, maximize=True)
    for step in range(120):
        suggestion = optimizer.ask()
        at = 5 + 3 * np.sin(step / 25)
        value = -(((suggestion["x"] - at) / 3) ** 2) - (np.log10(suggestion["y"]) / 2) ** 2
        optimizer.tell(suggestion, value + 0.02 * float(generator.normal()))
        lost.append(-value)
    random = np.mean(
        ((10 * generator.uniform(size=9999) - 5) / 3) ** 2 + generator.uniform(-1, 1, 9999) ** 2
    )
    assert np.mean(lost[60:]) < 0.25 * random


@pytest.mark.slow
def test_events_and_snapshots_carry_the_whole_state():
    log = []
    optimizer = make()
    optimizer.on_event = log.append
    play(optimizer, 18)
    optimizer.ask(count=2)
    optimizer.tell({"x": 0.9, "n": 1, "kind": "a"}, -1.0)
    optimizer.cancel(optimizer.ask())
    written = json.loads(json.dumps([events.to_dict(event) for event in log]))
    replayed, restored = make(), make()
    replayed.replay(map(events.from_dict, written))
    restored.restore(optimizer.snapshot())
    for other in (replayed, restored):
        assert other.history() == optimizer.history()
        assert list(map(dict, other.pending())) == list(map(dict, optimizer.pending()))
        assert other.diagnostics() == optimizer.diagnostics()
    for _ in range(6):  # past the next lesson
        suggestions = [one.ask() for one in (optimizer, replayed, restored)]
        assert dict(suggestions[0]) == dict(suggestions[1]) == dict(suggestions[2])
        for one, suggestion in zip((optimizer, replayed, restored), suggestions, strict=True):
            one.tell(suggestion, reward(suggestion))
    assert dict(optimizer.best()) == dict(restored.best())


def test_an_event_is_recorded_before_it_takes_effect():
    optimizer = make()
    suggestion = optimizer.ask()

    def refuse(event):
        raise OSError("disk full")

    optimizer.on_event = refuse
    before = optimizer.snapshot()
    with pytest.raises(OSError, match="disk full"):
        optimizer.tell(suggestion, 1.0)
    with pytest.raises(OSError, match="disk full"):
        optimizer.ask()
    assert optimizer.snapshot() == before


@pytest.mark.slow
def test_a_box_is_restored_between_two_lessons():
    """What came after the last lesson was appended, and is appended again."""
    box = dp.Box(x=dp.Float(0, 1))
    optimizer, restored = (dp.Optimizer(box, maximize=True) for _ in range(2))
    for step in range(24):
        optimizer.tell({"x": (0.37 * step) % 1}, np.sin(step))
    assert optimizer._engine.base < 24
    restored.restore(optimizer.snapshot())
    assert restored.best() == optimizer.best()
    assert dict(restored.ask()) == dict(optimizer.ask())


@pytest.mark.slow
def test_a_policy_of_driftpeak_is_restored_too():
    prior = dp.Prior(dp.Grid([0, 1], size=12), dp.SE(0.3), 0.01)
    policy = dp.TVGPUCB(prior, drift=0.05, acquisition="thompson")

    def another():
        return dp.Optimizer(prior.domain, maximize=True, policy=policy, seed=2, horizon=500)

    log, optimizer = [], another()
    optimizer.on_event = log.append
    for step in range(300):
        optimizer.tell(optimizer.ask(), float(np.sin(step)))
    replayed, restored = another(), another()
    replayed.replay(log)
    restored.restore(optimizer.snapshot())
    for _ in range(5):
        suggestions = [one.ask() for one in (optimizer, replayed, restored)]
        assert len({one.index for one in suggestions}) == 1
        for one, suggestion in zip((optimizer, replayed, restored), suggestions, strict=True):
            one.tell(suggestion, 0.5)
    # late, between steps that are kept
    for one in (optimizer, restored):
        one.tell({"x1": 0.0}, 1.0, 250)
    np.testing.assert_array_equal(optimizer.belief()[0], restored.belief()[0])


def a_policy():
    prior = dp.Prior(dp.Grid([0, 1], size=9), dp.SE(0.3), 0.01)
    policy = dp.TVGPUCB(prior, drift=0.05)
    return dp.Optimizer(prior.domain, maximize=False, policy=policy, horizon=1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "another",
    [
        a_policy,
        lambda: make(capacity=32),
        lambda: make(capacity=32, forgetting=Window(12)),
    ],
)
def test_any_history_can_be_repeated(another):
    """Asks, batches, late and unasked rewards, cancellations, forgetting, in a random order."""
    generator, log, optimizer = np.random.default_rng(4), [], another()
    optimizer.on_event = log.append
    saved = []
    for number in range(120):
        now, out = 0.5 * number, optimizer.pending()
        match generator.choice(["ask", "batch", "tell", "tell", "late", "cancel", "new", "rare"]):
            case "ask":
                optimizer.ask(now)
            case "batch":
                optimizer.ask(now, count=2)
            case "tell" if out:
                optimizer.tell(out[-1], float(generator.normal()), now)
            case "late" if out:
                optimizer.tell(out[0].id, float(generator.normal()))
            case "cancel" if len(out) > 6:
                optimizer.cancel(out[0])
            case "new":
                setting = dict(another().ask())
                optimizer.tell(setting, float(generator.normal()), now - generator.uniform(0, 5))
            case "rare" if generator.uniform() < 0.1:
                optimizer.forget(before=now - 20)
        if number == 70:
            saved = [optimizer.snapshot(), len(log)]
    replayed, restored = another(), another()
    replayed.replay(log)
    restored.restore(saved[0])
    restored.replay(log[saved[1] :])
    kinds = {type(event).__name__ for event in log}
    assert {"Asked", "Told", "Cancelled", "Forgot"} <= kinds
    assert replayed.snapshot() == optimizer.snapshot() == restored.snapshot()
    everyone = (optimizer, replayed, restored)
    best = [dict(one.best(90.0)) for one in everyone]
    assert best[0] == best[1] == best[2]
    asked = [dict(one.ask(90.0)) for one in everyone]
    assert asked[0] == asked[1] == asked[2]


@pytest.mark.slow
def test_order_of_arrival_does_not_matter():
    generator = np.random.default_rng(0)
    told = [
        ({"x": float(x), "n": int(n), "kind": str(k)}, float(y), float(t))
        for x, n, k, y, t in zip(
            generator.uniform(size=60),
            generator.integers(1, 6, 60),
            generator.choice(["a", "b"], 60),
            generator.normal(size=60),
            np.cumsum(generator.exponential(1.0, 60)),
            strict=True,
        )
    ]
    ordered, shuffled = make(learn=False), make(learn=False)
    for one in told:
        ordered.tell(*one)
    for i in generator.permutation(60):
        shuffled.tell(*told[i])
    # what is learned at different moments differs; what is learned last is then put in both
    refit = ordered._engine.refit() or ordered._engine.hyperparameters
    for one in (ordered, shuffled):
        one.apply(events.Learned(refit))
    points = [setting for setting, _, _ in told[:10]]
    for one, other in zip(ordered.belief(points, 70.0), shuffled.belief(points, 70.0), strict=True):
        np.testing.assert_array_equal(one, other)
    assert dict(ordered.best(70.0)) == dict(shuffled.best(70.0))


@pytest.mark.slow
def test_threads_take_turns():
    """Without the lock they find the same number free, and the test fails."""
    log, optimizer = [], make(learn=False)
    optimizer.on_event = log.append
    optimizer.ask()  # compiles, and leaves one suggestion out

    def work(seed):
        for step in range(8):
            suggestion = optimizer.ask()
            optimizer.tell(suggestion, float(seed + step))
            optimizer.diagnostics()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, seed) for seed in range(4)]:
            done.result()
    assert sorted(one.id for one in optimizer.history()) == list(range(2, 34))
    again = make(learn=False)
    again.replay(log)
    assert again.snapshot() == optimizer.snapshot()


@pytest.mark.slow
def test_pending_suggestions_keep_workers_apart():
    optimizer = make(space=dp.Box(x=dp.Float(0, 1), y=dp.Float(0, 1)))
    for _ in range(8):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, -((suggestion["x"] - 0.5) ** 2) - (suggestion["y"] - 0.5) ** 2)
    batch = optimizer.ask(count=6)
    points = np.array([list(one.values()) for one in batch])
    gaps = np.abs(points[:, None] - points[None]).max(axis=2)[np.triu_indices(6, 1)]
    assert gaps.min() > 0
    engine = optimizer._engine
    now, known = batch[0].time - engine.origin, engine.known(batch[0].time)
    alone = gp.posterior(engine.model, known, None, points, now)
    pending = list(optimizer._state.pending.values())
    imagined = engine.fantasy_cache.fantasies(engine.model, known, pending, engine.origin)
    narrowed = gp.posterior(engine.model, known, imagined, points, now)
    assert (narrowed[1] < 0.95 * alone[1]).all()
    np.testing.assert_array_equal(narrowed[0], alone[0])


@pytest.mark.slow
def test_all_that_is_out_counts():
    """Not the newest alone: the deviation is that of observations at all places, by a dense one."""
    optimizer = make(space=dp.Box(x=dp.Float(0, 1), y=dp.Float(0, 1)), learn=False)
    for step in range(6):
        optimizer.tell({"x": step / 5, "y": 0.3}, float(np.sin(step)))
    optimizer.ask(count=150)
    engine, now = optimizer._engine, optimizer.pending()[0].time
    known, model = engine.known(now), engine.model
    out = np.array([list(one.values()) for one in optimizer.pending()])
    at = np.random.default_rng(0).uniform(size=(5, 2))
    every = np.concatenate([engine.memory.rows, out])
    times = np.concatenate([engine.memory.times, np.full(150, now)])
    observed = model.covariance(every, times[:, None], every, times[None, :])
    observed += model.noise_variance * np.eye(156)
    across = model.covariance(every, times[:, None], at, now)
    expected = model.variance - (across * np.linalg.solve(observed, across)).sum(axis=0)
    gaps = np.abs(out[:, None] - out[None]) / np.minimum(model.lengthscale, 1.0)
    assert gaps.max(axis=2)[np.triu_indices(150, 1)].min() > 0.01 - 1e-9  # and none is twice out
    pending = list(optimizer._state.pending.values())
    found = []
    for cache in (engine.fantasy_cache, FantasyCache(engine.offsets)):
        imagined = cache.fantasies(model, known, pending, engine.origin)
        found.append(gp.posterior(model, known, imagined, at, now - engine.origin)[1])
    np.testing.assert_allclose(found[0] ** 2, expected, rtol=1e-7)
    np.testing.assert_array_equal(*found)  # what was kept is what is computed anew


def test_dates():
    optimizer, start = make(), dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    for hour in range(12):
        suggestion = optimizer.ask(start + dt.timedelta(hours=hour))
        assert suggestion.time == start + dt.timedelta(hours=hour)
        optimizer.tell(suggestion, reward(suggestion), start + dt.timedelta(hours=hour, minutes=5))
    later = optimizer.best(start + dt.timedelta(days=2))
    now = optimizer.best()
    assert now.time == start + dt.timedelta(hours=11, minutes=5)
    assert later.deviation > now.deviation
    assert optimizer.history()[3].time == start + dt.timedelta(hours=3, minutes=5)
    assert optimizer.diagnostics().newest_age == 0.0
    assert optimizer.diagnostics(start + dt.timedelta(hours=12)).newest_age == 55 * 60
    with pytest.raises(dp.DriftpeakError, match="time must be given, as this study's times are"):
        optimizer.ask()
    with pytest.raises(dp.DriftpeakError, match="comparable"):
        optimizer.tell(dict(suggestion), 1.0, 5.0)


@pytest.mark.slow
def test_memory_is_bounded_and_drops_what_tells_least():
    optimizer = make(capacity=40, learn=False, space=dp.Box(x=dp.Float(0, 1)))
    optimizer.tell({"x": 0.9}, 1.0, 0.0)
    for step in range(1, 400):
        optimizer.tell({"x": 0.1}, 0.0, 0.01 * step)
    engine = optimizer._engine
    assert len(engine.memory) <= 40
    assert engine.memory.rows[:, 0].max() == 0.9, "the only one of its kind is kept"
    assert optimizer.diagnostics().held == len(engine.memory)
    assert optimizer.diagnostics().told == 400


def test_history_and_pending_are_bounded(monkeypatch):
    assert (HISTORY, PENDING) == (10_000, 1_000)
    monkeypatch.setattr("driftpeak.live._study.study_state.PENDING", 3)
    optimizer = make()
    optimizer.ask(count=3)
    with pytest.raises(dp.DriftpeakError, match="Tell or cancel"):
        optimizer.ask()
    with pytest.raises(
        dp.DriftpeakError, match="at most 3 suggestions may be pending; got count=4"
    ):
        make().ask(count=4)
    optimizer.cancel(2)
    assert optimizer.ask().id == 4


def test_forget_and_reset():
    optimizer = make()
    play(optimizer, 20)
    learned = optimizer._engine.models
    optimizer.forget(before=15)
    assert optimizer.diagnostics().held == 6
    optimizer.forget()
    assert optimizer.diagnostics().held == 0
    assert optimizer._engine.models is learned
    assert len(optimizer.history()) == 20
    optimizer.ask()
    optimizer.reset()
    assert optimizer.history() == optimizer.pending() == []
    suggestion = optimizer.ask(0.5)  # times of another kind are welcome now
    assert suggestion.id == 22
    with pytest.raises(dp.DriftpeakError, match="no observations yet"):
        optimizer.best()


def test_settings_answer_the_suggestion_that_they_equal():
    optimizer = make()
    first, second = optimizer.ask(count=2)
    optimizer.tell(dict(second), 1.0)
    assert [one.id for one in optimizer.pending()] == [first.id]
    optimizer.tell({**first, "x": 0.123456}, 1.0)
    assert [one.id for one in optimizer.pending()] == [first.id]
    assert [one.id for one in optimizer.history()] == [second.id, None]


def test_events_of_another_study_are_refused():
    with pytest.raises(dp.DriftpeakError, match="about a pending suggestion; got 7"):
        make().apply(events.Cancelled(7))


@pytest.mark.usefixtures("without_type_checks")
def test_bad_input_is_refused_and_changes_nothing():
    optimizer, other = make(), make(seed=1)
    play(optimizer, 3)
    suggestion, elsewhere = optimizer.ask(), [other.ask() for _ in range(4)][-1]
    before = optimizer.snapshot()
    refused = [
        (lambda: optimizer.tell(suggestion, float("nan")), "reward must be a finite number"),
        (lambda: optimizer.tell(suggestion, float("inf")), "reward must be a finite number"),
        (lambda: optimizer.tell(suggestion, None), "reward must be a finite number"),
        (lambda: optimizer.tell(suggestion, "1"), "reward must be a finite number"),
        (lambda: optimizer.tell(1, 1.0), "suggestion 1 is already told or cancelled"),
        (lambda: optimizer.tell(99, 1.0), "no suggestion 99; the newest is 4"),
        (lambda: optimizer.tell(0, 1.0), "no suggestion 0"),
        (lambda: optimizer.tell(elsewhere, 1.0), "got another setting with id 4"),
        (lambda: optimizer.tell({"x": 2, "n": 1, "kind": "a"}, 1.0), r"'x' must lie in \[0, 1\]"),
        (lambda: optimizer.tell({"x": 0, "m": 1, "kind": "a"}, 1.0), "got 'm'"),
        (
            lambda: optimizer.tell(None, 1.0),
            "parameters must be a suggestion, its id, or a mapping",
        ),
        (
            lambda: optimizer.tell(True, 1.0),
            "parameters must be a suggestion, its id, or a mapping",
        ),
        (lambda: optimizer.tell(suggestion, 1.0, dt.datetime(2026, 1, 1)), "comparable"),
        (lambda: optimizer.tell(suggestion, 1.0, float("nan")), "a time must be"),
        (lambda: optimizer.ask(time=3.0), "comparable"),
        (lambda: optimizer.ask(time="tomorrow"), "a time must be"),
        (lambda: optimizer.ask(count=0), "count must be an integer of at least 1"),
        (lambda: optimizer.cancel(7), "no suggestion 7"),
        (lambda: optimizer.cancel({"x": 0, "n": 1, "kind": "a"}), "must be a suggestion or its id"),
        (lambda: optimizer.belief([{"x": 0.5}]), "'n' is missing"),
        (lambda: optimizer.belief(), "points must be given for a Box"),
        (lambda: optimizer.best(dt.datetime(2026, 1, 1)), "comparable"),
        (lambda: optimizer.side_queries(), "makes no side queries"),
    ]
    for call, words in refused:
        with pytest.raises(dp.DriftpeakError, match=words):
            call()
    assert optimizer.snapshot() == before
    for make_bad, words in [
        (lambda: dp.Optimizer(BOX, maximize=1), "maximize must be True, False"),
        (lambda: dp.Optimizer([0, 1], maximize=True), "space must be a Box"),
        (lambda: dp.Optimizer(BOX, maximize=True, seed=-1), "seed must be"),
        (lambda: dp.DriftingGP(capacity=10), "capacity must be an integer of at least 32"),
        (lambda: events.from_dict({"event": "Told", "id": 1}), "an event must be one of"),
        (lambda: events.from_dict({"event": "Sold"}), "an event must be one of"),
    ]:
        with pytest.raises(dp.DriftpeakError, match=words):
            make_bad()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [int, float, np.float32, np.float64, np.int32, np.int64, np.uint8])
def test_a_reward_is_any_real_number(kind):
    """Rows of tables and counts of NumPy's too; what is kept is a number of Python's."""
    optimizer = make()
    optimizer.tell({"x": 0.5, "n": 1, "kind": "a"}, kind(7), time=0)
    (told,) = optimizer.history()
    assert told.reward == 7.0
    assert type(told.reward) is float


@pytest.mark.slow
def test_finite_spaces_without_a_policy():
    arms = dp.Arms(4, names=["north", "east", "south", "west"])
    optimizer = dp.Optimizer(arms, maximize=True)
    generator = np.random.default_rng(0)
    for _ in range(40):
        suggestion = optimizer.ask()
        value = {"north": 0.0, "east": 1.0, "south": 0.2, "west": 0.1}[suggestion["arm"]]
        optimizer.tell(suggestion, value + 0.1 * float(generator.normal()))
    assert optimizer.best()["arm"] == "east"
    assert optimizer.best().index == 1
    grid = dp.Optimizer(dp.Grid([0, 1], [0, 1], size=6), maximize=False)
    batch = grid.ask(count=5)
    assert len({one.index for one in batch}) == 5
    for one in batch:
        grid.tell(one, (one["x1"] - 0.2) ** 2 + one["x2"])
    assert grid.belief()[0].shape == (36,)


@pytest.mark.slow
def test_calibration_and_diagnostics_of_a_draw_from_the_model():
    """Rewards from a process like the one assumed: intervals hold what they say.

    140 predictions; a share may miss by 0.12, three standard errors at 80 %, and as the numbers are
    learned on the way.
    """
    generator = np.random.default_rng(3)
    x = generator.uniform(size=150)
    r = np.abs(x[:, None] - x) / 0.3 * np.sqrt(5)
    covariance = (1 + r + r**2 / 3) * np.exp(-r)
    covariance *= 0.98 ** (np.abs(np.arange(150)[:, None] - np.arange(150)) / 2)
    rewards = np.linalg.cholesky(covariance + 0.04 * np.eye(150)) @ generator.normal(size=150)
    optimizer = make(space=dp.Box(x=dp.Float(0, 1)))
    for step in range(150):
        optimizer.tell({"x": float(x[step])}, 10 + 3 * float(rewards[step]), float(step))
    found = optimizer.calibration()
    assert found.count == 147
    assert abs(found.coverage[0.5] - 0.5) < 0.13
    assert abs(found.coverage[0.8] - 0.8) < 0.12
    assert abs(found.coverage[0.95] - 0.95) < 0.08
    errors = (
        np.array([o.reward for o in optimizer.history()[3:]])
        - [o.expected[0] for o in optimizer.history()[3:]]
    ) / [o.expected[1] for o in optimizer.history()[3:]]
    np.testing.assert_allclose(found.errors, errors)
    thought = optimizer.diagnostics()
    assert thought.held == thought.told == 150
    assert 0.2 < thought.noise / 0.6 < 5
    assert 1e-3 < thought.drift < 0.2
    ages = 149 - np.arange(150)
    np.testing.assert_allclose(thought.memory, ((1 - thought.drift) ** ages).sum(), rtol=1e-9)
    assert thought.oldest_age == 149
    assert optimizer.peaks([3.0, 50.0])[1].time == 50.0
