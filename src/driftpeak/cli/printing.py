"""What the command line prints, and the results that it writes."""

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from driftpeak.cli.options import Results
from driftpeak.files import json_number

if TYPE_CHECKING:
    import xarray as xr

    from driftpeak.experiments.experiment import Experiment
    from driftpeak.experiments.running.report import JudgedExperiment
    from driftpeak.simulation.results import Lead, PolicyResult


def note(text: str) -> None:
    """To the error output, so that what is printed can be piped."""
    print(text, file=sys.stderr)


def report(
    command: str,
    runs: "xr.Dataset",
    settings: dict[str, object],
    kept: Results,
    *,
    title: str,
    table_data: bool,
) -> None:
    """Print the results, and write them if there is somewhere to."""
    from driftpeak.files import write_results
    from driftpeak.simulation.results import leader, summarise

    independent = not table_data
    results = summarise(runs, independent_trials=independent)
    real = [str(n) for n in runs["policy"].values[runs["foresight"].values == "none"]]
    lead = leader(runs, real, independent_trials=independent) if real else None
    summary = {
        "command": command,
        "driftpeak_version": version("driftpeak"),
        "settings": settings,
        "steps": runs.sizes["step"],
        "trials": runs.sizes["trial"],
        "seed": runs.attrs["seed"],
        "best": lead.best if lead else None,
        "policies": {name: _plain(dataclasses.asdict(row)) for name, row in results.items()},
    }
    if kept.as_json:
        print(json.dumps(summary, indent=2, allow_nan=False))
    else:
        _print_table(results, table_data)
        if lead:
            print(_in_words(lead))
    if kept.output is not None:
        from driftpeak.plots import belief_figure, regret_figure, track_figure

        pictures: dict[str, Callable[[], Any]] = {
            "regret.png": lambda: regret_figure(runs, title=title, independent_trials=independent)
        }
        if table_data:
            pictures["track.png"] = lambda: track_figure(runs, title=title)
        if "believed_drift" in runs:
            pictures["beliefs.png"] = lambda: belief_figure(runs, title=title)
        write_results(kept.output, runs, summary, pictures)
        note(f"Written to {kept.output}/: results.nc, summary.json, {', '.join(pictures)}.")
    elif not kept.as_json:
        note("Nothing written: --output DIR keeps results.nc, summary.json and pictures.")


def _plain(row: dict[str, float]) -> dict[str, float | None]:
    """JSON has no NaN: a standard error that does not exist is null."""
    return {key: json_number(value) for key, value in row.items()}


def _in_words(lead: "Lead") -> str:
    if lead.runner_up is None:
        return f"{lead.best} was the only policy."
    gap = f"{lead.difference:.3g} +- {lead.difference_stderr:.2g}"
    if lead.clear:
        return (
            f"{lead.best} followed the peak best: {gap} less regret per step than {lead.runner_up}."
        )
    return (
        f"{lead.best} followed the peak best, but hardly better than {lead.runner_up}: "
        f"{gap} less regret per step is within two standard errors."
    )


def _print_table(results: "dict[str, PolicyResult]", table_data: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", overflow="fold")
    optional = {"side queries": "side_queries", "restarts": "restarts"}
    columns = ["mean regret", "+- s.e.", "cumulative", "on best arm", *optional, "seconds"]
    unused = {
        name
        for name, field in optional.items()
        if not any(getattr(row, field) for row in results.values())
    }
    shown = [name for name in columns if name not in unused]
    for name in shown:
        table.add_column(name, justify="right")
    for name, row in results.items():
        cells = {
            "mean regret": f"{row.mean_regret:.4g}",
            "+- s.e.": "" if math.isnan(row.stderr) else f"{row.stderr:.2g}",
            "cumulative": f"{row.cumulative_regret:.4g}",
            "on best arm": f"{100 * row.on_best:.1f} %",
            "side queries": f"{row.side_queries:.4g} ({row.side_queries_per_step:.2g} a step)",
            "restarts": f"{row.restarts:.3g}",
            "seconds": f"{row.seconds:.2f}",
        }
        table.add_row(name, *(cells[column] for column in shown))
    Console().print(table)


def print_experiments(experiments: "Iterable[Experiment]") -> None:
    """The registry as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "source", "title", "data"):
        table.add_column(name, overflow="fold", no_wrap=name == "id")
    for one in experiments:
        data = ", ".join(dict.fromkeys(case.data for case in one.cases if case.data))
        table.add_row(one.id, one.source, one.title, data)
    Console().print(table)


def print_claims(judged: "JudgedExperiment") -> None:
    """What became of an experiment's claims."""
    print(f"{judged.experiment.id}: {judged.experiment.title}")
    for judgement in judged.judgements:
        kind = "" if judgement.claim.whose == "paper" else "  (a check of our own)"
        print(f"  {judgement.verdict.upper()}: {judgement.claim.text}{kind}")
        for ruling in judgement.rulings:
            if ruling.setting:
                print(f"    {ruling.verdict.upper()}: {ruling.setting}")
            for one in ruling.measured:
                print(f"      {one}")
