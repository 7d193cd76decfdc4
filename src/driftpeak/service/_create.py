"""Creation of a study from a client's data, which cannot name code or exceed the limits."""

import math
from typing import Any

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.live import DriftingGP, Optimizer
from driftpeak.live._engines.setup import is_policy
from driftpeak.live._optimizer import arguments_from_data
from driftpeak.live._study.policy_data import policy_from_data
from driftpeak.live._study.storage import Store
from driftpeak.service._limits import Limits
from driftpeak.service._schemas import New


def make_optimizer(new: New, store: Store, limits: Limits) -> Optimizer:
    """Return the optimiser of a new study, or of an existing one with equal arguments.

    Raises:
        DriftpeakError: an argument is missing, unknown, invalid or too large.
    """
    _check_points(new.space, limits)
    policy = DriftingGP() if new.policy is None else policy_from_data(new.policy)
    if not is_policy(policy):
        raise DriftpeakError(
            'policy must be a name with arguments, such as {"drifting-gp": {"capacity": 256}}; got '
            f"{shown(new.policy)}"
        )
    _at_most("capacity", getattr(policy, "capacity", 0), limits.capacity)
    _at_most("horizon", new.horizon, limits.horizon)
    given = {name: value for name, value in new if value is not None}
    return Optimizer(**arguments_from_data(given), policy=policy, storage=store, name=new.name)


def _check_points(space: dict[str, Any], limits: Limits) -> None:
    """Refuse a domain with too many points, before they are generated."""
    arms, ranges, size = (space.get(key) for key in ("arms", "grid", "size"))
    if isinstance(arms, int):
        _at_most("the number of arms", arms, limits.points)
    if isinstance(ranges, list) and isinstance(size, int):
        size = [size] * len(ranges)
    if isinstance(size, list) and all(isinstance(count, int) for count in size):
        _at_most("the number of points", math.prod(size), limits.points)


def _at_most(what: str, given: Any, most: int) -> None:
    if isinstance(given, int) and given > most:
        raise DriftpeakError(f"{what} of a served study must be at most {most:,}; got {given}")
