"""One valid call of every public function and constructor, for `arguments_fuzzer`."""

import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak import (
    environments,
    features,
    forgetting,
    kernels,
    live,
    plots,
    simulation,
    widths,
)
from driftpeak.gp import dynamics as motions, path_tails
from driftpeak.offline import data, history, logs, replay
from driftpeak.offline._policy_specs.policies import policy_parameters
from driftpeak.offline.data import _tables as tables
from driftpeak.offline.replay import prior_from_history
from driftpeak.policies import testing
from driftpeak.policies.catalogue import entries
from driftpeak.simulation._comparison import in_a_row, verdict
from driftpeak.simulation.executors import cluster_workers, local_workers
from driftpeak.theory import (
    bounds,
    budget_bounds,
    few_side_queries,
    gains,
    injection,
    lower_bounds,
    measured_bounds,
    mismatch,
    planner,
    rates,
    regimes,
    schedules,
    side_queries,
    sparse,
    variation,
    weighted,
)
from driftpeak.theory.setting import Setting

GRID = dp.Grid([0, 1], size=6)
KERNEL = dp.SE(0.3)
PRIOR = dp.Prior(GRID, KERNEL, noise_variance=0.04)
POLICY = dp.GPUCB(PRIOR)
WORLD = dp.MarkovDrift(PRIOR, drift=0.1)
CONTEXTS = dp.Contexts(["a", "b"] * 10)
CELLS = dp.Prior(CONTEXTS.cells(GRID), dp.SE([0.3, 1.0, 1.0]), noise_variance=0.04)
BOX = dp.Box(x=dp.Float(0, 1))
ROWS = np.random.default_rng(0).normal(size=(12, 4))
NAMES = ["a", "b", "c", "d"]
SETTING = Setting(KERNEL, 1, 100, variation=2.0)
FOLDER = Path(tempfile.mkdtemp())
TABLE_FILE = FOLDER / "table.csv"
TABLE_FILE.write_text("a,b\n" + "\n".join(f"{i}.5,{i % 3}.25" for i in range(12)) + "\n")
TABLE = tables.read_table(TABLE_FILE)
LOG_FILE = FOLDER / "log.csv"
LOG_FILE.write_text("a,b\n" + "\n".join(f"{i % 2},{i % 3}.5" for i in range(12)) + "\n")
LOG = logs.read_log(LOG_FILE, choice="a", reward="b")
BEST = logs.Recommendation(1.0, 1.5, 1.0, 2.0, "step 12")
CURVE = logs.Curve((0.0, 1.0), np.ones(2), np.zeros(2), 2 * np.ones(2))
REPORT = logs.LogReport(
    "a", "b", "", False, 12, "step 1", "step 12", 1.5, BEST, BEST, (), (), (), "", False, (), CURVE,
    (),
)  # fmt: skip
REPLAYED = replay.replay(TABLE, ["random"], trials=1, progress=False)
RUNS = dp.simulate(
    {"one": dp.UniformRandom(PRIOR), "two": dp.Timetable(np.ones((3, 6)))},
    environments.RecordedRewards(np.ones((4, 6))),
    steps=4,
    trials=3,
    folder=FOLDER / "runs",
    progress=False,
)


dp.Optimizer(BOX, maximize=True, storage=FOLDER / "study.journal")
STUDY = live.open_store(FOLDER / "study.journal")
STORED = live.StoredPolicy.of(POLICY, GRID, maximize=True, name="gp-ucb")
POLICY_FILE = FOLDER / "policy.json"
live.write_policy(POLICY_FILE, STORED)


def _entered(make):
    """Of a context manager: checked as it is entered."""

    @functools.wraps(make)
    def enter(**arguments):
        with make(**arguments) as inside:
            return inside

    return enter


