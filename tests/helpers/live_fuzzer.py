"""Any argument anywhere in the public interface of live use: a DriftpeakError, or it works.

Run as `live_fuzzer.py CASES SEED`; prints how many calls were refused.
"""

import random
import sys
import warnings
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np

import driftpeak as dp

HUGE = 10**400
DIGITS = 10**5000  # more than Python writes out
STATED = [
    (lambda: dp.Integer(0, np.timedelta64(5)), "integer"),
    (lambda: dp.Box("x"), "parameters must be a mapping"),
    (lambda: dp.Box(x=3), "Float, Integer, Categorical or Boolean"),
    (lambda: dp.Arms(3, names=5), "sequence of strings"),
    (lambda: dp.Grid([[0], [1, 2]], size=5), "low < high"),
    (lambda: dp.DriftingGP(width=5), "driftpeak.policies.widths"),
]
ODD = [
    *[
        None,
        True,
        False,
        0,
        -1,
        3,
        1001,
        2**63,
        2**64,
        HUGE,
        -HUGE,
        DIGITS,
        0.5,
        -0.0,
        1e308,
        -1e308,
    ],
    *[float("nan"), float("inf"), Decimal("NaN"), Fraction(HUGE, 3), 3j, np.float32(2), np.int8(1)],
    *[
        np.float64("nan"),
        np.timedelta64(3, "s"),
        np.datetime64("NaT", "s"),
        np.datetime64("12000-01-01"),
    ],
    *[datetime.max, datetime.min, datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), "now"],
    *["", "abc", "\0", "\ud800", "x" * 5000, b"x", [], [1], [[]], {}, {"x": 1}, {"arm": []}],
    *[
        {"x": 0.5, "k": "a"},
        {"x": HUGE, "k": "a"},
        {"x": 0.5, "k": float("nan")},
        {1: 2},
        {"arm": 0},
    ],
    *[
        {"arm": "1"},
        {"arm": DIGITS},
        {"arm": np.timedelta64(0)},
        object(),
        np.zeros(3),
        np.zeros(0),
    ],
    *[np.array("x"), set(), range(3), timedelta(1), lambda: 1, ("x",), {"x": {}, "k": ()}],
]


def spaces():
    box = dp.Box(x=dp.Float(0, 1), k=dp.Categorical("a", "b"))
    arms = dp.Arms(3)
    rules = {"k": dp.Limit(at_most=1), "odd": lambda setting: setting["arm"] != "1"}
    return [
        dp.Optimizer(arms, maximize=True, constraints=rules, safe_start=[{"arm": 0}]),
        dp.Optimizer(box, maximize=True),
        dp.Optimizer(arms, maximize=False),
        dp.Optimizer(arms.context(k=dp.Categorical("a", "b")), maximize=True),
    ]


def calls(optimizer, generator):
    """A call with one to three odd arguments."""
    odd = lambda: generator.choice(ODD)  # noqa: E731
    setting = {"x": 0.5, "k": "a"} if isinstance(optimizer.space, dp.Box) else {"arm": 0}
    measured = {"k": 0.5} if optimizer.rules.limits else None
    said = None if optimizer.coding.context is None else {"k": "a"}
    return generator.choice(
        [
            ("ask", lambda: optimizer.ask(odd())),
            ("tell measured", lambda: optimizer.tell(setting, 1.0, constraints=odd())),
            ("tell measured", lambda: optimizer.tell(setting, 1.0, constraints={"k": odd()})),
            ("tell measured", lambda: optimizer.tell(odd(), odd(), constraints=measured)),
            ("chances", lambda: optimizer.chances([setting], odd(), context=odd())),
            ("chances", lambda: optimizer.chances(odd())),
            ("ask context", lambda: optimizer.ask(context=odd())),
            ("ask context", lambda: optimizer.ask(odd(), context=said)),
            ("tell context", lambda: optimizer.tell(setting, 1.0, context=odd())),
            ("tell context", lambda: optimizer.tell(setting, odd(), odd(), context=said)),
            ("best context", lambda: optimizer.best(context=odd())),
            ("belief context", lambda: optimizer.belief([setting], odd(), context=said)),
            ("peaks context", lambda: optimizer.peaks([odd()], context=odd())),
            ("ask", lambda: optimizer.ask(count=odd())),
            ("tell", lambda: optimizer.tell(odd(), odd())),
            ("tell", lambda: optimizer.tell(odd(), 1.0)),
            ("tell", lambda: optimizer.tell(setting, odd())),
            ("tell", lambda: optimizer.tell(setting, 1.0, odd())),
            ("tell noise", lambda: optimizer.tell(setting, 1.0, noise=odd())),
            ("tell trials", lambda: optimizer.tell(setting, 1.0, trials=odd())),
            ("tell actual", lambda: optimizer.tell(1, 1.0, actual=odd())),
            ("tell actual", lambda: optimizer.tell(odd(), 1.0, actual=setting)),
            ("cancel", lambda: optimizer.cancel(odd())),
            ("forget", lambda: optimizer.forget(odd())),
            ("best", lambda: optimizer.best(odd())),
            ("belief", lambda: optimizer.belief(odd())),
            ("belief", lambda: optimizer.belief([setting], odd())),
            ("belief", lambda: optimizer.belief([odd()])),
            ("peaks", lambda: optimizer.peaks(odd())),
            ("peaks", lambda: optimizer.peaks([odd()])),
            ("diagnostics", lambda: optimizer.diagnostics(odd())),
            ("side_queries", lambda: optimizer.side_queries(odd())),
            ("answer", lambda: optimizer.answer(odd(), odd())),
            ("answer", lambda: optimizer.answer([setting], [odd()], odd())),
            ("restore", lambda: optimizer.restore(odd())),
            ("apply", lambda: optimizer.apply(odd())),
        ]
    )


