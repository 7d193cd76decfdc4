"""Studies as data: spaces and policies written down and read back, and nothing else ever run."""

import importlib
import inspect
import json
import os
import pkgutil
import sys

import jax
import live_worker
import numpy as np
import pytest

import driftpeak as dp
from driftpeak import policies
from driftpeak._core.arguments import Constructor, parameters_of
from driftpeak.gp import dynamics as motions, forgetting, kernels
from driftpeak.live._space.serialization import space_from_data, space_to_data
from driftpeak.live._study import policy_data
from driftpeak.live._study.policy_data import differences, policy_from_data, policy_to_data
from driftpeak.live._study.registry import PARTS, tags
from driftpeak.offline._policy_specs.policies import POLICIES as POLICY_NAMES, make_policy
from driftpeak.policies import opkb_constants, query_times as asking, widths

BOX = dp.Box(x=dp.Float(0, 1), y=dp.Float(1e-3, 1, log=True), kind=dp.Categorical("a", "b"))

# spaces


@pytest.mark.parametrize(
    "space",
    [
        BOX,
        dp.Box({"b a": dp.Integer(-3, 9), "a": dp.Categorical(True, 1, "x", 0.5)}),
        dp.Arms(5),
        dp.Arms([[0.1, 2.0], [1 / 3, 3.0]], names=["near", "far"]),
        dp.Grid([0, 1], [0.1, 0.3], size=[4, 3]),
    ],
)
def test_spaces_as_data(space):
    again = space_from_data(json.loads(json.dumps(space_to_data(space))))
    assert space_to_data(again) == space_to_data(space)
    if isinstance(space, dp.Box):
        assert again == space
        assert list(again.parameters) == list(space.parameters)
    else:
        np.testing.assert_array_equal(again.points, space.points)
        assert (again.names, again.has_coordinates) == (space.names, space.has_coordinates)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (3, "a space must be written as"),
        ({"bax": {}}, "a space must be written as"),
        ({"box": []}, "a box must map names to parameters"),
        ({"box": {}}, "at least one parameter"),
        ({"box": {"x": {"type": "float", "low": 0}}}, "parameter 'x' must have the key \"high\""),
        ({"box": {"x": {"type": "flot"}}}, "parameter 'x' must have a \"type\""),
        ({"box": {"x": {"type": "float", "low": 2, "high": 1}}}, "'x': low must be below high"),
        ({"box": {"x": {"type": "float", "low": 0, "hgh": 1}}}, "Did you mean 'high'"),
        (
            {"box": {"x": {"type": "float", "low": 1, "high": 2, "log": 1}}},
            "log must be True or False",
        ),
        ({"box": {"x": {"type": "categorical", "choices": "ab"}}}, "choices must be a list"),
        ({"arms": 1}, "number of arms"),
        ({"arms": 3, "names": ["a"]}, "one for each arm"),
        ({"grid": [[0, 1]]}, 'a grid must have the key "size"'),
        ({"grid": 3, "size": 4}, "a grid must be a list"),
    ],
)
def test_spaces_that_are_none(data, said):
    with pytest.raises(dp.DriftpeakError, match=said):
        space_from_data(data)


# policies


def priors():
    grid = dp.Grid([0, 1], [0, 1], size=4)
    kernel = 2.0 * dp.SE(lengthscale=[0.2, 0.3]) + dp.Matern(nu=1.5, lengthscale=0.4)
    return dp.Prior(grid, kernel, noise_variance=0.01, mean=np.linspace(0, 1, 16))