JUDGED = verdict(REPLAYED, independent_trials=False)
MADE_BY_THE_LIBRARY = {
    *("Calibration", "Choice", "Compared", "ContextsLearned", "DataSet", "Diagnostics", "Estimate"),
    *("Expected", "Fit", "Look", "Observation", "Posterior", "Prediction", "Reading", "Verdict"),
    *("PolicyResult", "RegretTable", "StoredPolicy", "Violations"),
    *("Alternative", "Curve", "Exploit", "Following", "LogReport", "Recommendation"),
}
"""Results, which users do not make."""
LEFT_OUT = {
    *("ActingPolicy", "Environment", "Player", "Policy", "RealisedGain", "data_folder"),
    *("Store", "space_from_data", "tidy", "write_dates"),
}
"""Those without arguments, those that take the axes of a figure, and those that take any data."""
SLOW = {
    *("optimize", "simulate", "true_functions", "replay", "check_policy", "cross_validate", "fit"),
    *("log_marginal_likelihood", "learn", "balance", "optimal_design", "fractional_gain"),
    "learn_from_log",
    *("ADAOPKB", "OPKB", "ROPKB", "MovingBump", "estimate_drift", "feature_degree"),
}
"""Those that compute for long on valid arguments."""


def _categorical(
    first: str | int | float | bool | None,
    second: str | int | float | bool | None,
    *,
    ordered: bool = False,
    when: Mapping[str, Any] | None = None,
):
    return dp.Categorical(first, second, ordered=ordered, when=when)


BOUND = {"width": 2.0, "gain": 3.0, "horizon": 100, "noise_variance": 0.1}

POLICIES = {
    entry.make.__name__: (
        entry.make,
        {"prior": PRIOR}
        | dict(entry.defaults)
        | {name: 20 for name, one in policy_parameters(entry.name).items() if one.required},
    )
    for entry in entries()
    if entry.name
}
"""One valid call of every policy of the catalogue."""

