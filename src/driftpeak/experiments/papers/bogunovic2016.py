"""B16: Bogunovic, Scarlett and Cevher, Time-varying Gaussian process bandit optimization (2016).

Synthetic functions of section 5.1, figure 2.
"""

from functools import partial
from typing import Any

import numpy as np

from driftpeak.environments import MarkovDrift
from driftpeak.experiments.bootstrap import Array
from driftpeak.experiments.claims import Claim, Column, Comparison, Comparisons, lower_in, weighted
from driftpeak.experiments.experiment import Case, Experiment, Setup, described
from driftpeak.experiments.figures import mismatch, regret_overlay
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE, Kernel, Matern
from driftpeak.gp.priors import Prior
from driftpeak.policies import GPUCB, RGPUCB, TVGPUCB, Policy
from driftpeak.theory.schedules import markov_restart_period

STEPS, TRIALS, NOISE_VARIANCE = 200, 200, 0.01
DRIFTS = (0.001, 0.01, 0.03)
ASSUMED = (0.0, 0.0005, 0.001, 0.003, 0.005, 0.007, 0.01, 0.02, 0.03, 0.05, 0.1)
PERIODS = (2, 5, 10, 20, 38, 60, 100, 200)
TV, R, STATIC = "TV-GP-UCB", "R-GP-UCB", "GP-UCB"


SMOOTH, ROUGH = (
    Prior(Grid([0, 1], [0, 1], size=50), kernel, NOISE_VARIANCE)
    for kernel in (SE(0.2), Matern(2.5, 0.2))
)
"""Shared priors, so that their factorisations are computed once for all cases."""


def matched_period(kernel: Kernel, drift: float) -> int:
    return markov_restart_period(kernel, drift=drift, horizon=STEPS, dimension=2)


def matched(belief: Prior, drift: float, steps: int = STEPS) -> Setup:
    """Return the setup of figures 2a and 2b with the true drift, and GP-UCB in addition."""
    period = matched_period(belief.kernel, drift)
    policies: dict[str, Policy] = {
        TV: TVGPUCB(belief, drift=drift),
        R: RGPUCB(belief, period=period),
        STATIC: GPUCB(belief),
    }
    settings = {"kernel": str(belief.kernel), "drift": drift, "period": period, "width": "0.8, 4"}
    return Setup(MarkovDrift(belief, drift=drift), policies, steps, settings)


def assumed_drift() -> Setup:
    """Return the setup of figure 2c: TV-GP-UCB with wrong drift rates."""
    policies: dict[str, Policy] = {
        f"{TV} {drift:g}": TVGPUCB(SMOOTH, drift=drift) for drift in ASSUMED
    }
    settings = {"drift": 0.01, "assumed": ASSUMED, "width": "0.8, 4"}
    return Setup(MarkovDrift(SMOOTH, drift=0.01), policies, STEPS, settings)


def restart_period() -> Setup:
    """Return the setup of figure 2d: R-GP-UCB with other periods."""
    policies: dict[str, Policy] = {
        f"{R} {period}": RGPUCB(SMOOTH, period=period) for period in PERIODS
    }
    settings = {"drift": 0.01, "periods": PERIODS, "width": "0.8, 4"}
    return Setup(MarkovDrift(SMOOTH, drift=0.01), policies, STEPS, settings)


CASES = {f"eps = {drift:g}": drift for drift in DRIFTS}
LONG = 1000
LONGER = {f"{case}, T = {LONG}": drift for case, drift in CASES.items()}
AROUND = (5, 10)


def oscillates(case: str, period: int, steps: int) -> Comparisons:
    """Compare the regret in `steps` steps after resets and before, of R and relative to TV."""
    resets = range(period + 1, STEPS - steps + 2, period)  # the first step of a block

    def around(policy: str) -> tuple[Column, ...]:
        windows = [
            (first, first + steps - 1) for reset in resets for first in (reset, reset - steps)
        ]
        return tuple(Column(case, policy, first=first, last=last) for first, last in windows)

    def rise(samples: Array) -> Any:
        return (samples[..., ::2] - samples[..., 1::2]).mean(axis=-1)

    def rises(samples: Array) -> Any:
        return rise(samples).mean(axis=-1)

    def more(samples: Array) -> Any:
        mine, other = np.split(samples, 2, axis=-1)
        return (rise(mine) - rise(other)).mean(axis=-1)

    return (
        Comparison(f"{R}: after resets minus before, regret per step", around(R), rises),
        Comparison(f"{R}'s rise at its resets minus {TV}'s at the same steps, regret per step",
                   (*around(R), *around(TV)), more),
    )  # fmt: skip


