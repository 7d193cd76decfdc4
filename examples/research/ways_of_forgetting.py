"""
Posteriors under five rules for old observations
================================================

The panels have the same twelve observations, the newest on the right, and the posterior of the
current function under five rules. The published policies differ in how fast the uncertainty grows
where there are no recent observations.
"""

import jax
import jax.numpy as jnp
import numpy as np

import driftpeak as dp
from driftpeak.gp.forgetting import Discount, Drift, Injection, Keep, Window
from driftpeak.plots import BAND, COLOURS, new_figure, tidy

line = dp.Grid([0, 1], size=100)
prior = dp.Prior(line, dp.SE(lengthscale=0.12), noise_variance=0.01)
where = np.linspace(3, 96, 12).round().astype(int)  # one sweep from left to right
rewards = np.sin(5 * line.points[where, 0])
rules = {
    "Keep: GP-UCB": Keep(),
    "Window of 5: SW-GP-UCB": Window(5),
    "Drift of 10 %: TV-GP-UCB": Drift(0.1),
    "Discount 0.7: WGP-UCB": Discount(0.7),
    "Noise injection, proportional to age: UI-GP-UCB": Injection(1.0, 1.0),
}

figure = new_figure(5.5, 7.5)
panels = figure.subplots(len(rules), 1, sharex=True, sharey=True)
x = line.points[:, 0]
for axes, (name, rule), colour in zip(panels, rules.items(), COLOURS, strict=False):
    policy = dp.BeliefPolicy(prior, rule).prepare(times=13)
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0))
        for step, (arm, reward) in enumerate(zip(where, rewards, strict=True)):
            state = policy.tell(state, jnp.asarray(arm), float(reward), step + 1.0)
        expected = policy.predict(state, 13.0)
    mean, deviation = np.asarray(expected.mean), np.sqrt(np.asarray(expected.variance))
    axes.fill_between(
        x, mean - 1.96 * deviation, mean + 1.96 * deviation, color=colour, alpha=BAND, linewidth=0
    )
    axes.plot(x, mean, color=colour)
    axes.plot(x[where], rewards, ".", color="black", markersize=4)
    axes.set_title(name, loc="left", fontsize=10)
    axes.set_ylabel("f(x)")
    tidy(axes)
panels[-1].set_xlabel("x; observations from 12 steps ago (left) to 1 step ago (right)")
figure.suptitle("Posterior of the current function: mean and 95 % band", fontsize=11)
