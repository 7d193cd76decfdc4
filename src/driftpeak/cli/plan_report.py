"""A plan as plain data and as a table."""

import dataclasses
import math

from rich.table import Table

from driftpeak._core.files import json_number
from driftpeak.cli.printing import console
from driftpeak.theory.bound import Bound
from driftpeak.theory.measured import HORIZON, SOURCE
from driftpeak.theory.planner import Advice, Plan


def summary(plan: Plan) -> dict[str, object]:
    """Return the plan as data for JSON; missing and infinite values are None."""
    setting = plan.setting
    return {
        "settings": {
            "kernel": setting.family.lower(),
            "nu": json_number(setting.nu),
            "dimension": setting.dimension,
            "horizon": setting.horizon,
            "variation": setting.variation,
            "rkhs_variation": setting.rkhs_variation,
            "drift": setting.drift,
            "exponent": setting.exponent,
            "side_queries": plan.allowed,
        },
        "policies": [_row(advice) for advice in plan.policies],
        "lower_bounds": {measure: _bound(bound) for measure, bound in plan.lower.items()},
        "lower_bound_with_side_queries": (
            None if plan.lower_with_side_queries is None else _bound(plan.lower_with_side_queries)
        ),
        "recommended": plan.recommended,
        "reason": plan.reason,
    }


def print_plan(plan: Plan) -> None:
    """Print the table, the lower bounds and the recommendation."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", overflow="fold")
    table.add_column("parameters", no_wrap=True)
    table.add_column("regret grows as", overflow="fold")
    caveats = list(dict.fromkeys(advice.caveat for advice in plan.policies if advice.caveat))
    for name in ("below\nT", "needs"):
        table.add_column(name, overflow="fold")
    table.add_column("played", justify="right", no_wrap=True)
    for advice in plan.policies:
        rate = advice.rate + (f" [{caveats.index(advice.caveat) + 1}]" if advice.caveat else "")
        table.add_row(
            advice.policy,
            "\n".join(f"{name}={shown(value)}" for name, value in advice.parameters.items()),
            ", ".join(filter(None, (rate, advice.remark))),
            "yes" if advice.sublinear else "no",
            ", ".join(advice.needs) or "nothing",
            "" if advice.measured is None else f"{advice.measured.share:.2f}",
        )
    out = console()
    out.print(table)
    for number, caveat in enumerate(caveats, 1):
        out.print(f"[{number}] {caveat}", markup=False)
    if caveats:
        out.print('The numbered caveats are derived on the page "Where the papers need care".')
    out.print(
        "Growth: without constants and logarithms. Below T: with the logarithms that the papers "
        "state, and constants 1. Played: regret relative to random choice in the tournament, with "
        f"the parameters of the theory and T = {HORIZON} ({SOURCE})."
    )
    for measure, bound in plan.lower.items():
        if bound.value is not None:
            out.print(
                f"Lower bound for this {measure}: regret of order {bound.value:,.4g} for every "
                f"policy without side queries ({bound.source})."
            )
    asking = plan.lower_with_side_queries
    if asking is not None and asking.value is not None:
        out.print(
            f"Lower bound with side queries: regret of order {asking.value:,.4g} ({asking.source})."
        )
    recommended = "no learning policy" if plan.recommended is None else plan.recommended
    out.print(f"[bold]Recommended: {recommended}.[/bold] {plan.reason}")


def _row(advice: Advice) -> dict[str, object]:
    return {
        "policy": advice.policy,
        "measure": advice.measure,
        "parameters": advice.parameters,
        "rate": advice.rate or None,
        **(_bound(advice.order) if advice.order else {"order": None, "source": None, "failed": []}),
        "sublinear": advice.sublinear,
        "limit": json_number(advice.limit),
        "remark": advice.remark,
        "caveat": advice.caveat or None,
        "cost": advice.cost,
        "needs": list(advice.needs),
        "side_queries": json_number(advice.side_queries),
        "with_logarithms": None
        if advice.with_logarithms is None
        else json_number(advice.with_logarithms),
        "played": None if advice.measured is None else dataclasses.asdict(advice.measured),
    }


def _bound(bound: Bound) -> dict[str, object]:
    failed = [str(condition) for condition in bound.failed]
    order = None if bound.value is None else json_number(bound.value)
    return {"order": order, "source": bound.source, "failed": failed}


def shown(value: float) -> str:
    """Return a number as text for an option: four significant digits, of 1 - value near 1."""
    if isinstance(value, int):
        return str(value)
    if 0.99 < value < 1:
        return f"{value:.{min(3 - math.floor(math.log10(1 - value)), 17)}f}"
    return f"{value:.4g}"
