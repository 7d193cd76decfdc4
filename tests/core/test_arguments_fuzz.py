"""Arguments of the wrong kind are rejected by name, and at once, wherever they are given."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_docstrings import CALLED

import driftpeak as dp
from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least_integer
from driftpeak.policies.catalogue import entries

PRIOR = dp.Prior(dp.Grid([0, 1], size=5), dp.SE(0.3), noise_variance=0.04)
FUZZER = Path(__file__).parents[1] / "helpers" / "arguments_fuzzer.py"
ONCE_ACCEPTED = {
    "no prior": (lambda: dp.TVGPUCB("abc", drift=0.02), "prior must be a Prior, such as .*'abc'"),
    "no width": (lambda: dp.GPUCB(PRIOR, width=5), "width must be a width of .*, or None; got 5"),
    "no number": (
        lambda: dp.ROPKB(PRIOR, horizon=50, period=10, variation="abc"),
        "at most one of period and variation",
    ),
    "text for a bool": (lambda: dp.DriftingGP(learn="no"), "learn must be True or False; got 'no'"),
    "phase": (
        lambda: dp.MovingCosine(PRIOR, random_phase="no"), "random_phase must be True or False",
    ),
    "bytes for periods": (lambda: dp.DriftingGP(periods=b"x"), "periods must be a sequence"),
    "bytes for a size": (lambda: dp.Grid([0, 1], size=b"x"), "size must be an integer"),
    "horizon": (
        lambda: dp.RPERP(PRIOR, horizon=2**63),
        "horizon must be an integer of at least 2 and at most 100,000,000; got 9223372036854775808",
    ),
    "steps": (
        lambda: dp.optimize(lambda _: 0.0, dp.Arms(2), steps=10**400, maximize=True),
        "steps must be an integer of at least 0 and at most 1,000,000,000,000,000,000; got 1000",
    ),
    "forgetting": (lambda: dp.BeliefPolicy(PRIOR, 0.5), "forgetting must be a rule of .*; got 0.5"),
    "environment": (
        lambda: dp.simulate({"a": dp.GPUCB(PRIOR)}, PRIOR, steps=3), "environment must be an ",
    ),
    "no policy": (
        lambda: dp.simulate({"a": "gp-ucb"}, dp.MarkovDrift(PRIOR, drift=0.1), steps=3),
        r"policies\['a'\] must be a policy, such as .*; got 'gp-ucb'",
    ),
    "a policy of a doubling": (lambda: dp.Doubling(int), "make must return a policy; got 128"),
    "ignored weights": (
        lambda: dp.WGPUCB(PRIOR, discount=0.9, weights=[1.0, 2.0]), "exactly one of discount",
    ),
    "misspelt": (
        lambda: dp.GPUCB(PRIOR, acquisition="tomson"),
        "acquisition must be one of .*; got 'tomson'. Did you mean 'thompson'?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ONCE_ACCEPTED)
@pytest.mark.usefixtures("without_type_checks")
def test_what_was_once_accepted_or_failed_later(case):
    make, words = ONCE_ACCEPTED[case]
    with pytest.raises(dp.DriftpeakError, match=words):
        make()


@checked
def example(
    count: int,
    name: str | None = None,
    *names: str,
    flag: bool = False,
    pair: tuple[float, float] = (0.0, 1.0),
    table: "dict[str, dp.Prior] | None" = None,
    lists: "dict[str, list[str | None]] | None" = None,
) -> int:
    """Stands for a public function."""
    return count


@pytest.mark.usefixtures("without_type_checks")
def test_kinds_are_those_of_the_type_hints():
    assert (
        example("a number is for the function to check") == "a number is for the function to check"
    )
    assert example(1, None, flag=np.True_, pair=np.array([1, 2]), table={"a": PRIOR}) == 1
    for arguments, words in (
        ({"name": 5}, "name must be a string or None; got 5"),
        ({"flag": 1}, "flag must be True or False; got 1"),
        ({"pair": (1, "2")}, r"pair must be 2 numbers; got \(1, '2'\)"),
        ({"pair": (1, 2, 3)}, "pair must be 2 numbers"),
        (
            {"table": 5},
            "table must be a mapping with string keys in which each is a Prior, .*, or None; got 5",
        ),
        ({"table": {1: PRIOR}}, "table must be a mapping with string keys"),
        ({"table": {"a": PRIOR, "b": 1}}, r"table\['b'\] must be a Prior, .*; got 1"),
        ({"lists": {"a": ["x", None, 5]}}, r"lists\['a'\]\[2\] must be a string or None; got 5"),
    ):
        with pytest.raises(dp.DriftpeakError, match=words):
            example(1, **arguments)
    with pytest.raises(TypeError, match=r"has no argument .other.\. Its arguments are"):
        example(1, other=2)


def test_integers_have_a_maximum():
    assert at_least_integer("n", 10**18, 0) == 10**18
    with pytest.raises(dp.DriftpeakError, match=r"n must be .* at most 1,000,000,000,000,000,000"):
        at_least_integer("n", 10**18 + 1, 0)


def fuzz(*names):
    """The first line of the report; in a process without the type checks of the tests."""
    done = subprocess.run(
        [sys.executable, FUZZER, *names], capture_output=True, text=True, check=False, timeout=3000
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_a_few_constructors_with_any_argument():
    assert "'refused'" in fuzz("Grid", "TVGPUCB", "Restart", "Constant", "DriftingGP", "Setting")


def test_every_public_callable_is_tried():
    text = FUZZER.with_name("argument_cases.py").read_text()
    tried = set(re.findall(r'^    "(\w+)": \(', text, re.M))
    tried |= {entry.make.__name__ for entry in entries() if entry.name}
    listed = set(re.findall(r'"(\w+)"', text[text.index("MADE_BY") : text.index("SLOW =")]))
    assert set(CALLED) <= tried | listed


@pytest.mark.slow
def test_every_public_callable_with_any_argument():
    print(fuzz())
