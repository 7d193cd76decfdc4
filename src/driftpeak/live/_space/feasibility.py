r"""Feasible settings under the known constraints: search for one, and projection towards it.

The *anchor* \(a\) is a row that meets all known constraints. An infeasible row \(x\) is replaced by
the feasible point \(a + s\,(x - a)\) with the largest s that bisection finds. If the feasible
region is convex, projected candidates lie at its boundary, where constrained peaks are.
"""

from typing import Any

import numpy as np

from driftpeak._core.errors import (
    InfeasibleError,
    shown,
)
from driftpeak._core.types import Vector
from driftpeak.live._space.encoding import BoxCoding
from driftpeak.live._space.parameters import Numeric
from driftpeak.live._space.records import Reach, setting_of
from driftpeak.live._space.rules import Rules

HALVINGS = 12
TRIED = 4_096  # random settings before InfeasibleError


def anchor_of(rules: Rules, start: Vector | None, reach: Reach | None = None) -> Vector:
    """Return a row that meets all known constraints.

    Arguments:
        rules: the constraints.
        start: the row of a feasible start setting, if there is one; it is returned.
        reach: the settings that are allowed; None: all.

    Raises:
        InfeasibleError: no such row exists, or none was found.
    """
    coding = rules.coding
    if start is not None:
        return start
    candidates = [coding.pool] if coding.pool is not None else []
    if isinstance(coding, BoxCoding):
        generator = np.random.default_rng(0)
        middle = _middle(rules, coding, {} if reach is None else reach.ends)
        if middle is not None:
            candidates.append(coding.snap(middle[None]))
        candidates.append(coding.spread(generator.uniform(size=(TRIED, coding.dimension))))
    for rows in candidates:
        if reach is not None and isinstance(coding, BoxCoding):
            rows = _within(coding, rows, reach)
        elif reach is not None:
            rows = rows[reach.holds(rows)]
        satisfied = rows[rules.sums_hold(rows)] if coding.pool is None else rows
        for row in satisfied:
            if rules.broken(setting_of(coding, row, reach)) is None:
                return row
    names = ", ".join(map(shown, rules.known))
    if reach is not None and reach.fixed:
        raise InfeasibleError(
            f"constraints {names} must have a common solution with the fixed values "
            f"{shown(reach.fixed)}; none was found within reach. Fix other values, or fewer"
        )
    raise InfeasibleError(
        f"constraints {names} must have a common solution; none was found in the space. Relax "
        "the constraints, widen the space, or give a feasible start={...}"
    )


def _within(coding: BoxCoding, rows: Vector, reach: Reach) -> Vector:
    moved = reach.lower + rows * (reach.upper - reach.lower)
    within: Vector = coding.discretization.within(moved, reach.lower, reach.upper)
    return within


def _middle(rules: Rules, coding: BoxCoding, ends: dict[str, tuple[Any, Any]]) -> Vector | None:
    """Return the row with the largest margin to all sums (linear programming), or None."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # takes long to import

    sums = rules.sums()
    if not sums:
        return None
    each = list(coding.box.parameters.items())
    numbers = [parameter if isinstance(parameter, Numeric) else None for _, parameter in each]
    spans = [
        (0.0, 0.0) if number is None else ends.get(name, (number.low, number.high))
        for (name, _), number in zip(each, numbers, strict=True)
    ]
    low, high = np.array(spans, float).T
    # variables: steps from the lowest value, and last the margin as a share of each sum's range
    steps = [0.0 if number is None else float(number.step or number.unit) for number in numbers]
    step = np.array(steps)
    unit = np.where(step > 0, step, 1.0)
    rows, least, most = [], [], []
    for its_weights, lowest, highest in sums:
        weights = np.array([its_weights.get(name, 0.0) for name, _ in each])
        wide = float(np.abs(weights) @ (high - low)) or 1.0
        offset = float(weights @ low)
        for end, sign in ((highest, 1.0), (lowest, -1.0)):
            if np.isfinite(end):
                rows.append(np.append(sign * weights * unit, wide))
                least.append(-np.inf)
                most.append(sign * (end - offset))
    solution = milp(
        np.append(np.zeros(len(each)), -1.0),
        constraints=LinearConstraint(np.array(rows), least, most),
        integrality=np.append(step > 0, False),
        bounds=Bounds(np.zeros(len(each) + 1), np.append((high - low) / unit, 1.0)),
    )
    if solution.x is None:
        return None
    values = low + solution.x[:-1] * unit
    row = np.zeros(len(each))
    for column, (number, value) in enumerate(zip(numbers, values, strict=True)):
        if number is not None:
            whole = round(value) if number.unit else float(value)
            within = min(max(whole, number.low), number.high)
            row[column] = number.encode(each[column][0], within)
    return row


def drawn(rules: Rules, rows: Vector, anchor: Vector, reach: Reach | None) -> tuple[Vector, Any]:
    """Project rows towards the anchor until they meet the sums.

    Returns:
        The rows, and whether each meets all known constraints. Sums hold up to rounding.
    """
    coding = rules.coding
    outside = ~rules.sums_hold(rows)
    if outside.any():
        away = rows[outside] - anchor
        near, far = np.zeros(len(away)), np.ones(len(away))
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            satisfied = rules.sums_hold(anchor + middle[:, None] * away)
            near, far = np.where(satisfied, middle, near), np.where(satisfied, far, middle)
        rows = rows.copy()
        moved = anchor + near[:, None] * away
        bounds = (0.0, 1.0) if reach is None else (reach.lower, reach.upper)
        rows[outside] = coding.discretization.within(moved, *bounds)
    return rows, rules.hold(rows, reach) if rules.functions else rules.sums_hold(rows)
