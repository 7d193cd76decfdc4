"""Planning before the first step: guarantees, measured regret and a recommended policy."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import at_least, at_least_integer, finite_array, unit_interval
from driftpeak.theory.bound import Bound
from driftpeak.theory.measured import Measured, measured
from driftpeak.theory.rates import WITH_SIDE_QUERIES, applicable
from driftpeak.theory.regimes import sparq_queries, w_sparq_queries
from driftpeak.theory.schedules import (
    discount_factor,
    elimination_period,
    markov_restart_period,
    restart_period,
    window_length,
)
from driftpeak.theory.setting import MEASURES, Measure, Setting
from driftpeak.theory.variation import estimate_drift, supremum_variation

Parameters = dict[str, float]
SYMBOLS = {
    "variation": "V_T", "rkhs_variation": "P_T", "drift": "epsilon", "exponent": "alpha",
}  # fmt: skip


@dataclass(frozen=True)
class Advice:
    """Guarantees and measurements of one policy in one model of change.

    Attributes:
        policy: name on the command line.
        measure: measure of the change; None for a policy that does not model change.
        parameters: values from theory; empty if theory gives none.
        rate: growth of regret in symbols, such as "T^0.667 V_T^0.333"; empty if there is no rate.
        order: the rate as a number without logarithms and constants, or the conditions that fail;
            None if the papers have no such rate. An unknown variation is taken as 1.
        with_logarithms: the number with the powers of log T that the papers state.
        sublinear: whether the rate grows slower than T at constant change and, logarithms included,
            is below T here.
        remark: reason why there is no such guarantee, or side queries beyond the allowed number.
        caveat: what the proof of the rate needs besides the theorem's conditions; else "".
        cost: order of one step: n points, r features, q side queries at a time.
        needs: quantities that must be known in advance.
        limit: largest change at which the rate is below T, logarithms included.
        side_queries: number of side queries over the horizon.
        measured: regret in the tournament; None if the policy did not take part.
    """

    policy: str
    measure: Measure | None
    cost: str
    needs: tuple[str, ...]
    remark: str = ""
    caveat: str = ""
    parameters: Parameters = field(default_factory=dict)
    rate: str = ""
    order: Bound | None = None
    with_logarithms: float | None = None
    sublinear: bool = False
    limit: float = 0.0
    side_queries: float = 0
    measured: Measured | None = None


@dataclass(frozen=True)
class Plan:
    """Advice on every policy, lower bounds, and a recommendation with its reason.

    Attributes:
        setting: the problem.
        allowed: number of side queries that are allowed.
        policies: the advice; a policy analysed in two models of change has two entries.
        lower: the lower bounds for policies without side queries, by measure of the change.
        lower_with_side_queries: the lower bound for policies with side queries; None if none are
            allowed or the exponent is not given.
        recommended: name of a policy; None if nothing can be learned.
        reason: the reason in words.
    """

    setting: Setting
    allowed: int
    policies: tuple[Advice, ...]
    lower: dict[Measure, Bound]
    recommended: str | None
    reason: str
    lower_with_side_queries: Bound | None = None


@dataclass(frozen=True)
class _Model:
    """A policy in one model of change."""

    policy: str
    measure: Measure
    cost: str
    needs: tuple[str, ...]  # in addition to the measure of the change
    parameters: Callable[[Setting], Parameters] = lambda setting: {}
    side_queries: Callable[[Setting], float] = lambda setting: 0


def _known(s: Setting, measure: Measure) -> dict[str, Any]:
    return {"horizon": s.horizon, "dimension": s.dimension, "variation": s.known(measure)}


def _elimination(s: Setting) -> Parameters:
    return {"period": elimination_period(s.kernel, **_known(s, "variation"))}


def _restarts_if_known(s: Setting) -> Parameters:
    """Return no period if V_T is unknown: the rate is then the rate without restarts."""
    return {} if s.known("variation") is None else _elimination(s)


def _markov_restart(s: Setting) -> Parameters:
    period = markov_restart_period(
        s.kernel, drift=s.measured("drift"), horizon=s.horizon, dimension=s.dimension
    )
    return {"period": period}


def _discount(s: Setting) -> Parameters:
    """Return no parameter if the discount rounds to 1: then nothing is forgotten."""
    discount = discount_factor(s.kernel, **_known(s, "rkhs_variation"))
    return {"discount": discount} if discount < 1 else {}


def _w_sparq_queries(s: Setting) -> float:
    return w_sparq_queries(
        s.horizon, dimension=s.dimension, exponent=s.measured("exponent"), a=s.window
    )


FILTER, REWEIGHTING, DESIGN = "nr + r²", "nr² + r³", "nr + r² an iteration"
MODELS = (
    _Model("r-gp-ucb", "drift", FILTER, ("T",), _markov_restart),
    _Model("tv-gp-ucb", "drift", FILTER, (), lambda s: {"drift": s.measured("drift")}),
    _Model("r-gp-ucb", "rkhs_variation", FILTER, ("T",),
           lambda s: {"period": restart_period(s.kernel, **_known(s, "rkhs_variation"))}),
    _Model("sw-gp-ucb", "rkhs_variation", FILTER, ("T",),
           lambda s: {"window": window_length(s.kernel, **_known(s, "rkhs_variation"))}),
    _Model("w-gp-ucb", "rkhs_variation", REWEIGHTING, ("T",), _discount),
    _Model("r-perp", "variation", "nr", ("T",), _elimination),
    _Model("opkb", "variation", DESIGN, ("T",), _restarts_if_known),
    _Model("ada-opkb", "variation", DESIGN, ("T",)),
    _Model("ui-gp-ucb", "exponent", REWEIGHTING, (),
           lambda s: {"exponent": s.measured("exponent")}),
    _Model("sparq", "exponent", "nq² + q³", ("an expert",),
           side_queries=lambda s: sparq_queries(s.horizon, dimension=s.dimension)),
    _Model("w-sparq", "exponent", REWEIGHTING, ("an expert",),
           lambda s: {"exponent": s.measured("exponent"), "a": s.window}, _w_sparq_queries),
)  # fmt: skip


@checked
def plan(setting: Setting, *, side_queries: int = 0) -> Plan:
    """Return guarantees and measurements of every policy in `setting`, and a recommendation.

    See `driftpeak.theory.recommendation`.

    Arguments:
        setting: the problem.
        side_queries: largest total number of side queries.

    Raises:
        DriftpeakError: side_queries below 0.
    """
    from driftpeak.theory.recommendation import recommend

    allowed = at_least_integer("side_queries", side_queries, 0)
    played = measured()
    policies = (
        Advice("auto", None, "20 filters", (), "no theorem", measured=played["auto"]),
        Advice("gp-ucb", None, FILTER, (), "no guarantee under change", measured=played["gp-ucb"]),
        *(_advise(model, setting, allowed, played.get(model.policy)) for model in MODELS),
    )
    lower: dict[Measure, Bound] = {}
    for measure in MEASURES:
        if getattr(setting, measure) is not None:
            match = applicable("any", setting, measure)
            assert match is not None  # every measure has its lower bounds
            lower[measure] = match[1]
    asking = None
    if allowed and setting.exponent is not None:
        match = applicable(WITH_SIDE_QUERIES, setting, "exponent")
        asking = None if match is None else match[1]
    recommended, reason = recommend(setting, allowed, policies, lower)
    return Plan(setting, allowed, policies, lower, recommended, reason, asking)


@checked
def fill_in(
    values: Any, horizon: int | None, variation: float | None, drift: float | None
) -> tuple[int, float, float, tuple[str, ...]]:
    """Estimate horizon, variation and drift from recorded data where they are None.

    The horizon is the number of rows. The variation is the supremum variation of the rows, in
    proportion to the horizon. Its unit is the arms' average standard deviation, since theory
    assumes k(x, x) <= 1. The drift is B16's, per row (`estimate_drift`); if its interval has no
    lower limit, its upper end.

    Arguments:
        values: shape `(steps, arms)`.

    Returns:
        Horizon, variation and drift, and notes about the estimates.

    Raises:
        DriftpeakError: as for `estimate_drift`.
    """
    table = finite_array("values", values, 2)
    notes = []
    if horizon is not None:
        horizon = at_least_integer("horizon", horizon, 1)
    if variation is not None:
        variation = at_least("variation", variation, 0)
    if drift is not None:
        drift = unit_interval("drift", drift)
    if horizon is None:
        horizon = len(table)
        notes.append(f"Horizon {horizon:,}: the number of rows of the data.")
    if drift is None:
        estimate = estimate_drift(table)
        drift = estimate.cautious
        share = estimate.noise_variance / float(table.var(axis=0).mean())
        notes.append(
            f"Drift: {estimate}; noise makes up {share:.0%} of the variance (restricted "
            "likelihood of a Markov drift; covariance, noise and drift fitted together)."
        )
        if drift != estimate.drift:
            notes.append(f"The plan uses the upper end of the interval, {drift:.3g}.")
    if variation is None:
        deviation = float(np.sqrt(table.var(axis=0).mean()))
        steps = max(len(table) - 1, 1)
        per_row = supremum_variation(table) / deviation / steps if deviation > 0 else 0.0
        variation = per_row * (horizon - 1)
        notes.append(
            f"Variation V_T {variation:.4g}: {per_row:.3g} standard deviations of the data per "
            "row; noise in the data counts as variation."
        )
    return horizon, variation, drift, tuple(notes)


def _advise(model: _Model, setting: Setting, allowed: int, played: Measured | None) -> Advice:
    symbol = SYMBOLS[model.measure]
    match = applicable(model.policy, setting, model.measure)
    if match is None:
        remark = f"needs {symbol}"
        needs = (*model.needs, symbol)
        return Advice(model.policy, model.measure, model.cost, needs, remark, measured=played)
    row, order = match
    needs = (*model.needs, symbol) if row.known else model.needs
    if order.value is None:
        remark = "fails: " + "; ".join(map(str, order.failed))
        return Advice(
            model.policy, model.measure, model.cost, needs, remark, order=order, measured=played
        )
    queries, growth, limit = model.side_queries(setting), row.growth(setting), row.limit(setting)
    whole = row.with_logarithms(setting)
    below = whole < setting.horizon
    given = setting.known(model.measure)
    if growth > 1:
        remark = "not below T"
    elif growth == 1:
        ending = row.in_the_end(setting)
        remark = "linear in T" + ("" if ending == row.written(setting) else f" later: {ending}")
    elif not below:
        remark = "not below T here" + _up_to(symbol, limit, given)
    elif queries:
        remark = f"takes {counted(queries)} side queries"
        remark += f", {allowed:,} allowed" if queries > allowed else ""
    elif given is None and math.isfinite(limit):
        remark = f"while {symbol} < {limit:,.4g}"
    else:
        remark = ""
    if given is None and model.measure == "rkhs_variation" and setting.variation is not None:
        remark += ("; " if remark else "") + "V_T does not bound P_T"
    # beyond the guarantee there are no parameters: the discount, for example, would be negative
    beyond = model.measure.endswith("variation") and order.value >= setting.horizon
    return Advice(
        policy=model.policy,
        measure=model.measure,
        cost=model.cost,
        needs=needs,
        remark=remark,
        caveat=row.caveat,
        parameters={} if beyond else model.parameters(setting),
        rate=row.written(setting),
        order=order,
        with_logarithms=whole,
        sublinear=growth < 1 and below,
        limit=limit,
        side_queries=queries,
        measured=played,
    )


def _up_to(symbol: str, limit: float, given: float | None) -> str:
    """Return the limit below which the rate is below T, if the change is what exceeds it."""
    change = 1.0 if given is None else given
    return f", only while {symbol} < {limit:,.4g}" if 0 < limit < change else ""


def counted(number: float) -> str:
    """Return a count with thousands separators."""
    return f"{number:,.0f}" if number < 1e15 else "more than 10^15"
