"""
Six kinds of drift
==================

The environments of driftpeak, one trial each, with x on the vertical axis and time on the
horizontal axis. ``dp.true_functions`` returns the functions without running a policy.
"""

import numpy as np

import driftpeak as dp
from driftpeak.environments import Moving
from driftpeak.gp.dynamics import DampedOscillator, Matern32
from driftpeak.plots import new_figure

STEPS = 200
line = dp.Grid([0, 1], size=80)
prior = dp.Prior(line, dp.SE(lengthscale=0.15), noise_variance=0.01)
worlds = {
    "Markov drift, 1 % a step": dp.MarkovDrift(prior, drift=0.01),
    "Markov drift, 10 % a step": dp.MarkovDrift(prior, drift=0.1),
    "momentum": Moving(prior, Matern32([0.05])),
    "oscillation, period 60 steps": Moving(prior, DampedOscillator([60.0], [2000.0])),
    "abrupt changes after 70 and 140": dp.AbruptSwitches(prior, changes=[70, 140]),
    "slow change": dp.SlowChange(prior, horizon=STEPS),
}
figure = new_figure(6.0, 6.5)
panels = figure.subplots(3, 2, sharex=True, sharey=True)
for axes, (name, world) in zip(panels.flat, worlds.items(), strict=True):
    values = dp.true_functions(world, steps=STEPS, seed=3)[0]
    image = axes.pcolormesh(
        np.arange(1, STEPS + 1),
        line.points[:, 0],
        values.T,
        cmap="cividis",
        vmin=-2.5,
        vmax=2.5,
        rasterized=True,
    )
    axes.plot(
        np.arange(1, STEPS + 1),
        line.points[values.argmax(axis=1), 0],
        ".",
        color="white",
        markersize=2,
    )
    axes.set_title(name, fontsize=10)
for axes in panels[-1]:
    axes.set_xlabel("step t")
for axes in panels[:, 0]:
    axes.set_ylabel("x")
figure.colorbar(
    image,
    ax=panels,
    label="$f_t(x)$, in standard deviations of the prior; white: peak",
    location="bottom",
)
