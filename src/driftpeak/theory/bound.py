"""A number that a theorem gives, or the reason why it gives none."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from driftpeak._core.errors import DriftpeakError


@dataclass(frozen=True)
class Condition:
    """What a theorem asks for, and what it was given.

    Attributes:
        statement: the condition in words or symbols, such as "nu > 1/2".
        holds: whether it is met.
        found: what was found instead, such as "nu = 0.5".
    """

    statement: str
    holds: bool
    found: str

    def __str__(self) -> str:
        return f"{self.statement} (here {self.found})"


@dataclass(frozen=True)
class Bound:
    """What a theorem says: a number if all its conditions hold, otherwise which of them fail.

    Attributes:
        value: the number; None if a condition fails.
        source: the paper and the equation.
        conditions: all that were checked.
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
        """The value, for those who can do nothing without it.

        Raises:
            DriftpeakError: a condition fails; the message names it.
        """
        if self.value is None:
            raise DriftpeakError(str(self))
        return self.value

    def __str__(self) -> str:
        if self.value is not None:
            return f"{self.value:.6g} ({self.source})"
        return f"{self.source} says nothing here: it needs {'; '.join(map(str, self.failed))}"


def conclude(source: str, conditions: Iterable[Condition], compute: Callable[[], float]) -> Bound:
    """The bound of a theorem: `compute` is called only if every condition holds."""
    checked = tuple(conditions)
    met = all(condition.holds for condition in checked)
    return Bound(float(compute()) if met else None, source, checked)


def bounded_kernel(variance: float) -> Condition:
    """k(x, x) <= 1, which all five papers assume."""
    return Condition("k(x, x) <= 1", variance <= 1 + 1e-9, f"k(x, x) = {variance:g}")


def power(base: float, exponent: float) -> float:
    """`base ** exponent` for base >= 0, infinite where a float cannot hold it."""
    if base == 0:
        return math.inf if exponent < 0 else 0.0**exponent
    try:
        return float(base) ** exponent
    except OverflowError:
        return math.inf
