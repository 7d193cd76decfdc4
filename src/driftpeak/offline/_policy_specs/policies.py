"""Policies and widths by name, as on the command line: `NAME[:key=value,...]`.

`tv-gp-ucb:drift=0.03` is `TVGPUCB(prior, drift=0.03)`. Parameters and defaults come from the
constructors' signatures (`driftpeak.offline._policy_specs.parameters`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.priors import Prior
from driftpeak.inference.fitting.cross_validation import CANDIDATES
from driftpeak.offline._policy_specs.lines import Line, known_name
from driftpeak.offline._policy_specs.parameters import Parameter, parameters, split, summary
from driftpeak.offline._policy_specs.settings import ENVIRONMENTS
from driftpeak.offline.history import Learned
from driftpeak.policies import OPKB, BeliefPolicy, Policy, widths
from driftpeak.policies.catalogue import Entry, entries
from driftpeak.policies.opkb_constants import Constants
from driftpeak.policies.widths import Width

CATALOGUE: dict[str, Entry] = dict(sorted((entry.name, entry) for entry in entries() if entry.name))
POLICIES: dict[str, Callable[..., Policy]] = {name: e.make for name, e in CATALOGUE.items()}


def best_of_history(learned: Learned) -> Policy:
    """Play the arm with the best mean in the recorded rows."""
    return learned.timetable(1)


def timetable(learned: Learned, *, period: int | None = None) -> Policy:
    """Play the arm with the best mean at this step of the cycle in the recorded rows."""
    return learned.timetable(period)


HISTORIC: dict[str, Callable[..., Policy]] = {
    "best-of-history": best_of_history,
    "timetable": timetable,
}
"""Baselines from recorded rows only."""
DEFAULT_POLICIES = ("auto", "random", "gp-ucb", "r-gp-ucb", "sw-gp-ucb", "tv-gp-ucb", "w-gp-ucb")

WIDTHS: dict[str, type[Width]] = {
    "scaled-log": widths.ScaledLog,
    "constant": widths.Constant,
    "finite-domain": widths.FiniteDomain,
    "igp": widths.IGP,
    "confidence": widths.Confidence,
    "sliding-confidence": widths.SlidingConfidence,
    "heteroscedastic": widths.Heteroscedastic,
}
HANDED_ON: Mapping[str, Any] = {"constants": Constants, "options": OPKB}


def policy_parameters(name: str) -> dict[str, Parameter]:
    """Return the parameters of the policy of this name."""
    known = parameters((POLICIES | HISTORIC)[name], HANDED_ON)
    defaults = CATALOGUE[name].defaults if name in CATALOGUE else {}
    return known | {key: Parameter(key, known[key].kind, value) for key, value in defaults.items()}


def memory_parameter(name: str) -> str | None:
    """Return the memory parameter of a GP-UCB policy if it can be estimated, else None."""
    if name not in POLICIES or not _is_belief(POLICIES[name]):
        return None
    return next((key for key in policy_parameters(name) if key in CANDIDATES), None)


def tables() -> dict[str, list[Line]]:
    """Return the tables that the help of the command line and the docs print."""
    return {
        "policies": [
            Line(name, tuple(policy_parameters(name).values()), summary(make))
            for name, make in (POLICIES | HISTORIC).items()
        ],
        "environments": [Line(name, (), entry.change) for name, entry in ENVIRONMENTS.items()],
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
    """Return the policies that `texts` describe, by name, or by text if the name is not unique.

    Raises:
        DriftpeakError: a name or a key is unknown, a value has the wrong type or is out of range,
            or a text occurs twice.
    """
    names = [text.split(":")[0] for text in texts]
    labels = [
        name if names.count(name) == 1 else text for name, text in zip(names, texts, strict=True)
    ]
    for label in labels:
        if labels.count(label) > 1:
            raise DriftpeakError(f"policies must be different; {label!r} is given more than once")
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
    """Return the policy that `text` describes.

    Arguments:
        text: `NAME[:key=value,...]`.
        prior: its prior.
        width: for the policies without a width of their own.
        steps: length of the run, the horizon of policies that need one.
        learned: estimates from recorded rows, for `auto`, `best-of-history` and `timetable`.

    Raises:
        DriftpeakError: as for `make_policies`, or the policy needs a horizon and none is given.
    """
    name = known_name("policy", text, POLICIES | HISTORIC)
    known = policy_parameters(name)
    given = split(text, known)
    if name in HISTORIC:
        if learned is None:
            raise DriftpeakError(
                f"{text}: {name} needs recorded rows, which only `driftpeak replay` has"
            )
        return _with_culprit(text, lambda: HISTORIC[name](learned, **given))
    if name == "auto" and learned is not None:
        return _with_culprit(text, lambda: learned.policy(**given))
    entry = CATALOGUE[name]
    for key, value in entry.defaults.items():
        given.setdefault(key, value)
    if _has_width(entry.make) and not entry.own_width:
        given["width"] = width
    if "horizon" in known and known["horizon"].required and "horizon" not in given:
        if steps is None:
            raise DriftpeakError(
                f"{text}: {name} needs the number of steps in advance; give horizon=..."
            )
        given["horizon"] = steps
    return _with_culprit(text, lambda: POLICIES[name](prior, **given))


def make_width(text: str, prior: Prior, steps: int) -> Width:
    """Return the width that `text` describes, for a run of `steps` decisions.

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
    """Return the parameters of a width except those that the run determines."""
    known = ("points", "noise_variance", "horizon")
    return {key: each for key, each in parameters(make, {}).items() if key not in known}


def _is_belief(make: Callable[..., Any]) -> bool:
    return get_type_hints(make).get("return") is BeliefPolicy


def _has_width(make: Callable[..., Any]) -> bool:
    """Return whether the policy has an exploration width, which --width sets."""
    return "acquisition" in parameters(make, HANDED_ON)


def _with_culprit(text: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except DriftpeakError as error:
        raise DriftpeakError(f"{text}: {error}") from None
