"""Pictures of a live optimiser show what it says."""

import datetime as dt

import numpy as np
import pytest

import driftpeak as dp
from driftpeak.live.plots import belief_figure, limit_figure, reward_figure, track_figure


@pytest.fixture(scope="module")
def optimizer():
    box = dp.Box(
        speed=dp.Float(0, 10),
        gain=dp.Float(1e-3, 1, log=True),
        stages=dp.Integer(1, 4),
        coolant=dp.Categorical("water", "oil"),
    )
    optimizer = dp.Optimizer(box, maximize=True, policy=dp.DriftingGP(learn=False))
    generator, start = np.random.default_rng(0), dt.datetime(2026, 3, 1)
    for step in range(20):
        suggestion = optimizer.ask(start + dt.timedelta(hours=step))
        value = -((suggestion["speed"] - 4) ** 2) / 10 + float(suggestion["coolant"] == "oil")
        optimizer.tell(suggestion, value + 0.1 * float(generator.normal()))
    return optimizer


def draw(figure):
    figure.canvas.draw()  # text and ticks are made now, and may fail or warn
    return [axes for axes in figure.axes if axes.get_visible()]


@pytest.mark.slow
def test_track(optimizer):
    panels = draw(track_figure(optimizer, title="machine"))
    assert [axes.get_ylabel() for axes in panels] == ["speed", "gain", "stages", "coolant"]
    told = [one.parameters["speed"] for one in optimizer.history()]
    np.testing.assert_array_equal(panels[0].lines[0].get_ydata(), told)
    assert panels[1].get_yscale() == "log"
    assert [text.get_text() for text in panels[3].get_yticklabels()] == ["water", "oil"]
    assert len(panels[0].lines[1].get_ydata()) == 60
    bands = [axes.collections[0].get_paths() for axes in panels]
    assert [bool(paths) for paths in bands] == [True, True, True, False]  # no band of choices
    low, high = (end(bands[0][0].vertices[:, 1]) for end in (np.min, np.max))
    assert low < optimizer.best()["speed"] < high


@pytest.mark.slow
def test_belief(optimizer):
    panels = draw(belief_figure(optimizer))
    best = optimizer.best()
    assert [axes.get_xlabel() for axes in panels] == ["speed", "gain", "stages", "coolant"]
    line = panels[0].lines[0]
    settings = [{**best, "speed": float(x)} for x in line.get_xdata()]
    np.testing.assert_allclose(line.get_ydata(), optimizer.belief(settings)[0])
    assert len(panels[2].lines[0].get_xdata()) == 4


def test_rewards(optimizer):
    (axes,) = draw(reward_figure(optimizer))
    history = optimizer.history()
    inside = [
        one.expected is not None and abs(one.reward - one.expected[0]) <= 1.96 * one.expected[1]
        for one in history
    ]
    foretold = sum(one.expected is not None for one in history)
    assert f"inside: {sum(inside)} of {foretold}" in axes.lines[0].get_label()
    assert len(axes.lines[0].get_ydata()) == sum(inside)
    assert foretold == 20 - 6


def test_a_sudden_change_between_counted_steps_is_drawn():
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, seed=0)
    for reward in (0.1, 0.3, 0.2, 0.4):
        optimizer.tell(optimizer.ask(), reward)
    optimizer._engine.changes = [(1.5, 1.0)]  # between the first and the second
    assert optimizer.diagnostics().change_points == [1.5]
    for figure in (reward_figure(optimizer), track_figure(optimizer)):
        (line,) = [one for one in draw(figure)[0].lines if one.get_label() == "sudden change"]
        assert line.get_linestyle() == "--"
        np.testing.assert_array_equal(np.ravel(line.get_xdata()), [1.5, 1.5])


@pytest.mark.slow
def test_arms_and_grids():
    for domain, policy in [
        (dp.Arms(5), None),
        (dp.Grid([0, 1], [0, 2], size=4), "drift"),
    ]:
        prior = dp.Prior(domain, dp.SE(0.5), 0.1) if policy else None
        chosen = dp.TVGPUCB(prior, drift=0.1) if prior else None
        optimizer = dp.Optimizer(domain, maximize=False, policy=chosen)
        for step in range(12):
            optimizer.tell(optimizer.ask(), float(np.cos(step)))
        for make in (track_figure, belief_figure, reward_figure):
            assert draw(make(optimizer))


def test_nothing_to_draw():
    optimizer = dp.Optimizer(dp.Arms(3), maximize=True)
    for make in (track_figure, belief_figure, reward_figure):
        with pytest.raises(dp.DriftpeakError, match="no observations to draw"):
            make(optimizer)


def test_limits_are_drawn_with_their_violations():
    """Four of eight heats are above their bound, which is lower at night."""
    bound = dp.ByContext("night", {True: 50, False: 70})
    limits = {"heat": dp.Limit(at_most=bound), "flow": dp.Limit(at_least=-1, at_most=1)}
    space = dp.Box(x=dp.Float(0, 1)).context(night=dp.Boolean())
    policy = dp.DriftingGP(capacity=32, learn=False, forgetting="markov")
    optimizer = dp.Optimizer(space, maximize=True, policy=policy, constraints=limits)
    for step, heat in enumerate((40, 60, 60, 80, 45, 55, 65, 75)):
        optimizer.tell(
            {"x": 0.1 * step}, 1.0, step, context={"night": step % 2 == 0},
            constraints={"heat": heat, "flow": None},
        )  # fmt: skip
    heats, flows = draw(limit_figure(optimizer))
    wrong = [60, 80, 65, 75]
    np.testing.assert_array_equal(heats.lines[1].get_ydata(), wrong)
    assert heats.get_title(loc="left") == "violated: 4 of 8 (50.0 %), allowed 5.0 %"
    np.testing.assert_array_equal(heats.lines[3].get_ydata(), [50, 70] * 4)
    assert "none measured" in flows.get_title(loc="left")
    fresh = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True, policy=policy)
    fresh.tell({"x": 0.5}, 1.0)
    with pytest.raises(dp.DriftpeakError, match="must have a measured limit to draw"):
        limit_figure(fresh)
