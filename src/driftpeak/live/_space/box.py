"""Search spaces of named parameters.

dp.Box(rate=dp.Float(1e-4, 1, log=True), layers=dp.Integer(1, 9), kind=dp.Categorical("a", "b"))
"""

from collections.abc import Mapping

from attrs import field, frozen

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, nearest, rejected, shown
from driftpeak.gp.contexts import HasContext
from driftpeak.live._space.parameters import (
    Categorical,
    Float,
    Integer,
    Parameter,
    ParameterValues,
    Value,
    check_keys,
    check_text,
    same,
)

MOST_LEVELS = 10**6  # of a parameter that a condition names


@frozen(init=False)
class Box(HasContext):
    """A search space of named parameters; at most 10 of them are practical.

    Each parameter is a `Float`, `Integer`, `Categorical` or `Boolean`. A parameter with a
    condition (`when`) is active only if the parameters in its condition are active and have one of
    the listed values. These parameters must come before it. Inactive parameters are not part of a
    setting.

    Arguments:
        parameters: a mapping, for names that are not Python identifiers; and
        **named: parameters by name.

    Raises:
        DriftpeakError: there is no parameter; a name occurs twice; a value is not a parameter; a
            condition names a parameter that does not come before, or a value outside its range.

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
            raise DriftpeakError(
                f"parameter names must be distinct; got {name!r} twice, in the mapping and by name"
            )
        given.update(named)
        if not given:
            raise DriftpeakError(
                "Box must have at least one parameter; got none. Write Box(x=Float(0, 1))"
            )
        before: dict[str, Parameter] = {}
        for name, parameter in given.items():
            check_text("a parameter's name", name)
            if not isinstance(parameter, Float | Integer | Categorical):
                raise rejected(
                    f"parameter {name!r}", parameter, "be a Float, Integer, Categorical or Boolean"
                )
            _check_condition(name, parameter, before)
            before[name] = parameter
        self.__attrs_init__(given)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"Box({inside})"

    def clean(self, parameters: object) -> ParameterValues:
        """Return a setting with the types of suggestions: an int given for a float becomes a float.

        Raises:
            DriftpeakError: a parameter is misspelt, missing, outside its range or inactive.
        """
        given = known_names(parameters, tuple(self.parameters))
        setting: ParameterValues = {}
        for name, parameter in self.parameters.items():
            condition = unmet(parameter, setting)
            if condition is None and name not in given:
                raise DriftpeakError(f"parameter {name!r} is missing")
            if condition is None:
                setting[name] = parameter.clean(name, given[name])
            elif name in given:
                raise DriftpeakError(
                    f"parameter {name!r} is active only if {condition}; leave it out"
                )
        return setting

    def moved(self, setting: ParameterValues, name: str, value: Value) -> ParameterValues:
        """Return a setting with one value changed; newly active parameters get middle values."""
        changed: ParameterValues = {}
        for other, parameter in self.parameters.items():
            if unmet(parameter, changed) is None:
                middle = setting[other] if other in setting else parameter.decode(0.5)
                changed[other] = value if other == name else middle
        return changed


def _check_condition(name: str, parameter: Parameter, before: Mapping[str, Parameter]) -> None:
    for other, values in parameter.when:
        if other not in before:
            raise DriftpeakError(
                f"the condition of parameter {name!r} must name parameters before it "
                f"({', '.join(before) or 'there are none'}); got {shown(other)}."
                + nearest(other, before)
            )
        parent = before[other]
        if not 0 < parent.levels <= MOST_LEVELS:
            raise DriftpeakError(
                f"the condition of parameter {name!r} must name parameters with at most "
                f"{MOST_LEVELS:,} values; got {other!r}. Use a Categorical, Boolean or Integer"
            )
        for value in values:
            try:
                parent.clean(other, value)
            except DriftpeakError as error:
                raise DriftpeakError(
                    f"the condition of parameter {name!r} can never hold: {error}"
                ) from None


def unmet(parameter: Parameter, setting: ParameterValues) -> str | None:
    """Describe the first condition that earlier parameters do not meet; return None if all hold."""
    for other, values in parameter.when:
        if other not in setting or not any(same(setting[other], value) for value in values):
            return f"{other!r} is {' or '.join(map(repr, values))}"
    return None


def known_names(
    parameters: object, names: tuple[str, ...], what: str = "parameters"
) -> Mapping[str, object]:
    """Return `parameters` if it is a mapping without other names than `names`.

    Raises:
        DriftpeakError: `parameters` is not a mapping, or a name is misspelt.
    """
    if not isinstance(parameters, Mapping):
        if what != "parameters":
            raise rejected(what, parameters, f"map some of {', '.join(names)} to values")
        raise DriftpeakError(
            f"parameters must be a suggestion, its id, or a mapping of {', '.join(names)} to "
            f"values; got {shown(parameters)}"
        )
    check_keys(f"{what} must be", parameters, names)
    return parameters


def check_names(parameters: object, names: tuple[str, ...]) -> Mapping[str, object]:
    """Return `parameters` if it is a mapping with exactly these names.

    Raises:
        DriftpeakError: a name is missing or misspelt.
    """
    given = known_names(parameters, names)
    for name in names:
        if name not in given:
            raise DriftpeakError(f"parameter {name!r} is missing")
    return given
