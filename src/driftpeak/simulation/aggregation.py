"""What is kept of a run, chunk by chunk: everything, or sums that do not grow with the trials."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import jax
import numpy as np
import xarray as xr
from scipy import stats

from driftpeak._core.errors import DriftpeakError, nearest, shown
from driftpeak.simulation.chunking import Chunk
from driftpeak.simulation.record import MEANINGS

Keep = Literal["everything", "summaries"]
KEEPS: tuple[Keep, ...] = get_args(Keep)
LEVEL = 0.05
"""Chance that an interval over trials misses the mean."""
STEP = 25
"""Bytes that are kept of a policy's step, at least."""
SUMMED = ("seconds", "compile_seconds", "contradictions")
"""Of every chunk: what is added up."""
TOTALS = {
    "total_regret": "cumulative noiseless regret of a trial",
    "total_side_queries": "answered by the expert in a trial",
    "total_restarts": "restarts for what was seen in a trial",
    "best_steps": "steps of a trial on a best point",
}
SERIES = {
    "mean_regret": "instantaneous noiseless regret, mean over trials",
    "mean_regret_so_far": "regret per step so far, mean over trials",
}
QUERIES = "mean_side_queries"


def check_keep(keep: str) -> None:
    """Raise DriftpeakError for something that is no way of keeping a run."""
    if keep not in KEEPS:
        raise DriftpeakError(
            f"keep must be one of {', '.join(KEEPS)}; got {shown(keep)}."
            + nearest(str(keep), KEEPS)
        )


def check_room(policies: int, trials: int, steps: int) -> None:
    """Raise DriftpeakError if every step of every trial is more than this machine's memory."""
    needed, there = STEP * policies * trials * steps, _memory()
    if there is not None and needed > there:
        raise DriftpeakError(
            f"every step of {trials:,} trials takes {needed / 2**30:,.0f} GiB, and this machine "
            f"has {there / 2**30:,.0f}: take keep='summaries', or fewer trials"
        )


def _memory() -> int | None:
    """Bytes, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # on Windows there is no such call
        return None


def kept_of(runs: xr.Dataset) -> Keep:
    """How a run was kept; what says nothing of it was kept with everything."""
    return "summaries" if runs.attrs.get("keep") == "summaries" else "everything"


class Moments(NamedTuple):
    """Of numbers by policy and step over some trials: how many, means, squared deviations."""

    trials: int
    mean: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> "Moments":
        """Of values of shape `(trial, step)`."""
        mean = values.mean(axis=0)
        return cls(len(values), mean, ((values - mean) ** 2).sum(axis=0))

    def joined(self, other: "Moments") -> "Moments":
        """Of both together (Chan, Golub and LeVeque 1979)."""
        trials = self.trials + other.trials
        gap = other.mean - self.mean
        mean = self.mean + gap * (other.trials / trials)
        squares = self.squares + other.squares
        return Moments(trials, mean, squares + gap**2 * (self.trials * other.trials / trials))

    @property
    def stderr(self) -> np.ndarray:
        """Standard error of the mean; NaN of one trial."""
        if self.trials < 2:
            return np.full_like(self.mean, np.nan)
        return np.sqrt(self.squares / (self.trials - 1) / self.trials)


def summarised(runs: xr.Dataset) -> xr.Dataset:
    """A chunk's summaries, from everything about it: totals by trial, moments by step."""
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
        "mean_regret": lambda one: one,
        "mean_regret_so_far": lambda one: one.cumsum(axis=-1) / steps,
    }
    for name, values in series.items():
        found = [Moments.of(values(one)) for one in regret]  # a policy at a time: less memory
        made[name] = (("policy", "step"), np.stack([one.mean for one in found]))
        made[f"{name}_squares"] = (("policy", "step"), np.stack([one.squares for one in found]))
    rest = runs[[name for name in SUMMED if name in runs]]
    return xr.Dataset(made, coords=runs.coords).merge(rest).assign_attrs(runs.attrs)


