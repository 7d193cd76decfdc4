"""Policies and widths by name, as on the command line: `NAME[:key=value,...]`.

`tv-gp-ucb:drift=0.03` is `TVGPUCB(prior, drift=0.03)`. Parameters left out take the defaults below.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from driftpeak import widths
from driftpeak.beliefs import FORMS
from driftpeak.errors import DriftpeakError, nearest
from driftpeak.history import Learned
from driftpeak.policies import (
    ADAOPKB,
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
    BestFixedArm,
    Clairvoyant,
    Policy,
    RExp3,
    SparQ,
    UniformRandom,
    WSparQ,
)
from driftpeak.policies.belief_policy import ACQUISITIONS
from driftpeak.policies.opkb_constants import Constants
from driftpeak.priors import Prior
from driftpeak.widths import Width

Parameters = Mapping[str, Any]
"""Default values by key; a type stands for a parameter without a default."""


@dataclass(frozen=True)
class Entry:
    """How to make what a name stands for."""

    make: Callable[..., Any]
    parameters: Parameters
    is_belief: bool = True  # takes a width, an acquisition and a form
    has_horizon: bool = False  # planned for so many steps: by default those of the run
    needs_history: bool = False  # made from recorded rows


OPTIONS: Parameters = {"acquisition": ACQUISITIONS[0], "form": FORMS[0]}

_ELIMINATION: Parameters = {
    "horizon": int,
    "norm_bound": 3.0,
    "noise_scale": float,
    "delta": 0.1,
    "constant": 1.0,
}
_PRESET: Parameters = {
    "horizon": int,
    "reward_bound": float,
    "preset": "published",
    **{field.name: type(field.default) for field in fields(Constants)},
}
_SIDE_QUERIES: Parameters = {
    "rate": 1.0,
    "dimension": int,
    "asks": "before",
    "multiplicity": False,
    "mixing": int,
}

POLICIES: dict[str, Entry] = {
    "random": Entry(UniformRandom, {}, is_belief=False),
    "best-fixed-arm": Entry(BestFixedArm, {}, is_belief=False),
    "clairvoyant": Entry(Clairvoyant, {}, is_belief=False),
    "auto": Entry(
        Auto,
        {"switching": 0.001, "leak": 0.01, "outlier": 6.0, "mix_every": 3, "acquisition": str},
        is_belief=False,
    ),
    "best-of-history": Entry(
        lambda learned: learned.timetable(1), {}, is_belief=False, needs_history=True
    ),
    "timetable": Entry(
        lambda learned, **given: learned.timetable(**given),
        {"period": int},
        is_belief=False,
        needs_history=True,
    ),
    "gp-ucb": Entry(GPUCB, {}),
    "igp-ucb": Entry(
        IGPUCB, {"norm_bound": 1.0, "noise_scale": float, "delta": 0.1, "horizon": int}
    ),
    "r-gp-ucb": Entry(RGPUCB, {"period": 15.0}),
    "sw-gp-ucb": Entry(SWGPUCB, {"window": 50}),
    "tv-gp-ucb": Entry(TVGPUCB, {"drift": 0.03}),
    "w-gp-ucb": Entry(WGPUCB, {"discount": 0.9}),
    "ui-gp-ucb": Entry(UIGPUCB, {"exponent": 1.0, "slope": 1.0}),
    "sparq": Entry(SparQ, _SIDE_QUERIES),
    "w-sparq": Entry(WSparQ, {"exponent": 1.0, "a": 0.25, "slope": 1.0, **_SIDE_QUERIES}),
    "adaptive-sparq": Entry(AdaptiveSparQ, {"a": 0.25, **_SIDE_QUERIES}),
    "pe": Entry(PE, {**_ELIMINATION, "constant": float}, is_belief=False, has_horizon=True),
    "r-perp": Entry(
        RPERP,
        {**_ELIMINATION, "period": int, "variation": float},
        is_belief=False,
        has_horizon=True,
    ),
    "adaptive-r-perp": Entry(
        AdaptiveRPERP,
        {**_ELIMINATION, "false_alarms": 0.1, "exploration": 0.1, "evidence": "harm"},
        is_belief=False,
        has_horizon=True,
    ),
    "opkb": Entry(OPKB, {**_PRESET, "period": int}, is_belief=False, has_horizon=True),
    "r-opkb": Entry(ROPKB, {**_PRESET, "variation": float}, is_belief=False, has_horizon=True),
    "ada-opkb": Entry(ADAOPKB, _PRESET, is_belief=False, has_horizon=True),
    "rexp3": Entry(
        RExp3,
        {"horizon": int, "variation": float, "reward_bound": float},
        is_belief=False,
        has_horizon=True,
    ),
}

YARDSTICKS = ("best-of-history", "timetable")
"""What a policy must beat to be of use to who has a history."""
DEFAULT_POLICIES = ("auto", "random", "gp-ucb", "r-gp-ucb", "sw-gp-ucb", "tv-gp-ucb", "w-gp-ucb")

_RKHS: Parameters = {"norm_bound": 1.0, "noise_scale": 1.0, "delta": 0.1}

# made from the parameters and, by name, what the run knows: points, noise_variance, horizon
WIDTHS: dict[str, Callable[..., Width]] = {
    "scaled-log": lambda run, **given: widths.ScaledLog(**given),
    "constant": lambda run, **given: widths.Constant(**given),
    "finite-domain": lambda run, **given: widths.FiniteDomain(run.points, **given),
    "igp": lambda run, **given: widths.IGP(**given),
    "confidence": lambda run, **given: widths.Confidence(
        **given, noise_variance=run.noise_variance
    ),
    "sliding-confidence": lambda run, **given: widths.SlidingConfidence(
        **given, noise_variance=run.noise_variance, horizon=run.horizon
    ),
    "heteroscedastic": lambda run, **given: widths.Heteroscedastic(**given),
}
WIDTH_PARAMETERS: dict[str, Parameters] = {
    "scaled-log": {"c1": 0.8, "c2": 4.0},
    "constant": {"value": 1.0},
    "finite-domain": {"delta": 0.1},
    "igp": _RKHS,
    "confidence": _RKHS,
    "sliding-confidence": _RKHS,
    "heteroscedastic": {"norm_bound": 1.0, "delta": 0.1},
}


@dataclass(frozen=True)
class _Run:
    points: int
    noise_variance: float
    horizon: int


def make_policies(
    texts: Sequence[str],
    prior: Prior,
    steps: int,
    *,
    width: str = "scaled-log",
    learned: Learned | None = None,
) -> dict[str, Policy[Any]]:
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
) -> Policy[Any]:
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
    name, given = _parse("policy", text, {key: entry.parameters for key, entry in POLICIES.items()})
    entry = POLICIES[name]
    if entry.is_belief and name != "igp-ucb":
        given = {"width": width, **given}
    if entry.has_horizon and "horizon" not in given:
        if steps is None:
            raise DriftpeakError(f"{text}: {name} is planned for so many steps: give horizon=...")
        given["horizon"] = steps
    if entry.needs_history:
        if learned is None:
            raise DriftpeakError(
                f"{text}: {name} plays what recorded rows say: only replay has any"
            )
        return _with_culprit(text, lambda: entry.make(learned, **given))
    if name == "auto" and learned is not None:
        return _with_culprit(text, lambda: learned.policy(**given))
    return _with_culprit(text, lambda: entry.make(prior, **given))


def make_width(text: str, prior: Prior, steps: int) -> Width:
    """The width that `text` describes, for a run of `steps` decisions.

    Raises:
        DriftpeakError: as for `make_policies`.
    """
    name, given = _parse("width", text, WIDTH_PARAMETERS)
    run = _Run(len(prior), prior.noise_variance, steps)
    return _with_culprit(text, lambda: WIDTHS[name](run, **given))


def _with_culprit(text: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except DriftpeakError as error:
        raise DriftpeakError(f"{text}: {error}") from None


def _parse(
    what: str, text: str, parameters: Mapping[str, Parameters]
) -> tuple[str, dict[str, Any]]:
    name, _, rest = text.partition(":")
    if name not in parameters:
        raise DriftpeakError(
            f"unknown {what} {name!r}; known: {', '.join(parameters)}."
            + nearest(name, list(parameters))
        )
    known: dict[str, Any] = dict(parameters[name])
    if what == "policy" and POLICIES[name].is_belief:
        known |= OPTIONS
    given = {key: value for key, value in known.items() if not isinstance(value, type)}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or key not in known:
            accepted = ", ".join(f"{name}=..." for name in known) or "none"
            raise DriftpeakError(
                f"{text}: {pair!r} is not a parameter of {name}; accepted: {accepted}."
                + nearest(key, list(known))
            )
        kind = known[key] if isinstance(known[key], type) else type(known[key])
        given[key] = _convert(f"{text}: {key}", value, kind)
    return name, given


def _convert(name: str, value: str, kind: type) -> Any:
    try:
        return {"true": True, "false": False}[value.lower()] if kind is bool else kind(value)
    except (KeyError, ValueError):
        wanted = {int: "an integer", float: "a number", bool: "true or false"}[kind]
        raise DriftpeakError(f"{name} must be {wanted}; got {value!r}") from None
