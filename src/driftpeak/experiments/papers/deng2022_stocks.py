"""D22's stocks (section 7, figure 1c, and figure 4 of Appendix E)."""

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from driftpeak.environments import RecordedRewards
from driftpeak.experiments.claims import Claim, lowest, lowest_by_setting
from driftpeak.experiments.experiment import Case, Setup, described
from driftpeak.experiments.figures import regret_panels
from driftpeak.experiments.papers.deng2022 import (
    FIRST,
    STATIC,
    SW,
    WGP,
    R,
    scaled,
    widths_and_policies,
)
from driftpeak.gp.priors import Prior
from driftpeak.inference.information import greedy_gain
from driftpeak.offline.data import read_table
from driftpeak.offline.replay import prior_from_history
from driftpeak.policies import GPUCB, RGPUCB, SWGPUCB, WGPUCB, Policy
from driftpeak.theory.schedules import discount_factor, restart_period, window_length

PRACTICAL = "width sqrt(0.8 log 4t)"
OPEN: Mapping[str, Mapping[str, Any]] = {
    FIRST: {},
    "B = 1": {"norm_bound": 1.0},
    "R a tenth": {"noise": 0.1},
    "delta = 0.01": {"delta": 0.01},
    "lambda 1 % of the variance": {"share": 0.01},
    "variation known": {"known": True},
    "H and w halved, 1 - gamma doubled": {"memory": 0.5},
    "H and w doubled, 1 - gamma halved": {"memory": 2.0},
}
"""Choices that D22 leaves open, each changed separately."""


def norms(functions: Any, prior: Prior) -> Any:
    """Return the RKHS norm of each row of values, shape `(functions, points)`, on all points."""
    return np.sqrt((functions * np.linalg.solve(prior.gram, functions.T).T).sum(axis=-1))


def stocks(
    path: Path,
    *,
    norm_bound: float | None = None,
    noise: float = 1.0,
    delta: float = 0.1,
    share: float = 0.05,
    known: bool = False,
    memory: float = 1.0,
    practical: bool = False,
) -> Setup:
    """Return the setup of a choice of one of 29 stocks a day, whose reward is its price.

    Arguments:
        norm_bound: B; by default the root mean square norm of a day's prices minus the common mean.
        noise: R relative to sqrt(lambda). share: lambda relative to the stocks' mean variance.
        known: whether the policies know the variation. practical: B16's width for all.
        memory: factor of H, w and 1 / (1 - gamma).
    """
    table = read_table(path)
    values, steps = table.values, len(table.values)
    variance = share * float(values.var(axis=0, ddof=1).mean())
    prior = prior_from_history(values, table.arms, noise_variance=variance, mean="common")
    norm = math.sqrt((norms(values - prior.mean, prior) ** 2).mean())
    variation = float(norms(np.diff(values, axis=0), prior).sum()) if known else None
    gain = float(greedy_gain(prior, steps)[-1])
    scale = {"horizon": steps, "dimension": 1, "gain": gain, "variation": variation}
    period = scaled(restart_period(prior.kernel, **scale), memory, steps)  # type: ignore[arg-type]
    window = scaled(window_length(prior.kernel, **scale), memory, steps)  # type: ignore[arg-type]
    discount = 1 - (1 - discount_factor(prior.kernel, **scale)) / memory  # type: ignore[arg-type]
    bound = norm if norm_bound is None else norm_bound
    policies: dict[str, Policy]
    if practical:
        policies = {
            WGP: WGPUCB(prior, discount=discount),
            R: RGPUCB(prior, period=period),
            SW: SWGPUCB(prior, window=window),
            STATIC: GPUCB(prior),
        }
    else:
        policies = widths_and_policies(
            prior, steps, norm_bound=bound, noise_scale=noise * math.sqrt(variance), delta=delta,
            period=period, window=window, discount=discount, unit=float(prior.variance.max()),
        )  # fmt: skip
    settings = {
        "lambda": variance, "gain": gain, "period": period, "window": window, "discount": discount,
        "variation": variation, "root mean square norm": norm,
        **({"width": "0.8, 4"} if practical else
           {"norm_bound": bound, "R / sqrt(lambda)": noise, "delta": delta}),
    }  # fmt: skip
    return Setup(RecordedRewards(values), policies, steps, settings)


CASES = {setting: f"stocks, {setting}" for setting in OPEN}
EXPERIMENTS = (
    described(
        "d22-fig1c",
        (
            *(Case(CASES[setting], partial(stocks, **chosen), 1, data="stocks")
              for setting, chosen in OPEN.items()),
            Case(PRACTICAL, partial(stocks, practical=True), 1, data="stocks"),
        ),
        (
            Claim("WGP-UCB has less regret than R-GP-UCB and SW-GP-UCB",
                  lowest_by_setting(CASES, WGP, (R, SW))),
            Claim("WGP-UCB has less regret than R-GP-UCB, SW-GP-UCB and IGP-UCB, Appendix E",
                  lowest_by_setting(CASES, WGP, (R, SW, STATIC))),
            *(Claim(f"IGP-UCB has less regret than {other} (D22: R-GP-UCB and SW-GP-UCB may be "
                    "worse than IGP-UCB in some cases)",
                    lowest_by_setting(CASES, STATIC, (other,)), whose="ours")
              for other in (R, SW)),
            Claim("The same with B16's practical width for all four",
                  lowest(PRACTICAL, WGP, (R, SW, STATIC)), whose="ours"),
        ),
        partial(regret_panels, cases=(CASES[FIRST], PRACTICAL), unit="dollars"),
    ),
)  # fmt: skip
