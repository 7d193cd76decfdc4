"""Optuna's threads, its databases and its dashboard with the sampler."""

import io
import json

import optuna
import pytest

from driftpeak.integrations.optuna import DriftSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)


def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    if trial.suggest_categorical("kind", ["a", "b"]) == "b":
        return (x - 0.4) ** 2 + (trial.suggest_float("y", 0, 1) - 0.6) ** 2
    return (x - 0.4) ** 2 + 0.1


@pytest.mark.slow
def test_four_threads_on_a_database(tmp_path):
    """All trials end, the best setting is found, and a new sampler resumes the study."""
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(
        study_name="it", storage=storage, direction="minimize", sampler=DriftSampler(seed=0)
    )
    study.optimize(objective, n_trials=32, n_jobs=4)
    assert {trial.state for trial in study.trials} == {optuna.trial.TrialState.COMPLETE}
    again = optuna.load_study(study_name="it", storage=storage, sampler=DriftSampler(seed=0))
    for best in (again.sampler.best(again), study.sampler.best(study)):
        assert best["kind"] == "b"
        assert abs(best["x"] - 0.4) < 0.2
        assert abs(best["y"] - 0.6) < 0.2
    assert len({trial.number for trial in study.trials}) == 32
    again.optimize(objective, n_trials=1)
    assert len(study.trials) == 33


@pytest.mark.slow
def test_optuna_dashboard_shows_the_study():
    """It needs `pip install optuna-dashboard`, which the environment of the other tests lacks."""
    dashboard = pytest.importorskip("optuna_dashboard")
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, sampler=DriftSampler(seed=0))
    study.optimize(objective, n_trials=3)
    app = dashboard.wsgi(storage)
    said = []
    environment = {
        "REQUEST_METHOD": "GET", "PATH_INFO": f"/api/studies/{study._study_id}",
        "QUERY_STRING": "after=0", "SERVER_NAME": "test", "SERVER_PORT": "80",
        "wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(), "wsgi.url_scheme": "http",
    }  # fmt: skip
    body = b"".join(app(environment, lambda status, *rest: said.append(status)))
    assert said == ["200 OK"]
    shown = json.loads(body)["trials"]
    assert [trial["state"] for trial in shown] == ["Complete"] * 3
    names = [{each["name"] for each in trial["params"]} for trial in shown]
    assert names == [set(trial.params) for trial in study.trials]
