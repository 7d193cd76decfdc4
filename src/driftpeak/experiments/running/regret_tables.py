"""Tables of mean regrets of a run of experiments, in Markdown, LaTeX and CSV."""

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

from driftpeak._core.aligned import decimals_of, number_text
from driftpeak._core.text_tables import latex_table, markdown_table

HEAD = ("case", "policy", "mean regret", "trials", "steps")
COLUMNS = "llrrr"
CSV = ("experiment", "case", "policy", "mean_regret", "standard_error", "trials", "steps")


def tables(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the content of `tables.md`, `tables.tex` and `tables.csv`.

    Arguments:
        result: the content of `summary.json`.
    """
    experiments = result["experiments"]
    return {
        "tables.md": "\n".join(_markdown(*each) for each in experiments.items()),
        "tables.tex": "\n".join(_latex(*each) for each in experiments.items()),
        "tables.csv": _csv(experiments),
    }


def _rows(experiment: Mapping[str, Any]) -> list[list[str]]:
    """Return one row for each case and policy: mean regret per step ± its standard error."""
    rows = []
    for name, case in experiment["cases"].items():
        policies = case["policies"]
        errors = [_number(row["standard_error"]) for row in policies.values()]
        decimals = decimals_of(errors)
        for (policy, row), error in zip(policies.items(), errors, strict=True):
            text = number_text(row["mean_regret"], decimals)
            if not math.isnan(error):
                text += f" ± {number_text(error, decimals)}"
            rows.append([name, policy, text, f"{case['trials']:,}", f"{case['steps']:,}"])
    return rows


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _caption(experiment: Mapping[str, Any]) -> str:
    return f"{experiment['title']} ({experiment['source']}): mean regret per step ± standard error"


def _markdown(name: str, experiment: Mapping[str, Any]) -> str:
    body = markdown_table([HEAD, *_rows(experiment)], COLUMNS)
    return f"## {name}\n\n{_caption(experiment)}.\n\n{body}\n"


def _latex(name: str, experiment: Mapping[str, Any]) -> str:
    return f"% {name}\n" + latex_table([HEAD, *_rows(experiment)], COLUMNS, _caption(experiment))


def _csv(experiments: Mapping[str, Any]) -> str:
    """Return all numbers with full precision; a missing standard error is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV)
    for name, experiment in experiments.items():
        for case, result in experiment["cases"].items():
            for policy, row in result["policies"].items():
                numbers = row["mean_regret"], row["standard_error"]
                writer.writerow([name, case, policy, *numbers, result["trials"], result["steps"]])
    return text.getvalue()
