"""Report of a run of experiments: results, figures, `summary.json` and `report.html`."""

import base64
import dataclasses
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import xarray as xr
from jinja2 import Environment, FileSystemLoader

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.files import json_number, new_file
from driftpeak.experiments.bootstrap import FEWEST, LEVEL
from driftpeak.experiments.claims import Judgement, Statistic, Verdict, judge
from driftpeak.experiments.experiment import Experiment, Results
from driftpeak.experiments.running.registry import EXPERIMENTS
from driftpeak.experiments.running.runner import mean_regret, read_results
from driftpeak.simulation._samples import standard_error


@dataclass(frozen=True)
class JudgedExperiment:
    """An experiment with its results, their provenance, and the claims judged."""

    experiment: Experiment
    results: Results
    provenance: Mapping[str, Any]
    judgements: tuple[Judgement, ...]


def judged(
    experiment: Experiment, results: Results, provenance: Mapping[str, Any]
) -> JudgedExperiment:
    """Judge an experiment's claims."""
    judgements = tuple(judge(claim, results) for claim in experiment.claims)
    return JudgedExperiment(experiment, results, provenance, judgements)


def read_judged(directory: Path) -> Iterator[JudgedExperiment]:
    """Yield the results stored in a folder, in the order of the registry.

    Raises:
        DriftpeakError: the folder holds no results.
    """
    paths = {path.stem: path for path in directory.glob("*.nc") if path.stem in EXPERIMENTS}
    if not paths:
        raise DriftpeakError(
            f"{directory} must hold results of `driftpeak reproduce` (files ID.nc); got none. Run "
            f"`driftpeak reproduce` with output {directory} first"
        )
    for id, experiment in EXPERIMENTS.items():
        if id in paths:
            results, provenance = read_results(paths[id])
            lacking = {case.name for case in experiment.cases} - set(results)
            if lacking:
                raise DriftpeakError(
                    f"{paths[id]} has no {', '.join(sorted(lacking))}: another version of "
                    "driftpeak wrote it. Run the experiment again"
                )
            yield judged(experiment, results, provenance)


def as_json(outcome: JudgedExperiment) -> dict[str, object]:
    """Return the entry of an experiment in summary.json: everything except the curves."""
    experiment = outcome.experiment
    return {
        "title": experiment.title,
        "source": experiment.source,
        "choices": experiment.choices,
        "notes": experiment.notes,
        "seed": int(outcome.provenance["seed"]),
        "job_seconds": round(float(outcome.provenance["job_seconds"]), 1),
        "claims": [
            {
                "claim": judgement.claim.text,
                "whose": judgement.claim.whose,
                "verdict": judgement.verdict,
                "settings": [
                    {
                        "setting": ruling.setting,
                        "verdict": ruling.verdict,
                        "comparisons": [_measured(statistic) for statistic in ruling.measured],
                    }
                    for ruling in judgement.rulings
                ],
            }
            for judgement in outcome.judgements
        ],
        "tables": [
            dataclasses.asdict(table) for table in outcome.experiment.tables(outcome.results)
        ],
        "cases": {
            name: {
                "trials": runs.sizes["trial"],
                "steps": int(runs.attrs["steps"]),
                "settings": json.loads(runs.attrs["settings"]),
                "policies": _policies(runs),
            }
            for name, runs in outcome.results.items()
        },
    }


def _measured(statistic: Statistic) -> dict[str, object]:
    return {
        "quantity": statistic.label,
        "estimate": json_number(statistic.estimate),
        "low": json_number(statistic.low),
        "high": json_number(statistic.high),
        "samples": statistic.samples,
        "refuted_at": statistic.refuted_at,
        "verdict": statistic.verdict,
    }


def _policies(runs: xr.Dataset) -> dict[str, dict[str, float | None]]:
    rows = {}
    for name, regret in zip(map(str, runs["policy"].values), mean_regret(runs), strict=True):
        run = runs.sel(policy=name)
        kept = run["regret"].values  # of every step, or only the total
        error = standard_error(kept, independent_trials=bool(runs.attrs["independent_trials"]))
        error *= kept.shape[-1] / runs.attrs["steps"]
        rows[name] = {
            "mean_regret": float(regret.mean()),
            "standard_error": json_number(error),
            "cumulative_regret": float(regret.mean() * runs.attrs["steps"]),
            "side_queries": float(run["side_queries"].sum("step").mean()),
            "restarts": float(run["restarts"].sum("step").mean()),
            "seconds": float(run["seconds"]),
        }
        if "squared_error" in run:
            rows[name]["squared_error"] = json_number(float(run["squared_error"].values.mean()))
    return rows


def summary(outcomes: Mapping[str, dict[str, Any]]) -> dict[str, object]:
    """Return the content of `summary.json`, from `as_json` of every experiment by id."""
    counts = dict.fromkeys(get_args(Verdict), 0)
    for outcome in outcomes.values():
        for claim in outcome["claims"]:
            counts[claim["verdict"]] += claim["whose"] == "paper"
    return {
        "command": "reproduce",
        "driftpeak_version": version("driftpeak"),
        "level": LEVEL,
        "papers_claims": counts,
        "experiments": dict(outcomes),
    }


def draw(outcome: JudgedExperiment, directory: Path) -> list[bytes]:
    """Write an experiment's figures into a folder, and return their PNG files."""
    title = f"{outcome.experiment.source}: {outcome.experiment.title}"
    drawn = []
    for name, picture in outcome.experiment.pictures.items():
        buffer = io.BytesIO()
        picture(outcome.results, title).savefig(buffer, format="png", dpi=130)
        write_bytes(directory / f"{name}.png", buffer.getvalue())
        drawn.append(buffer.getvalue())
    return drawn


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically.

    Raises:
        DriftpeakError: the disk is full, or the folder is not writable.
    """
    with new_file(path) as part:
        part.write_bytes(content)


RULE = (
    "Each claim is tested by paired differences over trials. A claim holds if all their "
    f"{100 * LEVEL:g} % bootstrap intervals lie above zero. It does not hold if at least one "
    f"difference is significantly below zero at a family-wise level of {100 * (1 - LEVEL):g} % "
    "(Holm, over all differences of the claim). Otherwise it is undecided. At least "
    f"{FEWEST} trials are needed. A claim depends on a choice that the paper leaves open if it "
    "holds with some choices and does not hold with others."
)


def page(results: Mapping[str, object], pictures: Mapping[str, Sequence[bytes]]) -> str:
    """Return the report as one HTML page with embedded figures.

    Arguments:
        results: result of `summary`.
        pictures: PNG files by the id of the experiment.
    """
    folder = FileSystemLoader(Path(__file__).parent)
    template = Environment(loader=folder, autoescape=True).get_template("report.html.jinja")
    encoded = {
        id: [base64.b64encode(picture).decode() for picture in own] for id, own in pictures.items()
    }
    return template.render(results=results, pictures=encoded, rule=RULE) + "\n"
