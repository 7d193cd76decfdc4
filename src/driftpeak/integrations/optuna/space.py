"""Between a search space of Optuna and a box of driftpeak."""

from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.live.space.box import Box
from driftpeak.live.space.parameters import Categorical, Float, Integer, Parameter, ParameterValues

Distributions = dict[str, BaseDistribution]


class SearchSpace:
    """Distributions by name, none of them of a single value, and the box that they are.

    The choices of a categorical parameter are its box's by their numbers, since Optuna's may be
    anything.
    """

    def __init__(self, distributions: Distributions) -> None:
        self.distributions = dict(distributions)
        self.box = Box({name: _parameter(name, one) for name, one in distributions.items()})

    def setting(self, trial: FrozenTrial) -> ParameterValues | None:
        """What a trial has set, in the box; None if that is not the whole of it, or outside."""
        found: dict[str, Any] = {}
        for name, distribution in self.distributions.items():
            if trial.distributions.get(name) != distribution:
                return None
            value = trial.params[name]
            if isinstance(distribution, CategoricalDistribution):
                value = int(distribution.to_internal_repr(value))
            found[name] = value
        try:
            return self.box.clean(found)
        except DriftpeakError:  # Optuna lets a fixed value lie outside the range
            return None

    def values(self, setting: ParameterValues) -> dict[str, Any]:
        """A setting of the box, as Optuna has it."""
        found: dict[str, Any] = dict(setting)
        for name, distribution in self.distributions.items():
            if isinstance(distribution, CategoricalDistribution):
                found[name] = distribution.to_external_repr(found[name])
        return found


def _parameter(name: str, distribution: BaseDistribution) -> Parameter:
    match distribution:
        case FloatDistribution(low=low, high=high, log=log, step=step):
            return Float(low, high, log, step=step)
        case IntDistribution(low=low, high=high, log=log, step=step):
            return Integer(low, high, log, step=step if step != 1 else None)
        case CategoricalDistribution(choices=choices):
            return Categorical(*range(len(choices)))
    raise DriftpeakError(
        f"parameter {name!r} has a distribution that driftpeak does not know: {shown(distribution)}"
    )
