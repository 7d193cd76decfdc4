"""All experiments by their id."""

from collections.abc import Sequence

from driftpeak.errors import DriftpeakError, nearest
from driftpeak.experiments import (
    bogunovic2016,
    bogunovic2016_sensors,
    deng2022,
    hong2023,
    iwazaki2025,
    mauduit2025,
    mauduit2025_maps,
    rates,
    tournament,
)
from driftpeak.experiments.experiment import Experiment

PAPERS = (
    bogunovic2016,
    bogunovic2016_sensors,
    deng2022,
    iwazaki2025,
    hong2023,
    mauduit2025,
    mauduit2025_maps,
)
BEYOND = (rates, tournament)
"""What goes beyond the papers' figures: played by name, not by "all"."""
EXPERIMENTS: dict[str, Experiment] = {
    e.id: e for source in (*PAPERS, *BEYOND) for e in source.EXPERIMENTS
}


def find(ids: Sequence[str]) -> list[Experiment]:
    """The experiments with these ids, in the registry's order; "all" is all of the papers.

    Raises:
        DriftpeakError: an unknown id.
    """
    for id in ids:
        if id != "all" and id not in EXPERIMENTS:
            hint = nearest(id, [*EXPERIMENTS, "all"])
            raise DriftpeakError(f"no experiment {id!r}.{hint} See driftpeak reproduce --list")
    papers = {e.id for paper in PAPERS for e in paper.EXPERIMENTS} if "all" in ids else set()
    return [e for id, e in EXPERIMENTS.items() if id in ids or id in papers]
