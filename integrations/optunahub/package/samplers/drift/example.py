"""A learning rate whose best value falls while the data grow."""

import math

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate", 1e-4, 1, log=True)
    layers = trial.suggest_int("layers", 1, 6)
    best_rate = 10 ** (-1.5 - trial.number / 30)
    return 0.1 * math.log10(rate / best_rate) ** 2 + 0.01 * (layers - 3) ** 2


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/drift")
    sampler = module.DriftSampler(seed=0)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    study.optimize(objective, n_trials=30)
    print("best ever:", study.best_params)
    print("best now:", dict(sampler.best(study)))
