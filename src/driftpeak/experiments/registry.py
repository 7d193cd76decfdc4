"""All experiments by their id."""

from collections.abc import Sequence

from driftpeak.errors import DriftpeakError, nearest
from driftpeak.experiments import bogunovic2016, deng2022, hong2023, iwazaki2025, mauduit2025, rates
from driftpeak.experiments.experiment import Experiment

PAPERS = (bogunovic2016, deng2022, iwazaki2025, hong2023, mauduit2025, rates)
EXPERIMENTS: dict[str, Experiment] = {e.id: e for paper in PAPERS for e in paper.EXPERIMENTS}


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
