"""Conversion of rewards and their forecasts to data for clients."""

from typing import Any

import numpy as np

from driftpeak.live._model.likelihoods import KINDS, Rates
from driftpeak.live._study.suggestion import Observation

NORMAL = 1.959964  # half-width of a 95 % interval in standard deviations


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
    return [
        vars(observation) | {"number": number, "time": observation.time, "expected": expected}
        for (number, observation), expected in zip(rewards, _forecasts(rewards, kind), strict=True)
    ]


def _forecasts(
    rewards: list[tuple[int, Observation]], kind: type[Rates] | None
) -> list[dict[str, float] | None]:
    """Return mean, standard deviation and 95 % interval of each forecast; None without one."""
    observations = [observation for _, observation in rewards]
    nothing = (np.nan, np.nan)
    expected = [observation.expected or nothing for observation in observations]
    mean, deviation = np.array(expected).reshape(-1, 2).T
    if kind is None:
        low, high = mean - NORMAL * deviation, mean + NORMAL * deviation
    else:
        trials = np.array([observation.trials or 1 for observation in observations])
        low, high = (end / trials for end in kind.law(mean, deviation, trials).interval(0.95))
    each = np.array([mean, deviation, low, high]).T.tolist()
    names = ("mean", "deviation", "low", "high")
    return [
        None if observation.expected is None else dict(zip(names, values, strict=True))
        for observation, values in zip(observations, each, strict=True)
    ]