PRIOR = priors()
PLANE = dp.Grid([0, 1], [0, 2], size=[4, 5])
ARMS = dp.Prior(dp.Arms(3, names=list("abc")), kernels.Table(np.eye(3)), noise_variance=0.1)
EXAMPLES = {
    "drifting-gp": dp.DriftingGP(
        periods=(12.0, 24.0), width=widths.Constant(1), capacity=64, acquisition="influence"
    ),
    "prior": PRIOR,
    "features": dp.features.pivoted_cholesky(PRIOR.kernel, PRIOR.domain, rank=3),
    "kronecker": dp.features.kronecker(dp.SE(0.5), PLANE, rank=5).matrix,
    "se": dp.SE([0.2, 1 / 3]),
    "matern": dp.Matern(0.7, 0.1),
    "rational-quadratic": dp.RationalQuadratic(2.0, 0.3),
    "periodic": dp.Periodic([1.0, 2.0], 0.3),
    "linear": dp.Linear(0.5, 2.0),
    "table": kernels.Table(np.array([[1.0, 0.1], [0.1, 2.0]])),
    "sum": dp.SE(0.2) + dp.Linear(),
    "product": dp.SE(0.2) * dp.Periodic(),
    "scaled": 0.3 * dp.SE(0.2),
    "keep": forgetting.Keep(),
    "restart": forgetting.Restart(9, 2.0),
    "window": forgetting.Window(7),
    "drift": forgetting.Drift(0.1),
    "discount": forgetting.Discount(0.9, "now"),
    "weights": forgetting.Weights([1, 2, 4]),
    "injection": forgetting.Injection(1.0, 0.2),
    "space-time": forgetting.SpaceTime(4.0, memory=9),
    "scaled-log": widths.ScaledLog(0.2, 0.4),
    "constant": widths.Constant(1.5),
    "finite-domain": widths.FiniteDomain(9, 0.2),
    "bayesian": widths.Bayesian(2, resetting=True, a=30.0, b=6.0, horizon=99),
    "igp": widths.IGP(2.0, gain=dp.TabulatedGain([0.0, 1.0, 1.5])),
    "confidence": widths.Confidence(2.0, noise_variance=0.1),
    "sliding-confidence": widths.SlidingConfidence(noise_variance=0.1, horizon=50),
    "heteroscedastic": widths.Heteroscedastic(2.0, 0.2),
    "fixed-design": widths.FixedDesign(9, batches=4, noise_variance=0.1),
    "elimination": widths.Elimination(
        9, horizon=99, period=9, noise_variance=0.1, constant="proved"
    ),
    "realised-gain": dp.RealisedGain(),
    "tabulated-gain": dp.TabulatedGain([0.0, 1.0]),
    "belief-policy": dp.TVGPUCB(PRIOR, drift=0.01, acquisition="thompson"),
    "weighted-error-policy": dp.WGPUCB(PRIOR, discount=0.9, deviation="error"),
    "side-queries": dp.SparQ(PRIOR, rate=0.5, width=widths.Constant(2)),
    "every-step": asking.EveryStep(),
    "windows": asking.Windows(1.5, 0.2),
    "feedback": asking.Feedback(0.2),
    "et-gp-ucb": dp.ETGPUCB(PRIOR, delta=0.2, acquisition="thompson"),
    "uniform-random": dp.UniformRandom(PRIOR),
    "auto": dp.Auto(ARMS, drifts=(0.1, 0.2), switching=0.01, outlier=np.inf),
    "phased-elimination": dp.RPERP(PRIOR, horizon=40, period=10, delta=0.2),
    "adaptive-r-perp": dp.AdaptiveRPERP(PRIOR, horizon=64, evidence="change"),
    "opkb": dp.OPKB(PRIOR, horizon=64, period=30, c1=0.2),
    "opkb-constants": opkb_constants.PUBLISHED,
    "rexp3": dp.RExp3(ARMS, horizon=50, variation=2.0),
    "timetable": dp.Timetable([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0]], 2),
    "markov-motion": motions.MarkovMotion([0.1, 0.2]),
    "smooth-motion": motions.Matern32([0.1]),
    "oscillation": motions.DampedOscillator([12.0], [100.0]),
    "sum-motion": motions.SumMotion(
        [motions.MarkovMotion([0.1]), motions.Matern32([0.2])], [1.0, 3.0]
    ),
    "profile": dp.PeriodicMean([24.0], [[1.0, 0.0]], [[0.0, 1.0]]),
    "random-start": dp.RandomStart(dp.SWGPUCB(ARMS, window=5), steps=3),
    "transformed": dp.Transformed(dp.SWGPUCB(ARMS, window=5), "root", least=0.25),
}
EXAMPLES |= {
    name: make_policy(name, ARMS, steps=40)
    for name in sorted(tags().keys() & POLICY_NAMES.keys() - EXAMPLES.keys())
}
"""One object of every tag, with other numbers than the defaults where that matters. `Doubling` is
made of a function and is missing."""
POLICIES = {
    tag: one
    for tag, one in EXAMPLES.items()
    if isinstance(one, dp.Policy) and not isinstance(one, policies.Doubling)
} | {
    "w-sparq": dp.WSparQ(PRIOR, exponent=1.2, mixing=5, asks="after", multiplicity=True),
    "adaptive-sparq": dp.AdaptiveSparQ(PRIOR, a=0.2),
    "pe": dp.PE(PRIOR, horizon=40),
    "w-gp-ucb": dp.WGPUCB(ARMS, weights=np.arange(1.0, 60)),
    "ada-opkb": dp.ADAOPKB(PRIOR, horizon=64, features=EXAMPLES["features"]),
    "by axis": dp.Auto(
        dp.Prior(PLANE, dp.SE(0.5), 0.1),
        features=dp.features.kronecker(dp.SE(0.5), PLANE),
        lengthscales=(1.0,),
    ),
    "wrapped twice": dp.RandomStart(dp.RandomStart(dp.Auto(ARMS), steps=2)),
}


