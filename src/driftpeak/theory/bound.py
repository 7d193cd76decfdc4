"""Values of theorems, with the conditions under which they hold."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from driftpeak._core.errors import DriftpeakError


@dataclass(frozen=True)
class Condition:
    """A condition of a theorem and whether it holds.

    Attributes:
        statement: the condition in words or symbols, such as "nu > 1/2".
        holds: whether it holds.
        value: the value it was checked with, such as "nu = 0.5".
    """

    statement: str
    holds: bool
    value: str

    def __str__(self) -> str:
        return f"{self.statement} (here {self.value})"


@dataclass(frozen=True)
class Bound:
    """The value of a theorem if all its conditions hold, otherwise the conditions that fail.

    Attributes:
        value: the number; None if a condition fails.
        source: the paper and the equation.
        conditions: all conditions that were checked.
    """

    value: float | None
    source: str
    conditions: tuple[Condition, ...] = ()

    @property
    def failed(self) -> tuple[Condition, ...]:
        """The conditions that do not hold."""
        return tuple(condition for condition in self.conditions if not condition.holds)

    @property
    def number(self) -> float:
        """The value, for callers that require a number.

        Raises:
            DriftpeakError: a condition fails; the message names it.
        """
        if self.value is None:
            raise DriftpeakError(str(self))
        return self.value

    def __str__(self) -> str:
        if self.value is not None:
            return f"{self.value:.6g} ({self.source})"
        return f"{self.source} does not apply here: it requires {'; '.join(map(str, self.failed))}"


def conclude(source: str, conditions: Iterable[Condition], compute: Callable[[], float]) -> Bound:
    """Return the bound of a theorem; `compute` is called only if every condition holds."""
    checked = tuple(conditions)
    met = all(condition.holds for condition in checked)
    return Bound(float(compute()) if met else None, source, checked)


def bounded_kernel(variance: float) -> Condition:
    """Return the condition k(x, x) <= 1, which all five papers assume."""
    return Condition("k(x, x) <= 1", variance <= 1 + 1e-9, f"k(x, x) = {variance:g}")


def power(base: float, exponent: float) -> float:
    """Return `base ** exponent` for base >= 0, infinite if it overflows a float."""
    if base == 0:
        return math.inf if exponent < 0 else 0.0**exponent
    try:
        return float(base) ** exponent
    except OverflowError:
        return math.inf
