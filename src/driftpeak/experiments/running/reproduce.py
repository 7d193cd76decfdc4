"""Implementation of `driftpeak reproduce`: a folder of results, figures and a report."""

import json
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import xarray as xr

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.files import SUMMARY, content, writing
from driftpeak.experiments.experiment import Experiment
from driftpeak.experiments.running.registry import EXPERIMENTS
from driftpeak.experiments.running.regret_tables import tables
from driftpeak.experiments.running.report import (
    JudgedExperiment,
    as_json,
    draw,
    judged,
    page,
    read_judged,
    summary,
    write_bytes,
)
from driftpeak.experiments.running.runner import RunSize, check_data, provenance, run, write_results

MARKER = "run.json"  # arguments of the run, written at its start
CHUNKS = "unfinished"
Report = Callable[[JudgedExperiment], None]


def reproduce(
    experiments: Sequence[Experiment],
    size: RunSize,
    *,
    output: Path | None = None,
    overwrite: bool = False,
    executor: Executor | None = None,
    report: Report = lambda _: None,
) -> dict[str, object]:
    """Run experiments, judge their claims, and write the results to `output` if given.

    An interrupted run resumes if it is started again with the same arguments and output.

    Arguments:
        report: called with each experiment as soon as it is judged.

    Returns:
        The content of `summary.json`.

    Raises:
        DriftpeakError: missing data; an output folder that holds other files or the data, or that
            cannot be written; a worker process that died.
    """
    check_data(experiments, size.data)
    chunks = None
    if output is not None:
        if size.data is not None and size.data.resolve().is_relative_to(output.resolve()):
            raise DriftpeakError(
                f"output must not contain the data folder ({size.data}), because replacing it "
                f"would delete the data; got {output}. Name another directory"
            )
        _claim_folder(output, _marker(experiments, size), overwrite=overwrite)
        chunks = output / CHUNKS
        _make(chunks)
    entries: dict[str, dict[str, object]] = {}
    pictures: dict[str, list[bytes]] = {}

    def done(experiment: Experiment, results: dict[str, xr.Dataset], seconds: float) -> None:
        attributes = provenance(experiment, size, seconds)
        outcome = judged(experiment, results, attributes)
        entries[experiment.id] = as_json(outcome)
        if output is not None:
            write_results(results, attributes, output / f"{experiment.id}.nc")
            pictures[experiment.id] = draw(outcome, output)
        report(outcome)

    run(experiments, size, done, chunks=chunks, executor=executor)
    result = summary({id: entries[id] for id in EXPERIMENTS if id in entries})
    if output is not None:
        _write_report(output, result, pictures)
        shutil.rmtree(output / CHUNKS, ignore_errors=True)
    return result


def redraw(directory: Path, *, report: Report = lambda _: None) -> dict[str, object]:
    """Judge claims, draw figures and write the report from the results stored in a folder.

    Raises:
        DriftpeakError: the folder holds no results, or cannot be written.
    """
    entries, pictures = {}, {}
    for outcome in read_judged(directory):
        entries[outcome.experiment.id] = as_json(outcome)
        pictures[outcome.experiment.id] = draw(outcome, directory)
        report(outcome)
    result = summary(entries)
    _write_report(directory, result, pictures)
    return result


def _write_report(
    directory: Path, result: dict[str, object], pictures: dict[str, list[bytes]]
) -> None:
    write_bytes(directory / "report.html", page(result, pictures).encode())
    for name, table in tables(result).items():
        write_bytes(directory / name, table.encode())
    text = json.dumps(result, indent=2, allow_nan=False) + "\n"
    write_bytes(directory / SUMMARY, text.encode())


def _marker(experiments: Sequence[Experiment], size: RunSize) -> dict[str, object]:
    return {
        "command": "reproduce",
        "experiments": [experiment.id for experiment in experiments],
        "trials": size.trials,
        "quick": size.quick,
        "seed": size.seed,
    }


def _claim_folder(output: Path, marker: dict[str, object], *, overwrite: bool) -> None:
    """Prepare the output folder: a new or empty folder, or one of a run with the same arguments.

    Raises:
        DriftpeakError: the folder holds other files, or cannot be written.
    """
    if content(output) and _read_marker(output) != marker:
        if not overwrite:
            raise DriftpeakError(
                "output must be a new or empty folder, or one with results of these experiments, "
                f"trials and seed; got {output} with other files. Name another directory, or "
                "replace it (overwrite)"
            )
        shutil.rmtree(output)
    _make(output)
    write_bytes(output / MARKER, (json.dumps(marker, indent=2) + "\n").encode())


def _make(directory: Path) -> None:
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)


def _read_marker(directory: Path) -> Any:
    try:
        return json.loads((directory / MARKER).read_text())
    except (OSError, ValueError):
        return None
