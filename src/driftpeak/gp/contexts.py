"""What the world says and nobody chooses, beside what can be chosen: `space.context(...)`."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from driftpeak._core.errors import DriftpeakError, shown


class HasContext:
    """Base class of spaces: `Box`, `Arms` and `Grid`."""

    __slots__ = ()

    def context(self, parameters: Mapping[str, Any] | None = None, /, **named: Any) -> "Contextual":
        """This space in a context: what the world says and nobody chooses, for an `Optimizer`.

        Arguments:
            parameters: a mapping, for names that are no Python identifiers; and
            **named: `Float`, `Integer`, `Categorical` or `Boolean` by name.

        Raises:
            DriftpeakError: nothing given, or a name given twice.

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
                "a context maps names to parameters, as in context(load=Float(0, 1)); got "
                f"{shown(parameters)}"
            )
        given = dict(parameters or {})
        for name in given.keys() & named.keys():
            raise DriftpeakError(f"the context has {name!r} twice")
        given.update(named)
        if not given:
            raise DriftpeakError("a context needs a parameter, as in context(load=Float(0, 1))")
        return Contextual(self, given)


@frozen(eq=False, repr=False)
class Contextual:
    """A space in a context. Made by the method `context` of a space; read by an `Optimizer`.

    Attributes:
        space: what can be chosen.
        parameters: what the world says, by name; the optimiser checks them.
    """

    space: HasContext
    parameters: dict[str, Any] = field(hash=False)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.space!r}.context({inside})"
