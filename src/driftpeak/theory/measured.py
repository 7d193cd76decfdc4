"""What the tournament measured of the policies that theory speaks of.

`measured.csv` is read off the table "Every family" of docs/tournament.md. When the tournament has
been played anew and that page brought up to date,

    python scripts/measured.py

writes the file again; a test fails while the two differ.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

HORIZON = 500
"""Steps of every simulated case; the recordings' are of that order."""
SOURCE = "driftpeak reproduce tournament"
NO_BETTER = 0.95
"""A policy with this share of random choice's regret or more is no better than that."""


@dataclass(frozen=True)
class Measured:
    """How a policy, at the parameters that theory gives it, did against choosing at random.

    Attributes:
        policy: its name on the command line.
        share: its regret over random choice's, geometric mean over the cases.
        no_better: in how many cases it had `NO_BETTER` of that regret or more.
        cases: how many there were.
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
    """By policy; those that did not play are absent."""
    with files("driftpeak.theory").joinpath("measured.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        row["policy"]: Measured(
            row["policy"], float(row["share"]), int(row["no_better"]), int(row["cases"])
        )
        for row in rows
    }
