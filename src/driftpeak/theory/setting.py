"""The problem description that the theorems need."""

import math
from dataclasses import dataclass
from typing import Literal

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least, at_least_integer, finite, unit_interval
from driftpeak.gp.kernels import Kernel
from driftpeak.theory.smoothness import Family, family, smoothness

Measure = Literal["variation", "rkhs_variation", "drift", "exponent"]
MEASURES: tuple[Measure, ...] = ("drift", "variation", "exponent")
"""Measures with a lower bound."""
SYMBOLS = {"variation": "V_T", "rkhs_variation": "P_T", "drift": "epsilon"}
MOST_DIMENSIONS = 100


@checked
@dataclass(frozen=True)
class Setting:
    """The quantities of a problem that the rates depend on.

    Arguments:
        kernel: SE, Matern or linear.
        dimension: d, at most 100: the rates treat it as fixed.
        horizon: T, from 3, so that log T >= 1, to 10^18.
        variation: V_T, in the supremum norm, at least 0; None if unknown.
        drift: epsilon in [0, 1]; None if unknown.
        exponent: alpha, at least 0; None if unknown.
        window: M25's parameter of the windows between side queries, 0 < a < 1/3.
        rkhs_variation: P_T, in the RKHS norm, at least V_T; None if unknown.

    Raises:
        DriftpeakError: a number out of range, or another kernel.
    """

    kernel: Kernel
    dimension: int
    horizon: int
    variation: float | None = None
    drift: float | None = None
    exponent: float | None = None
    window: float = 1 / 4
    rkhs_variation: float | None = None

    def __post_init__(self) -> None:
        family(self.kernel)
        if at_least_integer("dimension", self.dimension, 1) > MOST_DIMENSIONS:
            raise DriftpeakError(
                f"dimension must be at most {MOST_DIMENSIONS}; got {self.dimension}. The rates "
                "treat it as fixed, and their log^(d+1) T would exceed every horizon"
            )
        at_least_integer("horizon", self.horizon, 3)
        for name in ("variation", "rkhs_variation"):
            if getattr(self, name) is not None:
                at_least(name, getattr(self, name), 0)
        if self.variation is not None and self.rkhs_variation is not None:
            at_least("rkhs_variation", self.rkhs_variation, self.variation)
        finite("window", self.window)
        if self.drift is not None:
            unit_interval("drift", self.drift)
        if self.exponent is not None:
            at_least("exponent", self.exponent, 0)

    @property
    def family(self) -> Family:
        """Family of the kernel."""
        return family(self.kernel)

    @property
    def nu(self) -> float:
        """Smoothness nu of the Matern kernel; infinite for SE and linear kernels.

        The gains of SE and linear kernels grow with a power of log T alone, as in the limit.
        """
        return math.inf if self.family == "linear" else smoothness(self.kernel)

    def known(self, measure: Measure) -> float | None:
        """Return the measure of change, or its bound (P_T for V_T); None if both are unknown."""
        value: float | None = getattr(self, measure)
        return self.rkhs_variation if value is None and measure == "variation" else value

    def measured(self, measure: Measure) -> float:
        """Return `known(measure)`.

        Raises:
            DriftpeakError: the measure is unknown.
        """
        value = self.known(measure)
        if value is None:
            raise DriftpeakError(f"{measure} must be given: this rate depends on it; got None")
        return value

    def quantities(self) -> dict[str, float]:
        """Return the named quantities that exponents consist of."""
        d = float(self.dimension)
        alpha = math.nan if self.exponent is None else self.exponent
        return {"nu": self.nu, "d": d, "D": d * (d + 1), "alpha": alpha, "window": self.window}
