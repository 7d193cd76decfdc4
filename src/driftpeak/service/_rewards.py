"""Conversion of rewards and their forecasts to data for clients."""

from typing import Any

from driftpeak.live._model.likelihoods import KINDS, Rates
from driftpeak.live._study.suggestion import Observation
from driftpeak.live._views.diagnostics import forecasts


def likelihood_of(description: dict[str, Any]) -> str:
    """Return the name of a study's likelihood, from its description."""
    policy = description["policy"]
    arguments = policy.get("drifting-gp") if isinstance(policy, dict) else None
    return str((arguments or {}).get("likelihood", "gaussian"))


def kind_of(description: dict[str, Any]) -> type[Rates] | None:
    """Return the likelihood class of 0/1 rewards or counts; None for Gaussian rewards."""
    return KINDS.get(likelihood_of(description))


def rewards_to_data(
    rewards: list[tuple[int, Observation]], kind: type[Rates] | None
) -> list[dict[str, Any]]:
    """Return numbered rewards as data."""
    rows = []
    each = forecasts([observation for _, observation in rewards], kind).T.tolist()
    for (number, observation), values in zip(rewards, each, strict=True):
        forecast = dict(zip(("mean", "deviation", "low", "high"), values, strict=True))
        expected = None if observation.expected is None else forecast
        row = {"number": number, "time": observation.time, "expected": expected}
        rows.append(vars(observation) | row)
    return rows
