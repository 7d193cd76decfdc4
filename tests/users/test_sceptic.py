"""A sceptic's trial: driftpeak, Optuna's TPE and bayesian-optimization on an optimum that moves."""

import math

import numpy as np
import optuna
import pytest

import driftpeak as dp

STEPS, SKIPPED = 80, 20
optuna.logging.set_verbosity(optuna.logging.ERROR)


def loss(step, x, y):
    """The squared distance from an optimum that moves on a circle."""
    angle = step / 15
    return (x - 5 - 3 * math.cos(angle)) ** 2 + (y - 5 - 3 * math.sin(angle)) ** 2


def by_driftpeak(noise):
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 10), y=dp.Float(0, 10)), minimize=True, seed=0)
    for step in range(STEPS):
        setting = optimizer.ask()
        found = loss(step, **setting)
        yield found
        optimizer.tell(setting, found + noise[step])


def by_tpe(noise):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    for step in range(STEPS):
        trial = study.ask()
        found = loss(step, trial.suggest_float("x", 0, 10), trial.suggest_float("y", 0, 10))
        yield found
        study.tell(trial, found + noise[step])


def by_bayes_opt(noise):
    bayes_opt = pytest.importorskip("bayes_opt")
    bounds = {"x": (0, 10), "y": (0, 10)}
    optimizer = bayes_opt.BayesianOptimization(None, bounds, random_state=0, verbose=0)
    for step in range(STEPS):
        setting = optimizer.suggest()
        found = loss(step, **setting)
        yield found
        optimizer.register(setting, -found - noise[step])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the other library are not ours
@pytest.mark.parametrize("rival", [by_tpe, by_bayes_opt])
def test_the_loss_is_less_than_half_of_a_rivals(rival):
    noise = np.random.default_rng(0).normal(0, 0.3, STEPS)
    theirs = np.mean(list(rival(noise))[SKIPPED:])
    ours = np.mean(list(by_driftpeak(noise))[SKIPPED:])
    assert ours < theirs / 2
