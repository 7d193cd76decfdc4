"""
From Optuna: a study, three workers, a data frame
=================================================

An engineer knows Optuna: a study in SQLite, parameters of all kinds, several workers, a data
frame at the end. The same here, for a target that moves. What there is not: ``study.optimize``
(the loop is yours), conditional parameters, pruning.
"""

import math
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd

import driftpeak as dp
from driftpeak.live.plots import reward_figure

generator = np.random.default_rng(0)


def measure(step, rate, layers, batch, kind):
    """A training on data that change: the best learning rate falls while the data grow."""
    best_rate = 10 ** (-1.5 - step / 60)
    value = 0.9 - 0.1 * math.log10(rate / best_rate) ** 2 - 0.01 * (layers - 3) ** 2
    return (
        value
        - 0.02 * abs(math.log2(batch) - 6)
        - 0.05 * (kind == "sgd")
        + 0.01 * generator.normal()
    )


# %%
# The space is said once, beforehand. Optuna's steps and logarithmic integers are integers here,
# computed with: ``batch`` is 2 to the power of a parameter.

space = dp.Box(
    rate=dp.Float(1e-4, 1, log=True),
    layers=dp.Integer(1, 6),
    batch_power=dp.Integer(4, 8),
    kind=dp.Categorical("adam", "sgd"),
)
storage = f"sqlite:///{tempfile.mkdtemp()}/studies.db"
study = dp.Optimizer(space, maximize=True, storage=storage, name="nightly")


def work(step):
    """One trial. Threads may share a study; processes open it each, by ``dp.Optimizer.load``."""
    trial = study.ask(time=step)
    value = measure(step, trial["rate"], trial["layers"], 2 ** trial["batch_power"], trial["kind"])
    study.tell(trial, value)


with ThreadPoolExecutor(3) as pool:
    list(pool.map(work, range(60)))

# %%
# Started again, it goes on. The best is the best *now*; there is no best trial, since an old
# trial may no longer be true.

study = dp.Optimizer.load(storage, "nightly")
best = study.best()
print(dict(best), f"expected: {best.mean:.3f} +- {best.deviation:.3f}")
assert len(study.history()) == 60
assert best.mean > 0.8

# %%
# The data frame

table = pd.DataFrame(
    {"time": one.time, **one.parameters, "reward": one.reward} for one in study.history()
)
print(table.tail(5).to_string(index=False))

# %%
# The rewards as they came, with what had been foretold of each just before.

figure = reward_figure(study, title="Accuracy of 60 trials, by three workers")
figure.axes[0].set_xlabel("night")
figure.axes[0].set_ylabel("accuracy")
figure.set_size_inches(8.5, 4)