def same(left, right):
    """Equal to the last bit, whatever they are made of."""
    (one, shape), (other, other_shape) = map(jax.tree.flatten, (left, right))
    assert shape == other_shape
    for a, b in zip(one, other, strict=True):
        if isinstance(a, dp.Prior | dp.features.Features):
            assert policy_to_data(a) == policy_to_data(b)
        else:
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_there_is_an_example_of_every_tag():
    assert {*EXAMPLES, "doubling"} == set(tags())


@pytest.mark.parametrize("tag", EXAMPLES)
def test_everything_that_can_be_written_comes_back(tag):
    data = json.loads(json.dumps(policy_to_data(EXAMPLES[tag]), allow_nan=False))
    assert list(data) == [tag]
    assert set(data[tag]) == set(tags()[tag].parameters), "every argument is written, defaults too"
    again = policy_from_data(data)
    assert type(again) is type(EXAMPLES[tag])
    assert policy_to_data(again) == data


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_that_comes_back_is_the_same_policy(name):
    """All that it computes with is equal: it cannot decide otherwise."""
    again = policy_from_data(json.loads(json.dumps(policy_to_data(POLICIES[name]))))
    same(POLICIES[name].prepare(40), again.prepare(40))


@pytest.mark.slow
def test_a_policy_that_comes_back_decides_alike():
    policy = dp.TVGPUCB(PRIOR, drift=0.01, acquisition="thompson")
    again = policy_from_data(policy_to_data(policy))
    both = {"given": policy, "again": again}
    world = dp.MarkovDrift(PRIOR, drift=0.01)
    actions = dp.simulate(both, world, steps=15, trials=2, seed=0)["action"]
    np.testing.assert_array_equal(actions.sel(policy="given"), actions.sel(policy="again"))