def _matched(id: str, belief: Prior, *, longer: int) -> Experiment:
    return described(
        id,
        (
            *(Case(case, partial(matched, belief, drift), TRIALS, chunk=100)
              for case, drift in CASES.items()),
            *(Case(case, partial(matched, belief, drift, LONG), longer, totals_only=True,
                   quick=partial(matched, belief, drift))
              for case, drift in LONGER.items()),
        ),
        (
            *(Claim(f"TV-GP-UCB has less regret than R-GP-UCB at {case}", every)
              for case, every in lower_in(CASES, TV, R).items()),
            Claim("In the cases of this figure TV-GP-UCB has less regret than GP-UCB (abstract)",
                  lower_in(CASES | LONGER, TV, STATIC)),
            Claim("In the cases of this figure R-GP-UCB has less regret than GP-UCB (abstract)",
                  lower_in(CASES | LONGER, R, STATIC)),
            Claim("R-GP-UCB's regret oscillates: it is higher just after a reset than just "
                  "before; TV-GP-UCB's is steadier",
                  {f"{case}, {steps} steps":
                   oscillates(case, matched_period(belief.kernel, drift), steps)
                   for case, drift in CASES.items() for steps in AROUND}),
        ),
        partial(regret_overlay, cases=tuple(CASES), kinds=(TV, R, STATIC)),
        values={"LONG": LONG, "longer": longer},
    )  # fmt: skip


def _tv(drift: float) -> Column:
    return Column("eps = 0.01", f"{TV} {drift:g}")


def _r(period: int) -> Column:
    return Column("eps = 0.01", f"{R} {period}")


def _over_estimated(drift: float) -> Comparison:
    return Comparison(
        f"(eps 0 minus 0.01) minus twice (eps {drift:g} minus 0.01), regret per step",
        (_tv(0), _tv(drift), _tv(0.01)), weighted(1, -2, 1),
    )  # fmt: skip


def _under_estimated(drift: float) -> Comparison:
    return Comparison(
        f"a tenth of (eps 0 minus 0.01) minus (eps {drift:g} minus 0.01), regret per step",
        (_tv(0), _tv(drift), _tv(0.01)), weighted(0.1, -1, 0.9),
    )  # fmt: skip


def _larger_deviation(low: int, high: int) -> Comparison:
    return Comparison(
        f"deviation at N {high} minus at N {low}, regret per step", (_r(high), _r(low)),
        lambda s: s[..., 0].std(axis=-1) - s[..., 1].std(axis=-1),
    )  # fmt: skip


def _steps(*periods: int) -> Comparisons:
    return tuple(map(_larger_deviation, periods, periods[1:]))


EXPERIMENTS = (
    _matched("b16-fig2a", SMOOTH, longer=50),
    _matched("b16-fig2b", ROUGH, longer=25),
    described(
        "b16-fig2c",
        (Case("eps = 0.01", assumed_drift, TRIALS, chunk=50),),
        (
            Claim("Ignoring the drift (eps = 0, GP-UCB) is worst in the range", tuple(
                Comparison(f"eps 0 minus eps {drift:g}, regret per step", (_tv(0), _tv(drift)))
                for drift in ASSUMED[1:]
            )),
            Claim("The regret increases slowly as the drift is over-estimated", {
                "per unit of eps, slower up to 0.1 than down to 0": (Comparison(
                    "(eps 0 minus 0.01) minus a ninth of (eps 0.1 minus 0.01), regret per step",
                    (_tv(0), _tv(0.1), _tv(0.01)), weighted(1, -1 / 9, -8 / 9)),),
                "five and ten times the drift cost less than half of what ignoring it costs":
                    (_over_estimated(0.05), _over_estimated(0.1)),
            }),
            Claim("Slight under-estimation is not harmful: it costs less than a tenth of what "
                  "ignoring the drift costs", {
                "0.007, three tenths too small": (_under_estimated(0.007),),
                "0.005, half": (_under_estimated(0.005),),
            }),
            Claim("Beyond a certain point the regret increases rapidly as the drift is "
                  "under-estimated", (Comparison(
                      "(eps 0 minus 0.001) minus a fifth of (0.005 minus 0.01), regret per step",
                      (_tv(0), _tv(0.001), _tv(0.005), _tv(0.01)), weighted(1, -1, -0.2, 0.2)),)),
        ),
        partial(mismatch, case="eps = 0.01", values=ASSUMED, true=0.01,
                xlabel=r"assumed drift rate $\epsilon$"),
    ),
    described(
        "b16-fig2d",
        (Case("eps = 0.01", restart_period, TRIALS, chunk=50),),
        (
            Claim("Too small a period is bad", tuple(
                Comparison(f"N {period} minus N 38, regret per step", (_r(period), _r(38)))
                for period in (2, 5, 10)
            )),
            Claim("The mean is robust to a larger period, up to N = T, which is GP-UCB", {
                "none costs a tenth more than N = 38": tuple(
                    Comparison(f"1.1 times N 38 minus N {period}, regret per step",
                               (_r(38), _r(period)), weighted(1.1, -1))
                    for period in (60, 100, 200)
                ),
                "none costs half of what N = 2 does": tuple(
                    Comparison(
                        f"(N 2 minus N 38) minus twice (N {period} minus N 38), regret per step",
                        (_r(2), _r(period), _r(38)), weighted(1, -2, 1))
                    for period in (60, 100, 200)
                ),
            }),
            Claim("The spread (deviation over trials) increases steadily with the period", {
                "from N = 20 on, at 20, 60 and 200": _steps(20, 60, 200),
                "from N = 38 on, at 38, 60, 100 and 200": _steps(38, 60, 100, 200),
                "from N = 38 to N = T": _steps(38, 200),
            }),
        ),
        partial(mismatch, case="eps = 0.01", values=PERIODS, true=38,
                xlabel="restart period N"),
    ),
)  # fmt: skip
