"""Rates of policies with side queries, and of uncertainty injection without them (M25).

Two environments: M25's moving coefficients, whose squared change grows as the square of a short
time (alpha = 2), and a drift with alpha = 0.2 that is below M25's threshold of 1/3.
"""

from functools import partial
from typing import Any

from driftpeak.environments import InjectedDrift, MovingCoefficients
from driftpeak.experiments.experiment import Case, Setup, described
from driftpeak.experiments.papers.exponents import Series, Theory, curves, exponents, table
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE
from driftpeak.gp.priors import Prior
from driftpeak.policies import UIGPUCB, Policy, SparQ, UniformRandom, WSparQ
from driftpeak.policies.widths import Heteroscedastic, ScaledLog, Width
from driftpeak.theory.rates import applicable
from driftpeak.theory.setting import Setting

HORIZONS, SLOW_HORIZONS = (250, 1_000, 4_000), (250, 500, 1_000)
POINTS, NOISE, TRIALS = 50, 0.1, 10
KERNEL = SE(0.2)
NORM, DELTA, CENTRES, SPEED, SQUARE, SLOW = 5.0, 0.1, 10, 0.3, 2.0, 0.2
WIDTH_12, LOG = "", ", log width"
WIDTHS: dict[str, Width] = {WIDTH_12: Heteroscedastic(NORM, DELTA), LOG: ScaledLog()}
THEORY = {"UI-GP-UCB": "ui-gp-ucb", "SparQ-GP-UCB": "sparq", "W-SparQ-GP-UCB": "w-sparq"}
SIDES = tuple(name + width for width in WIDTHS for name in ("SparQ-GP-UCB", "W-SparQ-GP-UCB"))
MOVING_POLICIES = ("random", "UI-GP-UCB", *SIDES)
SLOW_POLICIES = ("random", f"UI-GP-UCB{LOG}", f"SparQ-GP-UCB{LOG}")


def _policies(prior: Prior, exponent: float, names: tuple[str, ...]) -> dict[str, Policy]:
    """Return these policies; SparQ and W-SparQ as in M25's Algorithms 1 and 2."""
    published: dict[str, Any] = {"asks": "after", "multiplicity": True}
    made: dict[str, Policy] = {"random": UniformRandom(prior)}
    for suffix, width in WIDTHS.items():
        made |= {
            f"UI-GP-UCB{suffix}": UIGPUCB(prior, exponent=exponent, width=width),
            f"SparQ-GP-UCB{suffix}": SparQ(prior, width=width, **published),
            f"W-SparQ-GP-UCB{suffix}": WSparQ(prior, exponent=exponent, width=width, **published),
        }
    return {name: made[name] for name in names}


def setup(horizon: int) -> Setup:
    """Return the setup of M25's moving coefficients."""
    prior = Prior(Grid([0, 1], size=POINTS), KERNEL, NOISE**2)
    world = MovingCoefficients(prior, centres=CENTRES, norm=NORM, speed=SPEED)
    settings = {"exponent": SQUARE, "norm_bound": NORM, "delta": DELTA, "a": 1 / 4}
    return Setup(world, _policies(prior, SQUARE, MOVING_POLICIES), horizon, settings)


def slow_setup(horizon: int) -> Setup:
    """Return the setup of a drift with alpha below 1/3."""
    prior = Prior(Grid([0, 1], size=POINTS), KERNEL, NOISE**2)
    world = InjectedDrift(prior, exponent=SLOW)
    settings = {"exponent": SLOW, "width": "0.8, 4", "a": 1 / 4}
    return Setup(world, _policies(prior, SLOW, SLOW_POLICIES), horizon, settings)


def theoretical(policy: str, exponent: float) -> Theory | None:
    """Return the exponent of T in M25's Tables 1 and 2 for a policy with any width."""
    setting = Setting(KERNEL, 1, HORIZONS[-1], exponent=exponent)
    row = applicable(THEORY.get(policy.removesuffix(LOG), policy), setting, "exponent")
    return None if row is None else Theory(row[0].growth(setting), row[0].source)


def _named(word: str, horizons: tuple[int, ...]) -> dict[str, int]:
    return {f"{word}, T = {horizon}": horizon for horizon in horizons}


MOVING, DRIFTING = _named("coefficients", HORIZONS), _named("alpha = 0.2", SLOW_HORIZONS)


def _series(title: str, cases: dict[str, int], exponent: float, names: tuple[str, ...]) -> Series:
    theory = {policy: theoretical(policy, exponent) for policy in names}
    values = {case: float(horizon) for case, horizon in cases.items()}
    return Series(title, "T", "horizon T", values, cases, theory)


COEFFICIENTS = _series(r"Moving coefficients, $\alpha$ = 2", MOVING, SQUARE, MOVING_POLICIES)
INJECTED = _series(r"Injected drift, $\alpha$ = 0.2", DRIFTING, SLOW, SLOW_POLICIES)
SERIES = (COEFFICIENTS, INJECTED)
CASES = (
    *(Case(case, partial(setup, t), TRIALS, totals_only=True) for case, t in MOVING.items()),
    *(Case(case, partial(slow_setup, t), TRIALS, totals_only=True) for case, t in DRIFTING.items()),
)

EXPERIMENTS = (
    described(
        "rates-side-queries",
        CASES,
        (),
        partial(exponents, series=SERIES),
        further={"curves": partial(curves, series=SERIES)},
        tables=table(SERIES),
        values={"CENTRES": CENTRES, "NOISE": NOISE, "NORM": NORM, "POINTS": POINTS, "SPEED": SPEED},
    ),
)
