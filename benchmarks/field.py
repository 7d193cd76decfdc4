"""Comparison of live optimisers on boxes: regret at equal time and at equal evaluations.

Every optimiser of `benchmarks/rivals` minimises the dynamic test functions of
`driftpeak.environments.functions`, with its documented defaults and in a separate process. The
noise is 5 % of the function's standard deviation. Optimisers that are not installed are skipped
with a message.

There are two kinds of contest. In "n evaluations", all optimisers evaluate at equal times, and
computing time is ignored. In "s s", there is a simulated clock of 600 s, in which the function
moves through its whole range. An evaluation takes s seconds, and each optimiser is also charged the
time of its own calls on this machine (`benchmarks.rivals.plays.live`). The charge of a call is the
median of its measured time and the times of the four calls before it in the same run. In contrast
to a table of response times by number of observations, this charge depends on the observations that
the optimiser has discarded and on the difficulty of the function for it. Uncounted calls beforehand
exclude one-time loading and compilation. At most `calls` calls are made, evenly over the clock. In
between, the last point is held. An optimiser that answers in a millisecond makes no more calls.

Figures are the regret averaged over time as a multiple of the regret of random points, paired by
function and seed: geometric mean and 95 % interval over functions (`benchmarks._paired`), for all
functions and for groups (unseen, moving minimum, static minimum, minimum not in the middle). The
same ratios are given for driftpeak relative to each other optimiser, also without the function
whose removal raises the upper limit of the interval most. Further figures are ratios of means by
function, response times, and the longest call, which the median does not charge. Times are valid
only on an idle machine; the load is stored with each run.

`FIELD_SET` is "reduced" (the default, a quarter of an hour for optimisers that answer in a tenth of
a second), "whole", or "further". The last has twelve functions that were defined before any
optimiser was run on them (`benchmarks._further_functions`), and two rivals. Parts of each can be
selected. Completed runs are stored in a file if one is named, so that the benchmark can be
interrupted and resumed:

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

from benchmarks._further_functions import ALL, FURTHER
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

FIRST_SEED = 100  # lower seeds are for development
SIZES = (5, 10, 20, 50, 100, 200, 500)  # calls at which response times are reported
Make = Callable[[str], Any]


@dataclass(frozen=True)
class Plan:
    """Plan of the contests.

    Attributes:
        evaluations: numbers of evaluations of the contests at equal evaluations.
        seconds: seconds per evaluation of the contests on the clock.
        clock: length of the clock in seconds.
        calls: largest number of calls on the clock.
        charged: number of calls in the median that is charged for a call on the clock; 1 charges
            each call's own time, including loading and compilation.
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
        """Yield the contests by name, with their evaluations, or the seconds of an evaluation."""
        yield from ((f"{number} evaluations", number) for number in self.evaluations)
        own = "" if self.charged == CALLS_CHARGED else f", charged the median of {self.charged}"
        for spent in self.seconds:
            words = f"{spent:g} s, at most {self.calls} calls in {self.clock:g} s{own}"
            yield words, float(spent)


PLANS = {
    "whole": Plan(),
    "reduced": Plan(
        functions=("Ackley", "Hartmann-3"),  # a static and a moving minimum
        seeds=2,
        evaluations=(30,),
        seconds=(1.0, 10.0),
        calls=60,
    ),
    "further": Plan(
        functions=tuple(FURTHER),
        rivals=("driftpeak", "wdbo", "xopt"),
        seeds=4,
        evaluations=(200,),
        seconds=(),
    ),
}


def run(settings: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Run the contests given by environment variables, and return figures by name."""
    plan = planned(settings)
    kept = Kept(Path(settings["FIELD_KEEP"]) if settings.get("FIELD_KEEP") else None)
    return play_all(plan, kept, lambda name: Process(name, settings))


def planned(settings: Mapping[str, str]) -> Plan:
    """Return the named plan with the selected parts.

    Raises:
        SystemExit: an unknown plan, function or rival, or an invalid number.
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
                    f"field: FIELD_{part.upper()} must be numbers above 0; got {text!r}"
                ) from None
    plan = replace(plan, **chosen)
    known("function", plan.functions, ALL)
    known("rival", plan.rivals, RIVALS)
    return plan


def known(what: str, given: Iterable[str], there: Mapping[str, object]) -> None:
    """Raise SystemExit for an unknown name."""
    for name in given:
        if name not in there:
            raise SystemExit(f"field: {what} must be one of {', '.join(there)}; got {name!r}")


def whole(text: str) -> int:
    """Parse a whole number above 0, or raise ValueError."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def seconds(text: str) -> float:
    """Parse a finite number above 0, or raise ValueError."""
    if not 0 < float(text) < math.inf:
        raise ValueError
    return float(text)


def names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas; an empty text has no names."""
    return tuple(text.split(",")) if text else ()


def play_all(plan: Plan, kept: Kept, make: Make) -> dict[str, Any]:
    """Run the plays that are not stored, and return figures by name.

    Arguments:
        make: starts the process of a rival by name.
    """
    figures: dict[str, Any] = {"seeds": plan.seeds, "functions": ", ".join(plan.functions)}
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in dict.fromkeys([REFERENCE, *plan.rivals]):  # the reference is always needed
        try:
            rows[name] = played(plan, kept, name, make)
        except RivalMissingError as missing:
            figures[f"{name}: skipped"] = str(missing)
            say(name, "skipped:", missing)
    every = [row for own in rows.values() for row in own]
    for name, _ in plan.contests():
        figures |= standings_figures(contest(name, every, plan.functions))
    return figures | machines(rows)


def played(plan: Plan, kept: Kept, name: str, make: Make) -> list[dict[str, Any]]:
    """Return all plays of one rival; missing plays are run one after another.

    Raises:
        RivalMissingError: a play is missing, and the rival is not installed.
    """
    process, rows, warm, contests = None, [], set(), dict(plan.contests())
    try:
        for key in keys(plan, name):
            row = kept.get(key)
            if row is None:
                process = process or make(name)
                dimension = ALL[key[1]].dimension
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
    """Yield the keys of all plays: contest, function, rival and seed."""
    for words, _ in plan.contests():
        for function in plan.functions:
            for seed in range(FIRST_SEED, FIRST_SEED + plan.seeds):
                yield words, function, name, seed


def one(plan: Plan, process: Any, key: tuple[str, str, str, int]) -> dict[str, Any]:
    """Run a play, and return its row for the file."""
    words, function, _, seed = key
    moving, number = Moving(ALL[function], seed), dict(plan.contests())[words]
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
    """Return the commit of this checkout, or None without a repository or git."""
    words = ["git", "describe", "--always", "--dirty"]
    try:
        described = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return None
    return described.stdout.strip() or None


def typical(play: Play) -> dict[str, float]:
    """Return the median of the five response times up to each of `SIZES` calls."""
    seconds = play.responses
    return {str(n): median(seconds[n - 5 : n]) for n in SIZES if n <= len(seconds)}


def standings_figures(found: Contest) -> dict[str, Any]:
    """Return regrets relative to the reference, and driftpeak's relative to the others."""
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
    """Return response times in milliseconds (medians over plays), versions and failures."""
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
    """Print progress on standard error."""
    print(*words, file=sys.stderr, flush=True)
