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
NEW_NAMES = {
    "_types": "_core.types",
    "affordable": "gp.affordable",
    "arguments": "_core.arguments",
    "bank": "inference.imm",
    "bank.members": "inference.imm.interacting_multiple_model",
    "beliefs": "inference.beliefs",
    "cells": "gp.context_points",
    "cli.bundles": "cli.option_groups",
    "cli.busy": "cli.spinner",
    "cli.programs": "cli.program_cache",
    "cli.reading": "cli.table_options",
    "cli.sharing": "cli.executor_options",
    "client": "service.client",
    "contexts": "gp.contexts",
    "data": "offline.data",
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
    "domains": "gp.domains",
    "errors": "_core.errors",
    "experiments.tournament.worlds": "experiments.tournament.environments",
    "features": "gp.features",
    "files": "_core.files",
    "forgetting": "gp.forgetting",
    "history": "offline.history",
    "history.picture": "offline.history.plots",
    "history.rhythm": "offline.history.periodicity",
    "history.transformation": "offline.history.transform",
    "information": "inference.information",
    "integrations.numbered": "integrations.suggestion_numbers",
    "kernels": "gp.kernels",
    "kinds": "_core.argument_types",
    "learning": "inference.fitting",
    "live.aging": "live.model.drift_models",
    "live.ahead": "live.model.fantasies",
    "live.allowed": "live.space.feasibility",
    "live.averaging": "live.model.averaging",
    "live.clock": "live.study.clock",
    "live.coding": "live.space.encoding",
    "live.constraints": "live.space.constraints",
    "live.description": "live.space.serialization",
    "live.diagnostics": "live.views.diagnostics",
    "live.doubt": "live.model.outliers",
    "live.drifting_gp": "live.engines.drifting_gp",
    "live.engine": "live.engines.engine",
    "live.event_sourced": "live.study.event_sourced",
    "live.events": "live.study.events",
    "live.feasible": "live.search.feasible",
    "live.frame": "live.views.frame",
    "live.gp": "live.model.gp",
    "live.gp_belief": "live.engines.gp_posterior",
    "live.gp_engine": "live.engines.gp_engine",
    "live.inspection": "live.views.inspection",
    "live.interrupts": "live.study.interrupts",
    "live.laplace": "live.model.laplace",
    "live.lattice": "live.space.discretization",
    "live.ledger": "live.study.study_state",
    "live.lessons": "live.model.hyperparameters",
    "live.limited_engine": "live.engines.limited_engine",
    "live.memory": "live.model.observations",
    "live.mirrored": "live.model.mirrored",
    "live.parameters": "live.space.parameters",
    "live.policy_data": "live.study.policy_data",
    "live.policy_engine": "live.engines.policy_engine",
    "live.rate_engine": "live.engines.rate_engine",
    "live.rates": "live.model.likelihoods",
    "live.registered_policies": "policies.catalogue",
    "live.registry": "live.study.registry",
    "live.scope": "live.search.boundary",
    "live.search": "live.search.maximization",
    "live.setup": "live.engines.setup",
    "live.sharing": "live.study.sharing",
    "live.space": "live.space.box",
    "live.standardise": "live.model.scaling",
    "live.storage": "live.study.storage",
    "live.suggestion": "live.study.suggestion",
    "live.travel": "live.space.movement",
    "live.violations": "live.views.violations",
    "loadings": "gp.feature_matrix",
    "motions": "gp.dynamics",
    "named": "offline.policy_specs",
    "numerics": "_core.numerics",
    "numerics.kept": "_core.numerics.disk_cache",
    "pairs": "gp.gram",
    "plots.looks": "plots.policy_styles",
    "plots.time": "plots.time_axis",
    "policies.asking": "policies.query_times",
    "policies.planned": "policies.fixed_horizon",
    "policies.wrapping": "policies.wrappers",
    "priors": "gp.priors",
    "profiles": "gp.means",
    "replay": "offline.replay",
    "replay.advice": "offline.replay.recommendation",
    "replay.picture": "offline.replay.plots",
    "ridge": "gp.ridge",
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
    "testing": "policies.testing",
    "times": "_core.times",
    "transformations": "gp.transforms",
    "widths": "policies.widths",
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
        there = [one for one in names if any((folder / f"{one}{end}").exists() for end in ENDS)]
        parts.append(there[0] if there else part)
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
