"""Contexts of the members at a decision: each allows the cells of one kind of `Contexts`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak._core.types import Integers
from driftpeak.fleet import _columns as columns
from driftpeak.gp.context_points import Contexts


def kinds_of(contexts: Contexts | None, given: Any, count: int) -> Integers | None:
    """Return the kind of the context of each member; None if the fleet has no contexts.

    Arguments:
        contexts: the contexts of the fleet, or None.
        given: one context for all members, or a list with one for each.

    Raises:
        DriftpeakError: contexts for a fleet without contexts, none for a fleet with contexts,
            another number of contexts, or a context that is not among the kinds of the fleet.
    """
    if contexts is None:
        if given is not None:
            raise DriftpeakError(
                "context must be None, as this fleet has no contexts. Give Fleet(contexts=...)"
            )
        return None
    if given is None:
        raise DriftpeakError("context must be given, as this fleet has contexts")
    single = isinstance(given, Mapping | str | bool) or np.ndim(given) == 0
    values = [given] if single else list(given if isinstance(given, list) else _listed(given))
    if not single and len(values) != count:
        raise DriftpeakError(
            f"context must be one context or {count:,}, one for each member; got {len(values):,}"
        )
    known = {label: number for number, label in enumerate(contexts.labels)}
    kinds = []
    for value in values:
        label = Contexts([value]).labels[0]
        if label not in known:
            raise DriftpeakError(
                f"context must be one of the fleet's contexts, such as {contexts.labels[0]}; got "
                f"{shown(value)}"
            )
        kinds.append(known[label])
    return np.full(count, kinds[0]) if single else np.array(kinds, int)


def _listed(given: Any) -> list[Any]:
    return columns.array("context", given).tolist()