def test_every_public_class_has_a_tag():
    """A new one needs a line in `driftpeak.live._study.registry`."""
    # must be shown the truth, or all contexts beforehand: never live
    never = {dp.Clairvoyant, dp.BestFixedArm, dp.InContext}
    shared = {kernels.Stationary, kernels.Combined, widths.FrequentistWidth, widths.Fixed}
    families = [kernels.Kernel, widths.Width, forgetting.Forgetting, dp.Policy, dp.ActingPolicy]
    found = {
        one
        for module in (kernels, widths, forgetting, policies)
        for name, one in vars(module).items()
        if inspect.isclass(one) and issubclass(one, tuple(families)) and not name.startswith("_")
    }
    assert found - never - shared - set(families) <= {entry.make for entry in tags().values()}


def test_numbers_that_were_learned_are_written_too():
    """A kernel whose numbers were changed, as by a fit, is what it is now."""
    kernel = jax.tree.map(lambda number: 2 * number, dp.SE(0.2))
    assert policy_to_data(kernel) == {"se": {"lengthscale": 0.4}}
    changed = jax.tree.map(lambda number: number, dp.RExp3(ARMS, horizon=9))
    assert list(policy_to_data(changed)) == ["yours"]  # made of nothing in particular


def test_what_is_given_is_kept_as_it_was_given():
    weights = np.array([1.0, 2.0, 4.0])
    rule = forgetting.Weights(weights)
    weights[:] = 9.0
    assert policy_to_data(rule)["weights"]["weights"] == {"array": [1.0, 2.0, 4.0]}


# studies that outlive changes of the code


def stored(path):
    """The description in a journal."""
    return json.loads(path.read_text().splitlines()[0])["study"]


def test_a_class_may_move(tmp_path, monkeypatch):
    live_worker.make(tmp_path / "study")
    for entry in (kernels.Table, forgetting.Drift, dp.BeliefPolicy, dp.Prior):
        monkeypatch.setattr(entry, "__module__", "driftpeak.somewhere.else")
    live_worker.make(tmp_path / "study")
    assert dp.Optimizer.load(tmp_path / "study").ask().id == 1


def test_an_argument_with_a_default_may_be_added(tmp_path, monkeypatch):
    live_worker.make(tmp_path / "study")

    class Drift(forgetting.Drift):
        def __init__(self, drift: float, floor: float = 0.25) -> None:
            super().__init__(drift)
            assert floor == 0.25

        floor = 0.25

    monkeypatch.setitem(PARTS, "drift", Constructor(Drift))
    monkeypatch.setattr(policies.ucb, "Drift", Drift)
    live_worker.make(tmp_path / "study")
    assert dp.Optimizer.load(tmp_path / "study").ask().id == 1


def test_nothing_stored_names_code(tmp_path):
    live_worker.make(tmp_path / "study")
    dp.Optimizer(BOX, maximize=True, storage=tmp_path / "box")
    for name in ("study", "box"):
        text = (tmp_path / name).read_text()
        assert "driftpeak" not in text
        assert "module" not in text
    assert list(stored(tmp_path / "study")["policy"]) == ["belief-policy"]


class Flat(widths.Width):
    """A width of somebody else's."""

    def __call__(self, step, posterior):
        return 0.5


def test_a_policy_of_somebody_elses_is_given_again(tmp_path):
    prior = live_worker.policy().prior
    given = [dp.TVGPUCB(prior, drift=drift, width=Flat()) for drift in (0.02, 0.03)]
    path = tmp_path / "study"
    first = dp.Optimizer(dp.Arms(6), maximize=True, policy=given[0], storage=path)
    first.tell(first.ask(), 1.0)
    with pytest.raises(
        dp.DriftpeakError, match=r"policy.width must be .* test_live_registry.Flat.*Give"
    ):
        dp.Optimizer.load(path)
    with pytest.raises(dp.DriftpeakError, match=r"another policy: policy\.forgetting\.drift d"):
        dp.Optimizer.load(path, policy=given[1])
    assert dp.Optimizer.load(path, policy=given[0]).ask().id == 2


