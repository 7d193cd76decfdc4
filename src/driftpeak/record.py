"""What happened in a simulation, collected block by block into an xarray dataset."""

from collections.abc import Sequence

import jax
import numpy as np
import xarray as xr

from driftpeak.forgetting import Times
from driftpeak.programs import Outcome


class Record:
    """Collects outcomes into arrays of shape `(policy, trial, step)`."""

    def __init__(
        self,
        names: list[str],
        foresight: Sequence[str],
        trials: int,
        steps: int,
        *,
        first_trial: int = 0,
        predictions: bool = False,
    ) -> None:
        shape = (len(names), trials, steps)
        self.first_trial = first_trial
        self.names = names
        self.foresight = foresight
        self.action = np.zeros(shape, np.int32)
        self.reward = np.zeros(shape)
        self.regret = np.zeros(shape)
        self.restarts = np.zeros(shape, np.uint8)
        self.side_queries = np.zeros(shape, np.int32)
        self.squared_error = np.full(shape, np.nan) if predictions else None
        self.seconds = np.zeros(len(names))
        self.compile_seconds = np.zeros(len(names))

    def write(
        self,
        policy: int,
        trials: np.ndarray,
        steps: np.ndarray,
        outcome: Outcome,
        seconds: float,
        compile_seconds: float,
    ) -> None:
        first = trials[0] - self.first_trial
        rows = slice(first, min(first + len(trials), self.action.shape[1]))
        columns = slice(steps[0], min(steps[-1] + 1, self.action.shape[2]))
        height, width = rows.stop - rows.start, columns.stop - columns.start
        happened = {name: block for name, block in outcome._asdict().items() if block is not None}
        for name, block in happened.items():
            getattr(self, name)[policy, rows, columns] = np.asarray(block).T[:height, :width]
        self.seconds[policy] += seconds
        self.compile_seconds[policy] += compile_seconds

    def dataset(self, times: Times, seed: int) -> xr.Dataset:
        dims = ("policy", "trial", "step")
        units = {"seconds": {"units": "s"}, "compile_seconds": {"units": "s"}}
        runs = xr.Dataset(
            {
                "action": (dims, self.action, {"long_name": "number of the point sampled"}),
                "reward": (dims, self.reward, {"long_name": "reward as observed"}),
                "regret": (dims, self.regret, {"long_name": "instantaneous noiseless regret"}),
                "restarts": (dims, self.restarts, {"long_name": "restarts for what was seen"}),
                "side_queries": (dims, self.side_queries, {"long_name": "answered by the expert"}),
                "seconds": ("policy", self.seconds, units["seconds"]),
                "compile_seconds": ("policy", self.compile_seconds, units["compile_seconds"]),
            },
            coords={
                "policy": self.names,
                "foresight": ("policy", list(self.foresight)),
                "trial": self.first_trial + np.arange(self.action.shape[1]),
                "step": np.arange(1, self.action.shape[2] + 1),
                "time": ("step", times),
            },
            attrs={"seed": seed, "jax_version": jax.__version__},
        )
        if self.squared_error is not None:
            meaning = "squared prediction error, mean over all points"
            runs["squared_error"] = (dims, self.squared_error, {"long_name": meaning})
        return runs
