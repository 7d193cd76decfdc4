"""What policies given by name leave open, learned from recorded rewards (`replay --fit`).

The prior's covariance comes from the very rows and contains their noise, so that its likelihood
would say too little noise and too much drift: `driftpeak.theory.variation.estimate_drift` learns
noise, covariance and drift together instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from driftpeak._core.types import Matrix
from driftpeak.gp.priors import Prior
from driftpeak.inference.fitting import cross_validate
from driftpeak.offline.policy_specs.policies import memory_parameter
from driftpeak.theory.variation import estimate_drift

LEAST_NOISE = 1e-3
"""Share of the arms' variance: less would leave a covariance from a few rows as if exact."""


@dataclass(frozen=True)
class Finding:
    """One learned number, and in words how it was learned and how well it is determined."""

    value: float
    how: str


def tune(
    policies: Sequence[str],
    history: Matrix,
    make_prior: Callable[[Matrix, float | None], Prior],
    noise_variance: float | None = None,
) -> dict[str, Finding]:
    """Noise variance and drift by restricted likelihood, memories by cross-validation.

    Arguments:
        policies: as for `driftpeak.offline.policy_specs.policies.make_policies`; what one of them
            leaves open is learned.
        history: rewards, shape `(steps, arms)`.
        make_prior: the prior from some rows and a noise variance (None: a guess).
        noise_variance: learned, if none is given.

    Raises:
        DriftpeakError: as `estimate_drift` and `driftpeak.cross_validate`.
    """
    found = {}
    wanted = [name for name in dict.fromkeys(map(_open, policies)) if name]
    if "drift" in wanted or noise_variance is None:
        estimate = estimate_drift(history, noise_variance=noise_variance)
        by = "restricted likelihood of a Markov drift"
        if noise_variance is None:
            least = LEAST_NOISE * float(history.var(axis=0).mean())
            noise_variance = max(estimate.noise_variance, least)
            how = f"by {by}"
            if noise_variance == least:
                how += f", which finds less: {LEAST_NOISE:.1%} of the arms' variance instead"
            found["noise_variance"] = Finding(noise_variance, how)
        if "drift" in wanted:
            found["drift"] = Finding(estimate.cautious, f"by {by}, {estimate}")
    for name in wanted:
        if name != "drift":
            choice = cross_validate(history, name, lambda rows: make_prior(rows, noise_variance))
            tried = list(choice.scores)
            how = (
                f"by cross-validation, the best of {len(tried)} from {tried[0]:g} to {tried[-1]:g}"
            )
            at_end = choice.value in (tried[0], tried[-1])
            found[name] = Finding(choice.value, how + " (at the end of the range)" * at_end)
    return found


def complete(policies: Sequence[str], found: dict[str, Finding]) -> list[str]:
    """The policies with what was found written out where they left it open."""
    texts = []
    for text in policies:
        name = _open(text)
        if name is not None:
            value = found[name].value
            written = str(int(value)) if name in ("window", "period") else f"{value:.6g}"
            text += f"{',' if ':' in text else ':'}{name}={written}"
        texts.append(text)
    return texts


def _open(text: str) -> str | None:
    """The memory that a policy leaves open, if any."""
    policy, _, given = text.partition(":")
    parameter = memory_parameter(policy)
    keys = [pair.partition("=")[0] for pair in given.split(",")]
    return None if parameter in keys else parameter