def makers(generator):
    """Something made of odd arguments."""
    odd = lambda: generator.choice(ODD)  # noqa: E731
    box = dp.Box(x=dp.Float(0, 1))
    odd_name = lambda: generator.choice(["x", "y", "", "\ud800"])  # noqa: E731
    return generator.choice(
        [
            ("Float", lambda: dp.Float(odd(), odd())),
            ("Float log", lambda: dp.Float(odd(), odd(), log=True)),
            ("Integer", lambda: dp.Integer(odd(), odd())),
            ("Integer log", lambda: dp.Integer(odd(), odd(), log=odd())),
            ("Float step", lambda: dp.Float(0, 1, step=odd(), max_step=odd())),
            ("Float rate", lambda: dp.Float(0, 1, log=odd(), max_rate=odd(), when=odd())),
            ("Integer step", lambda: dp.Integer(0, 9, step=odd(), max_step=odd())),
            ("Categorical ordered", lambda: dp.Categorical(1, 2, ordered=odd(), when=odd())),
            ("Boolean", lambda: dp.Boolean(when={"x": odd()})),
            ("condition", lambda: dp.Box(k=dp.Boolean(), x=dp.Boolean(when={"k": odd()}))),
            ("start", lambda: dp.Optimizer(box, maximize=True, start=odd())),
            ("start x", lambda: dp.Optimizer(box, maximize=True, start={"x": odd()})),
            ("max_travel", lambda: dp.Optimizer(box, maximize=True, max_travel=odd())),
            ("max_travel x", lambda: dp.Optimizer(box, maximize=True, max_travel={"x": odd()})),
            ("moving_cost", lambda: dp.Optimizer(box, maximize=True, moving_cost=odd())),
            ("Categorical", lambda: dp.Categorical(odd(), odd())),
            ("context", lambda: box.context(odd())),
            ("Limit", lambda: dp.Limit(at_most=odd(), at_least=odd(), probability=odd())),
            ("Limit at_most", lambda: dp.Limit(at_most=odd())),
            ("WeightedSum", lambda: dp.WeightedSum(odd(), at_most=1)),
            ("WeightedSum x", lambda: dp.WeightedSum({odd_name(): odd()}, at_least=odd())),
            ("constraints", lambda: dp.Optimizer(box, maximize=True, constraints=odd())),
            ("constraint", lambda: dp.Optimizer(box, maximize=True, constraints={"a": odd()})),
            (
                "safe_start",
                lambda: dp.Optimizer(
                    box, maximize=True, constraints={"a": dp.Limit(at_most=1)}, safe_start=odd()
                ),
            ),
            ("context k", lambda: dp.Optimizer(box.context(k=odd()), maximize=True)),
            ("context names", lambda: box.context({odd_name(): dp.Boolean()})),
            ("Box", lambda: dp.Box(odd())),
            ("Box x", lambda: dp.Box(x=odd())),
            ("Arms", lambda: dp.Arms(odd())),
            ("Arms names", lambda: dp.Arms(2, names=odd())),
            ("Grid", lambda: dp.Grid(odd(), size=3)),
            ("Grid size", lambda: dp.Grid([0, 1], size=odd())),
            ("DriftingGP", lambda: dp.DriftingGP(width=odd())),
            ("DriftingGP forgetting", lambda: dp.DriftingGP(forgetting=odd())),
            ("DriftingGP capacity", lambda: dp.DriftingGP(capacity=odd())),
            ("Optimizer", lambda: dp.Optimizer(odd(), maximize=True)),
            ("maximize", lambda: dp.Optimizer(box, maximize=odd())),
            ("seed", lambda: dp.Optimizer(box, maximize=True, seed=odd())),
            ("horizon", lambda: dp.Optimizer(box, maximize=True, horizon=odd())),
            ("policy", lambda: dp.Optimizer(box, maximize=True, policy=[odd()])),
        ]
    )


def fuzz(cases, seed):
    """How many calls were refused; every refusal is a DriftpeakError and changes nothing."""
    generator, refused, wrong = random.Random(seed), 0, []
    optimizers = spaces()
    for case in range(cases):
        if case % 2:
            name, call = makers(generator)
            state = None
        else:
            optimizer = generator.choice(optimizers)
            name, call = calls(optimizer, generator)
            state = optimizer.snapshot()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                call()
        except dp.DriftpeakError as error:
            refused += 1
            text = str(error)
            if not text.isprintable() or len(text) > 600:
                wrong.append((case, name, "text", text[:100]))
            if state is not None and optimizer.snapshot() != state:
                wrong.append((case, name, "changed", text[:100]))
        except Exception as error:
            wrong.append((case, name, type(error).__name__, str(error)[:100]))
        if case % 100 == 99:
            optimizers = spaces()
    assert not wrong, "\n".join(map(str, wrong))
    return refused


def check_words():
    """Some refusals, word by word."""
    for make, words in STATED:
        text = ""
        try:
            make()
        except dp.DriftpeakError as error:
            text = str(error)
        assert words in text, (words, text)


if __name__ == "__main__":
    check_words()
    print(fuzz(int(sys.argv[1]), int(sys.argv[2])))
