"""A plan as plain data and as a table."""

import math
from typing import Any

from rich.console import Console
from rich.table import Table

from driftpeak.theory.bound import Bound
from driftpeak.theory.planner import Advice, Plan


def summary(plan: Plan) -> dict[str, Any]:
    """The plan as what JSON can hold; what does not exist or is infinite is None."""
    setting = plan.setting
    return {
        "settings": {
            "kernel": "se" if math.isinf(setting.nu) else "matern",
            "nu": _finite(setting.nu),
            "dimension": setting.dimension,
            "horizon": setting.horizon,
            "variation": setting.variation,
            "drift": setting.drift,
            "exponent": setting.exponent,
            "side_queries": plan.allowed,
        },
        "policies": [_row(advice) for advice in plan.policies],
        "lower_bounds": {measure: _bound(bound) for measure, bound in plan.lower.items()},
        "recommended": plan.recommended,
        "reason": plan.reason,
    }


def print_plan(plan: Plan) -> None:
    """Print the table, the lower bounds and the recommendation."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", no_wrap=True)
    table.add_column("parameters", min_width=15)
    for name in ("regret grows as", "below T", "must know", "cost of a step"):
        table.add_column(name)
    for advice in plan.policies:
        grows = f"{advice.rate}, {advice.remark}" if advice.rate else advice.remark
        table.add_row(
            advice.policy,
            ", ".join(f"{name}={_shown(value)}" for name, value in advice.parameters.items()),
            grows if advice.remark else advice.rate,
            "yes" if advice.sublinear else "no",
            ", ".join(advice.needs) or "nothing",
            advice.cost,
        )
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "Constants and logarithms left out. T steps, n points, r features, q side queries a time."
    )
    for measure, bound in plan.lower.items():
        if bound.value is not None:
            console.print(
                f"By the {measure}, no policy does better than order {bound.value:,.4g} "
                f"({bound.source})."
            )
    console.print(f"[bold]Take {plan.recommended}.[/bold] {plan.reason}")


def _row(advice: Advice) -> dict[str, Any]:
    return {
        "policy": advice.policy,
        "measure": advice.measure,
        "parameters": advice.parameters,
        "rate": advice.rate or None,
        **(_bound(advice.order) if advice.order else {"order": None, "source": None, "failed": []}),
        "sublinear": advice.sublinear,
        "limit": _finite(advice.limit),
        "remark": advice.remark,
        "cost": advice.cost,
        "needs": list(advice.needs),
        "side_queries": advice.side_queries,
    }


def _bound(bound: Bound) -> dict[str, Any]:
    failed = [str(condition) for condition in bound.failed]
    return {"order": bound.value, "source": bound.source, "failed": failed}


def _shown(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
