r"""Rates of measured regret in B16's drift, compared with the exponents of B16 Corollary 4.1.

Functions on [0, 1] under Markov drift, and TV-GP-UCB and R-GP-UCB with the true drift. For fixed T
the regret grows with the drift epsilon: \(T \epsilon^b\) is an upper bound and \(T \epsilon\) a
lower bound, so that the slope of log R_T against log epsilon is at least b and at most 1 once
epsilon is small. If epsilon = 1/sqrt(T), the bound of TV-GP-UCB is below that of R-GP-UCB.
"""

from functools import partial

from driftpeak.environments import MarkovDrift
from driftpeak.experiments.claims import Claim, lower_in
from driftpeak.experiments.experiment import Case, Setup, described
from driftpeak.experiments.papers.exponents import Series, Theory, curves, exponents, table
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE, Kernel, Matern
from driftpeak.gp.priors import Prior
from driftpeak.policies import RGPUCB, TVGPUCB
from driftpeak.policies.widths import Bayesian, ScaledLog
from driftpeak.theory.rates import rates
from driftpeak.theory.schedules import markov_restart_period
from driftpeak.theory.setting import Setting

DRIFTS = (0.001, 0.003, 0.01, 0.03, 0.1)
HORIZON = 4_000
HORIZONS = (1_000, 3_162, 10_000)
KERNELS: dict[str, Kernel] = {"SE": SE(0.2), "Matern-5/2": Matern(2.5, 0.2)}
POINTS, NOISE_VARIANCE, TRIALS, DELTA = 50, 0.01, 10, 0.1
TV, R = "TV-GP-UCB", "R-GP-UCB"
PRACTICAL, THEOREM = "", ", width of the theorem"
THEORY = {TV: "tv-gp-ucb", R: "r-gp-ucb"}


def setup(kernel: Kernel, horizon: int, drift: float) -> Setup:
    """Return the setup with both policies, each with B16's practical width and its theorem's."""
    prior = Prior(Grid([0, 1], size=POINTS), kernel, NOISE_VARIANCE)
    period = markov_restart_period(kernel, drift=drift, horizon=horizon, dimension=1)
    for_tv, for_r = (Bayesian.of(prior, resetting=each, delta=DELTA) for each in (False, True))
    policies = {
        TV: TVGPUCB(prior, drift=drift, width=ScaledLog()),
        R: RGPUCB(prior, period=period, width=ScaledLog()),
        f"{TV}{THEOREM}": TVGPUCB(prior, drift=drift, width=for_tv),
        f"{R}{THEOREM}": RGPUCB(prior, period=period, width=for_r),
    }
    settings = {
        "kernel": str(kernel), "drift": drift, "period": period, "horizon": horizon,
        "width": "0.8, 4, and B16 (19) and (16)", "delta": DELTA,
    }  # fmt: skip
    return Setup(MarkovDrift(prior, drift=drift), policies, horizon, settings)


def theoretical(policy: str, kernel: Kernel, *, vanishing: bool = False) -> Theory:
    """Return the exponent of epsilon, or of T if epsilon = 1/sqrt(T), in B16 Corollary 4.1."""
    name = THEORY[policy.removesuffix(THEOREM)]
    setting = Setting(kernel, 1, HORIZON, drift=DRIFTS[0])
    [rate] = rates(name, "drift", known=True)
    (static, _), (_, moving) = rate.terms
    if vanishing:
        return Theory(max(static.at(setting), 1 - moving.at(setting) / 2), rate.source)
    return Theory(moving.at(setting), rate.source)


POLICIES = tuple(name + width for width in (PRACTICAL, THEOREM) for name in (TV, R))
BY_DRIFT = {
    name: {f"{name}, eps = {drift:g}": drift for drift in DRIFTS} for name in KERNELS
}  # fmt: skip
BY_HORIZON = {f"SE, eps = 1/sqrt(T), T = {horizon}": horizon for horizon in HORIZONS}
DRIFT_SERIES = {
    name: Series(
        f"{name} kernel, T = {HORIZON:,}",
        "epsilon",
        r"drift $\epsilon$",
        cases,
        dict.fromkeys(cases, HORIZON),
        {policy: theoretical(policy, KERNELS[name]) for policy in POLICIES},
    )
    for name, cases in BY_DRIFT.items()
}
VANISHING = Series(
    r"SE kernel, $\epsilon = 1/\sqrt{T}$",
    "T",
    "horizon T",
    {case: float(horizon) for case, horizon in BY_HORIZON.items()},
    BY_HORIZON,
    {policy: theoretical(policy, KERNELS["SE"], vanishing=True) for policy in POLICIES},
)
SERIES = (*DRIFT_SERIES.values(), VANISHING)


CLAIMS = tuple(
    Claim(
        "If eps = 1/sqrt(T), regrets have the order of the bounds, TV-GP-UCB below R-GP-UCB: "
        f"{words}",
        lower_in(BY_HORIZON, TV + width, R + width),
        whose="ours",
    )
    for width, words in ((PRACTICAL, "practical width"), (THEOREM, "widths of the theorems"))
)
EXPERIMENTS = (
    described(
        "rates-drift",
        (
            *(
                Case(case, partial(setup, KERNELS[name], HORIZON, drift), TRIALS, totals_only=True)
                for name, cases in BY_DRIFT.items()
                for case, drift in cases.items()
            ),
            *(
                Case(
                    case, partial(setup, KERNELS["SE"], horizon, horizon**-0.5), TRIALS,
                    totals_only=True,
                )
                for case, horizon in BY_HORIZON.items()
            ),
        ),
        CLAIMS,
        partial(exponents, series=SERIES),
        further={"curves": partial(curves, series=SERIES)},
        tables=table(SERIES),
        values={
            "DELTA": DELTA, "HORIZON": HORIZON, "NOISE_VARIANCE": NOISE_VARIANCE,
            "POINTS": POINTS, "TRIALS": TRIALS,
        },
    ),
)  # fmt: skip
