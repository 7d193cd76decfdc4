"""Spaces with context variables, which are observed but not chosen: `space.context(...)`."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from driftpeak._core.errors import DriftpeakError, shown


class HasContext:
    """Base class of spaces: `Box`, `Arms` and `Grid`."""

    __slots__ = ()

    def context(self, parameters: Mapping[str, Any] | None = None, /, **named: Any) -> "Contextual":
        """Return this space with context variables, for an `Optimizer`.

        Context variables are observed before each decision and cannot be chosen.

        Arguments:
            parameters: a mapping from names to parameters, for names that are not Python
                identifiers.
            **named: `Float`, `Integer`, `Categorical` or `Boolean` by name.

        Raises:
            DriftpeakError: no parameter, or a name given twice.

        Example:
            >>> import driftpeak as dp
            >>> prices = dp.Arms([9.9, 11.9, 13.9], names=["low", "middle", "high"])
            >>> space = prices.context(weekend=dp.Boolean())
            >>> shop = dp.Optimizer(space, maximize=True)
            >>> offer = shop.ask(context={"weekend": True})
            >>> shop.tell(offer, 12.5)
        """
        if not isinstance(parameters, Mapping | None):
            raise DriftpeakError(
                "a context must map names to parameters, as in context(load=Float(0, 1)); got "
                f"{shown(parameters)}"
            )
        given = dict(parameters or {})
        for name in given.keys() & named.keys():
            raise DriftpeakError(f"names of a context must be distinct; got {name!r} twice")
        given.update(named)
        if not given:
            raise DriftpeakError(
                "a context must have at least one parameter, as in context(load=Float(0, 1))"
            )
        return Contextual(self, given)


@frozen(eq=False, repr=False)
class Contextual:
    """A space with context variables.

    The method `context` of a space returns it, and an `Optimizer` accepts it.

    Attributes:
        space: the variables that can be chosen.
        parameters: the context variables by name; the optimiser validates them.
    """

    space: HasContext
    parameters: dict[str, Any] = field(hash=False)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.space!r}.context({inside})"
