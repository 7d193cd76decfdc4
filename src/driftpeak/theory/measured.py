"""Regret measured in the tournament, for the policies of the planner.

`measured.csv` is extracted from the table "Every family" of docs/tournament.md. After a new
tournament and an update of that page,

    python scripts/measured.py

writes the file again; a test fails while the two differ.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

HORIZON = 500
"""Number of steps of every simulated case; the recordings have about as many."""
SOURCE = "driftpeak reproduce tournament"
NO_BETTER = 0.95
"""A policy with at least this share of the regret of random choice counts as no better."""


@dataclass(frozen=True)
class Measured:
    """Regret of a policy, at the parameters from theory, relative to random choice.

    Attributes:
        policy: name on the command line.
        share: regret divided by the regret of random choice, geometric mean over the cases.
        no_better: number of cases with a ratio of at least `NO_BETTER`.
        cases: number of cases.
    """

    policy: str
    share: float
    no_better: int
    cases: int

    @property
    def like_random(self) -> bool:
        """Whether it was no better than random choice in most cases."""
        return 2 * self.no_better > self.cases

    def __str__(self) -> str:
        text = f"{self.share:.2f} of random choice's"
        if self.no_better:
            text += f", no better in {self.no_better} of {self.cases} cases"
        return text


@cache
def measured() -> dict[str, Measured]:
    """Return the results by policy; policies that did not take part are absent."""
    with files("driftpeak.theory").joinpath("measured.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        row["policy"]: Measured(
            row["policy"], float(row["share"]), int(row["no_better"]), int(row["cases"])
        )
        for row in rows
    }
