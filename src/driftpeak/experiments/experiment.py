"""What an experiment is: cases (a world and who plays it), claims, a picture; all of it data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from driftpeak.environments import Environment
from driftpeak.experiments.claims import Claim
from driftpeak.policies import Policy

Results = Mapping[str, xr.Dataset]
"""What was measured: the record of `driftpeak.simulate` for every case."""


@dataclass(frozen=True)
class Setup:
    """A case made ready to be played.

    Attributes:
        environment, policies, steps: as for `driftpeak.simulate`.
        settings: the numbers they were made from, for the record.
        coordinates: further coordinates and variables of the result, such as recorded rewards.
    """

    environment: Environment[Any]
    policies: Mapping[str, Policy[Any]]
    steps: int
    settings: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One world and the policies that play it.

    Attributes:
        name: unique within the experiment.
        build: makes the setup; called with the data file's path if there is one. A function of a
            module with its arguments bound by `functools.partial`, so that it can be described.
        trials: at the paper's size.
        chunk: trials that are played at once, as one job.
        data: name of the file that holds the data, if it is about recorded data.
        totals_only: keep the regret of the whole run only, not that of every step.
    """

    name: str
    build: Callable[..., Setup]
    trials: int
    chunk: int = 50
    data: str = ""
    totals_only: bool = False

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
        choices: what the paper leaves open, and what was taken here.
        notes: what a reader of the figure should know.
    """

    id: str
    title: str
    source: str
    cases: tuple[Case, ...]
    claims: tuple[Claim, ...]
    picture: Callable[[Results, str], Figure]
    choices: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
