"""A scheduler for Ray Tune that adapts hyperparameters during training.

It needs Ray: `pip install 'driftpeak[ray]'`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from ray.tune.schedulers import PopulationBasedTraining
from ray.tune.search.sample import (
    Categorical as Choice,
    Float as Real,
    Integer as Whole,
    LogUniform,
    Quantized,
    Uniform,
)
from ray.tune.utils.util import flatten_dict, unflatten_dict

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, shown, unit_interval
from driftpeak.live._category_bandit import Categories, make_bandit
from driftpeak.live._engines.setup import LivePolicy
from driftpeak.live._population import PopulationBasedBandit
from driftpeak.live._space.box import Box
from driftpeak.live._space.encoding import make_coding
from driftpeak.live._space.parameters import Categorical, Float, Integer, Parameter, ParameterValues
from driftpeak.live._study.storage import Storage


class DriftPB2(PopulationBasedTraining):
    """Population based bandits on Ray Tune, with hyperparameters that drift.

    The arguments are those of `ray.tune.schedulers.pb2.PB2`, and so is the schedule: trials in the
    lowest quantile copy the checkpoint of a trial in the highest quantile. The new hyperparameters
    are those of `driftpeak.PopulationBasedBandit`, which learns drift, lengthscales and noise.

    Arguments:
        time_attr, metric, mode, perturbation_interval, quantile_fraction, log_config,
        require_attrs, synch, custom_explore_fn: as for PB2.
        hyperparam_bounds: the hyperparameters by name, also in nested dictionaries. A value is
            `[low, high]`, a search space of Ray (`tune.loguniform(1e-5, 1e-1)`, `tune.randint(1,
            9)`, `tune.choice(["sgd", "adam"])`), or a parameter of driftpeak, which may be
            conditional (`dp.Float(0, 1, when={"optimizer": "sgd"})`). The values of an inactive
            parameter are None.
        resample_probability, categories, policy, seed, storage: as for `PopulationBasedBandit`.
            With a storage, a restored run keeps its observations.

    Raises:
        DriftpeakError: the hyperparameters are missing or cannot be converted.
        StudyMismatchError: the storage holds a study with other hyperparameters.
    """

    @checked
    def __init__(
        self,
        time_attr: str = "time_total_s",
        metric: str | None = None,
        mode: str | None = None,
        perturbation_interval: float = 60.0,
        hyperparam_bounds: Mapping[str, Any] | None = None,
        quantile_fraction: float = 0.25,
        log_config: bool = True,
        require_attrs: bool = True,
        synch: bool = False,
        custom_explore_fn: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        *,
        resample_probability: float = 0.5,
        categories: Categories = "gp",
        policy: LivePolicy | None = None,
        seed: int = 0,
        storage: Storage | None = None,
    ) -> None:
        if not hyperparam_bounds:
            raise DriftpeakError(
                "hyperparam_bounds must have at least one hyperparameter; got "
                f"{shown(hyperparam_bounds)}. Give, for example, {{'lr': [1e-5, 1e-1]}}"
            )
        flat = flatten_dict(dict(hyperparam_bounds), prevent_delimiter=True)
        parameters = {name: _parameter(name, bounds) for name, bounds in flat.items()}
        # Ray only uses the names of these: the values come from the population
        unused = dict.fromkeys(parameters, _never)
        super().__init__(
            time_attr=time_attr,
            metric=metric,
            mode=mode,
            perturbation_interval=perturbation_interval,
            hyperparam_mutations=unflatten_dict(unused),
            quantile_fraction=quantile_fraction,
            resample_probability=0,
            custom_explore_fn=custom_explore_fn,
            log_config=log_config,
            require_attrs=require_attrs,
            synch=synch,
        )
        self._space = Box(parameters)
        self._ranges = {name for name, bounds in flat.items() if isinstance(bounds, list | tuple)}
        self._resample_probability = unit_interval("resample_probability", resample_probability)
        make_bandit(categories, make_coding(self._space), seed)  # raises without a category
        self._categories = categories
        self._policy, self._seed, self._storage = policy, seed, storage
        self._population: PopulationBasedBandit | None = None

    @property
    def population(self) -> PopulationBasedBandit:
        """The population; its `optimizer` has the observations."""
        if self._population is None:
            self._population = PopulationBasedBandit(
                self._space,
                maximize=self._mode == "max",
                quantile=self._quantile_fraction or 0.25,  # the trials to copy are chosen by Ray
                resample_probability=self._resample_probability,
                categories=self._categories,
                policy=self._policy,
                seed=self._seed,
                storage=self._storage,
            )
        return self._population

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_population": None}  # a restored run opens its storage again

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        """Add a trial to the population; hyperparameters that its config lacks are suggested."""
        if not self._metric or not self._metric_op:
            super().on_trial_add(tune_controller, trial)  # raises
        given = flatten_dict(trial.config)
        fixed = {name: given[name] for name in self._space.parameters if name in given}
        setting = self._start(trial.trial_id, fixed)
        config = unflatten_dict(given | self._values(setting, given))
        trial.config.update(config)
        trial.evaluated_params.update({k: v for k, v in setting.items() if k not in fixed})
        super().on_trial_add(tune_controller, trial)

    def _start(self, member: str, fixed: Mapping[str, Any]) -> ParameterValues:
        """Add a member, some of whose hyperparameters may be given."""
        if fixed.keys() == self._space.parameters.keys():
            active = {name: value for name, value in fixed.items() if value is not None}
            return self.population.add(member, active)
        setting = self.population.add(member)
        if fixed:
            for name, value in fixed.items():
                setting = self._space.moved(setting, name, value)
            self.population.remove(member)
            self.population.add(member, setting)
        return setting

    def _values(self, setting: ParameterValues, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a config: None for an inactive hyperparameter.

        As in PB2, a value of a range `[low, high]` has the type of the trial's present value.
        """
        values = {name: setting.get(name) for name in self._space.parameters}
        for name in self._ranges:
            value = values[name]
            if isinstance(config.get(name), int) and isinstance(value, float):
                values[name] = round(value)
        return values

    def _save_trial_state(self, state: Any, time: Any, result: dict[str, Any], trial: Any) -> float:
        score = float(super()._save_trial_state(state, time, result, trial))
        if trial.trial_id not in self.population.members:  # this scheduler was unpickled
            flat = flatten_dict(trial.config)
            self._start(trial.trial_id, {name: flat[name] for name in self._space.parameters})
        member = self.population.members[trial.trial_id]
        if not math.isfinite(score):
            self.population.fail(trial.trial_id)
            state.last_score = -math.inf  # the lowest rank; Ray would never replace a NaN
        elif member.metric is None or time > member.time:
            self.population.report(trial.trial_id, float(result[self._metric]), float(time))
        return score

    def _get_new_config(
        self, trial: Any, trial_to_clone: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        setting = self.population.explore(trial.trial_id, trial_to_clone.trial_id)
        config = flatten_dict(trial_to_clone.config)
        config = unflatten_dict(config | self._values(setting, config))
        if self._custom_explore_fn:
            config = self._custom_explore_fn(config)
            if not isinstance(config, dict):
                raise DriftpeakError(
                    f"custom_explore_fn must return the config; got {shown(config)}"
                )
        return config, {}

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """Remove a trial that failed from the population; its observations are kept."""
        self._remove(trial)
        super().on_trial_error(tune_controller, trial)

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:
        """Remove a trial that ended from the population; its observations are kept."""
        self._remove(trial)
        super().on_trial_complete(tune_controller, trial, result)

    def on_trial_remove(self, tune_controller: Any, trial: Any) -> None:
        """Remove a trial from the population; its observations are kept."""
        self._remove(trial)
        super().on_trial_remove(tune_controller, trial)

    def _remove(self, trial: Any) -> None:
        if trial.trial_id in self.population.members:
            self.population.remove(trial.trial_id)


def _never() -> None:
    raise AssertionError("the population chooses the hyperparameters")


def _parameter(name: str, bounds: Any) -> Parameter:
    """Return the parameter of a range, a search space of Ray, or a parameter.

    Raises:
        DriftpeakError: it is none of these, or Ray's space is unbounded or not uniform.
    """
    if isinstance(bounds, Parameter):
        return bounds
    if isinstance(bounds, list | tuple):
        if len(bounds) != 2:
            raise DriftpeakError(
                f"hyperparam_bounds[{name!r}] must be [low, high]; got {shown(bounds)}. Use "
                "tune.choice for a list of values"
            )
        return Float(*bounds)
    if isinstance(bounds, Choice):
        return Categorical(*bounds.categories)
    if isinstance(bounds, Real | Whole):
        sampler = bounds.get_sampler()
        step = sampler.q if isinstance(sampler, Quantized) else None
        sampler = sampler.sampler if isinstance(sampler, Quantized) else sampler
        log = isinstance(sampler, LogUniform)
        if (log or isinstance(sampler, Uniform)) and bounds.lower > -math.inf:
            if isinstance(bounds, Real):
                return Float(bounds.lower, bounds.upper, log=log, step=step)
            return Integer(bounds.lower, bounds.upper - (step is None), log=log, step=step)
    raise DriftpeakError(
        f"hyperparam_bounds[{name!r}] must be [low, high], a uniform, loguniform, randint or "
        f"choice of ray.tune, or a parameter of driftpeak; got {shown(bounds)}"
    )
