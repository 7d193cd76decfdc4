"""Policies and widths by name, as on the command line: `NAME[:key=value,...]`.

`tv-gp-ucb:drift=0.03` is `TVGPUCB(prior, drift=0.03)`. What can be given, and the defaults, are
those of the constructors' own signatures (`driftpeak.offline.policy_specs.parameters`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.priors import Prior
from driftpeak.inference.fitting.cross_validation import CANDIDATES
from driftpeak.offline.history import Learned
from driftpeak.offline.policy_specs.lines import Line, known_name
from driftpeak.offline.policy_specs.parameters import Parameter, parameters, split, summary
from driftpeak.policies import (
    ABO,
    ADAOPKB,
    ETGPUCB,
    GPUCB,
    IGPUCB,
    OPKB,
    PE,
    RGPUCB,
    ROPKB,
    RPERP,
    SWGPUCB,
    TVGPUCB,
    UIGPUCB,
    WGPUCB,
    AdaptiveRPERP,
    AdaptiveSparQ,
    Auto,
    BeliefPolicy,
    BestFixedArm,
    Clairvoyant,
    Policy,
    RExp3,
    SparQ,
    UniformRandom,
    WSparQ,
    widths,
)
from driftpeak.policies.opkb_constants import Constants
from driftpeak.policies.widths import Width

POLICIES: dict[str, Callable[..., Policy]] = {
    "auto": Auto,
    "random": UniformRandom,
    "best-fixed-arm": BestFixedArm,
    "clairvoyant": Clairvoyant,
    "gp-ucb": GPUCB,
    "igp-ucb": IGPUCB,
    "r-gp-ucb": RGPUCB,
    "sw-gp-ucb": SWGPUCB,
    "tv-gp-ucb": TVGPUCB,
    "w-gp-ucb": WGPUCB,
    "ui-gp-ucb": UIGPUCB,
    "et-gp-ucb": ETGPUCB,
    "abo": ABO,
    "sparq": SparQ,
    "w-sparq": WSparQ,
    "adaptive-sparq": AdaptiveSparQ,
    "pe": PE,
    "r-perp": RPERP,
    "adaptive-r-perp": AdaptiveRPERP,
    "opkb": OPKB,
    "r-opkb": ROPKB,
    "ada-opkb": ADAOPKB,
    "rexp3": RExp3,
}


def best_of_history(learned: Learned) -> Policy:
    """Always the arm that was best on average in the recorded rows."""
    return learned.timetable(1)


def timetable(learned: Learned, *, period: int | None = None) -> Policy:
    """The arm that was best at this time of the cycle in the recorded rows."""
    return learned.timetable(period)


HISTORIC: dict[str, Callable[..., Policy]] = {
    "best-of-history": best_of_history,
    "timetable": timetable,
}
"""Made of recorded rows and nothing else: what must be beaten by who has a history."""
DEFAULT_POLICIES = ("auto", "random", "gp-ucb", "r-gp-ucb", "sw-gp-ucb", "tv-gp-ucb", "w-gp-ucb")

MEMORY: Mapping[str, Any] = {
    "period": 15.0,
    "window": 50,
    "drift": 0.03,
    "discount": 0.9,
    "exponent": 1.0,
    "lengthscale": 30.0,
}
"""How fast a policy forgets, where it must be told and nobody says. Period and drift are those that
B16 found for its sensors; the others are as good a start as any, and no more."""

WIDTHS: dict[str, type[Width]] = {
    "scaled-log": widths.ScaledLog,
    "constant": widths.Constant,
    "finite-domain": widths.FiniteDomain,
    "igp": widths.IGP,
    "confidence": widths.Confidence,
    "sliding-confidence": widths.SlidingConfidence,
    "heteroscedastic": widths.Heteroscedastic,
}
OWN_WIDTH = ("auto", "igp-ucb")
"""Policies that have a width of their own unless they are given another in Python."""

HANDED_ON: Mapping[str, Any] = {"constants": Constants, "options": OPKB}


def policy_parameters(name: str) -> dict[str, Parameter]:
    """What the policy of this name can be told, by argument."""
    make = (POLICIES | HISTORIC)[name]
    found = parameters(make, HANDED_ON)
    told = found.keys() & MEMORY if _is_belief(make) else {k for k in found if found[k].required}
    return found | {
        key: Parameter(key, found[key].kind, MEMORY[key]) for key in told if key in MEMORY
    }


def memory_parameter(name: str) -> str | None:
    """The argument of a GP-UCB policy that says how fast it forgets, if it can be learned."""
    if name not in POLICIES or not _is_belief(POLICIES[name]):
        return None
    return next((key for key in policy_parameters(name) if key in CANDIDATES), None)


def tables() -> dict[str, list[Line]]:
    """All policies and widths, as the command line's help and the docs list them."""
    return {
        "policies": [
            Line(name, tuple(policy_parameters(name).values()), summary(make))
            for name, make in (POLICIES | HISTORIC).items()
        ],
        "widths": [
            Line(name, tuple(_width_parameters(make).values()), summary(make))
            for name, make in WIDTHS.items()
        ],
    }


