"""What theory says of a problem before its first step: every policy, and which one to take."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftpeak.errors import at_least_integer, finite_array
from driftpeak.theory.bound import Bound
from driftpeak.theory.rates import MEASURES, Measure, Setting, applicable
from driftpeak.theory.regimes import regime, side_queries_needed, sparq_queries, w_sparq_queries
from driftpeak.theory.schedules import (
    discount_factor,
    elimination_period,
    markov_restart_period,
    restart_period,
    window_length,
)
from driftpeak.theory.variation import estimate_drift, supremum_variation

Parameters = dict[str, float]
SYMBOLS = {"variation": "V_T", "drift": "epsilon", "exponent": "alpha"}
OPTIONS = {"variation": "--variation", "drift": "--drift", "exponent": "--exponent"}


@dataclass(frozen=True)
class Advice:
    """What theory says of one policy in one model of change.

    Attributes:
        policy: its name on the command line.
        measure: what change is measured by; None for a policy that is not made for change.
        parameters: what theory sets them to; empty where it says nothing.
        rate: the growth of regret in symbols, such as "T^0.667 V_T^0.333"; empty likewise.
        order: the same as a number, logarithms and constants left out, or the conditions that fail;
            None if the papers have no such rate. Where V_T is unknown it is taken as 1.
        sublinear: whether the rate grows slower than T while the change stays the same, and is
            below T here.
        remark: why there is no such guarantee, or what it takes beyond what is allowed.
        cost: order of one step: n points, r features, q side queries at a time.
        needs: what must be known beforehand.
        limit: the change (V_T or epsilon) up to which the rate is below T.
        side_queries: how many the horizon takes.
    """

    policy: str
    measure: Measure | None
    cost: str
    needs: tuple[str, ...]
    remark: str = ""
    parameters: Parameters = field(default_factory=dict)
    rate: str = ""
    order: Bound | None = None
    sublinear: bool = False
    limit: float = 0.0
    side_queries: int = 0


@dataclass(frozen=True)
class Plan:
    """Advice on every policy, what no policy can beat, and a recommendation with its reason.

    Attributes:
        setting: the problem.
        allowed: how many side queries may be made.
        policies: the advice; a policy analysed in two models of change comes twice.
        lower: the lower bounds, by what change is measured by.
        recommended: the name of a policy.
        reason: why, in words.
    """

    setting: Setting
    allowed: int
    policies: tuple[Advice, ...]
    lower: dict[Measure, Bound]
    recommended: str
    reason: str


@dataclass(frozen=True)
class _Model:
    """A policy in one model of change."""

    policy: str
    measure: Measure
    cost: str
    needs: tuple[str, ...]  # beside what change is measured by
    parameters: Callable[[Setting], Parameters] = lambda setting: {}
    side_queries: Callable[[Setting], int] = lambda setting: 0


def _known(s: Setting) -> dict[str, float | int | None]:
    return {"horizon": s.horizon, "dimension": s.dimension, "variation": s.variation}


def _elimination(s: Setting) -> Parameters:
    return {"period": elimination_period(s.kernel, **_known(s))}  # type: ignore[arg-type]


def _markov_restart(s: Setting) -> Parameters:
    period = markov_restart_period(
        s.kernel, drift=s.measured("drift"), horizon=s.horizon, dimension=s.dimension
    )
    return {"period": period}


def _w_sparq_queries(s: Setting) -> int:
    return w_sparq_queries(
        s.horizon, dimension=s.dimension, exponent=s.measured("exponent"), a=s.window
    )


FILTER, REWEIGHTING, DESIGN = "nr + r²", "nr² + r³", "nr + r² an iteration"
FEW = 30  # correlation times below which the data say too little of their own mean and covariance
MODELS = (
    _Model("r-gp-ucb", "drift", FILTER, ("T",), _markov_restart),
    _Model("tv-gp-ucb", "drift", FILTER, (), lambda s: {"drift": s.measured("drift")}),
    _Model("r-gp-ucb", "variation", FILTER, ("T",),
           lambda s: {"period": restart_period(s.kernel, **_known(s))}),  # type: ignore[arg-type]
    _Model("sw-gp-ucb", "variation", FILTER, ("T",),
           lambda s: {"window": window_length(s.kernel, **_known(s))}),  # type: ignore[arg-type]
    _Model("w-gp-ucb", "variation", REWEIGHTING, ("T",),
           lambda s: {"discount": discount_factor(s.kernel, **_known(s))}),  # type: ignore[arg-type]
    _Model("r-perp", "variation", "nr", ("T",), _elimination),
    _Model("opkb", "variation", DESIGN, ("T",), _elimination),
    _Model("ada-opkb", "variation", DESIGN, ("T",)),
    _Model("ui-gp-ucb", "exponent", REWEIGHTING, (),
           lambda s: {"exponent": s.measured("exponent")}),
    _Model("sparq", "exponent", "nq² + q³", ("an expert",),
           side_queries=lambda s: sparq_queries(s.horizon, dimension=s.dimension)),
    _Model("w-sparq", "exponent", REWEIGHTING, ("an expert",),
           lambda s: {"exponent": s.measured("exponent"), "a": s.window}, _w_sparq_queries),
)  # fmt: skip


def plan(setting: Setting, *, side_queries: int = 0) -> Plan:
    """What the theorems say of every policy in `setting`, and a recommendation.

    The recommendation comes from the first model of change that is given and has a guarantee here:
    M25's exponent (with the side queries that are allowed), B16's drift (where no policy's regret
    is sublinear), a known variation; if none is, an unknown variation. Within a model it is the
    lowest rate, logarithms and constants left out, whose conditions hold.

    Arguments:
        side_queries: how many may be made in all.

    Raises:
        DriftpeakError: side_queries below 0.
    """
    allowed = at_least_integer("side_queries", side_queries, 0)
    static = Advice("gp-ucb", None, FILTER, (), "no guarantee under change")
    policies = (static, *(_advise(model, setting, allowed) for model in MODELS))
    lower: dict[Measure, Bound] = {}
    for measure in MEASURES:
        if getattr(setting, measure) is not None:
            found = applicable("any", setting, measure)
            assert found is not None  # every measure has its lower bounds
            lower[measure] = found[1]
    recommended, reason = _recommend(setting, allowed, policies, lower)
    return Plan(setting, allowed, policies, lower, recommended, reason)


def fill_in(
    values: Any, horizon: int | None, variation: float | None, drift: float | None
) -> tuple[int, float, float, tuple[str, ...]]:
    """Horizon, variation and drift, each estimated from recorded data where it is None.

    The horizon becomes the number of rows; the variation their supremum variation in units of the
    arms' average deviation, since theory has k(x, x) <= 1, in proportion to the horizon; the drift
    B16's, per row (`estimate_drift`).

    Arguments:
        values: shape `(steps, arms)`.

    Returns:
        All three, and what was estimated, in words.

    Raises:
        DriftpeakError: as `estimate_drift`.
    """
    table = finite_array("values", values, 2)
    notes = []
    if horizon is None:
        horizon = len(table)
        notes.append(f"Horizon {horizon:,}: the rows of the data.")
    if drift is None:
        estimate = estimate_drift(table)
        drift = estimate.drift
        notes.append(
            f"Drift {drift:.3g} per row: marginal likelihood; {estimate.low:.3g} to "
            f"{estimate.high:.3g} if the arms' covariance is right."
        )
        if drift * len(table) < FEW:
            notes.append(
                f"So slow a drift is likely overestimated from {len(table):,} rows: they hardly "
                "show the arms' mean and covariance."
            )
    if variation is None:
        deviation = float(np.sqrt(table.var(axis=0).mean()))
        steps = max(len(table) - 1, 1)
        per_row = supremum_variation(table) / deviation / steps if deviation > 0 else 0.0
        variation = per_row * (horizon - 1)
        notes.append(
            f"Variation {variation:.4g}: {per_row:.3g} standard deviations of the data per row; "
            "noise in the data counts as variation."
        )
    return horizon, variation, drift, tuple(notes)


def _advise(model: _Model, setting: Setting, allowed: int) -> Advice:
    symbol = SYMBOLS[model.measure]
    found = applicable(model.policy, setting, model.measure)
    if found is None:
        remark = f"needs {symbol} ({OPTIONS[model.measure]})"
        return Advice(model.policy, model.measure, model.cost, (*model.needs, symbol), remark)
    row, order = found
    needs = (*model.needs, symbol) if row.known else model.needs
    if order.value is None:
        remark = "fails: " + "; ".join(map(str, order.failed))
        return Advice(model.policy, model.measure, model.cost, needs, remark, order=order)
    queries, growth, limit = model.side_queries(setting), row.growth(setting), row.limit(setting)
    below = order.value < setting.horizon
    if growth >= 1:
        remark = "not below T" if growth > 1 else "linear in T"
    elif not below:
        remark = "not below T here" + (
            f", only while {symbol} < {limit:,.4g}" if math.isfinite(limit) else ""
        )
    elif queries:
        remark = f"takes {queries:,} side queries"
        remark += f", {allowed:,} allowed" if queries > allowed else ""
    elif setting.variation is None and math.isfinite(limit):
        remark = f"while {symbol} < {limit:,.4g}"
    else:
        remark = ""
    # for a variation beyond the guarantee there is nothing to set: the discount, say, is below 0
    empty = model.measure == "variation" and not below
    return Advice(
        policy=model.policy,
        measure=model.measure,
        cost=model.cost,
        needs=needs,
        remark=remark,
        parameters={} if empty else model.parameters(setting),
        rate=row.written(setting),
        order=order,
        sublinear=growth < 1 and below,
        limit=limit,
        side_queries=queries,
    )


def _recommend(
    setting: Setting, allowed: int, policies: tuple[Advice, ...], lower: dict[Measure, Bound]
) -> tuple[str, str]:
    """A policy and the reason to take it."""
    if setting.variation == 0 or setting.drift == 0:
        return "gp-ucb", "The function does not change: there is nothing to forget."
    useful = [p for p in policies if p.sublinear and p.side_queries <= allowed]
    injected = [p for p in useful if p.measure == "exponent"]
    budgeted = [p for p in useful if p.measure == "variation"]
    if injected:
        best = min(injected, key=_size)
        return best.policy, _why_injected(setting, best)
    hopeless = "" if setting.exponent is None else _why_hopeless(setting, allowed, policies)
    markov = next(p for p in policies if p.policy == "tv-gp-ucb")
    if markov.rate:
        return "tv-gp-ucb", hopeless + (
            "Under Markov drift the regret of every policy is linear in T (B16 Theorem 4.1); that "
            f"of TV-GP-UCB, {markov.rate}, falls fastest with the drift: it is the exact Bayesian "
            "filter."
        )
    if setting.variation is not None and budgeted:
        best = min(budgeted, key=_size)
        return best.policy, hopeless + _why_budgeted(best, budgeted, lower["variation"])
    if setting.drift is not None:
        return "tv-gp-ucb", hopeless + (
            "TV-GP-UCB is made for Markov drift, though without a guarantee here "
            f"({markov.remark})."
        )
    if setting.exponent is not None:
        return "ui-gp-ucb", hopeless + (
            "UI-GP-UCB at least weighs observations by their age: replay it on data of yours."
        )
    if budgeted:
        best = max(budgeted, key=lambda advice: advice.limit)
        return best.policy, _why_unknown(best, budgeted)
    return "tv-gp-ucb", (
        "No theorem promises sublinear regret here (the remarks say why). TV-GP-UCB fades the past "
        "smoothly and needs one number, which data give: replay it on data of yours."
    )


def _size(advice: Advice) -> float:
    return math.inf if advice.order is None else advice.order.number


def _why_injected(setting: Setting, best: Advice) -> str:
    alpha = setting.exponent
    if best.side_queries:
        change = "Whatever alpha is" if alpha is None else f"At alpha = {alpha:g}"
        return (
            f"{change}, the {best.side_queries:,} side queries of {best.policy}, which are "
            f"allowed, bring regret down to {best.rate}, the lowest of what they can pay for."
        )
    return (
        f"At alpha = {alpha:g} ({regime(setting.measured('exponent'))} change) GP-UCB with noise "
        f"that grows with age has regret {best.rate} without any side query."
    )


def _why_hopeless(setting: Setting, allowed: int, policies: tuple[Advice, ...]) -> str:
    alpha = setting.measured("exponent")
    asked = [p for p in policies if p.measure == "exponent" and p.sublinear and p.side_queries]
    text = f"At alpha = {alpha:g} ({regime(alpha)} change) nothing that is allowed has a guarantee"
    if not math.isinf(setting.nu):
        return text + ": M25 proves its own for the SE kernel. "
    if asked:
        cheapest = min(asked, key=lambda p: p.side_queries)
        text += f": {cheapest.policy} takes {cheapest.side_queries:,} side queries"
    needed = side_queries_needed(setting.horizon, exponent=alpha).value
    if needed is not None and allowed <= needed:
        text += (
            f", and with no more than about {needed:,.0f} the regret of every policy is linear "
            "(M25 Theorem 5.3)"
        )
    return text + ". "


def _why_budgeted(best: Advice, budgeted: list[Advice], lower: Bound) -> str:
    text = f"With V_T known, its regret {best.rate} grows slowest of those guaranteed here"
    equals = [p for p in budgeted if p is not best and p.rate == best.rate]
    if equals:
        shown = (p.policy + ("" if "V_T" in p.needs else " without knowing V_T") for p in equals)
        text += f"; so does, at another cost per step, that of {', '.join(shown)}"
    if best.policy == "r-perp":
        if lower.value is not None:
            text += ". No policy has a lower power of T (IT25 Theorem 1)"
        text += (
            ". Its widths are wide, though: in IT25's own experiment of 5,000 steps R-GP-UCB and "
            "SW-GP-UCB had less regret"
        )
    return text + "."


def _why_unknown(best: Advice, budgeted: list[Advice]) -> str:
    text = (
        f"Nothing is known of the change, and {best.policy} does not have to know: its regret "
        f"{best.rate} stays below T up to V_T = {best.limit:,.4g}"
    )
    others = [p for p in budgeted if p is not best]
    if others:
        next_best = max(others, key=lambda advice: advice.limit)
        text += f", that of {next_best.policy} up to {next_best.limit:,.3g} only"
    return text + "."
