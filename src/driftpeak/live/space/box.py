"""What can be set on a real system: named parameters in a box.

dp.Box(rate=dp.Float(1e-4, 1, log=True), layers=dp.Integer(1, 9), kind=dp.Categorical("a", "b"))
"""

from collections.abc import Mapping

from attrs import field, frozen

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, nearest, shown
from driftpeak.gp.contexts import HasContext
from driftpeak.live.space.parameters import (
    Categorical,
    Float,
    Integer,
    Parameter,
    ParameterValues,
    Value,
    check_text,
    same,
)

MOST_LEVELS = 10**6  # of a parameter on whose values others depend


@frozen(init=False)
class Box(HasContext):
    """Named parameters: `Float`, `Integer`, `Categorical` or `Boolean`, at most 10 in practice.

    A parameter with a condition (`when`) counts, and is part of a setting, only where the ones that
    it depends on count and have one of the values named; they are given before it.

    Arguments:
        parameters: a mapping, for names that are no Python identifiers; and
        **named: parameters by name.

    Raises:
        DriftpeakError: no parameter, a name given twice, something that is no parameter, or a
            condition on a parameter that is not there before, or on a value that it cannot have.

    Example:
        >>> import driftpeak as dp
        >>> space = dp.Box(
        ...     speed=dp.Float(0, 10),
        ...     gain=dp.Float(1e-3, 1, log=True),
        ...     stages=dp.Integer(1, 6),
        ...     coolant=dp.Categorical("water", "oil"),
        ... )
    """

    parameters: dict[str, Parameter] = field(hash=False)

    @checked
    def __init__(
        self, parameters: Mapping[str, Parameter] | None = None, /, **named: Parameter
    ) -> None:
        given = dict(parameters or {})
        for name in given.keys() & named.keys():
            raise DriftpeakError(f"parameter {name!r} is given twice")
        given.update(named)
        if not given:
            raise DriftpeakError("a box needs at least one parameter, as in Box(x=Float(0, 1))")
        before: dict[str, Parameter] = {}
        for name, parameter in given.items():
            check_text("a parameter's name", name)
            if not isinstance(parameter, Float | Integer | Categorical):
                raise DriftpeakError(
                    f"parameter {name!r} must be a Float, Integer, Categorical or Boolean; got "
                    f"{shown(parameter)}"
                )
            _check_condition(name, parameter, before)
            before[name] = parameter
        self.__attrs_init__(given)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"Box({inside})"

    def clean(self, parameters: object) -> ParameterValues:
        """A setting as it would be suggested: an int given for a float is a float.

        Raises:
            DriftpeakError: naming the parameter that is misspelt, missing or outside its range, or
                does not count there.
        """
        given = known_names(parameters, tuple(self.parameters))
        found: ParameterValues = {}
        for name, parameter in self.parameters.items():
            unmet = _unmet(parameter, found)
            if unmet is None and name not in given:
                raise DriftpeakError(f"parameter {name!r} is missing")
            if unmet is None:
                found[name] = parameter.clean(name, given[name])
            elif name in given:
                raise DriftpeakError(f"parameter {name!r} only counts when {unmet}: leave it out")
        return found

    def moved(self, setting: ParameterValues, name: str, value: Value) -> ParameterValues:
        """A setting with one value changed; what counts only then stands in the middle."""
        found: ParameterValues = {}
        for other, parameter in self.parameters.items():
            if _unmet(parameter, found) is None:
                middle = setting[other] if other in setting else parameter.decode(0.5)
                found[other] = value if other == name else middle
        return found


def _check_condition(name: str, parameter: Parameter, before: Mapping[str, Parameter]) -> None:
    for other, values in parameter.when:
        if other not in before:
            raise DriftpeakError(
                f"parameter {name!r} depends on {shown(other)}, which must be one given before it: "
                f"{', '.join(before) or 'there is none'}." + nearest(other, before)
            )
        parent = before[other]
        if not 0 < parent.levels <= MOST_LEVELS:
            raise DriftpeakError(
                f"parameter {name!r} cannot depend on {other!r}, which takes too many values: a "
                "Categorical, Boolean or Integer will do"
            )
        for value in values:
            try:
                parent.clean(other, value)
            except DriftpeakError as error:
                raise DriftpeakError(f"parameter {name!r} is never met: {error}") from None


def _unmet(parameter: Parameter, found: ParameterValues) -> str | None:
    """In words, the condition that the parameters before do not meet; None if they do."""
    for other, values in parameter.when:
        if other not in found or not any(same(found[other], value) for value in values):
            return f"{other!r} is {' or '.join(map(repr, values))}"
    return None


def known_names(parameters: object, names: tuple[str, ...]) -> Mapping[str, object]:
    """`parameters`, if it is a mapping with no other names than these.

    Raises:
        DriftpeakError: naming what is misspelt.
    """
    if not isinstance(parameters, Mapping):
        raise DriftpeakError(
            f"give a suggestion, its id, or a mapping of {', '.join(names)}; got "
            f"{shown(parameters)}"
        )
    for name in parameters:
        if name not in names:
            raise DriftpeakError(
                f"there is no parameter {shown(name)}; the space has {', '.join(names)}."
                + nearest(shown(name), names)
            )
    return parameters


def check_names(parameters: object, names: tuple[str, ...]) -> Mapping[str, object]:
    """`parameters`, if it is a mapping with exactly these names.

    Raises:
        DriftpeakError: naming what is missing or misspelt.
    """
    given = known_names(parameters, names)
    for name in names:
        if name not in given:
            raise DriftpeakError(f"parameter {name!r} is missing")
    return given
