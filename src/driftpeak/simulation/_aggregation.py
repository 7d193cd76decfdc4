"""Collection of a run's chunks: everything, or sums that do not grow with the trials."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import jax
import numpy as np
import xarray as xr
from scipy import special

from driftpeak._core.errors import DriftpeakError
from driftpeak.simulation._chunking import Chunk
from driftpeak.simulation._record import MEANINGS

Keep = Literal["everything", "summaries"]
KEEPS: tuple[Keep, ...] = get_args(Keep)
LEVEL = 0.05
"""Probability that an interval over trials misses the mean."""
STEP = 25
"""Bytes recorded per policy and step, at least."""
SUMMED = ("seconds", "compile_seconds", "contradictions")
"""Variables that are summed over chunks."""
TOTALS = {
    "total_regret": "cumulative noiseless regret of a trial",
    "total_side_queries": "side queries answered by the expert in a trial",
    "total_restarts": "resets caused by observations in a trial",
    "best_steps": "steps of a trial on a best point",
}
SERIES = {
    "mean_regret": "instantaneous noiseless regret, mean over trials",
    "mean_regret_so_far": "regret per step so far, mean over trials",
}
QUERIES = "mean_side_queries"


def check_room(policies: int, trials: int, steps: int) -> None:
    """Raise DriftpeakError if the record of every step of every trial exceeds the memory."""
    needed, there = STEP * policies * trials * steps, _memory()
    if there is not None and needed > there:
        raise DriftpeakError(
            f"the record of every step must fit into the memory of this machine, "
            f"{there / 2**30:,.0f} GiB; got {needed / 2**30:,.0f} GiB for {trials:,} trials. Use "
            "keep='summaries' or fewer trials"
        )


def _memory() -> int | None:
    """Return the memory of this machine in bytes, or None if it is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not available on Windows
        return None


def kept_of(runs: xr.Dataset) -> Keep:
    """Return how a run was recorded; records without the attribute have everything."""
    return "summaries" if runs.attrs.get("keep") == "summaries" else "everything"


class Moments(NamedTuple):
    """Number of trials, means and sums of squared deviations, by policy and step."""

    trials: int
    mean: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> "Moments":
        """Return the moments of values of shape `(trial, step)`."""
        mean = values.mean(axis=0)
        return cls(len(values), mean, ((values - mean) ** 2).sum(axis=0))

    def joined(self, other: "Moments") -> "Moments":
        """Return the moments of the union of both samples (Chan, Golub and LeVeque 1979)."""
        trials = self.trials + other.trials
        gap = other.mean - self.mean
        mean = self.mean + gap * (other.trials / trials)
        squares = self.squares + other.squares
        return Moments(trials, mean, squares + gap**2 * (self.trials * other.trials / trials))

    @property
    def stderr(self) -> np.ndarray:
        """Standard error of the mean; NaN for one trial."""
        if self.trials < 2:
            return np.full_like(self.mean, np.nan)
        return np.sqrt(self.squares / (self.trials - 1) / self.trials)


def summarised(runs: xr.Dataset) -> xr.Dataset:
    """Return the summaries of a chunk: totals by trial and moments by step."""
    regret = runs["regret"].values
    steps = np.arange(1, regret.shape[-1] + 1)
    each = ("policy", "trial")
    made = {
        "total_regret": (each, regret.sum(axis=-1)),
        "total_side_queries": (each, runs["side_queries"].values.sum(axis=-1, dtype=np.int64)),
        "total_restarts": (each, runs["restarts"].values.sum(axis=-1, dtype=np.int64)),
        "best_steps": (each, (regret <= 0).sum(axis=-1, dtype=np.int64)),
        QUERIES: (("policy", "step"), runs["side_queries"].values.mean(axis=1)),
    }
    series: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "mean_regret": lambda regrets: regrets,
        "mean_regret_so_far": lambda regrets: regrets.cumsum(axis=-1) / steps,
    }
    for name, values in series.items():
        # one policy at a time, to save memory
        moments = [Moments.of(values(regrets)) for regrets in regret]
        made[name] = (("policy", "step"), np.stack([each.mean for each in moments]))
        made[f"{name}_squares"] = (("policy", "step"), np.stack([each.squares for each in moments]))
    rest = runs[[name for name in SUMMED if name in runs]]
    return xr.Dataset(made, coords=runs.coords).merge(rest).assign_attrs(runs.attrs)


