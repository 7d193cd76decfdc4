"""Write field-cases.md and the tables of field.md and README.md from recorded runs of `field`.

    python scripts/standings.py

The script runs no optimiser: `benchmarks/measured/field.jsonl` holds the plays.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(HERE.parent))

from benchmarks._paired import Ratio  # noqa: E402
from benchmarks._standings import OURS, SOME, Contest, contest  # noqa: E402
from benchmarks.field import PLANS  # noqa: E402
from benchmarks.rivals import FIELD  # noqa: E402

PLAYED = HERE.parent / "benchmarks" / "measured" / "field.jsonl"
HEADS = (
    "rival", "regret", "driftpeak / rival", "without one function, at most",
    "response (s)", "longest (s)", "calls", "load",
)  # fmt: skip
NAMES = {
    "wdbo": "W-DBO",
    "xopt": "Xopt",
    "optuna_cmaes": "Optuna CMA-ES",
    "ax": "Ax",
    "botorch": "BoTorch",
    "bayes_opt": "bayesian-optimization",
    "optuna_gp": "Optuna GP",
    "stay": "first point held",
}
"""Names of the rivals in field.md."""
NEAREST = ("wdbo", "xopt")
"""Rivals with their own columns in the overview."""
IN_README = {
    "wdbo": "yes",
    "xopt": "yes",
    "ax": "as an input",
    "botorch": "as an input",
    "optuna_gp": "no",
}
"""Rivals in README.md, and whether they model time."""


@dataclass(frozen=True)
class Told:
    """Description of a contest on the pages.

    Attributes:
        name: name in the file of plays.
        short: head of its column. title: title of its section.
        goal: target of driftpeak's regret relative to each rival.
        command: environment variables that run the contest.
        timed: whether the times of its plays are valid; plays of a contest without charges for
            computing time may have been paused.
        rivals: rivals on the page.
        plan: plan of the benchmark with the functions.
        ours: contest of driftpeak's plays, if it is another one.
    """

    name: str
    short: str
    title: str
    goal: float
    command: str
    timed: bool = True
    rivals: tuple[str, ...] = FIELD
    plan: str = "whole"
    ours: str | None = None

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions, in order."""
        return PLANS[self.plan].functions

    def read(self) -> Contest:
        """Return the standings of the contest."""
        rows = []
        for row in map(json.loads, PLAYED.read_text().splitlines()):
            name, function, rival, seed = row["key"]
            own = (self.ours or self.name) if rival == OURS else self.name
            if name == own and rival in self.rivals and function in self.functions:
                rows.append(row | {"key": [self.name, function, rival, seed]})
        return contest(self.name, rows, self.functions)


def _evaluations(number: int, seeds: int, *, timed: bool = True) -> Told:
    return Told(
        f"{number} evaluations",
        f"{number} evaluations",
        f"{number} evaluations, computing time not counted",
        0.75,
        f"FIELD_SEEDS={seeds} FIELD_EVALUATIONS={number} FIELD_SECONDS=",
        timed,
    )


def _clock(seconds: str, clock: int, seeds: int) -> Told:
    return Told(
        f"{seconds} s, at most 500 calls in {clock} s",
        f"{clock} s, {seconds} s each",
        f"A clock of {clock} s, evaluations of {seconds} s",
        0.5,
        f"FIELD_SEEDS={seeds} FIELD_EVALUATIONS= FIELD_SECONDS={seconds} FIELD_CLOCK={clock}",
    )


CONTESTS = (
    _evaluations(50, 10),
    _evaluations(200, 2, timed=False),
    _clock("0.1", 60, 2),
    _clock("0.1", 600, 1),
    _clock("1", 600, 1),
    _clock("10", 600, 2),
)
"""Contests in the columns of the summary, and in the first sections."""
OWN_TIME = replace(
    _clock("0.1", 60, 2),
    title="A clock of 60 s, driftpeak alone charged each call's own time",
    command="FIELD_SEEDS=2 FIELD_EVALUATIONS= FIELD_SECONDS=0.1 FIELD_CLOCK=60 FIELD_CHARGED=1",
    ours="0.1 s, at most 500 calls in 60 s, charged the median of 1",
)
W_DBO_MINUTES = replace(
    _evaluations(50, 2),
    title="50 evaluations, W-DBO as in the example of its package",
    rivals=("random", "driftpeak", "wdbo", "wdbo_minutes"),
)
XOPT_SECOND = replace(
    _evaluations(50, 2),
    title="50 evaluations, Xopt with a run of one second on its clock",
    rivals=("random", "driftpeak", "xopt", "xopt_second"),
)
NEAREST_RIVALS = replace(
    _evaluations(200, 4, timed=False),
    title="200 evaluations, W-DBO and Xopt with four seeds",
    rivals=("random", OURS, *NEAREST),
)
FURTHER_FUNCTIONS = replace(
    _evaluations(200, 3, timed=False),
    title="200 evaluations, twelve functions that were defined in advance",
    goal=0.6,
    rivals=("random", *PLANS["further"].rivals),
    plan="further",
)
VARIANTS = (OWN_TIME, W_DBO_MINUTES, XOPT_SECOND, NEAREST_RIVALS, FURTHER_FUNCTIONS)
"""Contests in the last sections."""


