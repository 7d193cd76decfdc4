"""The policies that play a table, made of its training rows; told its contexts, if it has any."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from driftpeak._core.errors import DriftpeakError, positive
from driftpeak.gp.context_points import Contexts
from driftpeak.gp.priors import Prior
from driftpeak.offline.data import RewardTable
from driftpeak.offline.history import ContextsLearned, Learned, calendar_periods, learn
from driftpeak.offline.policy_specs.fitted import Finding, complete, tune
from driftpeak.offline.policy_specs.policies import HISTORIC, make_policies
from driftpeak.offline.replay.prior import Mean, prior_from_history
from driftpeak.policies import InContext, Policy, Timetable

NOT_TOLD = " (not told)"
"""Behind the name of a policy that plays without the contexts, beside itself with them."""


@dataclass(frozen=True)
class Setting:
    """What is the same for all policies; as for `replay`."""

    noise_variance: float | None
    mean: Mean
    fit: bool
    width: str
    steps: int


@dataclass(frozen=True)
class Players:
    """Policies by name, and what they were made of."""

    policies: dict[str, Policy]
    texts: Sequence[str]  # of each, with what was found written out
    prior: Prior
    found: dict[str, Finding]
    learned: Learned | None


def make_players(
    texts: Sequence[str],
    rows: RewardTable,
    setting: Setting,
    told: ContextsLearned | None = None,
) -> Players:
    """The policies that `texts` describe, made of training rows; of the cells, if told."""
    history = rows.values if told is None else told.rest
    noise = setting.noise_variance
    learned = learned_for(texts, rows, noise, None if told is None else told.contexts)

    def from_rows(rows_so_far: Any, noise: float | None) -> Prior:
        return prior_from_history(rows_so_far, rows.arms, noise_variance=noise, mean=setting.mean)

    prior, found = from_rows(history, noise), {}

    def made(texts: Sequence[str]) -> dict[str, Policy]:
        own = prior if told is None else told.prior(prior)
        return make_policies(texts, own, setting.steps, width=setting.width, learned=learned)

    policies = made(texts)  # before what takes long: texts that are wrong are refused here
    if setting.fit:
        found = tune(texts, history, from_rows, noise)
        if noise is None:
            prior = prior.with_noise_variance(found["noise_variance"].value)
        texts = complete(texts, found)
        policies = made(texts)
    return Players(policies, texts, prior, found, learned)


def beside_told(
    texts: Sequence[str],
    rows: RewardTable,
    setting: Setting,
    plain: Players,
    told: ContextsLearned,
) -> Players:
    """All of `plain`; in front of each that can be told the contexts, itself told them."""
    described = dict(zip(plain.policies, texts, strict=True))
    able = {name: text for name, text in described.items() if plain.policies[name].chooses_among}
    cells = make_players(list(able.values()), rows, setting, told)
    made = zip(cells.policies.values(), cells.texts, strict=True)
    knowing: dict[str, tuple[Policy, str]] = dict(zip(able, made, strict=True))
    pairs: dict[str, tuple[Policy, str]] = {}
    for (name, policy), text in zip(plain.policies.items(), plain.texts, strict=True):
        if name in knowing:
            own, its_text = knowing[name]
            knows = own if isinstance(own, InContext) else InContext(own, told.ahead)
            pairs[name] = knows, its_text
        elif text.split(":")[0] == "best-of-history":
            best = told.best(rows.values.mean(axis=0))[: setting.steps]
            pairs[name] = Timetable(best, setting.steps), text
        pairs[name + NOT_TOLD if name in pairs else name] = policy, text
    policies = {name: policy for name, (policy, _) in pairs.items()}
    return replace(cells, policies=policies, texts=[text for _, text in pairs.values()])


def learned_for(
    policies: Sequence[str],
    history: RewardTable,
    noise_variance: float | None,
    contexts: Contexts | None = None,
) -> Learned | None:
    """What rows say, if one of the policies wants to know.

    Raises:
        DriftpeakError: it does, and the rows never vary.
    """
    names = {text.split(":")[0] for text in policies}
    if not names & {"auto", *HISTORIC}:
        return None
    if (history.values == history.values[0]).all():
        wanting = ", ".join(sorted(names & {"auto", *HISTORIC}))
        raise DriftpeakError(
            "the training rows never vary, so nothing can be learned of how they move: give more "
            f"rows or another share of them (train), or play other policies than {wanting}"
        )
    # noise that is given is that of the rewards as they are
    transformation = "auto" if noise_variance is None else "none"
    learned = learn(
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
