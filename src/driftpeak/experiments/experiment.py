"""Data classes of an experiment: cases (an environment with policies), claims and figures."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from driftpeak.environments import Environment
from driftpeak.experiments.claims import Claim
from driftpeak.offline.data import RewardTable
from driftpeak.policies import Policy

Results = Mapping[str, xr.Dataset]
"""Results of an experiment: the dataset of `driftpeak.simulate` for every case."""

Picture = Callable[[Results, str], Figure]
"""A function that draws results with a title."""


@dataclass(frozen=True)
class ResultTable:
    """Table of numbers computed from results, as text.

    Attributes:
        title: title of the table. columns: headings. rows: rows with one cell per column.
        printed: whether `driftpeak reproduce` prints the table with the verdicts.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    printed: bool = False


@dataclass(frozen=True)
class Setup:
    """A case prepared for simulation.

    Attributes:
        environment, policies, steps: as for `driftpeak.simulate`.
        settings: parameters of the policies and the environment, for the record.
        extra: further coordinates and variables of the result; see `recorded`.
    """

    environment: Environment[Any]
    policies: Mapping[str, Policy]
    steps: int
    settings: Mapping[str, Any]
    extra: xr.Dataset = field(default_factory=xr.Dataset)


def recorded(table: RewardTable) -> xr.Dataset:
    """Return the variables of a recorded table that figures need.

    These are `rewards` (step x point), the names of the points, and, if known, the labels of the
    steps and the positions of the points.
    """
    extra = xr.Dataset(
        {"rewards": (("step", "point"), table.values, {"long_name": "reward of every point"})},
        coords={"name": ("point", list(table.arms))},
    )
    if table.times is not None:
        extra = extra.assign_coords(label=("step", list(table.times)))
    if table.positions is not None:
        for column, axis in enumerate(("longitude", "latitude")):
            values = ("point", table.positions[:, column], {"units": "degrees"})
            extra = extra.assign_coords({axis: values})
    return extra


@dataclass(frozen=True)
class Case:
    """An environment and the policies that run on it.

    Attributes:
        name: name, unique within the experiment.
        build: creates the setup; called with the path of the data file if there is one. It is a
            function of a module with arguments bound by `functools.partial`, so that it can be
            described.
        trials: number of trials in the paper.
        chunk: number of trials in one job.
        data: name of a data set of `driftpeak.offline.data`, for recorded data.
        totals_only: keep only the regret of the whole run, not of every step.
        predictions: also record squared prediction errors.
        quick: creates the setup of a quick run with fewer steps, if it differs from `build`. Claims
            are not judged on such runs.
    """

    name: str
    build: Callable[..., Setup]
    trials: int
    chunk: int = 50
    data: str = ""
    totals_only: bool = False
    predictions: bool = False
    quick: Callable[..., Setup] | None = None


@dataclass(frozen=True)
class Experiment:
    """An experiment that reproduces a figure of a paper.

    Attributes:
        id: name on the command line. title: title of the figure.
        source: items of the papers, such as `B16 figure 2a`, by their labels in `docs/papers.toml`.
        cases: simulated cases. claims: claims of the paper about the figure.
        picture: draws the figure from the results.
        further: functions that draw other figures, by name.
        tables: computes tables from the results, for the report.
        choices: choices that the paper leaves open, with the values used here.
        notes: notes for readers of the figure.
        programs: key shared by experiments that use the same compiled programs.
    """

    id: str
    title: str
    source: str
    cases: tuple[Case, ...]
    claims: tuple[Claim, ...]
    picture: Picture
    choices: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    further: Mapping[str, Picture] = field(default_factory=dict)
    programs: str = ""
    tables: Callable[[Results], tuple[ResultTable, ...]] = lambda results: ()

    @property
    def pictures(self) -> dict[str, Picture]:
        """All figures by file name without extension: ID, then ID-NAME."""
        others = {f"{self.id}-{name}": draw for name, draw in self.further.items()}
        return {self.id: self.picture, **others}


def described(
    id: str,
    cases: tuple[Case, ...],
    claims: tuple[Claim, ...],
    picture: Picture,
    *,
    values: Mapping[str, Any] | None = None,
    **options: Any,
) -> Experiment:
    """Return an experiment with title, source, choices and notes from `descriptions.toml`.

    Arguments:
        id, cases, claims, picture: as for `Experiment`.
        values: values that replace {NAME} in the texts, such as the constants of the module.
        options: further attributes of `Experiment`.
    """
    texts = _descriptions()[id]
    texts = _descriptions().get(texts.get("like", ""), {}) | texts

    def text(written: str) -> str:
        return " ".join(written.split()).format_map(_Listed(values or {}))

    title, source = text(texts["title"]), texts["source"]
    choices, notes = (tuple(map(text, texts.get(name, ()))) for name in ("choices", "notes"))
    return Experiment(
        id, title, source, cases, claims, picture, choices=choices, notes=notes, **options
    )


class _Listed(dict[str, Any]):
    """Values for texts; a tuple is a list with commas."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        return ", ".join(map(str, value)) if isinstance(value, tuple) else value


@cache
def _descriptions() -> dict[str, dict[str, Any]]:
    text = Path(__file__).with_name("descriptions.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