def reached(goal: float, ours: Ratio, left: Ratio | None) -> bool:
    """Return whether the mean reaches the goal, and all intervals are below 1."""
    return round(ours.middle, 2) <= goal and ours.high < 1 and (left is None or left.high < 1)


def overview(contests: Sequence[tuple[Told, Contest]]) -> str:
    """Return a row for each contest: driftpeak's regret divided by the nearest rivals' regret."""
    nearest = [f"driftpeak / {NAMES[rival]}" for rival in NEAREST]
    lines = list(_head(["setting", "seeds", *nearest, "highest ratio to another optimiser"]))
    for told, found in contests:
        ratios = {one.rival: one.ours for one in found.standings if one.ours is not None}
        others = [rival for rival in ratios if rival not in (*NEAREST, "stay")]
        highest = max(others, key=lambda rival: ratios[rival].middle)
        cells = [_lower(ratios[rival]) for rival in NEAREST]
        cells.append(f"{NAMES[highest]}: {_lower(ratios[highest])}")
        lines.append(_line([told.short, str(len(found.seeds)), *cells]))
    return "\n".join(lines) + "\n"


def summary(contests: Sequence[tuple[Told, Contest]]) -> str:
    """Return a row for each rival, a column for each contest: driftpeak's regret / the rival's."""
    heads = [told.short for told, _ in contests]
    lines = list(_head(["driftpeak's regret divided by the regret of", *heads]))
    for rival in [one.rival for one in contests[0][1].standings if one.rival != OURS]:
        cells = [NAMES[rival]]
        for told, found in contests:
            (own,) = [one for one in found.standings if one.rival == rival] or [None]
            if own is None:
                cells.append("not measured")
                continue
            mark = "**" if reached(told.goal, own.ours, own.left_out and own.left_out[1]) else ""
            cells.append(f"{mark}{own.ours}{mark}")
        lines.append(_line(cells))
    cells = [str(found.of(OURS).regret) for _, found in contests]
    lines.append(_line(["random points", *cells]))
    lines.append(_line(["*target*", *(f"*{told.goal:g}*" for told, _ in contests)]))
    played = [f"*{len(found.functions)}, {len(found.seeds)}*" for _, found in contests]
    lines.append(_line(["*functions, seeds*", *played]))
    return "\n".join(lines) + "\n"


def ahead(contests: Sequence[tuple[Told, Contest]]) -> str:
    """Return a row for each contest and function in which a rival has lower regret."""
    lines = list(_head(["setting", "function", "driftpeak", "rivals with lower regret"]))
    for told, found in contests:
        ours = found.of(OURS).by_function
        for function in found.functions:
            lower = [
                (one.by_function[function], NAMES[one.rival])
                for one in found.standings
                if one.rival != OURS
                and round(one.by_function[function], 2) < round(ours[function], 2)
            ]
            if lower:
                names = ", ".join(f"{name} {regret:.2f}" for regret, name in sorted(lower))
                lines.append(_line([told.short, function, f"{ours[function]:.2f}", names]))
    return "\n".join(lines) + "\n"


def section(told: Told, found: Contest) -> str:
    """Return the section of a contest with its command and tables."""
    some = len(found.functions) < len(told.functions)
    names = f"FIELD_FUNCTIONS={','.join(found.functions)} " if some else ""
    played = [OURS] if told.ours else sorted(one.rival for one in found.standings)
    rivals = ",".join(["random", *played])
    lines = [
        f"## {told.title}",
        "",
        f"{len(found.functions)} functions, {len(found.seeds)} "
        f"{'seed' if len(found.seeds) == 1 else 'seeds'} from {found.seeds[0]} on:",
        "",
        "```sh",
        f"OMP_NUM_THREADS=1 FIELD_SET={told.plan} {names}FIELD_RIVALS={rivals} \\",
        f"{told.command} \\",
        "FIELD_ENVIRONMENTS=field FIELD_KEEP=benchmarks/measured/field.jsonl \\",
        "taskset -c 0 python -m benchmarks field",
        "```",
        "",
        *([OTHERS, ""] if told.ours else []),
        ", ".join(f"{name} {version}" for name, version in found.versions.items()) + ".",
        "",
        *_head(HEADS),
    ]
    for one in found.standings:
        without = f"{one.left_out[1]}, {one.left_out[0]}" if one.left_out else ""
        response = "" if one.response is None else f"{one.response:.2g}"
        longest = f"{one.longest:.2g}"
        if not told.timed:
            response = longest = ""
        fewest, most = one.calls
        cells = [one.rival, str(one.regret), _maybe(one.ours), without, response, longest]
        calls = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        lines.append(_line([*cells, calls, f"{one.load:.1f}"]))
    if any(one.ours_on for one in found.standings):
        lines += ["", "driftpeak / rival on groups of functions:", ""]
        lines += _head(["rival", *SOME])
        for one in found.standings:
            if one.rival != OURS:
                lines.append(_line([one.rival, *(_maybe(one.ours_on.get(some)) for some in SOME)]))
    lines += ["", "Ratio of the means by function:", ""]
    lines += _head(["rival", *found.functions])
    for one in found.standings:
        lines.append(_line([one.rival, *(f"{one.by_function[f]:.2f}" for f in found.functions)]))
    return "\n".join(lines) + "\n"


