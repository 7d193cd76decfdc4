"""Runner of benchmarks: starts each in a fresh process, and prints figures with their targets."""

import argparse
import ast
import datetime
import json
import operator
import os
import platform
import re
import statistics
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
COMPARISONS = {"<=": operator.le, ">=": operator.ge}


def main() -> int:
    """Run the benchmarks named on the command line; the exit code is 1 if one of them failed."""
    files = [path.stem for path in HERE.glob("*.py")]
    names = sorted(name for name in files if name != "worker" and not name.startswith("_"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure driftpeak.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="benchmarks to run; all by default"
    )
    parser.add_argument(
        "--list", action="store_true", help="list all benchmarks without running them"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the figures to this file"
    )
    parser.add_argument(
        "--against", type=Path, metavar="FOLDER",
        help="a checkout of another version, which runs each benchmark in turn with this one",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=int, default=3, help="runs of each version with --against; by default 3"
    )
    options = parser.parse_args()
    other = None if options.against is None else options.against.resolve()
    if other is not None and not (other / "benchmarks" / "worker.py").exists():
        parser.error(f"--against must be the folder of a checkout with benchmarks; got {other}")
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1; got {options.rounds}")
    unknown = sorted(set(options.names) - set(names))
    if unknown:
        parser.error(f"NAME must be one of {', '.join(names)}; got {', '.join(unknown)}")
    console = Console()
    if options.list:
        for name in names:
            console.print(f"[bold]{name}[/bold]  {_title(name)}", highlight=False, soft_wrap=True)
        return 0
    report: dict[str, Any] = {"date": _now(), "hardware": hardware(), "benchmarks": {}}
    console.print(", ".join(report["hardware"].values()), highlight=False, soft_wrap=True)
    for name in options.names or names:
        with console.status(f"{name} ..."):
            outcome = (
                _run(name, HERE.parent) if other is None else compared(name, other, options.rounds)
            )
        outcome["date"] = _now()
        report["benchmarks"][name] = outcome
        _show(console, name, outcome)
        if options.json:
            options.json.write_text(json.dumps(report, indent=1) + "\n")
    return int(any("failed" in outcome for outcome in report["benchmarks"].values()))


def hardware() -> dict[str, str]:
    """Return a description of the machine."""
    cpu, info = platform.processor(), Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0].split(":")[1].strip() if models else cpu
    versions = {f"{name} {_version(name)}" for name in ("jax", "jaxlib", "numpy")}
    return {
        "cpu": cpu or platform.machine(),
        "cores": f"{os.cpu_count()} cores",
        "python": f"Python {platform.python_version()}",
        "versions": ", ".join(sorted(versions)),
        "load": f"load {os.getloadavg()[0]:.2f} at the start",
    }


def compared(name: str, other: Path, rounds: int) -> dict[str, Any]:
    """Return the medians of figures in another and in this version, which run alternately."""
    if not (other / "benchmarks" / f"{name}.py").exists():
        return {"skipped": f"not in {other}"}
    runs: dict[str, list[dict[str, Any]]] = {"before": [], "figures": []}
    for _ in range(rounds):
        for version, root in (("before", other), ("figures", HERE.parent)):
            outcome = _run(name, root)
            if "figures" not in outcome:
                return outcome
            runs[version].append(outcome["figures"])
    return {version: _medians(each) for version, each in runs.items()} | {
        "targets": outcome["targets"]
    }


def _medians(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Return the median of each number, without its interval."""
    each = {name: [_number(run.get(name)) for run in runs] for name in runs[0]}
    numbers = {name: [one for one in some if one is not None] for name, some in each.items()}
    return {name: float(statistics.median(some)) for name, some in numbers.items() if some}


def _run(name: str, root: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.worker", name]
    paths = {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    process = subprocess.run(
        command, cwd=root, stdout=subprocess.PIPE, text=True, env={**os.environ, **paths}
    )
    if process.returncode:
        return {"failed": f"exit code {process.returncode} in {root}"}
    return json.loads(process.stdout.splitlines()[-1])


def _show(console: Console, name: str, outcome: dict[str, Any]) -> None:
    reason = outcome.get("skipped") or outcome.get("failed")
    if reason:
        word = "skipped" if "skipped" in outcome else "failed"
        console.print(f"\n{name}  {word}: {reason}", highlight=False, markup=False)
        return
    before = outcome.get("before")
    versions = ["value"] if before is None else ["other version", "this version", "this / other"]
    table = Table("figure", *versions, "target", "met", title=f"{name}: {_title(name)}")
    table.title_justify = "left"
    for column in table.columns[1 : 1 + len(versions)]:
        column.justify = "right"
    for figure, value in outcome["figures"].items():
        target = outcome["targets"].get(figure)
        verdict = "" if target is None else "yes" if _met(value, target) else "[red]NO[/red]"
        values = [value]
        if before is not None:
            old = before.get(figure)
            values = [old, value, value / old if old else None]
        table.add_row(figure, *map(_shown, values), target or "", verdict)
    console.print()
    console.print(table)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _met(value: Any, target: str) -> bool:
    sign, bound = target.split()
    number = _number(value)
    return number is not None and COMPARISONS[sign](number, float(bound))


def _number(value: Any) -> float | None:
    """Return the number of a figure such as 0.9, "0.9 (0.8 to 1.0)" or "0.9 ± 0.1"."""
    if not isinstance(value, str):
        return value
    found = re.match(r"([-\d.,e]+) [(\[±+]", value)
    return float(found[1].replace(",", "")) if found else None


def _title(name: str) -> str:
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or name
    return text.splitlines()[0].rstrip(".")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


if __name__ == "__main__":
    sys.exit(main())
