"""Former names: use of one fails with the new name; fingerprints still use them."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

PACKAGE = "driftpeak"
ROOT = Path(__file__).parents[1]
ENDS = ("/__init__.py", ".py")
"""Ends of the paths of packages and modules."""
MOVED = {
    "_core": "arguments errors files numerics times",
    "gp": "affordable contexts domains features forgetting kernels priors ridge",
    "inference": "beliefs information",
    "live.engines": "drifting_gp engine gp_engine limited_engine policy_engine rate_engine setup",
    "live.model": "averaging gp laplace mirrored",
    "live.search": "feasible",
    "live.space": "constraints parameters",
    "live.study": "clock event_sourced events interrupts policy_data "
    "registry sharing storage suggestion",
    "live.views": "diagnostics frame inspection violations",
    "offline": "data history replay",
    "policies": "testing widths",
    "service": "client",
}
"""Names of modules and packages that moved into a package, and kept their names."""
NEW_NAMES = {
    (f"{package.rpartition('.')[0]}.{name}").removeprefix("."): f"{package}.{name}"
    for package, names in MOVED.items()
    for name in names.split()
} | {
    "_types": "_core.types",
    "bank": "inference.imm",
    "bank.members": "inference.imm.interacting_multiple_model",
    "cells": "gp.context_points",
    "cli.bundles": "cli.option_groups",
    "cli.busy": "cli.spinner",
    "cli.programs": "cli.program_cache",
    "cli.reading": "cli.table_options",
    "cli.sharing": "cli.executor_options",
    "data.reading.cells": "offline.data.reading.numbers",
    "data.reading.contents": "offline.data.reading.decoding",
    "data.reading.doubts": "offline.data.reading.outliers",
    "data.reading.gaps": "offline.data.reading.missing_values",
    "data.reading.long": "offline.data.reading.long_tables",
    "data.reading.sheets": "offline.data.reading.csv_dialects",
    "data.reading.stamps": "offline.data.reading.timestamps",
    "data.reading.wording": "offline.data.reading.messages",
    "derivatives": "gp.sample_paths",
    "design": "gp.optimal_design",
    "determinantal": "policies.dpp",
    "experiments.tournament.worlds": "experiments.tournament.environments",
    "history.picture": "offline.history.plots",
    "history.rhythm": "offline.history.periodicity",
    "history.transformation": "offline.history.transform",
    "integrations.numbered": "integrations.suggestion_numbers",
    "kinds": "_core.argument_types",
    "learning": "inference.fitting",
    "live.aging": "live.model.drift_models",
    "live.ahead": "live.model.fantasies",
    "live.allowed": "live.space.feasibility",
    "live.coding": "live.space.encoding",
    "live.description": "live.space.serialization",
    "live.doubt": "live.model.outliers",
    "live.gp_belief": "live.engines.gp_posterior",
    "live.lattice": "live.space.discretization",
    "live.ledger": "live.study.study_state",
    "live.lessons": "live.model.hyperparameters",
    "live.memory": "live.model.observations",
    "live.rates": "live.model.likelihoods",
    "live.registered_policies": "policies.catalogue",
    "live.scope": "live.search.boundary",
    "live.search": "live.search.maximization",
    "live.space": "live.space.box",
    "live.standardise": "live.model.scaling",
    "live.travel": "live.space.movement",
    "loadings": "gp.feature_matrix",
    "motions": "gp.dynamics",
    "named": "offline.policy_specs",
    "numerics.kept": "_core.numerics.disk_cache",
    "pairs": "gp.gram",
    "plots.looks": "plots.policy_styles",
    "plots.time": "plots.time_axis",
    "policies.asking": "policies.query_times",
    "policies.planned": "policies.fixed_horizon",
    "policies.wrapping": "policies.wrappers",
    "profiles": "gp.means",
    "replay.advice": "offline.replay.recommendation",
    "replay.picture": "offline.replay.plots",
    "service.bodies": "service.schemas",
    "service.books": "service.study_index",
    "service.guard": "service.middleware",
    "service.moments": "service.json_values",
    "service.places": "service.study_directory",
    "service.quiet": "service.log_filter",
    "service.warned": "service.warning_capture",
    "simulation.keeping": "simulation.aggregation",
    "simulation.parcel": "simulation.serialization",
    "simulation.pictures": "simulation.plots",
    "simulation.plan": "simulation.chunking",
    "simulation.progress": "_core.progress",
    "simulation.stage": "simulation.chunk_runner",
    "simulation.verdict": "simulation.comparison",
    "transformations": "gp.transforms",
    "workers": "simulation.executors",
    "workers.alike": "simulation.executors.compatibility",
    "workers.spreading": "simulation.executors.dispatch",
}
"""Present names of modules and packages that moved, by former name; submodules moved with them.

