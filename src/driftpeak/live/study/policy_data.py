"""A policy as data that JSON can hold, and back again, exactly.

A policy and its parts are written as a tag and the constructor's arguments::

    {"belief-policy": {"prior": {"prior": {"domain": {"space": {"grid": [[0, 1]], "size": [50]}},
                                           "kernel": {"se": {"lengthscale": 0.2}}, ...}},
                       "forgetting": {"drift": {"drift": 0.02}}, ...}}

The tags are those of `driftpeak.live.study.registry`; besides, `{"array": [...]}` is an array of
numbers, `{"number": "inf"}` a number that JSON lacks, `{"space": ...}` arms or a grid. What
somebody else wrote, a kernel or a function, cannot be written: `{"yours": "its name"}` is, for
comparison only. Reading calls constructors of the registry, with arguments of the kinds they ask
for, and nothing else.
"""

import math
from collections.abc import Callable, Iterator
from inspect import Parameter, isfunction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak._core.arguments import arguments_of, fits
from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.domains import Arms, Grid
from driftpeak.live.space.serialization import space_from_data, space_to_data
from driftpeak.live.study.registry import Entry, entry_of, tag_of


class NotOursError(DriftpeakError):
    """A part was written by somebody else."""


DEEPEST = 50  # parts within parts; a policy has about five
ARRAYS = "biuf"  # kinds of numbers: booleans, integers and real ones


def policy_to_data(policy: Any) -> Any:
    """The policy as tags and arguments, fit for JSON."""
    if policy is None or isinstance(policy, bool | str):
        return policy
    if isinstance(policy, int | float | np.generic) or (_is_array(policy) and policy.ndim == 0):
        return _number(policy)
    if _is_array(policy) and np.asarray(policy).dtype.kind in ARRAYS:
        return {"array": np.asarray(policy).tolist()}
    if type(policy) in (list, tuple):
        return [policy_to_data(one) for one in policy]
    if isinstance(policy, Arms | Grid):
        return {"space": space_to_data(policy)}
    tag = tag_of(type(policy))
    entry = entry_of(tag)
    if entry is not None:
        given = arguments_of(policy, entry.parameters)
        if given is not None:
            return {tag: {name: policy_to_data(one) for name, one in given.items()}}
    named = policy if isinstance(policy, type) or isfunction(policy) else type(policy)
    return {"yours": f"{named.__module__}.{named.__qualname__}"}


def policy_from_data(data: Any) -> Any:
    """The policy that `policy_to_data` described.

    Raises:
        DriftpeakError: a part that is not driftpeak's own, that this version does not know, or
            that no constructor takes; and where.
    """
    return _made(data, "the policy", 0)


def can_be_made(data: Any) -> bool:
    """Whether every constructor takes what is stored for it, parts of somebody else's apart."""
    try:
        policy_from_data(data)
    except NotOursError:
        return True
    except DriftpeakError:
        return False
    return True


def differences(stored: Any, given: Any, where: str = "policy") -> Iterator[tuple[str, bool]]:
    """Where two policies differ, and whether that is certain.

    It is not where what was stored was somebody else's, or is unknown to this version. An argument
    that was not there yet when the policy was stored had its default.
    """
    tag, other = _tag(stored), _tag(given)
    entry = entry_of(tag)
    if tag is None or tag != other or entry is None:
        if isinstance(stored, list) and isinstance(given, list) and len(stored) == len(given):
            for number, pair in enumerate(zip(stored, given, strict=True)):
                yield from differences(*pair, f"{where}[{number}]")
        elif stored != given:
            known = tag is None or entry is not None or tag in ("array", "number", "space")
            yield where, known
        return
    parameters, before, now = entry.parameters, stored[tag], given[tag]
    if not isinstance(before, dict):
        yield where, False
        return
    for name in dict.fromkeys((*before, *now)):
        if name not in parameters:
            yield f"{where}.{name}", False
        elif name in before or parameters[name][1] is not Parameter.empty:
            was = before.get(name, policy_to_data(parameters[name][1]))
            here = now.get(name, policy_to_data(parameters[name][1]))
            yield from differences(was, here, f"{where}.{name}")


def _tag(data: Any) -> str | None:
    return next(iter(data)) if isinstance(data, dict) and len(data) == 1 else None


def _is_array(value: Any) -> bool:
    if not isinstance(value, np.ndarray | jax.Array):
        return False
    return not jnp.issubdtype(value.dtype, jax.dtypes.extended)


def _number(value: Any) -> Any:
    number = value if type(value) in (int, float) else np.asarray(value).item()
    if isinstance(number, float) and not math.isfinite(number):
        return {"number": repr(number)}
    return number


def _made(data: Any, where: str, depth: int) -> Any:
    if depth > DEEPEST:
        raise DriftpeakError(f"{where} has parts within parts, too deeply")
    if isinstance(data, list):
        return tuple(_made(one, f"{where}[{n}]", depth + 1) for n, one in enumerate(data))
    if not isinstance(data, dict):
        return data
    tag = _tag(data)
    content = None if tag is None else data[tag]
    match tag:
        case "array":
            return _array(content, where)
        case "number" if content in ("inf", "-inf", "nan"):
            return float(content)
        case "yours":
            raise NotOursError(f"{where} is {_shown(content)}, which is not driftpeak's own")
        case "space":
            return _called(lambda: space_from_data(content), tag, where)
        case str() if isinstance(content, dict) and (entry := entry_of(tag)) is not None:
            return _constructed(tag, entry, content, where, depth)
    raise DriftpeakError(f"{where} is {_shown(tag or data)}, which this version does not know")


def _constructed(tag: str, entry: Entry, content: dict[str, Any], where: str, depth: int) -> Any:
    given = {}
    for name, one in content.items():
        if name not in entry.parameters:
            raise DriftpeakError(f"{where} is a {tag}, which has no {_shown(name)} here")
        given[name] = _made(one, f"{where}.{name}", depth + 1)
        if not fits(given[name], entry.parameters[name][0]):
            raise DriftpeakError(f"{where}.{name} of a {tag} cannot be {_shown(one)}")
    return _called(lambda: entry.make(**given), tag, where)


def _called(make: Callable[[], Any], tag: str, where: str) -> Any:
    try:
        return make()
    except Exception as error:  # of any kind: whoever wrote the data chose the arguments
        raise DriftpeakError(f"{where} is no {tag}: {_shown(error)}") from None


def _array(content: Any, where: str) -> np.ndarray:
    try:
        found = np.asarray(content)
    except (ValueError, OverflowError):
        found = np.empty(0, object)
    if not isinstance(content, list) or found.dtype.kind not in ARRAYS:
        raise DriftpeakError(f"{where} is no array of numbers: {_shown(content)}")
    return found


def _shown(content: Any) -> str:
    text = str(content) if isinstance(content, str | Exception) else repr(content)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."