class Gathering:
    """Collector of the chunks of a run, which may arrive in any order.

    Arguments:
        keep: "everything" or "summaries".
        chunks: all expected chunks, in their order.
    """

    def __init__(self, keep: Keep, chunks: Sequence[Chunk]) -> None:
        self._keep, self._chunks = keep, tuple(chunks)
        ends = np.cumsum([chunk.trials for chunk in chunks])
        self._rows = {
            chunk: slice(end - chunk.trials, end) for chunk, end in zip(chunks, ends, strict=True)
        }
        self._by_trial: dict[str, xr.Variable] = {}
        self._sums: dict[str, np.ndarray] = {}
        self._frame: xr.Dataset | None = None  # the variables without the dimension trial
        self._order: list[str] = []
        self._waiting: dict[Chunk, dict[str, Moments]] = {}
        self._next = 0
        self._moments: dict[str, Moments] = {}

    def add(self, chunk: Chunk, part: xr.Dataset) -> None:
        """Add one chunk."""
        if self._frame is None:
            self._begin(part)
        rows = self._rows[chunk]
        for name, whole in self._by_trial.items() if len(self._chunks) > 1 else ():
            axis = whole.dims.index("trial")
            whole.values[(slice(None),) * axis + (rows,)] = part[name].values
        for name in self._sums:
            self._sums[name] = self._sums[name] + part[name].values
        if self._keep == "summaries":
            self._waiting[chunk] = _moments(part, chunk.trials)
            self._merge()

    def _begin(self, part: xr.Dataset) -> None:
        self._frame, self._order = part.drop_dims("trial"), list(map(str, part.data_vars))
        if len(self._chunks) == 1:  # no copy is needed
            self._by_trial = {str(n): v for n, v in part.variables.items() if "trial" in v.dims}
        total = sum(chunk.trials for chunk in self._chunks)
        for name, variable in part.variables.items():
            if "trial" in variable.dims and name not in self._by_trial:
                shape = [
                    total if dim == "trial" else size
                    for dim, size in zip(variable.dims, variable.shape, strict=True)
                ]
                self._by_trial[str(name)] = xr.Variable(
                    variable.dims, np.empty(shape, variable.dtype), variable.attrs
                )
        self._sums = {
            name: np.zeros(part[name].shape, part[name].dtype) for name in SUMMED if name in part
        }

    def _merge(self) -> None:
        """Merge moments in the order of the chunks, so that the order of arrival has no effect."""
        while self._next < len(self._chunks) and self._chunks[self._next] in self._waiting:
            arrived = self._waiting.pop(self._chunks[self._next])
            self._moments = (
                {name: self._moments[name].joined(moments) for name, moments in arrived.items()}
                if self._moments
                else arrived
            )
            self._next += 1

    def dataset(self) -> xr.Dataset:
        """Return the run; all chunks must have been added."""
        assert self._frame is not None
        runs = self._frame
        for name in SUMMED:
            if name in runs:
                runs[name] = (runs[name].dims, self._sums[name], runs[name].attrs)
        by_trial = {name: values for name, values in self._by_trial.items() if name != "trial"}
        runs = runs.assign_coords(trial=self._by_trial["trial"]).assign(by_trial)
        if self._keep == "summaries":
            runs = _in_words(runs, self._moments)
        kept = [name for name in self._order if name in runs.data_vars]
        kept += [str(name) for name in runs.data_vars if name not in kept]
        return runs[kept].assign_attrs(
            seed=int(runs.attrs["seed"]), jax_version=jax.__version__, keep=self._keep
        )


def _moments(part: xr.Dataset, trials: int) -> dict[str, Moments]:
    regrets = {
        name: Moments(trials, part[name].values, part[f"{name}_squares"].values) for name in SERIES
    }
    queries = part[QUERIES].values
    return regrets | {QUERIES: Moments(trials, queries, np.zeros_like(queries))}


def _in_words(runs: xr.Dataset, moments: Mapping[str, Moments]) -> xr.Dataset:
    """Return the run with means, intervals and long names instead of sums."""
    runs = runs.drop_vars([*SERIES, *(f"{name}_squares" for name in SERIES), QUERIES])
    dims = ("policy", "step")
    now, so_far = moments["mean_regret"], moments["mean_regret_so_far"]
    reach = now.stderr * (
        special.stdtrit(now.trials - 1, 1 - LEVEL / 2) if now.trials > 1 else np.nan
    )
    interval = "limit of the 95 % interval of mean_regret"
    series = {
        "mean_regret": (now.mean, SERIES["mean_regret"]),
        "mean_regret_stderr": (now.stderr, "standard error of mean_regret"),
        "mean_regret_low": (now.mean - reach, f"lower {interval}"),
        "mean_regret_high": (now.mean + reach, f"upper {interval}"),
        "mean_regret_so_far": (so_far.mean, SERIES["mean_regret_so_far"]),
        "mean_regret_so_far_stderr": (so_far.stderr, "standard error of mean_regret_so_far"),
        QUERIES: (moments[QUERIES].mean, f"{MEANINGS['side_queries']}, mean over trials"),
    }
    for name, (values, meaning) in series.items():
        runs[name] = (dims, values, {"long_name": meaning})
    for name, meaning in TOTALS.items():
        runs[name].attrs["long_name"] = meaning
    return runs
