"""Choices and side remarks of B16 in the environments of its figures 2a and 2b.

The width, the constants of R-GP-UCB's period, fixed strategies, and GP-UCB at a longer horizon.
"""

from functools import partial
from typing import Any

from matplotlib.figure import Figure

from driftpeak.environments import MarkovDrift
from driftpeak.experiments.claims import (
    Claim,
    Column,
    Comparison,
    Comparisons,
    lower,
    lower_in,
    weighted,
)
from driftpeak.experiments.experiment import (
    Case,
    Results,
    ResultTable,
    Setup,
    described,
)
from driftpeak.experiments.papers.bogunovic2016 import (
    DRIFTS,
    ROUGH,
    SMOOTH,
    STATIC,
    STEPS,
    TV,
    R,
    matched_period,
)
from driftpeak.gp.priors import Prior
from driftpeak.plots import COLOURS, tidy
from driftpeak.policies import GPUCB, RGPUCB, TVGPUCB, BestFixedArm, Policy
from driftpeak.policies.widths import Bayesian, ScaledLog, Width

TRIALS, LONG_TRIALS, LONG, DELTA, DRIFT = 30, 10, 600, 0.1, 0.01
PRIORS = {"SE": SMOOTH, "Matern-5/2": ROUGH}
FACTORS = {"half the constant": 0.5, "": 1.0, "twice the constant": 2.0}
SCALES = (0.2, 0.4, 0.8, 1.6, 3.2)
PUBLISHED = 0.8
FIXED, THEOREM = "best fixed point", "theorem's width"
TOLERANCE, SUITABLE = 1.1, 1.25


def _restarting(factor: str) -> str:
    return f"{R}, {factor}" if factor else R


def restart_periods(prior: Prior, drift: float) -> list[int]:
    """Return R-GP-UCB's periods with half B16's constant, the constant, and twice it."""
    period = matched_period(prior.kernel, drift)
    return [min(STEPS, round(factor * period)) for factor in FACTORS.values()]


def periods(prior: Prior, drift: float) -> Setup:
    """Return R-GP-UCB with half and twice B16's constant, TV-GP-UCB and the best fixed point."""
    chosen = dict(zip(FACTORS, restart_periods(prior, drift), strict=True))
    policies: dict[str, Policy] = {
        TV: TVGPUCB(prior, drift=drift),
        FIXED: BestFixedArm(prior),  # type: ignore[arg-type]
        **{_restarting(name): RGPUCB(prior, period=each) for name, each in chosen.items()},
    }
    settings = {"kernel": str(prior.kernel), "drift": drift, "periods": list(chosen.values())}
    return Setup(MarkovDrift(prior, drift=drift), policies, STEPS, settings)


def _scaled(policy: str, scale: float) -> str:
    return f"{policy}, c1 = {scale:g}"


def _conservative(policy: str) -> str:
    return f"{policy}, {THEOREM}"


def widths(prior: Prior) -> Setup:
    """Return both policies with widths of other scale, and with the widths of their theorems."""
    period = matched_period(prior.kernel, DRIFT)

    def both(width: Width, other: Width, name: Any) -> dict[str, Policy]:
        return {
            name(TV): TVGPUCB(prior, drift=DRIFT, width=width),
            name(R): RGPUCB(prior, period=period, width=other),
        }

    policies: dict[str, Policy] = {}
    for scale in SCALES:
        width = ScaledLog(scale, 4)
        policies |= both(width, width, partial(_scaled, scale=scale))
    policies |= both(
        Bayesian.of(prior, resetting=False, delta=DELTA),
        Bayesian.of(prior, resetting=True, delta=DELTA),
        _conservative,
    )
    settings = {"kernel": str(prior.kernel), "drift": DRIFT, "period": period, "c1": SCALES,
                "c2": 4, "delta": DELTA}  # fmt: skip
    return Setup(MarkovDrift(prior, drift=DRIFT), policies, STEPS, settings)


def horizon(prior: Prior, drift: float, steps: int = LONG) -> Setup:
    """Return GP-UCB, TV-GP-UCB and the best fixed point in a longer run."""
    policies: dict[str, Policy] = {
        TV: TVGPUCB(prior, drift=drift),
        STATIC: GPUCB(prior),
        FIXED: BestFixedArm(prior),  # type: ignore[arg-type]
    }
    settings = {"kernel": str(prior.kernel), "drift": drift, "width": "0.8, 4"}
    return Setup(MarkovDrift(prior, drift=drift), policies, steps, settings)


def _at(kernel: str, drift: float) -> str:
    return f"{kernel}, eps = {drift:g}"


def _width_case(kernel: str) -> str:
    return f"{kernel}, widths"


SHORT_CASES = {_at(kernel, drift): (kernel, drift) for kernel in PRIORS for drift in DRIFTS}
LONG_CASES = {
    f"{_at(kernel, drift)}, T = {LONG}": (kernel, drift)
    for kernel in PRIORS
    for drift in (0.01, 0.03)
}


def _at_most(case: str, policy: str, other: str, factor: float) -> Comparison:
    """Return the comparison that a policy has at most `factor` times the regret of another."""
    return Comparison(
        f"{factor:g} times {other} minus {policy}, regret per step",
        (Column(case, other), Column(case, policy)),
        weighted(factor, -1),
    )