class Gathering:
    """Puts the chunks of a run together, in whatever order they come.

    Arguments:
        keep: what is kept.
        chunks: all that will come, in their order.
    """

    def __init__(self, keep: Keep, chunks: Sequence[Chunk]) -> None:
        self._keep, self._chunks = keep, tuple(chunks)
        ends = np.cumsum([one.trials for one in chunks])
        self._rows = {
            one: slice(end - one.trials, end) for one, end in zip(chunks, ends, strict=True)
        }
        self._by_trial: dict[str, xr.Variable] = {}
        self._sums: dict[str, np.ndarray] = {}
        self._frame: xr.Dataset | None = None  # what does not grow with the trials
        self._order: list[str] = []
        self._waiting: dict[Chunk, dict[str, Moments]] = {}
        self._next = 0
        self._moments: dict[str, Moments] = {}

    def add(self, chunk: Chunk, part: xr.Dataset) -> None:
        """One chunk, as it is kept."""
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
        if len(self._chunks) == 1:  # it need not be copied
            self._by_trial = {str(n): v for n, v in part.variables.items() if "trial" in v.dims}
        total = sum(one.trials for one in self._chunks)
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
        """In the chunks' order, so that it makes no difference who was ready first."""
        while self._next < len(self._chunks) and self._chunks[self._next] in self._waiting:
            found = self._waiting.pop(self._chunks[self._next])
            self._moments = (
                {name: self._moments[name].joined(one) for name, one in found.items()}
                if self._moments
                else found
            )
            self._next += 1

    def dataset(self) -> xr.Dataset:
        """The run, once all chunks have come."""
        assert self._frame is not None
        runs = self._frame
        for name in SUMMED:
            if name in runs:
                runs[name] = (runs[name].dims, self._sums[name], runs[name].attrs)
        by_trial = {name: one for name, one in self._by_trial.items() if name != "trial"}
        runs = runs.assign_coords(trial=self._by_trial["trial"]).assign(by_trial)
        if self._keep == "summaries":
            runs = _in_words(runs, self._moments)
        kept = [name for name in self._order if name in runs.data_vars]
        kept += [str(name) for name in runs.data_vars if name not in kept]
        return runs[kept].assign_attrs(
            seed=int(runs.attrs["seed"]), jax_version=jax.__version__, keep=self._keep
        )


def _moments(part: xr.Dataset, trials: int) -> dict[str, Moments]:
    found = {
        name: Moments(trials, part[name].values, part[f"{name}_squares"].values) for name in SERIES
    }
    queries = part[QUERIES].values
    return found | {QUERIES: Moments(trials, queries, np.zeros_like(queries))}


def _in_words(runs: xr.Dataset, moments: Mapping[str, Moments]) -> xr.Dataset:
    """With means and intervals in place of sums, and meanings."""
    runs = runs.drop_vars([*SERIES, *(f"{name}_squares" for name in SERIES), QUERIES])
    dims = ("policy", "step")
    one, so_far = moments["mean_regret"], moments["mean_regret_so_far"]
    reach = one.stderr * (stats.t.ppf(1 - LEVEL / 2, one.trials - 1) if one.trials > 1 else np.nan)
    interval = "end of the 95 % interval of mean_regret"
    found = {
        "mean_regret": (one.mean, SERIES["mean_regret"]),
        "mean_regret_stderr": (one.stderr, "standard error of mean_regret"),
        "mean_regret_low": (one.mean - reach, f"lower {interval}"),
        "mean_regret_high": (one.mean + reach, f"upper {interval}"),
        "mean_regret_so_far": (so_far.mean, SERIES["mean_regret_so_far"]),
        "mean_regret_so_far_stderr": (so_far.stderr, "standard error of mean_regret_so_far"),
        QUERIES: (moments[QUERIES].mean, f"{MEANINGS['side_queries']}, mean over trials"),
    }
    for name, (values, meaning) in found.items():
        runs[name] = (dims, values, {"long_name": meaning})
    for name, meaning in TOTALS.items():
        runs[name].attrs["long_name"] = meaning
    return runs
