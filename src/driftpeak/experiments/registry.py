"""All experiments by their id."""

from collections.abc import Sequence

from driftpeak.errors import DriftpeakError, nearest
from driftpeak.experiments import bogunovic2016
from driftpeak.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {e.id: e for e in (*bogunovic2016.EXPERIMENTS,)}


def find(ids: Sequence[str]) -> list[Experiment]:
    """The experiments with these ids, in the registry's order; "all" is every one.

    Raises:
        DriftpeakError: an unknown id.
    """
    for id in ids:
        if id != "all" and id not in EXPERIMENTS:
            hint = nearest(id, [*EXPERIMENTS, "all"])
            raise DriftpeakError(f"no experiment {id!r}.{hint} See driftpeak reproduce --list")
    return [e for id, e in EXPERIMENTS.items() if id in ids or "all" in ids]
