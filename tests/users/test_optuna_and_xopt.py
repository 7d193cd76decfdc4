"""Users of Optuna and Xopt: their study with driftpeak's sampler or generator."""

import numpy as np
import optuna
import pytest

from driftpeak.integrations.optuna import DriftSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.slow
def test_an_objective_with_a_conditional_parameter():
    """The momentum exists for one of two optimizers; the best setting includes it."""
    asked = []

    def objective(trial):
        kind = trial.suggest_categorical("optimizer", ["adam", "sgd"])
        if kind == "adam":
            return 0.0
        momentum = trial.suggest_float("momentum", 0, 1)
        asked.append(momentum)
        return 1 - (momentum - 0.7) ** 2

    sampler = DriftSampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=40)
    best = sampler.best(study)
    assert best["optimizer"] == "sgd"
    assert abs(best["momentum"] - 0.7) < 0.15
    assert np.std(asked[-8:]) < 0.25  # modelled, not random


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of Xopt are not ours
def test_a_constraint_of_xopt(tmp_path):
    """A VOCS with a constraint; the dump of Xopt resumes with the same next suggestion."""
    xopt = pytest.importorskip("xopt", reason="Xopt is not installed")
    from driftpeak.integrations.xopt import DriftGenerator

    vocs = xopt.VOCS(
        variables={"x": [0, 1]}, objectives={"f": "MAXIMIZE"}, constraints={"c": ["LESS_THAN", 0.5]}
    )
    evaluator = xopt.Evaluator(function=lambda inputs: {"f": inputs["x"], "c": inputs["x"]})
    run = xopt.Xopt(vocs=vocs, evaluator=evaluator, generator=DriftGenerator(vocs=vocs))
    run.random_evaluate(2)
    for _ in range(15):
        run.step()
    assert (run.data["c"][-8:] <= 0.55).all()
    file = str(tmp_path / "dump.yml")
    run.dump(file)
    again = xopt.Xopt.from_file(file)
    assert again.generator.generate(1) == run.generator.generate(1)
