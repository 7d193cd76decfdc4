"""Variants of TV-GP-UCB in every case of the tournament: acquisition functions, random features.

Each variant has the tournament's settings, and the best of them is chosen in hindsight:

- "ucb": the upper bound with features by pivoted Cholesky, 7 drifts and two widths;
- "influence": the influence bonus with the same settings;
- "thompson": a posterior draw instead of the bound, 7 settings without a width, which is a
  disadvantage in the choice;
- "random features": the bound with 50 random Fourier frequencies instead of the exact features, for
  kernels with a spectral density. DRF-GP with forgetting back to the prior computes the same
  (Rahimi and Recht 2007).

There are 20 trials in each environment, and 5 first points on each recording. Figures are regrets
relative to "ucb", with 95 % bootstrap intervals over trials (environments) or blocks of about
sqrt(T) steps (recordings). The best settings are chosen again in each resample. Recordings without
data are skipped.
"""

from typing import Any

import driftpeak as dp
from benchmarks._cases import ratios
from driftpeak._core.errors import DriftpeakError
from driftpeak.experiments.experiment import Setup
from driftpeak.experiments.tournament.players import PUBLISHED
from driftpeak.gp.features import random_fourier
from driftpeak.policies.belief_policy import BeliefPolicy
from driftpeak.policies.catalogue import WIDE

FREQUENCIES = 50


def run() -> dict[str, Any]:
    """Return ratios by case and their means."""
    return ratios(variants, "ucb")


def variants(setup: Setup) -> dict[str, Any]:
    """Return the settings of each variant by name."""
    (family,) = (family for family in PUBLISHED.families if family.name == "TV-GP-UCB")
    settings: dict[str, Any] = {name: setup.policies[name] for name in family.settings}
    drawn = {
        name: one for name, one in settings.items() if _bare(one).width == WIDE
    }  # a draw has no width: each drift once
    made = {
        "ucb": settings,
        "influence": _changed(settings, acquisition="influence"),
        "thompson": _changed(drawn, acquisition="thompson"),
    }
    prior = _bare(next(iter(settings.values()))).prior
    try:
        features = random_fourier(prior.kernel, prior.domain, count=FREQUENCIES)
    except DriftpeakError:  # a table, or a kernel without a spectral density
        return made
    return made | {"random features": _changed(settings, features=features)}


def _bare(policy: Any) -> BeliefPolicy:
    return policy.policy if isinstance(policy, dp.RandomStart) else policy


def _changed(settings: dict[str, Any], **options: Any) -> dict[str, Any]:
    changed = {}
    for name, policy in settings.items():
        own = _bare(policy)
        made = BeliefPolicy(own.prior, own.forgetting, **({"width": own.width} | options))
        changed[name] = dp.RandomStart(made) if isinstance(policy, dp.RandomStart) else made
    return changed