def test_doubling_is_given_again(tmp_path):
    prior = live_worker.policy().prior
    policy = dp.Doubling(lambda horizon: dp.RExp3(prior, horizon=horizon), first=16)
    options = {"maximize": True, "horizon": 50, "storage": tmp_path / "study"}
    dp.Optimizer(dp.Arms(6), policy=policy, **options).ask()
    with pytest.raises(
        dp.DriftpeakError, match=r"policy.make must be .*<lambda>.* Give the policy"
    ):
        dp.Optimizer.load(tmp_path / "study")
    assert dp.Optimizer.load(tmp_path / "study", policy=policy).ask().id == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda data: {"forgets-oddly": data["belief-policy"]},
            "known to this version; got forgets-oddly",
        ),
        (
            lambda data: changed(data, "forgetting", {"drift": {"drift": 7}}),
            "must be a valid drift: drift m",
        ),
        (
            lambda data: changed(data, "forgetting", {"drift": {"drft": 7}}),
            "arguments that this version knows; got drft",
        ),
        (
            lambda data: changed(data, "width", {"yours": "old.place.Flat"}),
            "got the user-defined old.place.Flat",
        ),
        (lambda data: changed(data, "novelty", 3), "a belief-policy, must have .* got novelty"),
    ],
)
def test_what_cannot_be_made_again_can_be_given(tmp_path, monkeypatch, change, said):
    """A study of a later version, say, or one whose author has renamed a class of their own."""
    path = tmp_path / "study"
    with monkeypatch.context() as patch:
        patch.setattr(
            "driftpeak.live._optimizer.policy_to_data",
            lambda policy: change(policy_to_data(policy)),
        )
        first = live_worker.make(path)
        first.tell(first.ask(), 1.0)
    with pytest.raises(dp.DriftpeakError, match=said + ".*Optimizer.load.*, policy="):
        dp.Optimizer.load(path)
    with pytest.warns(dp.DriftpeakWarning, match="given policy is used, although policy"):
        assert dp.Optimizer.load(path, policy=live_worker.policy()).ask().id == 2


def changed(data, name, value):
    return {"belief-policy": data["belief-policy"] | {name: value}}


def test_differences_are_named():
    one, other = (dp.RGPUCB(PRIOR, period=period, width=Flat()) for period in (9, 10))
    pair = policy_to_data(one), policy_to_data(other)
    assert list(differences(*pair)) == [("policy.forgetting.period", True)]
    assert list(differences(pair[0], policy_to_data(dp.SparQ(PRIOR)))) == [("policy", True)]
    elsewhere = json.loads(json.dumps(pair[0]).replace("test_live_registry", "moved"))
    assert list(differences(elsewhere, pair[0])) == [("policy.width", False)]


# hostile content


def dotted_names():
    """Every public and private name of driftpeak and its attributes, and some of others'."""
    names = set()
    for module in pkgutil.walk_packages(dp.__path__, "driftpeak."):
        if not module.name.endswith("__main__"):
            try:
                found = importlib.import_module(module.name)
            except ModuleNotFoundError:  # an integration without the library it is for
                if not module.name.startswith("driftpeak.integrations."):
                    raise
                continue
            names.add(module.name)
            for name, one in vars(found).items():
                names |= {f"{module.name}:{name}", f"{module.name}.{name}", name}
                if inspect.isclass(one) or inspect.ismodule(one):
                    names |= {f"{module.name}:{name}.{deeper}" for deeper in vars(one)}
    for module in (os, sys, np, importlib, jax):
        names |= {f"{module.__name__}:{name}" for name in vars(module)}
        names |= {
            f"driftpeak.live._study.storage.journal:{module.__name__}.{x}" for x in vars(module)
        }
    return sorted(names - set(tags()) - {"space", "array", "number", "yours"})


def calls_of(read):
    """Read, and say whose functions were called while it went."""
    called = set()

    def profile(frame, event, argument):
        if event == "call":
            called.add(frame.f_globals.get("__name__"))
        elif event == "c_call":
            called.add(getattr(argument, "__module__", None))

    sys.setprofile(profile)
    try:
        assert read()
    finally:
        sys.setprofile(None)
    return called


