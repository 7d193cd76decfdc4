"""M25's recorded maps (section 4.2, figures 3 and 4): monthly temperature anomalies."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from driftpeak.environments import RecordedRewards
from driftpeak.experiments.claims import Claim, lower, lowest
from driftpeak.experiments.experiment import Case, Experiment, Setup, described, recorded
from driftpeak.experiments.figures import regret_panels
from driftpeak.experiments.papers.mauduit2025 import OTHERS, SIDES
from driftpeak.experiments.recorded_figures import error_map, tracks
from driftpeak.gp.priors import Prior
from driftpeak.inference.information import greedy_gain
from driftpeak.offline.data import RewardTable, cell_positions, read_monthly, read_table
from driftpeak.offline.replay import prior_from_history
from driftpeak.policies import (
    GPUCB,
    RGPUCB,
    SWGPUCB,
    TVGPUCB,
    WGPUCB,
    AdaptiveSparQ,
    Policy,
    SparQ,
    WSparQ,
)
from driftpeak.simulation._simulator import simulate
from driftpeak.theory.schedules import discount_factor, restart_period, window_length

TRIALS, TRAINING_TRIALS, TRAINING_SEED = 10, 3, 2025
DRIFTS = (0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EXPONENTS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
SPARQ, WSPARQ = SIDES
ADAPTIVE = "adaptive SparQ"
Reader = Callable[[Path], RewardTable]
MAP_PANELS = partial(
    regret_panels, average=True, further=("squared_error", "side_queries"), unit="degrees C"
)


def europe(path: Path) -> RewardTable:
    """Read anomalies of European regions, 1975 to 2020."""
    return read_monthly(path, since="1975-01", until="2020-12")


def france(path: Path) -> RewardTable:
    """Read anomalies of French regions, 1981 to 2020; earlier data come from other stations."""
    return read_monthly(path, since="1981-01")


def iberia(path: Path) -> RewardTable:
    """Read anomalies on a half-degree grid, relative to the calendar months of the first half."""
    return _anomalies(path)


def southern_france(path: Path) -> RewardTable:
    """Read the cells of the grid that lie in France: from 43.25 N, east of 1.5 W."""
    table = _anomalies(path)
    longitude, latitude = cell_positions(table.arms).T
    inside = np.flatnonzero((latitude >= 43.25) & (longitude > -1.5))
    arms = tuple(table.arms[cell] for cell in inside)
    values = table.values[:, inside]
    return replace(table, values=values, arms=arms, positions=cell_positions(arms))


def _anomalies(path: Path) -> RewardTable:
    table = read_table(path)
    half = len(table.values) // 2
    calendar = np.arange(len(table.values)) % 12
    means = np.stack([table.values[:half][calendar[:half] == month].mean(0) for month in range(12)])
    anomalies = table.values - means[calendar]
    return replace(table, values=anomalies, positions=cell_positions(table.arms))


def error(prior: Prior, values: Any, policy: Policy) -> float:
    """Return the squared prediction error of a policy on recorded months."""
    world = RecordedRewards(values, noise_variance=prior.noise_variance)
    options: dict[str, Any] = {"trials": TRAINING_TRIALS, "seed": TRAINING_SEED}
    runs = simulate({"it": policy}, world, steps=len(values), predictions=True, progress=False,
                    **options)  # fmt: skip
    return float(runs["squared_error"].values.mean())


def setup(read: Reader, path: Path) -> Setup:
    """Return the setup: a prior from the first half of the months, and a run on the second."""
    table = read(path)
    half = len(table.values) // 2
    history = table.values[:half]
    prior = prior_from_history(history, table.arms)
    drift = min(DRIFTS, key=lambda x: error(prior, history, TVGPUCB(prior, drift=x)))
    exponent = min(
        EXPONENTS,
        key=lambda x: error(prior, history, WSparQ(prior, exponent=x, multiplicity=True)),
    )
    return map_setup(table, prior, drift, exponent, {ADAPTIVE: AdaptiveSparQ(prior)}, {})


def map_setup(
    table: RewardTable,
    prior: Prior,
    drift: float,
    exponent: float,
    further: Mapping[str, Policy],
    learned: Mapping[str, Any],
) -> Setup:
    """Return the setup of the second half of the months.

    Arguments:
        drift, exponent: parameters of TV-GP-UCB and W-SparQ.
        further: policies in addition to M25's seven.
        learned: settings in addition to the parameters of the seven policies.
    """
    half = len(table.values) // 2
    rest = table.rows(half)
    steps = len(rest.values)
    gain = float(greedy_gain(prior, steps)[-1])
    scale: dict[str, Any] = {"horizon": steps, "dimension": 2, "gain": gain}
    period = restart_period(prior.kernel, **scale)
    window = window_length(prior.kernel, **scale)
    discount = discount_factor(prior.kernel, **scale)
    policies = {
        "GP-UCB": GPUCB(prior),
        "R-GP-UCB": RGPUCB(prior, period=period),
        "SW-GP-UCB": SWGPUCB(prior, window=window),
        "TV-GP-UCB": TVGPUCB(prior, drift=drift),
        "W-GP-UCB": WGPUCB(prior, discount=discount),
        SPARQ: SparQ(prior, multiplicity=True),
        WSPARQ: WSparQ(prior, exponent=exponent, multiplicity=True),
        **further,
    }
    settings = {
        "points": len(table.arms), "months to learn from": half, **learned, "gain": gain,
        "drift": drift, "exponent": exponent, "period": period, "window": window,
        "discount": discount, "noise_variance": prior.noise_variance, "width": "0.8, 4", "a": 1 / 4,
    }  # fmt: skip
    world = RecordedRewards(rest.values, noise_variance=prior.noise_variance)
    return Setup(world, policies, steps, settings, recorded(rest))


def _claims(case: str) -> tuple[Claim, ...]:
    regret = tuple(lower((case, side), (case, other)) for side in SIDES for other in OTHERS)
    fewer = lower((case, WSPARQ), (case, SPARQ), measure="side_queries")
    return (
        Claim(f"W-SparQ has a lower squared prediction error than the bandits: {case}",
              lowest(case, WSPARQ, OTHERS, measure="squared_error"), whose="ours"),
        Claim(f"SparQ and W-SparQ have less regret than the bandits: {case}", regret,
              whose="ours"),
        Claim(f"W-SparQ makes fewer side queries than SparQ: {case}", (fewer,), whose="ours"),
    )  # fmt: skip


def _experiment(id: str, cases: dict[str, tuple[str, Reader]]) -> Experiment:
    main = next(iter(cases))
    return described(
        id,
        tuple(
            Case(name, partial(setup, read), TRIALS, data=data, predictions=True)
            for name, (data, read) in cases.items()
        ),
        tuple(claim for case in cases for claim in _claims(case)),
        MAP_PANELS,
        further={
            "error-map": partial(error_map, case=main, unit="squared degrees C"),
            "tracks": partial(tracks, case=main, ylabel="anomaly, degrees C"),
        },
        values={"DRIFTS": DRIFTS, "EXPONENTS": EXPONENTS},
    )


EXPERIMENTS = (
    _experiment("m25-fig3",
                {"Europe": ("europe-anomalies", europe),
                 "Iberia": ("iberia-temperature", iberia)}),
    _experiment("m25-fig4",
                {"France": ("france-temperature", france),
                 "southern France": ("iberia-temperature", southern_france)}),
)  # fmt: skip