CASES = POLICIES | {
    "AbruptSwitches": (dp.AbruptSwitches, {"prior": PRIOR, "changes": [3.0]}),
    "AgainstQueries": (dp.AgainstQueries, {"prior": PRIOR, "queries": [0, 1]}),
    "Arms": (dp.Arms, {"points": 3}),
    "BeliefPolicy": (dp.BeliefPolicy, {"prior": PRIOR, "forgetting": forgetting.Keep()}),
    "Boolean": (dp.Boolean, {}),
    "Box": (lambda parameters: dp.Box(parameters), {"parameters": {"x": dp.Float(0, 1)}}),
    "Categorical": (_categorical, {"first": "a", "second": "b"}),
    "Client": (dp.Client, {"url": "http://localhost:1"}),
    "Contexts": (dp.Contexts, {"contexts": ["a", "b"]}),
    "Doubling": (dp.Doubling, {"make": lambda horizon: dp.PE(PRIOR, horizon=horizon)}),
    "DriftingGP": (dp.DriftingGP, {}),
    "Fleet": (dp.Fleet, {"space": GRID, "members": 2, "policy": POLICY}),
    "Float": (dp.Float, {"low": 0, "high": 1}),
    "Grid": (lambda range, size: dp.Grid(range, size=size), {"range": [0, 1], "size": 5}),
    "InContext": (dp.InContext, {"policy": dp.GPUCB(CELLS), "contexts": CONTEXTS}),
    "InjectedDrift": (dp.InjectedDrift, {"prior": PRIOR}),
    "Integer": (dp.Integer, {"low": 0, "high": 5}),
    "Limit": (dp.Limit, {"at_most": 1.0}),
    "Linear": (dp.Linear, {}),
    "MarkovDrift": (dp.MarkovDrift, {"prior": PRIOR, "drift": 0.1}),
    "Matern": (dp.Matern, {"nu": 2.5}),
    "MovingBump": (dp.MovingBump, {"prior": PRIOR, "period": 3, "cells": 2}),
    "MovingCoefficients": (dp.MovingCoefficients, {"prior": PRIOR, "centres": 4}),
    "MovingCosine": (dp.MovingCosine, {"prior": PRIOR}),
    "Observations": (dp.Observations, {"arms": [0, 1], "times": [1.0, 2.0], "rewards": [0.5, 1.0]}),
    "Optimizer": (dp.Optimizer, {"space": BOX, "maximize": True}),
    "PopulationBasedBandit": (dp.PopulationBasedBandit, {"space": BOX, "maximize": True}),
    "Periodic": (dp.Periodic, {}),
    "Prior": (dp.Prior, {"domain": GRID, "kernel": KERNEL, "noise_variance": 0.1}),
    "PeriodicMean": (
        dp.PeriodicMean,
        {"periods": [5.0], "cosines": [[1.0] * 6], "sines": [[0.5] * 6]},
    ),
    "RandomStart": (dp.RandomStart, {"policy": POLICY}),
    "RationalQuadratic": (dp.RationalQuadratic, {}),
    "SE": (dp.SE, {}),
    "SignSwitches": (dp.SignSwitches, {"prior": PRIOR, "changes": [3.0]}),
    "SlowChange": (dp.SlowChange, {"prior": PRIOR, "horizon": 10.0}),
    "TabulatedGain": (dp.TabulatedGain, {"values": [0.0, 0.5, 0.8]}),
    "Timetable": (dp.Timetable, {"history": ROWS}),
    "Transformed": (dp.Transformed, {"policy": POLICY, "transformation": "log", "least": 0.1}),
    "ByContext": (dp.ByContext, {"name": "period", "values": {"day": 60.0, "night": 45.0}}),
    "Schedule": (dp.Schedule, {"settings": [{"x": 1.0}]}),
    "WeightedSum": (dp.WeightedSum, {"weights": {"x": 1.0}, "at_most": 1.0}),
    "ContextualEnvironment": (
        dp.ContextualEnvironment,
        {"environment": dp.MarkovDrift(CELLS, drift=0.1), "contexts": CONTEXTS},
    ),
    "balance": (
        dp.balance,
        {"features": PRIOR.features, "regulariser": 0.1, "gaps": np.linspace(0, 1, 6), "beta": 1.0},
    ),
    "cross_validate": (
        dp.cross_validate,
        {
            "values": ROWS,
            "name": "drift",
            "make_prior": lambda rows: prior_from_history(rows, NAMES),
        },
    ),
    "fit": (dp.fit, {"data": ROWS[:, :4], "prior": prior_from_history(ROWS, NAMES)}),
    "fractional_gain": (dp.fractional_gain, {"prior": PRIOR, "ratio": 2.0}),
    "greedy_gain": (dp.greedy_gain, {"prior": PRIOR, "count": 3}),
    "information_gain": (dp.information_gain, {"prior": PRIOR, "arms": [0, 1]}),
    "fit_history": (dp.fit_history, {"history": ROWS}),
    "log_marginal_likelihood": (
        dp.log_marginal_likelihood,
        {"data": ROWS, "prior": prior_from_history(ROWS, NAMES), "drift": 0.1},
    ),
    "make_belief": (
        dp.make_belief,
        {"prior": PRIOR, "forgetting": forgetting.Keep(), "times": 3},
    ),
    "optimal_design": (dp.optimal_design, {"features": PRIOR.features, "regulariser": 0.1}),
    "optimize": (
        dp.optimize,
        {"function": lambda asked: 0.0, "space": BOX, "steps": 1, "maximize": True},
    ),
    "read_runs": (dp.read_runs, {"folder": FOLDER / "runs"}),
    "simulate": (
        dp.simulate,
        {"policies": {"one": POLICY}, "environment": WORLD, "steps": 3, "progress": False},
    ),
    "table": (dp.table, {"runs": RUNS}),
    "to_dataframe": (dp.to_dataframe, {"runs": RUNS}),
    "true_functions": (dp.true_functions, {"environment": WORLD, "steps": 3}),
    "unit_sphere": (dp.unit_sphere, {"count": 5, "dimension": 2}),
    "RewardTable": (
        data.RewardTable,
        {"values": ROWS, "arms": ("a", "b", "c", "d"), "times": None, "time_name": None},
    ),
    "cell_positions": (data.cell_positions, {"names": ["43.25_-1.75"]}),
    "data_path": (data.data_path, {"name": "intel-lab"}),
    "fetch_data": (data.fetch_data, {"name": "intel-lab", "source": "/nowhere/at/all"}),
    "load_data": (data.load_data, {"name": "intel-lab"}),
    "read_grid": (data.read_grid, {"path": FOLDER / "none"}),
    "read_intel_lab": (data.read_intel_lab, {"path": FOLDER / "none"}),
    "read_monthly": (data.read_monthly, {"path": FOLDER / "none"}),
    "read_speeds": (data.read_speeds, {"path": FOLDER / "none"}),
    "read_table": (data.read_table, {"path": TABLE_FILE}),
    "require_data": (data.require_data, {"name": "intel-lab"}),
    "split_days": (data.split_days, {"table": TABLE, "steps_per_day": 4}),
    "ChoiceLog": (logs.ChoiceLog, {"choices": ["a", "b"] * 5, "rewards": np.arange(10.0)}),
    "learn_from_log": (logs.learn_from_log, {"log": LOG}),
    "log_figure": (logs.log_figure, {"log": LOG, "report": REPORT}),
    "read_log": (logs.read_log, {"path": LOG_FILE, "choice": "a", "reward": "b"}),
    "Bursts": (environments.Bursts, {"world": WORLD, "size": 1.0}),
    "Moving": (
        environments.Moving,
        {"prior": PRIOR, "motion": motions.MarkovMotion([0.1])},
    ),
    "RecordedRewards": (environments.RecordedRewards, {"rewards": ROWS}),
    "calendar_periods": (history.calendar_periods, {"times": ["2026-01-05", "2026-01-06"]}),
    "learn_contexts": (
        history.learn_contexts,
        {"history": ROWS, "contexts": dp.Contexts(["a", "b"] * 6)},
    ),
    "belief_figure": (plots.belief_figure, {"runs": RUNS}),
    "dates": (plots.dates, {"labels": ["2026-01-05", "2026-01-06"]}),
    "looks": (plots.looks, {"names": ["auto"]}),
    "map_figure": (
        plots.map_figure,
        {"values": ROWS, "positions": [0.0, 1.0, 2.0, 3.0], "tracks": {"a": [0, 1]}},
    ),
    "new_figure": (plots.new_figure, {"width": 3.0, "height": 2.0}),
    "time_axis": (plots.time_axis, {"runs": RUNS}),
    "track_figure": (plots.track_figure, {"runs": RUNS}),
    "with_unit": (plots.with_unit, {"words": "speed", "unit": "mph"}),
    "prior_from_history": (prior_from_history, {"history": ROWS, "names": NAMES}),
    "replay": (
        replay.replay,
        {"table": TABLE, "policies": ["random"], "trials": 1, "progress": False},
    ),
    "following": (replay.following, {"runs": REPLAYED, "judged": JUDGED}),
    "advise": (replay.advise, {"runs": REPLAYED, "judged": JUDGED}),
    "arms_over_time": (replay.arms_over_time, {"runs": REPLAYED, "policy": "random"}),
    "chosen_policy": (replay.chosen_policy, {"judged": JUDGED}),
    "follow_figure": (replay.follow_figure, {"runs": REPLAYED, "policy": "random"}),
    "policy_for_live": (
        replay.policy_for_live,
        {"table": TABLE, "runs": REPLAYED, "name": "random"},
    ),
    "verdict": (verdict, {"runs": RUNS, "independent_trials": True}),
    "in_a_row": (in_a_row, {"names": ["a", "b"]}),
    "summarise": (simulation.summarise, {"runs": RUNS, "independent_trials": True}),
    "regret_figure": (simulation.regret_figure, {"runs": RUNS, "independent_trials": True}),
    "ranking_figure": (simulation.ranking_figure, {"runs": RUNS, "independent_trials": True}),
    "register_constraint": (live.register_constraint, {"name": "any", "function": print}),
    "open_store": (live.open_store, {"storage": str(FOLDER / "study.journal")}),
    "verify": (live.verify, {"store": STUDY}),
    "space_to_data": (live.space_to_data, {"space": BOX}),
    "read_policy": (live.read_policy, {"path": POLICY_FILE}),
    "write_policy": (live.write_policy, {"path": POLICY_FILE, "stored": STORED}),
    "check_policy": (testing.check_policy, {"policy": dp.UniformRandom(PRIOR), "wrapped": False}),
    "Table": (kernels.Table, {"matrix": np.eye(3)}),
    "Sum": (kernels.Sum, {"left": KERNEL, "right": KERNEL}),
    "Product": (kernels.Product, {"left": KERNEL, "right": KERNEL}),
    "Scaled": (kernels.Scaled, {"kernel": KERNEL, "variance": 2.0}),
    "ScaledLog": (widths.ScaledLog, {}),
    "Constant": (widths.Constant, {"value": 2.0}),
    "FiniteDomain": (widths.FiniteDomain, {"points": 5}),
    "Bayesian": (
        widths.Bayesian,
        {"dimension": 1, "resetting": True, "a": 1.0, "b": 1.0, "horizon": 10},
    ),
    "IGP": (widths.IGP, {}),
    "Confidence": (widths.Confidence, {"noise_variance": 0.1}),
    "SlidingConfidence": (widths.SlidingConfidence, {"noise_variance": 0.1, "horizon": 10}),
    "Heteroscedastic": (widths.Heteroscedastic, {}),
    "FixedDesign": (widths.FixedDesign, {"points": 5, "batches": 3, "noise_variance": 0.1}),
    "Elimination": (
        widths.Elimination,
        {"points": 5, "horizon": 20, "period": 10, "noise_variance": 0.1},
    ),
    "Restart": (forgetting.Restart, {"period": 5.0}),
    "Window": (forgetting.Window, {"length": 5}),
    "Drift": (forgetting.Drift, {"drift": 0.1}),
    "SpaceTime": (forgetting.SpaceTime, {"lengthscale": 3.0}),
    "Discount": (forgetting.Discount, {"discount": 0.9}),
    "Weights": (forgetting.Weights, {"weights": [1.0, 2.0]}),
    "Injection": (forgetting.Injection, {"exponent": 0.5}),
    "Features": (features.Features, {"matrix": np.eye(3), "error": 0.0, "method": "own"}),
    "factored": (features.factored, {"kernel": KERNEL, "domain": GRID}),
    "pivoted_cholesky": (features.pivoted_cholesky, {"kernel": KERNEL, "domain": GRID}),
    "eigen": (features.eigen, {"kernel": KERNEL, "domain": GRID}),
    "kronecker": (features.kronecker, {"kernel": KERNEL, "domain": GRID}),
    "quadrature_fourier": (
        features.quadrature_fourier,
        {"lengthscale": 0.3, "domain": GRID, "degree": 4},
    ),
    "quadrature_fourier_bound": (
        features.quadrature_fourier_bound,
        {"lengthscale": 0.3, "extents": [1.0], "degree": 4},
    ),
    "random_fourier": (
        features.random_fourier,
        {"kernel": KERNEL, "domain": GRID, "count": 4},
    ),
    "MarkovMotion": (motions.MarkovMotion, {"drifts": [0.1]}),
    "Matern32": (motions.Matern32, {"rates": [0.1]}),
    "DampedOscillator": (motions.DampedOscillator, {"periods": [5.0], "lifetimes": [10.0]}),
    "SumMotion": (
        motions.SumMotion,
        {
            "motions": [motions.MarkovMotion([0.1]), motions.Matern32([0.1])],
            "weights": [0.5, 0.5],
        },
    ),
    "tv_gp_ucb_regret": (bounds.tv_gp_ucb_regret, BOUND),
    "r_gp_ucb_regret": (
        bounds.r_gp_ucb_regret,
        BOUND | {"period": 5, "drift": 0.1, "delta": 0.1, "a0": 1.0, "b0": 1.0},
    ),
    "r_perp_regret": (
        bounds.r_perp_regret,
        BOUND | {"period": 5, "variation": 1.0, "norm_bound": 1.0},
    ),
    "ui_gp_ucb_regret": (bounds.ui_gp_ucb_regret, BOUND | {"exponent": 0.5}),
    "noisy_regret": (
        bounds.noisy_regret,
        {"width": 2.0, "gain": 3.0, "horizon": 100, "largest_noise": 0.1},
    ),
    "expected_regret": (
        bounds.expected_regret,
        {"regret": 3.0, "delta": 0.1, "horizon": 100, "norm_bound": 1.0},
    ),
    "r_gp_ucb_budget_regret": (
        budget_bounds.r_gp_ucb_budget_regret,
        BOUND | {"period": 5, "variation": 1.0},
    ),
    "sw_gp_ucb_regret": (
        budget_bounds.sw_gp_ucb_regret,
        BOUND | {"window": 5, "variation": 1.0},
    ),
    "wgp_ucb_regret": (
        budget_bounds.wgp_ucb_regret,
        BOUND | {"discount": 0.9, "memory": 5, "features": 10, "variation": 1.0, "norm_bound": 1.0},
    ),
    "drift_bias": (
        budget_bounds.drift_bias,
        {"gain": 3.0, "memory": 5, "variation": 1.0, "noise_variance": 0.1},
    ),
    "gain_rate": (gains.gain_rate, {"kernel": KERNEL, "count": 10, "dimension": 1}),
    "spectral_tail": (gains.spectral_tail, {"prior": PRIOR}),
    "eigendecay": (gains.eigendecay, {"prior": PRIOR}),
    "projection_gain": (
        gains.projection_gain,
        {"tail": gains.spectral_tail(PRIOR), "noise_variance": 0.1, "discount": 0.9},
    ),
    "polynomial_gain": (
        gains.polynomial_gain,
        {"scale": 1.0, "decay": 3.0, "discount": 0.9, "noise_variance": 0.1},
    ),
    "exponential_gain": (
        gains.exponential_gain,
        {"scale": 1.0, "decay": 3.0, "discount": 0.9, "noise_variance": 0.1},
    ),
    "linear_gain": (gains.linear_gain, {"count": 10, "dimension": 1, "noise_variance": 0.1}),
    "drifting_gain": (
        gains.drifting_gain,
        {"gain": 3.0, "block": 5, "drift": 0.1, "horizon": 100, "noise_variance": 0.1},
    ),
    "best_block": (
        gains.best_block,
        {"gains": [0.0, 1.0, 1.5], "drift": 0.1, "horizon": 100, "noise_variance": 0.1},
    ),
    "moved_peak_regret": (
        lower_bounds.moved_peak_regret,
        {"gradient": 1.0, "curvature": 1.0, "drift": 0.1, "dimension": 1},
    ),
    "markov_lower_bound": (
        lower_bounds.markov_lower_bound,
        {
            "horizon": 100,
            "drift": 0.1,
            "dimension": 1,
            "curvature": 1.0,
            "squared_gradient": 1.0,
            "probability": 0.5,
        },
    ),
    "hard_gap": (lower_bounds.hard_gap, {"kernel": KERNEL, "steps": 10, "dimension": 1}),
    "budget_lower_bound": (
        lower_bounds.budget_lower_bound,
        {"kernel": KERNEL, "variation": 1.0, "horizon": 100, "dimension": 1},
    ),
    "price_of_change": (lower_bounds.price_of_change, {"kernel": KERNEL, "dimension": 1}),
    "identification_error": (
        lower_bounds.identification_error,
        {"divergences": [[0.0, 0.1], [0.1, 0.0]]},
    ),
    "hard_functions": (
        few_side_queries.hard_functions,
        {"gap": 1e-3, "lengthscale": 0.1, "dimension": 1},
    ),
    "fresh_information": (
        few_side_queries.fresh_information,
        {"exponent": 2.0, "queries": 3.0, "noise_variance": 0.1},
    ),
    "bounded_queries_regret": (
        few_side_queries.bounded_queries_regret,
        {
            "horizon": 100,
            "exponent": 2.0,
            "queries": 3.0,
            "gap": 1e-3,
            "lengthscale": 0.1,
            "dimension": 1,
            "noise_variance": 0.1,
        },
    ),
    "measured_lower_bound": (
        measured_bounds.measured_lower_bound,
        {"kernel": KERNEL, "extents": [1.0], "drift": 0.1, "horizon": 10, "count": 20, "size": 5},
    ),
    "function_tail": (path_tails.function_tail, {"kernel": KERNEL, "extents": [1.0]}),
    "curvature_tail": (path_tails.curvature_tail, {"kernel": KERNEL, "extents": [1.0]}),
    "curvature_covariance": (
        path_tails.curvature_covariance,
        {"kernel": KERNEL, "lags": [[0.1]]},
    ),
    "deviation_mismatch": (
        mismatch.deviation_mismatch,
        {"block": 5, "drift": 0.1, "noise_variance": 0.1},
    ),
    "mean_mismatch": (
        mismatch.mean_mismatch,
        {"block": 5, "drift": 0.1, "noise_variance": 0.1, "largest": 1.0},
    ),
    "largest_reward": (
        mismatch.largest_reward,
        {"step": 5, "delta": 0.1, "a0": 1.0, "b0": 1.0, "noise_variance": 0.1},
    ),
    "plan": (planner.plan, {"setting": SETTING}),
    "fill_in": (planner.fill_in, {"values": ROWS, "horizon": 100, "variation": 1.0, "drift": 0.1}),
    "rates": (rates.rates, {"policy": "gp-ucb", "measure": "variation", "known": True}),
    "applicable": (
        rates.applicable,
        {"policy": "gp-ucb", "setting": SETTING, "measure": "variation"},
    ),
    "regime": (regimes.regime, {"exponent": 0.5}),
    "sparq_queries": (regimes.sparq_queries, {"horizon": 100, "dimension": 1}),
    "w_sparq_queries": (
        regimes.w_sparq_queries,
        {"horizon": 100, "dimension": 1, "exponent": 0.5},
    ),
    "landscape": (regimes.landscape, {"horizon": 100, "exponent": 0.5, "queries": 10.0}),
    "ui_gp_ucb_regret_order": (
        injection.ui_gp_ucb_regret_order,
        {"horizons": [10.0], "exponent": 0.5},
    ),
    "sparq_regret_order": (injection.sparq_regret_order, {"horizons": [10.0]}),
    "sparq_cost_order": (injection.sparq_cost_order, {"horizons": [10.0]}),
    "w_sparq_cost_order": (injection.w_sparq_cost_order, {"horizons": [10.0], "exponent": 0.5}),
    "information_sum": (
        injection.information_sum,
        {"queries": [1, 0], "exponent": 0.5, "noise_variance": 0.1},
    ),
    "quiet_window": (injection.quiet_window, {"horizon": 100, "exponent": 1.5}),
    "uniform_walk_noise": (injection.uniform_walk_noise, {"ages": [1.0], "noise_variance": 0.1}),
    "side_queries_needed": (regimes.side_queries_needed, {"horizon": 100, "exponent": 0.5}),
    "markov_restart_period": (
        schedules.markov_restart_period,
        {"kernel": KERNEL, "drift": 0.1, "horizon": 100, "dimension": 1},
    ),
    "elimination_period": (
        schedules.elimination_period,
        {"kernel": KERNEL, "horizon": 100, "dimension": 1},
    ),
    "restart_period": (
        schedules.restart_period,
        {"kernel": KERNEL, "horizon": 100, "dimension": 1},
    ),
    "window_length": (
        schedules.window_length,
        {"kernel": KERNEL, "horizon": 100, "dimension": 1},
    ),
    "discount_factor": (
        schedules.discount_factor,
        {"kernel": KERNEL, "horizon": 100, "dimension": 1},
    ),
    "combined_gain": (schedules.combined_gain, {"prior": PRIOR, "horizon": 20}),
    "grid_size": (
        schedules.grid_size,
        {"kernel": KERNEL, "extents": [1.0], "norm_bound": 1.0, "error": 0.1},
    ),
    "rexp3_batch_length": (
        schedules.rexp3_batch_length,
        {"points": 5, "horizon": 100, "variation": 1.0},
    ),
    "Setting": (Setting, {"kernel": KERNEL, "dimension": 1, "horizon": 100}),
    "side_query_budget": (side_queries.side_query_budget, {"steps": 10}),
    "side_query_windows": (side_queries.side_query_windows, {"times": 10, "exponent": 0.5}),
    "w_sparq_regret_order": (side_queries.w_sparq_regret_order, {"horizons": [10, 100]}),
    "nystrom_residual": (
        sparse.nystrom_residual,
        {"prior": PRIOR, "arms": [0, 1, 1], "kept": [0]},
    ),
    "posterior_divergence": (
        sparse.posterior_divergence,
        {"prior": PRIOR, "arms": [0, 1, 1], "kept": [0], "rewards": [0.5, 1.0, 1.5]},
    ),
    "sparse_size": (
        sparse.sparse_size,
        {"prior": PRIOR, "arms": [0, 1, 1], "divergence": 0.1},
    ),
    "mean_shift": (sparse.mean_shift, {"divergence": 0.05}),
    "variance_change": (sparse.variance_change, {"divergence": 0.05}),
    "supremum_variation": (variation.supremum_variation, {"values": ROWS}),
    "rkhs_norm": (variation.rkhs_norm, {"prior": PRIOR, "values": np.ones((3, 6))}),
    "rkhs_variation": (variation.rkhs_variation, {"prior": PRIOR, "values": np.ones((3, 6))}),
    "estimate_drift": (variation.estimate_drift, {"values": ROWS}),
    "error_deviation": (
        weighted.error_deviation,
        {"prior": PRIOR, "arms": [0, 1], "weights": [0.5, 1.0]},
    ),
    "surrogate": (
        weighted.surrogate,
        {
            "prior": PRIOR,
            "arms": [0, 1],
            "weights": [0.5, 1.0],
            "past": [0.1, 0.2],
            "present": np.ones(6),
        },
    ),
    "deviation_error": (
        weighted.deviation_error,
        {"feature_error": 0.1, "total_weight": 2.0, "noise_variance": 0.1},
    ),
    "sum_of_deviations": (
        weighted.sum_of_deviations,
        {"gain": 3.0, "horizon": 100, "discount": 0.9, "features": 10, "noise_variance": 0.1},
    ),
    "recent_deviations": (
        weighted.recent_deviations,
        {"gain": 3.0, "memory": 5, "discount": 0.9, "noise_variance": 0.1},
    ),
    "weighted_regret": (
        weighted.weighted_regret,
        {
            "width": 2.0,
            "deviations": 3.0,
            "recent": 1.0,
            "memory": 5,
            "discount": 0.9,
            "variation": 1.0,
            "norm_bound": 1.0,
            "horizon": 100,
            "noise_variance": 0.1,
        },
    ),
    "memory_length": (weighted.memory_length, {"discount": 0.9, "horizon": 100}),
    "feature_degree": (
        weighted.feature_degree,
        {"gain": 3.0, "horizon": 100, "dimension": 1, "lengthscale": 0.5},
    ),
    "local_workers": (_entered(local_workers), {"workers": 1}),
    "cluster_workers": (_entered(cluster_workers), {"address": "tcp://localhost:1"}),
}
