"""The whole field, live on boxes: regret at equal time, and at equal numbers of evaluations.

The dynamic test functions of `driftpeak.environments.functions`, minimised by every rival of
`benchmarks/rivals` at its documented defaults, each in a process of its own. Noise: 5 % of the
function's standard deviation. A rival that is not installed is skipped with a word.

Two kinds of contest. "n evaluations": at equal times, nobody is charged for thinking. "s s": a
simulated clock of 600 s, in which the function moves through its whole range; an evaluation takes s
seconds, and each rival is charged what its own calls take on this machine as well
(`benchmarks.rivals.plays.live`). Each call is charged its own measured time, or rather the median
with the four before it in the same play: unlike a table of response times by number of
observations, that knows how many observations a rival has thrown away by then, and how hard this
function is for it. What is loaded or compiled once is left out by calls beforehand that do not
count. At most `calls` calls are made, evenly over the clock, with the last point held in between:
an optimiser that answers in a millisecond makes no more.

Figures: regret averaged over time, as a multiple of that of random points, paired by function and
seed: geometric mean and its 95 % interval over functions (`benchmarks._paired`), of all functions
and of some (unseen, the minimum moves, stays, is not in the middle); the same for driftpeak's as a
multiple of each other's, also without the function whose absence makes the interval reach farthest
up; by function, ratios of means; response times, and the longest call, which the median does not
charge.
Times are worth something on a machine that does nothing else: the load is kept with each play.

`FIELD_SET` is "reduced" (the default: a quarter of an hour for those that answer in a tenth of a
second) or "whole". Parts of either can be chosen, and what has been played is kept in a file if one
is named, so that a run can be stopped and continued:

    FIELD_SET=whole FIELD_RIVALS=driftpeak,wdbo FIELD_FUNCTIONS=Shekel FIELD_SEEDS=1 \\
    FIELD_EVALUATIONS=50 FIELD_SECONDS=1,10 FIELD_CLOCK=600 FIELD_CALLS=100 FIELD_CHARGED=1 \\
    FIELD_KEEP=played.jsonl FIELD_PYTHON_WDBO=/some/venv/bin/python \\
    FIELD_ENVIRONMENTS=/folder/of/venvs \\
        python -m benchmarks field
"""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._kept import Kept
from benchmarks._moving import Moving
from benchmarks._standings import OURS, REFERENCE, Contest, contest
from benchmarks.rivals import FIELD, RIVALS
from benchmarks.rivals.plays import (
    CALLS_CHARGED,
    Play,
    equal_evaluations,
    live,
    mean_regret,
    warm_up,
)
from benchmarks.rivals.process import Process, RivalMissingError
from driftpeak.environments.functions import FUNCTIONS

FIRST_SEED = 100  # lower ones: for development
SIZES = (5, 10, 20, 50, 100, 200, 500)  # calls up to which response times are told
Make = Callable[[str], Any]


@dataclass(frozen=True)
class Plan:
    """What is played.

    Attributes:
        evaluations: of the contests at equal evaluations.
        seconds: that an evaluation takes, of the contests on the clock.
        clock: seconds in all.
        calls: at most, on the clock.
        charged: calls over which the median is taken that a call is charged on the clock; 1 for
            each call's own time, whatever was loaded or compiled in it.
    """

    functions: tuple[str, ...] = tuple(FUNCTIONS)
    rivals: tuple[str, ...] = FIELD
    seeds: int = 10
    evaluations: tuple[int, ...] = (50, 200, 500)
    seconds: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    clock: float = 600.0
    calls: int = 500
    charged: int = CALLS_CHARGED

    def contests(self) -> Iterator[tuple[str, int | float]]:
        """By name, with the evaluations or the seconds of one."""
        yield from ((f"{number} evaluations", number) for number in self.evaluations)
        own = "" if self.charged == CALLS_CHARGED else f", charged the median of {self.charged}"
        for spent in self.seconds:
            words = f"{spent:g} s, at most {self.calls} calls in {self.clock:g} s{own}"
            yield words, float(spent)