@pytest.mark.slow
def test_no_name_of_any_code_is_followed():
    """As a tag, as a part, as an argument, and as the format before this one had it."""
    names = dotted_names()
    assert len(names) > 5_000
    good = policy_to_data(live_worker.policy())

    def hostile(name):
        yield {name: {}}
        yield {name: ["id > FILE"]}
        yield {"yours": name}
        yield {"class": name, "items": ["id > FILE"]}
        yield {"class": name, "fields": {}}
        yield {"name": name}
        yield {"random-start": {"policy": {name: {}}, "steps": 1}}
        yield {"belief-policy": {"width": {name: {"value": 1}}}}
        yield {"belief-policy": {name: 1}}
        yield {"scaled": {"kernel": {"se": {name: 1}}, "variance": 1}}

    def refused(content):
        try:
            policy_data.policy_from_data(content)
        except dp.DriftpeakError:
            return True
        return False

    for name in names:
        assert refused({name: {}}), name
    for name in names[:: len(names) // 100]:
        for content in hostile(name):
            assert refused(content), content
    ran = set()
    for name in names[:: len(names) // 10]:  # to look on is slow, and so is making a prior
        for content in (*hostile(name), changed(good, "form", name)):
            ran |= calls_of(lambda content=content: refused(content))
    assert not {"os", "posix", "io", "subprocess", "importlib._bootstrap"} & ran


@pytest.mark.parametrize(
    "content",
    [
        {"belief-policy": {}},
        {"belief-policy": {"prior": 5, "forgetting": {"keep": {}}}},
        {"belief-policy": {"prior": {"se": {}}, "forgetting": {"keep": {}}}},
        {"se": {"lengthscale": "__import__('os')"}},
        {"se": {"lengthscale": {"array": [["a"]]}}},
        {"se": {"lengthscale": {"array": [[1], [1, 2]]}}},
        {"se": {"lengthscale": {"array": [10**400]}}},
        {"se": {"lengthscale": {"number": "1e5"}}},
        {"se": {"lengthscale": {"keep": {}}}},
        {"se": []},
        {"se": {}, "keep": {}},
        {},
        {"sum": {"left": {"se": {}}, "right": 3}},
        {"window": {"length": True}},
        {"window": {"length": 1.5}},
        {"opkb": {"prior": {"se": {}}, "horizon": 9}},
        {"doubling": {"make": {"se": {}}, "first": 9}},
        {"doubling": {"make": {"constant": {"value": 1}}, "first": 9}},
        {"space": {"arms": []}},
        {"space": {"arms": 3, "names": 5}},
        {"space": "os"},
        [[[{"se": {"lengthscale": -1}}]]],
    ],
)
def test_arguments_are_checked(content):
    with pytest.raises(dp.DriftpeakError):
        policy_from_data(content)


def test_depth_has_a_limit():
    content = {"se": {}}
    for _ in range(300):
        content = {"scaled": {"kernel": content, "variance": 2}}
    with pytest.raises(dp.DriftpeakError, match="nested at most"):
        policy_from_data(content)


def test_what_is_no_policy_is_refused(tmp_path, monkeypatch, without_type_checks):
    """A part of a policy, in the policy's place."""
    monkeypatch.setattr(
        "driftpeak.live._optimizer.policy_to_data", lambda policy: {"se": {"lengthscale": 1}}
    )
    live_worker.make(tmp_path / "study")
    with pytest.raises(dp.DriftpeakError, match="policy must be a DriftingGP or a policy"):
        dp.Optimizer.load(tmp_path / "study")


def test_constructors_say_what_they_take():
    for tag, entry in tags().items():
        for name, (hint, _) in parameters_of(*entry).items():
            assert hint is not inspect.Parameter.empty, (tag, name)