def make_policies(
    texts: Sequence[str],
    prior: Prior,
    steps: int,
    *,
    width: str = "scaled-log",
    learned: Learned | None = None,
) -> dict[str, Policy]:
    """The policies that `texts` describe, each under its name, or under its whole text if the
    name alone is not unique.

    Raises:
        DriftpeakError: an unknown name or key, a value of the wrong kind or out of range, a text
            that occurs twice.
    """
    names = [text.split(":")[0] for text in texts]
    labels = [
        name if names.count(name) == 1 else text for name, text in zip(names, texts, strict=True)
    ]
    for label in labels:
        if labels.count(label) > 1:
            raise DriftpeakError(f"policy {label!r} is given more than once")
    chosen = make_width(width, prior, steps)
    return {
        label: make_policy(text, prior, chosen, steps, learned)
        for label, text in zip(labels, texts, strict=True)
    }


def make_policy(
    text: str,
    prior: Prior,
    width: Width | None = None,
    steps: int | None = None,
    learned: Learned | None = None,
) -> Policy:
    """The policy that `text` describes.

    Arguments:
        text: `NAME[:key=value,...]`.
        prior: what it believes at the start.
        width: for the policies that have no width of their own.
        steps: length of the run, the horizon of the policies that are planned for one.
        learned: from recorded rows: `auto` begins with it, and `best-of-history` and `timetable`
            play it.

    Raises:
        DriftpeakError: as for `make_policies`, or a policy that needs a horizon and has none.
    """
    name = known_name("policy", text, POLICIES | HISTORIC)
    known = policy_parameters(name)
    given = split(text, known)
    if name in HISTORIC:
        if learned is None:
            raise DriftpeakError(f"{text}: {name} plays what recorded rows say: replay has some")
        return _with_culprit(text, lambda: HISTORIC[name](learned, **given))
    if name == "auto" and learned is not None:
        return _with_culprit(text, lambda: learned.policy(**given))
    for key, parameter in known.items():
        if parameter.default is not None and key in MEMORY:
            given.setdefault(key, parameter.default)
    if _has_width(POLICIES[name]) and name not in OWN_WIDTH:
        given["width"] = width
    if "horizon" in known and known["horizon"].required and "horizon" not in given:
        if steps is None:
            raise DriftpeakError(f"{text}: {name} is planned for so many steps: give horizon=...")
        given["horizon"] = steps
    return _with_culprit(text, lambda: POLICIES[name](prior, **given))


def make_width(text: str, prior: Prior, steps: int) -> Width:
    """The width that `text` describes, for a run of `steps` decisions.

    Raises:
        DriftpeakError: as for `make_policies`.
    """
    make = WIDTHS[known_name("width", text, WIDTHS)]
    given = split(text, _width_parameters(make))
    run = {"points": len(prior), "noise_variance": prior.noise_variance, "horizon": steps}
    known = parameters(make, {})
    given |= {key: value for key, value in run.items() if key in known}
    if make is widths.Constant:
        given.setdefault("value", 1.0)
    return _with_culprit(text, lambda: make(**given))


def _width_parameters(make: type[Width]) -> dict[str, Parameter]:
    """What a width can be told beside what the run knows."""
    known = ("points", "noise_variance", "horizon")
    return {key: one for key, one in parameters(make, {}).items() if key not in known}


def _is_belief(make: Callable[..., Any]) -> bool:
    return get_type_hints(make).get("return") is BeliefPolicy


def _has_width(make: Callable[..., Any]) -> bool:
    """Whether it takes the width that --width names: all that act on a belief and a width."""
    return "acquisition" in parameters(make, HANDED_ON)


def _with_culprit(text: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except DriftpeakError as error:
        raise DriftpeakError(f"{text}: {error}") from None
