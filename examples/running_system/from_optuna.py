"""
From Optuna: optimize, three workers, a data frame
==================================================

An engineer knows Optuna: ``study.optimize``, a study in SQLite, parameters of all kinds, several
workers, a data frame at the end. The same here, for a target that moves.
"""

import math
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import driftpeak as dp
from driftpeak.live.views.plots import reward_figure

generator = np.random.default_rng(0)


def measure(trial):
    """A training on data that change: the best learning rate falls while the data grow."""
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
# The space is said once, beforehand; ``momentum`` is a conditional parameter.

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
# Started again, it goes on. Threads may share a study; processes open it each, by its name.

with ThreadPoolExecutor(3) as pool:
    workers = [pool.submit(dp.optimize, measure, study, steps=15, progress=False) for _ in range(3)]
assert all(worker.result() is study for worker in workers)

# %%
# The best is the best *now*; there is no best trial, since an old trial may no longer be true.

best = study.best()
print(dict(best), f"expected: {best.mean:.3f} +- {best.deviation:.3f}")
assert len(study.history()) == 60
assert best.mean > 0.8

# %%
# The data frame

table = study.to_dataframe()
print(table[["time", *space.parameters, "reward"]].tail(5).to_string(index=False))

# %%
# The rewards as they came, with what had been foretold of each just before.

figure = reward_figure(study, title="Accuracy of 60 trials, the last 45 by three workers")
figure.axes[0].set_xlabel("night")
figure.axes[0].set_ylabel("accuracy")
figure.set_size_inches(8.5, 4)
