"""Recordings of the tournament: the first part gives the prior, and policies run on the rest."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftpeak.environments import RecordedRewards
from driftpeak.experiments.experiment import Setup
from driftpeak.experiments.papers.mauduit2025_maps import europe, iberia
from driftpeak.experiments.tournament.players import WorldKnowledge, players
from driftpeak.inference.information import greedy_gain
from driftpeak.offline.data import RewardTable, read_table
from driftpeak.offline.data._monthly import read_monthly
from driftpeak.offline.data._traffic import read_speeds
from driftpeak.offline.history import calendar_periods, fit_history
from driftpeak.offline.replay import prior_from_history
from driftpeak.theory.variation import estimate_drift

TRAIN = 0.6
STARTS = 5  # first points, drawn at random


def _others(columns: int, table: RewardTable) -> RewardTable:
    """Return the columns halfway between those of `_every`."""
    return table.columns(np.arange(columns // 2, len(table.arms), columns))


def _every(columns: int, table: RewardTable) -> RewardTable:
    return table.columns(np.arange(0, len(table.arms), columns))


def _motorways(path: Path) -> RewardTable:
    """Return 50 stations, drawn once."""
    table = _speeds(path)
    return table.columns(np.sort(_drawn(table)[:50]))


def _speeds(path: Path) -> RewardTable:
    """Read speeds, including the constants with which the publisher filled gaps."""
    return read_speeds(path, outliers="keep")


def _other_motorways(path: Path) -> RewardTable:
    """Return 50 other stations."""
    table = _speeds(path)
    left = np.setdiff1d(np.arange(len(table.arms)), _drawn(table)[:50])
    return table.columns(left[:: len(left) // 50][:50])


def _drawn(table: RewardTable) -> Any:
    return np.random.default_rng(0).choice(len(table.arms), 50, replace=False)


def _three_weeks(path: Path) -> RewardTable:
    """Read the whole log; a failed sensor with impossible readings keeps its last valid reading.

    Sensors that fail in more than a fifth of the training rows are excluded.
    """
    table = read_table(path, missing="interpolate", outliers="keep")
    good = (table.values > 0) & (table.values < 50)
    first = math.floor(TRAIN * len(good))
    kept = np.flatnonzero(good[:first].mean(axis=0) >= 0.8)
    rows = np.where(good, np.arange(len(good))[:, None], 0)
    values = np.take_along_axis(table.values, np.maximum.accumulate(rows, axis=0), axis=0)
    return replace(table, values=values).columns(kept)


@dataclass(frozen=True)
class Recording:
    """A recorded table.

    Attributes:
        data: name of the data set. read: reads the table from its file. unit: unit of rewards.
        period: steps in a day, or for monthly data in a year; 1 if there is no such period.
    """

    data: str
    read: Callable[[Path], RewardTable]
    unit: str
    period: int = 1


RECORDINGS: dict[str, Recording] = {
    "Intel lab": Recording("intel-lab-table", read_table, "degrees C", 144),
    "PeMSD7": Recording("pems-speed", _motorways, "mph", 288),
    "US-101": Recording("us101-speed", lambda path: _every(3, _speeds(path)), "mph", 288),
    "stocks": Recording("stocks", read_table, "dollars"),
    "Europe": Recording("europe-anomalies", europe, "degrees C", 12),
    "Iberia": Recording(
        "iberia-temperature", lambda path: _every(4, iberia(path)), "degrees C", 12
    ),
    "PeMSD7, others": Recording("pems-speed", _other_motorways, "mph", 288),
    "US-101, others": Recording("us101-speed", lambda path: _others(3, _speeds(path)), "mph", 288),
    "Intel lab, 3 weeks": Recording("intel-lab-weeks", _three_weeks, "degrees C", 144),
    "PeMSD7, whole": Recording("pems-speed", _speeds, "mph", 288),
    "France": Recording(
        "france-temperature",
        lambda path: read_monthly(path, value="temperature_c", since="1981-01"),
        "degrees C",
        12,
    ),
}


def recorded(name: str, path: Path, against: str = "published") -> Setup:
    """Return the setup of one of `RECORDINGS`: a prior from the first 60 %, and a run on the rest.

    Rewards are in standard deviations of the prior, root mean square over the arms. `against` is
    the key of the rivals in `RIVALS`.
    """
    recording = RECORDINGS[name]
    table = recording.read(path)
    first = math.floor(TRAIN * len(table.values))
    deviation = float(np.sqrt(table.values[:first].var(axis=0, ddof=1).mean()))
    values = table.values / deviation
    history, rest = values[:first], values[first:]
    prior = prior_from_history(history, table.arms)
    farthest = np.abs(history - prior.mean).max(axis=0) / np.sqrt(prior.variance)
    known = WorldKnowledge(
        prior,
        len(rest),
        variation=None,
        drift=estimate_drift(history).cautious,
        markov=False,
        norm_bound=float(farthest.max()),
        gain=float(greedy_gain(prior, len(rest))[-1]),
        learned=fit_history(history, table.arms, likely=calendar_periods(table.times)),
        period=recording.period,
    )
    settings = {"one deviation": f"{deviation:.4g} {recording.unit}"} | known.settings
    policies = players(known, against, random_start=True)
    return Setup(RecordedRewards(rest), policies, len(rest), settings)
