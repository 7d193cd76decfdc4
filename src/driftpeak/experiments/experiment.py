"""What an experiment is: cases (a world and who plays it), claims, a picture; all of it data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from driftpeak.environments import Environment
from driftpeak.experiments.claims import Claim
from driftpeak.offline.data import RewardTable
from driftpeak.policies import Policy

Results = Mapping[str, xr.Dataset]
"""What was measured: the record of `driftpeak.simulate` for every case."""

Picture = Callable[[Results, str], Figure]
"""Draws results under a title."""


@dataclass(frozen=True)
class ResultTable:
    """Numbers worked out from results, as text.

    Attributes:
        title: what it shows. columns: headings. rows: as many cells as columns each.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Setup:
    """A case made ready to be played.

    Attributes:
        environment, policies, steps: as for `driftpeak.simulate`.
        settings: the numbers they were made from, for the record.
        extra: further coordinates and variables of the result; see `recorded`.
    """

    environment: Environment[Any]
    policies: Mapping[str, Policy]
    steps: int
    settings: Mapping[str, Any]
    extra: xr.Dataset = field(default_factory=xr.Dataset)


def recorded(table: RewardTable) -> xr.Dataset:
    """What pictures of recorded data need beside the record: `rewards` (step x point), the names
    of the points, and, where they are known, the steps' labels and the points' positions.
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
    """One world and the policies that play it.

    Attributes:
        name: unique within the experiment.
        build: makes the setup; called with the data file's path if there is one. A function of a
            module with its arguments bound by `functools.partial`, so that it can be described.
        trials: at the paper's size.
        chunk: trials that are played at once, as one job.
        data: name of a data set of `driftpeak.offline.data`, if it is about recorded data.
        totals_only: keep the regret of the whole run only, not that of every step.
        predictions: record squared prediction errors, too.
        quick: makes the setup of a quick run, if that is another than the whole one's: fewer steps
            where these are many. No claim is judged by it.
    """

    name: str
    build: Callable[..., Setup]
    trials: int
    chunk: int = 50
    data: str = ""
    totals_only: bool = False
    predictions: bool = False
    quick: Callable[..., Setup] | None = None

    @property
    def independent(self) -> bool:
        """Whether trials are independent worlds; on recorded data all share one history."""
        return not self.data


@dataclass(frozen=True)
class Experiment:
    """A figure of a paper.

    Attributes:
        id: what the command line calls it. title: what it shows. source: paper and figure.
        cases: what is played. claims: what the paper says of it.
        picture: draws it from its results.
        further: other pictures, by name.
        tables: made of its results, for the report.
        choices: what the paper leaves open, and what was taken here.
        notes: what a reader of the figure should know.
        programs: a word that experiments have in common whose compiled programs are the same.
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
        """All pictures by what their files are called: ID, then ID-NAME."""
        others = {f"{self.id}-{name}": draw for name, draw in self.further.items()}
        return {self.id: self.picture, **others}
