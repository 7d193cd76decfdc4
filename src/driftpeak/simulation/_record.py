"""Record of a simulation, collected block by block into an xarray dataset."""

from collections.abc import Mapping, Sequence

import jax
import numpy as np
import xarray as xr

from driftpeak._core.times import Times
from driftpeak.policies.player import Prediction, Reading
from driftpeak.simulation._programs import Played

MEANINGS = {
    "action": "number of the sampled point",
    "reward": "observed reward",
    "regret": "instantaneous noiseless regret",
    "restarts": "resets caused by observations",
    "side_queries": "side queries answered by the expert",
    "squared_error": "squared prediction error, mean over all points",
    "expected_mean": "forecast mean of the function one step after the last",
    "expected_deviation": "standard deviation of the forecast of the function",
    "expected_noise": "estimated standard deviation of the noise on one reward",
}


class Record:
    """Arrays of outcomes with shape `(policy, trial, step)`.

    If `points` is given (the number of points), squared prediction errors of every step and every
    point are recorded too. If `forecast` is given (also the number of points), the forecast after
    the last step is recorded.
    """

    def __init__(
        self,
        names: list[str],
        foresight: Sequence[str],
        trials: int,
        steps: int,
        *,
        first_trial: int = 0,
        points: int | None = None,
        readings: Sequence[Mapping[str, Reading]] | None = None,
        forecast: int | None = None,
    ) -> None:
        shape = (len(names), trials, steps)
        self.first_trial = first_trial
        self.names = names
        self.foresight = foresight
        self.steps: dict[str, np.ndarray] = {
            "action": np.zeros(shape, np.int32),
            "reward": np.zeros(shape),
            "regret": np.zeros(shape),
            "restarts": np.zeros(shape, np.uint8),
            "side_queries": np.zeros(shape, np.int32),
        }
        self.error_sums = None
        if points is not None:
            self.steps["squared_error"] = np.full(shape, np.nan)
            self.error_sums = np.full((*shape[:2], points), np.nan)
        self.readings = {name: reading for own in readings or () for name, reading in own.items()}
        sizes = {
            name: [len(own[name].labels) for own in readings or () if name in own]
            for name in self.readings
        }
        self.thoughts = {
            name: np.full(
                (*shape, max(sizes[name])) if reading.labels else shape, np.nan, np.float32
            )
            for name, reading in self.readings.items()
        }
        self.forecasts: dict[str, np.ndarray] | None = None
        if forecast is not None:
            self.forecasts = {
                "expected_mean": np.full((*shape[:2], forecast), np.nan),
                "expected_deviation": np.full((*shape[:2], forecast), np.nan),
                "expected_noise": np.full(shape[:2], np.nan),
            }
        self.seconds = np.zeros(len(names))
        self.compile_seconds = np.zeros(len(names))

    def write(
        self,
        policy: int,
        trials: np.ndarray,
        steps: np.ndarray,
        played: Played,
        seconds: float,
        compile_seconds: float,
    ) -> None:
        first = trials[0] - self.first_trial
        _, most, last = self.steps["action"].shape
        rows = slice(first, min(first + len(trials), most))
        columns = slice(steps[0], min(steps[-1] + 1, last))
        height, width = rows.stop - rows.start, columns.stop - columns.start
        for name, block in (played.outcome.readings or {}).items():
            seen = np.asarray(block).swapaxes(0, 1)[:height, :width]
            into = self.thoughts[name][policy, rows, columns]
            into[(..., slice(seen.shape[-1])) if seen.ndim == 3 else ...] = seen
        for name, values in self.steps.items():
            block = getattr(played.outcome, name)
            if block is not None:  # None if the policy never does this, for example side queries
                values[policy, rows, columns] = np.asarray(block).T[:height, :width]
        if played.error_sums is not None and self.error_sums is not None:
            so_far = 0.0 if steps[0] == 0 else self.error_sums[policy, rows]
            self.error_sums[policy, rows] = so_far + np.asarray(played.error_sums)[:height]
        self.seconds[policy] += seconds
        self.compile_seconds[policy] += compile_seconds

    def foresee(self, policy: int, trials: np.ndarray, expected: Prediction | None) -> None:
        """Record a policy's forecast after the last step, if it makes forecasts."""
        if self.forecasts is None or expected is None:
            return
        first = trials[0] - self.first_trial
        height = min(len(trials), self.steps["action"].shape[1] - first)
        rows = slice(first, first + height)
        # rounding may leave a variance slightly below zero
        deviation = np.sqrt(np.maximum(np.asarray(expected.variance), 0.0))
        noise = np.broadcast_to(np.sqrt(np.asarray(expected.noise_variance)), len(trials))
        self.forecasts["expected_mean"][policy, rows] = np.asarray(expected.mean)[:height]
        self.forecasts["expected_deviation"][policy, rows] = deviation[:height]
        self.forecasts["expected_noise"][policy, rows] = noise[:height]

    def dataset(self, times: Times, seed: int) -> xr.Dataset:
        dims = ("policy", "trial", "step")
        variables = {
            name: (dims, values, {"long_name": MEANINGS[name]})
            for name, values in self.steps.items()
        }
        _, trials, steps = self.steps["action"].shape
        runs = xr.Dataset(
            variables
            | {
                "seconds": ("policy", self.seconds, {"units": "s"}),
                "compile_seconds": ("policy", self.compile_seconds, {"units": "s"}),
            },
            coords={
                "policy": self.names,
                "foresight": ("policy", list(self.foresight)),
                "trial": self.first_trial + np.arange(trials),
                "step": np.arange(1, steps + 1),
                "time": ("step", times),
            },
            attrs={"seed": seed, "jax_version": jax.__version__},
        )
        if self.error_sums is not None:
            meaning = "squared prediction error, mean over all steps"
            errors = self.error_sums / steps
            runs["point_error"] = (("policy", "trial", "point"), errors, {"long_name": meaning})
        for name, values in (self.forecasts or {}).items():
            own = ("policy", "trial", "point")[: values.ndim]
            runs[name] = (own, values, {"long_name": MEANINGS[name]})
        for name, reading in self.readings.items():
            shape = (*dims, f"{name}_of") if reading.labels else dims
            runs[name] = (shape, self.thoughts[name], {"long_name": reading.meaning})
            if reading.labels and len(reading.labels) == runs.sizes[f"{name}_of"]:
                runs = runs.assign_coords({f"{name}_of": list(reading.labels)})
        return runs
