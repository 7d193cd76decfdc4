"""Every public function and constructor, with each argument replaced by values of the wrong kind.

Run as `arguments_fuzzer.py [NAME ...]`: it prints how many calls were made, refused and accepted,
and then every call that ended otherwise. A call may work, where the value is valid there, or raise
a DriftpeakError that names the argument. In a process of its own: tests check types themselves.
"""

import collections.abc
import faulthandler
import inspect
import os
import re
import signal
import sys
import types
import typing
import warnings
from collections import Counter

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # it compiles more

import argument_cases
import equinox as eqx
import numpy as np
from beartype import BeartypeConf
from beartype.door import is_bearable

import driftpeak as dp

SECONDS = 3  # of computing, for one call
TOWER = BeartypeConf(is_pep484_tower=True)
HUGE = 10**400
VALUES = {
    "None": None,
    "''": "",
    "'abc'": "abc",
    "b'x'": b"x",
    "True": True,
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "2**63": 2**63,
    "10**400": HUGE,
    "1j": 1j,
    "[]": [],
    "[nan]": [float("nan")],
    "[None]": [None],
    "['abc']": ["abc"],
    "[[0], [1, 2]]": [[0], [1, 2]],
    "[10**400]": [HUGE],
    "{}": {},
    "{'a': None}": {"a": None},
    "{1}": {1},
    "object()": object(),
    "class": int,
    "lambda": lambda: None,
    "array of objects": np.array([1, "a"], dtype=object),
    "array of five dimensions": np.zeros((1, 2, 3, 4, 5)),
    "array of one text": np.array("x"),
    "generator": None,  # made for each call
}


ALIASES = {
    **{"first": "choice", "second": "choice", "points": "arm"},
    **{"data": "observations", "matrix": "covariance", "value": "width", "length": "window"},
}
"""What messages call an argument whose own name says less."""
ALWAYS = ("-1", "nan", "2**63", "10**400", "[nan]", "[10**400]")
"""Also given to what computes for long on valid arguments: out of range almost everywhere."""


class TookTooLongError(BaseException):
    """More than `SECONDS` of computing."""


def parameters(call, valid):
    """The names of all arguments, with their type hints; `**options` one by one."""
    made = inspect.unwrap(call.__init__ if inspect.isclass(call) else call)
    found = {}
    for name, one in inspect.signature(call).parameters.items():
        hint = _resolved(getattr(made, "__annotations__", {}).get(name, typing.Any), made)
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            (table,) = typing.get_args(hint) or (None,)
            if typing.is_typeddict(table):
                found |= typing.get_type_hints(table)
        elif one.kind is not inspect.Parameter.VAR_POSITIONAL:
            found[name] = hint
    return {name: typing.Any for name in valid} | found


def _resolved(hint, function):
    one = types.SimpleNamespace(__annotations__={"it": hint})
    try:
        return typing.get_type_hints(one, function.__globals__)["it"]
    except NameError:  # a hint that is only imported for the type checker
        return typing.Any


def acceptable(label, value, hint):
    """Whether a call may take this value for an argument of this type."""
    if hint is typing.Any:
        return not isinstance(value, str | bytes | bool | set | complex | type) and label not in (
            *("object()", "lambda", "generator", "array of objects", "array of one text"),
        )
    if label in ("lambda", "class") and _mentions(hint, collections.abc.Callable):
        return True
    if isinstance(value, bool) and not _mentions(hint, bool):
        return False
    try:
        if is_bearable(value, hint, conf=TOWER):
            return True
        if isinstance(value, list) and is_bearable(tuple(value), hint, conf=TOWER):
            return True
    except Exception:
        return True  # a hint for the type checker alone
    # arrays and lists of numbers stand for each other
    return isinstance(value, list | np.ndarray) and _mentions(hint, (list, np.ndarray))


def _mentions(hint, kinds):
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if hint in kinds or typing.get_origin(hint) in kinds:
        return True
    return any(_mentions(one, kinds) for one in typing.get_args(hint))


def names(name, text):
    """Whether a message names an argument."""
    words = re.sub(r"[^a-z0-9]+", " ", text.lower())
    stems = [one.replace("_", " ").rstrip("s") for one in (name, ALIASES.get(name, name))]
    return any(stem in words for stem in stems)


def used(made):
    """What was made does its work: what is wrong must not show later."""
    if isinstance(made, dp.Policy):
        made.prepare(3)
    elif isinstance(made, dp.environments.Environment):
        made.prepare(np.array([1.0, 2.0, 3.0]))
    elif isinstance(made, dp.widths.Width):
        dp.GPUCB(argument_cases.PRIOR, width=made).prepare(2)
    elif isinstance(made, dp.forgetting.Forgetting):
        dp.make_belief(argument_cases.PRIOR, made, 2)
    elif isinstance(made, dp.Prior):
        _ = made.variance
    elif isinstance(made, eqx.Module) and hasattr(made, "check"):
        made.check(argument_cases.GRID)


def stop(number, frame):
    raise TookTooLongError


def outcome(call, valid, name, label, hint):
    """One word, and words on what is wrong, if anything is."""
    value = (one for one in [1]) if label == "generator" else VALUES[label]
    arguments = valid | {name: value}
    faulthandler.dump_traceback_later(60 * SECONDS, exit=True)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 0.5)  # again, where the first is swallowed
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            made = call(**arguments)
            if not acceptable(label, value, hint):
                return "accepted wrongly", f"made {made!r}"[:80]
            used(made)
            if len(warned) > 3:
                return "many warnings", str(len(warned))
    except dp.DriftpeakError as error:
        text = str(error)
        if not names(name, text) and not acceptable(label, value, hint):
            return "unnamed", text[:200]
        return "refused", ""
    except TookTooLongError:
        return "hangs", ""
    except Exception as error:
        if callable(value) and _mentions(hint, collections.abc.Callable):
            return "accepted", ""  # what the caller's own function raises
        return "other exception", f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    return "accepted", ""


def main(chosen):
    signal.signal(signal.SIGPROF, stop)
    os.chdir(argument_cases.FOLDER)
    counts, wrong = Counter(), []
    for title, (call, valid) in argument_cases.CASES.items():
        if chosen and title not in chosen:
            continue
        for name, hint in parameters(call, valid).items():
            for label in VALUES:
                quick = title not in argument_cases.SLOW or label in ALWAYS
                if not quick and acceptable(label, VALUES[label], hint):
                    continue
                kind, words = outcome(call, valid, name, label, hint)
                counts[kind] += 1
                if kind not in ("refused", "accepted"):
                    wrong.append(f"{kind}: {title}({name}={label}): {words}")
                    print(wrong[-1], flush=True)
    print(sum(counts.values()), "calls:", dict(counts))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
