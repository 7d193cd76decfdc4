"""Conversion between a search space of Optuna and a box of driftpeak."""

from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from driftpeak._core.errors import DriftpeakError, rejected
from driftpeak.integrations.optuna._conditions import Condition, Distributions
from driftpeak.live._space.box import Box
from driftpeak.live._space.parameters import Categorical, Float, Integer, Parameter, ParameterValues


class SearchSpace:
    """Optuna's distributions by name, none with a single value, and the equivalent box.

    In the box, the choices of a categorical parameter are their indices, because Optuna's choices
    may be arbitrary objects.

    Arguments:
        distributions: the distributions by name; parents come before conditional parameters.
        conditions: conditions of some of the parameters.
    """

    def __init__(
        self, distributions: Distributions, conditions: Mapping[str, Condition] | None = None
    ) -> None:
        self.distributions = dict(distributions)
        self.conditions = dict(conditions or {})
        self.box = Box(
            {
                name: _parameter(name, each, self.conditions.get(name))
                for name, each in distributions.items()
            }
        )

    def setting(self, trial: FrozenTrial) -> ParameterValues | None:
        """Return a trial's setting in the box; None if it is incomplete or outside the box."""
        try:
            return self.box.clean(self.coded(trial))
        except DriftpeakError:  # Optuna accepts fixed values outside the range
            return None

    def coded(self, trial: FrozenTrial) -> ParameterValues:
        """Return the box's values of a trial's parameters that have these distributions."""
        setting: ParameterValues = {}
        for name, distribution in self.distributions.items():
            if trial.distributions.get(name) == distribution:
                value = trial.params[name]
                if isinstance(distribution, CategoricalDistribution):
                    value = int(distribution.to_internal_repr(value))
                setting[name] = value
        return setting

    def values(self, setting: ParameterValues) -> dict[str, Any]:
        """Return a setting of the box with Optuna's values."""
        values: dict[str, Any] = dict(setting)
        for name in setting:
            distribution = self.distributions[name]
            if isinstance(distribution, CategoricalDistribution):
                values[name] = distribution.to_external_repr(values[name])
        return values


def _parameter(name: str, distribution: BaseDistribution, when: Condition | None) -> Parameter:
    match distribution:
        case FloatDistribution(low=low, high=high, log=log, step=step):
            return Float(low, high, log, step=step, when=when)
        case IntDistribution(low=low, high=high, log=log, step=step):
            return Integer(low, high, log, step=step if step != 1 else None, when=when)
        case CategoricalDistribution(choices=choices):
            return Categorical(*range(len(choices)), when=when)
    raise rejected(
        f"the distribution of parameter {name!r}", distribution, "be float, int or categorical"
    )