The names are without the underscores of private modules, which had none before either."""
_FORMER = {new: former for former, new in NEW_NAMES.items()}
NEW_CLASS_NAMES = {
    "AtMost": "Horizon",
    "Bank": "InteractingMultipleModel",
    "Computed": "LazyGram",
    "Lags": "ToeplitzGram",
    "Oscillation": "DampedOscillator",
    "Profile": "PeriodicMean",
    "Recorded": "RecordsArguments",
    "SmoothMotion": "Matern32",
    "WorldInContext": "ContextualEnvironment",
}
"""Classes that were renamed and that users or stored simulations may name."""
NEW_PUBLIC_NAMES = {
    "Profile": "PeriodicMean",
    "WorldInContext": "ContextualEnvironment",
    "learn": "fit_history",
}
"""Names of `driftpeak` that changed."""
_FORMER_CLASSES = {new: former for former, new in NEW_CLASS_NAMES.items()}


def new_name(name: str) -> str | None:
    """Return the present name of a module that moved or became private, or None."""
    package, _, inner = name.partition(".")
    if package != PACKAGE:
        return None
    present = _present(_renamed(inner, NEW_NAMES))
    return None if present == name else present


def check_renamed(module: str, name: str, names: dict[str, str]) -> None:
    """Raise an error with the new name if a module had a name before.

    A module whose names changed calls it in its `__getattr__`. The error is not an AttributeError,
    because `from module import name` would replace its message.

    Raises:
        ImportError: the name was renamed.
    """
    if (new := names.get(name)) is not None:
        raise ImportError(f"{module}.{name} is now {module}.{new}")


def former_name(name: str) -> str:
    """Return the former name of a module, or its name if it has not moved."""
    package, _, inner = name.partition(".")
    if package != PACKAGE or not inner:
        return name
    first, *rest = inner.split(".")
    public = ".".join([first, *(part.removeprefix("_") for part in rest)])
    return f"{PACKAGE}.{_renamed(public, _FORMER)}"


def former_class_name(name: str) -> str:
    """Return the qualified name within its module that a class of driftpeak had before."""
    first, dot, rest = name.partition(".")
    return _FORMER_CLASSES.get(first, first) + dot + rest


def _renamed(name: str, names: dict[str, str]) -> str:
    """Replace the longest leading part of a dotted name that the table contains."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        if (replacement := names.get(".".join(parts[:count]))) is not None:
            return ".".join([replacement, *parts[count:]])
    return name


def _present(name: str) -> str:
    """Add the package and the underscores of private modules to a name, as the files have them."""
    folder, parts = ROOT, [PACKAGE]
    for part in name.split("."):
        names = (part, f"_{part}")
        present = [n for n in names if any((folder / f"{n}{end}").exists() for end in ENDS)]
        parts.append(present[0] if present else part)
        folder /= parts[-1]
    return ".".join(parts)


class FormerNames(MetaPathFinder):
    """Raise an error that gives the new name when a module is imported by its former name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None for all other names.

        Raises:
            ModuleNotFoundError: the module has moved or became private.
        """
        if (name := new_name(fullname)) is not None:
            raise ModuleNotFoundError(f"{fullname} is now {name}{_hint(name)}", name=fullname)
        return None


def _hint(name: str) -> str:
    """Return what to import instead of a private module."""
    public = name.partition("._")[0]
    exports = public not in (name, PACKAGE)
    return f", which is private; {public} exports its public names" if exports else ""


def install() -> None:
    """Consult `FormerNames` after all other finders."""
    if not any(isinstance(finder, FormerNames) for finder in sys.meta_path):
        sys.meta_path.append(FormerNames())
