"""Several processes at one study of Optuna."""

import subprocess
import sys

import optuna
import pytest

from driftpeak.integrations.optuna import DriftSampler

WORKER = """
import sys, optuna
from driftpeak.integrations.optuna import DriftSampler

def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    return -((x - 0.4) ** 2) - 0.1 * (kind == "a")

sampler = DriftSampler(seed=int(sys.argv[2]))
study = optuna.load_study(study_name="it", storage=sys.argv[1], sampler=sampler)
study.optimize(objective, n_trials=12)
"""


@pytest.mark.slow
def test_processes_share_a_study(tmp_path):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(
        study_name="it", storage=storage, direction="maximize", sampler=DriftSampler(seed=0)
    )
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, storage, str(seed)], stderr=subprocess.PIPE, text=True
        )
        for seed in range(2)
    ]
    for worker in workers:
        _, said = worker.communicate(timeout=600)
        assert worker.returncode == 0, said
    assert all(trial.state == optuna.trial.TrialState.COMPLETE for trial in study.trials)
    assert [trial.number for trial in study.trials] == list(range(24))
    best = study.sampler.best(study)
    assert best["kind"] == "b"
    assert abs(best["x"] - 0.4) < 0.1