PAGE = """---
orphan: true
---

# Comparison with other optimisers, by setting

{doc}`field` describes the protocol and the rivals, and discusses the results. `python
scripts/standings.py` writes this page from the runs in `benchmarks/measured/field.jsonl`. With this
file in place, the commands below run nothing and print the values. Each run has one core of a
machine of two, by `taskset` on Linux. Without `taskset`, XLA uses all cores.

The columns are:

- *regret*: divided by the regret of random points; the geometric mean over functions and seeds
  with a 95 % [interval](field.md#intervals) over functions. Fewer than five functions have no
  interval.
- *without one function, at most*: driftpeak / rival without the function whose removal gives the
  highest upper limit.
- *response*: seconds of `ask` and the previous `tell`, the median from 20 calls on.
- *longest*: seconds of the longest call, usually one with compilation or refitting. The median
  charge ignores it.
- *load*: of the machine, the median over the runs.
- *unseen*: Eggholder, Rastrigin, Styblinski-Tang, Hartmann-6 and Powell.
- *minimum moves*: Eggholder, Rosenbrock, Shekel, both Hartmann functions and Powell.
- *minimum stays*: the other four functions, on which only the value of the minimum changes.
- *minimum not in the middle*: all functions except Ackley and Rastrigin. The minimum of these two
  is in the middle of the box, where Ax and Optuna's CMA-ES start and driftpeak's exploration
  bonus is largest.

Response times for 200 evaluations are omitted, because many of these runs were paused or waited
for other programs.

"""
OTHERS = """This command runs driftpeak alone. The runs of the rivals, which are charged medians,
are those of the setting with the same clock above."""


def page(contests: Sequence[tuple[Told, Contest]]) -> str:
    """Return the page field-cases.md."""
    return PAGE + "\n".join(section(told, found) for told, found in contests)


def five_rivals(contests: Sequence[tuple[Told, Contest]]) -> str:
    """Return the table of README.md: five rivals at 50 and 200 evaluations."""
    chosen = [pair for pair in contests if pair[0].name in ("50 evaluations", "200 evaluations")]
    heads = [f"{told.short}, {len(found.seeds)} seeds" for told, found in chosen]
    lines = list(_head(["rival", "models time", *heads]))
    for rival, time in IN_README.items():
        ratios = [str(found.of(rival).ours) for _, found in chosen]
        lines.append(_line([NAMES[rival], time, *ratios]))
    return "\n".join(lines) + "\n"


def with_tables(page: str, text: str, contests: Sequence[tuple[Told, Contest]]) -> str:
    """Return the text of field.md or README.md with its tables replaced."""
    for name, table in TABLES[page].items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, rest = text.split(begin)
        text = before + begin + table(contests) + end + rest.split(end)[1]
    return text


TABLES = {
    "field.md": {"overview": overview, "standings": summary, "ahead": ahead},
    "README.md": {"rivals": five_rivals},
}
"""The tables of each page, by the name in the comments around them."""


def _lower(ratio: Ratio) -> str:
    """Return the ratio, in bold where its interval is below 1."""
    return f"**{ratio}**" if ratio.high < 1 else str(ratio)


def _maybe(ratio: Ratio | None) -> str:
    return "" if ratio is None else str(ratio)


def _head(cells: Sequence[str]) -> Iterator[str]:
    yield _line(cells)
    yield _line(["---"] * len(cells))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    read = [(told, told.read()) for told in CONTESTS]
    more = [(told, told.read()) for told in VARIANTS]
    (HERE / "field-cases.md").write_text(page([*read, *more]))
    for path in (HERE / "field.md", HERE.parent / "README.md"):
        path.write_text(with_tables(path.name, path.read_text(), read))
