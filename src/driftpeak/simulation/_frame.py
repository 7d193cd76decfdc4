"""Conversion of a run to a pandas table with one row per policy, trial and step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, nearest, shown
from driftpeak.simulation._aggregation import kept_of

if TYPE_CHECKING:
    import pandas as pd

DIMENSIONS = ("policy", "trial", "step")
BESIDE = ("time", "label")  # coordinates of a step


@checked
def to_dataframe(
    runs: xr.Dataset, variables: Sequence[str] = ("action", "reward", "regret")
) -> "pd.DataFrame":
    """Convert a result of `simulate` or `replay` to tidy long form.

    The table has one row per policy, trial and step.

    Arguments:
        runs: the record.
        variables: names of variables of the record, one column each. Variables of fewer dimensions
            are repeated. Variables of more dimensions (`expected_mean` has one value for each arm)
            have a row for each value.

    Returns:
        A data frame. The first columns are, if the record has them, policy (categories in the order
        of the record), trial, step, time, label (the step's label in a recorded table) and arm (the
        name of the chosen `action`). The variables follow. Units are the record's attributes.

    Raises:
        DriftpeakError: no variable, or one that is not in the record.
    """
    if not variables:
        raise DriftpeakError(f"variables must be a list of names; got {shown(variables)}")
    known = [str(name) for name in runs.data_vars]
    for name in variables:
        if name not in known:
            only = (
                " This run has only summaries. Use keep='everything' to record every step."
                if kept_of(runs) == "summaries"
                else ""
            )
            raise DriftpeakError(
                f"variables must be in the record, which has {', '.join(known)}; got "
                f"{shown(name)}." + (nearest(str(name), known) or only)
            )
    chosen = runs[list(variables)]
    first = [name for name in DIMENSIONS if name in chosen.dims]
    chosen = chosen.reset_coords(drop=True)
    beside = [name for name in BESIDE if "step" in first and name in runs.coords]
    chosen = chosen.assign({name: runs[name].variable for name in beside})
    if "action" in variables and "arm" in runs.coords and "arm" not in chosen.dims:
        chosen["arm"] = (chosen["action"].dims, runs["arm"].values[chosen["action"].values])
        beside.append("arm")
    order = [*first, *(str(name) for name in chosen.dims if name not in first)]
    frame = chosen.to_dataframe(dim_order=order).reset_index()
    return _typed(frame[[*order, *beside, *variables]], runs)


def _typed(frame: "pd.DataFrame", runs: xr.Dataset) -> "pd.DataFrame":
    """Return the table with names as categories, in the order of the record."""
    import pandas as pd

    named = {
        name: pd.CategoricalDtype(runs[name].values.tolist())
        for name in ("policy", "arm")
        if name in frame and runs[name].dtype.kind in "OU"
    }
    return frame.astype(named)
