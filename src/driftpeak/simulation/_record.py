"""Record of a chunk of trials, collected block by block into an xarray dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import xarray as xr

from driftpeak._core.times import Times
from driftpeak.policies import Player
from driftpeak.policies.player import Prediction, Reading
from driftpeak.simulation._programs import Outcome, Played

MEANINGS = {
    "action": "number of the sampled point",
    "reward": "observed reward",
    "regret": "instantaneous noiseless regret",
    "restarts": "resets caused by observations",
    "side_queries": "side queries answered by the expert",
    "squared_error": "squared prediction error, mean over all points",
    "point_error": "squared prediction error, mean over all steps",
    "expected_mean": "forecast mean of the function one step after the last",
    "expected_deviation": "standard deviation of the forecast of the function",
    "expected_noise": "estimated standard deviation of the noise on one reward",
}
MISSING = {
    "action": np.int32(0),
    "reward": np.float64(0),
    "regret": np.float64(0),
    "restarts": np.uint8(0),
    "side_queries": np.int32(0),
    "squared_error": np.float64(np.nan),
}
"""What is recorded of a policy without such an outcome; the types are those of the record."""


@dataclass(frozen=True)
class RecordOptions:
    """Optional recordings in addition to actions, rewards and regrets; see `simulate`."""

    predictions: bool = False
    readings: bool = False
    forecast: bool = False


class Record:
    """Outcomes of every policy in a chunk of trials.

    Arguments:
        players: the players by name of their policy.
        trials: numbers of the trials.
        points: number of points of the environment.
        options: what is recorded.
        readings: readings of all policies of the simulation, also of those in other jobs.
    """

    def __init__(
        self,
        players: Mapping[str, Player[Any]],
        trials: np.ndarray,
        points: int,
        options: RecordOptions,
        readings: Sequence[Mapping[str, Reading]],
    ) -> None:
        self._players, self._trials, self._readings = players, trials, readings
        self._blocks: list[list[Outcome]] = [[] for _ in players]
        each = (len(players), len(trials))
        self._names = [name for name in MISSING if name != "squared_error" or options.predictions]
        # of each trial, and of each point where there are further axes
        self._of_trials: dict[str, np.ndarray] = {}
        if options.predictions:
            self._of_trials["point_error"] = np.full((*each, points), np.nan)
        if options.forecast:
            self._of_trials["expected_mean"] = np.full((*each, points), np.nan)
            self._of_trials["expected_deviation"] = np.full((*each, points), np.nan)
            self._of_trials["expected_noise"] = np.full(each, np.nan)
        self._seconds, self._compile_seconds = np.zeros((2, len(players)))

    def write(self, policy: int, played: Played, seconds: float, compile_seconds: float) -> None:
        """Add the outcomes of policy number `policy` in the next block of steps.

        Steps and trials beyond those of the run are padding, and are not recorded.
        """
        if played.error_sums is not None:
            sums = self._of_trials["point_error"]
            so_far = sums[policy] if self._blocks[policy] else 0.0
            sums[policy] = so_far + np.asarray(played.error_sums)[: len(self._trials)]
        self._blocks[policy].append(jax.tree.map(np.asarray, played.outcome))
        self._seconds[policy] += seconds
        self._compile_seconds[policy] += compile_seconds

    def foresee(self, policy: int, expected: Prediction | None) -> None:
        """Record a policy's forecast after the last step, if it makes forecasts."""
        if expected is None:
            return
        mean, variance, noise = map(np.asarray, expected)
        # rounding may leave a variance slightly below zero
        deviation = np.sqrt(np.maximum(variance, 0.0))
        forecast = {"expected_mean": mean, "expected_deviation": deviation}
        forecast["expected_noise"] = np.broadcast_to(np.sqrt(noise), len(mean))
        for name, values in forecast.items():
            self._of_trials[name][policy] = values[: len(self._trials)]

    def dataset(self, times: Times, seed: int) -> xr.Dataset:
        """Return the record of a run at `times`."""
        dims = ("policy", "trial", "step")
        shape = (len(self._players), len(self._trials), len(times))
        runs = xr.Dataset(
            coords={
                "policy": list(self._players),
                "foresight": ("policy", [player.foresight for player in self._players.values()]),
                "trial": self._trials,
                "step": np.arange(1, len(times) + 1),
                "time": ("step", times),
            },
            attrs={"seed": seed, "jax_version": jax.__version__},
        )
        for name in self._names:
            outcomes = [[getattr(block, name) for block in blocks] for blocks in self._blocks]
            runs[name] = (dims, _whole(outcomes, np.full(shape, MISSING[name])))
        runs["seconds"] = ("policy", self._seconds, {"units": "s"})
        runs["compile_seconds"] = ("policy", self._compile_seconds, {"units": "s"})
        for name, values in self._of_trials.items():
            share = len(times) if name == "point_error" else 1
            runs[name] = (("policy", "trial", "point")[: values.ndim], values / share)
        for name, meaning in MEANINGS.items():
            if name in runs:
                runs[name].attrs["long_name"] = meaning
        readings = {name: reading for own in self._readings for name, reading in own.items()}
        for name, reading in readings.items():
            sizes = [len(own[name].labels) for own in self._readings if name in own]
            of_each = (f"{name}_of",) if reading.labels else ()
            whole = np.full((*shape, *(max(sizes),)[: len(of_each)]), np.nan, np.float32)
            outcomes = [[(b.readings or {}).get(name) for b in blocks] for blocks in self._blocks]
            text = {"long_name": reading.meaning}
            runs[name] = ((*dims, *of_each), _whole(outcomes, whole), text)
            if reading.labels and len(reading.labels) == max(sizes):
                runs = runs.assign_coords({f"{name}_of": list(reading.labels)})
        return runs


def _whole(outcomes: Sequence[Sequence[Any]], whole: np.ndarray) -> np.ndarray:
    """Return `whole`, shape `(policy, trial, step, ...)`, filled with outcomes, blocks by policy.

    A block has shape `(step, trial, ...)`, or is None. Its last axis may be shorter.
    """
    _, trials, steps = whole.shape[:3]
    for policy, blocks in enumerate(outcomes):
        if blocks[0] is not None:
            values = np.concatenate(blocks)[:steps, :trials].swapaxes(0, 1)
            whole[policy][..., : values.shape[-1]] = values
    return whole
