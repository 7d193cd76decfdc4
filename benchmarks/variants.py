"""Variants of TV-GP-UCB in every case of the tournament: how to choose, and random features.

With the tournament's settings, the best in hindsight of each variant: the upper bound with pivoted
Cholesky's features ("ucb": 7 drifts, two widths); "influence", the same settings; "thompson", a
draw in place of the bound, so 7 settings and no width (which favours the bound); "random features",
the bound with 50 random Fourier frequencies in place of the exact features, which is what DRF-GP
with forgetting back to the prior computes (Rahimi and Recht 2007), where the kernel has a spectral
density. 20 trials in each world, 5 first points on each recording. Figures: regret as a multiple of
that of "ucb", 95 % bootstrap intervals over trials (worlds) or blocks of about sqrt(T) steps
(recordings), the best settings chosen anew in each draw. Recordings whose data are not there are
left out.
"""

from typing import Any

import driftpeak as dp
from benchmarks._cases import ratios
from driftpeak._core.errors import DriftpeakError
from driftpeak.experiments.experiment import Setup
from driftpeak.experiments.tournament.players import FAMILIES, WIDE
from driftpeak.gp.features import random_fourier
from driftpeak.policies.belief_policy import BeliefPolicy

FREQUENCIES = 50


def run() -> dict[str, Any]:
    """Ratios by case, and in the mean."""
    return ratios(variants, "ucb")


def variants(setup: Setup) -> dict[str, Any]:
    """The settings of each variant by name."""
    (family,) = (one for one in FAMILIES if one.name == "TV-GP-UCB")
    settings: dict[str, Any] = {name: setup.policies[name] for name in family.settings}
    drawn = {
        name: one for name, one in settings.items() if _bare(one).width == WIDE
    }  # a draw knows no width: each drift once
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
