r"""Settings that keep the known constraints: whether there are any, and the way back to them.

A row \(x\) that breaks a constraint is drawn towards a row \(a\) that keeps all, the *anchor*, as
far as is needed: the last of the points \(a + s\,(x - a)\) found by halving intervals of s. Where
the allowed rows are convex, candidates so pile up at their edge, where constrained peaks lie.
"""

from typing import Any

import numpy as np

from driftpeak._core.errors import (
    InfeasibleError,
    shown,
)
from driftpeak._core.types import Vector
from driftpeak.live.space.constraints import Rules, WeightedSum
from driftpeak.live.space.discretization import MIDDLE
from driftpeak.live.space.encoding import BoxCoding, Coding
from driftpeak.live.space.parameters import Numeric
from driftpeak.live.space.records import Reach

HALVINGS = 12
TRIED = 4_096  # settings, before a study is refused


def anchor_of(rules: Rules, start: Vector | None) -> Vector:
    """A row that keeps all known constraints.

    Arguments:
        start: the row of a setting that does, if one was given.

    Raises:
        DriftpeakError: there is none, or none was found.
    """
    coding = rules.coding
    if start is not None:
        return start
    candidates = [coding.pool] if coding.pool is not None else []
    if isinstance(coding, BoxCoding):
        generator = np.random.default_rng(0)
        middle = _middle(rules, coding)
        if middle is not None:
            candidates.append(coding.snap(middle[None]))
        candidates.append(coding.spread(generator.uniform(size=(TRIED, coding.dimension))))
    for rows in candidates:
        kept = rows[rules.sums_hold(rows)] if coding.pool is None else rows
        for row in kept:
            if rules.broken(coding.parameters(row)) is None:
                return row
    names = ", ".join(map(shown, rules.known))
    raise InfeasibleError(
        f"no setting of the space was found that keeps the constraints {names}: widen them, or "
        "the space, or give start={...}, a setting that does"
    )


def _middle(rules: Rules, coding: BoxCoding) -> Vector | None:
    """A row as far inside all sums as can be; None if there is none (linear programming)."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # takes long to import

    sums = [one for one in rules.known.values() if isinstance(one, WeightedSum)]
    if not sums:
        return None
    each = list(coding.box.parameters.items())
    numbers = [one if isinstance(one, Numeric) else None for _, one in each]
    low = np.array([0.0 if one is None else one.low for one in numbers])
    high = np.array([0.0 if one is None else one.high for one in numbers])
    # counted in steps from the least value; last, the share of each sum's range that is to spare
    steps = [0.0 if one is None else float(one.step or one.unit) for one in numbers]
    step = np.array(steps)
    unit = np.where(step > 0, step, 1.0)
    rows, least, most = [], [], []
    for one in sums:
        weights = np.array([one.weights.get(name, 0.0) for name, _ in each])
        wide = float(np.abs(weights) @ (high - low)) or 1.0
        offset = float(weights @ low)
        for end, sign in ((one.at_most, 1.0), (one.at_least, -1.0)):
            if end is not None:
                rows.append(np.append(sign * weights * unit, wide))
                least.append(-np.inf)
                most.append(sign * (end - offset))
    found = milp(
        np.append(np.zeros(len(each)), -1.0),
        constraints=LinearConstraint(np.array(rows), least, most),
        integrality=np.append(step > 0, False),
        bounds=Bounds(np.zeros(len(each) + 1), np.append((high - low) / unit, 1.0)),
    )
    if found.x is None:
        return None
    values = low + found.x[:-1] * unit
    row = np.zeros(len(each))
    for column, (number, value) in enumerate(zip(numbers, values, strict=True)):
        if number is not None:
            whole = round(value) if number.unit else float(value)
            within = min(max(whole, number.low), number.high)
            row[column] = number.encode(each[column][0], within)
    return row


def drawn(rules: Rules, rows: Vector, anchor: Vector, reach: Reach | None) -> tuple[Vector, Any]:
    """Rows drawn towards the anchor until they keep the sums, and which keep all constraints.

    Sums are kept up to rounding.
    """
    coding = rules.coding
    outside = ~rules.sums_hold(rows)
    if outside.any():
        away = rows[outside] - anchor
        near, far = np.zeros(len(away)), np.ones(len(away))
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            kept = rules.sums_hold(anchor + middle[:, None] * away)
            near, far = np.where(kept, middle, near), np.where(kept, far, middle)
        rows = rows.copy()
        moved = anchor + near[:, None] * away
        rows[outside] = _possible(coding, moved, reach)
    return rows, rules.hold(rows, reach) if rules.functions else rules.sums_hold(rows)


def _possible(coding: Coding, rows: Vector, reach: Reach | None) -> Vector:
    """The nearest rows that can be suggested and gone to."""
    if reach is None:
        return coding.snap(rows)
    rows = np.clip(coding.snap(rows), reach.lower, reach.upper)
    return np.where(coding.lattice.counting(rows), rows, MIDDLE)
