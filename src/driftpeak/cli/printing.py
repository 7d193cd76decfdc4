"""Printed output and written results of the command line."""

import dataclasses
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from driftpeak._core.files import json_ready
from driftpeak.cli.options import Results

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console

    from driftpeak.experiments.experiment import Experiment, ResultTable
    from driftpeak.experiments.running.report import JudgedExperiment
    from driftpeak.simulation._comparison import Verdict
    from driftpeak.simulation._results import PolicyResult

BESIDE_BEST = "above best\n95 % interval"
"""Heading of the paired differences in regret from the best policy."""


def note(text: str) -> None:
    """Print to the error output, so that the standard output can be piped."""
    print(text, file=sys.stderr)


def report(
    command: str,
    runs: "xr.Dataset",
    settings: dict[str, object],
    options: Results,
    *,
    title: str,
    table_data: bool,
    further: Mapping[str, Callable[[], Any]] | None = None,
) -> "Verdict | None":
    """Print the results, and write them if an output directory is given.

    Arguments:
        command: its name.
        runs: the runs of all policies.
        settings: of the command, for the summary.
        options: the options of the output.
        title: of the figures.
        table_data: whether the runs are on recorded data.
        further: functions that draw figures of this command only, by file name.

    Returns:
        The verdict on the policies; None if all are baselines that see the true function.
    """
    from driftpeak._core.files import write_results
    from driftpeak.simulation._comparison import verdict
    from driftpeak.simulation._results import summarise

    independent = not table_data
    unit, minimize = str(runs.attrs.get("unit", "")), bool(runs.attrs.get("minimize", 0))
    results = summarise(runs, independent_trials=independent)
    real = bool((runs["foresight"] == "none").any())
    judged = verdict(runs, independent_trials=independent) if real else None
    words = judged.in_words(unit=unit, peak="minimum" if minimize else "peak") if judged else None
    rows = {name: json_ready(dataclasses.asdict(row)) for name, row in results.items()}
    summary: dict[str, Any] = {
        "command": command,
        "driftpeak_version": version("driftpeak"),
        "settings": settings,
        "steps": runs.sizes["step"],
        "trials": runs.sizes["trial"],
        "seed": runs.attrs["seed"],
        "best": judged.best if judged else None,
        "verdict": _verdict_as_data(judged, words) if judged else None,
        "policies": rows,
    }
    pictures = dict(further or {})
    answer = None
    if table_data:
        answer, own = _answer(runs, judged, summary, title)
        pictures |= own
    if options.as_json:
        print(json.dumps(summary, indent=2, allow_nan=False))
    else:
        for line in filter(None, (words, answer)):
            print(line)
        _print_table(results, judged, unit)
    if options.output is not None:
        from driftpeak.plots import belief_figure
        from driftpeak.simulation._plots import regret_figure

        pictures["regret.png"] = lambda: regret_figure(
            runs, title=title, independent_trials=independent
        )
        if "believed_drift" in runs:
            pictures["beliefs.png"] = lambda: belief_figure(runs, title=title)
        write_results(options.output, runs, summary, pictures, overwrite=options.overwrite)
        note(f"Written to {options.output}/: results.nc, summary.json, {', '.join(pictures)}.")
    elif not options.as_json:
        note("Nothing written: --output DIR writes results.nc, summary.json and figures.")
    return judged


def _answer(
    runs: "xr.Dataset", judged: "Verdict | None", summary: dict[str, Any], title: str
) -> tuple[str | None, dict[str, Callable[[], Any]]]:
    """Return the recommended arm as text, and figures; both are added to the summary.

    The summary also gets the arms of each policy over time. The text is None if all policies are
    baselines that see the true function.
    """
    from driftpeak.offline.replay import (
        advise,
        arms_over_time,
        chosen_policy,
        follow_figure,
        following,
    )
    from driftpeak.plots import track_figure

    for name, row in summary["policies"].items():
        row["arms"] = arms_over_time(runs, name)
    pictures: dict[str, Callable[[], Any]] = {"track.png": lambda: track_figure(runs, title=title)}
    summary["follow"] = summary["following"] = None
    if judged is None:
        return None, pictures
    paid = following(runs, judged)
    summary["following"] = paid.as_data()
    advice = advise(runs, judged)
    shown = advice.policy if advice else chosen_policy(judged)[0]
    pictures["follow.png"] = lambda: follow_figure(runs, shown, advice, title=title)
    if advice is None:
        return (
            "No recommendation: none of these policies makes predictions. Add auto "
            f"(--policy auto) to get one.\n{paid.in_words()}"
        ), pictures
    summary["follow"] = advice.as_data()
    text = f"{advice.in_words()}\n  at {advice.when}, by {advice.policy}: {advice.why}."
    return f"{text}\n{paid.in_words()}", pictures


