"""
For users of Optuna: optimize, three workers, a data frame
==========================================================

Optuna has ``study.optimize``, studies in SQLite, several kinds of parameters, several workers and a
data frame of the results. This example uses the equivalents in driftpeak for a drifting objective.
"""

import math
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import driftpeak as dp
from driftpeak.live.plots import reward_figure

generator = np.random.default_rng(0)


def measure(trial):
    """Return the accuracy of a training; the best learning rate decreases as the data grow."""
    best_rate = 10 ** (-1.5 - trial.time / 60)
    value = (
        0.9 - 0.1 * math.log10(trial["rate"] / best_rate) ** 2 - 0.01 * (trial["layers"] - 3) ** 2
    )
    momentum = 0.05 * abs(trial["momentum"] - 0.6) if trial["kind"] == "sgd" else 0.0
    return (
        value
        - 0.02 * abs(math.log2(trial["batch"]) - 6)
        - 0.05 * (trial["kind"] == "sgd")
        - momentum
        + 0.01 * generator.normal()
    )


# %%
# The space is defined once in advance; ``momentum`` is a conditional parameter.

space = dp.Box(
    rate=dp.Float(1e-4, 1, log=True),
    layers=dp.Integer(1, 6),
    batch=dp.Integer(16, 256, log=True),
    kind=dp.Categorical("adam", "sgd"),
    momentum=dp.Float(0, 1, when={"kind": "sgd"}),
)
storage = f"sqlite:///{tempfile.mkdtemp()}/studies.db"
nightly = {"maximize": True, "storage": storage, "name": "nightly"}
study = dp.optimize(measure, space, steps=15, **nightly)

# %%
# Another call resumes the study. Threads may share a study object; processes each open the study by
# its name.

with ThreadPoolExecutor(3) as pool:
    workers = [pool.submit(dp.optimize, measure, study, steps=15, progress=False) for _ in range(3)]
assert all(worker.result() is study for worker in workers)

# %%
# The result is the best setting *now*. There is no best trial, because old rewards may be outdated.

best = study.best()
print(dict(best), f"expected: {best.mean:.3f} +- {best.deviation:.3f}")
assert len(study.history()) == 60
assert best.mean > 0.8

# %%
# Convert the history to a data frame.

table = study.to_dataframe()
print(table[["time", *space.parameters, "reward"]].tail(5).to_string(index=False))

# %%
# Draw the rewards with their one-step forecasts.

figure = reward_figure(study, title="Accuracy of 60 trials, the last 45 by three workers")
figure.axes[0].set_xlabel("night")
figure.axes[0].set_ylabel("accuracy")
figure.set_size_inches(8.5, 4)
