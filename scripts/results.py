"""Write pages from the stored results of a run: every claim with its numbers, and all tables.

    python scripts/results.py results

writes the sections of verdicts.md for the experiments that `driftpeak reproduce ID ... --output
results` stored (`all` for the whole page), or a page of its own for `driftpeak reproduce
tournament` (tournament-cases.md) and `driftpeak reproduce simple-bandits` (simple-bandits.md).
"""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from driftpeak.experiments.bootstrap import MOST_NEEDED, samples_to_decide
from driftpeak.experiments.running.registry import GROUPS

HERE = Path(__file__).parents[1] / "docs"
OWN_PAGES = {
    "tournament": ("tournament-cases.md", "Tournament results by case"),
    "simple-bandits": ("simple-bandits.md", "Simple bandits"),
}
"""File and title of the experiments that have a page of their own."""
MANY = 4
"""Number of differences up to which all are shown; of more, the lowest and highest are shown."""
HEAD = """---
orphan: true
---

# {title}

Results of `driftpeak reproduce {names} --data DIR --output DIR` at full size with seed {seed}:
{found}. The differences are paired and positive if the claim is true, with 95 % intervals, by
setting. {{doc}}`reproduce` defines the verdicts. *Samples needed* is the approximate number of
samples (trials, or blocks or days of a recording) that would decide an undecided setting, for the
same estimate and standard deviation. `python scripts/results.py DIR` writes this page from the
`summary.json` of the run.
"""
WORDS = {
    "holds": "hold",
    "does not hold": "do not hold",
    "undecided": "are undecided",
    "depends": "depend on what the paper leaves open",
    "too few trials": "have too few trials",
}


def page(summary: dict[str, Any], title: str) -> str:
    """Return the whole page."""
    sections = {name: _experiment(name, one) for name, one in summary["experiments"].items()}
    (seed,) = {one["seed"] for one in summary["experiments"].values()}
    return _joined(sections, title, seed)


def updated(text: str, summary: dict[str, Any], title: str) -> str:
    """Return the page `text` with the sections of the experiments of a run replaced."""
    parts = text.split("\n## ")[1:]
    sections = {part.split(":")[0]: f"\n## {part}" for part in parts}
    for name, one in summary["experiments"].items():
        sections[name] = _experiment(name, one)
    (seed,) = {one["seed"] for one in summary["experiments"].values()}
    return _joined(sections, title, seed)


VERDICT = re.compile(r"^\| (additional check: )?.*\| \*\*(.+?)\*\* \|", re.MULTILINE)


def _joined(sections: dict[str, str], title: str, seed: int) -> str:
    """Return the head, which counts the verdicts in the sections, and the sections."""
    whole = "".join(sections.values())
    every = VERDICT.findall(whole)
    papers = Counter(verdict for own, verdict in every if not own)
    ours = f"{len(every) - papers.total()} additional checks"
    verdicts = ", ".join(f"{papers[one]} {words}" for one, words in WORDS.items() if papers[one])
    claims = f"{papers.total()} claims of the papers, of which {verdicts}; and {ours}"
    text = HEAD.format(
        title=title,
        names=" ".join(sections)
        if len(sections) < 3
        else " ".join(["all", *_not_in_all(sections)]),
        seed=seed,
        found=claims if papers else ours,
    )
    return text + whole


def _not_in_all(names: Iterable[str]) -> list[str]:
    """Return the names of the experiments that `driftpeak reproduce all` does not run."""
    return [name for name in names if name not in GROUPS["all"]]


def _experiment(name: str, one: dict[str, Any]) -> str:
    """Return the section of an experiment: its choices, and a row for every setting of a claim."""
    lines = [f"\n## {name}: {one['title']}\n", f"{one['source']}.\n"]
    lines += [f"- {choice}" for choice in one["choices"]] + [""] * bool(one["choices"])
    lines += ["| claim | setting | verdict | samples needed | differences |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for claim in one["claims"]:
        lines += _rows(claim)
    for table in one["tables"]:
        lines += ["", f"### {table['title']}", *_table(table)]
    return "\n".join(lines) + "\n"


def _table(table: dict[str, Any]) -> Iterator[str]:
    yield ""
    for row in (table["columns"], ["---"] * len(table["columns"]), *table["rows"]):
        yield f"| {' | '.join(_cell(str(cell)) for cell in row)} |"


def _rows(claim: dict[str, Any]) -> Iterator[str]:
    ours = "additional check: " if claim["whose"] == "ours" else ""
    text, several = f"{ours}{claim['claim']}", len(claim["settings"]) > 1
    if several:
        yield f"| {_cell(text)} | all | **{claim['verdict']}** | | |"
    for setting in claim["settings"]:
        first = "" if several else _cell(text)
        verdict = setting["verdict"] if several else f"**{setting['verdict']}**"
        numbers = "; ".join(_number(one) for one in _chosen(setting["comparisons"]))
        count = len(setting["comparisons"])
        note = f"; the lowest and highest of {count}" if count > MANY else ""
        cells = (first, _cell(setting["setting"]), verdict, needed(setting), _cell(numbers + note))
        yield f"| {' | '.join(cells)} |"


def needed(setting: dict[str, Any]) -> str:
    """Return the number of samples that would decide an undecided setting, from its shown numbers.

    One difference below zero refutes a setting. It holds if all differences are above zero.
    """
    if setting["verdict"] != "undecided":
        return ""
    counts: dict[bool, list[float]] = {True: [], False: []}
    for one in setting["comparisons"]:
        if one["verdict"] == "undecided":
            shown = [float(_round(one[name], one)) for name in ("estimate", "low", "high")]
            counts[shown[0] < 0].append(samples_to_decide(*shown, one["samples"]))
    number = min(counts[True]) if counts[True] else max(counts[False])
    return f"{number:,.0f}" if number < math.inf else f"more than {MOST_NEEDED:,}"


def _chosen(comparisons: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(comparisons) <= MANY:
        return comparisons
    ordered = sorted(comparisons, key=lambda one: one["low"])
    return [ordered[0], ordered[-1]]


def _number(one: dict[str, Any]) -> str:
    low, high = (_round(one[end], one) for end in ("low", "high"))
    return f"{one['quantity']}: {_round(one['estimate'], one)} [{low}, {high}]"


def _round(value: float, one: dict[str, Any]) -> str:
    """Round a value to a twentieth of the interval's width or finer."""
    width = one["high"] - one["low"]
    digits = 0
    while digits < 8 and 10.0**-digits > width / 20:
        digits += 1
    return f"{value:.{digits}f}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    found = json.loads((Path(sys.argv[1]) / "summary.json").read_text())
    own = OWN_PAGES.keys() & found["experiments"]
    for name in own:
        file, title = OWN_PAGES[name]
        alone = found | {"experiments": {name: found["experiments"][name]}}
        (HERE / file).write_text(page(alone, title))
    if not own:
        verdicts = HERE / "verdicts.md"
        verdicts.write_text(updated(verdicts.read_text(), found, "Verdicts on all claims"))
