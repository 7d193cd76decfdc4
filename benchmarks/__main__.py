"""Runner of benchmarks: starts each in a fresh process, and prints figures with their targets."""

import argparse
import ast
import datetime
import json
import operator
import os
import platform
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
    options = parser.parse_args()
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
            outcome = _run(name)
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


def _run(name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.worker", name]
    process = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True)
    if process.returncode:
        return {"failed": f"exit code {process.returncode}"}
    return json.loads(process.stdout.splitlines()[-1])


def _show(console: Console, name: str, outcome: dict[str, Any]) -> None:
    reason = outcome.get("skipped") or outcome.get("failed")
    if reason:
        word = "skipped" if "skipped" in outcome else "failed"
        console.print(f"\n{name}  {word}: {reason}", highlight=False, markup=False)
        return
    table = Table("figure", "value", "target", "met", title=f"{name}: {_title(name)}")
    table.title_justify = "left"
    table.columns[1].justify = "right"
    for figure, value in outcome["figures"].items():
        target = outcome["targets"].get(figure)
        verdict = "" if target is None else "yes" if _met(value, target) else "[red]NO[/red]"
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        table.add_row(figure, shown, target or "", verdict)
    console.print()
    console.print(table)


def _met(value: float, target: str) -> bool:
    sign, bound = target.split()
    return COMPARISONS[sign](value, float(bound))


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