PLANS = {
    "whole": Plan(),
    "reduced": Plan(
        functions=("Ackley", "Hartmann-3"),  # a minimum that stays and one that moves
        seeds=2,
        evaluations=(30,),
        seconds=(1.0, 10.0),
        calls=60,
    ),
}


def run(settings: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Plays what the environment variables say; figures by name."""
    plan = planned(settings)
    kept = Kept(Path(settings["FIELD_KEEP"]) if settings.get("FIELD_KEEP") else None)
    return play_all(plan, kept, lambda name: Process(name, settings))


def planned(settings: Mapping[str, str]) -> Plan:
    """A plan by name, with the parts that are chosen.

    Raises:
        SystemExit: no such plan, function or rival, or a number that is none.
    """
    name = settings.get("FIELD_SET", "reduced")
    known("set", [name], PLANS)
    plan = PLANS[name]
    parts: dict[str, Callable[[str], Any]] = {
        "functions": names,
        "rivals": names,
        "seeds": whole,
        "evaluations": lambda text: tuple(map(whole, names(text))),
        "seconds": lambda text: tuple(map(seconds, names(text))),
        "clock": seconds,
        "calls": whole,
        "charged": whole,
    }
    given = {part: settings.get(f"FIELD_{part.upper()}") for part in parts}
    chosen = {}
    for part, text in given.items():
        if text is not None:
            try:
                chosen[part] = parts[part](text)
            except ValueError:
                raise SystemExit(
                    f"field: FIELD_{part.upper()} takes numbers above 0; got {text!r}"
                ) from None
    plan = replace(plan, **chosen)
    known("function", plan.functions, FUNCTIONS)
    known("rival", plan.rivals, RIVALS)
    return plan


def known(what: str, given: Iterable[str], there: Mapping[str, object]) -> None:
    """Refuse a name of nothing that is there."""
    for name in given:
        if name not in there:
            raise SystemExit(f"field: no {what} {name!r}; there are {', '.join(there)}")


def whole(text: str) -> int:
    """A whole number above 0; ValueError: it is none."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def seconds(text: str) -> float:
    """A finite number above 0; ValueError: it is none."""
    if not 0 < float(text) < math.inf:
        raise ValueError
    return float(text)


def names(text: str) -> tuple[str, ...]:
    """What is named, with commas between; nothing in an empty text."""
    return tuple(text.split(",")) if text else ()


def play_all(plan: Plan, kept: Kept, make: Make) -> dict[str, Any]:
    """Plays what is not kept; figures by name.

    Arguments:
        make: starts the process of a rival by name.
    """
    figures: dict[str, Any] = {"seeds": plan.seeds, "functions": ", ".join(plan.functions)}
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in dict.fromkeys([REFERENCE, *plan.rivals]):  # the reference is always played
        try:
            rows[name] = played(plan, kept, name, make)
        except RivalMissingError as missing:
            figures[f"{name}: skipped"] = str(missing)
            say(name, "skipped:", missing)
    every = [row for found in rows.values() for row in found]
    for name, _ in plan.contests():
        figures |= told(contest(name, every, plan.functions))
    return figures | machines(rows)


def played(plan: Plan, kept: Kept, name: str, make: Make) -> list[dict[str, Any]]:
    """All plays of one rival: those that are kept, and the others, one after another.

    Raises:
        RivalMissingError: something is still to be played, and the rival is not there.
    """
    process, rows, warm, contests = None, [], set(), dict(plan.contests())
    try:
        for key in keys(plan, name):
            row = kept.get(key)
            if row is None:
                process = process or make(name)
                dimension = FUNCTIONS[key[1]].dimension
                if isinstance(contests[key[0]], float) and dimension not in warm:
                    warm_up(process, dimension, plan.clock)
                    warm.add(dimension)
                row = kept.keep(key, one(plan, process, key))
                say(*key, f"regret {row['regret']:.4g}, {row['calls']} calls", row["failed"] or "")
                if row["failed"]:  # its process may have ended
                    process.close()
                    process, warm = None, set()
            rows.append(row)
    finally:
        if process is not None:
            process.close()
    return rows


def keys(plan: Plan, name: str) -> Iterator[tuple[str, str, str, int]]:
    """Contest, function, rival and seed."""
    for words, _ in plan.contests():
        for function in plan.functions:
            for seed in range(FIRST_SEED, FIRST_SEED + plan.seeds):
                yield words, function, name, seed


def one(plan: Plan, process: Any, key: tuple[str, str, str, int]) -> dict[str, Any]:
    """What is kept of a play."""
    words, function, _, seed = key
    moving, number = Moving(FUNCTIONS[function], seed), dict(plan.contests())[words]
    if isinstance(number, int):
        play = equal_evaluations(process, moving, seed, number, plan.clock)
    else:
        play = live(process, moving, seed, number, plan.clock, plan.calls, plan.charged)
    return {
        "regret": mean_regret(moving, play),
        "calls": len(play.responses),
        "responses": typical(play),
        "longest": max(play.responses, default=0.0),
        "failed": play.failed,
        "versions": process.versions,
        "commit": commit(),
        "load": os.getloadavg()[0],
    }


@cache
def commit() -> str | None:
    """Of this checkout, which may be changed since; None: it is none, or there is no git."""
    words = ["git", "describe", "--always", "--dirty"]
    try:
        told = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return None
    return told.stdout.strip() or None


def typical(play: Play) -> dict[str, float]:
    """The median of the five response times up to each of `SIZES` calls."""
    seconds = play.responses
    return {str(n): median(seconds[n - 5 : n]) for n in SIZES if n <= len(seconds)}


def told(found: Contest) -> dict[str, Any]:
    """Regrets as multiples of the reference's and driftpeak's as multiples of the others'."""
    figures: dict[str, Any] = {}
    for one in found.standings:
        figures[f"{found.name}: {one.rival}"] = str(one.regret)
        for some, regret in one.regret_on.items():
            figures[f"{found.name}, {some}: {one.rival}"] = str(regret)
        if one.ours is not None:
            figures[f"{found.name}: {OURS} / {one.rival}"] = str(one.ours)
        for some, ours in one.ours_on.items():
            figures[f"{found.name}, {some}: {OURS} / {one.rival}"] = str(ours)
        if one.left_out is not None:
            without, left = one.left_out
            figures[f"{found.name}, without {without}: {OURS} / {one.rival}"] = str(left)
        figures[f"{found.name}, by function: {one.rival}"] = ", ".join(
            f"{function} {share:.2f}" for function, share in one.by_function.items()
        )
        figures[f"{found.name}, calls: {one.rival}"] = "{} to {}".format(*one.calls)
        figures[f"{found.name}, longest call (ms): {one.rival}"] = 1e3 * one.longest
        if one.response is not None:
            figures[f"{found.name}, response (ms): {one.rival}"] = 1e3 * one.response
    return figures


def machines(rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Milliseconds of a call, medians over plays; versions; and what failed."""
    figures: dict[str, Any] = {}
    for name, found in rows.items():
        versions = found[0]["versions"] if found else {}
        figures[f"{name}: versions"] = ", ".join(map(" ".join, versions.items()))
        for size in map(str, SIZES):
            own = [row["responses"][size] for row in found if size in row["responses"]]
            if own:
                figures[f"{name}: response up to call {size} (ms)"] = 1e3 * float(median(own))
        failed = [row["failed"] for row in found if row["failed"]]
        if failed:
            figures[f"{name}: plays that failed"] = f"{len(failed)}, the first: {failed[0]}"
    loads = [row["load"] for found in rows.values() for row in found]
    figures["load of the machine, median"] = float(median(loads)) if loads else 0.0
    return figures


def say(*words: Any) -> None:
    """Progress: it takes long."""
    print(*words, file=sys.stderr, flush=True)
