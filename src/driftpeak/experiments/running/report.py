"""What a run of experiments leaves behind: results, pictures, `summary.json`, `report.html`."""

import base64
import dataclasses
import html
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import xarray as xr

from driftpeak.errors import DriftpeakError
from driftpeak.experiments.bootstrap import FEWEST, LEVEL
from driftpeak.experiments.claims import Judgement, Measured, Verdict, judge
from driftpeak.experiments.experiment import Experiment, Results
from driftpeak.experiments.running.registry import EXPERIMENTS
from driftpeak.experiments.running.runner import mean_regret, read_results
from driftpeak.files import new_file
from driftpeak.simulation.samples import standard_error


@dataclass(frozen=True)
class Outcome:
    """An experiment with its results, their provenance, and the claims judged."""

    experiment: Experiment
    results: Results
    provenance: Mapping[str, Any]
    judgements: tuple[Judgement, ...]


def outcome(experiment: Experiment, results: Results, provenance: Mapping[str, Any]) -> Outcome:
    """Judge an experiment's claims."""
    judged = tuple(judge(claim, results) for claim in experiment.claims)
    return Outcome(experiment, results, provenance, judged)


def read_outcomes(directory: Path) -> Iterator[Outcome]:
    """The outcomes kept in a folder, one after another, in the registry's order.

    Raises:
        DriftpeakError: the folder holds none.
    """
    paths = {path.stem: path for path in directory.glob("*.nc") if path.stem in EXPERIMENTS}
    if not paths:
        raise DriftpeakError(
            f"{directory} holds no results of `driftpeak reproduce` (files ID.nc); run it with "
            f"output in {directory} first"
        )
    for id, experiment in EXPERIMENTS.items():
        if id in paths:
            results, provenance = read_results(paths[id])
            lacking = {case.name for case in experiment.cases} - set(results)
            if lacking:
                raise DriftpeakError(
                    f"{paths[id]} lacks {', '.join(sorted(lacking))}: it was written by another "
                    "version of driftpeak; run the experiment again"
                )
            yield outcome(experiment, results, provenance)


def as_json(one: Outcome) -> dict[str, Any]:
    """Everything but the curves: what summary.json holds of an experiment."""
    return {
        "title": one.experiment.title,
        "source": one.experiment.source,
        "choices": one.experiment.choices,
        "notes": one.experiment.notes,
        "seed": int(one.provenance["seed"]),
        "job_seconds": round(float(one.provenance["job_seconds"]), 1),
        "claims": [
            {
                "claim": judgement.claim.text,
                "whose": judgement.claim.whose,
                "verdict": judgement.verdict,
                "settings": [
                    {
                        "setting": ruling.setting,
                        "verdict": ruling.verdict,
                        "comparisons": [_measured(one) for one in ruling.measured],
                    }
                    for ruling in judgement.rulings
                ],
            }
            for judgement in one.judgements
        ],
        "tables": [dataclasses.asdict(table) for table in one.experiment.tables(one.results)],
        "cases": {
            name: {
                "trials": runs.sizes["trial"],
                "steps": int(runs.attrs["steps"]),
                "settings": json.loads(runs.attrs["settings"]),
                "policies": _policies(runs),
            }
            for name, runs in one.results.items()
        },
    }


def _measured(one: Measured) -> dict[str, Any]:
    return {
        "quantity": one.label,
        "estimate": _finite(one.estimate),
        "low": _finite(one.low),
        "high": _finite(one.high),
        "samples": one.samples,
        "refuted_at": one.refuted_at,
        "verdict": one.verdict,
    }


