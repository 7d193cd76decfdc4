"""Rewards as a client gets them, with what had been foretold of them."""

from typing import Any

import numpy as np

from driftpeak.live.model.likelihoods import KINDS, Rates
from driftpeak.live.study.suggestion import Observation
from driftpeak.live.views.diagnostics import Calibration

NORMAL = 1.959964  # of a 95 % interval


def likelihood_of(description: dict[str, Any]) -> str:
    """What the rewards of a study are, as its description says."""
    policy = description["policy"]
    arguments = policy.get("drifting-gp") if isinstance(policy, dict) else None
    return str((arguments or {}).get("likelihood", "gaussian"))


def kind_of(description: dict[str, Any]) -> type[Rates] | None:
    """The law of rewards that are 0 and 1, or counts; None for others."""
    return KINDS.get(likelihood_of(description))


def rewards_to_data(
    rewards: list[tuple[int, Observation]], kind: type[Rates] | None
) -> list[dict[str, Any]]:
    """Rewards with their numbers."""
    return [
        {
            "number": number,
            "id": one.id,
            "time": one.time,
            "parameters": one.parameters,
            "reward": one.reward,
            "expected": expected,
            "noise": one.noise,
            "trials": one.trials,
            "context": one.context,
            "constraints": one.constraints,
            "chances": one.chances,
            "used": one.used,
        }
        for (number, one), expected in zip(rewards, _foretold(rewards, kind), strict=True)
    ]


def calibration_to_data(found: Calibration) -> dict[str, Any]:
    """Without the single errors."""
    coverage = {f"{level:g}": share for level, share in found.coverage.items()}
    return {
        "count": found.count,
        "log_likelihood": found.log_likelihood,
        "coverage": coverage,
    }


def _foretold(
    rewards: list[tuple[int, Observation]], kind: type[Rates] | None
) -> list[dict[str, float] | None]:
    """Mean, deviation and band of each, where they had been foretold."""
    nothing = (np.nan, np.nan)
    mean, deviation = np.array([one.expected or nothing for _, one in rewards]).reshape(-1, 2).T
    if kind is None:
        low, high = mean - NORMAL * deviation, mean + NORMAL * deviation
    else:
        trials = np.array([one.trials or 1 for _, one in rewards])
        low, high = (end / trials for end in kind.law(mean, deviation, trials).interval(0.95))
    each = np.array([mean, deviation, low, high]).T.tolist()
    names = ("mean", "deviation", "low", "high")
    return [
        None if one.expected is None else dict(zip(names, values, strict=True))
        for (_, one), values in zip(rewards, each, strict=True)
    ]
