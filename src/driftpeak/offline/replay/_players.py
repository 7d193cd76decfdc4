"""Construction of a replay's policies from the training rows and contexts of a table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from driftpeak._core.errors import DriftpeakError, positive
from driftpeak.gp.context_points import Contexts
from driftpeak.gp.priors import Prior
from driftpeak.offline._policy_specs.fitted import Finding, complete, tune
from driftpeak.offline._policy_specs.policies import HISTORIC, make_policies
from driftpeak.offline.data import RewardTable
from driftpeak.offline.history import ContextsLearned, Learned, calendar_periods, fit_history
from driftpeak.offline.replay._prior import Mean, prior_from_history
from driftpeak.policies import InContext, Policy, Timetable

WITHOUT_CONTEXTS = " (without contexts)"
"""Suffix of the name of a policy that runs without contexts, next to the same policy with them."""


@dataclass(frozen=True)
class Setting:
    """The arguments of `replay` that are common to all policies."""

    noise_variance: float | None
    mean: Mean
    fit: bool
    width: str
    steps: int


@dataclass(frozen=True)
class Players:
    """Policies by name, and the estimates in them."""

    policies: dict[str, Policy]
    texts: Sequence[str]  # the descriptions, with estimated parameters
    prior: Prior
    estimates: dict[str, Finding]
    learned: Learned | None


def make_players(
    texts: Sequence[str],
    rows: RewardTable,
    setting: Setting,
    effects: ContextsLearned | None = None,
) -> Players:
    """Return the policies that `texts` describe.

    Arguments:
        texts: descriptions of policies.
        rows: the training rows.
        setting: the arguments common to all policies.
        effects: context effects; if given, the policies act on pairs of arm and context.
    """
    history = rows.values if effects is None else effects.rest
    noise = setting.noise_variance
    learned = learned_for(texts, rows, noise, None if effects is None else effects.contexts)

    def from_rows(rows_so_far: Any, noise: float | None) -> Prior:
        return prior_from_history(rows_so_far, rows.arms, noise_variance=noise, mean=setting.mean)

    prior, estimates = from_rows(history, noise), {}

    def made(texts: Sequence[str]) -> dict[str, Policy]:
        own = prior if effects is None else effects.prior(prior)
        return make_policies(texts, own, setting.steps, width=setting.width, learned=learned)

    policies = made(texts)  # refuses invalid texts before the long computation
    if setting.fit:
        estimates = tune(texts, history, from_rows, noise)
        if noise is None:
            prior = prior.with_noise_variance(estimates["noise_variance"].value)
        texts = complete(texts, estimates)
        policies = made(texts)
    return Players(policies, texts, prior, estimates, learned)


def with_contexts(
    texts: Sequence[str],
    rows: RewardTable,
    setting: Setting,
    plain: Players,
    effects: ContextsLearned,
) -> Players:
    """Return all policies of `plain`, each preceded by its version with contexts if it has one."""
    described = dict(zip(plain.policies, texts, strict=True))
    able = {name: text for name, text in described.items() if plain.policies[name].chooses_among}
    cells = make_players(list(able.values()), rows, setting, effects)
    made = zip(cells.policies.values(), cells.texts, strict=True)
    knowing: dict[str, tuple[Policy, str]] = dict(zip(able, made, strict=True))
    pairs: dict[str, tuple[Policy, str]] = {}
    for (name, policy), text in zip(plain.policies.items(), plain.texts, strict=True):
        if name in knowing:
            own, its_text = knowing[name]
            knows = own if isinstance(own, InContext) else InContext(own, effects.ahead)
            pairs[name] = knows, its_text
        elif text.split(":")[0] == "best-of-history":
            best = effects.best(rows.values.mean(axis=0))[: setting.steps]
            pairs[name] = Timetable(best, setting.steps), text
        pairs[name + WITHOUT_CONTEXTS if name in pairs else name] = policy, text
    policies = {name: policy for name, (policy, _) in pairs.items()}
    return replace(cells, policies=policies, texts=[text for _, text in pairs.values()])


def learned_for(
    policies: Sequence[str],
    history: RewardTable,
    noise_variance: float | None,
    contexts: Contexts | None = None,
) -> Learned | None:
    """Return the estimates from the rows if one of the policies needs them, else None.

    Raises:
        DriftpeakError: a policy needs them, and the rows are constant.
    """
    names = {text.split(":")[0] for text in policies}
    if not names & {"auto", *HISTORIC}:
        return None
    if (history.values == history.values[0]).all():
        needing = ", ".join(sorted(names & {"auto", *HISTORIC}))
        raise DriftpeakError(
            f"{needing} needs training rows that vary; got constant rows. Use more rows or another "
            "fraction of them (train), or other policies."
        )
    # a given noise variance refers to untransformed rewards
    transformation = "auto" if noise_variance is None else "none"
    learned = fit_history(
        history.values,
        history.arms,
        likely=calendar_periods(history.times),
        transformation=transformation,
        contexts=contexts,
    )
    if noise_variance is None:
        return learned
    prior = learned.prior.with_noise_variance(positive("noise_variance", noise_variance))
    return replace(learned, prior=prior)
