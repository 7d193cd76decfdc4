"""Estimation of omitted policy parameters from recorded rewards (`replay --fit`).

The prior's covariance comes from the same rows and contains their noise. Its likelihood would
therefore underestimate the noise and overestimate the drift.
`driftpeak.theory.variation.estimate_drift` estimates noise, covariance and drift jointly instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from driftpeak._core.types import Matrix
from driftpeak.gp.priors import Prior
from driftpeak.inference.fitting import cross_validate
from driftpeak.offline._policy_specs.policies import memory_parameter
from driftpeak.theory.variation import estimate_drift

LEAST_NOISE = 1e-3
"""Minimum noise variance as a fraction of the arms' variance: with less, a covariance from a few
rows would count as exact."""


@dataclass(frozen=True)
class Finding:
    """An estimate, and a description of its method and uncertainty."""

    value: float
    how: str


def tune(
    policies: Sequence[str],
    history: Matrix,
    make_prior: Callable[[Matrix, float | None], Prior],
    noise_variance: float | None = None,
) -> dict[str, Finding]:
    """Estimate noise variance and drift by restricted likelihood, other memory by cross-validation.

    Arguments:
        policies: as for `driftpeak.offline._policy_specs.policies.make_policies`; their omitted
            parameters are estimated.
        history: rewards, shape `(steps, arms)`.
        make_prior: returns the prior from rows and a noise variance (None: its default).
        noise_variance: estimated if it is None.

    Raises:
        DriftpeakError: as `estimate_drift` and `driftpeak.cross_validate`.
    """
    findings = {}
    wanted = [name for name in dict.fromkeys(map(_open, policies)) if name]
    if "drift" in wanted or noise_variance is None:
        estimate = estimate_drift(history, noise_variance=noise_variance)
        by = "restricted likelihood of a Markov drift"
        if noise_variance is None:
            least = LEAST_NOISE * float(history.var(axis=0).mean())
            noise_variance = max(estimate.noise_variance, least)
            how = f"by {by}"
            if noise_variance == least:
                how += f", raised to the minimum, {LEAST_NOISE:.1%} of the arms' variance"
            findings["noise_variance"] = Finding(noise_variance, how)
        if "drift" in wanted:
            findings["drift"] = Finding(estimate.cautious, f"by {by}, {estimate}")
    for name in wanted:
        if name != "drift":
            choice = cross_validate(history, name, lambda rows: make_prior(rows, noise_variance))
            tried = list(choice.scores)
            how = (
                f"by cross-validation, the best of {len(tried)} from {tried[0]:g} to {tried[-1]:g}"
            )
            at_end = choice.value in (tried[0], tried[-1])
            findings[name] = Finding(choice.value, how + " (at the end of the range)" * at_end)
    return findings


def complete(policies: Sequence[str], estimates: dict[str, Finding]) -> list[str]:
    """Return the descriptions of the policies with the estimates of omitted parameters."""
    texts = []
    for text in policies:
        name = _open(text)
        if name is not None:
            value = estimates[name].value
            written = str(int(value)) if name in ("window", "period") else f"{value:.6g}"
            text += f"{',' if ':' in text else ':'}{name}={written}"
        texts.append(text)
    return texts


def _open(text: str) -> str | None:
    """Return the memory parameter that a policy's description omits; None if there is none."""
    policy, _, given = text.partition(":")
    parameter = memory_parameter(policy)
    keys = [pair.partition("=")[0] for pair in given.split(",")]
    return None if parameter in keys else parameter