def _verdict_as_data(judged: "Verdict", words: str | None) -> dict[str, Any]:
    from driftpeak.simulation._comparison import LEVEL

    return {
        "text": words,
        "clear": judged.clear,
        "cannot_be_told_apart_from_best": list(judged.alike),
        "level": LEVEL,
        "samples": judged.samples,
        "compared_with_best": {
            name: json_ready(dataclasses.asdict(other)) for name, other in judged.others.items()
        },
    }


def _print_table(results: "dict[str, PolicyResult]", judged: "Verdict | None", unit: str) -> None:
    from rich.table import Table

    optional = {"side queries": "side_queries", "restarts": "restarts"}
    columns = ["mean regret", BESIDE_BEST, "cumulative", "on best arm", *optional, "seconds"]
    beside_best = _beside_best(judged)
    unused = {
        name
        for name, field in optional.items()
        if not any(getattr(row, field) for row in results.values())
    }
    shown = [name for name in columns if name not in unused]
    title = f"regret in {unit}" if unit else None
    table = Table(
        box=None, pad_edge=False, header_style="bold", title=title, title_justify="left",
        collapse_padding=not unused,
    )  # fmt: skip
    table.add_column("policy", overflow="fold")
    for name in shown:
        # numbers are not wrapped; in a narrow terminal, names are
        whole = name not in optional
        heading = name.replace(" ", "\n", 1) if whole and "\n" not in name else name
        table.add_column(heading, justify="right", no_wrap=whole, overflow="fold")
    for name, row in results.items():
        cells = {
            "mean regret": f"{row.mean_regret:.4g}",
            BESIDE_BEST: beside_best.get(name, ""),
            "cumulative": f"{row.cumulative_regret:.4g}",
            "on best arm": f"{100 * row.on_best:.1f} %",
            "side queries": f"{row.side_queries:.4g} ({row.side_queries_per_step:.2g} a step)",
            "restarts": f"{row.restarts:.3g}",
            "seconds": f"{row.seconds:.2f}",
        }
        table.add_row(name, *(cells[column] for column in shown))
    console().print(table)


def _beside_best(judged: "Verdict | None") -> dict[str, str]:
    """Return intervals of the paired differences in regret from the best policy, by policy."""
    from driftpeak._core.aligned import decimals_of, number_text

    if judged is None:
        return {}
    ends = {name: other.interval for name, other in judged.others.items()}
    decimals = decimals_of([(high - low) / 2 for low, high in ends.values()])
    texts = {
        name: " to ".join(number_text(end, decimals) for end in pair)
        for name, pair in ends.items()
        if not math.isnan(pair[0])
    }
    return {judged.best: "best", **texts}


def console() -> "Console":
    """Return the console for tables: as wide as the terminal, or 80 columns for other outputs."""
    from rich.console import Console

    width_known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, width=None if width_known else 80)


def print_experiments(experiments: "Iterable[Experiment]") -> None:
    """Print the registry of experiments as a table."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "source", "title", "data"):
        table.add_column(name, overflow="fold", no_wrap=name == "id")
    for experiment in experiments:
        data = ", ".join(dict.fromkeys(case.data for case in experiment.cases if case.data))
        table.add_row(experiment.id, experiment.source, experiment.title, data)
    console().print(table)


def print_claims(judged: "JudgedExperiment") -> None:
    """Print the verdicts on an experiment's claims, with the measurements, and its cost."""
    print(f"{judged.experiment.id}: {judged.experiment.title}")
    for judgement in judged.judgements:
        kind = "" if judgement.claim.whose == "paper" else "  (a check of our own)"
        print(f"  {judgement.verdict.upper()}: {judgement.claim.text}{kind}")
        for ruling in judgement.rulings:
            if ruling.setting:
                print(f"    {ruling.verdict.upper()}: {ruling.setting}")
            for measurement in ruling.measured:
                print(f"      {measurement}")
    for table in judged.experiment.tables(judged.results):
        if table.printed:
            print_table(table)
    print(f"  {float(judged.provenance['job_seconds']):,.0f} s of processor time")


def print_table(table: "ResultTable") -> None:
    """Print a table of results, one line per row: the first three cells name the row."""
    print(f"  {table.title}:")
    for row in table.rows:
        named = [
            f"{column} {cell}" for column, cell in zip(table.columns, row, strict=True) if cell
        ]
        print(f"    {', '.join(row[:3])}: {'; '.join(named[3:])}")
