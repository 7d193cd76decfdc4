"""Registry of all experiments by id."""

from collections.abc import Sequence

from driftpeak._core.errors import DriftpeakError, nearest
from driftpeak.experiments.experiment import Experiment
from driftpeak.experiments.papers import (
    bogunovic2016,
    bogunovic2016_choices,
    bogunovic2016_model,
    bogunovic2016_period,
    bogunovic2016_sensors,
    deng2022,
    deng2022_stocks,
    hong2023,
    iwazaki2025,
    iwazaki2025_order,
    iwazaki2025_square,
    mauduit2025,
    mauduit2025_maps,
    mauduit2025_maps_se,
    mauduit2025_queries,
    rates,
    rates_bump,
    rates_drift,
    rates_side_queries,
)
from driftpeak.experiments.tournament import experiment as tournament, simple_bandits

PAPERS = (
    bogunovic2016_model,
    bogunovic2016,
    bogunovic2016_choices,
    bogunovic2016_sensors,
    bogunovic2016_period,
    deng2022,
    deng2022_stocks,
    iwazaki2025_order,
    iwazaki2025,
    iwazaki2025_square,
    hong2023,
    mauduit2025,
    mauduit2025_maps,
    mauduit2025_maps_se,
    mauduit2025_queries,
)
BEYOND = (rates, rates_drift, rates_bump, rates_side_queries, tournament, simple_bandits)
"""Experiments beyond the papers' figures: run by id, not as part of a group."""
EXPERIMENTS: dict[str, Experiment] = {
    e.id: e for source in (*PAPERS, *BEYOND) for e in source.EXPERIMENTS
}
_ALL = tuple(e for paper in PAPERS for e in paper.EXPERIMENTS)
GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(e.id for e in _ALL),
    "simulated": tuple(e.id for e in _ALL if not any(case.data for case in e.cases)),
}
"""Groups: all experiments of the papers, and the experiments without recorded data."""


def find(ids: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these ids or of these groups, in the order of the registry.

    Raises:
        DriftpeakError: an unknown id.
    """
    wanted: set[str] = set()
    for id in ids:
        if id not in GROUPS and id not in EXPERIMENTS:
            hint = nearest(id, [*EXPERIMENTS, *GROUPS])
            raise DriftpeakError(
                f"experiment must be an id or a group; got {id!r}.{hint} Run `driftpeak reproduce "
                "--list` for all ids"
            )
        wanted.update(GROUPS.get(id, (id,)))
    return [e for id, e in EXPERIMENTS.items() if id in wanted]