def _policies(runs: xr.Dataset) -> dict[str, dict[str, float | None]]:
    rows = {}
    for name, regret in zip(map(str, runs["policy"].values), mean_regret(runs), strict=True):
        run = runs.sel(policy=name)
        kept = run["regret"].values  # of every step, or the total alone
        error = standard_error(kept, independent_trials=bool(runs.attrs["independent_trials"]))
        error *= kept.shape[-1] / runs.attrs["steps"]
        rows[name] = {
            "mean_regret": float(regret.mean()),
            "standard_error": _finite(error),
            "cumulative_regret": float(regret.mean() * runs.attrs["steps"]),
            "side_queries": float(run["side_queries"].sum("step").mean()),
            "restarts": float(run["restarts"].sum("step").mean()),
            "seconds": float(run["seconds"]),
        }
        if "squared_error" in run:
            rows[name]["squared_error"] = _finite(float(run["squared_error"].values.mean()))
    return rows


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def summary(outcomes: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """What `summary.json` holds, from `as_json` of every outcome by id."""
    counts = dict.fromkeys(get_args(Verdict), 0)
    for one in outcomes.values():
        for claim in one["claims"]:
            counts[claim["verdict"]] += claim["whose"] == "paper"
    return {
        "command": "reproduce",
        "driftpeak_version": version("driftpeak"),
        "level": LEVEL,
        "papers_claims": counts,
        "experiments": dict(outcomes),
    }


def draw(one: Outcome, directory: Path) -> list[bytes]:
    """Write an experiment's pictures into a folder, and return them."""
    title = f"{one.experiment.source}: {one.experiment.title}"
    drawn = []
    for name, picture in one.experiment.pictures.items():
        buffer = io.BytesIO()
        picture(one.results, title).savefig(buffer, format="png", dpi=130)
        write_bytes(directory / f"{name}.png", buffer.getvalue())
        drawn.append(buffer.getvalue())
    return drawn


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file that is whole or not there.

    Raises:
        DriftpeakError: the disk is full or the folder not writable.
    """
    with new_file(path) as part:
        part.write_bytes(content)


RULE = (
    f"A claim holds if the {100 * LEVEL:g} % bootstrap intervals over trials, of paired "
    "differences, all lie above zero. It does not hold if at least one difference is below zero at "
    f"a family-wise {100 * (1 - LEVEL):g} % (Holm, over all differences of the claim). Otherwise "
    f"the trials do not decide it; fewer than {FEWEST} are too few. Where a paper leaves a choice "
    "open, its claim depends on it if it holds with some choices and does not hold with others."
)
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222}
img{max-width:100%;height:auto} table{border-collapse:collapse;margin:.6rem 0;font-size:.9rem}
td,th{padding:.15rem .7rem .15rem 0;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
tr{border-bottom:1px solid #e4e4e4} .holds{color:#00664b;font-weight:600}
.not{color:#a33c00;font-weight:600} .open{color:#555;font-weight:600} small,.note{color:#555}
section{margin-top:3rem} summary{cursor:pointer}
"""
CLASSES = {"holds": "holds", "does not hold": "not"}  # of the others, "open"


def page(found: Mapping[str, Any], pictures: Mapping[str, Sequence[bytes]]) -> str:
    """The report as one HTML page with the pictures inside, from `summary` and PNG files by id."""
    counts = found["papers_claims"]
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    rows = "".join(
        f'<tr><td><a href="#{id}">{id}</a></td><td>{_text(claim["claim"])}</td>'
        f"<td>{_verdict(claim['verdict'])}</td></tr>"
        for id, one in found["experiments"].items()
        for claim in one["claims"]
        if claim["whose"] == "paper"
    )
    sections = "".join(_section(id, one, pictures[id]) for id, one in found["experiments"].items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>The papers' experiments, reproduced</title><style>{STYLE}</style></head><body>"
        f"<h1>The papers' experiments, reproduced</h1><p>driftpeak "
        f"{_text(found['driftpeak_version'])}. Of the papers' claims: {words}. {RULE}</p>"
        f"<table><tr><th>experiment</th><th>claim</th><th>verdict</th></tr>{rows}</table>"
        f"{sections}</body></html>\n"
    )


def _section(id: str, one: Mapping[str, Any], pictures: Sequence[bytes]) -> str:
    images = "".join(
        f'<img alt="{_text(one["title"])}, picture {number}" '
        f'src="data:image/png;base64,{base64.b64encode(picture).decode()}">'
        for number, picture in enumerate(pictures, start=1)
    )
    notes = "".join(f"<p>{_text(note)}</p>" for note in one["notes"])
    choices = "".join(f"<li>{_text(choice)}</li>" for choice in one["choices"])
    left_open = f"<p>What the paper leaves open:</p><ul>{choices}</ul>" if choices else ""
    main = [claim for claim in one["claims"] if claim["whose"] == "paper"]
    checks = [claim for claim in one["claims"] if claim["whose"] == "ours"]
    further = f"<h3>Checks of our own</h3>{_claims(checks)}" if checks else ""
    return (
        f'<section id="{id}"><h2>{id}: {_text(one["title"])}</h2>'
        f'<p class="note">{_text(one["source"])}; seed {one["seed"]}.</p>'
        f"{images}{_tables(one['tables'])}{_claims(main)}{further}{notes}{left_open}{_cases(one['cases'])}</section>"
    )


def _tables(tables: list[Mapping[str, Any]]) -> str:
    parts = ""
    for table in tables:
        head = "".join(f"<th>{_text(column)}</th>" for column in table["columns"])
        rows = "".join(
            "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>"
            for row in table["rows"]
        )
        parts += f"<h3>{_text(table['title'])}</h3><table><tr>{head}</tr>{rows}</table>"
    return parts


def _claims(claims: list[Mapping[str, Any]]) -> str:
    rows = ""
    for claim in claims:
        rows += (
            f"<tr><th colspan=2>{_text(claim['claim'])}</th><td>{_verdict(claim['verdict'])}</td>"
            "</tr>"
        )
        for ruling in claim["settings"]:
            if ruling["setting"]:
                rows += (
                    f"<tr><td colspan=2><i>{_text(ruling['setting'])}</i></td>"
                    f"<td>{_verdict(ruling['verdict'])}</td></tr>"
                )
            rows += "".join(_comparison(one) for one in ruling["comparisons"])
    return f"<table>{rows}</table>" if rows else ""


def _comparison(measured: Mapping[str, Any]) -> str:
    numbers = _number(measured["estimate"])
    if measured["low"] is not None:
        numbers += f" [{_number(measured['low'])}, {_number(measured['high'])}]"
    return (
        f"<tr><td>{_text(measured['quantity'])}</td><td class=n>{numbers}</td>"
        f"<td><small>{measured['verdict']}, {measured['samples']} samples</small></td></tr>"
    )


def _cases(cases: Mapping[str, Any]) -> str:
    parts = ""
    for name, case in cases.items():
        predicted = any("squared_error" in row for row in case["policies"].values())
        heading = "<th class=n>squared error</th>" if predicted else ""
        rows = "".join(
            f"<tr><td>{_text(policy)}</td><td class=n>{_number(row['mean_regret'])}</td>"
            f"<td class=n>{_number(row['standard_error'])}</td>"
            f"<td class=n>{_number(row['cumulative_regret'])}</td>"
            f"<td class=n>{row['side_queries']:.4g}</td><td class=n>{row['seconds']:.1f}</td>"
            + (f"<td class=n>{_number(row['squared_error'])}</td></tr>" if predicted else "</tr>")
            for policy, row in case["policies"].items()
        )
        settings = ", ".join(f"{key} = {value}" for key, value in case["settings"].items())
        parts += (
            f"<h3>{_text(name)}: {case['trials']} trials of {case['steps']} steps</h3><table><tr>"
            "<th>policy</th><th class=n>regret per step</th><th class=n>s.e.</th>"
            "<th class=n>cumulative</th><th class=n>side queries</th><th class=n>seconds</th>"
            f"{heading}</tr>"
            f"{rows}</table><p class=note>{_text(settings)}</p>"
        )
    return f"<details><summary>Policies and settings</summary>{parts}</details>"


def _verdict(verdict: str) -> str:
    return f'<span class="{CLASSES.get(verdict, "open")}">{verdict}</span>'


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _text(value: Any) -> str:
    return html.escape(str(value))
