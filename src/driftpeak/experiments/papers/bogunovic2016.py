"""B16: Bogunovic, Scarlett and Cevher, Time-varying Gaussian process bandit optimization (2016)."""

from functools import partial
from typing import Any

from driftpeak.domains import Grid
from driftpeak.environments import MarkovDrift
from driftpeak.experiments.bootstrap import Combine
from driftpeak.experiments.claims import Claim, Column, Comparison, lower
from driftpeak.experiments.experiment import Case, Experiment, Setup
from driftpeak.experiments.figures import mismatch, regret_overlay
from driftpeak.kernels import SE, Kernel, Matern
from driftpeak.policies import RGPUCB, TVGPUCB, Policy
from driftpeak.priors import Prior
from driftpeak.theory.schedules import markov_restart_period

STEPS, TRIALS, NOISE_VARIANCE = 200, 200, 0.01
DRIFTS = (0.001, 0.01, 0.03)
ASSUMED = (0.0, 0.0005, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1)
PERIODS = (2, 5, 10, 20, 38, 60, 100, 200)
TV, R = "TV-GP-UCB", "R-GP-UCB"


def prior(kernel: Kernel) -> Prior:
    return Prior(Grid([0, 1], [0, 1], size=50), kernel, NOISE_VARIANCE)


def matched(kernel: Kernel, drift: float) -> Setup:
    """Figures 2a and 2b: both policies know the drift."""
    belief = prior(kernel)
    period = markov_restart_period(kernel, drift=drift, horizon=STEPS, dimension=2)
    policies: dict[str, Policy[Any]] = {
        TV: TVGPUCB(belief, drift=drift),
        R: RGPUCB(belief, period=period),
    }
    settings = {"kernel": str(kernel), "drift": drift, "period": period, "width": "0.8, 4"}
    return Setup(MarkovDrift(belief, drift=drift), policies, STEPS, settings)


def assumed_drift() -> Setup:
    """Figure 2c: TV-GP-UCB with the wrong drift."""
    belief = prior(SE(0.2))
    policies: dict[str, Policy[Any]] = {
        f"{TV} {drift:g}": TVGPUCB(belief, drift=drift) for drift in ASSUMED
    }
    settings = {"drift": 0.01, "assumed": ASSUMED, "width": "0.8, 4"}
    return Setup(MarkovDrift(belief, drift=0.01), policies, STEPS, settings)


def restart_period() -> Setup:
    """Figure 2d: R-GP-UCB with other periods."""
    belief = prior(SE(0.2))
    policies: dict[str, Policy[Any]] = {
        f"{R} {period}": RGPUCB(belief, period=period) for period in PERIODS
    }
    settings = {"drift": 0.01, "periods": PERIODS, "width": "0.8, 4"}
    return Setup(MarkovDrift(belief, drift=0.01), policies, STEPS, settings)


def _matched(id: str, kernel: Kernel, name: str) -> Experiment:
    cases = [f"eps = {drift:g}" for drift in DRIFTS]
    return Experiment(
        id,
        f"Matched parameters, {name}",
        f"B16 figure {id[-2:]}",
        tuple(
            Case(case, partial(matched, kernel, drift), TRIALS, chunk=100)
            for case, drift in zip(cases, DRIFTS, strict=True)
        ),
        tuple(
            Claim(f"TV-GP-UCB has less regret than R-GP-UCB at {case}",
                  (lower((case, TV), (case, R)),))
            for case in cases
        ),
        partial(regret_overlay, kinds=(TV, R)),
    )  # fmt: skip


def _weighted(*factors: float) -> Combine:
    """The mean of a weighted sum of the columns."""
    return lambda samples: (samples * factors).sum(axis=-1).mean(axis=-1)


def _tv(drift: float) -> Column:
    return Column("eps = 0.01", f"{TV} {drift:g}")


def _r(period: int) -> Column:
    return Column("eps = 0.01", f"{R} {period}")


EXPERIMENTS = (
    _matched("b16-fig2a", SE(0.2), "SE kernel, l = 0.2"),
    _matched("b16-fig2b", Matern(2.5, 0.2), "Matern-5/2 kernel, l = 0.2"),
    Experiment(
        "b16-fig2c",
        "TV-GP-UCB told the wrong drift, true 0.01, SE kernel",
        "B16 figure 2c",
        (Case("eps = 0.01", assumed_drift, TRIALS, chunk=50),),
        (
            Claim("Ignoring the drift (eps = 0, GP-UCB) is worst in the range", tuple(
                Comparison(f"eps 0 minus eps {drift:g}, regret per step", (_tv(0), _tv(drift)))
                for drift in ASSUMED[1:]
            )),
            Claim("Over-estimation costs slowly: five and ten times the true drift cost less than "
                  "half of what ignoring it costs", tuple(
                Comparison(
                    f"(eps 0 minus 0.01) minus twice (eps {drift:g} minus 0.01), regret per step",
                    (_tv(0), _tv(drift), _tv(0.01)), _weighted(1, -2, 1),
                ) for drift in (0.05, 0.1)
            )),
        ),
        partial(mismatch, case="eps = 0.01", values=ASSUMED, true=0.01,
                xlabel=r"drift $\epsilon$ that TV-GP-UCB assumes"),
        choices=("B16 says `slowly` without a number: here a five- and a tenfold over-estimate "
                 "must cost less than half of what eps = 0 does.",),
    ),
    Experiment(
        "b16-fig2d",
        "R-GP-UCB with other periods, drift 0.01, SE kernel",
        "B16 figure 2d",
        (Case("eps = 0.01", restart_period, TRIALS, chunk=50),),
        (
            Claim("Too small a period is bad", tuple(
                Comparison(f"N {period} minus N 38, regret per step", (_r(period), _r(38)))
                for period in (2, 5, 10)
            )),
            Claim("The mean is robust to a larger period: the most costly, N = T, costs less than "
                  "half of what N = 2 does", (Comparison(
                      "(N 2 minus N 38) minus twice (N 200 minus N 38), regret per step",
                      (_r(2), _r(200), _r(38)), _weighted(1, -2, 1)),)),
            Claim("The spread (standard deviation over trials) grows with the period", tuple(
                Comparison(f"deviation at N {high} minus at N {low}, regret per step",
                           (_r(high), _r(low)),
                           lambda s: s[..., 0].std(axis=-1) - s[..., 1].std(axis=-1))
                for low, high in ((20, 60), (60, 200))
            )),
        ),
        partial(mismatch, case="eps = 0.01", values=PERIODS, true=38,
                xlabel="period N of R-GP-UCB"),
        choices=("Spread is compared between N = 20, 60 and 200.",),
    ),
)  # fmt: skip
