"""Writes docs/verdicts.md: every claim of the kept results in a folder, with its numbers.

driftpeak reproduce all --data DIR --output results
python docs/verdicts.py results
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "verdicts.md"
MANY = 4
"""So many differences of a setting are all shown; of more, the two that decide."""
HEAD = """# Every claim, every number

What `driftpeak reproduce {names} --output DIR` found at full size with seed {seed}: {claims} claims
of the papers, of which {verdicts}; and {ours} checks of our own. Estimates of paired differences,
positive where the claim is right, per setting, with 95 % intervals; {{doc}}`reproduce` says what
the verdicts mean. Written by `python docs/verdicts.py DIR` from the `summary.json` of that run.
"""


def page(summary: dict[str, Any]) -> str:
    """The whole page."""
    experiments = summary["experiments"]
    every = [claim for one in experiments.values() for claim in one["claims"]]
    papers = [claim for claim in every if claim["whose"] == "paper"]
    counted = summary["papers_claims"]
    assert sum(counted.values()) == len(papers)
    words = {"holds": "hold", "does not hold": "do not hold", "undecided": "are undecided"}
    words |= {"depends": "depend on what the paper leaves open", "too few trials": "lack trials"}
    verdicts = ", ".join(f"{count} {words[verdict]}" for verdict, count in counted.items() if count)
    (seed,) = {one["seed"] for one in experiments.values()}
    text = HEAD.format(
        names=" ".join(experiments) if len(experiments) < 3 else "all",
        seed=seed,
        claims=len(papers),
        verdicts=verdicts,
        ours=len(every) - len(papers),
    )
    return text + "".join(_experiment(name, one) for name, one in experiments.items())


def _experiment(name: str, one: dict[str, Any]) -> str:
    """Its choices, and a table with a row for every setting of every claim."""
    lines = [f"\n## {name}: {one['title']}\n", f"{one['source']}.\n"]
    lines += [f"- {choice}" for choice in one["choices"]] + [""] * bool(one["choices"])
    lines += ["| claim | setting | verdict | differences |", "| --- | --- | --- | --- |"]
    for claim in one["claims"]:
        lines += _rows(claim)
    return "\n".join(lines) + "\n"


def _rows(claim: dict[str, Any]) -> Iterator[str]:
    ours = "our own check: " if claim["whose"] == "ours" else ""
    text, several = f"{ours}{claim['claim']}", len(claim["settings"]) > 1
    if several:
        yield f"| {_cell(text)} | all | **{claim['verdict']}** | |"
    for setting in claim["settings"]:
        first = "" if several else _cell(text)
        verdict = setting["verdict"] if several else f"**{setting['verdict']}**"
        numbers = "; ".join(_number(one) for one in _chosen(setting["comparisons"]))
        more = len(setting["comparisons"]) - MANY
        note = f"; the least and the greatest of {more + MANY}" if more > 0 else ""
        yield f"| {first} | {_cell(setting['setting'])} | {verdict} | {_cell(numbers + note)} |"


def _chosen(comparisons: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(comparisons) <= MANY:
        return comparisons
    ordered = sorted(comparisons, key=lambda one: one["low"])
    return [ordered[0], ordered[-1]]


def _number(one: dict[str, Any]) -> str:
    low, high = (_round(one[end], one) for end in ("low", "high"))
    return f"{one['quantity']}: {_round(one['estimate'], one)} [{low}, {high}]"


def _round(value: float, one: dict[str, Any]) -> str:
    """To a fiftieth of the interval's width, or finer."""
    width = one["high"] - one["low"]
    digits = 0
    while digits < 8 and 10.0**-digits > width / 20:
        digits += 1
    return f"{value:.{digits}f}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page(json.loads((Path(sys.argv[1]) / "summary.json").read_text())))
