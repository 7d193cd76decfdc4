"""Conversion between a search space of Optuna and a box of driftpeak."""

from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from driftpeak._core.errors import DriftpeakError, rejected
from driftpeak.live._space.box import Box
from driftpeak.live._space.parameters import Categorical, Float, Integer, Parameter, ParameterValues

Distributions = dict[str, BaseDistribution]


class SearchSpace:
    """Optuna's distributions by name, none with a single value, and the equivalent box.

    In the box, the choices of a categorical parameter are their indices, because Optuna's choices
    may be arbitrary objects.
    """

    def __init__(self, distributions: Distributions) -> None:
        self.distributions = dict(distributions)
        self.box = Box({name: _parameter(name, each) for name, each in distributions.items()})

    def setting(self, trial: FrozenTrial) -> ParameterValues | None:
        """Return a trial's setting in the box; None if it is incomplete or outside the box."""
        setting: dict[str, Any] = {}
        for name, distribution in self.distributions.items():
            if trial.distributions.get(name) != distribution:
                return None
            value = trial.params[name]
            if isinstance(distribution, CategoricalDistribution):
                value = int(distribution.to_internal_repr(value))
            setting[name] = value
        try:
            return self.box.clean(setting)
        except DriftpeakError:  # Optuna accepts fixed values outside the range
            return None

    def values(self, setting: ParameterValues) -> dict[str, Any]:
        """Return a setting of the box with Optuna's values."""
        values: dict[str, Any] = dict(setting)
        for name, distribution in self.distributions.items():
            if isinstance(distribution, CategoricalDistribution):
                values[name] = distribution.to_external_repr(values[name])
        return values


def _parameter(name: str, distribution: BaseDistribution) -> Parameter:
    match distribution:
        case FloatDistribution(low=low, high=high, log=log, step=step):
            return Float(low, high, log, step=step)
        case IntDistribution(low=low, high=high, log=log, step=step):
            return Integer(low, high, log, step=step if step != 1 else None)
        case CategoricalDistribution(choices=choices):
            return Categorical(*range(len(choices)))
    raise rejected(
        f"the distribution of parameter {name!r}", distribution, "be float, int or categorical"
    )