def _late(case: str) -> Comparisons:
    """Return the comparison that GP-UCB's lag behind TV-GP-UCB grows from the first third on."""
    third = LONG // 3
    columns = (
        Column(case, STATIC, first=LONG - third + 1), Column(case, TV, first=LONG - third + 1),
        Column(case, STATIC, last=third), Column(case, TV, last=third),
    )  # fmt: skip
    label = f"{STATIC} minus {TV}, last {third} steps minus first, regret per step"
    return (Comparison(label, columns, weighted(1, -1, -1, 1)),)


CLAIMS = (
    Claim(
        "The constants 12 (SE) and 24 (Matern) of R-GP-UCB's period are from cross-validation: "
        "neither half nor twice the constant has a regret lower by more than a tenth",
        {
            case: tuple(
                _at_most(case, R, _restarting(factor), TOLERANCE) for factor in FACTORS if factor
            )
            for case in SHORT_CASES
        },
        whose="ours",  # B16 does not say what cross-validation compared
    ),
    Claim(
        "All fixed strategies perform poorly: the best fixed point in hindsight has more regret "
        "than TV-GP-UCB",
        lower_in(SHORT_CASES | LONG_CASES, TV, FIXED),
    ),
    Claim(
        "c1 = 0.8 and c2 = 4 are suitable: no other c1 from 0.2 to 3.2 has less than 0.8 times the "
        "regret",
        {
            f"{policy}, {kernel}": tuple(
                _at_most(
                    _width_case(kernel), _scaled(policy, PUBLISHED), _scaled(policy, scale),
                    SUITABLE,
                )
                for scale in SCALES
                if scale != PUBLISHED
            )
            for policy in (TV, R)
            for kernel in PRIORS
        },
    ),
    Claim(
        "The widths (16) and (19) are too conservative: c1 = 0.8 and c2 = 4 have less regret",
        {
            f"{policy}, {kernel}": (
                lower(
                    (_width_case(kernel), _scaled(policy, PUBLISHED)),
                    (_width_case(kernel), _conservative(policy)),
                ),
            )
            for policy in (TV, R)
            for kernel in PRIORS
        },
    ),
    Claim(
        "GP-UCB suffers more with a longer horizon, in the environments of figure 2",
        {case: _late(case) for case in LONG_CASES},
        whose="ours",
    ),
)  # fmt: skip


def picture(results: Results, title: str) -> Figure:
    """Draw the regret per step over c1, with the theorem's width, for both policies and kernels."""
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    panels = figure.subplots(1, len(PRIORS), sharey=True)
    for axes, kernel in zip(panels, PRIORS, strict=True):
        runs = results[_width_case(kernel)]
        for number, policy in enumerate((TV, R)):
            look = {"color": COLOURS[number], "linestyle": ("-", "--")[number]}
            names = [_scaled(policy, scale) for scale in SCALES]
            regret = runs["regret"].mean("step")
            means = [float(regret.sel(policy=name).mean()) for name in names]
            axes.plot(SCALES, means, marker="os"[number], ms=5, label=policy, **look)
            theorem = float(regret.sel(policy=_conservative(policy)).mean())
            axes.axhline(theorem, linewidth=1, label=_conservative(policy), **look)
        axes.axvline(PUBLISHED, color="black", linestyle=":", label="c1 = 0.8, B16")
        axes.set(xscale="log", xlabel="$c_1$ of the width", title=kernel, ylim=(0, None))
        axes.set_xticks(SCALES, [f"{scale:g}" for scale in SCALES], minor=False)
        axes.set_xticks([], minor=True)
        tidy(axes)
    panels[0].set_ylabel("average regret, $R_T/T$")
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure


def _tables(results: Results) -> tuple[ResultTable, ...]:
    """Return the mean regret per step of every policy in every case."""
    rows = tuple(
        (case, str(name), f"{float(runs['regret'].sel(policy=name).mean()):.3f}")
        for case, runs in results.items()
        for name in runs["policy"].values
    )
    return (ResultTable("Regret per step", ("case", "policy", "regret per step"), rows),)


EXPERIMENTS = (
    described(
        "b16-choices",
        (
            *(
                Case(case, partial(periods, PRIORS[kernel], drift), TRIALS)
                for case, (kernel, drift) in SHORT_CASES.items()
            ),
            *(Case(_width_case(kernel), partial(widths, PRIORS[kernel]), TRIALS)
              for kernel in PRIORS),
            *(
                Case(
                    case, partial(horizon, PRIORS[kernel], drift), LONG_TRIALS,
                    quick=partial(horizon, PRIORS[kernel], drift, STEPS),
                )
                for case, (kernel, drift) in LONG_CASES.items()
            ),
        ),
        CLAIMS,
        picture,
        tables=_tables,
        values={
            "DELTA": DELTA, "LONG": LONG, "LONG_TRIALS": LONG_TRIALS, "STEPS": STEPS,
            "TRIALS": TRIALS,
        },
    ),
)  # fmt: skip
