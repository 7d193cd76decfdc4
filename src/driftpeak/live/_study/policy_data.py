"""Exact conversion of policies to JSON-compatible data and back.

A policy and its parts are written as a tag and the constructor's arguments::

    {"belief-policy": {"prior": {"prior": {"domain": {"space": {"grid": [[0, 1]], "size": [50]}},
                                           "kernel": {"se": {"lengthscale": 0.2}}, ...}},
                       "forgetting": {"drift": {"drift": 0.02}}, ...}}

The tags are in `driftpeak.live._study.registry`. In addition, `{"array": [...]}` is an array of
numbers, `{"number": "inf"}` is a number that JSON does not have, and `{"space": ...}` is arms or a
grid. User-defined kernels and functions cannot be stored. `{"yours": "its name"}` is stored for
comparison only. Reading calls only constructors of the registry, with arguments of the types that
they accept.
"""

import math
from collections.abc import Callable, Iterator
from inspect import Parameter, isfunction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftpeak._core.arguments import Constructor, arguments_of, fits
from driftpeak._core.errors import DriftpeakError
from driftpeak.gp.domains import Arms, Grid
from driftpeak.live._space.serialization import space_from_data, space_to_data
from driftpeak.live._study.registry import constructor_of, tag_of


class NotOursError(DriftpeakError):
    """A part of a stored policy is user-defined and cannot be constructed."""


DEEPEST = 50  # maximum of nesting; a policy has about five levels
FORMER_ARGUMENTS = {("drifting-gp", "scoped"): "boundary_weighting"}
"""Present names of renamed arguments, by tag and name in older studies."""
ARRAYS = "biuf"  # NumPy's kinds of booleans, integers and real numbers


def policy_to_data(policy: Any) -> Any:
    """Return a policy as tags and arguments in JSON-compatible data.

    Arguments:
        policy: a policy, or a part of one, such as a kernel, a number or an array.
    """
    if policy is None or isinstance(policy, bool | str):
        return policy
    if isinstance(policy, int | float | np.generic) or (_is_array(policy) and policy.ndim == 0):
        return _number(policy)
    if _is_array(policy) and np.asarray(policy).dtype.kind in ARRAYS:
        return {"array": np.asarray(policy).tolist()}
    if type(policy) in (list, tuple):
        return [policy_to_data(part) for part in policy]
    if isinstance(policy, Arms | Grid):
        return {"space": space_to_data(policy)}
    tag = tag_of(type(policy))
    constructor = constructor_of(tag)
    if constructor is not None:
        given = arguments_of(policy, constructor.parameters)
        if given is not None:
            return {tag: {name: policy_to_data(part) for name, part in given.items()}}
    named = policy if isinstance(policy, type) or isfunction(policy) else type(policy)
    return {"yours": f"{named.__module__}.{named.__qualname__}"}


def policy_from_data(data: Any) -> Any:
    """Return the policy that `policy_to_data` described.

    Arguments:
        data: the result of `policy_to_data`. Stored data never runs code: only the classes in the
            catalogue of policies can be made from it.

    Raises:
        DriftpeakError: a part is user-defined, unknown to this version, or rejected by its
            constructor. The message names the part.
    """
    return _made(data, "the policy", 0)


def can_be_made(data: Any) -> bool:
    """Return whether a stored policy can be constructed, apart from user-defined parts."""
    try:
        policy_from_data(data)
    except NotOursError:
        return True
    except DriftpeakError:
        return False
    return True


def differences(stored: Any, given: Any, where: str = "policy") -> Iterator[tuple[str, bool]]:
    """Return the parts in which two policies differ, and whether each difference is certain.

    A difference is uncertain if the stored part is user-defined or unknown to this version. A
    missing argument, added after the policy was stored, has its default.
    """
    tag, other = _tag(stored), _tag(given)
    constructor = constructor_of(tag)
    if tag is None or tag != other or constructor is None:
        if isinstance(stored, list) and isinstance(given, list) and len(stored) == len(given):
            for number, pair in enumerate(zip(stored, given, strict=True)):
                yield from differences(*pair, f"{where}[{number}]")
        elif stored != given:
            known = tag is None or constructor is not None or tag in ("array", "number", "space")
            yield where, known
        return
    if not isinstance(stored[tag], dict):
        yield where, False
        return
    parameters, before, now = constructor.parameters, _arguments(tag, stored[tag]), given[tag]
    for name in dict.fromkeys((*before, *now)):
        if name not in parameters:
            yield f"{where}.{name}", False
        elif name in before or parameters[name][1] is not Parameter.empty:
            was = before.get(name, policy_to_data(parameters[name][1]))
            here = now.get(name, policy_to_data(parameters[name][1]))
            yield from differences(was, here, f"{where}.{name}")


def _tag(data: Any) -> str | None:
    return next(iter(data)) if isinstance(data, dict) and len(data) == 1 else None


def _arguments(tag: str, stored: dict[str, Any]) -> dict[str, Any]:
    """Return stored arguments by their present names."""
    return {FORMER_ARGUMENTS.get((tag, name), name): value for name, value in stored.items()}


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
        raise DriftpeakError(f"{where} must be nested at most {DEEPEST} levels deep")
    if isinstance(data, list):
        return tuple(_made(part, f"{where}[{n}]", depth + 1) for n, part in enumerate(data))
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
            raise NotOursError(
                f"{where} must be a part of driftpeak; got the user-defined {_shown(content)}"
            )
        case "space":
            return _called(lambda: space_from_data(content), tag, where)
        case str() if (
            isinstance(content, dict) and (constructor := constructor_of(tag)) is not None
        ):
            return _constructed(tag, constructor, content, where, depth)
    raise DriftpeakError(f"{where} must be known to this version; got {_shown(tag or data)}")


def _constructed(
    tag: str, constructor: Constructor, content: dict[str, Any], where: str, depth: int
) -> Any:
    given = {}
    for name, value in _arguments(tag, content).items():
        if name not in constructor.parameters:
            raise DriftpeakError(
                f"{where}, a {tag}, must have arguments that this version knows; got {_shown(name)}"
            )
        given[name] = _made(value, f"{where}.{name}", depth + 1)
        if not fits(given[name], constructor.parameters[name][0]):
            raise DriftpeakError(
                f"{where}.{name} of a {tag} must have a supported type; got {_shown(value)}"
            )
    return _called(lambda: constructor.make(**given), tag, where)


def _called(make: Callable[[], Any], tag: str, where: str) -> Any:
    try:
        return make()
    except Exception as error:  # any class: the stored arguments may be arbitrary
        raise DriftpeakError(f"{where} must be a valid {tag}: {_shown(error)}") from None


def _array(content: Any, where: str) -> np.ndarray:
    try:
        array = np.asarray(content)
    except (ValueError, OverflowError):
        array = np.empty(0, object)
    if not isinstance(content, list) or array.dtype.kind not in ARRAYS:
        raise DriftpeakError(f"{where} must be an array of numbers; got {_shown(content)}")
    return array


def _shown(content: Any) -> str:
    text = str(content) if isinstance(content, str | Exception) else repr(content)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."
